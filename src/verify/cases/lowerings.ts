/** Operations that become several DirectML nodes, with their gradients; and the samples that families declare. */
import * as dx from "../../index.ts";
import type { Tensor } from "../../index.ts";
import { distinct, half, real, sample, whole, type Argument, type Sample } from "../../ops/declare/sample.ts";
import type { Kind } from "../values/tolerances.ts";
import { samples } from "./samples.generated.ts";

const of =
  (kind: Kind) =>
  (name: string, inputs: readonly Argument[], run: Sample["run"]): Sample =>
    sample(kind, name, inputs, run);
const exact = of("exact");
const rounded = of("rounded");
const fn = of("function");
const sum = of("sum");
const normalized = of("normalized");

const { functional: F } = dx.nn;
const x234 = real([2, 3, 4]);

const activations = (
  ["selu", "silu", "logSigmoid", "mish", "softsign", "hardSigmoid", "hardSwish", "relu6", "tanhshrink"] as const
).flatMap((name) => [fn(name, [x234], (x) => dx[name](x)), fn(`${name} of float16`, [half([2, 3, 4])], (x) => dx[name](x))]);

const unary = (["square", "exp2", "expm1", "log1p", "log2", "log10", "rsqrt", "frac", "trunc"] as const).flatMap((name) => [
  fn(name, [real([3, 5], 0.5, 4)], (x) => dx[name](x)),
  fn(`${name} of float16`, [half([3, 5], 0.5, 4)], (x) => dx[name](x)),
]);

