import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { pieceBits } from "../../../src/ops/index/scatter-add-roi.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const wave = (n: number): number[] => Array.from({ length: n }, (_, i) => Math.fround(Math.sin(3.7 * i + 1) * 2));
const indices = (n: number, k: number): number[] => Array.from({ length: k }, (_, i) => (i * i * 7 + 3 * i) % n);
const ints = (data: readonly number[], shape: readonly number[] = [data.length]): dx.Tensor =>
  dx.tensor(Int32Array.from(data), { shape: [...shape] });

/** Of [outer, k, inner] values, the sums at [outer, n, inner]. */
function sums(
  values: ArrayLike<number>,
  index: readonly number[],
  [outer, k, inner]: readonly [number, number, number],
  n: number,
): number[] {
  const want = new Array<number>(outer * n * inner).fill(0);
  for (let i = 0; i < outer * k * inner; i++) want[(Math.floor(i / (k * inner)) * n + index[i]!) * inner + (i % inner)]! += values[i]!;
  return want;
}

test("pieces of k integers add up below 2^24", () => {
  for (const k of [1, 2, 255, 256, 257, 65_536, 65_537, 2 ** 22]) {
    expect(pieceBits(k)).toBeGreaterThan(0);
    expect(k * (2 ** pieceBits(k) - 1)).toBeLessThanOrEqual(2 ** 24);
  }
});

