/**
 * Sums (products, extremes) by index, which DirectML has no operator for, in bounded memory. Six strategies, chosen by size and device:
 *
 * - atomics: extremes and sums of integers by a shader, where its atomics are cheap;
 * - rows in order: few sums by one shader, where a device would take dozens of dispatches otherwise;
 * - regions: sums as the gradient of reading one region of each image (ROI_ALIGN_GRAD), where that adds in order and fast;
 * - table: a GEMM with one-hot rows, or a comparison with every index, in parts of at most TABLE elements;
 * - sorted: sorted indices, runs of equal ones combined in log2(k) steps, the last of each run written by a SCATTER of unique indices;
 * - sequence: for few updates, one GATHER and SCATTER after the other.
 * @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { DTYPES, isFloat, type DType, dataTypeName } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { emitExtreme, extremeOf } from "../reduce/extreme-lower.ts";
import { emitReduce } from "../reduce/reduce-lower.ts";
import { choosesFoldRows, choosesSummedRows, foldRowsShader, summedRowsShader } from "../../shader/kernels/select.ts";
import { asRows, byRegions, NONE, pieceBits, rowsFirst, type SumJob } from "./scatter-add-roi.ts";
import { shifted } from "../scan/scan-lower.ts";
import { alongAxis, BOOL, cast, constant, cut, emitScatterElements, sequence } from "../declare/support.ts";

export type Fold = "sum" | "prod" | "amax" | "amin";
export type Strategy = "atomics" | "regions" | "table" | "sorted" | "sequence";

/** Elements of a one-hot table that is made at once: larger tables are made in parts. */
const TABLE = 2 ** 24;

/**
 * The cheapest strategy for k updates along an axis of length n, for `width` elements that share each index (else each has an index of
 * its own). The unit is one element read or written; a multiply-add of the one-hot GEMM costs an eighth of it.
 */
export function strategyFor(k: number, n: number, width: number, isShared: boolean, hasGemm: boolean): Strategy {
  const steps = Math.max(1, Math.ceil(Math.log2(k)));
  const sorted = (isShared ? k : k * width) * 8 * steps + k * width * 4 * steps + 3 * n * width;
  const table = isShared && hasGemm ? 2 * k * n + (k * n * width) / 8 + 8 * k * width : 4 * k * n * width;
  const sequence = k <= 8 ? (k + 1) * n * width : Infinity;
  // Many parts are many nodes.
  const parts = (isShared && hasGemm ? k * n : k * n * width) / TABLE;
  if (sequence <= Math.min(sorted, table)) return "sequence";
  return parts <= 64 && table <= sorted ? "table" : "sorted";
}

/** What a fold begins with, as a number of the dtype. */
export function identityOf(fold: Fold, dtype: DType): number | bigint {
  if (fold === "sum") return 0;
  if (fold === "prod") return 1;
  if (isFloat(dtype)) return fold === "amax" ? -Infinity : Infinity;
  const { sizeInBytes, isSigned, kind } = DTYPES[dtype];
  if (kind === "bool") return fold === "amax" ? 0 : 1;
  const bits = BigInt(8 * sizeInBytes);
  const [low, high] = isSigned ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
  const value = fold === "amax" ? low : high;
  return sizeInBytes === 8 ? value : Number(value);
}

/** Two values folded; of extremes NaN wins. */
export function foldTwo(g: GraphBuilder, fold: Fold, a: Expr, b: Expr): Expr {
  if (fold === "sum") return g.elementWiseAdd(a, b);
  if (fold === "prod") return g.elementWiseMultiply(a, b);
  return extremeOf(g, fold === "amax" ? "max" : "min", a, b);
}

/** The dtype that a fold is computed in: sums of halves in single precision, small integers as int32. */
export function foldingType(dtype: DType): DType {
  if (dtype === "float16") return "float32";
  if (dtype === "bool") return "int32";
  const { kind, sizeInBytes, isSigned } = DTYPES[dtype];
  return kind === "int" && sizeInBytes < 4 ? "int32" : kind === "int" && sizeInBytes === 4 && !isSigned ? "uint32" : dtype;
}

interface Job extends SumJob {
  readonly fold: Fold;
  readonly strategy?: Strategy | undefined;
}

