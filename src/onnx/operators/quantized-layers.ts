/** com.microsoft: layers of quantized numbers. */
import * as ops from "../../ops/index.ts";
import { DTYPES, type DType } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { convolve } from "./convolution.ts";
import { toFirst, toLast } from "./fused.ts";
import { family, type Run } from "./operator.ts";
import { pooling } from "./pooling.ts";
import { dequantized, dynamic, quantized } from "./quantization.ts";
import { recurrent } from "./recurrent.ts";

/** A vector of one element as a number. */
const level = (t: Tensor): Tensor => (t.size === 1 ? ops.reshape(t, []) : t);
const levelAt = (c: Call, i: number): Tensor | null => (c.has(i) ? level(c.tensor(i)) : null);

/** What input i stands for, by the scale and zero point behind it. */
const realOf = (c: Call, i: number, scale = i + 1, zero = i + 2): Tensor =>
  dequantized(c.tensor(i), level(c.tensor(scale)), levelAt(c, zero));

/** y by the scale and zero point of inputs i and i + 1. */
const stored = (c: Call, y: Tensor, i: number, dtype: DType = c.x.dtype): Tensor =>
  quantized(y, level(c.tensor(i)), levelAt(c, i + 1), dtype);

const binary =
  (fn: (a: Tensor, b: Tensor) => Tensor): Run =>
  (c) =>
    stored(c, fn(realOf(c, 0), realOf(c, 3)), 6);

const unary =
  (fn: (x: Tensor, c: Call) => Tensor): Run =>
  (c) =>
    stored(c, fn(realOf(c, 0), c), 3);

function concat(c: Call): Tensor {
  const parts: Tensor[] = [];
  for (let i = 2; i < c.inputs.length; i += 3) parts.push(realOf(c, i));
  const [scale, zero] = [level(c.tensor(0)), level(c.tensor(1))];
  return quantized(ops.cat(parts, c.int("axis", 0)), scale, zero, zero.dtype);
}

/** Pools of what x stands for. */
const pooled =
  (name: "AveragePool" | "GlobalAveragePool"): Run =>
  (c) => {
    const isLast = c.flag("channels_last");
    const x = realOf(c, 0);
    const y = pooling[name]!.run(c.with([isLast ? toFirst(x) : x], 22))[0] as Tensor;
    return stored(c, isLast ? toLast(y) : y, 3);
  };

function softmax(c: Call): Tensor {
  const x = realOf(c, 0);
  const axis = c.axis(c.int("axis", -1), x.rank);
  if (c.int("opset", 13) >= 13) return stored(c, ops.softmax(x, axis), 3);
  const lead = x.shape.slice(0, axis).reduce((a, b) => a * b, 1);
  return stored(c, ops.reshape(ops.softmax(ops.reshape(x, [lead, -1]), 1), x.shape), 3);
}

function where(c: Call): Tensor {
  const chosen = ops.where(c.tensor(0), realOf(c, 1), realOf(c, 4));
  return stored(c, chosen, 7, c.tensor(1).dtype);
}

function convolution(c: Call): Tensor {
  const isLast = c.flag("channels_last");
  const weight = c.tensor(3);
  const along = (t: Tensor): Tensor =>
    t.size === 1 ? ops.reshape(t, []) : ops.reshape(t, [t.size, ...weight.shape.slice(1).map(() => 1)]);
  const x = realOf(c, 0);
  const w = dequantized(weight, along(c.tensor(4)), c.has(5) ? along(c.tensor(5)) : null);
  const scale = ops.mul(level(c.tensor(1)), ops.reshape(c.tensor(4), [-1]));
  const bias = c.has(8) ? ops.mul(ops.to(c.tensor(8), "float32"), scale) : null;
  const y = convolve(c, isLast ? toFirst(x) : x, w, bias);
  return stored(c, isLast ? toLast(y) : y, 6, c.has(7) ? c.tensor(7).dtype : c.x.dtype);
}

const across = (t: Tensor, isTransposed: boolean): Tensor => (isTransposed ? ops.t(t) : t);

/** alpha A B + C, whose scale is that of the product; quantized if a scale is given. */
function gemm(c: Call): Tensor {
  const a = across(realOf(c, 0), c.flag("transA"));
  const weight = across(ops.sub(ops.to(c.tensor(3), "int32"), c.has(5) ? ops.to(level(c.tensor(5)), "int32") : 0), c.flag("transB"));
  const [scale, alpha] = [level(c.tensor(4)), c.float("alpha", 1)];
  let y = ops.mul(ops.matmul(a, ops.mul(ops.to(weight, "float32"), scale)), alpha);
  if (c.has(6)) y = ops.add(y, ops.mul(ops.to(c.tensor(6), "float32"), ops.mul(ops.mul(level(c.tensor(1)), scale), alpha)));
  return c.has(7) ? stored(c, y, 7, c.has(8) ? c.tensor(8).dtype : c.x.dtype) : y;
}

