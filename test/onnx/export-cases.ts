/** Calls of the operations that have a form in ONNX: tests read the files again, and the judge runs them with ONNX Runtime. */
import * as dx from "../../src/index.ts";

type Result = dx.Tensor | readonly dx.Tensor[] | Readonly<Record<string, dx.Tensor>>;
export type Source = (...args: dx.Tensor[]) => Result;

export const tensorsOf = (result: Result): readonly dx.Tensor[] => (result instanceof dx.Tensor ? [result] : Object.values(result));

export interface ExportCase {
  readonly name: string;
  readonly source: Source;
  readonly make: () => dx.Tensor[];
  /** Default: 18. */
  readonly opset?: number;
}

const normal = (...shape: number[]): dx.Tensor => dx.randn(shape);
/** Between 0.1 and 0.9. */
const share = (...shape: number[]): dx.Tensor => dx.rand(shape).mul(0.8).add(0.1);
const whole = (low: number, high: number, ...shape: number[]): dx.Tensor => dx.randint(low, high, shape, { dtype: "int32" });
const index = (high: number, ...shape: number[]): dx.Tensor => dx.randint(0, high, shape, { dtype: "int64" });
/** Zeros, infinities, NaN and ordinary numbers. */
const odd = (): dx.Tensor =>
  dx.tensor([
    [0, -0, 1, -1, NaN],
    [Infinity, -Infinity, 0.5, -2.5, 3.5],
    [1e-30, 1e30, -7, 6, 2],
  ]);

const of = (name: string, source: Source, ...make: (() => dx.Tensor)[]): ExportCase => ({ name, source, make: () => make.map((m) => m()) });
const x = (): dx.Tensor => normal(3, 5);
const u = (): dx.Tensor => share(3, 5);
const row = (): dx.Tensor => dx.tensor([[2, -3, 0.3, -0.4, 1]]);

type Unary = (x: dx.Tensor) => dx.Tensor;
type Binary = (a: dx.Tensor, b: dx.Tensor) => dx.Tensor;
const unary = (names: Readonly<Record<string, Unary>>, make: () => dx.Tensor): ExportCase[] =>
  Object.entries(names).map(([name, f]) => of(name, (a) => f(a!), make));
const binary = (names: Readonly<Record<string, Binary>>, ...make: [() => dx.Tensor, () => dx.Tensor]): ExportCase[] =>
  Object.entries(names).map(([name, f]) => of(name, (a, b) => f(a!, b!), ...make));

const { rad2deg, deg2rad, sinc, angle, signbit, isposinf, isneginf, lgamma, digamma, nanToNum, nansum, hypot, logaddexp, logaddexp2 } = dx;
const { xlogy, atan2, fmax, fmin, copysign, fmod, remainder, floorDivide, mean2, i0, erfinv } = dx;
const { bitwiseAnd, bitwiseOr, bitwiseXor, bitwiseLeftShift, bitwiseRightShift, gcd, lcm } = dx;

