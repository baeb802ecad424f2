/** Cross-entropy and negative log likelihood losses: the negative logarithm of the probability of the right class. @functional */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { reading, tie } from "../../autograd/tie.ts";
import { asResult, call, requireSameDevice, dispatch } from "../../dispatch/dispatch.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { sameShape, showShape, sizeOf } from "../../core/shape.ts";
import { toDType } from "../data/conversion.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { ne } from "../elementwise/compare.ts";
import { full, zeros } from "../creation/creation.ts";
import { define, type Definition, type TensorSpec } from "../../core/definition.ts";
import { requireReduction, reduceLoss, type LossOptions, type Reduction } from "./regression.ts";
import { expand, reshape } from "../shape/movement.ts";
import { sum } from "../reduce/reduce.ts";
import { emitSoftmax, logSoftmax } from "../reduce/softmax.ts";
import { crossEntropyGradientShader, crossEntropyShader } from "../../shader/kernels/select.ts";
import { cast, constant, requireFloat, sequence } from "../declare/support.ts";
import { exp, neg } from "../elementwise/unary.ts";
import { maximum, where } from "../elementwise/where.ts";
import { merged, parted } from "../declare/batched.ts";

interface NllAttributes {
  readonly ignoreIndex: number;
  readonly reduction: Reduction;
}

/** log-probabilities as [N, C, positions]. */
const classSizes = (x: readonly number[]): [number, number, number] => [x[0]!, x[1]!, sizeOf(x.slice(2))];

/**
 * Classes as [N, 1, P] of a type in which positions that do not count have a class out of range. Negative ones would count from the end: read as
 * unsigned numbers they are too large, and that is all that a negative ignoreIndex needs.
 */
function countedClasses(g: GraphBuilder, [n, c, p]: readonly [number, number, number], target: Expr, ignoreIndex: number): Expr {
  const shape = [n, 1, p];
  const classes = g.reshape(cast(g, target, "int32"), shape);
  const unsigned = (x: Expr): Expr => g.reinterpret(x, { dtype: "uint32", sizes: x.sizes, strides: x.strides });
  if (ignoreIndex < 0 || ignoreIndex >= c) return unsigned(classes);
  const ignored = g.elementWiseLogicalEquals(classes, constant(g, "int32", ignoreIndex, shape), { output: { dtype: "uint8" } });
  return unsigned(g.elementWiseIf(ignored, constant(g, "int32", c, shape), classes));
}

/** [N, C, P]: 1 at the class of each position that counts, else 0. */
function hotClasses(g: GraphBuilder, classes: Expr, sizes: readonly number[], dtype: "uint8" | "float16" | "float32"): Expr {
  const offOn = sequence(g, dtype, [1, 1, 2]);
  return g.oneHot(classes, offOn, { output: { sizes: [...sizes] }, axis: 1 });
}

/** [N, 1, P]: whether positions count: those whose class is below c. */
function countsOf(g: GraphBuilder, classes: Expr, c: number): Expr {
  return g.elementWiseLogicalLessThan(classes, constant(g, "uint32", c, classes.sizes), { output: { dtype: "uint8" } });
}

function sumOver(g: GraphBuilder, x: Expr, axes: readonly number[]): Expr {
  return g.reduce(x, { function: "SUM", output: { sizes: x.sizes.map((d, i) => (axes.includes(i) ? 1 : d)), dtype: x.dtype }, axes });
}

const positionsShape = (logits: TensorSpec): number[] => [logits.shape[0]!, ...logits.shape.slice(2)];

