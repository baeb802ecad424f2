/** Block-wise quantisation: float32 tensors as 8-bit codes, with the largest absolute value of each block of 256 elements. */
import type { GraphBuilder } from "../graph/builder.generated.ts";
import { joinFlat } from "../graph/flat-join.ts";
import type { Expr } from "../graph/graph.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { cast, constant, sequence } from "../ops/declare/support.ts";
import { Formula } from "../ops/elementwise/formula.ts";
import type { StateForm } from "./flat.ts";

/** Elements that share a scale. */
export const BLOCK = 256;

const blocksOf = (size: number): number => Math.ceil(size / BLOCK);

/** Codes of numbers of both signs, or of numbers of at least 0. */
export type CodeBook = "signed" | "unsigned";

/** The code of 0. */
export const zeroCode: Readonly<Record<CodeBook, number>> = { signed: 127, unsigned: 0 };

/**
 * A decade of the dynamic code book: the middles of `count` equal parts of [top / 10, top]. There are seven from 1e-7 to 1, each with twice as many codes as that below it, and 0 and 1.
 * Counted from 0 (unsigned: from 1) by size, the codes of a decade are count to 2 count - 1.
 */
interface Decade {
  readonly count: number;
  readonly top: number;
}
const decades = (book: CodeBook): readonly Decade[] =>
  Array.from({ length: 7 }, (_, i) => ({ count: 2 ** i * (book === "signed" ? 1 : 2), top: 10 ** (i - 6) }));

/** The code books as a shader needs them: signed, unsigned. */
export const BOOKS = [
  { decades: decades("signed"), zero: zeroCode.signed },
  { decades: decades("unsigned"), zero: null },
] as const;

/** The values of all 256 codes, as shares of a block's largest. */
function table(g: GraphBuilder, book: CodeBook): Expr {
  const f = new Formula(g, "float32", [256]);
  const codes = sequence(g, "float32", [256]);
  const counted = book === "signed" ? f.abs(f.add(codes, -zeroCode.signed)) : f.add(codes, 1);
  const all = decades(book);
  let share: Expr = f.of(0);
  for (const { count, top } of all) {
    const value = f.affine(counted, (0.9 * top) / count, top * (0.1 - 0.9 + 0.45 / count));
    share = f.where(f.ge(counted, count), value, share);
  }
  share = f.where(f.ge(counted, 2 * all.at(-1)!.count), 1, share);
  return book === "signed" ? f.where(f.lt(codes, zeroCode.signed), f.neg(share), share) : share;
}

/** A scale for each element, in the given sizes. */
function spread(g: GraphBuilder, scales: Expr, sizes: readonly number[]): Expr {
  const [blocks, size] = [scales.sizes[0]!, sizeOf(sizes)];
  const all = g.reshape(g.expand(g.reshape(scales, [blocks, 1]), [blocks, BLOCK]), [blocks * BLOCK]);
  return g.reshape(
    size === blocks * BLOCK ? all : g.slice(all, { output: { sizes: [size] }, offsets: [0], sizes: [size], strides: [1] }),
    sizes,
  );
}

/** How an optimizer keeps the average of that name, or NAME_absmax: codes and their scales; float32 for parameters of fewer elements than min8bitSize. */
export function codedForm(name: string, { min8bitSize }: { readonly min8bitSize: number }, shape: Shape): Partial<StateForm> {
  const size = sizeOf(shape);
  if (size < min8bitSize) return { dtype: "float32" };
  return name.endsWith("_absmax") ? { dtype: "float32", shape: [blocksOf(size)] } : { dtype: "uint8" };
}

/** The numbers of codes (which come in float32) and scales. */
export function decoded(g: GraphBuilder, codes: Expr, scales: Expr, book: CodeBook): Expr {
  const size = sizeOf(codes.sizes);
  const indices = g.reshape(cast(g, codes, "uint32"), [size]);
  const shares = g.gather(table(g, book), indices, { output: { sizes: [size] }, axis: 0, indexDimensions: 1 });
  return g.elementWiseMultiply(g.reshape(shares, codes.sizes), spread(g, scales, codes.sizes));
}

/** The nearest codes, in float32, and the largest absolute value of each block. */
export function encoded(g: GraphBuilder, x: Expr, book: CodeBook): readonly [codes: Expr, scales: Expr] {
  const { sizes } = x;
  const f = new Formula(g, "float32", sizes);
  const size = sizeOf(sizes);
  const blocks = blocksOf(size);
  const absolute = book === "signed" ? f.abs(x) : x;
  const flat = g.reshape(absolute, [size]);
  const rest = blocks * BLOCK - size;
  const padded = rest === 0 ? flat : joinFlat(g, [flat, g.packed(constant(g, "float32", 0, [rest]))], "float32");
  const largest = g.reduce(g.reshape(padded, [blocks, BLOCK]), {
    function: "MAX",
    output: { sizes: [blocks, 1], dtype: "float32" },
    axes: [1],
  });
  const scales = g.reshape(largest, [blocks]);
  const one = new Formula(g, "float32", [blocks]);
  // A block of zeros stays one: 0 / 1.
  const share = f.div(absolute, spread(g, one.where(one.gt(scales, 0), scales, 1), sizes));
  const all = decades(book);
  const [first, last] = [all[0]!, all.at(-1)!];
  let counted: Expr = f.of(first.count - 1);
  // Half of the least value is the border to 0; further ones lie between the last value of a decade and the first of the next.
  let border = (first.top * (0.1 + 0.45 / first.count)) / 2;
  for (const { count, top } of all) {
    const position = f.affine(share, count / (0.9 * top), count - count / 9);
    const inside = f.max(f.min(f.floor(position), 2 * count - 1), count);
    counted = f.where(f.gt(share, border), inside, counted);
    border = top * (1 + 0.9 / count);
  }
  counted = f.where(f.gt(share, 1 - 0.225 / last.count), 2 * last.count, counted);
  if (book === "unsigned") return [f.add(counted, -1), scales];
  // There is no code of -1.
  return [f.add(f.where(f.lt(x, 0), f.max(f.neg(counted), -zeroCode.signed), counted), zeroCode.signed), scales];
}
