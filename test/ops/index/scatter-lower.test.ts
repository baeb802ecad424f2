import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { foldsByAtomics } from "../../../src/shader/choice.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { clean, eachMode } from "../../device.ts";
import { share } from "../../share.ts";

type Whole = "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64";
type Known = Whole | "float32" | "float16" | "bfloat16";
type Element = number | bigint;

/** Ends of the range, both zeros, what is no number. */
const EDGES: { readonly [D in Known]: readonly Element[] } = {
  float32: [0, -0, NaN, Infinity, -Infinity, 2 ** -126, -(2 ** -126)],
  float16: [0, -0, NaN, Infinity, -Infinity, 65504],
  bfloat16: [0, -0, NaN, Infinity, -Infinity],
  int8: [-128, 127, 0],
  uint8: [255, 0],
  int16: [-32768, 32767],
  uint16: [65535, 0],
  int32: [-(2 ** 31), 2 ** 31 - 1, -1, 0],
  uint32: [2 ** 32 - 1, 2 ** 31, 0],
  int64: [-(2n ** 63n), 2n ** 63n - 1n, -1n, 0n, 2n ** 32n, -(2n ** 32n), 2n ** 32n - 1n],
  uint64: [2n ** 64n - 1n, 2n ** 63n, 0n, 2n ** 32n, 2n ** 32n - 1n],
};

const isWide = (dtype: Known): boolean => dtype.endsWith("64");
const isWhole = (dtype: Known): dtype is Whole => dtype.includes("int");

/** The same for the same seed. */
function* chance(seed: number): Generator<number, never> {
  for (let s = seed >>> 0; ;) {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    yield s / 2 ** 32;
  }
}

function filled(dtype: Known, count: number, next: () => number): Element[] {
  const edges = EDGES[dtype];
  const low = dtype.startsWith("u") ? 0 : -60;
  return Array.from({ length: count }, () => {
    if (next() < 0.02) return edges[Math.floor(next() * edges.length)]!;
    const small = low + Math.floor(next() * 120);
    return isWide(dtype) ? BigInt(small) * (next() < 0.5 ? 1n : 2n ** 33n + 1n) : small;
  });
}

function made(dtype: Known, values: readonly Element[], shape: readonly number[]): dx.Tensor {
  if (dtype === "int64") return dx.tensor(BigInt64Array.from(values as bigint[])).reshape(...shape);
  if (dtype === "uint64") return dx.tensor(BigUint64Array.from(values as bigint[])).reshape(...shape);
  return dx.tensor(values as number[], { dtype }).reshape(...shape);
}

/** As PyTorch wraps sums. */
function wrapped(dtype: Whole, x: Element): Element {
  const bits = Number(dtype.replace(/\D+/, ""));
  const whole = dtype.startsWith("u") ? BigInt.asUintN(bits, BigInt(x)) : BigInt.asIntN(bits, BigInt(x));
  return isWide(dtype) ? whole : Number(whole);
}

const seen = (t: dx.Tensor, dtype: Known): Element[] => [...(isWhole(dtype) ? t : t.to("float32")).dataSync()] as Element[];
// Of equal zeros any one may win.
const plain = (list: readonly Element[]): Element[] => list.map((x) => (x === 0 ? 0 : x));

type Fold = "sum" | "amax" | "amin";

/** x [outer, n, inner] with values [outer, k, inner] folded into it. */
function expected(dtype: Known, fold: Fold, self: boolean, operands: { x: Element[]; v: Element[]; at: number[] }): Element[] {
  const result = [...operands.x];
  const met = new Set<number>();
  operands.v.forEach((b, i) => {
    const to = operands.at[i]!;
    const a = result[to]!;
    if (!self && !met.has(to)) result[to] = b;
    else if (fold === "sum") result[to] = wrapped(dtype as Whole, BigInt(a) + BigInt(b));
    else if (Number.isNaN(b) || (fold === "amax" ? b > a : b < a)) result[to] = Number.isNaN(a) ? a : b;
    met.add(to);
  });
  return result;
}

const SIZES = [
  { outer: 1, k: 5000, inner: 1, n: 70 },
  { outer: 1, k: 600, inner: 8, n: 33 },
  { outer: 3, k: 300, inner: 5, n: 7 },
  { outer: 2, k: 2100, inner: 1, n: 9000 },
];

