/** Activations. */
import * as ops from "../../ops/index.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family, type Run } from "./operator.ts";

/** Over one axis; before version 13, over all from it on. */
const overAxis =
  (fn: (x: Tensor, axis: number) => Tensor): Run =>
  (c) => {
    const x = c.x;
    const axis = c.axis(c.int("axis", c.opset < 13 ? 1 : -1), x.rank);
    if (c.opset >= 13) return fn(x, axis);
    const lead = x.shape.slice(0, axis);
    return ops.reshape(fn(ops.reshape(x, [sizeOf(lead), sizeOf(x.shape.slice(axis))]), 1), x.shape);
  };

/** 1 at the first maximum, 0 elsewhere. */
function hardmax(x: Tensor, axis: number): Tensor {
  const first = ops.argmax(x, axis, { keepDims: true });
  const shape = x.shape.map((d, i) => (i === axis ? d : 1));
  const positions = ops.reshape(ops.arange(x.shape[axis]!, { device: x.device, dtype: first.dtype }), shape);
  return ops.to(ops.eq(positions, first), x.dtype);
}

function prelu(c: Call): Tensor {
  const [x, slope] = [c.tensor(0), c.tensor(1)];
  // In old versions one slope for each channel came without further axes.
  const laid =
    c.opset < 7 && slope.rank === 1 && slope.size > 1 ? ops.reshape(slope, [slope.size, ...x.shape.slice(2).map(() => 1)]) : slope;
  return ops.where(ops.lt(x, 0), ops.mul(x, laid), x);
}

function shrink(c: Call): Tensor {
  const [x, lambda, bias] = [c.x, c.float("lambd", 0.5), c.float("bias", 0)];
  return ops.where(ops.lt(x, -lambda), ops.add(x, bias), ops.where(ops.gt(x, lambda), ops.sub(x, bias), ops.zerosLike(x)));
}

/** max(alpha expm1(x / alpha), …) for each sign, with ONNX's own numbers. */
function selu(c: Call): Tensor {
  const [x, alpha, gamma] = [c.x, c.float("alpha", 1.6732632423543772), c.float("gamma", 1.0507009873554805)];
  return ops.mul(ops.where(ops.gt(x, 0), x, ops.mul(ops.expm1(ops.minimum(x, 0)), alpha)), gamma);
}

function hardSigmoid(c: Call): Tensor {
  return ops.clamp(ops.add(ops.mul(c.x, c.float("alpha", 0.2)), c.float("beta", 0.5)), 0, 1);
}

const swish = (x: Tensor, alpha: number): Tensor => ops.mul(x, ops.sigmoid(ops.mul(x, alpha)));

export const activation = family({
  Celu: (c) => ops.celu(c.x, { alpha: c.float("alpha", 1) }),
  Elu: (c) => ops.elu(c.x, { alpha: c.float("alpha", 1) }),
  Gelu: (c) => ops.gelu(c.x, { approximate: c.oneOf("approximate", "none", ["none", "tanh"]) }),
  HardSigmoid: hardSigmoid,
  HardSwish: (c) => ops.hardSwish(c.x),
  Hardmax: overAxis(hardmax),
  LeakyRelu: (c) => ops.leakyRelu(c.x, { negativeSlope: c.float("alpha", 0.01) }),
  LogSoftmax: overAxis((x, axis) => ops.logSoftmax(x, axis)),
  Mish: (c) => ops.mish(c.x),
  PRelu: prelu,
  Relu: (c) => ops.relu(c.x),
  Selu: selu,
  Shrink: shrink,
  Sigmoid: (c) => ops.sigmoid(c.x),
  Softmax: overAxis((x, axis) => ops.softmax(x, axis)),
  Softplus: (c) => ops.softplus(c.x),
  Softsign: (c) => ops.softsign(c.x),
  SwiGLU: (c) => ops.mul(swish(c.x, c.float("alpha", 1)), c.tensor(1)),
  Swish: (c) => swish(c.x, c.float("alpha", 1)),
  ThresholdedRelu: (c) => {
    const [x, alpha] = [c.x, c.float("alpha", 1)];
    return ops.where(ops.gt(x, alpha), x, ops.zerosLike(x));
  },
});