const elementwise: ExportCase[] = [
  ...unary({ rad2deg, deg2rad, sinc, angle, signbit, isposinf, isneginf, nanToNum, nansum }, odd),
  ...unary({ lgamma, digamma, i0, erfinv, logit: (a) => dx.logit(a, 0.2), threshold: (a) => dx.threshold(a, 0.5, 7) }, u),
  ...unary(
    {
      i1e: dx.i1e,
      erfcx: dx.erfcx,
      logNdtr: dx.logNdtr,
      ndtri: dx.ndtri,
      entr: dx.entr,
      besselJ0: dx.besselJ0,
      besselY1: dx.besselY1,
      modifiedBesselK0: dx.modifiedBesselK0,
      polygamma: (a) => dx.polygamma(2, a),
      hermitePolynomialH: (a) => dx.hermitePolynomialH(a, 3),
      legendrePolynomialP: (a) => dx.legendrePolynomialP(a, 3),
      chebyshevPolynomialT: (a) => dx.chebyshevPolynomialT(a, 3),
    },
    u,
  ),
  ...binary({ hypot, logaddexp, logaddexp2, xlogy, xlog1py: dx.xlog1py, igamma: dx.igamma, zeta: dx.zeta }, u, u),
  ...binary({ "atan2 of odd numbers": atan2, "fmax of odd numbers": fmax, fmin, copysign, mean2, "xlogy of odd numbers": xlogy }, odd, row),
  ...binary({ fmod, remainder, floorDivide, "div down": (a, b) => dx.div(a, b, { roundingMode: "floor" }) }, () => x().mul(9), u),
  ...binary({ "div towards zero": (a, b) => dx.div(a, b, { roundingMode: "trunc" }) }, () => x().mul(9), u),
  ...binary(
    {
      "fmod of integers": fmod,
      "remainder of integers": remainder,
      "floorDivide of integers": floorDivide,
      "div of integers towards zero": (a, b) => dx.div(a, b, { roundingMode: "trunc" }),
      bitwiseAnd,
      bitwiseOr,
      bitwiseXor,
      bitwiseLeftShift,
      bitwiseRightShift,
      gcd,
      lcm,
      "choice of bool": (a, b) => dx.where(a.gt(0), b.gt(5), a.lt(3)),
      heaviside: (a, b) => dx.heaviside(a.to("float32"), b.to("float32")),
    },
    () => whole(-99, 99, 3, 5),
    () => whole(1, 35, 3, 5),
  ),
  of("bitwiseNot", (a) => dx.bitwiseNot(a!), () => whole(-9, 9, 3, 5)), // prettier-ignore
  of("clamp of NaN", (a) => [dx.clamp(a!, -1, 2), dx.clampMin(a!, -1)], odd),
];

const losses: ExportCase[] = [
  of("losses", (a, b) => [dx.smoothL1Loss(a!, b!), dx.huberLoss(a!, b!), dx.binaryCrossEntropy(a!, b!), dx.mseLoss(a!, b!)], u, u),
  ...(["mean", "sum", "none"] as const).flatMap((reduction) => [
    of(
      `crossEntropy, ${reduction}`,
      (a, t) => dx.crossEntropy(a!, t!, { reduction, ignoreIndex: 4 }),
      x,
      () => index(5, 3),
    ),
    of(
      `crossEntropy with weights, ${reduction}`,
      (a, t) => dx.crossEntropy(a!, t!, { reduction, weight: dx.tensor([1, 2, 3, 4, 5]), labelSmoothing: 0.1 }),
      x,
      () => index(5, 3),
    ),
  ]),
  of(
    "nllLoss of planes",
    (a, t) => dx.nllLoss(a!, t!),
    () => normal(2, 3, 4, 4),
    () => index(3, 2, 4, 4),
  ),
];

