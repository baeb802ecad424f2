/** Products with packed weights that make x themselves, and add a tensor: in the evaluator compared with float64, and as layers on devices. */
import { describe, expect, it } from "vitest";
import { fitsPrologue, packedProduct, type PackedProductForm, type PackedProductTile } from "../../../src/shader/kernels/packed-product.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import * as dx from "../../../src/index.ts";
import { eachDevice, numbers as read } from "../../device.ts";
import { generator } from "../random.ts";
import { expectClose, launch, numbers, restoresShaderModes, setVariable } from "./support.ts";

const FORM: PackedProductForm = { bits: 4, isSigned: false, width: 96, block: 32, scales: "f32", hasMinima: true, hasBias: true, count: 1 };
const TILE: PackedProductTile = { threads: 32, lanes: 4, rows: 2 };
const SWISH = { operator: "ACTIVATION_SWISH", attributes: { sigmoidInputScale: 1 } } as const;
const RELU = { operator: "ACTIVATION_RELU", attributes: {} } as const;

interface Weight {
  readonly words: readonly number[];
  readonly scales: readonly number[];
  readonly minima: readonly number[];
  readonly bias: readonly number[];
}

function weight({ width, block }: PackedProductForm, n: number, seed: number): Weight {
  const random = generator(seed);
  const words = Array.from({ length: (n * width) / 8 }, () => (random(65536) * 65536 + random(65536)) >>> 0);
  const of = (count: number, more: number): number[] => numbers(count, seed + more, 1);
  return { words, scales: of((n * width) / block, 1), minima: of((n * width) / block, 2), bias: of(n, 3) };
}

/** x as the prologue makes it, in float64. */
function made({ prologue, width }: PackedProductForm, x: readonly number[], factor: readonly number[]): number[] {
  if (prologue == null) return [...x];
  if (prologue.kind === "rms")
    return x.map((v, i) => {
      const row = x.slice(Math.floor(i / width) * width, (Math.floor(i / width) + 1) * width);
      const mean = row.reduce((a, b) => a + b * b, 0) / width;
      return (v / Math.sqrt(mean + prologue.epsilon)) * (prologue.hasGain ? factor[i % width]! : 1);
    });
  const curve = (v: number): number => (prologue.activation === RELU ? Math.max(v, 0) : v / (1 + Math.exp(-v)));
  return x.map((v, i) => curve(v) * (prologue.hasFactor ? factor[i]! : 1));
}

function product(form: PackedProductForm, { words, scales, minima, bias }: Weight, x: readonly number[], n: number): number[] {
  const { width, block } = form;
  return Array.from({ length: (x.length / width) * n }, (_, i) => {
    const [row, column] = [Math.floor(i / n), i % n];
    let sum = bias[column]!;
    for (let k = 0; k < width; k++) {
      const at = column * width + k;
      const code = (words[Math.floor(at / 8)]! >>> (4 * (at % 8))) & 15;
      sum += x[row * width + k]! * ((code - 8) * scales[Math.floor(at / block)]! + minima[Math.floor(at / block)]!);
    }
    return sum;
  });
}

