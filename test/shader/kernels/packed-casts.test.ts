/** Skinny GEMMs with packed weights that read and write float16: compared with float64, and with casts in launches of their own. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { packedProduct, type PackedProductForm, type PackedProductWay } from "../../../src/shader/kernels/packed-product.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
import { eachDevice } from "../../device.ts";
import { generator } from "../random.ts";
import { expectClose, launch, numbers, restoresShaderModes, setVariable } from "./support.ts";

const half = (x: number): number => floatOfHalf(halfOfFloat(x));

const FORM: PackedProductForm = {
  bits: 4,
  isSigned: false,
  width: 128,
  block: 32,
  scales: "f32",
  hasMinima: false,
  hasBias: true,
  count: 2,
};

describe("products with packed weights in the evaluator", () => {
  const ways: readonly PackedProductWay[] = ["shared", "ahead", "direct", "runs"];
  const cases = ways.flatMap((way) =>
    [
      { halves: ["x", "bias", "y"], cast: [] },
      { halves: ["x", "bias", "y"], cast: ["x", "bias", "y"] },
      { halves: ["x"], cast: ["x"] },
      { halves: ["y"], cast: [] },
    ].map((more) => [way, more as Pick<Required<PackedProductForm>, "halves" | "cast">] as const),
  );

  it.each(cases)("cast what they read and write: %s, %o", (way, { halves, cast }) => {
    const form: PackedProductForm = { ...FORM, halves, cast };
    const m = 3;
    const own = (name: "x" | "bias" | "y", v: number): number => (halves.includes(name) ? half(v) : v);
    const x = numbers(m * form.width, 8, 1);
    // Of an odd number of columns, two threads write one word of float16.
    const parts = [5, 9].map((n, i) => {
      const random = generator(5 + i);
      const words = Array.from({ length: (n * form.width) / 8 }, () => (random(65536) * 65536 + random(65536)) >>> 0);
      const [scales, bias, of] = [numbers((n * form.width) / 32, 6 + i, 1), numbers(n, 9 + i, 1), i === 0 ? "" : `${i}`];
      const expected = Array.from({ length: m * n }, (_, at) => {
        const [row, column] = [Math.floor(at / n), at % n];
        let sum = own("bias", bias[column]!);
        for (let k = 0; k < form.width; k++) {
          const code = (words[(column * form.width + k) >> 3]! >>> (4 * (k % 8))) & 15;
          sum += own("x", x[row * form.width + k]!) * (code - 8) * scales[(column * form.width + k) >> 5]!;
        }
        return sum;
      });
      const buffers = {
        [`codes${of}`]: { shape: [n, form.width / 8], values: words },
        [`scales${of}`]: { shape: [n, form.width / 32], values: scales },
        [`bias${of}`]: { shape: [n], values: bias },
        [`y${of}`]: { shape: [m, n] },
      };
      return { n, buffers, y: `y${of}`, expected };
    });
    for (const weights of [1, 2]) {
      const kernel = packedProduct(form, { threads: 16, lanes: 4, rows: 2, way }, weights);
      const buffers = Object.assign({ x: { shape: [m, form.width], values: x } }, ...parts.slice(0, weights).map((part) => part.buffers));
      const results = launch(kernel, buffers);
      for (const { y, expected } of parts.slice(0, weights)) {
        expectClose(results[y]!, expected, halves.includes("y") ? "f16" : "f32", form.width * 64);
        if (halves.includes("y")) expect(results[y]!.map(half)).toEqual(results[y]!);
      }
    }
  });
});

eachDevice("layers of packed weights in mixed precision", (device) => {
  restoresShaderModes();

  const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });
  const read = (list: readonly dx.Tensor[]): number[][] => list.map((t) => [...(t.to("float32").dataSync() as Float32Array)]);

  const layer = (rows: number, seed: number, bias = true): dx.nn.Module => {
    const made = dx.nn.linear(96, rows, { bias });
    made.weight = new dx.nn.Parameter(real([rows, 96], seed));
    if (bias) made.bias = new dx.nn.Parameter(real([rows], seed + 10));
    return dx.nn.quantize(made, { symmetric: true });
  };

  const run = (shaders: string, fuse: string, make: () => (x: dx.Tensor) => dx.Tensor[], x: () => dx.Tensor) => {
    setVariable("DXTENSOR_SHADERS", shaders);
    setVariable("DXTENSOR_FUSE", fuse);
    dx.closeDevice(device);
    const fn = make();
    const input = x();
    const eager = read(fn(input));
    const step = dx.compile(fn, { check: false, regions: "none" });
    let compiled: number[][] = [];
    for (let i = 0; i < 3; i++) compiled = read(step(input));
    const origins = step.explain().nodes.map(({ origin }) => origin);
    const dispatches = step.explain().dispatches;
    step.dispose();
    return { eager, compiled, dispatches, casts: origins.filter((origin) => origin.startsWith("to ")).length };
  };

  const programs: readonly (readonly [name: string, make: () => (x: dx.Tensor) => dx.Tensor[], casts: number])[] = [
    [
      "of one tensor, with results in float32",
      () => {
        const [q, k, v] = [layer(32, 1), layer(31, 2), layer(32, 3, false)] as [dx.nn.Module, dx.nn.Module, dx.nn.Module];
        return (x) => [q, k, v].map((one) => (one(x.to("float16")) as dx.Tensor).to("float32"));
      },
      0,
    ],
    [
      "between float32 and float16",
      () => {
        const [first, second] = [layer(96, 1), layer(7, 2)];
        return (x) => {
          const y = first(x) as dx.Tensor;
          // The second cast is the first one, which a layer and a result read.
          return [(second(y.to("float16")) as dx.Tensor).to("float32"), y.to("float16")];
        };
      },
      0,
    ],
  ];

  it.each(programs)("cast in the launch: %s", { timeout: 600_000 }, (_, make, casts) => {
    for (const rows of [1, 3]) {
      const x = (): dx.Tensor => real([rows, 96], 5);
      const [off, on, fused] = [run("off", "off", make, x), run("on", "off", make, x), run("on", "always", make, x)];
      on.compiled.forEach((list, i) => {
        // DirectML's form rounds the weights to float16.
        expectClose(list, off.eager[i]!, "f16", 96 * 96);
        // To the bit what the same shaders give with casts of their own.
        expect(list).toEqual(on.eager[i]);
        expect(fused.compiled[i]).toEqual(list);
      });
      expect(off.casts).toBeGreaterThan(on.casts);
      expect(on.casts).toBe(casts);
    }
  });

  it("keep NaN, and overflow as float16 does; what is empty, and a view", () => {
    setVariable("DXTENSOR_SHADERS", "on");
    setVariable("DXTENSOR_FUSE", "always");
    dx.closeDevice(device);
    const one = layer(5, 1);
    const step = dx.compile((x: dx.Tensor) => (one(x.to("float16")) as dx.Tensor).to("float32"), { check: false });
    const values = Array.from({ length: 3 * 96 }, (_, i) => (i === 3 ? NaN : i >= 96 && i < 192 ? 60000 : 0.5));
    for (let call = 0; call < 3; call++) {
      const y = read([step(dx.tensor(values, { shape: [3, 96] }))])[0]!;
      expect(y.slice(0, 5).every(Number.isNaN)).toBe(true);
      expect(y.slice(5, 10).some((v) => !Number.isFinite(v))).toBe(true);
      expect(y.slice(10).every(Number.isFinite)).toBe(true);
      expect(step(dx.zeros([0, 96])).shape).toEqual([0, 5]);
      // Columns of another tensor.
      const t = real([96, 4], 6);
      expect(read([step(t.t())])).toEqual(read([(one(t.t().to("float16")) as dx.Tensor).to("float32")]));
    }
    step.dispose();
  });
});
