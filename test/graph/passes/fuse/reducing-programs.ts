/** Random functions that reduce, with what they give in float64: elementwise operations before and after, several results, rows along any axes. */
import { expect } from "vitest";
import * as dx from "../../../../src/index.ts";
import { at, broadcast, count, elementwise, mulberry, packedStrides, type Kind, type Pair } from "./programs.ts";

const LENGTHS = [[1, 2, 3, 7], [1, 3, 5, 8, 33], [1, 2, 4, 6, 10, 64, 100, 130]] as const; // prettier-ignore

/** Elements along the axes as one, of length 1 along them. */
function reduced(t: dx.Tensor, x: Pair, axes: readonly number[], fn: (values: readonly number[]) => number): Pair {
  const shape = x.shape.map((d, i) => (axes.includes(i) ? 1 : d));
  const strides = packedStrides(x.shape);
  const within = x.shape.map((d, i) => (axes.includes(i) ? d : 1));
  const offsets = at(Float64Array.from({ length: count(x.shape) }, (_, i) => i), within, strides, 0); // prettier-ignore
  const starts = at(Float64Array.from({ length: count(x.shape) }, (_, i) => i), shape, strides, 0); // prettier-ignore
  const ref = starts.map((start) => fn([...offsets].map((o) => x.ref[start + o]!)));
  return { t, ref, shape, dtype: t.dtype };
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;

type Reduction = readonly [(x: dx.Tensor, axes: number[]) => dx.Tensor, (values: readonly number[]) => number];
const REDUCTIONS: readonly Reduction[] = [
  [(x, axes) => dx.sum(x, axes, { keepDims: true }), sum],
  [(x, axes) => dx.mean(x, axes, { keepDims: true }), mean],
  [(x, axes) => dx.amax(x, axes, { keepDims: true }), (v) => Math.max(...v)],
  [(x, axes) => dx.amin(x, axes, { keepDims: true }), (v) => Math.min(...v)],
  [(x, axes) => dx.mean(dx.square(x), axes, { keepDims: true }).add(0.25).sqrt(), (v) => Math.sqrt(mean(v.map((a) => a * a)) + 0.25)],
];

const softmaxOf = (x: Pair, t: dx.Tensor, axis: number, isLog: boolean): Pair => {
  const max = broadcast(
    reduced(x.t, x, [axis], (v) => Math.max(...v)),
    x.shape,
  );
  const distance = { ...x, ref: x.ref.map((v, i) => v - max[i]!) };
  const total = broadcast(
    reduced(x.t, distance, [axis], (v) => sum(v.map(Math.exp))),
    x.shape,
  );
  const ref = distance.ref.map((v, i) => (isLog ? v - Math.log(total[i]!) : Math.exp(v) / total[i]!));
  return { t, ref, shape: x.shape, dtype: x.dtype };
};

const layerNormOf = (x: Pair, t: dx.Tensor): Pair => {
  const axis = x.shape.length - 1;
  const average = broadcast(reduced(x.t, x, [axis], mean), x.shape);
  const centered = { ...x, ref: x.ref.map((v, i) => v - average[i]!) };
  const variance = broadcast(
    reduced(x.t, centered, [axis], (v) => mean(v.map((a) => a * a))),
    x.shape,
  );
  return { t, ref: centered.ref.map((v, i) => v / Math.sqrt(variance[i]! + 0.1)), shape: x.shape, dtype: x.dtype };
};

export interface ReducingProgram {
  run(this: void, ...inputs: dx.Tensor[]): dx.Tensor[];
  inputs(): dx.Tensor[];
  reference(): readonly (readonly number[])[];
  compare(result: dx.Tensor, expected: readonly number[], name: string): void;
}

export function reducingProgram(seed: number, { special }: Kind, device: dx.Device): ReducingProgram {
  const plan = mulberry(seed + 5000);
  const pick = <T>(list: readonly T[], rng = plan): T => list[Math.floor(rng() * list.length)]!;
  const shape = LENGTHS.map((list) => pick(list));
  const dtype = pick(["float32", "float32", "float32", "float16"] as const);
  const view = pick(["whole", "whole", "transposed", "steps"] as const);
  const axes = [0, 1, 2].filter(() => plan() < 0.5);
  if (axes.length === 0) axes.push(pick([0, 1, 2]));
  const others = [0, 1, 2].filter((a) => !axes.includes(a));
  const [first, second] = [pick(REDUCTIONS), pick(REDUCTIONS)];
  const rowShape = pick([[shape[2]!], [shape[1]!, 1], [1]]);
  const [usesSoftmax, usesNorm, sumsOthers, softmaxAxis, isLog] = [plan() < 0.4, plan() < 0.4, plan() < 0.4, pick([0, 1, 2]), plan() < 0.5];
  const data = mulberry(seed + 7000);
  let last: Pair[] = [];

  const numbers = (n: number): Float64Array =>
    Float64Array.from({ length: n }, () =>
      special.length > 0 && data() < 0.02 ? pick(special, data) : Math.round((data() * 4 - 2) * 64) / 64,
    );
  const make = (): Pair[] => {
    const size = count(shape);
    const values = numbers(2 * size);
    const base = dx.tensor([...values], { dtype, device });
    const reversed = [...shape].reverse();
    const [t, ref] =
      view === "transposed"
        ? [base.narrow(0, 0, size).reshape(reversed).permute([2, 1, 0]), at(values, shape, packedStrides(reversed).reverse(), 0)]
        : view === "steps"
          ? [
              base
                .reshape([size, 2])
                .select(1, 1)
                .reshape([...shape]),
              values.filter((_, i) => i % 2 === 1),
            ]
          : [base.narrow(0, 0, size).reshape([...shape]), values.slice(0, size)];
    const row = numbers(count(rowShape));
    return [
      { t, ref, shape, dtype },
      { t: dx.tensor([...row], { dtype, device }).reshape([...rowShape]), ref: row, shape: rowShape, dtype },
    ];
  };

  const compute = ([x, row]: readonly Pair[]): Pair[] => {
    const h = elementwise(dx.tanh(x!.t).mul(row!.t), [x!, row!], (a, b) => Math.tanh(a) * b);
    const r = reduced(first[0](h.t, axes), h, axes, first[1]);
    const e = elementwise(h.t.sub(dx.tanh(r.t)), [h, r], (a, b) => a - Math.tanh(b));
    const q = reduced(second[0](e.t, axes), e, axes, second[1]);
    const y = elementwise(e.t.div(dx.abs(q.t).add(1)), [e, q], (a, b) => a / (Math.abs(b) + 1));
    const results = [y, q];
    // DirectML over Vulkan gives NaN for rows of one element.
    if (usesNorm && shape[2]! > 1) results.push(layerNormOf(y, dx.layerNorm(y.t, [shape[2]!], null, null, { eps: 0.1 })));
    if (usesSoftmax && shape[softmaxAxis]! > 1) {
      const s = softmaxOf(y, isLog ? dx.logSoftmax(y.t, softmaxAxis) : dx.softmax(y.t, softmaxAxis), softmaxAxis, isLog);
      results.push(elementwise(s.t.mul(0.5), [s], (a) => a * 0.5));
    }
    if (sumsOthers && others.length > 0) results.push(reduced(dx.mean(y.t, others, { keepDims: true }), y, others, mean));
    return results;
  };

  return {
    inputs: () => (last = make()).map((x) => x.t),
    run: (...tensors) => compute(tensors.map((t, i) => ({ ...last[i]!, t }))).map((x) => x.t),
    reference: () => compute(last).map((x) => [...x.ref]),
    compare(result, expected, name) {
      const values = ([result.toArraySync()] as unknown[]).flat(10 as 0).map(Number);
      expect(values).toHaveLength(expected.length);
      const range = Math.max(1, ...expected.filter(Number.isFinite).map(Math.abs));
      const tolerance = dtype === "float16" ? 0.03 : 3e-5;
      const isNear = (v: number, e: number): boolean => Object.is(v, e) || v === e || Math.abs(v - e) <= tolerance * range;
      const wrong = values.flatMap((v, i) => (isNear(v, expected[i]!) ? [] : [`${name} at ${i}: ${v} and ${expected[i]}`]));
      expect(wrong.slice(0, 3)).toEqual([]);
    },
  };
}
