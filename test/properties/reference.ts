/** Views, writes and arithmetic of float64 numbers in plain JavaScript: the reference for chains of operations. */
import type * as dx from "../../src/index.ts";

/** A mutable element per index: views share elements, writes change them. Derivatives flow through the expressions in the elements. */
export interface Scalar {
  readonly value: number;
  /** Which scalars it was made of, with the derivative by each. */
  readonly parents: readonly (readonly [Scalar, number])[];
}
export interface Element {
  now: Scalar;
}
export interface Reference {
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly elements: readonly Element[];
}

export const constant = (value: number): Scalar => ({ value, parents: [] });
const sizeOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);

/** The coordinates of the element at a row-major index. */
function coordinates(shape: readonly number[], index: number): number[] {
  const at = shape.map(() => 0);
  let rest = index;
  for (let i = shape.length - 1; i >= 0; i--) {
    at[i] = rest % shape[i]!;
    rest = Math.floor(rest / shape[i]!);
  }
  return at;
}
const offsetOf = (shape: readonly number[], at: readonly number[]): number => at.reduce((n, c, i) => n * shape[i]! + c, 0);

/** A view of a shape whose element at each coordinate is the source's at others. */
export const viewed = (x: Reference, shape: readonly number[], from: (at: readonly number[]) => readonly number[]): Reference => ({
  shape,
  elements: Array.from({ length: sizeOf(shape) }, (_, i) => x.elements[offsetOf(x.shape, from(coordinates(shape, i)))]!),
});

export const reshaped = (x: Reference, shape: readonly number[]): Reference => ({ shape, elements: x.elements });

/** The value at each coordinate of a shape, as new elements. */
export const computed = (shape: readonly number[], of: (at: readonly number[]) => Scalar): Reference => ({
  shape,
  elements: Array.from({ length: sizeOf(shape) }, (_, i) => ({ now: of(coordinates(shape, i)) })),
});

/** The element that broadcasting puts at a coordinate of a larger shape. */
export function broadcastAt(x: Reference, at: readonly number[]): Scalar {
  const own = at.slice(at.length - x.shape.length).map((c, i) => (x.shape[i] === 1 ? 0 : c));
  return x.elements[offsetOf(x.shape, own)]!.now;
}

export const unary = (s: Scalar, value: number, slope: number): Scalar => ({ value, parents: [[s, slope]] });

/** Derivatives of the sum of all elements by given scalars. */
export function gradients(result: Reference, by: readonly Scalar[]): number[] {
  const order: Scalar[] = [];
  const seen = new Set<Scalar>();
  const visit = (s: Scalar): void => {
    if (seen.has(s)) return;
    seen.add(s);
    for (const [p] of s.parents) visit(p);
    order.push(s);
  };
  const sums = new Map<Scalar, number>();
  for (const { now } of result.elements) {
    visit(now);
    sums.set(now, (sums.get(now) ?? 0) + 1);
  }
  for (const s of order.toReversed()) for (const [p, slope] of s.parents) sums.set(p, (sums.get(p) ?? 0) + slope * (sums.get(s) ?? 0));
  return by.map((s) => sums.get(s) ?? 0);
}

/** A step of a chain: what it does to a tensor, and to its reference. */
export interface Step {
  readonly text: string;
  readonly run: (x: dx.Tensor) => dx.Tensor;
  readonly expect: (x: Reference) => Reference;
}