const indices: ExportCase[] = [
  of(
    "cdist",
    (a, b) => dx.cdist(a!, b!),
    x,
    () => normal(4, 5),
  ),
  of("eye and diagEmbed", (a) => [a!.matmul(dx.eye(5)), dx.diagEmbed(a!, { offset: 1 })], x),
  of("unfold", (a) => dx.nn.functional.unfold(a!, 2, { padding: 1, dilation: 2 }), () => normal(2, 3, 5, 6)), // prettier-ignore
  of("fold", (a) => dx.nn.functional.fold(a!, [4, 5], 2, { padding: 1 }), () => normal(2, 12, 30)), // prettier-ignore
  of(
    "scatterReduce",
    (a, b, i) => [dx.scatterReduce(a!, 1, i!, b!, "prod"), dx.scatterReduce(a!, 1, i!, b!, "amax"), dx.scatterReduce(a!, 1, i!, b!, "sum")],
    x,
    x,
    () => index(5, 3, 5),
  ),
  of(
    "indexAdd",
    (a, b, i) => dx.indexAdd(a!, 0, i!, b!),
    x,
    x,
    () => dx.tensor([0, 2, 2], { dtype: "int64" }),
  ),
  of("searchsorted", (a, b) => [dx.searchsorted(a!, b!), dx.searchsorted(a!, b!, { right: true })], () => dx.sort(x()).values, x), // prettier-ignore
  of("nonzero", (a) => [dx.nonzero(dx.gt(a!, 0.2), { size: 20, fill: -1 }), dx.nonzero(a!, { size: 4, dtype: "int64" })], x),
  of("nonzero of nothing", (a) => dx.nonzero(dx.gt(a!, 9), { size: 3 }), x),
  of("nonzero of numbers and NaN, of rank 3", (a) => dx.nonzero(dx.stack([a!, a!]), { size: 30, fill: 7 }), odd),
  of("maskedSelect", (a) => dx.maskedSelect(a!, dx.gt(a!, 0), { size: 18, fill: 9 }), x),
  of("bucketize", (a) => dx.bucketize(a!, dx.tensor([-1, 0, 1])), x),
  of("sort", (a) => [dx.sort(a!).values, dx.sort(a!).indices, dx.argsort(a!, -1, { descending: true })], x),
  of("maxima of windows with indices, and back", (a) => {
    const { values, indices: at } = dx.maxPool2dWithIndices(a!, 2, { padding: 1 });
    return [values, at, dx.maxUnpool2d(values, at, 2, { padding: 1, outputSize: [6, 6] })];
  }, () => normal(2, 3, 6, 6)), // prettier-ignore
  of(
    "roiAlign",
    (a, b) => [
      dx.roiAlign(a!, b!, { outputSize: 2, samplingRatio: 2, aligned: true }),
      dx.roiAlign(a!, b!, { outputSize: 3, samplingRatio: 2 }),
    ],
    () => normal(1, 2, 8, 8),
    () => dx.tensor([[0, 1, 1, 6, 7]]),
  ),
  of("moves", (a) => [dx.roll(a!, 2, 1), dx.flip(a!, [0, 1]), a!.repeat([2, 3]), dx.repeatInterleave(a!, 2, 1), a!.unfold(1, 2, 2)], x),
  of("choices", (a) => [dx.tril(a!), dx.triu(a!, 1), dx.diagonal(a!), dx.maskedFill(a!, a!.gt(0), 3), dx.cumsum(a!, 1)], x),
  ...(["constant", "reflect", "replicate", "circular"] as const).map(
    (mode) =>
    of(`pad, ${mode}`, (a) => dx.pad(a!, [1, 2, 2, 1], { mode }), () => normal(1, 2, 4, 5)), // prettier-ignore
  ),
  ...(["nearest", "bilinear", "bicubic", "area"] as const).map(
    (mode) =>
    of(`interpolate, ${mode}`, (a) => dx.interpolate(a!, { size: [7, 9], mode }), () => normal(1, 2, 4, 5)), // prettier-ignore
  ),
];

function recurrentCells(): ExportCase {
  let layers: readonly [ReturnType<typeof dx.nn.lstmCell>, ReturnType<typeof dx.nn.gruCell>];
  return {
    name: "cells",
    make: () => {
      layers = [dx.nn.lstmCell(5, 4), dx.nn.gruCell(5, 4)];
      return [x(), normal(3, 4)];
    },
    source: (a, h) => [...Object.values(layers[0](a!, { hidden: h!, cell: h! })), layers[1](a!, h!)],
  };
}

/** Rises and falls, and equal elements. */
const steps = (): dx.Tensor => dx.randint(-3, 4, [3, 7], { dtype: "int32" });

