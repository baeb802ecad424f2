/** Running sums and products along an axis. */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { call } from "../dispatch.ts";
import { isFloat, type DType } from "../dtype.ts";
import { normalizeAxis } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { mul } from "./binary.ts";
import { ones } from "./creation.ts";
import { toDType } from "./data.ts";
import { define, type Definition } from "../definition.ts";
import { cat, flip } from "./join.ts";
import { narrow } from "./movement.ts";
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
  saves: { inputs: [], outputs: false },
});

const cumprodOp = define<ScanAttributes>({
  name: "cumprod",
  infer: ([x]) => [x!],
  lower: (g, [x], { axis, reverse, exclusive }) => [
    g.cumulativeProduct(x!, { axis, axisDirection: reverse ? "DECREASING" : "INCREASING", hasExclusiveProduct: exclusive }),
  ],
  grad: null,
});

/** The running sum along an axis. Integers and bool give int64. Reference: torch.cumsum. DirectML: CUMULATIVE_SUMMATION. */
export function cumsum(x: Tensor, axis: number, { dtype }: { readonly dtype?: DType | undefined } = {}): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumsum", result);
  return call(cumsumOp, [toDType(x, result)], { axis: normalizeAxis("cumsum", axis, x.rank), reverse: false, exclusive: false });
}

/** @internal The product of the elements before (or behind) each along the last axis. */
export function cumprodExclusive(x: Tensor, reverse: boolean): Tensor {
  if (isGradEnabled() && x.requiresGrad) return reverse ? flip(productsBefore(flip(x, -1)), -1) : productsBefore(x);
  return call(cumprodOp, [x], { axis: x.rank - 1, reverse, exclusive: true });
}

/** The products of the elements before each, by products alone: right, and differentiable any number of times, beside zeros too. */
function productsBefore(x: Tensor): Tensor {
  const n = x.shape[x.rank - 1]!;
  const moved = (t: Tensor, by: number): Tensor =>
    cat([ones([...x.shape.slice(0, -1), by], { dtype: x.dtype, device: x.device }), narrow(t, -1, 0, n - by)], -1);
  if (x.size === 0) return x;
  let result = moved(x, 1);
  for (let reach = 1; reach < n; reach *= 2) result = mul(result, moved(result, reach));
  return result;
}

export const methods = { cumsum };
