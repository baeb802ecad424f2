/** Embedding. @functional */
import { oneByPosition } from "../declare/positional.ts";
import { asItIs } from "../../core/padded-axes.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { assign, call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { toDType } from "../data/conversion.ts";
import { arange } from "../creation/ranges.ts";
import { add, div, mul } from "../elementwise/binary.ts";
import { gt, logicalAnd, ne } from "../elementwise/compare.ts";
import { full } from "../creation/creation.ts";
import { indexSelect, sumRows } from "./gather.ts";
import { reshape, unsqueeze } from "../shape/movement.ts";
import { norm } from "../reduce/statistics.ts";
import { cast, requireFloat } from "../declare/support.ts";
import { reciprocal } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, real, whole } from "../declare/sample.ts";
import { merged } from "../declare/batched.ts";

interface EmbeddingAttributes {
  /** Rows of the table. */
  readonly rows: number;
  /** The row whose gradient stays zero, or null. */
  readonly paddingIndex: number | null;
}

const embeddingOp: Definition<EmbeddingAttributes> = define<EmbeddingAttributes>({
  name: "embedding",
  batched: ({ inputs, isBatched, attrs: { rows, paddingIndex }, size, full, run }) => {
    if (!isBatched[1]) return run(inputs, { rows, paddingIndex });
    if (paddingIndex !== null) return null;
    // One table of all samples' rows.
    const indices = toDType(full(0), "int32");
    const first = mul(arange(size, { dtype: "int32", device: indices.device }), rows);
    return run([add(indices, reshape(first, [size, ...indices.shape.slice(1).map(() => 1)])), merged(full(1))], {
      rows: rows * size,
      paddingIndex,
    });
  },
  infer: ([indices, table]) => [{ shape: [...indices!.shape, table!.shape[1]!], dtype: table!.dtype }],
  lower: (g, [indices, table], { rows }) => {
    const count = sizeOf(indices!.sizes);
    const width = table!.sizes[1]!;
    const flat = g.reshape(cast(g, indices!, indices!.dtype === "int64" ? "int64" : "int32"), [1, count]);
    return [g.gather(g.reshape(table!, [rows, width]), flat, { output: { sizes: [count, width] }, axis: 0, indexDimensions: 1 })];
  },
  grad: (dy, { inputs: [indices], attrs }) => [null, rowGradient(dy, indices!, attrs)],
  saves: { inputs: [0], outputs: false },
  follows: ["rows"],
  padded: (_g, [, table], _attrs, _outputs, p, lower) => lower([p.filled(0, 0), table!]),
});

/** Each row of dy, added to the table's row that it was read from. */
function rowGradient(dy: Tensor, indices: Tensor, { rows, paddingIndex }: EmbeddingAttributes): Tensor {
  const learns = paddingIndex === null ? dy : where(unsqueeze(ne(indices, paddingIndex), -1), dy, 0);
  const width = dy.shape.at(-1)!;
  return sumRows(reshape(learns, [indices.size, width]), reshape(indices, [indices.size]), 0, [rows, width]);
}

/** Options of embedding(). Reference: torch.nn.functional.embedding. */
export interface EmbeddingOptions {
  /** A row (from the end if negative) whose gradient stays zero. */
  readonly paddingIdx?: number | null | undefined;
  /** @deprecated Use paddingIdx. */
  readonly paddingIndex?: number | null | undefined;

  /** Rows that are read and have a larger norm are scaled down to it, in the table itself. */
  readonly maxNorm?: number | null | undefined;
  /** Order of that norm. Default: 2. */
  readonly normType?: number | undefined;
  /** Whether a row's gradient is divided by how often it is read. Default: false. */
  readonly scaleGradByFreq?: boolean | undefined;
}

/** x; its gradient is scaled. */
const scaledGradientOp = define({
  name: "scaledGradient",
  infer: ([x]) => [x!],
  lower: (g, [x]) => [g.elementWiseIdentity(x!)],
  grad: (dy, { inputs: [, factor] }) => [mul(dy, factor!), null],
  saves: { inputs: [1], outputs: false },
  padded: asItIs,
});

/** How often each row of the table is read: [V]. */
const reads = (indices: Tensor, table: Tensor): Tensor =>
  sumRows(full([indices.size], 1, { dtype: table.dtype, device: table.device }), reshape(indices, [indices.size]), 0, [table.shape[0]!]);

/** The same for each index, [..., 1]. */
const frequency = (indices: Tensor, table: Tensor): Tensor =>
  reshape(indexSelect(reads(indices, table), 0, reshape(indices, [indices.size])), [...indices.shape, 1]);

/** Scales the rows that are read down to a norm, in place. */
function renormalize(indices: Tensor, table: Tensor, maxNorm: number, normType: number): void {
  noGrad(() => {
    const seen = unsqueeze(gt(reads(indices, table), 0), 1);
    const length = norm(table, normType, 1, { keepDims: true });
    const factor = where(logicalAnd(seen, gt(length, maxNorm)), div(maxNorm, add(length, 1e-7)), 1);
    assign("embedding", table, () => mul(table, factor));
  });
}

/**
 * The rows of a table [V, D] (float16 or float32) at `indices` (int32 or int64, any shape): [..., D].
 *
 * Indices outside the table are an IndexError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. DirectML: GATHER; for
 * the gradient see docs/operations.md, sums by index. Reference: torch.nn.functional.embedding.
 */
export function embedding(
  indices: Tensor,
  table: Tensor,
  paddingIdx?: number | null | EmbeddingOptions,
  options?: EmbeddingOptions,
): Tensor {
  const {
    paddingIdx: paddingIndex = null,
    maxNorm = null,
    normType = 2,
    scaleGradByFreq = false,
  } = oneByPosition<EmbeddingOptions>("embedding", "paddingIdx", paddingIdx, options);
  requireSameDevice("embedding", [indices, table]);
  requireFloat("embedding", table, "table");
  if (indices.dtype !== "int32" && indices.dtype !== "int64") throw new DTypeError("embedding", "indices", "int32 or int64", indices.dtype);
  if (table.rank !== 2 || table.size === 0)
    throw new ShapeError("embedding", "table", "[V, D] with at least one element", table.describe());
  const rows = table.shape[0]!;
  if (paddingIndex !== null && (!Number.isInteger(paddingIndex) || paddingIndex < -rows || paddingIndex >= rows))
    throw new ValueError("embedding", "paddingIdx", `an integer in [${-rows}, ${rows - 1}]`, paddingIndex);
  requireIndices("embedding", indices, { length: rows, argument: "indices" });
  if (maxNorm !== null && indices.size > 0) renormalize(indices, table, maxNorm, normType);
  const attrs = { rows, paddingIndex: paddingIndex !== null && paddingIndex < 0 ? paddingIndex + rows : paddingIndex };
  const read = call(embeddingOp, [indices, table], attrs);
  if (!scaleGradByFreq || indices.size === 0) return read;
  return call(scaledGradientOp, [read, noGrad(() => reciprocal(frequency(indices, table)))], undefined);
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("rounded", "embedding whose gradient is divided by counts", [whole([6], 0, 3), real([4, 3])], (i, w) =>
    embedding(i!, w!, { scaleGradByFreq: true }),
  ),
];