/**
 * The values folded by their indices along an axis, identity where there are none: sizes of `values` with n along the axis. indices:
 * uint32, of the values' sizes, or of length 1 on all axes but the one when they are shared. Values in foldingType's dtypes.
 */
export function emitFold(g: GraphBuilder, indices: Expr, values: Expr, job: Job): Expr {
  const { axis, n, fold } = job;
  const k = values.sizes[axis]!;
  const isShared = indices.sizes.every((d, i) => i === axis || d === 1);
  const width = sizeOf(values.sizes) / k;
  const hasGemm = fold === "sum" && isFloat(values.dtype);
  const addsRows = fold === "sum" && g.capabilities.addsRowsInOrder && pieceBits(k) > 1;
  if (job.strategy === undefined && fold === "sum" && addsInOrder(g, values, n, axis, isShared))
    return asRows(g, indices, values, job, (index, rows, count) => summedRowsShader(g, rows, g.reshape(index, [rows.sizes[0]!]), count));
  const hasAtomics = fold !== "prod" && choosesFoldRows(g, EXTREMES[fold], values.dtype, k * width, n * width);
  switch (job.strategy ?? (hasAtomics ? "atomics" : addsRows ? "regions" : strategyFor(k, n, width, isShared, hasGemm))) {
    case "atomics":
      return byAtomics(g, indices, values, job);
    case "regions":
      return byRegions(g, indices, values, job);
    case "sequence":
      return inSequence(g, indices, values, axis, n, fold);
    case "sorted":
      return inOrder(g, indices, values, axis, n, fold);
    case "table":
      return isShared && hasGemm ? byGemm(g, indices, values, axis, n) : byComparison(g, indices, values, axis, n, fold);
    default:
      throw new TypeError("no such strategy");
  }
}

/** Whether the device adds few values by index in one launch; indices of single elements become rows of one. */
function addsInOrder(g: GraphBuilder, values: Expr, n: number, axis: number, isShared: boolean): boolean {
  const k = values.sizes[axis]!;
  const width = sizeOf(values.sizes) / k;
  const [updates, rows, columns] = isShared ? [k, n, width] : [k * width, n * width, 1];
  return choosesSummedRows(g, values.dtype, updates, rows, columns);
}

const EXTREMES = { sum: "sum", amax: "max", amin: "min" } as const;

function byAtomics(g: GraphBuilder, indices: Expr, values: Expr, job: Job): Expr {
  const fold = EXTREMES[job.fold as keyof typeof EXTREMES];
  return asRows(g, indices, values, job, (index, rows, count) => foldRowsShader(g, fold, rows, g.reshape(index, [rows.sizes[0]!]), count));
}

function inSequence(g: GraphBuilder, indices: Expr, values: Expr, axis: number, n: number, fold: Fold): Expr {
  const sizes = values.sizes.map((d, i) => (i === axis ? n : d));
  const one = values.sizes.map((d, i) => (i === axis ? 1 : d));
  let result = g.packed(constant(g, values.dtype, identityOf(fold, values.dtype), sizes));
  for (let at = 0; at < values.sizes[axis]!; at++) {
    const position = g.packed(g.expand(cut(g, indices, axis, at, 1), one));
    const before = g.gatherElements(result, position, { output: { sizes: one }, axis });
    result = emitScatterElements(g, result, position, foldTwo(g, fold, before, cut(g, values, axis, at, 1)), axis);
  }
  return result;
}

