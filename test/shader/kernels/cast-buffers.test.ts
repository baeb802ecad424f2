/** Casts in the launches of convolutions: what a launch reads and writes of the other float type is what casts before and after it give. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { castElement } from "../../../src/shader/kernels/cast-buffers.ts";
import { kernel } from "../../../src/shader/kernels/kernel.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { eachDevice } from "../../device.ts";
import { expectClose, launch, numbers, restoresShaderModes, setVariable } from "./support.ts";

const half = (x: number): number => floatOfHalf(halfOfFloat(x));

describe("buffers that hold the other float type", () => {
  /** Twice x, four elements a thread. */
  const twice = (element: "f32" | "f16", casts: readonly string[]) =>
    kernel(`twice ${element}`, { inputs: { x: element }, outputs: { y: element }, threads: 4, groups: () => 1, casts }, (s) => {
      const at = s.local.mul(4);
      s.buffers.y.storesInside(at, s.buffers.x.loadsInside(at, 4).map((v) => v.mul(2))); // prettier-ignore
    });
  const special = [NaN, Infinity, -Infinity, 0, -0, 65519, 65520, 2 ** -24, 2 ** -26, 1.0007, -1.00049];
  const values = [...special, ...numbers(5, 1)].map(Math.fround);

  it.each([
    ["f16", ["x"]],
    ["f16", ["y"]],
    ["f16", ["x", "y"]],
    ["f32", ["x"]],
    ["f32", ["y"]],
    ["f32", ["x", "y"]],
  ] as const)("are rounded as casts do: %s, %s", (element, casts) => {
    const isHalf = (name: string): boolean => (element === "f16") !== (casts as readonly string[]).includes(name);
    const { y } = launch(twice(element, casts), { x: { shape: [16], values }, y: { shape: [16] } });
    const read = values.map((v) => (element === "f16" || isHalf("x") ? half(v) : v));
    const expected = read.map((v) => (element === "f16" || isHalf("y") ? half(2 * v) : Math.fround(2 * v)));
    expect(y).toEqual(expected);
  });

  it("are of float types", () => {
    expect(["f32", "f16"].map((e) => castElement(e as "f32"))).toEqual(["f16", "f32"]);
    expect(() => castElement("u32")).toThrow(TypeError);
  });
});

/** A driver for CPUs compiles these shaders for a minute. */
const SLOW = { timeout: 600_000 };

type Options = NonNullable<Parameters<typeof dx.conv2d>[3]>;

interface Case {
  readonly name: string;
  readonly x: readonly number[];
  readonly w: readonly number[];
  readonly options?: Options;
  readonly isLast?: boolean;
}

const CASES: readonly Case[] = [
  { name: "an implicit GEMM", x: [2, 33, 7, 9], w: [34, 33, 3, 3], options: { padding: 2, dilation: 2 } },
  { name: "one by strides", x: [2, 33, 8, 8], w: [36, 33, 3, 3], options: { padding: 1, stride: 2 } },
  { name: "a pointwise one", x: [3, 64, 4, 4], w: [40, 64, 1, 1] },
  { name: "groups", x: [2, 8, 6, 6], w: [70, 4, 3, 3], options: { groups: 2, dilation: 2 } },
  { name: "channels last", x: [2, 36, 6, 6], w: [34, 36, 3, 3], options: { padding: 1, dilation: 2 }, isLast: true },
  { name: "Winograd's form", x: [4, 32, 8, 8], w: [36, 32, 3, 3], options: { padding: 1 } },
  { name: "Winograd's form of odd planes", x: [8, 33, 7, 7], w: [34, 33, 3, 3], options: { padding: 1 } },
  { name: "few channels", x: [2, 3, 9, 9], w: [6, 3, 3, 3], options: { padding: 1 } },
  { name: "a depthwise one", x: [2, 5, 7, 7], w: [5, 1, 3, 3], options: { padding: 1, groups: 5 } },
];