const elementwise = [
  fn("gelu", [x234], (x) => dx.gelu(x)),
  fn("gelu by tanh", [x234], (x) => dx.gelu(x, { approximate: "tanh" })),
  fn("softplus", [x234], (x) => dx.softplus(x, { beta: 2 })),
  fn("celu", [x234], (x) => dx.celu(x, { alpha: 1.5 })),
  fn("elu", [x234], (x) => dx.elu(x, { alpha: 2 })),
  rounded("leakyRelu", [x234], (x) => dx.leakyRelu(x, { negativeSlope: 0.1 })),
  exact("hardshrink", [x234], (x) => dx.hardshrink(x)),
  rounded("softshrink", [x234], (x) => dx.softshrink(x)),
  rounded("hardtanh", [x234], (x) => dx.hardtanh(x)),
  rounded("threshold", [x234], (x) => dx.threshold(x, 0.5, -1)),
  rounded("prelu", [x234, real([3])], (x, w) => dx.prelu(x, w!)),
  fn("glu", [real([2, 6])], (x) => dx.glu(x)),
  fn("pow", [real([3, 4], 0.5, 2), real([4], -1, 2)], (a, b) => dx.pow(a!, b!)),
  rounded("pow of a square", [real([3, 4])], (a) => dx.pow(a!, 2)),
  fn("pow of a root", [real([3, 4], 0.5, 4)], (a) => dx.pow(a!, 0.5)),
  exact("pow of integers", [whole([3, 4], 0, 5)], (a) => dx.pow(a!, 2)),
  rounded("arithmetic with broadcasts", [real([2, 1, 4]), real([3, 1], 1, 2)], (a, b) => dx.div(dx.sub(dx.mul(a!, b!), b!), b!)),
  exact("integer arithmetic", [whole([2, 3]), whole([3], 1, 9)], (a, b) => dx.sub(dx.mul(a!, b!), b!)),
  exact("int64 arithmetic", [whole([2, 3], -9, 9, "int64"), whole([3], 1, 9, "int64")], (a, b) => dx.add(dx.mul(a!, b!), b!)),
  rounded("promotion of int32 and float32", [whole([2, 3]), real([3])], (a, b) => dx.add(a!, b!)),
  rounded("where", [real([2, 3]), real([3])], (a, b) => dx.where(dx.gt(a!, 0.5), a!, b!)),
  rounded("maskedFill", [real([2, 3])], (a) => dx.maskedFill(a!, dx.lt(a!, 0), 7)),
  rounded("clamp", [real([2, 9])], (a) => dx.clamp(a!, -0.6, 0.7)),
  exact("clamp of integers", [whole([2, 9])], (a) => dx.clamp(a!, -3, 4)),
  exact("comparisons", [whole([4, 5], 0, 3), whole([5], 0, 3)], (a, b) => [
    dx.eq(a!, b!),
    dx.ne(a!, b!),
    dx.lt(a!, b!),
    dx.le(a!, b!),
    dx.gt(a!, b!),
    dx.ge(a!, b!),
  ]),
  exact("int64 past 32 bits", [whole([6, 5], -9, 9, "int64"), whole([5], -9, 9, "int64")], (x, y) => {
    const [a, b] = [dx.mul(x!, 700_000_000n), dx.mul(y!, 700_000_000n)];
    return [
      dx.lt(a, b),
      dx.ge(a, b),
      dx.maximum(a, b),
      dx.minimum(a, b),
      dx.fmax(a, b),
      dx.fmin(a, b),
      dx.bitwiseRightShift(a, 1),
      dx.amax(a, 1),
      dx.argmin(a, 1),
      dx.clamp(a, -4_000_000_000n, 3_000_000_000n),
    ];
  }),
  fn("asinh of large numbers", [real([3, 4], -1000, 1000)], (x) => dx.asinh(dx.mul(x!, 100))),
  exact("logic", [whole([4, 5], 0, 1), whole([5], 0, 1)], (a, b) => [
    dx.logicalAnd(a!, b!),
    dx.logicalOr(a!, b!),
    dx.logicalXor(a!, b!),
    dx.logicalNot(a!),
  ]),
  exact("bits", [whole([4, 5], 0, 31), whole([5], 0, 7)], (a, b) => [
    dx.bitwiseAnd(a!, b!),
    dx.bitwiseOr(a!, b!),
    dx.bitwiseXor(a!, b!),
    dx.bitwiseNot(a!),
    dx.bitwiseLeftShift(a!, b!),
    dx.bitwiseRightShift(a!, b!),
  ]),
  sum("regions of images", [real([2, 2, 5, 6]), real([3, 4], 0, 3)], (x, boxes) => {
    const corners = dx.cat([dx.narrow(boxes!, 1, 0, 2), dx.add(dx.narrow(boxes!, 1, 0, 2), dx.abs(dx.narrow(boxes!, 1, 2, 2)))], 1);
    const images = dx.tensor([[0], [1], [1]], { device: x!.device });
    return dx.roiAlign(x!, dx.cat([images, corners], 1), { outputSize: [2, 3], samplingRatio: 2, aligned: true });
  }),
  ...(["lstm", "gru", "tanh", "relu"] as const).flatMap((kind) => {
    const rows = { lstm: 4, gru: 3, tanh: 1, relu: 1 }[kind] * 3;
    const operands = [
      real([4, 2, 5]),
      ...[0, 1].flatMap(() => [real([rows, 5], -1, 1), real([rows, 3], -1, 1), real([rows]), real([rows])]),
    ];
    const run =
      (record: boolean, lengths: readonly number[] | null = [4, 2]) =>
      (x: Tensor, ...all: Tensor[]): Tensor[] => {
        const weights = [0, 4].map((i) => {
          const [input, hidden, inputBias, hiddenBias] = all.slice(i, i + 4) as [Tensor, Tensor, Tensor, Tensor];
          return { input, hidden, inputBias, hiddenBias };
        });
        const layer = (): dx.RecurrentResult => dx.recurrent(kind, x, weights, { bidirectional: true, lengths });
        const { output, hidden, cell } = record ? layer() : dx.noGrad(layer);
        return [output, hidden, ...(cell === null ? [] : [cell])];
      };
    return [
      sum(`recurrent layer of ${kind}`, operands, run(true) as Sample["run"]),
      sum(`recurrent layer of ${kind}, all samples of one length`, operands, run(true, null) as Sample["run"]),
      sum(`recurrent layer of ${kind} as one operator`, operands, run(false) as Sample["run"]),
    ];
  }),
  sum("planes of another size", [real([2, 2, 5, 6]), real([1, 2, 3, 4, 5]), half([2, 3, 7])], (plane, volume, signal) => [
    dx.interpolate(plane!, { size: [8, 3], mode: "bilinear" }),
    dx.interpolate(plane!, { size: [8, 3], mode: "bilinear", alignCorners: true }),
    dx.interpolate(volume!, { scaleFactor: [2, 1.5, 0.7], mode: "trilinear" }),
    dx.interpolate(signal!, { size: 11, mode: "linear" }),
    dx.interpolate(plane!, { scaleFactor: [2, 3] }),
    dx.interpolate(volume!, { scaleFactor: 2, mode: "nearest-exact" }),
    dx.interpolate(signal!, { size: 21 }),
  ]),
  sum("pooled regions of images", [distinct([2, 2, 5, 6])], (x) => {
    const boxes = [
      [0, 1, 1, 4, 3],
      [1, 0, 0, 5, 4],
      [1, 2.5, 1, 9, 9],
    ];
    return dx.roiPool(x!, dx.tensor(boxes, { device: x!.device }), { outputSize: [2, 3] });
  }),
  sum("deformable convolution", [real([1, 2, 5, 6]), real([1, 8, 4, 5]), real([3, 2, 2, 2])], (x, offset, w) =>
    dx.deformConv2d(x!, dx.add(dx.mul(offset!, 0.9), 0.03), w!),
  ),
  fn("functions with parameters", [x234], (x) => [
    dx.scaledTanh(x!, { alpha: 1.5, beta: 0.7 }),
    dx.parametricSoftplus(x!, { alpha: 2, beta: 1.5 }),
    dx.thresholdedRelu(x!, { alpha: 0.5 }),
    dx.linearActivation(x!, { alpha: -2, beta: 0.25 }),
    dx.mean2(x!, 3),
  ]),
  rounded("images brought to a range", [real([2, 3, 4, 5])], (x) => dx.valueScale2d(x!, -2, [1, 0, -0.5])),
  exact("bits that are set", [whole([4, 5], -99, 99)], (x) => [dx.bitCount(x!), dx.bitCount(x!.to("uint8")), dx.bitCount(x!.to("int16"))]),
  exact(
    "sums of products of bytes",
    [
      whole([3, 5], 0, 255, "uint8"),
      whole([5, 4], -99, 99, "int8"),
      whole([1, 2, 4, 5], 0, 255, "uint8"),
      whole([3, 2, 2, 2], -99, 99, "int8"),
    ],
    (a, b, x, w) => [dx.intMm(a!, b!, { aZeroPoint: 7 }), dx.convInteger(x!, w!, { padding: 1, aZeroPoint: 3 })],
  ),
  exact(
    "quantized arithmetic",
    [whole([3, 5], 0, 15, "uint8"), whole([5, 4], -9, 9, "int8"), whole([1, 2, 4, 5], 0, 15, "uint8"), whole([3, 2, 2, 2], -9, 9, "int8")],
    (a, b, x, w) => [
      dx.qlinearMatmul({ values: a!, scale: 0.5, zeroPoint: 3 }, { values: b!, scale: 0.25 }, { scale: 1, zeroPoint: 100 }),
      dx.qlinearConv({ values: x!, scale: 0.5, zeroPoint: 3 }, { values: w!, scale: 0.25 }, null, { scale: 1, zeroPoint: 100 }),
      dx.qlinearAdd({ values: a!, scale: 0.5 }, { values: a!, scale: 0.25, zeroPoint: 2 }, { scale: 0.25, zeroPoint: 4 }),
      dx.qlinearAvgPool2d({ values: x!, scale: 0.5, zeroPoint: 3 }, 2, { scale: 0.25, zeroPoint: 4 }),
    ],
  ),
  sum("quantized numbers", [real([4, 5])], (x) => [
    dx.fakeQuantizePerTensorAffine(x!, 0.5, 3, 0, 15),
    dx.dequantize(dx.quantize(x!, 0.25, 0, { dtype: "int8" }), 0.25, 0),
  ]),
  sum(
    "weights that stay packed",
    [real([3, 64]), whole([5, 32], 0, 255, "uint8"), whole([5, 64], -99, 99, "int8"), real([5, 2], 0.1, 1), real([5, 2]), real([5])],
    (x, halves, bytes, scales, minima, bias) => {
      const packed = { codes: halves!, scales: scales!, minima: minima!, bits: 4 } as const;
      const rows = new dx.nn.QuantizedLinear(packed, { bias: bias! });
      return [rows(x!), rows.dequantize(), new dx.nn.QuantizedLinear({ codes: bytes!, scales: scales!, bits: 8 })(x!)];
    },
  ),
  exact("numbers that fill", [whole([3, 5])], (x) => [
    dx.fullLike(x!, 7),
    dx.full([2, 3], -0.3, { device: x!.device }),
    x!.clone().fill_(5),
    dx.full([3], 2 ** 40, { dtype: "int64", device: x!.device }),
  ]),
  exact("casts of numbers out of range", [real([4, 5], -900, 900)], (x) => [
    x!.to("uint8"),
    x!.to("int8"),
    x!.mul(1e9).to("int32"),
    x!.mul(70).to("int16"),
  ]),
  exact("convolution and pooling of integers", [whole([1, 2, 4, 5], -9, 9), whole([3, 2, 2, 2], -9, 9)], (x, w) => [
    dx.conv2d(x!, w!, null, { padding: 1 }),
    dx.convTranspose2d(x!, w!.transpose(0, 1), null, { stride: 2 }),
    dx.avgPool2d(x!, 2),
    dx.maxPool2d(x!, 2),
  ]),
  exact("isfinite and its like", [real([3, 4])], (a) => [
    dx.isnan(dx.log(a!)),
    dx.isinf(dx.div(1, a!)),
    dx.isfinite(dx.div(1, a!)),
    dx.isneginf(dx.log(dx.abs(a!))),
  ]),
  exact("round", [real([5, 7])], (a) => [dx.round(a!), dx.floor(a!), dx.ceil(a!), dx.sign(a!)]),
  rounded("maximum and minimum", [distinct([3, 4]), real([4], 3, 4)], (a, b) => [dx.maximum(a!, b!), dx.minimum(a!, b!)]),
];