function inOrder(g: GraphBuilder, indices: Expr, values: Expr, axis: number, n: number, fold: Fold): Expr {
  const k = values.sizes[axis]!;
  const order = g.topK1(indices, {
    outputValue: { sizes: indices.sizes },
    outputIndex: { sizes: indices.sizes, dtype: "uint32" },
    axis,
    k,
    axisDirection: "INCREASING",
  });
  const index = g.packed(g.expand(order.outputIndex, values.sizes));
  let runs = g.gatherElements(values, index, { output: { sizes: values.sizes }, axis });
  const sorted = order.outputValue;
  for (let step = 1; step < k; step *= 2) {
    const same = g.elementWiseLogicalEquals(sorted, shifted(g, sorted, axis, step, NONE), BOOL);
    const before = shifted(g, runs, axis, step, 0);
    runs = g.elementWiseIf(g.expand(same, values.sizes), foldTwo(g, fold, before, runs), runs);
  }
  // The last element of each run has the run's result; all others go to index n, which is cut off.
  const beyond = constant(g, "uint32", n, sorted.sizes);
  const hasNext = k === 1 ? null : g.elementWiseLogicalEquals(sorted, shifted(g, sorted, axis, -1, NONE), BOOL);
  const target = hasNext === null ? sorted : g.elementWiseIf(hasNext, beyond, sorted);
  const sizes = values.sizes.map((d, i) => (i === axis ? n + 1 : d));
  const empty = g.packed(constant(g, values.dtype, identityOf(fold, values.dtype), sizes));
  return cut(g, emitScatterElements(g, empty, g.packed(g.expand(target, values.sizes)), runs, axis), axis, 0, n);
}

/**
 * one-hot(indices)^T x values: GEMM, each part added by its operand C. Values that are not finite would spread over the whole column
 * (0 x infinity is NaN): they are left out, and counted by a second GEMM, 1 for each infinity, 4096 for each negative one.
 */
function byGemm(g: GraphBuilder, indices: Expr, values: Expr, axis: number, n: number): Expr {
  const { rows, restore } = rowsFirst(g, values, axis, n);
  const [k, width] = rows.sizes as [number, number];
  const column = g.reshape(indices, [k, 1]);
  const number = (v: number, sizes: readonly number[]): Expr => constant(g, values.dtype, v, sizes);
  const isNaN = g.elementWiseIsNan(rows, BOOL);
  const isHigh = g.elementWiseIsInfinity(rows, { ...BOOL, infinityMode: "POSITIVE" });
  const isLow = g.elementWiseIsInfinity(rows, { ...BOOL, infinityMode: "NEGATIVE" });
  const odd = g.elementWiseIf(
    isNaN,
    number(4097, rows.sizes),
    g.elementWiseIf(isHigh, number(1, rows.sizes), g.elementWiseIf(isLow, number(4096, rows.sizes), number(0, rows.sizes))),
  );
  const finite = g.elementWiseIf(g.elementWiseLogicalEquals(odd, number(0, rows.sizes), BOOL), rows, number(0, rows.sizes));
  const ends = sequence(g, values.dtype, [1, 2]);
  const part = Math.max(1, Math.min(k, Math.floor(TABLE / n)));
  const lift = (x: Expr): Expr => g.reinterpret(x, { sizes: [1, 1, ...x.sizes], strides: [0, 0, ...x.strides] });
  const totals: (Expr | null)[] = [null, null];
  for (let start = 0; start < k; start += part) {
    const length = Math.min(part, k - start);
    const table = g.oneHot(cut(g, column, 0, start, length), ends, { output: { sizes: [length, n] }, axis: 1 });
    for (const [i, x] of [finite, odd].entries())
      totals[i] = g.gemm(lift(table), lift(cut(g, x, 0, start, length)), {
        c: totals[i]!,
        output: { sizes: [1, 1, n, width] },
        transA: "TRANSPOSE",
        transB: "NONE",
        alpha: 1,
        beta: totals[i] === null ? 0 : 1,
      });
  }
  const [sum, counts] = totals as [Expr, Expr];
  const lows = g.elementWiseFloor(counts, { scaleBias: [1 / 4096, 0] });
  const highs = g.elementWiseSubtract(counts, g.elementWiseMultiply(lows, number(4096, counts.sizes)));
  const isSome = (x: Expr): Expr => g.elementWiseLogicalGreaterThan(x, number(0, counts.sizes), BOOL);
  const zero = number(0, counts.sizes);
  const up = g.elementWiseIf(isSome(highs), number(Infinity, counts.sizes), zero);
  const down = g.elementWiseIf(isSome(lows), number(-Infinity, counts.sizes), zero);
  return restore(g.elementWiseAdd(g.elementWiseAdd(sum, up), down));
}

