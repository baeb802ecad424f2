/** Tensors of a program's leaves, and the comparison of a tensor with PyTorch's record. */
import * as dx from "../../src/index.ts";
import { values } from "../../src/ops/data/conversion.ts";
import type { Tolerance } from "../tolerance.ts";
import { dtypes, shortOf, type Expected, type Leaf, type Program } from "./language.ts";

function elements(leaf: Leaf): Float32Array | BigInt64Array | Uint8Array | number[] {
  switch (leaf.d) {
    case "f32":
      return Float32Array.from(leaf.v);
    case "i64":
      return BigInt64Array.from(leaf.v, BigInt);
    case "bool":
      return Uint8Array.from(leaf.v);
    case "f16":
    case "i32":
      return [...leaf.v];
    default:
      return leaf.d satisfies never;
  }
}

export const plainTensor = (leaf: Leaf): dx.Tensor => dx.tensor(elements(leaf), { dtype: dtypes[leaf.d], shape: leaf.s });

export function leafTensor(leaf: Leaf): dx.Tensor {
  const t = plainTensor(leaf);
  return leaf.g ? t.requiresGrad_() : t;
}

/** What differs; `what` names the kind of difference. */
export interface Difference {
  readonly what: "null" | "dtype" | "shape" | "value" | "requiresGrad";
  readonly at?: number;
  readonly expected: unknown;
  readonly got: unknown;
}

const real = (v: number | string): number => (v === "nan" ? NaN : v === "inf" ? Infinity : v === "-inf" ? -Infinity : (v as number));

const usesHalf = (p: Program): boolean => p.leaves.some((l) => l.d === "f16") || JSON.stringify(p.body).includes('"float16"');

/** Results of a whole program in float32: rounding of each statement adds up. */
export const toleranceFor = (p: Program): Tolerance => (usesHalf(p) ? { rtol: 2e-2, atol: 2e-2 } : { rtol: 2e-4, atol: 2e-5 });

/** Null, or what differs. isFlagged: whether the result requires a gradient is compared too. */
export function difference(
  expected: Expected | null,
  t: dx.Tensor | null,
  { rtol, atol }: Tolerance,
  isFlagged: boolean,
): Difference | null {
  if (expected === null || t === null) {
    if (expected === t) return null;
    return { what: "null", expected: expected === null ? null : "a tensor", got: t === null ? null : "a tensor" };
  }
  const dtype = shortOf(t.dtype);
  if (dtype !== expected.d) return { what: "dtype", expected: expected.d, got: dtype };
  if (t.shape.join() !== expected.s.join()) return { what: "shape", expected: expected.s, got: [...t.shape] };
  const got = values(
    t.dtype,
    dx.noGrad(() => t.dataSync()),
  ).map(Number);
  const want = expected.v.map(real);
  const largest = want.reduce((max, v) => (Number.isFinite(v) ? Math.max(max, Math.abs(v)) : max), 1);
  const isExact = expected.d === "i64" || expected.d === "bool";
  const at = want.findIndex((a, i) => {
    const b = got[i]!;
    if (a === b || (Number.isNaN(a) && Number.isNaN(b))) return false;
    return isExact || !(Math.abs(a - b) <= rtol * Math.abs(a) + atol * largest);
  });
  if (at >= 0) return { what: "value", at, expected: expected.v.slice(0, 12), got: got.slice(0, 12) };
  if (isFlagged && Boolean(expected.g) !== t.requiresGrad)
    return { what: "requiresGrad", expected: Boolean(expected.g), got: t.requiresGrad };
  return null;
}
