/** Random functions of elementwise operations, with what they give in float64. */
import { expect } from "vitest";
import * as dx from "../../../../src/index.ts";
import type { Graph } from "../../../../src/graph/graph.ts";
import { fuseRegions } from "../../../../src/graph/passes/fuse/fuse.ts";
import { verifyGraph } from "../../../../src/graph/invariants.ts";
import { nativeDevice } from "../../../../src/runtime/devices.ts";
import type { Built } from "../../build.ts";

/** The graph after the pass, verified. */
export function fused({ graph }: Built): Graph {
  const result = fuseRegions(graph, nativeDevice(dx.device("cpu")).capabilities, new Map());
  verifyGraph(result, "fuse");
  return result;
}

/** A tensor, and what it should hold. */
export interface Pair {
  readonly t: dx.Tensor;
  readonly ref: Float64Array;
  readonly shape: readonly number[];
  readonly dtype: dx.DType;
}

export interface Kind {
  /** Values among an input's. */
  readonly special: readonly number[];
}
export const GENERAL: Kind = { special: [] };
export const SPECIAL: Kind = { special: [NaN, Infinity, -Infinity, -0] };

type Rng = () => number;

export function mulberry(seed: number): Rng {
  let a = seed * 0x9e3779b1;
  return () => {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** All elements of a tensor. */
export const numbers = (t: dx.Tensor): number[] => ([t.toArraySync()] as unknown[]).flat(10 as 0).map(Number);
/** The operators that fused regions of a compiled function have. */
export const inside = (f: { explain(): dx.Explanation }): string[] =>
  f.explain().fused.flatMap(({ nodes }) => nodes.map((n) => n.operator));

export const count = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** The elements of a float64 array at a view's addresses. */
export function at(ref: Float64Array, shape: readonly number[], strides: readonly number[], offset: number): Float64Array {
  const result = new Float64Array(count(shape));
  for (let i = 0; i < result.length; i++) {
    let [rest, address] = [i, offset];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      address += (rest % shape[axis]!) * strides[axis]!;
      rest = Math.floor(rest / shape[axis]!);
    }
    result[i] = ref[address]!;
  }
  return result;
}

export const packedStrides = (shape: readonly number[]): number[] => shape.map((_, i) => count(shape.slice(i + 1)));

export function broadcast(x: Pair, shape: readonly number[]): Float64Array {
  const lead = shape.length - x.shape.length;
  const own = packedStrides(x.shape);
  return at(x.ref, shape, shape.map((_, i) => (i < lead || x.shape[i - lead] === 1 ? 0 : own[i - lead]!)), 0); // prettier-ignore
}

export const shapeOf = (...list: readonly Pair[]): number[] => {
  const rank = Math.max(...list.map((x) => x.shape.length));
  return Array.from({ length: rank }, (_, i) => Math.max(...list.map((x) => x.shape[i - rank + x.shape.length] ?? 1)));
};

export function elementwise(t: dx.Tensor, inputs: readonly Pair[], fn: (...x: number[]) => number): Pair {
  const shape = shapeOf(...inputs);
  const all = inputs.map((x) => broadcast(x, shape));
  const ref = Float64Array.from({ length: count(shape) }, (_, i) => fn(...all.map((x) => x[i]!)));
  return { t, ref, shape, dtype: t.dtype };
}

const max = (a: number, b: number): number => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));
const relu = (x: number): number => (x <= 0 ? 0 : x);