const reductions = [
  sum("sum", [real([3, 4, 5])], (x) => [dx.sum(x!), dx.sum(x!, 1), dx.sum(x!, [0, 2], { keepDims: true })]),
  sum("sum of float16", [half([3, 4, 5])], (x) => dx.sum(x!, [0, 2])),
  exact("sum of integers", [whole([3, 4, 5], -9, 9, "int8")], (x) => [dx.sum(x!), dx.sum(x!, 1)]),
  sum("mean", [real([3, 4, 5])], (x) => [dx.mean(x!), dx.mean(x!, [1, 2])]),
  sum("prod", [real([3, 4], 0.5, 2)], (x) => [dx.prod(x!), dx.prod(x!, 0)]),
  exact("amax and amin", [distinct([3, 4, 5])], (x) => [dx.amax(x!, 1), dx.amin(x!, [0, 2])]),
  exact("max with indices", [distinct([3, 9])], (x) => Object.values(dx.max(x!, 1)) as Tensor[]),
  exact("argmax and argmin", [distinct([3, 9]), distinct([4, 5], "int32")], (x, y) => [dx.argmax(x!, 1), dx.argmin(x!), dx.argmax(y!, 0)]),
  exact("any and all", [whole([4, 5], 0, 1)], (x) => [dx.any(x!), dx.any(x!, 1), dx.all(x!, 0)]),
  normalized("variance and std", [real([4, 6])], (x) => [dx.var(x!, 1), dx.std(x!), dx.var(x!, 0, { correction: 0 })]),
  normalized("norm", [real([4, 6], 0.5, 2)], (x) => [dx.norm(x!), dx.norm(x!, 1, 1), dx.norm(x!, 3, 0), dx.norm(x!, Infinity)]),
  normalized("logsumexp", [real([4, 6])], (x) => dx.logsumexp(x!, 1)),
  sum("cumsum", [real([4, 6])], (x) => [dx.cumsum(x!, 0), dx.cumsum(x!, 1)]),
  exact("cumsum of integers", [whole([4, 6])], (x) => dx.cumsum(x!, 1)),
  normalized("softmax", [real([4, 6])], (x) => [dx.softmax(x!, 1), dx.softmax(x!, 0)]),
  normalized("logSoftmax", [real([4, 6])], (x) => dx.logSoftmax(x!, 1)),
  normalized("softmax of float16", [half([4, 6])], (x) => dx.softmax(x!, 1)),
];

