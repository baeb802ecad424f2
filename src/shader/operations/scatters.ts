/**
 * Writes by index as shader code. Into a mutable buffer, and of many indices: a thread for each update writes it where its index says, and nothing else of
 * the tensor. Of few indices otherwise: a thread for elements of the result compares all indices with theirs.
 */
import type { OperatorName } from "../../dml/operators.generated.ts";
import { isWhole, type Expr } from "../../graph/graph.ts";
import { ALL, NUMBERS, type Attributes, type Reading, type Scattered } from "./code.ts";

/** So many times larger than what is written a tensor has to be: else SCATTER, which writes all of it, costs about the same. */
export const MIN_REST = 4;
/** So many indices are compared with each other, so that of equal ones the last wins; of more any one does. */
export const MAX_ORDERED = 1024;

/** An attribute of nodes whose indices are unsigned numbers, whatever their dtype: DirectML counts signed ones below 0 from the end. */
export const UNSIGNED = "unsignedIndices";

/** An attribute of nodes that write into a mutable buffer itself. */
export const WRITES_OVER = "writesOver";
/** Indices that each element of a result is compared with, and of all threads, each of four elements, together. */
const [MAX_INDICES, MAX_COMPARED] = [32, 2 ** 24];

const product = (list: readonly number[]): number => list.reduce((a, b) => a * b, 1);

function scattered({ inputs, attributes }: Attributes): Scattered {
  const [x, indices, updates] = inputs as readonly [Expr, Expr, Expr];
  const axis = attributes["axis"] as number;
  const isSigned = indices.dtype === "int32" && attributes[UNSIGNED] !== true;
  return { x, indices, updates, isSigned, n: x.sizes[axis]!, k: updates.sizes[axis]!, inner: product(updates.sizes.slice(axis + 1)) };
}

function accepts({ inputs, outputs, attributes }: Attributes, isEach: boolean): boolean {
  const [x, indices, updates] = inputs as readonly [Expr, Expr, Expr];
  const isAlong = (d: number, i: number): boolean => i === attributes["axis"] || d === x.sizes[i];
  const isSame = indices.sizes.length === updates.sizes.length && indices.sizes.every((d, i) => d === updates.sizes[i]);
  const k = updates.sizes[attributes["axis"] as number]!;
  const isFew = attributes[WRITES_OVER] !== true && k <= MAX_INDICES && (k * product(x.sizes)) / 4 <= MAX_COMPARED;
  return (
    (indices.dtype === "int32" || indices.dtype === "uint32") &&
    isWhole(x) &&
    isWhole(outputs[0]!) &&
    isSame &&
    updates.sizes.length === x.sizes.length &&
    updates.sizes.every(isAlong) &&
    k <= MAX_ORDERED &&
    product(updates.sizes) > 0 &&
    (isEach ? isFew : product(updates.sizes) * MIN_REST <= product(x.sizes))
  );
}

export const SCATTERS: { readonly [K in OperatorName]?: readonly Reading[] } = {
  SCATTER: [
    { dtypes: ALL, code: { replaced: scattered }, reads: () => [0, 1, 1], accepts: (node) => accepts(node, true) },
    { dtypes: NUMBERS, code: { scattered }, accepts: (node) => accepts(node, false) },
  ],
};