/** Of values of one float dtype; each keeps its values in range. */
const UNARY: readonly (readonly [(x: dx.Tensor) => dx.Tensor, (x: number) => number])[] = [
  [(x) => dx.tanh(x), Math.tanh],
  [(x) => dx.abs(x), Math.abs],
  [(x) => x.neg(), (x) => -x],
  [(x) => dx.relu(x), relu],
  [(x) => dx.sigmoid(x), (x) => 1 / (1 + Math.exp(-x))],
  [(x) => dx.exp(dx.tanh(x)), (x) => Math.exp(Math.tanh(x))],
  [(x) => dx.abs(x).add(1).log(), (x) => Math.log(Math.abs(x) + 1)],
  [(x) => dx.abs(x).add(0.5).sqrt(), (x) => Math.sqrt(Math.abs(x) + 0.5)],
  [(x) => dx.clamp(x, -1, 1.5), (x) => Math.min(Math.max(x, -1), 1.5)],
  [(x) => x.mul(0.5).add(0.25), (x) => x * 0.5 + 0.25],
  [(x) => dx.leakyRelu(x), (x) => (x > 0 ? x : 0.01 * x)],
  [(x) => dx.softplus(x), (x) => (x > 20 ? x : Math.log1p(Math.exp(x)))],
  [(x) => dx.elu(x), (x) => (x > 0 ? x : Math.expm1(x))],
  [(x) => dx.square(x), (x) => x * x],
];
const BINARY: readonly (readonly [(a: dx.Tensor, b: dx.Tensor) => dx.Tensor, (a: number, b: number) => number])[] = [
  [(a, b) => a.add(b), (a, b) => a + b],
  [(a, b) => a.sub(b), (a, b) => a - b],
  [(a, b) => dx.tanh(a).mul(b), (a, b) => Math.tanh(a) * b],
  [(a, b) => a.div(dx.abs(b).add(1)), (a, b) => a / (Math.abs(b) + 1)],
  [(a, b) => dx.maximum(a, b), max],
  [(a, b) => dx.minimum(a, b), (a, b) => -max(-a, -b)],
];
const INTEGER: readonly (readonly [(a: dx.Tensor, b: dx.Tensor) => dx.Tensor, (a: number, b: number) => number])[] = [
  [(a, b) => a.add(b), (a, b) => (a + b) | 0],
  [(a, b) => a.sub(b), (a, b) => (a - b) | 0],
  [(a, b) => a.mul(b), Math.imul],
  [(a, b) => dx.maximum(a, b), Math.max],
];

export interface RandomProgram {
  run(this: void, ...inputs: dx.Tensor[]): dx.Tensor[];
  /** New ones in each call. */
  inputs(): dx.Tensor[];
  /** Of the last inputs. */
  reference(): readonly (readonly number[])[];
  compare(result: dx.Tensor, expected: readonly number[], name: string): void;
}

const SHAPES: readonly (readonly number[])[] = [[3, 5, 4], [5, 4], [4], [1, 4], [3, 1, 1], [3, 5, 1], [1], [5, 1]]; // prettier-ignore
const DTYPES = ["float32", "float32", "float32", "float16", "int32", "bool"] as const;