/** The loss of log-probabilities [N, C, P], and the total weight. */
function emitNll(g: GraphBuilder, logs: Expr, target: Expr, weight: Expr | undefined, { ignoreIndex, reduction }: NllAttributes): Expr[] {
  const sizes = logs.sizes as [number, number, number];
  const classes = countedClasses(g, sizes, target, ignoreIndex);
  const counts = countsOf(g, classes, sizes[1]);
  const number = (value: number, dtype: DType = logs.dtype): Expr => constant(g, dtype, value, classes.sizes);
  const safeClass = g.elementWiseIf(counts, classes, number(0, "uint32"));
  // Chosen, not multiplied: the logarithm of another class may be minus infinity.
  const of = (x: Expr): Expr =>
    g.elementWiseIf(counts, g.gatherElements(x, safeClass, { output: { sizes: classes.sizes }, axis: 1 }), number(0));
  const weights = weight ? of(g.expand(g.reshape(weight, [1, sizes[1], 1]), sizes)) : g.elementWiseIf(counts, number(1), number(0));
  const losses = weight ? g.elementWiseMultiply(of(logs), weights) : of(logs);
  const total = sumOver(g, weights, [0, 1, 2]);
  const summed = sumOver(g, losses, reduction === "none" ? [1] : [0, 1, 2]);
  const negative = g.elementWiseIdentity(summed, { scaleBias: [-1, 0] });
  return [reduction === "mean" ? g.elementWiseDivide(negative, total) : negative, total];
}

/** The outputs of crossEntropy by a shader, where one is chosen. */
function launchedLoss(g: GraphBuilder, x: Expr, target: Expr, { ignoreIndex, reduction }: NllAttributes): Expr[] | null {
  const [n, c, positions] = classSizes(x.sizes);
  const made = positions === 1 ? crossEntropyShader(g, g.reshape(x, [n, c]), () => rowClasses(g, target, n), ignoreIndex) : null;
  if (made === null) return null;
  const [logs, losses, counted] = made as [Expr, Expr, Expr];
  const total = sumOver(g, counted, [0]);
  const summed = reduction === "none" ? losses : sumOver(g, losses, [0]);
  const loss = reduction === "mean" ? g.elementWiseDivide(summed, total) : summed;
  return [cast(g, loss, x.dtype), cast(g, total, x.dtype), g.reshape(logs, x.sizes)];
}

/** Classes as [N]; those that are none stay so. */
const rowClasses = (g: GraphBuilder, target: Expr, n: number): Expr => g.reshape(cast(g, target, "int32"), [n]);

const lossAndTotal = ([x]: readonly TensorSpec[], { reduction }: NllAttributes): TensorSpec[] => [
  { shape: reduction === "none" ? positionsShape(x!) : [], dtype: x!.dtype },
  { shape: [], dtype: x!.dtype },
];

/** The loss and the total weight of each sample of vmap(), of log-probabilities [B, N, C, ...]. */
function lossOfBatch(logs: Tensor, target: Tensor, weight: Tensor | undefined, attrs: NllAttributes): Tensor[] {
  const size = logs.shape[0]!;
  const classes = merged(target);
  const each = (x: Tensor): Tensor =>
    parted(dispatch(nllOp, weight === undefined ? [x, classes] : [x, classes, weight], { ...attrs, reduction: "none" })[0]!, size);
  const summed = (t: Tensor): Tensor => sum(t, t.shape.flatMap((_, i) => (i === 0 ? [] : [i]))); // prettier-ignore
  const rows = merged(logs);
  const total = summed(each(full(rows.shape, -1, { dtype: rows.dtype, device: rows.device })));
  const losses = each(rows);
  if (attrs.reduction === "none") return [losses, total];
  return [attrs.reduction === "mean" ? div(summed(losses), total) : summed(losses), total];
}

/** dy of each position of each sample: [B * N, ...], like the classes. */
const spreadOfBatch = (dy: Tensor, target: Tensor, reduction: NllAttributes["reduction"]): Tensor =>
  merged(reduction === "none" ? dy : expand(reshape(dy, [dy.shape[0]!, ...target.shape.slice(1).map(() => 1)]), target.shape));

