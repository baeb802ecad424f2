import { describe, expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { gemmSum, SUMMED_ROWS } from "../../../src/shader/kernels/gemm-sum.ts";
import { fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { floatOfHalf, halfOfFloat } from "../../../src/shader/operations.ts";
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

  /** Sums of the columns of c [count, m, n], of each product's tiles of so many rows. */
  const tilesOf = (c: readonly number[], [count, m, n]: readonly [number, number, number], tileRows: number): number[] => {
    const tiles = Math.ceil(m / tileRows);
    return Array.from({ length: count * tiles * n }, (_, i) => {
      const [z, first, x] = [Math.floor(i / (tiles * n)), (Math.floor(i / n) % tiles) * tileRows, i % n];
      let sum = 0;
      for (let y = first; y < Math.min(m, first + tileRows); y++) sum += c[(z * m + y) * n + x]!;
      return sum;
    });
  };

  it.each(cases.filter(([, m]) => m < 128))("writes those of several products: %s, %i x %i x %i", (name, m, n, k) => {
    const [tile, count] = [TILES[name], 3];
    const form: GemmForm = { ...PLAIN, isBatched: true, transB: k === 5 };
    const [a, b] = [numbers(count * m * k, 1, 1), numbers(k * n, 2, 1)];
    a[m * k] = NaN;
    const operands = { a: { shape: [count, m, k], values: a }, b: { shape: k === 5 ? [n, k] : [k, n], values: b }, c: { shape: [count, m, n] } }; // prettier-ignore
    const sizes = [count * Math.ceil(m / tile.bm), n];
    const params = { strideA: m * k, strideB: 0 };
    const fit = fitOf(tile, [m, n, k], form);
    const { c, columnSums } = launch(gemm(tile, fit, { ...form, hasColumnSums: true }), { ...operands, columnSums: { shape: sizes } }, params); // prettier-ignore
    expectClose(columnSums!, tilesOf(c!, [count, m, n], tile.bm), "f32", 128);
    expect(c).toEqual(launch(gemm(tile, fit, form), operands, params).c);
  });

  const halves: readonly [string, Partial<GemmForm>, "f32" | "f16"][] = [
    ["of float16", { element: "f16" }, "f16"],
    ["of float16 with float32 operands", { element: "f16", cast: ["a", "b"] }, "f16"],
    ["of float16, cast to float32", { element: "f16", epilogue: { ...NO_EPILOGUE, casts: true } }, "f32"],
    ["of float32, cast to float16", { element: "f32", epilogue: { ...NO_EPILOGUE, casts: true } }, "f16"],
  ];
  it.each(names.flatMap((name) => halves.map((row) => [name, ...row] as const)))("sums what is written: %s %s", (name, _, more, stored) => {
    const [m, n, k] = [37, 24, 40];
    const tile = TILES[name];
    const form: GemmForm = { ...PLAIN, ...more, hasColumnSums: true };
    const [a, b] = [numbers(m * k, 1, 1, "f16"), numbers(k * n, 2, 1, "f16")];
    a[0] = Infinity;
    const tiles = Math.ceil(m / tile.bm);
    const buffers = { a: { shape: [m, k], values: a }, b: { shape: [k, n], values: b }, c: { shape: [m, n] }, columnSums: { shape: [tiles, n] } }; // prettier-ignore
    const { c, columnSums } = launch(gemm(tile, fitOf(tile, [m, n, k], form), form), buffers);
    expect(c!.every((v) => Number.isNaN(v) || floatOfHalf(halfOfFloat(v)) === v)).toBe(stored === "f16" || form.element === "f16");
    // In float32, whatever c is.
    expectClose(columnSums!, tilesOf(c!, [1, m, n], tile.bm), "f32", 128);
  });

  it.each([
    ["one product", {}, 1],
    ["several", { isBatched: true }, 3],
    ["float16", { element: "f16" }, 1],
    ["float32, cast to float16", { epilogue: { ...NO_EPILOGUE, hasAddend: true, casts: true } }, 1],
    ["a bias and relu's gradient", { bias: "row", epilogue: { ...NO_EPILOGUE, reluGradient: "where above 0" } }, 2],
  ] as readonly [string, Partial<GemmForm>, number][])("writes those of split products: %s", (_, more, count) => {
    for (const [m, n, parts] of [[33, 20, 3], [8, 68, 2], [17, 7, 9], [1, 4, 2], [260, 256, 2]] as const) {
      const form: GemmForm = { ...PLAIN, ...more, isBatched: count > 1 };
      const isHalf = (form.element === "f16") !== (form.epilogue.casts === true);
      if (isHalf && n % 4 !== 0) continue;
      const c = form.isBatched ? [count, m, n] : [m, n];
      const size = count * m * n;
      const partial = numbers(parts * size, 1, 1);
      partial[n] = m === 33 ? NaN : 1;
      const operands = {
        partial: { shape: form.isBatched ? [count * parts, m, n] : [parts, m, n], values: partial },
        ...(form.bias === null ? {} : { bias: { shape: [n], values: numbers(n, 2, 1) } }),
        ...(form.epilogue.hasAddend ? { addend: { shape: c, values: numbers(size, 3, 1) } } : {}),
        ...(form.epilogue.reluGradient === null ? {} : { mask: { shape: c, values: numbers(size, 4, 1) } }),
        c: { shape: c },
      };
      const sizes = [count * Math.ceil(m / SUMMED_ROWS), n];
      const made = launch(gemmSum({ ...form, hasColumnSums: true }, c), { ...operands, columnSums: { shape: sizes } }, { parts });
      expect(made.c).toEqual(launch(gemmSum(form, c), operands, { parts }).c);
      expectClose(made.columnSums!, tilesOf(made.c!, [count, m, n], SUMMED_ROWS), "f32", 16);
    }
  }); // prettier-ignore
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

  it("are those of several products, together or of each, in any shape that keeps products apart", SLOW, () => {
    const inputs = (): dx.Tensor[] => [make([4, 52, 64], 1), make([4, 64, 72], 2)];
    const fn = (x: dx.Tensor, w: dx.Tensor): dx.Tensor[] => {
      const [y, z] = [dx.matmul(x.detach(), w.detach()), dx.matmul(x.detach(), w.detach().mul(2))];
      return [y.sum([0, 1]), y.sum(1), y.reshape(2, 2, 26, 2, 72).sum([2, 3]), y.reshape(208, 72).sum(0), y.sum(0), z.reshape(2, 104, 72).sum(1), z.sum(-1)];
    };
    for (const fuse of ["off", "always"]) {
      const [off, on] = [run("off", "off", fn, inputs), run("on", fuse, fn, inputs)];
      on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f32", 208));
      expect(sumsOf(on.nodes)).toBe(1);
    }
  }); // prettier-ignore

  it("are those of a product whose K is split", SLOW, () => {
    const inputs = (): dx.Tensor[] => [make([100, 64], 1), make([64, 64], 2), make([64], 3), make([2048, 64], 4), make([2048], 5)];
    const off = run("off", "off", layers, inputs);
    for (const fuse of ["off", "always"]) {
      const on = run("on", fuse, layers, inputs);
      on.results.forEach((list, i) => expectClose(list, off.results[i]!, "f32", 2048));
      expect(sumsOf(on.nodes)).toBe(1);
      expect(on.nodes.find(({ origin }) => origin.endsWith("sums of columns"))!.inputs[0]).toMatch(/float32\[\d+, 100, 64\]/);
    }
  });

  it("are float32 of a float16 result and rounded once, from 2^20 elements on", SLOW, () => {
    for (const [rows, count] of [[2048, 1], [1024, 0]] as const) {
      const inputs = (): dx.Tensor[] => [make([rows, 32], 1), make([32, 516], 2)].map((t) => dx.scope(() => t.to("float16")));
      const fn = (x: dx.Tensor, w: dx.Tensor): dx.Tensor[] => {
        const y = dx.matmul(x.detach(), w.detach());
        return [y.sum(0).to("float32"), y.reshape(4, rows / 4, 516).sum([0, 1]).to("float32"), y.to("float32")];
      };
      for (const fuse of ["off", "always"]) {
        const on = run("on", fuse, fn, inputs);
        const y = on.results[2]!;
        const expected = Array.from({ length: 516 }, (_, x) => {
          let sum = 0;
          for (let r = 0; r < rows; r++) sum += y[r * 516 + x]!;
          return sum;
        });
        for (const list of on.results.slice(0, 2)) {
          expectClose(list, expected, "f16", 4);
          expect(list.every((v) => floatOfHalf(halfOfFloat(v)) === v)).toBe(true);
        }
        expect(sumsOf(on.nodes)).toBe(count);
      }
    }
  }); // prettier-ignore

  it("may be beyond float16 in parts of the rows", SLOW, () => {
    const signs = Array.from({ length: 2048 * 32 }, (_, i) => (i < 1024 * 32 ? 4 : -4));
    const inputs = (): dx.Tensor[] => [dx.scope(() => dx.tensor(signs, { shape: [2048, 32], device }).to("float16")), dx.full([32, 512], 1, { device, dtype: "float16" })];
    const on = run("on", "off", (x, w) => [dx.matmul(x.detach(), w.detach()).sum(0).to("float32")], inputs);
    expect(sumsOf(on.nodes)).toBe(1);
    expect(on.results[0]).toEqual(new Array(512).fill(0));
  }); // prettier-ignore

  it("are of products that regions do not contain", () => {
    const inputs = (): dx.Tensor[] => [make([16, 64], 1), make([64, 64], 2)];
    const fn = (x: dx.Tensor, w: dx.Tensor): dx.Tensor[] => [dx.matmul(x.detach(), w.detach()).sum(0)];
    const [off, on] = [run("off", "off", fn, inputs), run("on", "always", fn, inputs)];
    expectClose(on.results[0]!, off.results[0]!, "f32", 64);
    expect(sumsOf(on.nodes)).toBe(0);
  });
});
