/** Cumulative sum and product. */
import { call } from "../../dispatch/dispatch.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { arithmetic } from "../../autograd/gradient-arithmetic.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { div, mul } from "../elementwise/binary.ts";
import { eq, logicalAnd, ne } from "../elementwise/compare.ts";
import { zerosLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { scanLinear } from "./scan-linear.ts";
import { computing, widened } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";
import { axisBehindBatch } from "../declare/batched.ts";

interface ScanAttributes {
  readonly axis: number;
  readonly reverse: boolean;
  readonly exclusive: boolean;
}

const cumsumOp: Definition<ScanAttributes> = define<ScanAttributes>({
  name: "cumsum",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, reverse, exclusive }) => [
    widened(g, "CUMULATIVE_SUMMATION", [x!], (v) =>
      g.cumulativeSummation(v!, { axis, axisDirection: reverse ? "DECREASING" : "INCREASING", hasExclusiveSum: exclusive }),
    ),
  ],
  grad: (dy, { attrs }) => [call(cumsumOp, [dy], { ...attrs, reverse: !attrs.reverse })],
  padded: (_g, inputs, { axis, reverse }, _outputs, p, lower) => lower(reverse && p.isPadded(0, axis) ? [p.filled(0, 0)] : inputs),
  saves: { inputs: [], outputs: false },
});

const cumprodOp: Definition<ScanAttributes> = define<ScanAttributes>({
  name: "cumprod",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, reverse, exclusive }) => [
    widened(g, "CUMULATIVE_PRODUCT", [x!], (v) =>
      g.cumulativeProduct(v!, { axis, axisDirection: reverse ? "DECREASING" : "INCREASING", hasExclusiveProduct: exclusive }),
    ),
  ],
  /*
   * dx[k] is the product of the elements before k, times the sum over i of dy[i] and the product of the elements between k and i. No division: zeros
   * are factors like others.
   */
  grad: (dy, { inputs: [x], outputs: [y], attrs }) => {
    const { axis, reverse, exclusive } = attrs;
    if (x!.size <= 1 || x!.shape[axis] === 1) return [exclusive ? zerosLike(dy) : dy];
    const before = (factors: Tensor): Tensor => call(cumprodOp, [factors], { axis, reverse, exclusive: true });
    const along = (factors: Tensor, upstream: Tensor): Tensor =>
      mul(before(factors), scanLinear(factors, upstream, axis, { reverse: !reverse, exclusive }));
    if (exclusive) return [along(x!, dy)];
    const behind = (t: Tensor): Tensor => call(cumsumOp, [t], { axis, reverse: !reverse, exclusive: false });
    const isZero = eq(x!, 0);
    if (isGradEnabled()) {
      // As in PyTorch: by quotients where nothing is zero. What is not chosen gets ones and zeros, so that it has no NaN to pass on.
      const hasZeros = ne(arithmetic.sumTo(toDType(isZero, "int32"), []), 0);
      const [some, none] = [where(hasZeros, x!, 1), where(hasZeros, 1, x!)];
      const quotients = div(behind(mul(where(hasZeros, 1, y!), where(hasZeros, 0, dy))), none);
      return [where(hasZeros, along(some, where(hasZeros, dy, 0)), quotients)];
    }
    // Up to the first zero by quotients, and nothing behind it, as in PyTorch: what is not finite is so in all of them.
    const zeros = call(cumsumOp, [toDType(isZero, "int32")], { axis, reverse, exclusive: false });
    const [isFree, isWithin] = [eq(zeros, 0), eq(zeros, 1)];
    const isFirst = logicalAnd(isWithin, isZero);
    const after = call(cumprodOp, [where(logicalAnd(isWithin, ne(x!, 0)), x!, 1)], { axis, reverse, exclusive: false });
    const kept = x!.shape.map((d, i) => (i === axis ? 1 : d));
    const ofFirst = mul(before(x!), arithmetic.sumTo(mul(after, where(isWithin, dy, 0)), kept));
    return [where(isFree, div(behind(where(isFree, mul(y!, dy), 0)), x!), where(isFirst, ofFirst, 0))];
  },
  padded: (_g, inputs, { axis, reverse }, _outputs, p, lower) => lower(reverse && p.isPadded(0, axis) ? [p.filled(0, 1)] : inputs),
  saves: { inputs: [0], outputs: true },
});

/** Options of cumsum and cumprod. */
export interface CumulativeOptions {
  /** x is converted to it first. Default: int64 for integers and bool, else x's own dtype. */
  readonly dtype?: DType | undefined;
}

/** The running sum along an axis. Integers and bool give int64. Reference: torch.cumsum. DirectML: CUMULATIVE_SUMMATION. @autocast float32 */
export function cumsum(x: Tensor, axis: number, { dtype }: CumulativeOptions = {}): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumsum", result);
  return call(cumsumOp, [toDType(x, result)], { axis: normalizeAxis("cumsum", axis, x.rank), reverse: false, exclusive: false });
}

/** The cumulative product along an axis. Integers and bool give int64. Reference: torch.cumprod. DirectML: CUMULATIVE_PRODUCT. @autocast float32 */
export function cumprod(x: Tensor, axis: number, { dtype }: CumulativeOptions = {}): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumprod", result);
  return call(cumprodOp, [toDType(x, result)], { axis: normalizeAxis("cumprod", axis, x.rank), reverse: false, exclusive: false });
}

/** @internal The product of the elements before (or behind) each along the last axis. */
export const cumprodExclusive = (x: Tensor, reverse: boolean): Tensor =>
  call(cumprodOp, [x], { axis: x.rank - 1, reverse, exclusive: true });

export const methods = { cumsum, cumprod };