/** Inputs: log-probabilities [N, C, ...], classes [N, ...] and, if there are, weights [C]. Outputs: the loss, and the total weight. */
const nllOp: Definition<NllAttributes> = define<NllAttributes>({
  name: "nllLoss",
  batched: ({ inputs: [, , weight], isBatched, attrs, full: whole }) =>
    isBatched[2] ? null : lossOfBatch(whole(0), whole(1), weight, attrs),
  infer: lossAndTotal,
  lower: (g, [x, target, weight], attrs) => emitNll(g, g.reshape(x!, classSizes(x!.sizes)), target!, weight, attrs),
  grad: (dy, { inputs: [x, target, weight], outputs: [, total], specs, attrs }) => [
    tie(call(nllGradOp, weight ? [dy, target!, total!, weight] : [dy, target!, total!], { ...attrs, shape: specs[0]!.shape }), x!),
  ],
  saves: { outputs: [1] },
  padded: (_g, inputs, { ignoreIndex }, _outputs, p, lower) => {
    if (p.isPadded(0, 1)) return null;
    return lower(inputs.map((x, i) => (i === 1 ? p.filled(i, ignoreIndex) : x)));
  },
});

const nllGradOp: Definition<NllAttributes & { readonly shape: readonly number[] }> = define<
  NllAttributes & { readonly shape: readonly number[] }
>({
  name: "nllLossGradient",
  batched: ({ inputs: [, , , weight], isBatched, attrs, size, full: whole, run }) => {
    if (isBatched[3]) return null;
    const [dy, target, total] = [whole(0), whole(1), whole(2)];
    const each = spreadOfBatch(attrs.reduction === "mean" ? div(dy, total) : dy, target, attrs.reduction);
    const one = scalarTensor(dy.device, dy.dtype, 1);
    const list = [each, merged(target), one, ...(weight === undefined ? [] : [weight])];
    const [n, ...rest] = attrs.shape;
    return run(list, { ...attrs, reduction: "none", shape: [n! * size, ...rest] }).map((t) => parted(t, size));
  },
  infer: ([dy], { shape }) => [{ shape, dtype: dy!.dtype }],
  lower: (g, [dy, target, total, weight], { ignoreIndex, reduction, shape }) => {
    const sizes = classSizes(shape);
    const hot = hotClasses(g, countedClasses(g, sizes, target!, ignoreIndex), sizes, "uint8");
    const negative = g.elementWiseIdentity(dy!, { scaleBias: [-1, 0] });
    const scaled =
      reduction === "none"
        ? g.reshape(negative, [sizes[0], 1, sizes[2]])
        : g.reinterpret(reduction === "mean" ? g.elementWiseDivide(negative, total!) : negative, { sizes: [1, 1, 1] });
    const spread = g.expand(scaled, sizes);
    const each = weight === undefined ? spread : g.elementWiseMultiply(g.expand(g.reshape(weight, [1, sizes[1], 1]), sizes), spread);
    // Chosen, not multiplied: where no position counts, dy / total is NaN.
    return [g.elementWiseIf(hot, each, constant(g, dy!.dtype, 0, sizes))];
  },
  grad: (d, { inputs: [, target, total, weight], attrs }) => {
    // Linear in dy: the loss of d, over the same total.
    const [loss] = dispatch(nllOp, weight ? [d, target!, weight] : [d, target!], {
      ignoreIndex: attrs.ignoreIndex,
      reduction: attrs.reduction === "none" ? "none" : "sum",
    });
    return [attrs.reduction === "mean" ? div(loss!, total!) : loss!];
  },
  saves: { inputs: [1, 2, 3], outputs: false },
  padded: (_g, inputs, { ignoreIndex }, _outputs, p, lower) => lower(inputs.map((x, i) => (i === 1 ? p.filled(i, ignoreIndex) : x))),
});

/**
 * Inputs: logits [N, C, ...] and classes [N, ...], all of one weight. Outputs as of nllLoss, and the logarithms of the probabilities, which
 * is all that the gradient reads.
 */
