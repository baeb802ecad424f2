/** Rows of a table by their numbers. */
import { call, demandSameDevice } from "../dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../errors.ts";
import { demandIndices } from "../runtime/index-check.ts";
import { sizeOf } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { define, type Definition } from "../definition.ts";
import { cast, constant, demandFloat } from "./support.ts";

interface EmbeddingAttributes {
  /** Rows of the table. */
  readonly rows: number;
  /** The row that learns nothing, or null. */
  readonly paddingIndex: number | null;
}

const embeddingOp: Definition<EmbeddingAttributes> = define<EmbeddingAttributes>({
  name: "embedding",
  infer: ([indices, table]) => [{ shape: [...indices!.shape, table!.shape[1]!], dtype: table!.dtype }],
  lower: (g, [indices, table], { rows }) => {
    const count = sizeOf(indices!.sizes);
    const width = table!.sizes[1]!;
    const flat = g.reshape(cast(g, indices!, indices!.dtype === "int64" ? "int64" : "int32"), [1, count]);
    return [g.gather(g.reshape(table!, [rows, width]), flat, { output: { sizes: [count, width] }, axis: 0, indexDimensions: 1 })];
  },
  grad: (dy, { inputs: [indices], attrs, needs }) => [null, needs[1] ? call(embeddingGradOp, [indices!, dy], attrs) : null],
  saves: { inputs: [0], outputs: false },
});

/** Each row of dy, added to the table's row that it was read from. DirectML has no adding scatter: a product with one-hot rows. */
const embeddingGradOp: Definition<EmbeddingAttributes> = define<EmbeddingAttributes>({
  name: "embeddingGradient",
  infer: ([, dy], { rows }) => [{ shape: [rows, dy!.shape.at(-1)!], dtype: dy!.dtype }],
  lower: (g, [indices, dy], { rows, paddingIndex }) => {
    const count = sizeOf(indices!.sizes);
    const width = dy!.sizes.at(-1)!;
    let places = g.reshape(cast(g, indices!, "int32"), [count, 1]);
    // A place beyond the end gives a row of zeros.
    if (paddingIndex !== null)
      places = g.elementWiseIf(
        g.elementWiseLogicalEquals(places, constant(g, "int32", paddingIndex, [count, 1]), { output: { dtype: "uint8" } }),
        constant(g, "int32", rows, [count, 1]),
        places,
      );
    const type = dy!.dtype === "float16" ? "FLOAT16" : "FLOAT32";
    const offOn = g.fillValueSequence({
      output: { sizes: [1, 2], dtype: dy!.dtype },
      valueDataType: type,
      valueStart: { dtype: dy!.dtype, value: 0 },
      valueDelta: { dtype: dy!.dtype, value: 1 },
    });
    const hot = g.oneHot(places, offOn, { output: { sizes: [count, rows] }, axis: 1 });
    return [
      g.gemm(hot, g.reshape(dy!, [count, width]), {
        output: { sizes: [rows, width] },
        transA: "TRANSPOSE",
        transB: "NONE",
        alpha: 1,
        beta: 0,
      }),
    ];
  },
  grad: (d, { inputs: [indices], attrs, needs }) => [null, needs[1] ? call(embeddingOp, [indices!, d], attrs) : null],
  saves: { inputs: [0], outputs: false },
  whenEmpty: 0,
});

/**
 * The rows of a table [V, D] (float16 or float32) whose numbers are in `indices` (int32 or int64, any shape): [..., D].
 *
 * paddingIndex: a row (from the end if negative) whose gradient stays zero. Numbers outside the table are an
 * IndexError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. DirectML: GATHER; the gradient is a GEMM with ONE_HOT. Reference: torch.nn.functional.embedding.
 */
export function embedding(
  indices: Tensor,
  table: Tensor,
  { paddingIndex = null }: { readonly paddingIndex?: number | null | undefined } = {},
): Tensor {
  demandSameDevice("embedding", [indices, table]);
  demandFloat("embedding", table, "table");
  if (indices.dtype !== "int32" && indices.dtype !== "int64") throw new DTypeError("embedding", "indices", "int32 or int64", indices.dtype);
  if (table.rank !== 2 || table.size === 0)
    throw new ShapeError("embedding", "table", "[V, D] with at least one element", table.describe());
  const rows = table.shape[0]!;
  if (paddingIndex !== null && (!Number.isInteger(paddingIndex) || paddingIndex < -rows || paddingIndex >= rows))
    throw new ValueError("embedding", "paddingIndex", `a whole number in [${-rows}, ${rows - 1}]`, paddingIndex);
  demandIndices("embedding", indices, { length: rows, argument: "indices" });
  return call(embeddingOp, [indices, table], {
    rows,
    paddingIndex: paddingIndex !== null && paddingIndex < 0 ? paddingIndex + rows : paddingIndex,
  });
}
