import { describe, expect, it } from "vitest";
import type { Activation } from "../../../src/graph/graph.ts";
import { fitOf, gemm, PLAIN, TILES, type GemmForm } from "../../../src/shader/kernels/gemm.ts";
import { gemmDot } from "../../../src/shader/kernels/gemm-dot.ts";
import { NO_EPILOGUE } from "../../../src/shader/kernels/epilogue.ts";
import { expectClose, launch, numbers } from "./support.ts";

type Sizes = readonly (readonly [number, number, number])[];
const sizes: Sizes = [
  [32, 32, 32],
  [33, 31, 17],
  [1, 70, 5],
  [64, 64, 16],
  [65, 130, 33],
  [36, 44, 20],
];

describe.each(Object.entries(TILES))("the %s tile", (name, tile) => {
  // The evaluator takes its time: the large tiles see few sizes.
  const few: Sizes = name === "large" || name === "wide" ? [[128, 128, 16], [60, 20, 9]] : tile.slices > 1 || name === "square" ? [[64, 32, 128], [37, 33, 19], [20, 36, 148]] : sizes; // prettier-ignore
  it.each(few)("%i x %i, %i deep", (m, n, k) => {
    const [a, b] = [numbers(m * k, 1, 1), numbers(k * n, 2, 1)];
    const expected = Array.from({ length: m * n }, (_, i) => {
      let sum = 0;
      for (let q = 0; q < k; q++) sum += a[Math.floor(i / n) * k + q]! * b[q * n + (i % n)]!;
      return sum;
    });
    const buffers = { a: { shape: [m, k], values: a }, b: { shape: [k, n], values: b }, c: { shape: [m, n] } };
    for (const fit of new Set(["each", fitOf(tile, [m, n, k], PLAIN)] as const)) expectClose(launch(gemm(tile, fit), buffers).c!, expected);
  });
});

describe("the kernel of contiguous rows", () => {
  it.each([
    [1, 1, 4],
    [9, 5, 256],
    [6, 10, 260],
    [3, 33, 516],
  ])("%i x %i, %i deep", (m, n, k) => {
    const [a, b] = [numbers(m * k, 1, 1), numbers(n * k, 2, 1)];
    const expected = Array.from({ length: m * n }, (_, i) => {
      const [y, x] = [Math.floor(i / n), i % n];
      let sum = 0;
      for (let q = 0; q < k; q++) sum += a[y * k + q]! * b[x * k + q]!;
      return sum;
    });
    const buffers = { a: { shape: [m, k], values: a }, b: { shape: [n, k], values: b }, c: { shape: [m, n] } };
    expectClose(launch(gemmDot({ ...PLAIN, transB: true }), buffers).c!, expected);
  });
});

describe("several products", () => {
  it.each([
    [33, 34, 19, TILES.smallInTwo],
    [64, 32, 32, TILES.smallInTwo],
    [32, 64, 64, TILES.smallInTwo],
    [5, 7, 70, TILES.smallInTwo],
  ] as const)("%i x %i, %i deep", (m, n, k, tile) => {
    const batch = 3;
    for (const [strideA, strideB] of [
      [m * k, k * n],
      [m * k, 0],
      [0, k * n],
    ] as const) {
      const [a, b] = [numbers((strideA === 0 ? 1 : batch) * m * k, 1, 1), numbers((strideB === 0 ? 1 : batch) * k * n, 2, 1)];
      const added = numbers(n, 3, 1);
      const expected = Array.from({ length: batch * m * n }, (_, i) => {
        const [z, y, x] = [Math.floor(i / (m * n)), Math.floor(i / n) % m, i % n];
        let sum = added[x]!;
        for (let q = 0; q < k; q++) sum += a[z * strideA + y * k + q]! * b[z * strideB + q * n + x]!;
        return sum;
      });
      const shape = (stride: number, rows: number, columns: number): number[] => (stride === 0 ? [rows, columns] : [batch, rows, columns]);
      const buffers = {
        a: { shape: shape(strideA, m, k), values: a },
        b: { shape: shape(strideB, k, n), values: b },
        bias: { shape: [n], values: added },
        c: { shape: [batch, m, n] },
      };
      const kernel = gemm(tile, fitOf(tile, [m, n, k], PLAIN), { ...PLAIN, bias: "row", isBatched: true });
      expectClose(launch(kernel, buffers, { strideA, strideB }).c!, expected);
    }
  });
});