const crossEntropyOp: Definition<NllAttributes> = define<NllAttributes>({
  name: "crossEntropy",
  batched: ({ attrs, full: whole }) => {
    const logs = logSoftmax(whole(0), 2);
    return [...lossOfBatch(logs, whole(1), undefined, attrs), logs];
  },
  infer: ([x, target], attrs) => [...lossAndTotal([x!, target!], attrs), x!],
  lower: (g, [x, target], attrs) => {
    const launched = launchedLoss(g, x!, target!, attrs);
    if (launched !== null) return launched;
    const sizes = classSizes(x!.sizes);
    const logs = g.reshape(emitSoftmax(g, g.reshape(x!, sizes), 1, true), sizes);
    return [...emitNll(g, logs, target!, undefined, attrs), g.reshape(logs, x!.sizes)];
  },
  grad: (dy, { inputs: [, target], outputs: [, total, logs], dys: [, , dLogs], specs, attrs }) => {
    if (!isGradEnabled() && !dLogs) return [call(crossEntropyGradOp, [dy, logs!, target!, total!], attrs)];
    const own = call(nllGradOp, [dy, target!, total!], { ...attrs, shape: specs[0]!.shape });
    const d = dLogs ? add(own, dLogs) : own;
    return [sub(d, mul(exp(logs!), sum(d, 1, { keepDims: true })))];
  },
  saves: { inputs: [1], outputs: [1, 2] },
  padded: (_g, inputs, { ignoreIndex }, _outputs, p, lower) => {
    if (p.isPadded(0, 1)) return null;
    return lower(inputs.map((x, i) => (i === 1 ? p.filled(i, ignoreIndex) : x)));
  },
});

/** dy / total (exp(logs) - hot) at the positions that count, else 0. */
const crossEntropyGradOp = define<NllAttributes>({
  name: "crossEntropyGradient",
  batched: ({ attrs, size, full: whole, run }) => {
    const [dy, logs, target, total] = [whole(0), whole(1), whole(2), whole(3)];
    const each = spreadOfBatch(attrs.reduction === "mean" ? div(dy, maximum(total, 1)) : dy, target, attrs.reduction);
    const list = [each, merged(logs), merged(target), scalarTensor(dy.device, dy.dtype, 1)];
    return run(list, { ...attrs, reduction: "none" }).map((t) => parted(t, size));
  },
  infer: ([, logs]) => [logs!],
  lower: (g, [dy, logs, target, total], { ignoreIndex, reduction }) => {
    const sizes = classSizes(logs!.sizes);
    // Where nothing counts the total is 0, and so is each gradient.
    const scale =
      reduction === "mean" ? g.elementWiseDivide(dy!, g.elementWiseMax(total!, constant(g, total!.dtype, 1, total!.sizes))) : dy!;
    if (sizes[2] === 1) {
      const [rows, factor] = [g.reshape(logs!, [sizes[0], sizes[1]]), g.reshape(scale, [reduction === "none" ? sizes[0] : 1])];
      const dx = crossEntropyGradientShader(g, rows, () => rowClasses(g, target!, sizes[0]), factor, ignoreIndex);
      if (dx !== null) return [g.reshape(dx, logs!.sizes)];
    }
    const classes = countedClasses(g, sizes, target!, ignoreIndex);
    const hot = hotClasses(g, classes, sizes, logs!.dtype as "float32");
    const [one, none] = [1, 0].map((value) => constant(g, logs!.dtype, value, classes.sizes)) as [Expr, Expr];
    const counted = g.expand(g.elementWiseIf(countsOf(g, classes, sizes[1]), one, none), sizes);
    const spread = reduction === "none" ? g.reshape(scale, [sizes[0], 1, sizes[2]]) : g.reinterpret(scale, { sizes: [1, 1, 1] });
    const probabilities = g.elementWiseExp(g.reshape(logs!, sizes));
    const distance = g.elementWiseSubtract(g.elementWiseMultiply(probabilities, counted), hot);
    return [g.elementWiseMultiply(distance, g.expand(spread, sizes))];
  },
  grad: null,
  padded: (_g, inputs, { ignoreIndex }, _outputs, p, lower) => {
    if (p.isPadded(1, 1)) return null;
    return lower(inputs.map((x, i) => (i === 2 ? p.filled(i, ignoreIndex) : x)));
  },
});

/** Options of nllLoss(). Reference: torch.nn.functional.nll_loss. */
export interface NllOptions extends LossOptions {
  /** Factor of each class, [C]. */
  readonly weight?: Tensor | null | undefined;
  /** Positions with this class do not count. Default: -100. */
  readonly ignoreIndex?: number | undefined;
}

