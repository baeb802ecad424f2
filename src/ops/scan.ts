/** Running sums and products along an axis. */
import { call } from "../dispatch.ts";
import { isFloat, type DType } from "../dtype.ts";
import { normalizeAxis } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { mul } from "./binary.ts";
import { toDType } from "./data.ts";
import { define, type Definition } from "../definition.ts";
import { scanLinear } from "./scan-linear.ts";
import { computing, widened } from "./support.ts";

interface ScanAttributes {
  readonly axis: number;
  readonly reverse: boolean;
  readonly exclusive: boolean;
}

const cumsumOp: Definition<ScanAttributes> = define<ScanAttributes>({
  name: "cumsum",
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
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, reverse, exclusive }) => [
    widened(g, "CUMULATIVE_PRODUCT", [x!], (v) =>
      g.cumulativeProduct(v!, { axis, axisDirection: reverse ? "DECREASING" : "INCREASING", hasExclusiveProduct: exclusive }),
    ),
  ],
  /*
   * dx[k] is the product of what comes before k, times the sum over i of dy[i] and all that lies between k and i. No division: zeros
   * are factors like others.
   */
  grad: (dy, { inputs: [x], attrs }) => {
    const { axis, reverse, exclusive } = attrs;
    const before = call(cumprodOp, [x!], { axis, reverse, exclusive: true });
    const between = scanLinear(x!, dy, axis, { reverse: !reverse, exclusive });
    return [mul(before, between)];
  },
  padded: (_g, inputs, { axis, reverse }, _outputs, p, lower) => lower(reverse && p.isPadded(0, axis) ? [p.filled(0, 1)] : inputs),
  saves: { inputs: [0], outputs: false },
});

/** The running sum along an axis. Integers and bool give int64. Reference: torch.cumsum. DirectML: CUMULATIVE_SUMMATION. */
export function cumsum(
  x: Tensor,
  axis: number,
  {
    dtype,
  }: {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumsum", result);
  return call(cumsumOp, [toDType(x, result)], { axis: normalizeAxis("cumsum", axis, x.rank), reverse: false, exclusive: false });
}

/** The running product along an axis. Integers and bool give int64. Reference: torch.cumprod. DirectML: CUMULATIVE_PRODUCT. */
export function cumprod(
  x: Tensor,
  axis: number,
  {
    dtype,
  }: {
    /** x is converted to it first. Default: x's own dtype. */
    readonly dtype?: DType | undefined;
  } = {},
): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumprod", result);
  return call(cumprodOp, [toDType(x, result)], { axis: normalizeAxis("cumprod", axis, x.rank), reverse: false, exclusive: false });
}

/** @internal The product of the elements before (or behind) each along the last axis. */
export const cumprodExclusive = (x: Tensor, reverse: boolean): Tensor =>
  call(cumprodOp, [x], { axis: x.rank - 1, reverse, exclusive: true });

export const methods = { cumsum, cumprod };