const parts = ({ real: re, imag: im }: dx.ComplexTensor): readonly Tensor[] => [re, im];
const transforms = [
  sum("fft by a matrix", [real([3, 10, 2])], (x) => parts(dx.fft.fft(x!, { axis: 1 }))),
  sum("fft in steps", [real([2, 260]), real([2, 260])], (x, y) => parts(dx.fft.fft(dx.complex(x!, y!)))),
  sum("rfft and irfft in steps", [real([260]), real([131])], (x, y) => [...parts(dx.fft.rfft(x!)), dx.fft.irfft(y!)]),
  sum("fft by a chirp", [real([521])], (x) => parts(dx.fft.fft(x!))),
  sum("ifft2 of float16", [half([4, 6]), half([4, 6])], (x, y) => parts(dx.fft.ifft2(dx.complex(x!, y!)))),
  sum("stft", [real([40]), real([16], 0.5, 2)], (x, w) => parts(dx.stft(x!, 16, { window: w!, hopLength: 5 }))),
  fn("polar", [real([9], 0.5, 2), real([9])], (x, y) => parts(dx.polar(x!, y!))),
  fn("quotient and root of complex numbers", [real([9], 0.5, 2), real([9], 0.5, 2)], (x, y) =>
    parts(dx.complex(x!, y!).div(dx.complex(y!, x!)).sqrt()),
  ),
];

