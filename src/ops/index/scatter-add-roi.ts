/**
 * Sums by index as the gradient of reading regions of images (ROI_ALIGN_GRAD): for devices that add them in order and fast.
 * @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { SUM_ATTRIBUTES } from "../../shader/operations/summed-rows.ts";
import { alongAxis, BOOL, constant, sequence } from "../declare/support.ts";

export interface SumJob {
  readonly axis: number;
  /** Length of the result along the axis. */
  readonly n: number;
  /** Low bits of integers that the result needs. */
  readonly bits: number;
}

/** An index that is out of range: the value is dropped. */
export const NONE = 0xffffffff;

/** Values as rows [k, width], and n rows as values again. */
export function rowsFirst(g: GraphBuilder, values: Expr, axis: number, n: number): { rows: Expr; restore: (sums: Expr) => Expr } {
  const order = [axis, ...values.sizes.map((_, i) => i).filter((i) => i !== axis)];
  const k = values.sizes[axis]!;
  const rows = g.reshape(g.transpose(values, order), [k, sizeOf(values.sizes) / k]);
  const back = order.map((_, i) => order.indexOf(i));
  const restore = (sums: Expr): Expr =>
    g.transpose(g.reinterpret(sums, { sizes: order.map((i) => (i === axis ? n : values.sizes[i]!)) }), back);
  return { rows, restore };
}

/** Bits of integers of which k add up exactly in single precision. */
export const pieceBits = (k: number): number => Math.min(16, 24 - Math.ceil(Math.log2(k)));

/** Integers in groups of bits: float32 is exact for the sum of each group; the sums are combined modulo 2^bits. */
export function byRegions(g: GraphBuilder, indices: Expr, values: Expr, job: SumJob): Expr {
  if (values.dtype === "float32") return addRegions(g, indices, values, job);
  const isLong = DTYPES[values.dtype].sizeInBytes === 8;
  const dtype = isLong ? "uint64" : "uint32";
  const number = (v: number, sizes: readonly number[]): Expr => constant(g, dtype, isLong ? BigInt(v) : v, sizes);
  const words = g.reinterpret(values, { dtype });
  const step = pieceBits(values.sizes[job.axis]!);
  let total: Expr | null = null;
  for (let start = 0; start < job.bits; start += step) {
    const high = start === 0 ? words : g.elementWiseBitShiftRight(words, number(start, words.sizes));
    const piece = g.elementWiseBitAnd(high, number(2 ** step - 1, words.sizes));
    const sum = g.cast(addRegions(g, indices, g.cast(piece, { output: { dtype: "float32" } }), job), { output: { dtype } });
    const part = start === 0 ? sum : g.elementWiseBitShiftLeft(sum, number(start, sum.sizes));
    total = total === null ? part : g.elementWiseAdd(total, part);
  }
  return g.reinterpret(total!, { dtype: values.dtype });
}

/**
 * Images of one element that regions of one sample lie in: of the region's gradient, each image gets the sum. Shared indices have a
 * channel for each element of a row; others are indices of single elements.
 */
const addRegions = (g: GraphBuilder, indices: Expr, values: Expr, job: SumJob): Expr =>
  asRows(g, indices, values, job, (index, rows, images) => {
    const [count, channels] = rows.sizes as [number, number];
    const { outputGradient } = g.roiAlignGrad(
      g.reinterpret(rows, { sizes: [count, channels, 1, 1] }),
      constant(g, "float32", 0, [count, 4]),
      g.reshape(index, [count]),
      {
        outputGradient: { sizes: [images, channels, 1, 1] },
        ...SUM_ATTRIBUTES,
      },
    );
    return outputGradient!;
  });

/**
 * Values folded by their indices along an axis: `fold` reduces rows [k, width] by the indices [k] of rows into a result of `count` rows.
 * Indices of single elements become rows of one element.
 */
export function asRows(
  g: GraphBuilder,
  indices: Expr,
  values: Expr,
  { axis, n }: Pick<SumJob, "axis" | "n">,
  fold: (indices: Expr, rows: Expr, count: number) => Expr,
): Expr {
  const k = values.sizes[axis]!;
  if (indices.sizes.every((d, i) => i === axis || d === 1)) {
    const { rows, restore } = rowsFirst(g, values, axis, n);
    return restore(fold(indices, rows, n));
  }
  const sizes = values.sizes.map((d, i) => (i === axis ? n : d));
  const [outer, inner] = [sizeOf(sizes.slice(0, axis)), sizeOf(sizes.slice(axis + 1))];
  const boxes = [outer, k, inner];
  const reshaped = g.reshape(indices, boxes);
  const number = (v: number): Expr => constant(g, "uint32", v, boxes);
  const along = (count: number, step: number, i: number): Expr => alongAxis(g, sequence(g, "uint32", [count], 0, step), boxes, i);
  let flat = inner === 1 ? reshaped : g.elementWiseMultiply(reshaped, number(inner));
  if (inner > 1) flat = g.elementWiseAdd(flat, along(inner, 1, 2));
  if (outer > 1) flat = g.elementWiseAdd(flat, along(outer, n * inner, 0));
  const index = g.elementWiseIf(g.elementWiseLogicalLessThan(reshaped, number(n), BOOL), flat, number(NONE));
  return g.reinterpret(fold(index, g.reshape(values, [sizeOf(boxes), 1]), sizeOf(sizes)), { sizes });
}
