/** Running sums and products along an axis. */
import { call } from "../dispatch.ts";
import { isFloat, type DType } from "../dtype.ts";
import { normalizeAxis } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { toDType } from "./data.ts";
import { define, type Definition } from "../definition.ts";
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
});

/** The running sum along an axis. Integers and bool give int64. Reference: torch.cumsum. DirectML: CUMULATIVE_SUMMATION. */
export function cumsum(x: Tensor, axis: number, { dtype }: { readonly dtype?: DType | undefined } = {}): Tensor {
  const result = dtype ?? (isFloat(x.dtype) ? x.dtype : "int64");
  computing("cumsum", result);
  return call(cumsumOp, [toDType(x, result)], { axis: normalizeAxis("cumsum", axis, x.rank), reverse: false, exclusive: false });
}

/** @internal The product of the elements before (or behind) each along the last axis. No gradient. */
export const cumprodExclusive = (x: Tensor, reverse: boolean): Tensor =>
  call(cumprodOp, [x], { axis: x.rank - 1, reverse, exclusive: true });

export const methods = { cumsum };