/** Integers less their zero points; those of rows or columns. */
const whole = (t: Tensor, zero: Tensor | null, isRow: boolean): Tensor => {
  const wide = ops.to(t, "int32");
  if (zero === null) return wide;
  const z = ops.to(level(zero), "int32");
  return ops.sub(wide, isRow && z.rank === 1 ? ops.unsqueeze(z, -1) : z);
};

const scaledBy = (y: Tensor, a: Tensor, b: Tensor): Tensor =>
  ops.mul(ops.to(y, "float32"), ops.mul(a.size === 1 ? level(a) : ops.unsqueeze(a, -1), level(b)));

const plus = (c: Call, y: Tensor, i: number): Tensor => (c.has(i) ? ops.add(y, c.tensor(i)) : y);

/** (A - zero)(B - zero), scaled, with a bias. */
function integerToFloat(c: Call): Tensor {
  const product = ops.matmul(whole(c.x, c.optional(4), true), whole(c.tensor(1), c.optional(5), false));
  return plus(c, scaledBy(product, c.tensor(2), c.tensor(3)), 6);
}

/** A is quantized first. */
function dynamicMatMul(c: Call): Tensor {
  const [a, scale, zero] = dynamic(c.x) as [Tensor, Tensor, Tensor];
  const product = ops.matmul(whole(a, zero, true), whole(c.tensor(1), c.optional(3), false));
  return plus(c, scaledBy(product, scale, c.tensor(2)), 4);
}

/** Weights [directions, I, 4 H] of integers, as an LSTM takes them: [directions, 4 H, I]. */
function lstmWeights(c: Call, i: number, scale: number, zero: number): Tensor {
  const w = c.ranked(i, "[directions, inputs, 4 hidden]", 3);
  const along = (t: Tensor): Tensor => ops.reshape(t, t.size === w.shape[0]! ? [t.size, 1, 1] : [w.shape[0]!, 1, -1]);
  return ops.transpose(dequantized(w, along(c.tensor(scale)), along(c.tensor(zero))), 1, 2);
}

/** An LSTM whose weights are integers. The inputs stay as they are: ONNX Runtime rounds them to 8 bits in each step. */
function dynamicLstm(c: Call): readonly Tensor[] {
  const inputs = [c.x, lstmWeights(c, 1, 8, 9), lstmWeights(c, 2, 10, 11), ...c.inputs.slice(3, 8)];
  return recurrent["LSTM"]!.run(c.with(inputs, 22)) as Tensor[];
}

/** The sum of (q - zero) along axes; quantized again. */
function reduceMean(c: Call): Tensor {
  const x = realOf(c, 0);
  return stored(c, ops.mean(x, c.axes(c.ints("axes") ?? [], x.rank), { keepDims: c.flag("keepdims") }), 3);
}

const integers =
  (dtype: DType): Run =>
  (c) => {
    if (DTYPES[c.x.dtype].sizeInBytes > 2) throw c.unsupported(c.x.describe());
    return ops.to(ops.matmul(ops.to(c.x, "int32"), ops.to(c.tensor(1), "int32")), dtype);
  };

export const quantizedLayers = family({
  DynamicQuantizeLSTM: (c) => [...dynamicLstm(c)],
  DynamicQuantizeMatMul: dynamicMatMul,
  MatMulInteger16: integers("int32"),
  MatMulIntegerToFloat: integerToFloat,
  MulInteger: (c) => ops.mul(whole(c.x, c.optional(1), false), whole(c.tensor(2), c.optional(3), false)),
  QGemm: gemm,
  QLinearAdd: binary(ops.add),
  QLinearAveragePool: pooled("AveragePool"),
  QLinearConcat: concat,
  QLinearConv: convolution,
  QLinearGlobalAveragePool: pooled("GlobalAveragePool"),
  QLinearLeakyRelu: unary((x, c) => ops.leakyRelu(x, { negativeSlope: c.float("alpha", 0.01) })),
  QLinearMul: binary(ops.mul),
  QLinearReduceMean: reduceMean,
  QLinearSigmoid: unary((x) => ops.sigmoid(x)),
  QLinearSoftmax: softmax,
  QLinearWhere: where,
  ReduceSumInteger: (c) =>
    ops.to(ops.sum(ops.to(c.x, "int32"), c.axes(c.ints("axes") ?? [], c.x.rank), { keepDims: c.flag("keepdims") }), "int32"),
});