function requireClasses(operation: string, x: Tensor, target: Tensor, weight: Tensor | null): void {
  requireSameDevice(operation, weight === null ? [x, target] : [x, target, weight]);
  requireFloat(operation, x);
  if (target.dtype !== "int32" && target.dtype !== "int64")
    throw new DTypeError(
      operation,
      "target",
      "classes as int32 or int64",
      target.dtype,
      isFloat(target.dtype) ? 'Class numbers are whole: target.to("int32").' : undefined,
    );
  if (x.rank < 1 || !sameShape(target.shape, x.rank === 1 ? [] : [x.shape[0]!, ...x.shape.slice(2)]))
    throw new ShapeError(
      operation,
      "target",
      x.rank < 2 ? "a scalar for x of one axis" : `${showShape([x.shape[0]!, ...x.shape.slice(2)])} for x [N, C, ...]`,
      `x ${x.describe()}, target ${target.describe()}`,
    );
  requireWeight(operation, x, weight);
}

function requireWeight(operation: string, x: Tensor, weight: Tensor | null): void {
  if (weight === null) return;
  const classes = x.rank === 1 ? x.shape[0]! : x.shape[1]!;
  if (!sameShape(weight.shape, [classes]))
    throw new ShapeError(operation, "weight", `${showShape([classes])}, one for each class`, weight.describe());
  if (weight.dtype !== x.dtype) throw new DTypeError(operation, "weight", `of x's dtype ${x.dtype}`, weight.dtype);
}

/** The loss, and the total weight of the positions that count. */
function nll(
  operation: string,
  x: Tensor,
  target: Tensor,
  options: NllOptions,
  definition: Definition<NllAttributes> = nllOp,
): [Tensor, Tensor] {
  const { reduction = "mean", ignoreIndex = -100, weight = null } = options;
  requireReduction(operation, reduction);
  requireClasses(operation, x, target, weight);
  requireIndices(operation, target, { length: x.shape[x.rank === 1 ? 0 : 1]!, argument: "target", except: ignoreIndex });
  const single = x.rank === 1;
  const scores = single ? reshape(x, [1, x.size]) : x;
  const classes = single ? reshape(target, [1]) : target;
  if (scores.size === 0 && scores.shape[1] !== 0) return nothing(scores, reduction).map((t) => reading(t, scores)) as [Tensor, Tensor];
  const inputs = weight === null ? [scores, classes] : [scores, classes, weight];
  const [loss, total] = dispatch(definition, inputs, { ignoreIndex, reduction }) as [Tensor, Tensor];
  return [single && reduction === "none" ? asResult(reshape(loss, [])) : loss, total];
}

/** The loss of an empty batch: 0, the mean of nothing, or an empty tensor. */
function nothing(x: Tensor, reduction: Reduction): [Tensor, Tensor] {
  const total = zeros([], { dtype: x.dtype, device: x.device });
  if (reduction === "none") return [sum(x, 1), total];
  return [reduction === "sum" ? sum(x) : mul(sum(x), NaN), total];
}

/**
 * Mean of -weight[t] x[t] for logarithms x of probabilities, divided by the total weight.
 *
 * x: [C], [N, C] or [N, C, ...], float16 or float32; target: [], [N] or [N, ...], int32 or int64. Classes outside [0, C) are an
 * IndexError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1; without it they count as ignored. The mean of nothing is NaN. DirectML: ONE_HOT, ELEMENT_WISE_IF, REDUCE.
 * Reference: torch.nn.functional.nll_loss. @autocast float32
 */
export const nllLoss = (x: Tensor, target: Tensor, options: NllOptions = {}): Tensor =>
  nll("nllLoss", x, target.dtype === "uint8" ? toDType(target, "int32") : target, options)[0];

/** Options of crossEntropy(). Reference: torch.nn.functional.cross_entropy. */
export interface CrossEntropyOptions extends NllOptions {
  /** Share of the target that is spread over all classes, in [0, 1]. Default: 0. */
  readonly labelSmoothing?: number | undefined;
}

