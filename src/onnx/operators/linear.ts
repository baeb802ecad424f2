/** Matrix multiplications. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

function gemm(c: Call): Tensor {
  const [a, b] = [c.tensor(0), c.tensor(1)];
  const matmul = ops.matmul(c.flag("transA") ? ops.t(a) : a, c.flag("transB") ? ops.t(b) : b);
  const [alpha, beta] = [c.float("alpha", 1), c.float("beta", 1)];
  const scaled = alpha === 1 ? matmul : ops.mul(matmul, alpha);
  if (!c.has(2) || beta === 0) return scaled;
  return ops.add(scaled, beta === 1 ? c.tensor(2) : ops.mul(c.tensor(2), beta));
}

/** Zero points of rows (of a) or columns (of b). */
function zeroPoint(t: Tensor | null, isRow: boolean): Tensor | number {
  if (t === null) return 0;
  const whole = ops.to(t, "int32");
  return isRow && whole.rank === 1 && whole.size > 1 ? ops.unsqueeze(whole, -1) : whole;
}

function matMulInteger(c: Call): Tensor {
  const a = ops.sub(ops.to(c.tensor(0), "int32"), zeroPoint(c.optional(2), true));
  const b = ops.sub(ops.to(c.tensor(1), "int32"), zeroPoint(c.optional(3), false));
  return ops.matmul(a, b);
}

/** Letters beyond those that einsum takes, and blanks, are ONNX's to use. */
const einsum = (c: Call): Tensor => ops.einsum(c.text("equation", "").replaceAll(" ", ""), ...c.all());

/** By elimination, column by column, with the largest pivot: batches together. */
export function determinant(x: Tensor): Tensor {
  const n = x.shape.at(-1)!;
  const batch = x.shape.slice(0, -2);
  let m = ops.reshape(x, [-1, n, n]);
  let result = ops.ones([m.shape[0]!], { dtype: x.dtype, device: x.device });
  for (let k = n; k > 0; k--) {
    const column = ops.select(m, 2, 0);
    const at = ops.argmax(ops.abs(column), 1, { keepDims: true });
    const rows = ops.reshape(ops.arange(k, { dtype: at.dtype, device: x.device }), [1, k]);
    const pivot = ops.gather(m, 1, ops.contiguous(ops.expand(ops.unsqueeze(at, 2), [m.shape[0]!, 1, k])));
    const value = ops.select(ops.select(pivot, 1, 0), 1, 0);
    // Moving the pivot's row to the front over the rows before it changes the sign once for each.
    const odd = ops.eq(ops.remainder(ops.select(at, 1, 0), 2), 1);
    result = ops.mul(result, ops.where(odd, ops.neg(value), value));
    if (k === 1) break;
    const safe = ops.where(ops.eq(value, 0), ops.onesLike(value), value);
    const factors = ops.div(column, ops.unsqueeze(safe, 1));
    const left = ops.sub(m, ops.mul(ops.unsqueeze(factors, 2), pivot));
    // The rows behind the pivot's move up by one.
    const from = ops.add(ops.slice(rows, 1, 0, k - 1), ops.to(ops.ge(ops.slice(rows, 1, 0, k - 1), at), at.dtype));
    const kept = ops.gather(left, 1, ops.contiguous(ops.expand(ops.unsqueeze(from, 2), [m.shape[0]!, k - 1, k])));
    m = ops.slice(kept, 2, 1);
  }
  return ops.reshape(result, batch);
}

export const linear = family({
  Det: (c) => determinant(c.x),
  Einsum: einsum,
  Gemm: gemm,
  MatMul: (c) => ops.matmul(c.tensor(0), c.tensor(1)),
  MatMulInteger: matMulInteger,
});
