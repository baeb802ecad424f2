/**
 * Views whose elements move when a size changes: the last row, merged axes (`reshape([n * l, e])`). A program for several sizes gathers and scatters
 * these by addresses, which it computes from the offset and the strides that each call gives.
 */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { Expr } from "../graph/graph.ts";
import { indices, int32 } from "../core/padded-axes.ts";
import type { Moved } from "./geometry.ts";

type Shape = readonly number[];

/** What the addresses are made of. */
export interface AddressNumbers {
  /** A number of each call's, one int32. */
  readonly number: (of: (moved: Moved) => number) => Expr;
  /** Of the larger view. */
  readonly shape: Shape;
  readonly sample: Moved;
}

/** The rows of a view in the larger storage, one int32 for each; in the padding they are those of the last index before it. */
function addresses(g: GraphBuilder, { number, shape, sample }: AddressNumbers): Expr {
  const sizes = sample.axes === 0 ? [1] : shape.slice(0, sample.axes);
  let sum = g.expand(
    number((m) => m.offset),
    sizes,
  );
  for (let d = 0; d < sample.axes; d++) {
    const n = sizes[d]!;
    let at = indices(g, n);
    if (sample.shape[d] !== n)
      at = g.elementWiseMin(
        at,
        g.expand(
          number((m) => m.shape[d]! - 1),
          [n],
        ),
      );
    const steps = g.elementWiseMultiply(
      at,
      g.expand(
        number((m) => m.strides[d]!),
        [n],
      ),
    );
    sum = g.elementWiseAdd(sum, g.reinterpret(steps, { sizes, strides: sizes.map((_, i) => (i === d ? 1 : 0)) }));
  }
  const count = sizes.reduce((a, b) => a * b, 1);
  if (!sample.carries) return g.reinterpret(g.packed(sum), { sizes: [count] });
  let rest = g.reinterpret(g.packed(sum), { sizes: [count] });
  let flat = int32(g, 0, [count]);
  const { large } = sample.storage;
  large.forEach((step, k) => {
    const isLast = k === large.length - 1;
    let digit = rest;
    if (!isLast) {
      const own = g.expand(
        number((m) => m.storage.small[k]!),
        [count],
      );
      digit = g.elementWiseDivide(rest, own);
      rest = g.elementWiseSubtract(rest, g.elementWiseMultiply(digit, own));
    }
    flat = g.elementWiseAdd(flat, isLast ? digit : g.elementWiseMultiply(digit, int32(g, step, [count])));
  });
  return flat;
}

/** All of a storage as rows. */
const rowsOf = (g: GraphBuilder, whole: Expr, width: number): Expr =>
  g.reinterpret(whole, { sizes: [Math.floor(whole.sizes[0]! / width), width], strides: [width, 1] });

/** A view of a storage (all of it, flat), with padding. */
export function readMoved(g: GraphBuilder, whole: Expr, numbers: AddressNumbers): Expr {
  const { width } = numbers.sample;
  const index = addresses(g, numbers);
  const count = index.sizes[0]!;
  const row = g.reinterpret(index, { sizes: [1, count], strides: [0, 1] });
  const rows = g.gather(rowsOf(g, whole, width), row, { output: { sizes: [count, width] }, axis: 0, indexDimensions: 1 });
  return g.reinterpret(rows, { sizes: numbers.shape.length === 0 ? [1] : numbers.shape });
}

/** A storage (all of it, flat) with a view of it replaced; in the padding of the value are the elements before it. */
export function writeMoved(g: GraphBuilder, whole: Expr, value: Expr, numbers: AddressNumbers): Expr {
  const { width } = numbers.sample;
  const index = addresses(g, numbers);
  const count = index.sizes[0]!;
  const flat = g.reinterpret(g.packed(value), { sizes: [count * width] });
  let indexes = index;
  if (width > 1) {
    const pair = [count, width];
    const row = g.elementWiseMultiply(index, int32(g, width, [count]));
    const sum = g.elementWiseAdd(
      g.reinterpret(row, { sizes: pair, strides: [1, 0] }),
      g.reinterpret(indices(g, width), { sizes: pair, strides: [0, 1] }),
    );
    indexes = g.reinterpret(sum, { sizes: [count * width] });
  }
  return g.scatter(whole, indexes, flat, { axis: 0, output: { sizes: whole.sizes } });
}
