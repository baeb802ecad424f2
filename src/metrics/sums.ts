/** Sums and counts of many batches. @package */
import { isInteger } from "../core/dtype.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { full, zeros } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add, sub } from "../ops/elementwise/binary.ts";
import { isfinite } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { sumRows } from "../ops/index/gather.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { reshape } from "../ops/shape/movement.ts";
import type { StateTensor } from "./metric.ts";

/** A float32 sum and what its roundings lost. */
export type Sum = readonly [high: Tensor, low: Tensor];

/** The states of a Sum. */
export const sumStates = (name: string): readonly [StateTensor, StateTensor] => [
  { name, shape: [], dtype: "float32" },
  { name: `${name}Compensation`, shape: [], dtype: "float32" },
];
export const countState: StateTensor = { name: "count", shape: [], dtype: "int64" };

/** The sum of two, with the error of the addition (Knuth's TwoSum): a million batches lose no more than one. */
export function addSums([a, aLow]: Sum, [b, bLow]: Sum): Sum {
  const high = add(a, b);
  const part = sub(high, a);
  const error = add(sub(a, sub(high, part)), sub(b, part));
  // Of infinities and NaN the errors are NaN.
  return [high, where(isfinite(high), add(add(aLow, bLow), error), 0)];
}

/** The sum of a batch's numbers: exact for integers, whose sum is an int64. */
export function sumOf(x: Tensor): Sum {
  if (!isInteger(x.dtype)) {
    const high = sum(toDType(x, "float32"));
    return [high, zeros([], { device: x.device })];
  }
  const exact = sum(toDType(x, "int64"));
  const high = toDType(exact, "float32");
  return [high, toDType(sub(exact, toDType(high, "int64")), "float32")];
}

/** A float64 number as a Sum. */
export const sumOfNumber = (x: number, { device }: Tensor): Sum => {
  const high = Math.fround(x);
  return [full([], high, { dtype: "float32", device }), full([], Number.isFinite(high) ? x - high : 0, { dtype: "float32", device })];
};

/** An int64 count as a state of a batch. */
export const countOf = (n: number, { device }: Tensor): Tensor => full([], n, { dtype: "int64", device });
export const addAll = (a: readonly Tensor[], b: readonly Tensor[]): Tensor[] => a.map((t, i) => add(t, b[i]!));

/** How many of the elements of a mask have each index, as int64 of a shape. Indices are in range, also where the mask is false. */
export const countAt = (mask: Tensor, index: Tensor, shape: Shape): Tensor =>
  toDType(reshape(sumRows(toDType(flat(mask), "int32"), flat(index), 0, [sizeOf(shape)]), shape), "int64");

const flat = (t: Tensor): Tensor => reshape(t, [t.size]);
