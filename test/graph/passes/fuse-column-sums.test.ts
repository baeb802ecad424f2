import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { eachDevice } from "../../device.ts";
import { expectClose, launch, numbers, restoresShaderModes } from "../../shader/kernels/support.ts";

describe("the launch of a product", () => {
  const names = Object.keys(TILES) as (keyof typeof TILES)[];
  const sizes = [
    [33, 36, 20],
    [17, 7, 5],
    [128, 128, 128],
    [1, 130, 4],
  ] as const;
  const cases = names.flatMap((name) => sizes.map((size) => [name, ...size] as const));
  it.each(cases)("writes the sums of columns by tiles of rows: %s, %i x %i x %i", (name, m, n, k) => {
    const tile = TILES[name];
    const [a, b, addend] = [numbers(m * k, 1, 1), numbers(k * n, 2, 1), numbers(m * n, 3, 1)];
    // NaN stays in its column.
    a[0] = k === 20 ? NaN : 1;
    const mask = numbers(m * n, 4, 1);
    const form: GemmForm = {
      ...PLAIN,
      transA: k === 5,
      hasColumnSums: true,
      epilogue: { ...NO_EPILOGUE, hasAddend: true, reluGradient: "where above 0" },
    };
    const tiles = Math.ceil(m / tile.bm);
    const buffers = {
      a: { shape: k === 5 ? [k, m] : [m, k], values: a },
      b: { shape: [k, n], values: b },
      addend: { shape: [m, n], values: addend },
      mask: { shape: [m, n], values: mask },
      c: { shape: [m, n] },
      columnSums: { shape: [tiles, n] },
    };
    const { c, columnSums } = launch(gemm(tile, fitOf(tile, [m, n, k], form), form), buffers);
    const expected = Array.from({ length: tiles * n }, (_, i) => {
      const [first, x] = [Math.floor(i / n) * tile.bm, i % n];
      let sum = 0;
      for (let y = first; y < Math.min(m, first + tile.bm); y++) sum += c![y * n + x]!;
      return sum;
    });
    expectClose(columnSums!, expected, "f32", 128);
    expect(c!.some((v) => v !== 0)).toBe(true);
    const { hasColumnSums: _, ...plain } = form;
    const { columnSums: __, ...others } = buffers;
    expect(c).toEqual(launch(gemm(tile, fitOf(tile, [m, n, k], plain), plain), others).c);
  });
});

/** A driver for CPUs compiles these shaders for a minute. */
const SLOW = { timeout: 600_000 };

eachDevice("sums of a product's columns", (device) => {
  restoresShaderModes();

  const make = (shape: readonly number[], seed: number): dx.Tensor =>
    dx.scope(() => dx.randn([...shape], { device, generator: new dx.Generator(seed) }).mul(0.25));

  /** Values of three calls of fn, compiled, and how many of its launches write sums of columns. */
  const run = (shaders: string, fuse: string, fn: (...x: dx.Tensor[]) => dx.Tensor[], inputs: () => readonly dx.Tensor[]) => {
    process.env.DXTENSOR_SHADERS = shaders;
    process.env.DXTENSOR_FUSE = fuse;
    dx.closeDevice(device);
    const own = inputs().map((t) => t.detach().requiresGrad_());
    const step = dx.compile(fn, { check: false, regions: "none" });
    let results: number[][] = [];
    for (let i = 0; i < 3; i++) results = step(...own).map((t) => [...(t.dataSync() as Float32Array)]);
    const nodes = step.explain().nodes;
    step.dispose();
    return { results, nodes };
  };

  const sumsOf = (nodes: readonly { readonly origin: string; readonly outputs: readonly string[] }[]): number =>
    nodes.filter(({ origin, outputs }) => origin.endsWith("sums of columns") && outputs.length === 2).length;

  const layers = (x: dx.Tensor, ...weights: dx.Tensor[]): dx.Tensor[] => {
    let h = x;
    for (let i = 0; i < weights.length; i += 2) {
      h = dx.linear(h, weights[i]!, weights[i + 1]!);
      if (i + 2 < weights.length) h = dx.relu(h);
    }
    const loss = h.square().mean();
    return [loss, ...dx.grad(loss, weights)];
  };

  it.each([
    ["rows that are no multiple of a tile", [100, 64], [64, 64]],
    ["several axes of rows", [5, 21, 64], [68, 64]],
    ["columns that are no multiple of four", [100, 66], [62, 66]],
  ] as const)("are the gradients of biases: %s", SLOW, (_, shape, [width, inner]) => {
    const first = shape.at(-1)!;
    const inputs = (): dx.Tensor[] => [make(shape, 1), make([inner, first], 2), make([inner], 3), make([width, inner], 4), make([width], 5), make([60, width], 6), make([60], 7)];
    const off = run("off", "off", layers, inputs);
    for (const fuse of ["off", "always"]) {
      const on = run("on", fuse, layers, inputs);
      on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f32", 100));
      // The gradient of the last result is no product's.
      expect(sumsOf(on.nodes)).toBe(2);
      expect(sumsOf(off.nodes)).toBe(0);
    }
  }); // prettier-ignore

  it("are the sums of a result that others read too, with NaN, and not those of an activation", SLOW, () => {
    const inputs = (): dx.Tensor[] => {
      const x = [...(make([100, 64], 1).dataSync() as Float32Array)];
      [x[70], x[6399]] = [NaN, Infinity];
      return [dx.tensor(x, { shape: [100, 64], device }), make([64, 64], 2)];
    };
    const fn = (x: dx.Tensor, w: dx.Tensor): dx.Tensor[] => {
      const y = dx.matmul(x.detach(), w.detach());
      const h = dx.relu(dx.matmul(x.detach(), w.detach().mul(2)));
      return [y, y.sum(0), y.reshape(4, 25, 64).sum([0, 1]), y.reshape(4, 25, 64).sum(1), y.sum(), h.sum(0)];
    };
    const [off, on] = [run("off", "off", fn, inputs), run("on", "off", fn, inputs)];
    on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f32", i === 4 ? 6400 : 100));
    expect(sumsOf(on.nodes)).toBe(1);
  });

  it("are of products that regions do not contain", () => {
    const inputs = (): dx.Tensor[] => [make([16, 64], 1), make([64, 64], 2)];
    const fn = (x: dx.Tensor, w: dx.Tensor): dx.Tensor[] => [dx.matmul(x.detach(), w.detach()).sum(0)];
    const [off, on] = [run("off", "off", fn, inputs), run("on", "always", fn, inputs)];
    expectClose(on.results[0]!, off.results[0]!, "f32", 64);
    expect(sumsOf(on.nodes)).toBe(0);
  });
});