describe("products that make x themselves in the evaluator", () => {
  it.each([
    ["RMSNorm", { prologue: { kind: "rms", epsilon: 0.1, hasGain: true } }, 1],
    ["RMSNorm without a gain, several rows", { count: 3, prologue: { kind: "rms", epsilon: 1e-5, hasGain: false } }, 4],
    ["an activation", { prologue: { kind: "activated", activation: RELU, hasFactor: false } }, 1],
    ["an activation with a factor", { count: 2, prologue: { kind: "activated", activation: SWISH, hasFactor: true } }, 3],
    ["RMSNorm and a sum", { hasAddend: true, prologue: { kind: "rms", epsilon: 0.1, hasGain: true } }, 2],
    ["a sum alone", { hasAddend: true, count: 2 }, 3],
  ] as readonly (readonly [string, Partial<PackedProductForm>, number])[])("%s", (_, more, m) => {
    const form = { ...FORM, ...more };
    const [x, gain, factor] = [numbers(m * form.width, 8, 1), numbers(form.width, 9, 1), numbers(m * form.width, 10, 1)];
    const isRms = form.prologue?.kind === "rms";
    const source = made(form, x, isRms ? gain : factor);
    for (const way of ["shared", "ahead"] as const)
      for (const sizes of form.hasAddend === true ? [[9]] : [[9], [5, 18]]) {
        const weights = sizes.map((n, i) => weight(form, n, 20 + i));
        const addend = numbers(m * sizes[0]!, 11, 1);
        const buffers = weights.map(({ words, scales, minima, bias }, i) => {
          const [of, n] = [i === 0 ? "" : `${i}`, sizes[i]!];
          const blocks = [n, form.width / form.block];
          return {
            [`codes${of}`]: { shape: [n, form.width / 8], values: words },
            [`scales${of}`]: { shape: blocks, values: scales },
            [`minima${of}`]: { shape: blocks, values: minima },
            [`bias${of}`]: { shape: [n], values: bias },
            [`y${of}`]: { shape: [m, n] },
          };
        });
        const results = launch(
          packedProduct(form, { ...TILE, way }, sizes.length),
          Object.assign(
            {
              x: { shape: [m, form.width], values: x },
              gain: { shape: [form.width], values: gain },
              factor: { shape: [m, form.width], values: factor },
              addend: { shape: [m, sizes[0]!], values: addend },
            },
            ...buffers,
          ),
        );
        weights.forEach((w, i) => {
          const expected = product(form, w, source, sizes[i]!).map((v, at) => v + (form.hasAddend === true ? addend[at]! : 0));
          expectClose(results[i === 0 ? "y" : `y${i}`]!, expected, "f32", form.width * 64);
        });
      }
  });

  it("are those that have all of x in shared memory, of few rows", () => {
    const form: PackedProductForm = { ...FORM, prologue: { kind: "rms", epsilon: 1, hasGain: false } };
    const fits = (more: Partial<PackedProductForm>, tile: Partial<PackedProductTile> = {}): boolean =>
      fitsPrologue({ ...form, ...more }, { ...TILE, ...tile });
    expect([fits({}), fits({ count: 4 }), fits({}, { way: "ahead" })]).toEqual([true, true, true]);
    expect([fits({}, { way: "direct" }), fits({ width: 14336 }), fits({ count: 5 }), fits({ count: 4 }, { threads: 256 })]).toEqual([false, false, false, false]);
    expect(fits({ width: 14336, prologue: null })).toBe(true);
  }); // prettier-ignore
});

/** A driver for CPUs compiles these shaders for minutes. */
const SLOW = { timeout: 600_000 };

restoresShaderModes();

eachDevice("a layer of a decoder", (device) => {
  it("computes its norm and its activation in the launches of its products", SLOW, () => {
    const real = (shape: readonly number[], seed: number): dx.Tensor => dx.randn([...shape], { generator: new dx.Generator(seed) });
    const run = (mode: "off" | "on"): { readonly lists: number[][]; readonly explained: string } => {
      setVariable("DXTENSOR_SHADERS", mode);
      setVariable("DXTENSOR_FUSE", "off");
      dx.closeDevice(device);
      const layer = (rows: number, width: number, seed: number): dx.nn.Module => {
        const linear = dx.nn.linear(width, rows, { bias: false });
        linear.weight = new dx.nn.Parameter(real([rows, width], seed));
        return dx.nn.quantize(linear, { symmetric: false });
      };
      const [gate, up, down] = [layer(64, 32, 1), layer(64, 32, 2), layer(32, 64, 3)];
      const norm = new dx.nn.RMSNorm(32, 1e-5);
      norm.weight = new dx.nn.Parameter(real([32], 4));
      const fn = (x: dx.Tensor): dx.Tensor => {
        const normed = norm(x);
        return down(dx.swiglu(up(normed) as dx.Tensor, gate(normed) as dx.Tensor)) as dx.Tensor;
      };
      const step = dx.compile(fn);
      const lists: number[][] = [];
      for (const shape of [
        [1, 1, 32],
        [1, 3, 32],
        [2, 9, 32],
      ])
        dx.noGrad(() => {
          for (let call = 0; call < 3; call++) lists.push(read(step(real(shape, 5 + call))));
          lists.push(read(step(real([3, shape[2]!, shape[1]!], 9).permute([0, 2, 1]).narrow(0, 1, shape[0]!))));
          const bad = dx.tensor([NaN, Infinity, ...new Array<number>(30).fill(1)], { shape: [1, 1, 32] });
          expect(read(step(bad)).every(Number.isNaN)).toBe(true);
        });
      // Gradients need what the prologues make.
      const x = real([2, 32], 6).requiresGrad_();
      fn(x).sum().backward();
      lists.push(read(x.grad!));
      const last = dx.compile((t: dx.Tensor) => fn(t), { check: false });
      dx.noGrad(() => last(real([1, 32], 7)));
      return { lists, explained: last.explain().toString() };
    };
    const [off, on] = [run("off"), run("on")];
    on.lists.forEach((list, i) => expectClose(list, off.lists[i]!, "f32", 64 * 4096));
    // Of eight buffers a launch has one weight.
    const launches = nativeDevice(dx.device(device)).capabilities.seesTexels ? 2 : 3;
    expect(on.explained).toContain(`${launches} nodes in ${launches} dispatches`);
  });
});