/** Every value's index compared with every index of the result. */
function byComparison(g: GraphBuilder, indices: Expr, values: Expr, axis: number, n: number, fold: Fold): Expr {
  const k = values.sizes[axis]!;
  const rest = sizeOf(values.sizes) / k;
  const part = Math.max(1, Math.min(k, Math.floor(TABLE / (n * rest))));
  const identity = identityOf(fold, values.dtype);
  const range = sequence(g, "uint32", [n]);
  let total: Expr | null = null;
  for (let start = 0; start < k; start += part) {
    const length = Math.min(part, k - start);
    const wideSizes = [...values.sizes.slice(0, axis), n, length, ...values.sizes.slice(axis + 1)];
    const wide = (x: Expr): Expr => {
      const seen = g.expand(
        x,
        values.sizes.map((d, i) => (i === axis ? length : d)),
      );
      return g.reinterpret(seen, { sizes: wideSizes, strides: [...seen.strides.slice(0, axis), 0, ...seen.strides.slice(axis)] });
    };
    const hit = g.elementWiseLogicalEquals(wide(cut(g, indices, axis, start, length)), alongAxis(g, range, wideSizes, axis), BOOL);
    const chosen = g.elementWiseIf(hit, wide(cut(g, values, axis, start, length)), constant(g, values.dtype, identity, wideSizes));
    const reduced = g.reinterpret(reduceBy(g, chosen, fold, axis + 1), { sizes: wideSizes.filter((_, i) => i !== axis + 1) });
    total = total === null ? reduced : foldTwo(g, fold, total, reduced);
  }
  return total!;
}

function reduceBy(g: GraphBuilder, x: Expr, fold: Fold, axis: number): Expr {
  if (fold === "sum") return emitReduce(g, x, "SUM", [axis]);
  if (fold === "prod") return emitReduce(g, x, "MULTIPLY", [axis]);
  return emitExtreme(g, fold === "amax" ? "max" : "min", x, [axis]);
}

/** Indices as uint32. */
export function unsignedIndices(g: GraphBuilder, index: Expr): Expr {
  if (index.dtype === "uint32") return index;
  if (index.dtype === "int32") return g.reinterpret(index, { dtype: "uint32" });
  return g.cast(index, { output: { dtype: "uint32" } });
}

export interface FoldAttributes {
  readonly axis: number;
  /** Of the result. */
  readonly shape: Shape;
  readonly fold: Fold;
  /** The index has one axis, for whole parts along the axis. */
  readonly isShared: boolean;
  readonly strategy?: Strategy | undefined;
}

/** x padded with `value` at the ends of its axes. */
function padded(g: GraphBuilder, x: Expr, sizes: readonly number[], value: number | bigint): Expr {
  if (x.sizes.every((d, i) => d === sizes[i])) return x;
  return g.padding1(x, {
    output: { sizes },
    paddingMode: "CONSTANT",
    paddingValueDataType: dataTypeName(x.dtype),
    paddingValue: { dtype: x.dtype, value },
    startPadding: sizes.map(() => 0),
    endPadding: sizes.map((d, i) => d - x.sizes[i]!),
  });
}

/** emitFold in the values' own dtype, for a result that the index may reach in part only. */
export function lowerFold(g: GraphBuilder, values: Expr, index: Expr, { axis, shape, fold, isShared, strategy }: FoldAttributes): Expr {
  const sizes = shape.length === 0 ? [1] : shape;
  const indices = unsignedIndices(g, index);
  const k = values.sizes[axis]!;
  // An index that was repeated along the other axes is the one that they share.
  const repeats = !isShared && indices.sizes.every((d, i) => i === axis || d === 1 || indices.strides[i] === 0);
  const indexSizes = values.sizes.map((_, i) => (i === axis ? k : 1));
  const foldIndices = isShared
    ? g.reshape(indices, indexSizes)
    : g.packed(repeats ? g.reinterpret(indices, { sizes: indexSizes, strides: indices.strides }) : indices);
  const bits = 8 * DTYPES[values.dtype].sizeInBytes;
  const folded = emitFold(g, foldIndices, g.packed(cast(g, values, foldingType(values.dtype))), {
    axis,
    n: sizes[axis]!,
    fold,
    strategy,
    bits,
  });
  return cast(g, padded(g, folded, sizes, identityOf(fold, folded.dtype)), values.dtype);
}
