/** Batch and layer normalization: over the batch, over the last axes. @functional */
import { byPosition, oneByPosition } from "../declare/positional.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { asItIs, unpaddedAxes, type Padding } from "../../core/padded-axes.ts";
import { layerNormShader, normGradientShader } from "../../shader/kernels/select.ts";
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { tie } from "../../autograd/tie.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { assign, call, requireSameDevice, dispatch } from "../../dispatch/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { contiguousOp } from "../../runtime/assign.ts";
import { sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { full } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { reshape } from "../shape/movement.ts";
import { mean, sum } from "../reduce/reduce.ts";
import { emitReduce } from "../reduce/reduce-lower.ts";
import { cast, constant, requireFloat } from "../declare/support.ts";
import { rsqrt, square } from "../elementwise/unary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { merged, overFirstAxis, parted } from "../declare/batched.ts";
import { asChannels, asSamples, spreadBehind } from "../shape/batched-channels.ts";
import type { BatchRule } from "../../core/batching.ts";

/** @package */
export interface Epsilon {
  readonly epsilon: number;
}

/** [C] as [1, C, 1...], as an expression. */
function perChannel(g: GraphBuilder, x: Expr, rank: number): Expr {
  return g.reinterpret(x, {
    sizes: Array.from({ length: rank }, (_, i) => (i === 1 ? x.sizes[0]! : 1)),
    strides: Array.from({ length: rank }, (_, i) => (i === 1 ? x.strides[0]! : 0)),
  });
}

/** [C] as [C, 1...], which broadcasts against [N, C, ...]. */
const channels = (x: Tensor, rank: number): Tensor => reshape(x, [x.size, ...new Array<number>(rank - 2).fill(1)]);

const allButChannels = (x: Tensor): number[] => x.shape.flatMap((_, i) => (i === 1 ? [] : [i]));

/** Samples of vmap() are more channels, each with its own statistics. */
const channelsOfBatch: BatchRule<Epsilon> = ({ inputs, attrs, size, full, run }) =>
  run(
    inputs.map((t, i) => (t.rank > 1 && full(i).rank > 2 ? asChannels(full(i)) : merged(full(i)))),
    attrs,
  ).map((t) => (t.rank > 1 ? asSamples(t, size) : parted(t, size)));

/** Inputs x [N, C, ...], weight and bias [C]; outputs y, mean [C], population variance [C]. */
const batchNormTrainingOp: Definition<Epsilon> = define<Epsilon>({
  name: "batchNorm",
  batched: channelsOfBatch,
  infer: ([x, weight]) => [x!, { shape: weight!.shape, dtype: x!.dtype }, { shape: weight!.shape, dtype: x!.dtype }],
  lower: (g, [x, weight, bias], { epsilon }) => {
    const rank = x!.sizes.length;
    const y = g.batchNormalizationTraining(x!, g.packed(perChannel(g, weight!, rank)), g.packed(perChannel(g, bias!, rank)), { epsilon });
    return [y.output, y.outputMean, y.outputVariance];
  },
  grad: (dy, { inputs: [x, weight], outputs: [, average, variance], needs, attrs }) => {
    if (!isGradEnabled()) return dispatch(batchNormTrainingGradOp, [x!, dy, average!, variance!, weight!], attrs);
    const axes = allButChannels(x!);
    const centered = sub(x!, mean(x!, axes, { keepDims: true }));
    const r = rsqrt(add(mean(square(centered), axes, { keepDims: true }), attrs.epsilon));
    const normal = mul(centered, r);
    const scaled = mul(dy, channels(weight!, x!.rank));
    return tiedTo(
      [x!, weight!],
      [
        needs[0] ? normalizedGradient(scaled, normal, r, axes) : null,
        needs[1] ? sum(mul(dy, normal), axes) : null,
        needs[2] ? sum(dy, axes) : null,
      ],
    );
  },
  saves: { inputs: [0, 1], outputs: [1, 2] },
  multiplyAdds: ([x]) => 5 * sizeOf(x!.shape),
  padded: (g, [x, weight, bias], { epsilon }, outputs, p) => {
    if (p.isPadded(0, 1)) return null;
    const axes = channelless(x!);
    const wide = cast(g, x!, "float32");
    const { centered, average, variance } = momentsOf(g, wide, axes, p);
    const r = g.elementWiseRecip(g.elementWiseSqrt(variance, { scaleBias: [1, epsilon] }));
    const [w, b] = [weight!, bias!].map((t) => g.expand(perChannel(g, cast(g, t, "float32"), x!.sizes.length), x!.sizes)) as [Expr, Expr];
    const y = g.elementWiseAdd(g.elementWiseMultiply(g.elementWiseMultiply(centered, g.expand(r, x!.sizes)), w), b);
    return [cast(g, y, x!.dtype), ...[average, variance].map((t, i) => g.reshape(cast(g, t, x!.dtype), outputs[i + 1]!.shape))];
  },
});

/** All axes but that of the channels, of an expression. */
const channelless = (x: Expr): number[] => x.sizes.flatMap((_, i) => (i === 1 ? [] : [i]));

/** Mean and population variance of padded float32 over axes, and the distances from the mean, zero in the padding. */
function momentsOf(
  g: GraphBuilder,
  x: Expr,
  axes: readonly number[],
  p: Padding,
): { readonly centered: Expr; readonly average: Expr; readonly variance: Expr } {
  const count = p.count(0, axes);
  const mean = (t: Expr): Expr => {
    const total = emitReduce(g, t, "SUM", axes);
    return g.elementWiseDivide(total, g.expand(count, total.sizes));
  };
  const average = mean(p.filled(0, 0, x));
  const centered = p.filled(0, 0, g.elementWiseSubtract(x, g.expand(average, x.sizes)));
  return { centered, average, variance: mean(g.elementWiseMultiply(centered, centered)) };
}

/** Gradients that one operation gives require gradients if anything that it reads does. @package */
export const tiedTo = (read: readonly (Tensor | null | undefined)[], grads: readonly (Tensor | null)[]): (Tensor | null)[] =>
  grads.map((g) => (g === null ? null : read.reduce<Tensor>((t, x) => (x ? tie(t, x, "none") : t), g)));

/** The result for an x without elements, of which the gradients of weight and bias are zeros. @package */
export const ofNothing = (x: Tensor, ...others: readonly (Tensor | null)[]): Tensor =>
  others.reduce<Tensor>((y, t) => (t === null ? y : tie(y, t, "linear")), call(contiguousOp, [x], undefined));

/** The gradient of x for normal = (x - mean) r, given that of normal. @package */
export function normalizedGradient(dy: Tensor, normal: Tensor, r: Tensor, axes: readonly number[]): Tensor {
  const varying = sub(dy, mean(dy, axes, { keepDims: true }));
  return mul(sub(varying, mul(normal, mean(mul(varying, normal), axes, { keepDims: true }))), r);
}

const batchNormTrainingGradOp = define<Epsilon>({
  name: "batchNormGradient",
  batched: channelsOfBatch,
  infer: ([x, , average]) => [x!, average!, average!],
  lower: (g, [x, dy, average, variance, weight], { epsilon }) => {
    const rank = x!.sizes.length;
    const [m, v, w] = [average!, variance!, weight!].map((t) => g.packed(perChannel(g, t, rank)));
    const d = g.batchNormalizationTrainingGrad(g.packed(x!), g.packed(dy!), m!, v!, w!, { epsilon });
    return [d.outputGradient, d.outputScaleGradient, d.outputBiasGradient];
  },
  grad: null,
  padded: (g, [x, dy, average, variance, weight], { epsilon }, outputs, p) => {
    if (p.isPadded(0, 1)) return null;
    const axes = channelless(x!);
    const [m, v, w] = [average!, variance!, weight!].map((t) =>
      g.expand(perChannel(g, cast(g, t, "float32"), x!.sizes.length), x!.sizes),
    ) as [Expr, Expr, Expr];
    const r = g.elementWiseRecip(g.elementWiseSqrt(v, { scaleBias: [1, epsilon] }));
    const normal = p.filled(0, 0, g.elementWiseMultiply(g.elementWiseSubtract(cast(g, x!, "float32"), m), r));
    const upstream = p.filled(1, 0, cast(g, dy!, "float32"));
    const [along, total] = [g.elementWiseMultiply(upstream, normal), upstream].map((t) => emitReduce(g, t, "SUM", axes)) as [Expr, Expr];
    const share = (t: Expr): Expr => g.expand(g.elementWiseDivide(t, g.expand(p.count(0, axes), t.sizes)), x!.sizes);
    const inner = g.elementWiseSubtract(g.elementWiseSubtract(upstream, share(total)), g.elementWiseMultiply(normal, share(along)));
    const dx = g.elementWiseMultiply(g.elementWiseMultiply(inner, r), w);
    return [dx, along, total].map((t, i) => g.reshape(cast(g, t, x!.dtype), outputs[i]!.shape));
  },
});

/** Inputs x [N, C, ...], mean, variance, weight and bias [C]. */
const batchNormOp = define<Epsilon>({
  name: "batchNorm",
  batched: (batch) => (batch.isBatched.slice(1).includes(true) ? channelsOfBatch(batch) : overFirstAxis(0)(batch)),
  infer: ([x]) => [x!],
  lower: (g, [x, ...rest], { epsilon }) => {
    const [m, v, w, b] = rest.map((t) => g.packed(perChannel(g, t, x!.sizes.length)));
    return [g.batchNormalization(x!, m!, v!, w!, b!, { spatial: true, epsilon })];
  },
  grad: (dy, { inputs: [x, average, variance, weight], needs, attrs }) => {
    const rank = x!.rank;
    const r = rsqrt(add(variance!, attrs.epsilon));
    const axes = allButChannels(x!);
    return tiedTo(
      [x!, weight],
      [
        needs[0] ? mul(dy, channels(mul(weight!, r), rank)) : null,
        null,
        null,
        needs[3] ? mul(sum(mul(dy, sub(x!, channels(average!, rank))), axes), r) : null,
        needs[4] ? sum(dy, axes) : null,
      ],
    );
  },
  saves: { inputs: [0, 1, 2, 3], outputs: false },
  multiplyAdds: ([x]) => 2 * sizeOf(x!.shape),
  padded: unpaddedAxes(() => [1]),
});

/** Options of batchNorm(). Reference: torch.nn.functional.batch_norm. */
export interface BatchNormOptions {
  /** Normalise by the batch's own statistics, and update the running ones. Default: false. */
  readonly training?: boolean | undefined;
  /** Share of the batch in the running statistics; a number or a scalar tensor. Default: 0.1. */
  readonly momentum?: number | Tensor | undefined;
  /** Added to the variance. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}

/** @package */
export function requireChannels(operation: string, x: Tensor, tensors: readonly (readonly [string, Tensor | null])[]): void {
  const channels = x.shape[1]!;
  for (const [name, t] of tensors) {
    if (t === null) continue;
    if (t.device !== x.device) requireSameDevice(operation, [x, t]);
    requireFloat(operation, t, name);
    if (t.rank !== 1 || t.shape[0] !== channels)
      throw new ShapeError(operation, name, `${showShape([channels])}, one for each channel`, t.describe());
  }
}

/** weight and bias as tensors of x's dtype: ones and zeros where there are none. */
function affine(x: Tensor, weight: Tensor | null, bias: Tensor | null, length: number): [Tensor, Tensor] {
  return [weight === null ? filler(x, length, 1) : toDType(weight, x.dtype), bias === null ? filler(x, length, 0) : toDType(bias, x.dtype)];
}

const fillerOp = define<{ readonly length: number; readonly value: number }>({
  name: "constant",
  batched: ({ inputs, attrs, run, shared }) => run(inputs, attrs).map(shared),
  infer: ([x], { length }) => [{ shape: [length], dtype: x!.dtype }],
  lower: (g, [x], { length, value }) => [g.packed(constant(g, x!.dtype, value, [length]))],
  grad: null,
  padded: asItIs,
});

/** @package */
export const filler = (x: Tensor, length: number, value: number): Tensor =>
  noGrad(() => (x.size === 0 ? full([length], value, { dtype: x.dtype, device: x.device }) : call(fillerOp, [x], { length, value })));

/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias for each channel, over batch and spatial axes.
 *
 * x: [N, C, ...], float16 or float32; the others [C] or null. In training, mean and population variance are the batch's, and
 * runningMean and runningVariance (with the sample variance) are updated in place; else they are the running ones.
 * DirectML: BATCH_NORMALIZATION_TRAINING, BATCH_NORMALIZATION. Reference: torch.nn.functional.batch_norm.
 */
export function batchNorm(
  x: Tensor,
  runningMean: Tensor | null,
  runningVariance: Tensor | null,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  training?: boolean | BatchNormOptions,
  momentum?: number | BatchNormOptions,
  eps?: number | BatchNormOptions,
  options?: BatchNormOptions,
): Tensor {
  const settings =
    momentum === undefined && eps === undefined
      ? oneByPosition<BatchNormOptions>("batchNorm", "training", training, options)
      : byPosition<BatchNormOptions>("batchNorm", ["training", "momentum", "eps"], [training, momentum, eps, options]);
  const { training: trains = false, momentum: share = 0.1, eps: epsilon = 1e-5 } = settings;
  requireFloat("batchNorm", x);
  // Nothing to normalise: PyTorch lets an empty vector through.
  if (x.rank === 1 && x.size === 0) return call(contiguousOp, [x], undefined);
  if (x.rank < 2) throw new ShapeError("batchNorm", "x", "[N, C, ...]", x.describe());
  requireChannels("batchNorm", x, [
    ["runningMean", runningMean],
    ["runningVariance", runningVariance],
    ["weight", weight],
    ["bias", bias],
  ]);
  const [w, b] = affine(x, weight, bias, x.shape[1]!);
  if (!trains) {
    if (runningMean === null || runningVariance === null)
      throw new ValueError("batchNorm", "runningMean and runningVariance", "tensors, unless training", null);
    return call(batchNormOp, [x, toDType(runningMean, x.dtype), toDType(runningVariance, x.dtype), w, b], { epsilon });
  }
  const count = sizeOf(x.shape.filter((_, i) => i !== 1));
  // A batch without samples does not change the running statistics.
  if (count === 0) return ofNothing(x, weight, bias);
  if (count === 1) throw new ValueError("batchNorm", "x", "of more than one value for each channel in training", x.describe());
  const [y, average, variance] = dispatch(batchNormTrainingOp, [x, w, b], { epsilon }) as [Tensor, Tensor, Tensor];
  noGrad(() => {
    if (runningMean !== null) move(runningMean, average, 1, share);
    if (runningVariance !== null) move(runningVariance, variance, count / (count - 1), share);
  });
  return y;
}

/** (1 - momentum) running + share value; share is a number that follows the batch's size. */
const averageOp = define<{ readonly momentum: number }>({
  name: "movingAverage",
  infer: ([running]) => [running!],
  lower: (g, [running, value, share], { momentum }, [out]) => {
    // Half precision is rounded once.
    const [old, current] = [cast(g, running!, "float32"), cast(g, value!, "float32")];
    const moved = g.elementWiseAdd(
      g.elementWiseIdentity(old, { scaleBias: [1 - momentum, 0] }),
      g.elementWiseMultiply(current, g.expand(share!, current.sizes)),
    );
    return [cast(g, moved, out!.dtype)];
  },
  grad: null,
});

/** running <- (1 - momentum) running + momentum scale value. */
function move(running: Tensor, value: Tensor, scale: number, momentum: number | Tensor): void {
  assign("batchNorm", running, () => {
    if (typeof momentum === "number")
      return call(averageOp, [running, value, scalarTensor(running.device, "float32", momentum * scale)], { momentum });
    const current = toDType(scale === 1 ? value : mul(value, scale), running.dtype);
    return add(running, mul(sub(current, running), toDType(momentum, running.dtype)));
  });
}

interface LayerAttributes extends Epsilon {
  readonly axes: number;
  readonly affine: boolean;
}

/** Sizes as rows and what is normalised: the last `axes` axes. */
const rowsOf = (shape: Shape, axes: number): [number, number] => [
  sizeOf(shape.slice(0, shape.length - axes)),
  sizeOf(shape.slice(shape.length - axes)),
];

/** Inputs x and, with affine, weight and bias of the last axes' shape. */
const layerNormOp: Definition<LayerAttributes> = define<LayerAttributes>({
  name: "layerNorm",
  batched: (batch) => {
    const { inputs: [, weight, bias], isBatched, attrs, run, full } = batch; // prettier-ignore
    const x = full(0);
    if (!isBatched[1] && isBatched[2] !== true) return run([x, ...batch.inputs.slice(1)], attrs);
    const [normal] = run([x], attrs);
    const scaled = weight === undefined ? normal! : mul(normal!, spreadBehind(full(1), x.rank));
    return [bias === undefined ? scaled : add(scaled, spreadBehind(full(2), x.rank))];
  },
  infer: ([x]) => [x!],
  lower: (g, [x, weight, bias], { axes, epsilon }, [out]) => {
    const sizes = rowsOf(x!.sizes, axes);
    if (weight !== undefined && bias !== undefined) {
      const [scale, shift] = [weight, bias].map((t) => g.reshape(t, [sizes[1]])) as [Expr, Expr];
      const shader = layerNormShader(g, g.reshape(x!, sizes), scale, shift, epsilon);
      if (shader !== null) return [g.reinterpret(shader, { sizes: out!.shape })];
    }
    // Half precision loses the variance: sums run in float32, as PyTorch's do.
    const row = (t: Expr | undefined): Expr | null => (t === undefined ? null : cast(g, g.reshape(t, [1, sizes[1]]), "float32"));
    const y = g.meanVarianceNormalization1(cast(g, g.reshape(x!, sizes), "float32"), {
      scale: row(weight),
      bias: row(bias),
      output: { sizes },
      axes: [1],
      normalizeVariance: true,
      epsilon,
    });
    return [g.reinterpret(cast(g, y, out!.dtype), { sizes: out!.shape })];
  },
  grad: (dy, { inputs: [x, weight], specs, attrs, needs }) => {
    if (!isGradEnabled()) return dispatch(layerNormGradOp, weight ? [x!, dy, weight] : [x!, dy], attrs);
    const sizes = rowsOf(x!.shape, attrs.axes);
    const rows = reshape(x!, sizes);
    const centered = sub(rows, mean(rows, 1, { keepDims: true }));
    const r = rsqrt(add(mean(square(centered), 1, { keepDims: true }), attrs.epsilon));
    const normal = mul(centered, r);
    const upstream = reshape(dy, sizes);
    const scaled = weight ? mul(upstream, reshape(weight, [sizes[1]])) : upstream;
    return tiedTo(
      [x!, weight],
      [
        needs[0] ? reshape(normalizedGradient(scaled, normal, r, [1]), x!.shape) : null,
        needs[1] ? reshape(sum(mul(upstream, normal), 0), specs[1]!.shape) : null,
        needs[2] ? reshape(sum(upstream, 0), specs[2]!.shape) : null,
      ],
    );
  },
  saves: { inputs: [0, 1], outputs: false },
  multiplyAdds: ([x, ...affine]) => (affine.length === 0 ? 4 : 5) * sizeOf(x!.shape),
  padded: unpaddedAxes(({ axes }, rank) => lastAxes(axes, rank)),
});

const lastAxes = (axes: number, rank: number): number[] => Array.from({ length: axes }, (_, i) => rank - axes + i);

/**
 * normalizedGradient() in the graph, of float32, and normal = (x - mean) r: both of x's sizes. axes: the last ones. scale: what normal is
 * multiplied by. @package
 */
export function normalizationGradient(
  g: GraphBuilder,
  x: Expr,
  dy: Expr,
  scale: Expr | null,
  axes: readonly number[],
  epsilon: number,
): { readonly dx: Expr; readonly normal: Expr } {
  const spread = (t: Expr): Expr => g.expand(t, x.sizes);
  const scaled = scale === null ? dy : g.elementWiseMultiply(dy, spread(scale));
  if (g.capabilities.fusesGraphs && g.supports("BATCH_NORMALIZATION_TRAINING_GRAD")) return gradientByBatches(g, x, scaled, axes, epsilon);
  const average = (t: Expr): Expr => emitReduce(g, t, "AVERAGE", axes);
  const centered = g.elementWiseSubtract(x, spread(average(x)));
  const variance = average(g.elementWiseMultiply(centered, centered));
  const r = spread(g.elementWiseRecip(g.elementWiseSqrt(variance, { scaleBias: [1, epsilon] })));
  const normal = g.elementWiseMultiply(centered, r);
  // The mean of normal is zero but for rounding, which the mean of dy would multiply.
  const varying = g.elementWiseSubtract(scaled, spread(average(scaled)));
  const along = g.elementWiseMultiply(normal, spread(average(g.elementWiseMultiply(varying, normal))));
  const inner = g.elementWiseSubtract(varying, along);
  return { dx: g.elementWiseMultiply(inner, r), normal };
}

/** The same where passes over memory are what takes time: what is normalised together is a channel of batch normalisation. */
function gradientByBatches(
  g: GraphBuilder,
  x: Expr,
  dy: Expr,
  axes: readonly number[],
  epsilon: number,
): { readonly dx: Expr; readonly normal: Expr } {
  const rowSizes = x.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
  const [one, none] = [1, 0].map((value) => constant(g, "float32", value, rowSizes)) as [Expr, Expr];
  const { output, outputMean, outputVariance } = g.batchNormalizationTraining(x, one, none, { epsilon });
  const { outputGradient } = g.batchNormalizationTrainingGrad(x, dy, outputMean, outputVariance, one, { epsilon });
  return { dx: outputGradient, normal: output };
}

/** The gradients that a normalisation's shaders leave, whose blocks are added. @package */
export const withShared = (g: GraphBuilder, dtype: DType, { dx, ofShared }: { readonly dx: Expr; readonly ofShared: readonly Expr[] }): Expr[] => [
  dx,
  ...ofShared.map((sums) => cast(g, emitReduce(g, sums, "SUM", [0]), dtype)),
]; // prettier-ignore

const layerNormGradOp = define<LayerAttributes>({
  name: "layerNormGradient",
  batched: ({ inputs: [, , weight], isBatched, attrs, full, run }) => {
    const [x, dy] = [full(0), full(1)];
    if (weight === undefined) return run([x, dy], attrs);
    const scale = isBatched[2] ? spreadBehind(weight, x.rank) : weight;
    const rows = x.shape.flatMap((_, i) => (i > 0 && i < x.rank - attrs.axes ? [i] : []));
    const summed = (t: Tensor): Tensor => (rows.length === 0 ? t : sum(t, rows));
    return [run([x, mul(dy, scale)], attrs)[0]!, summed(mul(dy, call(layerNormOp, [x], attrs))), summed(dy)];
  },
  infer: ([x, , weight]) => (weight === undefined ? [x!] : [x!, weight, weight]),
  lower: (g, [x, dy, weight], { axes, epsilon }) => {
    const sizes = rowsOf(x!.sizes, axes);
    const row = weight === undefined ? null : g.reshape(weight, [sizes[1]]);
    const shader = normGradientShader(g, "layerNorm", { x: g.reshape(x!, sizes), dy: g.reshape(dy!, sizes), weight: row }, epsilon);
    if (shader !== null) return withShared(g, x!.dtype, shader);
    const [rows, upstream, scale] = [x, dy, weight].map((t, i) =>
      t === undefined ? undefined : cast(g, g.reshape(t, i === 2 ? [1, sizes[1]] : sizes), "float32"),
    ) as [Expr, Expr, Expr | undefined];
    const { dx, normal } = normalizationGradient(g, rows, upstream, scale ?? null, [1], epsilon);
    const all =
      weight === undefined
        ? [dx]
        : [dx, emitReduce(g, g.elementWiseMultiply(upstream, normal), "SUM", [0]), emitReduce(g, upstream, "SUM", [0])];
    return all.map((t) => cast(g, t, x!.dtype));
  },
  grad: null,
  padded: (_g, [x, ...rest], { axes }, _outputs, p, lower) =>
    lastAxes(axes, x!.sizes.length).some((a) => p.isPadded(0, a)) ? null : lower([p.filled(0, 0), p.filled(1, 0), ...rest.slice(1)]),
  whenEmpty: 0,
});

/** Options of layerNorm() and groupNorm(). */
export interface NormOptions {
  /** Added to the variance, against a division by zero. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}

/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias over the last axes, whose lengths are normalizedShape.
 *
 * x: [..., normalizedShape], float16 or float32; weight and bias: normalizedShape or null. epsilon: default 1e-5.
 * DirectML: MEAN_VARIANCE_NORMALIZATION1. Reference: torch.nn.functional.layer_norm. @autocast float32
 */
export function layerNorm(
  x: Tensor,
  normalizedShape: Shape,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  eps?: number | NormOptions,
  options?: NormOptions,
): Tensor {
  const { eps: epsilon = 1e-5 } = oneByPosition<NormOptions>("layerNorm", "eps", eps, options);
  requireFloat("layerNorm", x);
  const axes = normalizedShape.length;
  if (axes === 0 || !sameShape(x.shape.slice(x.rank - axes), normalizedShape) || x.rank < axes)
    throw new ShapeError("layerNorm", "last axes of x", showShape(normalizedShape), x.describe());
  for (const [name, t] of [
    ["weight", weight],
    ["bias", bias],
  ] as const) {
    if (t === null) continue;
    requireSameDevice("layerNorm", [x, t]);
    requireFloat("layerNorm", t, name);
    if (!sameShape(t.shape, normalizedShape)) throw new ShapeError("layerNorm", name, showShape(normalizedShape), t.describe());
  }
  if (weight === null && bias === null) return call(layerNormOp, [x], { axes, epsilon, affine: false });
  const length = sizeOf(normalizedShape);
  const [w, b] = affine(x, weight, bias, length);
  const inputs = [x, weight === null ? reshape(w, normalizedShape) : w, bias === null ? reshape(b, normalizedShape) : b];
  return call(layerNormOp, inputs, { axes, epsilon, affine: true });
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("normalized", "batchNorm that follows its batches", [real([4, 3, 2]), real([3]), real([3], 0.5, 2)], (x, m, v) => {
    const [mean, variance] = [m!.detach().clone(), v!.detach().clone()];
    return [batchNorm(x!, mean, variance, null, null, { training: true }), mean, variance];
  }),
];