const running: ExportCase[] = [
  of("cumprod", (a) => [dx.cumprod(a!, 1), dx.cumprod(a!, 0)], x),
  of("cumprod of integers", (a) => dx.cumprod(a!, 1), steps),
  of("cummax and cummin", (a) => [...Object.values(dx.cummax(a!, 1)), ...Object.values(dx.cummin(a!, 0, { dtype: "int64" }))], x),
  of("cummax of odd numbers", (a) => [...Object.values(dx.cummax(a!, 1)), ...Object.values(dx.cummin(a!, 1))], odd),
  of("cummax of integers", (a) => [...Object.values(dx.cummax(a!, 1)), ...Object.values(dx.cummin(a!, 1))], steps),
  of("logcumsumexp", (a) => [dx.logcumsumexp(a!, 1), dx.logcumsumexp(a!.mul(100), 0)], x),
  of("logcumsumexp of odd numbers", (a) => dx.logcumsumexp(a!, 1), odd),
  of("frexp", (a) => Object.values(dx.frexp(a!)), odd),
  of("nextafter", (a, b) => [dx.nextafter(a!, b!), dx.nextafter(a!.mul(3), 0), dx.nextafter(dx.exp2(dx.round(a!)), 0)], x, x),
  of("nextafter of odd numbers", (a, b) => dx.nextafter(a!, b!), odd, row),
  of("frexp of powers of two", (a) => Object.values(dx.frexp(dx.exp2(dx.round(a!.mul(60))).mul(a!.sign()))), x),
  ...(["int8", "uint8", "int16", "int32", "uint32", "int64", "bool"] as const).map(
    (dtype) =>
    of(`bitCount of ${dtype}`, (a) => dx.bitCount(a!.to(dtype)), () => whole(dtype.startsWith("u") ? 0 : -99, 99, 3, 5)), // prettier-ignore
  ),
  of("roiPool", (a, b) => dx.roiPool(a!, b!, { outputSize: [2, 3], spatialScale: 0.5 }), () => normal(1, 2, 8, 8), () => dx.tensor([[0, 1, 1, 12, 14], [0, 3, 2, 5, 9]])), // prettier-ignore
  of(
    "quantized sums and means",
    (a, b) => [
      dx.qlinearAdd(
        { values: a!.to("uint8"), scale: 0.1, zeroPoint: 3 },
        { values: b!.to("int8"), scale: 0.2 },
        { scale: 0.2931, zeroPoint: 9 },
      ),
      dx.qlinearAvgPool2d({ values: a!.to("uint8"), scale: 0.1, zeroPoint: 3 }, 2, { scale: 0.0837, zeroPoint: 5 }, { padding: 1 }),
      dx.qlinearAvgPool2d(
        { values: b!.to("int8"), scale: 0.1 },
        3,
        { scale: 0.0837, dtype: "int8" },
        { padding: 1, stride: 2, countIncludePad: false },
      ),
    ],
    () => whole(0, 200, 1, 2, 6, 6),
    () => whole(-99, 99, 1, 2, 6, 6),
  ),
  ...[17, 20].map((opset): ExportCase => ({
    ...of("transforms", transforms, () => normal(3, 12)),
    name: `transforms, opset ${opset}`,
    opset,
  })),
  projection(),
];

/** Transforms of real and complex numbers, cut, padded, inverse; of a length that is prime. */
function transforms(a?: dx.Tensor): dx.Tensor[] {
  const parts = (z: dx.ComplexTensor): dx.Tensor[] => [dx.real(z), dx.imag(z)];
  const half = dx.fft.rfft(a!);
  return [
    ...parts(half),
    ...parts(dx.fft.fft(a!, { n: 17 })),
    ...parts(dx.fft.ifft(dx.fft.fft(a!, { axis: 0 }), { n: 8, axis: 1 })),
    dx.fft.irfft(half, { n: 11 }),
    ...parts(dx.fft.ifft(a!)),
  ];
}

/** An LSTM with a projection, both ways, and with lengths. */
function projection(): ExportCase {
  let layer: ReturnType<typeof dx.nn.lstm>;
  return {
    name: "an LSTM with a projection",
    make: () => {
      layer = dx.nn.lstm(5, 4, { projSize: 3, bidirectional: true });
      return [normal(6, 2, 5)];
    },
    source: (a) => {
      const { output, ...rest } = layer(a!);
      return [output, ...(Object.values(rest) as dx.Tensor[]).filter((t) => t instanceof dx.Tensor)];
    },
  };
}

const others: ExportCase[] = [
  of("det", (a) => dx.linalg.det(a!), () => normal(2, 3, 3)), // prettier-ignore
  of("quantize", (a) => [dx.quantize(a!, 0.1, 3), dx.fakeQuantizePerTensorAffine(a!, 0.1, 3, 0, 255)], x),
  of("extremes of all", (a) => [dx.max(a!), dx.min(a!)], x),
  ...(["float16", "float64", "int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64", "bool", "bfloat16"] as const).map((dtype) =>
    of(`to ${dtype}`, (a) => a!.mul(9).to(dtype).to("float32"), u),
  ),
  recurrentCells(),
];

export const exportCases: readonly ExportCase[] = [...elementwise, ...losses, ...indices, ...running, ...others];