const gemms = [
  sum("matmul", [real([5, 7]), real([7, 3])], (a, b) => dx.matmul(a!, b!)),
  sum("matmul of float16", [half([5, 7]), half([7, 3])], (a, b) => dx.matmul(a!, b!)),
  sum("matmul with broadcast batches", [real([2, 1, 3, 4]), real([3, 4, 2])], (a, b) => dx.matmul(a!, b!)),
  sum("matmul of vectors", [real([4]), real([4, 3])], (a, b) => dx.matmul(a!, b!)),
  sum("mv, dot and outer", [real([4, 5]), real([5]), real([5])], (m, a, b) => [dx.mv(m!, a!), dx.dot(a!, b!), dx.outer(a!, b!)]),
  sum("addmm", [real([3]), real([2, 4]), real([4, 3])], (c, a, b) => dx.addmm(c!, a!, b!, { alpha: 0.5, beta: 2 })),
  sum("baddbmm", [real([2, 2, 3]), real([2, 2, 4]), real([2, 4, 3])], (c, a, b) => dx.baddbmm(c!, a!, b!)),
  sum("linear", [real([2, 3, 4]), real([5, 4]), real([5])], (x, w, b) => F.linear(x!, w!, b!)),
  fn("linear with an activation", [real([6, 4]), real([5, 4]), real([5])], (x, w, b) => dx.sigmoid(F.linear(x!, w!, b!))),
  sum("conv1d", [real([2, 3, 9]), real([4, 3, 3]), real([4])], (x, w, b) => F.conv1d(x!, w!, b!, { stride: 2 })),
  sum("conv2d", [real([2, 3, 7, 6]), real([4, 3, 3, 2]), real([4])], (x, w, b) => F.conv2d(x!, w!, b!, { stride: [2, 1], padding: 1 })),
  sum("conv2d with groups and dilation", [real([2, 4, 7, 7]), real([6, 2, 3, 3])], (x, w) =>
    F.conv2d(x!, w!, null, { dilation: 2, groups: 2, padding: "same" }),
  ),
  sum("conv2d, depthwise", [real([1, 4, 6, 6]), real([4, 1, 3, 3])], (x, w) => F.conv2d(x!, w!, null, { groups: 4 })),
  sum("conv2d of float16", [half([2, 3, 7, 6]), half([4, 3, 3, 2])], (x, w) => F.conv2d(x!, w!)),
  sum("conv3d", [real([1, 2, 4, 5, 4]), real([3, 2, 2, 2, 2])], (x, w) => F.conv3d(x!, w!)),
  sum("convTranspose1d", [real([2, 3, 5]), real([3, 2, 3])], (x, w) => F.convTranspose1d(x!, w!, null, { stride: 2 })),
  sum("convTranspose2d", [real([2, 3, 4, 4]), real([3, 4, 3, 3]), real([4])], (x, w, b) =>
    F.convTranspose2d(x!, w!, b!, { stride: 2, padding: 1, outputPadding: 1 }),
  ),
];

const pooling = [
  rounded("maxPool2d", [distinct([2, 3, 7, 6])], (x) => F.maxPool2d(x!, 3, { stride: 2, padding: 1 })),
  rounded("maxPool2d of disjoint windows", [distinct([2, 3, 6, 6])], (x) => F.maxPool2d(x!, 2)),
  rounded("maxPool1d", [distinct([2, 3, 9])], (x) => F.maxPool1d(x!, 3)),
  exact("maxPool2d with indices", [distinct([1, 2, 6, 6])], (x) => Object.values(F.maxPool2dWithIndices(x!, 2)) as Tensor[]),
  sum("avgPool2d", [real([2, 3, 7, 6])], (x) => F.avgPool2d(x!, 3, { stride: 2, padding: 1 })),
  sum("avgPool2d without padding", [real([2, 3, 7, 6])], (x) => F.avgPool2d(x!, 3, { stride: 2, padding: 1, countIncludePad: false })),
  sum("avgPool3d", [real([1, 2, 4, 4, 4])], (x) => F.avgPool3d(x!, 2)),
  sum("adaptiveAvgPool2d", [real([2, 3, 7, 5])], (x) => F.adaptiveAvgPool2d(x!, [3, 2])),
  rounded("adaptiveMaxPool2d", [distinct([2, 3, 7, 5])], (x) => F.adaptiveMaxPool2d(x!, [3, 2])),
];