export function randomProgram(seed: number, { special }: Kind, device: dx.Device): RandomProgram {
  const plan = mulberry(seed);
  const pick = <T>(list: readonly T[], rng = plan): T => list[Math.floor(rng() * list.length)]!;
  // Larger ones for several elements of a thread, odd ones for the last thread.
  const scale = pick([1, 1, 1, 7, 64]);
  const leaves = Array.from({ length: 2 + Math.floor(plan() * 4) }, () => {
    const shape = pick(SHAPES).map((d) => (d === 4 ? 4 * scale : d));
    return { shape, dtype: pick(DTYPES), view: pick(["whole", "whole", "transposed", "offset", "steps"] as const) };
  });
  leaves[0] = { shape: [3, 5, 4 * scale], dtype: "float32", view: leaves[0]!.view };
  const steps = mulberry(seed + 1000);
  const stepSeed = Math.floor(steps() * 2 ** 31);
  const data = mulberry(seed + 2000);
  let last: Pair[] = [];
  let usesHalves = false;

  const make = (): Pair[] =>
    leaves.map(({ shape, dtype, view }) => {
      const size = count(shape);
      const n = 2 * size + 5;
      const values = Float64Array.from({ length: n }, () => {
        if (dtype === "bool") return data() < 0.5 ? 1 : 0;
        if (dtype === "int32") return Math.floor(data() * 2000) - 1000;
        return special.length > 0 && data() < 0.1 ? pick(special, data) : Math.fround(Math.round((data() * 4 - 2) * 256) / 256);
      });
      const base = dx.tensor([...values], { dtype, device });
      const [reversed, strides] = [[...shape].reverse(), packedStrides([...shape].reverse())];
      const [t, ref] =
        view === "transposed"
          ? [base.narrow(0, 0, size).reshape(reversed).permute(shape.map((_, i) => shape.length - 1 - i)), at(values, shape, strides.reverse(), 0)] // prettier-ignore
          : view === "offset"
            ? [base.narrow(0, 3, size).reshape([...shape]), values.slice(3, 3 + size)]
            : view === "steps"
              ? [base.narrow(0, 0, 2 * size).reshape([size, 2]).select(1, 1).reshape([...shape]), values.filter((_, i) => i % 2 === 1 && i < 2 * size)] // prettier-ignore
              : [base.narrow(0, 0, size).reshape([...shape]), values.slice(0, size)];
      return { t, ref, shape, dtype };
    });

  const isFloat = (x: Pair): boolean => x.dtype === "float32" || x.dtype === "float16";

  const compute = (inputs: readonly Pair[]): Pair[] => {
    const rng = mulberry(stepSeed);
    const pool = [...inputs];
    const of = (list: readonly Pair[]): Pair => pick(list, rng);
    for (let i = 0; i < 4 + (stepSeed % 9); i++) {
      const x = of(pool);
      const same = pool.filter((y) => y.dtype === x.dtype);
      if (isFloat(x)) {
        const roll = rng();
        if (roll < 0.4) {
          const [fn, ref] = pick(UNARY, rng);
          pool.push(elementwise(fn(x.t), [x], ref));
        } else if (roll < 0.8) {
          const [[fn, ref], y] = [pick(BINARY, rng), of(same)];
          pool.push(elementwise(fn(x.t, y.t), [x, y], ref));
        } else if (roll < 0.9) {
          const [a, b] = [of(inputs.filter(isFloat)), of(inputs.filter(isFloat))];
          const condition = elementwise(dx.lt(a.t, b.t), [a, b], (p, q) => Number(p < q));
          const y = of(same);
          pool.push(
            condition,
            elementwise(dx.where(condition.t, x.t, y.t), [condition, x, y], (c, p, q) => (c === 1 ? p : q)),
          );
        } else pool.push(elementwise(x.t.to(x.dtype === "float32" ? "float16" : "float32"), [x], (v) => v));
      } else if (x.dtype === "int32") {
        const [[fn, ref], y] = [pick(INTEGER, rng), of(same)];
        if (rng() < 0.3)
          pool.push(elementwise(dx.clamp(x.t, -100, 100).to("float32").mul(0.01), [x], (v) => Math.min(Math.max(v, -100), 100) * 0.01)); // prettier-ignore
        else pool.push(elementwise(fn(x.t, y.t), [x, y], ref));
      } else if (rng() < 0.5) pool.push(elementwise(x.t.to("float32"), [x], (v) => v));
      else pool.push(elementwise(dx.logicalNot(x.t), [x], (v) => 1 - v));
    }
    usesHalves ||= pool.some((x) => x.dtype === "float16");
    const made = pool.slice(inputs.length);
    const last = made.at(-1)!;
    // Two results at least, of which one is of all shapes.
    const whole = elementwise(dx.mul(inputs[0]!.t, 0.5).add(last.t.to("float32")), [inputs[0]!, last], (a, b) => a * 0.5 + b);
    return [whole, ...made.filter(() => rng() < 0.3)];
  };

  return {
    inputs: () => (last = make()).map((x) => x.t),
    run: (...tensors) => compute(tensors.map((t, i) => ({ ...last[i]!, t }))).map((x) => x.t),
    reference: () => compute(last).map((x) => [...x.ref]),
    compare(result, expected, name) {
      const values = ([result.toArraySync()] as unknown[]).flat(10 as 0).map(Number);
      expect(values).toHaveLength(expected.length);
      const finite = expected.filter(Number.isFinite).map(Math.abs);
      const range = Math.max(1, ...finite);
      const tolerance = usesHalves ? 0.01 : 2e-5;
      const isNear = (v: number, e: number): boolean => Object.is(v, e) || v === e || Math.abs(v - e) <= tolerance * range;
      const wrong = values.flatMap((v, i) => (isNear(v, expected[i]!) ? [] : [`${name} at ${i}: ${v} and ${expected[i]}`]));
      expect(wrong.slice(0, 3)).toEqual([]);
    },
  };
}
