import { describe, expect, it } from "vitest";
import * as kernels from "../../../src/shader/kernels/rows.ts";
import { normWeightGradient } from "../../../src/shader/kernels/columns.ts";
import { isWhole, share } from "../../share.ts";
import { expectClose, launch, numbers } from "./support.ts";

const EPS = 1e-5;
const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
const softmax = (x: readonly number[]): number[] => {
  const max = Math.max(...x);
  const exps = x.map((v) => Math.exp(v - max));
  return exps.map((v) => v / sum(exps));
};
/** Rows of a flat list. */
const rowsOf = (x: readonly number[], columns: number): number[][] =>
  Array.from({ length: x.length / columns }, (_, i) => x.slice(i * columns, (i + 1) * columns));

/** Kept in registers by one access or several, by single elements, and read again in each pass. */
const columnsOf = [1, 5, 32, 130, 1024, 2052, 2051];

describe.each(["f32", "f16"] as const)("rows of %s", (e) => {
  const long = isWhole ? [9000, 16384] : e === "f32" ? [4100] : [];

  it.each(share(columnsOf, 2, e === "f32" ? 0 : 1))("of %i: softmax, logSoftmax, their gradient", (columns) => {
    const shape = [2, columns];
    const x = numbers(2 * columns, columns, 5, e);
    const dy = numbers(2 * columns, columns + 1, 1, e);
    const expected = rowsOf(x, columns).flatMap(softmax);
    expectClose(
      launch(kernels.softmax(e, columns), { x: { shape, values: x }, y: { shape } }, { rows: 2, eps: 0, ignored: 0 }).y!,
      expected,
      e,
    );
    expectClose(
      launch(kernels.logSoftmax(e, columns), { x: { shape, values: x }, y: { shape } }, { rows: 2, eps: 0, ignored: 0 }).y!,
      expected.map(Math.log),
      e,
    );
    const y = launch(kernels.softmax(e, columns), { x: { shape, values: x }, y: { shape } }, { rows: 2, eps: 0, ignored: 0 }).y!;
    const buffers = { y: { shape, values: y }, dy: { shape, values: dy }, dx: { shape } };
    const dx = rowsOf(y, columns).flatMap((row, r) => {
      const dot = sum(row.map((v, i) => v * dy[r * columns + i]!));
      return row.map((v, i) => v * (dy[r * columns + i]! - dot));
    });
    expectClose(launch(kernels.softmaxBackward(e, columns), buffers, { rows: 2, eps: 0, ignored: 0 }).dx!, dx, e);
    const ofLog = rowsOf(y, columns).flatMap((row, r) => {
      const total = sum(row.map((_, i) => dy[r * columns + i]!));
      return row.map((v, i) => dy[r * columns + i]! - Math.exp(v) * total);
    });
    expectClose(launch(kernels.logSoftmaxBackward(e, columns), buffers, { rows: 2, eps: 0, ignored: 0 }).dx!, ofLog, e);
  });

  // By one access, by two rows of a group (the last of which is alone), and by long rows, full and not.
  it.each([5, 64, 1024, 1028, ...long])("of %i: layerNorm and RMSNorm, forward and backward", { timeout: 300_000 }, (columns) => {
    const shape = [3, columns];
    const [x, dy] = [numbers(3 * columns, columns, 2, e), numbers(3 * columns, 9, 1, e)];
    const [weight, bias] = [numbers(columns, 7, 1, e), numbers(columns, 8, 1, e)];
    const params = { rows: 3, eps: EPS, ignored: 0 };
    const w = { shape: [columns], values: weight };
    const b = { shape: [columns], values: bias };
    const buffers = { x: { shape, values: x }, weight: w };
    const centred = rowsOf(x, columns).map((row) => {
      const mean = sum(row) / columns;
      return { row: row.map((v) => v - mean), scale: 1 / Math.sqrt(sum(row.map((v) => (v - mean) ** 2)) / columns + EPS) };
    });
    const plain = rowsOf(x, columns).map((row) => ({ row, scale: 1 / Math.sqrt(sum(row.map((v) => v * v)) / columns + EPS) }));
    expectClose(
      launch(kernels.layerNorm(e, columns), { ...buffers, bias: b, y: { shape } }, params).y!,
      centred.flatMap(({ row, scale }) => row.map((v, i) => v * scale * weight[i]! + bias[i]!)),
      e,
    );
    expectClose(
      launch(kernels.rmsNorm(e, columns), { ...buffers, y: { shape } }, params).y!,
      plain.flatMap(({ row, scale }) => row.map((v, i) => v * scale * weight[i]!)),
      e,
    );
    const backward = (rows: typeof centred, subtractsMean: boolean, hasWeight = true): number[] =>
      rows.flatMap(({ row, scale }, r) => {
        const z = row.map((_, i) => dy[r * columns + i]! * (hasWeight ? weight[i]! : 1));
        const h = row.map((v) => v * scale);
        const zh = sum(z.map((v, i) => v * h[i]!)) / columns;
        const mean = subtractsMean ? sum(z) / columns : 0;
        return z.map((v, i) => scale * (v - mean - h[i]! * zh));
      });
    for (const [norm, rows] of [
      ["layerNorm", centred],
      ["rmsNorm", plain],
    ] as const) {
      const isLayer = norm === "layerNorm";
      const dyBuffer = { dy: { shape, values: dy } };
      const statistics = { scale: { shape: [3] }, ...(isLayer ? { mean: { shape: [3] } } : {}) };
      const made = launch(kernels.normBackward(norm, e, columns, true), { ...buffers, ...dyBuffer, dx: { shape }, ...statistics }, params);
      expectClose(made.dx!, backward(rows, isLayer), e);
      expectClose(made.scale!, rows.map(({ scale }) => scale), e); // prettier-ignore
      const known = { scale: { shape: [3], values: made.scale! }, ...(isLayer ? { mean: { shape: [3], values: made.mean! } } : {}) };
      const blocks = { shape: [2, columns] };
      const sums = launch(
        normWeightGradient(norm, e, columns),
        { x: buffers.x, ...dyBuffer, ...known, dweight: blocks, ...(isLayer ? { dbias: blocks } : {}) },
        { rows: 3 },
      );
      const added = (parts: readonly number[]): number[] => Array.from({ length: columns }, (_, i) => parts[i]! + parts[columns + i]!);
      const byColumn = (of: (r: number, i: number) => number): number[] =>
        Array.from({ length: columns }, (_, i) => of(0, i) + of(1, i) + of(2, i));
      expectClose(added(sums.dweight!), byColumn((r, i) => dy[r * columns + i]! * rows[r]!.row[i]! * rows[r]!.scale), e); // prettier-ignore
      if (isLayer) expectClose(added(sums.dbias!), byColumn((r, i) => dy[r * columns + i]!)); // prettier-ignore
      const alone = { x: buffers.x, ...dyBuffer, dx: { shape }, ...statistics };
      const unweighted = backward(rows, isLayer, false);
      expectClose(launch(kernels.normBackward(norm, e, columns, false), alone, params).dx!, unweighted, e);
    }
  });

  it("layerNorm of long rows that begin far from their mean", () => {
    const columns = 16384;
    const x = numbers(columns, 3, 1, e).map((v, i) => (i < 4 ? 1000 : v));
    const mean = sum(x) / columns;
    const scale = 1 / Math.sqrt(sum(x.map((v) => (v - mean) ** 2)) / columns + EPS);
    const [weight, bias] = [x.map(() => 1), x.map(() => 0)];
    const buffers = { x: { shape: [1, columns], values: x }, y: { shape: [1, columns] } };
    const shared = { weight: { shape: [columns], values: weight }, bias: { shape: [columns], values: bias } };
    const y = launch(kernels.layerNorm(e, columns), { ...buffers, ...shared }, { rows: 1, eps: EPS, ignored: 0 }).y!;
    expectClose(y, x.map((v) => (v - mean) * scale), e); // prettier-ignore
    for (const odd of share([Infinity, NaN, -Infinity], 2, e === "f32" ? 0 : 1)) {
      const values = x.map((v, i) => (i === 100 ? odd : v));
      const buffers = { x: { shape: [1, columns], values }, y: { shape: [1, columns] } };
      const made = launch(kernels.layerNorm(e, columns), { ...buffers, ...shared }, { rows: 1, eps: EPS, ignored: 0 }).y!;
      expect(made.every(Number.isNaN)).toBe(true);
    }
  });

  it.each([7, 1000])("of %i: cross entropy, forward and backward", (columns) => {
    const shape = [4, columns];
    const x = numbers(4 * columns, columns, 5, e);
    const target = { shape: [4], values: [3, -100, columns - 1, 2] };
    const counts = [true, false, true, false];
    const buffers = { x: { shape, values: x }, target };
    const params = { rows: 4, eps: 0, ignored: 2 };
    const rows = rowsOf(x, columns).map(softmax);
    const all = { ...buffers, logs: { shape }, loss: { shape: [4] }, counted: { shape: [4] } };
    const { logs, loss, counted } = launch(kernels.crossEntropy(e, columns), all, params);
    expectClose(logs!, rows.flat().map(Math.log), e); // prettier-ignore
    expectClose(loss!, rows.map((row, r) => (counts[r] ? -Math.log(row[target.values[r]!]!) : 0))); // prettier-ignore
    expect(counted).toEqual(counts.map(Number));
    for (const scale of [[1, 2, -0.5, 0.25], [0.5]]) {
      const dx = rows.flatMap((row, r) =>
        row.map((p, i) => (counts[r] ? (scale[r] ?? scale[0]!) * (p - Number(i === target.values[r])) : 0)),
      );
      const back = { logs: { shape, values: logs! }, target, scale: { shape: [scale.length], values: scale }, dx: { shape } };
      expectClose(launch(kernels.crossEntropyBackward(e, columns), back, params).dx!, dx, e);
    }
  });
});