const norms = [
  normalized("batchNorm in training", [real([4, 3, 2, 2]), real([3]), real([3])], (x, w, b) =>
    F.batchNorm(x!, null, null, w!, b!, { training: true }),
  ),
  normalized("batchNorm in inference", [real([4, 3, 2, 2]), real([3]), real([3], 0.5, 2), real([3]), real([3])], (x, m, v, w, b) =>
    F.batchNorm(x!, m!.detach(), v!.detach(), w!, b!),
  ),
  normalized("layerNorm", [real([4, 6]), real([6]), real([6])], (x, w, b) => F.layerNorm(x!, [6], w!, b!)),
  normalized("layerNorm over two axes", [real([2, 3, 4])], (x) => F.layerNorm(x!, [3, 4])),
  normalized("groupNorm", [real([2, 4, 3, 3]), real([4]), real([4])], (x, w, b) => F.groupNorm(x!, 2, w!, b!)),
  normalized("instanceNorm", [real([2, 3, 4, 4])], (x) => F.instanceNorm(x!)),
];

const losses = [
  normalized("crossEntropy", [real([4, 5]), whole([4], 0, 4)], (x, t) => F.crossEntropy(x!, t!)),
  normalized("crossEntropy with smoothing", [real([4, 5]), whole([4], 0, 4)], (x, t) =>
    F.crossEntropy(x!, t!, { labelSmoothing: 0.1, reduction: "sum" }),
  ),
  normalized("crossEntropy with weights", [real([4, 5]), whole([4], 0, 4), real([5], 0.5, 2)], (x, t, w) =>
    F.crossEntropy(x!, t!, { weight: w!.detach() }),
  ),
  normalized("nllLoss", [real([4, 5]), whole([4], 0, 4)], (x, t) => F.nllLoss(F.logSoftmax(x!, 1), t!, { ignoreIndex: 1 })),
  sum("mseLoss", [real([4, 5]), real([4, 5])], (x, t) => F.mseLoss(x!, t!)),
  sum("l1Loss", [real([4, 5], 1, 2), real([4, 5], -1, 0)], (x, t) => F.l1Loss(x!, t!)),
  sum("smoothL1Loss and huberLoss", [real([4, 5]), real([4, 5])], (x, t) => [F.smoothL1Loss(x!, t!), F.huberLoss(x!, t!, { delta: 0.7 })]),
  fn("binaryCrossEntropy", [real([4, 5], 0.125, 0.875), real([4, 5], 0, 1)], (x, t) => F.binaryCrossEntropy(x!, t!.detach())),
  fn("binaryCrossEntropyWithLogits", [real([4, 5]), real([4, 5], 0, 1)], (x, t) => F.binaryCrossEntropyWithLogits(x!, t!.detach())),
  fn("klDiv", [real([4, 5]), real([4, 5], 0.125, 1)], (x, t) => F.klDiv(x!, t!.detach(), { reduction: "sum" })),
];