eachMode("many values by index", (device, mode) => {
  // Each dtype with one of the sizes in each mode, unless all are asked for.
  const modeIndex = mode.name === "compiled" ? 1 : 0;
  for (const [d, dtype] of (Object.keys(EDGES) as Known[]).entries())
    for (const [s, { outer, k, inner, n }] of share([...SIZES.entries()], SIZES.length, d + modeIndex))
      test(`${dtype}: [${outer}, ${k}, ${inner}] into ${n} rows`, () =>
        clean(
          device,
          () => {
            const random = chance(s * 100 + Object.keys(EDGES).indexOf(dtype));
            const next = (): number => random.next().value;
            const x = filled(dtype, outer * n * inner, next);
            const v = filled(dtype, outer * k * inner, next);
            const rows = Array.from({ length: k }, () => Math.floor(next() * n));
            const own = v.map(() => Math.floor(next() * n));
            const flat = (position: (i: number) => number): number[] =>
              v.map((_, i) => (Math.floor(i / (k * inner)) * n + position(i)) * inner + (i % inner));
            const [xt, vt] = [made(dtype, x, [outer, n, inner]), made(dtype, v, [outer, k, inner])];
            const index = dx.tensor(rows, { dtype: "int32" });
            const indices = dx.tensor(own, { dtype: "int32" }).reshape(outer, k, inner);
            // What the dtype makes of the numbers.
            const rounded = { x: seen(xt, dtype), v: seen(vt, dtype) };
            const byRow = { ...rounded, at: flat((i) => rows[Math.floor(i / inner) % k]!) };
            const byOwn = { ...rounded, at: flat((i) => own[i]!) };
            for (const fold of ["sum", "amax", "amin"] as const) {
              if (fold === "sum" && !isWhole(dtype)) continue;
              for (const includeSelf of fold === "sum" ? [true] : [true, false]) {
                const shared = mode.run(
                  (a, b, i) => (fold === "sum" ? dx.indexAdd(a, 1, i, b) : dx.indexReduce(a, 1, i, b, fold, { includeSelf })),
                  xt, vt, index); // prettier-ignore
                const single = mode.run((a, b, i) => dx.scatterReduce(a, 1, i, b, fold, { includeSelf }), xt, vt, indices);
                expect(plain(seen(shared, dtype)), `${fold}, shared`).toEqual(plain(expected(dtype, fold, includeSelf, byRow)));
                expect(plain(seen(single, dtype)), `${fold}, own`).toEqual(plain(expected(dtype, fold, includeSelf, byOwn)));
              }
            }
          },
          { collect: true },
        ));

  test("of a view, along the first axis, by an index that is repeated", () =>
    clean(
      device,
      () => {
        const random = chance(5);
        const v = Array.from({ length: 60 * 90 }, () => Math.floor(random.next().value * 1000) - 500);
        const rows = Array.from({ length: 90 }, () => Math.floor(random.next().value * 11));
        const want = Array.from({ length: 11 }, () => new Array<number>(60).fill(-Infinity));
        rows.forEach((row, i) => want[row]!.forEach((before, c) => (want[row]![c] = Math.max(before, v[c * 90 + i]!))));
        const got = mode.run(
          (t, i) => dx.full([11, 60], -Infinity).scatterReduce(0, i.unsqueeze(1).expand(90, 60), t.t(), "amax"),
          dx.tensor(v, { dtype: "float32" }).reshape(60, 90),
          dx.tensor(rows, { dtype: "int32" }),
        );
        expect(got.toArraySync()).toEqual(want);
      },
      { collect: true },
    ));

  test("equal extremes share the gradient evenly, x's own included", () =>
    clean(
      device,
      () => {
        const k = 4800;
        // Each of 12 indices gets 400 values, of which 40 are the largest, as is x's own there.
        const v = Array.from({ length: k }, (_, i) => (Math.floor(i / 12) % 10 === 0 ? 5 : (i % 5) - 3));
        const index = Array.from({ length: k }, (_, i) => i % 12);
        const [dxs, dvs] = mode.run(
          (a, b, i) => {
            const [x, values] = [a.detach().requiresGrad_(true), b.detach().requiresGrad_(true)];
            return dx.grad(dx.sum(dx.scatterReduce(x, 0, i, values, "amax")), [x, values]);
          },
          dx.full([12], 5),
          dx.tensor(v, { dtype: "float32" }),
          dx.tensor(index, { dtype: "int32" }),
        ) as [dx.Tensor, dx.Tensor];
        const near = (t: dx.Tensor): number[] => [...(t.dataSync() as Float32Array)].map((g) => Math.round(g * 41 * 1e4) / 1e4);
        expect(near(dxs)).toEqual(new Array<number>(12).fill(1));
        expect(near(dvs)).toEqual(v.map((value) => (value === 5 ? 1 : 0)));
      },
      { collect: true },
    ));
});

test("a shader folds many values by index where atomics are cheap", () => {
  const { capabilities } = nativeDevice(dx.device("cpu"));
  const chooses = (isAlone: boolean, values: number): boolean => foldsByAtomics(capabilities, isAlone, values);
  expect([chooses(true, 4095), chooses(true, 4096), chooses(false, 32_767), chooses(false, 32_768)]).toEqual([false, true, false, true]);
});
