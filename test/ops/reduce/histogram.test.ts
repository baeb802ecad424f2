/** Histograms compared with counts in JavaScript. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";
import { threeCalls } from "../../three-calls.ts";
import { expectClose } from "../../tolerance.ts";

const data = Array.from({ length: 40 }, (_, i) => Math.fround(Math.sin(5 * i) * 3));
const weights = data.map((_, i) => (i % 5) / 4);

/** Counts between edges; the last bin has its upper edge. */
function counted(values: readonly number[], edges: readonly number[], w: readonly number[] = values.map(() => 1)): number[] {
  const out = new Array<number>(edges.length - 1).fill(0);
  values.forEach((v, i) => {
    const at = edges.findIndex((e, k) => k < out.length && v >= e && (v < edges[k + 1]! || (k === out.length - 1 && v === edges[k + 1]!)));
    if (at >= 0) out[at]! += w[i]!;
  });
  return out;
}
const even = (low: number, high: number, n: number): number[] => Array.from({ length: n + 1 }, (_, i) => low + ((high - low) * i) / n);

eachDevice("histograms", (device) => {
  test("equal bins of the data, of a range, of nothing", async () => {
    await clean(device, () => {
      const x = dx.tensor(data, { shape: [8, 5] });
      const [low, high] = [Math.min(...data), Math.max(...data)];
      const own = x.histogram(7);
      expectClose(own.binEdges, even(low, high, 7));
      expectClose(own.hist, counted(data, numbers(own.binEdges)));
      expect(own.hist.sum().itemSync()).toBe(40);
      const part = x.histogram(4, { range: [-1, 2], weight: dx.tensor(weights, { shape: [8, 5] }) });
      expectClose(part.hist, counted(data, even(-1, 2, 4), weights));
      const dense = x.histogram(6, { density: true });
      expect(
        dense.hist
          .mul(dense.binEdges.narrow(0, 1, 6).sub(dense.binEdges.narrow(0, 0, 6)))
          .sum()
          .itemSync(),
      ).toBeCloseTo(1, 5);
      const none = dx.histogram(dx.zeros([0]), 2);
      expect([numbers(none.hist), numbers(none.binEdges)]).toEqual([
        [0, 0],
        [0, 0.5, 1],
      ]);
      const same = dx.histogram(dx.tensor([2, 2]), 2);
      expect([numbers(same.hist), numbers(same.binEdges)]).toEqual([
        [0, 2],
        [1.5, 2, 2.5],
      ]);
    });
  });

  test("given edges; NaN and what lies outside are left out", async () => {
    await clean(device, () => {
      const edges = [-2, -1, 0.5, 2];
      const values = [...data, -2, 2, NaN, Infinity];
      expectClose(dx.histogram(dx.tensor(values), dx.tensor(edges)).hist, counted(values, edges));
    });
  });

  test("several axes", async () => {
    await clean(device, () => {
      const x = dx.tensor(data, { shape: [20, 2] });
      const edges = [
        [-2, 0, 2],
        [-3, -1, 1, 3],
      ];
      const { hist } = dx.histogramdd(
        x,
        edges.map((e) => dx.tensor(e)),
        { weight: dx.tensor(weights.slice(0, 20)) },
      );
      const want = new Array<number>(6).fill(0);
      for (let i = 0; i < 20; i++) {
        const at = edges.map((e, k) => counted([data[2 * i + k]!], e).indexOf(1));
        if (!at.includes(-1)) want[at[0]! * 3 + at[1]!]! += weights[i]!;
      }
      expectClose(hist, want);
      const dense = dx.histogramdd(x, [2, 3], { density: true, range: [-3, 3, -3, 3] });
      expect(
        dense.hist
          .sum()
          .mul(3 * 2)
          .itemSync(),
      ).toBeCloseTo(1, 5);
    });
  });

  test("inside compile, three calls", async () => {
    await clean(
      device,
      () => {
        const { hist, binEdges } = threeCalls((x) => dx.histogram(x, 5), [dx.tensor(data)]);
        expectClose(hist, counted(data, numbers(binEdges)));
      },
      { collect: true },
    );
  });

  test("what does not fit is refused", async () => {
    await clean(device, () => {
      const x = dx.tensor([1, 2]);
      expect(() => x.histogram(0)).toThrow(dx.ValueError);
      expect(() => x.histogram(2, { range: [1, 0] })).toThrow(dx.ValueError);
      expect(() => x.histogram(dx.tensor([1]))).toThrow(dx.ShapeError);
      expect(() => x.histogram(2, { weight: dx.ones([3]) })).toThrow(dx.ShapeError);
      expect(() => dx.histogram(dx.tensor([1], { dtype: "int32" }), 2)).toThrow(dx.DTypeError);
      expect(() => dx.histogramdd(dx.zeros([3, 2]), [1])).toThrow(dx.ValueError);
    });
  });
});