const movement = [
  exact("permute and reshape", [real([2, 3, 4])], (x) => dx.reshape(dx.permute(x!, 2, 0, 1), 4, 6)),
  exact("slice with steps", [real([7, 5])], (x) => dx.contiguous(dx.slice(dx.slice(x!, 0, 1, 7, 2), 1, 1, 4))),
  exact("cat and stack", [real([2, 3]), real([2, 3])], (a, b) => [dx.cat([a!, b!], 1), dx.stack([a!, b!], 1)]),
  exact("split and chunk", [real([7, 3])], (x) => [...dx.split(x!, [3, 4]), ...dx.chunk(x!, 2, 0)].map((part) => dx.contiguous(part))),
  exact("repeat and tile", [real([2, 3])], (x) => [dx.repeat(x!, 2, 2), dx.tile(x!, 3), dx.repeatInterleave(x!, 2, 1)]),
  exact("flip and roll", [real([4, 5])], (x) => [dx.flip(x!, [0, 1]), dx.roll(x!, 2, 1), dx.roll(x!, 3)]),
  exact("pad", [real([2, 3, 4])], (x) => [
    dx.pad(x!, [1, 2]),
    dx.pad(x!, [1, 2, 0, 1], { value: 3 }),
    dx.pad(x!, [2, 1], { mode: "replicate" }),
    dx.pad(x!, [2, 1], { mode: "reflect" }),
  ]),
  exact("gather", [real([4, 5]), whole([4, 2], 0, 4)], (x, i) => dx.gather(x!, 1, i!)),
  exact("indexSelect", [real([6, 5]), whole([3], 0, 5)], (x, i) => dx.indexSelect(x!, 0, i!)),
  exact("takeAlongAxis", [real([4, 5]), whole([4, 1], 0, 4, "int64")], (x, i) => dx.takeAlongAxis(x!, i!, 1)),
  exact("index by tensors", [real([6, 5]), whole([3], 0, 5)], (x, i) => [dx.index(x!, i!), dx.index(x!, dx.s(1, 5, 2), 2)]),
  sum("embedding", [whole([3, 4], 0, 9), real([10, 5])], (i, table) => F.embedding(i!, table!)),
  exact("oneHot", [whole([3, 4], 0, 5)], (i) => dx.oneHot(i!, 6)),
  exact("tril and triu", [real([4, 5])], (x) => [dx.tril(x!, 1), dx.triu(x!, -1)]),
  exact("diagonal", [real([4, 5])], (x) => dx.contiguous(dx.diagonal(x!))),
  exact("expand", [real([3, 1])], (x) => dx.contiguous(dx.expand(x!, 2, 3, 4))),
  exact("casts", [real([3, 4]), whole([3, 4])], (x, i) =>
    (["float16", "int32", "int64", "int8"] as const).flatMap((t) => [dx.to(x!, t), dx.to(i!, t)]),
  ),
  exact("ranges", [real([1])], (x) => [
    dx.arange(10, { device: x!.device }),
    dx.linspace(0, 1, 5, { device: x!.device }),
    dx.eye(3, 4, { device: x!.device }),
  ]),
  exact("nanToNum", [real([3, 4])], (x) => dx.nanToNum(dx.div(x!, 0))),
];

/** bfloat16 is widened and rounded by integers' operators; sums, products and choices are exact in float32 before. */
const brief = (x: Tensor | undefined): Tensor => dx.to(x!, "bfloat16");
const bfloat16 = [
  exact("to bfloat16 and back", [real([5, 13], -300, 300)], (x) => [dx.to(brief(x), "float32"), dx.to(brief(dx.div(x!, 0)), "float32")]),
  exact("rounding to bfloat16", [whole([64, 9], -(2 ** 30), 2 ** 30)], (i) => dx.to(brief(dx.to(i!, "float32")), "float32")),
  exact("arithmetic of bfloat16", [real([3, 7]), real([7])], (x, y) =>
    [dx.add(brief(x), brief(y)), dx.mul(brief(x), brief(y)), dx.maximum(brief(x), 0.3), dx.mul(brief(x), 0.1)].map((t) =>
      dx.to(t, "float32"),
    ),
  ),
  exact("views of bfloat16", [real([4, 9])], (x) =>
    [
      dx.add(brief(x).slice(1, 1, 8).slice(0, 1), 1),
      dx.add(brief(x).permute(1, 0), 1),
      dx.cat([brief(x).slice(1, 3, 6), brief(x)], 1),
      dx.pad(brief(x), [1, 2], { value: 0.3 }),
    ].map((t) => dx.to(t, "float32")),
  ),
  exact("sums of bfloat16", [real([6, 5])], (x) => dx.to(dx.sum(brief(x), 1), "float32")),
  exact("matmul of bfloat16", [real([4, 6]), real([6, 3])], (a, b) => dx.to(dx.matmul(brief(a), brief(b)), "float32")),
  exact("indices into bfloat16", [real([6, 5]), whole([3], 0, 5)], (x, i) => dx.to(dx.indexSelect(brief(x), 0, i!), "float32")),
];

export const lowerings: readonly Sample[] = [
  ...activations,
  ...unary,
  ...elementwise,
  ...reductions,
  ...gemms,
  ...transforms,
  ...pooling,
  ...norms,
  ...losses,
  ...movement,
  ...bfloat16,
  ...samples(),
];
