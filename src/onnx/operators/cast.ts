/** Other element types. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import * as ops from "../../ops/index.ts";
import { kernel } from "../../ops/kernel/custom-kernel.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { dtypeOf } from "../format/value.ts";
import { family } from "./operator.ts";

/** Versions before 6 named types by text. */
const NAMES = [
  "UNDEFINED",
  "FLOAT",
  "UINT8",
  "INT8",
  "UINT16",
  "INT16",
  "INT32",
  "INT64",
  "STRING",
  "BOOL",
  "FLOAT16",
  "DOUBLE",
  "UINT32",
  "UINT64",
];

function castTo(c: Call): Tensor {
  const type = c.opset < 6 ? NAMES.indexOf(c.text("to", "")) : c.int("to", 0);
  return ops.to(c.x, dtypeOf(type, c.name));
}

/** The same bits as another type of the same size. DirectML: ELEMENT_WISE_IDENTITY. */
const reinterpreted = kernel<{ readonly dtype: DType }>({
  name: "bitCast",
  infer: ([x], { dtype }) => [{ shape: x!.shape, dtype }],
  lower: (g, [x], { dtype }) => [g.reinterpret(g.packed(x!), { dtype })],
  grad: null,
});

function bitCast(c: Call): Tensor {
  const x = c.x;
  const dtype = dtypeOf(c.int("to", 0), c.name);
  // Bytes other than 0 and 1 are true, too.
  if (dtype === "bool" && DTYPES[x.dtype].sizeInBytes === 1)
    return ops.ne(x.dtype === "bool" ? x : reinterpreted([x], { dtype: "uint8" })[0]!, 0);
  if (DTYPES[dtype].sizeInBytes !== DTYPES[x.dtype].sizeInBytes) throw c.unsupported(`${x.describe()} as ${dtype}, which has another size`);
  return reinterpreted([x], { dtype })[0]!;
}

export const cast = family({ BitCast: bitCast, Cast: castTo, CastLike: (c) => ops.to(c.x, c.numeric(1).dtype) }, { isRaw: true });