/**
 * nllLoss of logSoftmax(x): x are logits. Without weight and label smoothing it is one operation, whose gradient is
 * dy / total (softmax(x) - onehot(target)) at the positions that count.
 *
 * x: [C], [N, C] or [N, C, ...], float16 or float32. target: classes (int32 or int64) as for nllLoss, or probabilities of x's
 * shape and a floating dtype. DirectML: ACTIVATION_LOG_SOFTMAX1, ACTIVATION_SOFTMAX1, ONE_HOT, ELEMENT_WISE_IF, REDUCE.
 * Reference: torch.nn.functional.cross_entropy. @autocast float32
 */
export function crossEntropy(x: Tensor, target: Tensor, options: CrossEntropyOptions = {}): Tensor {
  const { labelSmoothing = 0, reduction = "mean", weight = null } = options;
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1)) throw new ValueError("crossEntropy", "labelSmoothing", "in [0, 1]", labelSmoothing);
  if (target.dtype === "uint8") target = toDType(target, "int32");
  const classes = x.rank === 1 ? [] : [x.shape[0], ...x.shape.slice(2)];
  if (isFloat(target.dtype) && !sameShape(x.shape, target.shape) && target.shape.join() === classes.join())
    throw new DTypeError(
      "crossEntropy",
      "target",
      `class numbers as int32, int64 or uint8, or probabilities of x's shape ${showShape(x.shape)}`,
      target,
      'Class numbers are whole: target.to("int32").',
    );
  if (isFloat(target.dtype)) return withProbabilities(x, target, options);
  if (labelSmoothing === 0 && weight === null) return nll("crossEntropy", x, target, options, crossEntropyOp)[0];
  requireClasses("crossEntropy", x, target, weight);
  const logs = logSoftmax(x, x.rank === 1 ? 0 : 1);
  const [loss, total] = nll("crossEntropy", logs, target, options);
  if (labelSmoothing === 0) return loss;
  const spread = smoothed(logs, target, weight, options.ignoreIndex ?? -100, reduction);
  const even = reduction === "mean" ? div(spread, total) : spread;
  return add(mul(loss, 1 - labelSmoothing), mul(even, labelSmoothing / logs.shape[x.rank === 1 ? 0 : 1]!));
}

/** Weighted sum of -log over all classes at the positions that count; summed over positions, unless reduction is "none". */
function smoothed(logs: Tensor, target: Tensor, weight: Tensor | null, ignoreIndex: number, reduction: Reduction): Tensor {
  const axis = logs.rank === 1 ? 0 : 1;
  const all = neg(sum(weight === null ? logs : mul(logs, classWeights(weight, logs.rank)), axis));
  // Chosen, not multiplied: where no position counts, the gradient is NaN.
  const losses = where(ne(target, ignoreIndex), all, 0);
  return reduction === "none" ? losses : sum(losses);
}

/** [C] so that it broadcasts against [N, C, ...]. */
const classWeights = (weight: Tensor, rank: number): Tensor =>
  rank <= 2 ? weight : reshape(weight, [weight.size, ...new Array<number>(rank - 2).fill(1)]);

function withProbabilities(x: Tensor, target: Tensor, options: CrossEntropyOptions): Tensor {
  const { labelSmoothing = 0, reduction = "mean", weight = null } = options;
  requireReduction("crossEntropy", reduction);
  requireSameDevice("crossEntropy", weight === null ? [x, target] : [x, target, weight]);
  requireFloat("crossEntropy", x);
  if (!sameShape(x.shape, target.shape) || x.rank === 0)
    throw new ShapeError("crossEntropy", "target", `probabilities of x's shape ${showShape(x.shape)}`, target.describe());
  requireWeight("crossEntropy", x, weight);
  const axis = x.rank === 1 ? 0 : 1;
  const classes = x.shape[axis]!;
  const targets = labelSmoothing === 0 ? target : add(mul(target, 1 - labelSmoothing), labelSmoothing / classes);
  const logs = logSoftmax(x, axis);
  const losses = neg(sum(mul(weight === null ? logs : mul(logs, classWeights(weight, x.rank)), targets), axis));
  return reduceLoss("crossEntropy", losses, { reduction });
}
