/** Softmax and log softmax. @functional */
import { neutral } from "../../core/padded-axes.ts";
import { softmaxGradientShader, softmaxShader } from "../../shader/kernels/select.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call } from "../../dispatch/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import type { Expr } from "../../graph/graph.ts";
import { normalizeAxis, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul, sub } from "../elementwise/binary.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { sum } from "./reduce.ts";
import { requireFloat } from "../declare/support.ts";
import { exp, neg } from "../elementwise/unary.ts";
import { axisBehindBatch } from "../declare/batched.ts";

interface AxisAttribute {
  readonly axis: number;
}

/** x as [before, axis, after]: at most three axes, whatever the rank. */
function threeAxes(g: GraphBuilder, x: Expr, axis: number): Expr {
  return g.reshape(x, [sizeOf(x.sizes.slice(0, axis)), x.sizes[axis]!, sizeOf(x.sizes.slice(axis + 1))]);
}

/** Runs the operator of feature level 5.1 that takes an axis, or the older one over rows. @package */
export function emitSoftmax(g: GraphBuilder, x: Expr, axis: number, log: boolean): Expr {
  const shader = axis === x.sizes.length - 1 ? softmaxShader(g, log ? "logSoftmax" : "softmax", x) : null;
  if (shader !== null) return shader;
  if (g.supports(log ? "ACTIVATION_LOG_SOFTMAX1" : "ACTIVATION_SOFTMAX1", x.dtype)) {
    const seen = x.sizes.length > 8 ? threeAxes(g, x, axis) : x;
    const axes = [x.sizes.length > 8 ? 1 : axis];
    return log ? g.activationLogSoftmax1(seen, { axes }) : g.activationSoftmax1(seen, { axes });
  }
  const split = threeAxes(g, x, axis);
  const [before, length, after] = split.sizes as [number, number, number];
  const rows = g.reshape(g.transpose(split, [0, 2, 1]), [before * after, length]);
  const y = log ? g.activationLogSoftmax(rows) : g.activationSoftmax(rows);
  const back = g.transpose(g.reinterpret(y, { sizes: [before, after, length] }), [0, 2, 1]);
  return after === 1 ? y : g.packed(back);
}

const sumAlong = (g: GraphBuilder, x: Expr, axis: number): Expr => {
  const sizes = x.sizes.map((d, i) => (i === axis ? 1 : d));
  return g.expand(g.reduce(x, { function: "SUM", output: { sizes, dtype: x.dtype }, axes: [axis] }), x.sizes);
};

const alongAxis = ({ axis }: AxisAttribute): readonly number[] => [axis];

const softmaxOp: Definition<AxisAttribute> = define<AxisAttribute>({
  name: "softmax",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis }, [out]) => [
    g.reinterpret(emitSoftmax(g, x!, axis, false), { sizes: out!.shape.length === 0 ? [1] : out!.shape }),
  ],
  grad: (dy, { outputs: [y], attrs }) => [
    isGradEnabled() ? mul(sub(dy, sum(mul(dy, y!), attrs.axis, { keepDims: true })), y!) : call(softmaxGradOp, [y!, dy], attrs),
  ],
  saves: { inputs: [] },
  padded: neutral(alongAxis, -Infinity),
});

const softmaxGradOp = define<AxisAttribute>({
  name: "softmaxGradient",
  batched: axisBehindBatch,
  infer: ([y]) => [y!],
  lower: (g, [y, dy], { axis }) => {
    const shader = axis === y!.sizes.length - 1 ? softmaxGradientShader(g, "softmax", y!, dy!) : null;
    if (shader !== null) return [shader];
    const [a, b] = [threeAxes(g, y!, axis), threeAxes(g, dy!, axis)];
    return [g.elementWiseMultiply(g.elementWiseSubtract(b, sumAlong(g, g.elementWiseMultiply(a, b), 1)), a)];
  },
  grad: null,
  padded: (_g, inputs, { axis }, _outputs, p, lower) => lower(p.isPadded(0, axis) ? [p.filled(0, 0), p.filled(1, 0)] : inputs),
});

const logSoftmaxOp: Definition<AxisAttribute> = define<AxisAttribute>({
  name: "logSoftmax",
  batched: axisBehindBatch,
  infer: ([x]) => [x!],
  lower: (g, [x], { axis }, [out]) => [
    g.reinterpret(emitSoftmax(g, x!, axis, true), { sizes: out!.shape.length === 0 ? [1] : out!.shape }),
  ],
  grad: (dy, { outputs: [y], attrs }) => [
    isGradEnabled() ? sub(dy, mul(exp(y!), sum(dy, attrs.axis, { keepDims: true }))) : call(logSoftmaxGradOp, [y!, dy], attrs),
  ],
  saves: { inputs: [] },
  padded: neutral(alongAxis, -Infinity),
});

const logSoftmaxGradOp = define<AxisAttribute>({
  name: "logSoftmaxGradient",
  batched: axisBehindBatch,
  infer: ([y]) => [y!],
  lower: (g, [y, dy], { axis }) => {
    const shader = axis === y!.sizes.length - 1 ? softmaxGradientShader(g, "logSoftmax", y!, dy!) : null;
    if (shader !== null) return [shader];
    const [a, b] = [threeAxes(g, y!, axis), threeAxes(g, dy!, axis)];
    return [g.elementWiseSubtract(b, g.elementWiseMultiply(g.elementWiseExp(a), sumAlong(g, b, 1)))];
  },
  grad: null,
  padded: (_g, [y, dy], { axis }, _outputs, p, lower) => lower([y!, p.isPadded(1, axis) ? p.filled(1, 0) : dy!]),
});

/** Options of softmax(), logSoftmax() and softmin(). Reference: torch.nn.functional.softmax. */
export interface SoftmaxOptions {
  /** x is cast to it first. */
  readonly dtype?: DType | undefined;
}

function castInput(operation: string, x: Tensor, axis: number, { dtype }: SoftmaxOptions): { x: Tensor; axis: number } {
  const cast = dtype === undefined ? x : toDType(x, dtype);
  requireFloat(operation, cast);
  return { x: cast, axis: normalizeAxis(operation, axis, x.rank) };
}

/**
 * exp(x) / sum of exp(x) along the axis. x: float16 or float32, of any shape. Result: the same shape.
 * DirectML: ACTIVATION_SOFTMAX1 (ACTIVATION_SOFTMAX over rows below feature level 5.1). Reference: torch.softmax.
 * @autocast float32
 */
export function softmax(x: Tensor, axis: number, options: SoftmaxOptions = {}): Tensor {
  const p = castInput("softmax", x, axis, options);
  return call(softmaxOp, [p.x], { axis: p.axis });
}

/** log(softmax(x)), computed stably. DirectML: ACTIVATION_LOG_SOFTMAX1 (ACTIVATION_LOG_SOFTMAX below 5.1). Reference: torch.log_softmax. @autocast float32 */
export function logSoftmax(x: Tensor, axis: number, options: SoftmaxOptions = {}): Tensor {
  const p = castInput("logSoftmax", x, axis, options);
  return call(logSoftmaxOp, [p.x], { axis: p.axis });
}

/** softmax(-x). Reference: torch.nn.functional.softmin. @autocast float32 */
export const softmin = (x: Tensor, axis: number, options: SoftmaxOptions = {}): Tensor => softmax(neg(x), axis, options);

export const methods = { softmax, logSoftmax };