eachDevice("convolutions of mixed precision", (device) => {
  restoresShaderModes();

  const make = (shape: readonly number[], seed: number): dx.Tensor =>
    dx.randn([...shape], { device, generator: new dx.Generator(seed) }).mul(0.25);
  const read = (list: readonly dx.Tensor[]): number[][] => list.map((t) => [...(t.to("float32").dataSync() as Float32Array)]);

  const begin = (shaders: string, fuse: string): void => {
    setVariable("DXTENSOR_SHADERS", shaders);
    setVariable("DXTENSOR_FUSE", fuse);
    dx.closeDevice(device);
  };

  /** y and the gradients of x, w and bias; which casts a compiled step has in launches of their own. */
  const run = ({ x: shape, w: filter, options = {}, isLast = false }: Case, shaders: string, fuse = "off", dtype: "float16" | "float32" = "float16") => {
    begin(shaders, fuse);
    const stored = isLast ? [shape[0]!, shape[2]!, shape[3]!, shape[1]!] : shape;
    const from = dtype === "float16" ? "float32" : "float16";
    const [x, w, bias] = [make(stored, 1), make(filter, 2), make([filter[0]!], 3)].map((t) => t.to(from).detach().requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
    const fn = (a: dx.Tensor, b: dx.Tensor, c: dx.Tensor): dx.Tensor[] => {
      const input = isLast ? a.permute(0, 3, 1, 2) : a;
      const y = dx.conv2d(input.to(dtype), b.to(dtype), c.to(dtype), options).to(from);
      return [y, ...dx.grad(y.to("float32").square().mean().mul(64), [a, b, c])];
    };
    const step = dx.compile(fn, { check: false, regions: "none" });
    const eager = read(fn(x, w, bias));
    let compiled: number[][] = [];
    for (let i = 0; i < 3; i++) compiled = read(step(x, w, bias));
    const origins = step.explain().nodes.map(({ origin }) => origin);
    step.dispose();
    return { eager, compiled, casts: origins.filter((origin) => origin.startsWith("to ")).length };
  }; // prettier-ignore

  it.each(CASES)("cast in the launch: $name", SLOW, (c) => {
    const [off, on, fused] = [run(c, "off"), run(c, "on"), run(c, "on", "always")];
    on.compiled.forEach((list, i) => {
      expectClose(list, off.eager[i]!, "f16", 64);
      // To the bit what the same shaders give with casts of their own; the operators between round otherwise in a fused launch.
      if (i === 0) expect(list).toEqual(on.eager[0]);
      expectClose(fused.compiled[i]!, list, "f16", 64);
    });
    // Those of the gradient of y, and of a layout that is not the tensor's, are of other operators.
    expect([off.casts, on.casts]).toEqual([8, c.isLast === true ? 3 : 2]);
  });

  it.each(CASES.slice(0, 1))("read float16 as operands of float32: $name", SLOW, (c) => {
    const [off, on] = [run(c, "off", "off", "float32"), run(c, "on", "off", "float32")];
    on.compiled.forEach((list, i) => expectClose(list, off.eager[i]!, "f16", 64));
    expect(on.casts).toBeLessThan(off.casts);
  });

  it("keep NaN and infinities where they are, and what is empty", SLOW, () => {
    const values = Array.from({ length: 2 * 33 * 25 }, (_, i) => (i === 3 ? NaN : i === 33 * 25 + 7 ? 1e6 : 0.5));
    begin("on", "off");
    const [x, w] = [dx.tensor(values, { shape: [2, 33, 5, 5], device }), make([34, 33, 3, 3], 2)];
    const fn = (a: dx.Tensor, b: dx.Tensor): dx.Tensor =>
      dx.conv2d(a.to("float16"), b.to("float16"), null, { padding: 2, dilation: 2 }).to("float32");
    const step = dx.compile(fn, { check: false });
    // DirectML's casts may truncate.
    const expected = read([fn(x, w)])[0]!;
    for (let i = 0; i < 3; i++) expect(read([step(x, w)])[0]).toEqual(expected);
    expect(step(dx.zeros([0, 33, 5, 5], { device }), w).shape).toEqual([0, 34, 5, 5]);
    step.dispose();
    // In the first image the NaN is at row 0, column 3; in the second the infinity at row 1, column 2. Windows have every second row and column.
    const isReached = (image: number, row: number, column: number): boolean =>
      image === 0 ? row % 2 === 0 && row <= 2 && column % 2 === 1 : row % 2 === 1 && column % 2 === 0;
    expected.forEach((v, i) => {
      const [image, row, column] = [Math.floor(i / (34 * 25)), Math.floor((i % 25) / 5), i % 5];
      expect([i, Number.isFinite(v)]).toEqual([i, !isReached(image, row, column)]);
      if (image === 0 && isReached(image, row, column)) expect(v).toBeNaN();
    });
  });
});