eachMode("sums by index", (device, mode) => {
  const [outer, k, inner, n] = [3, 40, 5, 7];
  const box = [outer, k, inner] as const;
  const count = outer * k * inner;

  test("along an axis in the middle, by indices of elements and by shared ones", () =>
    clean(
      device,
      () => {
        const own = indices(n, count);
        const got = mode.run(
          (v, i) => dx.zeros([outer, n, inner]).scatterAdd(1, i, v),
          dx.tensor(wave(count), { shape: [...box] }),
          ints(own, box),
        );
        expectClose(got, sums(wave(count), own, box, n));
        const shared = indices(n, k);
        const wide = Array.from({ length: count }, (_, i) => shared[Math.floor(i / inner) % k]!);
        const added = mode.run(
          (v, i) => dx.zeros([outer, n, inner]).indexAdd(1, i, v),
          dx.tensor(wave(count), { shape: [...box] }),
          ints(shared),
        );
        expectClose(added, sums(wave(count), wide, box, n));
      },
      { collect: true },
    ));

  test("of views: reversed, transposed, each second row", () =>
    clean(
      device,
      () => {
        const own = indices(n, count);
        const permuted = dx.tensor(wave(count), { shape: [inner, k, outer] }).permute([2, 1, 0]);
        const flat = numbers(permuted);
        const got = mode.run((v, i) => dx.zeros([outer, n, inner]).scatterAdd(1, i, v), permuted, ints(own, box));
        expectClose(got, sums(flat, own, box, n));
        const rows = dx.tensor(wave(60), { shape: [20, 3] });
        const second = mode.run(
          (x, i) => dx.zeros([4, 3]).indexAdd(0, i, dx.flip(x.reshape(10, 2, 3).select(1, 0), 0)),
          rows,
          ints(indices(4, 10)),
        );
        const want = new Array<number>(12).fill(0);
        indices(4, 10).forEach((p, i) => [0, 1, 2].forEach((c) => (want[p * 3 + c]! += wave(60)[(18 - 2 * i) * 3 + c]!)));
        expectClose(second, want);
      },
      { collect: true },
    ));

  test("all into one index, a single row, nothing", () =>
    clean(
      device,
      () => {
        const many = 5000;
        const one = mode.run((v, i) => dx.zeros([3]).scatterAdd(0, i, v), dx.tensor(wave(many)), ints(new Array<number>(many).fill(1)));
        expectClose(one, [0, wave(many).reduce((a, b) => a + b, 0), 0]);
        const single = mode.run((v, i) => dx.zeros([1, 4]).indexAdd(0, i, v), dx.ones([1, 4]), ints([0]));
        expect(single.toArraySync()).toEqual([[1, 1, 1, 1]]);
        const none = mode.run((v, i) => dx.ones([2, 4]).scatterAdd(0, i, v), dx.zeros([0, 4]), dx.zeros([0, 4], { dtype: "int32" }));
        expect(none.toArraySync()).toEqual([
          [1, 1, 1, 1],
          [1, 1, 1, 1],
        ]);
      },
      { collect: true },
    ));

  test("integers wrap exactly, whatever their length", () =>
    clean(
      device,
      () => {
        const many = 70_000;
        const index = Array.from({ length: many }, (_, i) => (i % 3 === 0 ? 0 : 1));
        const values = Int32Array.from({ length: many }, (_, i) => Math.imul(i, 2_654_435_761));
        const want = [0, 0, 0];
        values.forEach((v, i) => (want[index[i]!] = (want[index[i]!]! + v) | 0));
        const got = mode.run((v, i) => dx.zeros([3], { dtype: "int32" }).scatterAdd(0, i, v), dx.tensor(values), ints(index));
        expect(numbers(got)).toEqual(want);

        const long = BigInt64Array.from({ length: 300 }, (_, i) => BigInt.asIntN(64, BigInt(i) * 0x9e3779b97f4a7c15n));
        const totals = [0n, 0n];
        long.forEach((v, i) => (totals[i % 2] = BigInt.asIntN(64, totals[i % 2]! + v)));
        const halves = Array.from({ length: 300 }, (_, i) => i % 2);
        const added = mode.run((v, i) => dx.zeros([2], { dtype: "int64" }).scatterAdd(0, i, v), dx.tensor(long), ints(halves));
        expect([...(added.dataSync() as BigInt64Array)]).toEqual(totals);

        for (const [dtype, wanted] of [
          ["uint8", (300 * 200) % 256],
          ["int8", 48],
          ["int16", 300 * 100],
        ] as const) {
          const small = mode.run(
            (v, i) => dx.zeros([1], { dtype }).scatterAdd(0, i, v),
            dx.full([300], dtype === "uint8" ? 200 : 100, { dtype }),
            ints(new Array<number>(300).fill(0)),
          );
          expect([dtype, ...numbers(small)]).toEqual([dtype, wanted]);
        }
        const truth = mode.run(
          (v, i) => dx.zeros([2], { dtype: "bool" }).scatterAdd(0, i, v),
          dx.ones([256], { dtype: "bool" }),
          ints(new Array<number>(256).fill(1)),
        );
        expect(numbers(truth)).toEqual([0, 1]);
      },
      { collect: true },
    ));

  test("halves are summed in single precision; NaN and infinities stay at their indices", () =>
    clean(
      device,
      () => {
        const half = mode.run(
          (v, i) => dx.zeros([1], { dtype: "float16" }).scatterAdd(0, i, v),
          dx.ones([3000], { dtype: "float16" }),
          ints(new Array<number>(3000).fill(0)),
        );
        expect(numbers(half)).toEqual([3000]);
        const odd = mode.run(
          (v, i) => dx.zeros([5, 2]).indexAdd(0, i, v),
          dx.tensor([NaN, 1, Infinity, 2, -Infinity, 3, Infinity, -Infinity], { shape: [4, 2] }),
          ints([0, 1, 3, 1]),
        );
        expect(odd.toArraySync()).toEqual([
          [NaN, 1],
          [Infinity, -Infinity],
          [0, 0],
          [-Infinity, 3],
          [0, 0],
        ]);
      },
      { collect: true },
    ));

  test("gradients that end in sums by index, with other indices in each call", () =>
    clean(
      device,
      () => {
        const index = indices(6, 30);
        const table = dx.tensor(wave(6 * 4), { shape: [6, 4] });
        const scale = dx.tensor(wave(30 * 4), { shape: [30, 4] });
        const gradient = mode.run(
          (w, i, s) => {
            const leaf = w.detach().requiresGrad_();
            return dx.grad(dx.nn.functional.embedding(i, leaf).mul(s).sum(), [leaf])[0]!;
          },
          table,
          ints(index),
          scale,
        );
        const wide = index.flatMap((p) => [p, p, p, p]);
        expectClose(gradient, sums(wave(120), wide, [1, 30, 4], 6));
      },
      { collect: true },
    ));
});

eachDevice("sums by index in their order", (device) => {
  test("are the same in each call, and the second gradient of a gather is exact", () =>
    clean(
      device,
      () => {
        if (dx.device(device).type !== "cpu") return;
        const k = 20_000;
        const index = ints(indices(50, k));
        const values = dx.tensor(wave(k));
        const first = dx.zeros([50]).scatterAdd(0, index, values).dataSync();
        for (let i = 0; i < 3; i++) expect(dx.zeros([50]).scatterAdd(0, index, values).dataSync()).toEqual(first);
        const x = dx.tensor(wave(50), { requiresGrad: true });
        const [g] = dx.grad(dx.gather(x, 0, index).square().sum(), [x], { createGraph: true });
        const [gg] = dx.grad(g!.sum(), [x]);
        const hits = new Array<number>(50).fill(0);
        indices(50, k).forEach((p) => (hits[p]! += 2));
        expect(numbers(gg!)).toEqual(hits);
      },
      { collect: true },
    ));
});