describe("operands and epilogues", () => {
  const [m, n, k] = [33, 34, 19];
  const relu: Activation = { operator: "ACTIVATION_RELU", attributes: {} };
  const leaky: Activation = { operator: "ACTIVATION_LEAKY_RELU", attributes: { alpha: 0.25 } };
  const forms: readonly Partial<GemmForm>[] = [
    { transA: true },
    { transB: true, bias: "row" },
    { transA: true, transB: true, bias: "matrix", scales: true },
    { bias: "row", epilogue: { ...NO_EPILOGUE, activation: relu } },
    { scales: true, epilogue: { ...NO_EPILOGUE, activation: leaky } },
    { bias: "row", scales: true, epilogue: { ...NO_EPILOGUE, hasAddend: true, activation: leaky } },
    { bias: "matrix", epilogue: { ...NO_EPILOGUE, hasAddend: true, reluGradient: "unless at most 0" } },
    { transB: true, epilogue: { ...NO_EPILOGUE, reluGradient: "where above 0" } },
    { isBatched: true, epilogue: { ...NO_EPILOGUE, hasAddend: true, reluGradient: "unless at most 0" } },
  ];
  it.each(forms)("%o", (more) => {
    const form: GemmForm = { ...PLAIN, ...more };
    const { transA, transB, bias, scales, isBatched, epilogue } = form;
    const { activation, hasAddend, reluGradient } = epilogue;
    for (const [rows, columns, deep, fit] of [
      [m, n, k, "each"],
      [64, 32, 32, "whole"],
      [36, 44, 52, "wide"],
    ] as const) {
      const count = isBatched ? 2 : 1;
      const size = rows * columns;
      const [a, b] = [numbers(count * rows * deep, 1, 1), numbers(count * deep * columns, 2, 1)];
      const added = numbers(bias === "row" ? columns : size, 3, 1);
      const [residual, mask] = [numbers(count * size, 4, 1), numbers(count * size, 5, 1).map((v, i) => (i % 7 === 0 ? 0 : i % 11 === 0 ? NaN : v))]; // prettier-ignore
      const [alpha, beta] = scales ? [0.5, -2] : [1, 1];
      const slope = activation === null ? 1 : ((activation.attributes["alpha"] as number | undefined) ?? 0);
      const expected = Array.from({ length: count * size }, (_, i) => {
        const [z, y, x] = [Math.floor(i / size), Math.floor((i % size) / columns), i % columns];
        let sum = 0;
        for (let q = 0; q < deep; q++)
          sum += a[z * rows * deep + (transA ? q * rows + y : y * deep + q)]! * b[z * deep * columns + (transB ? x * deep + q : q * columns + x)]!; // prettier-ignore
        const total = alpha * sum + (bias === null ? 0 : beta * added[bias === "row" ? x : i]!) + (hasAddend ? residual[i]! : 0);
        if (reluGradient === "where above 0") return mask[i]! > 0 ? total : 0;
        if (reluGradient === "unless at most 0") return mask[i]! <= 0 ? 0 : total;
        return total < 0 ? slope * total : total;
      });
      const lead = isBatched ? [count] : [];
      const buffers = {
        a: { shape: [...lead, ...(transA ? [deep, rows] : [rows, deep])], values: a },
        b: { shape: [...lead, ...(transB ? [columns, deep] : [deep, columns])], values: b },
        ...(bias === null ? {} : { bias: { shape: bias === "row" ? [columns] : [rows, columns], values: added } }),
        ...(hasAddend ? { addend: { shape: [...lead, rows, columns], values: residual } } : {}),
        ...(reluGradient === null ? {} : { mask: { shape: [...lead, rows, columns], values: mask } }),
        c: { shape: [...lead, rows, columns] },
      };
      const params = { ...(scales ? { alpha, beta } : {}), ...(isBatched ? { strideA: rows * deep, strideB: deep * columns } : {}) };
      expect(fitOf(TILES.smallInTwo, [rows, columns, deep], form)).toBe(fit);
      expectClose(launch(gemm(TILES.smallInTwo, fit, form), buffers, params).c!, expected);
      if (transB && !transA && !isBatched && deep % 4 === 0) expectClose(launch(gemmDot(form), buffers, params).c!, expected);
    }
  });
});
