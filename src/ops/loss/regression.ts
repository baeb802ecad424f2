/** Regression and binary classification losses. @functional */
import { noGrad } from "../../autograd/grad-mode.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isFloat } from "../../core/dtype.ts";
import { checksValues } from "../../runtime/index-check.ts";
import { scope } from "../../core/scope.ts";
import { sameShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Expr } from "../../graph/graph.ts";
import { logSigmoid } from "../elementwise/activation.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { ge, le, logicalAnd, ne } from "../elementwise/compare.ts";
import { itemSync } from "../data/conversion.ts";
import { formula } from "../elementwise/formula.ts";
import { all, mean, sum } from "../reduce/reduce.ts";
import { requireFloat } from "../declare/support.ts";
import { abs, emitLog1p, exp, log, log1p, neg, square } from "../elementwise/unary.ts";
import { clamp, clampMin, where } from "../elementwise/where.ts";

/** What becomes of the losses of all elements: their mean, their sum, or all of them. */
export type Reduction = "mean" | "sum" | "none";

/** What losses have in common. */
export interface LossOptions {
  /** Default: "mean". */
  readonly reduction?: Reduction | undefined;
}

/** @package */
export function requireReduction(operation: string, reduction: unknown): void {
  if (reduction !== "mean" && reduction !== "sum" && reduction !== "none")
    throw new ValueError(operation, "reduction", '"mean", "sum" or "none"', reduction);
}

/** @package */
export function reduceLoss(operation: string, loss: Tensor, { reduction = "mean" }: LossOptions): Tensor {
  requireReduction(operation, reduction);
  return reduction === "mean" ? mean(loss) : reduction === "sum" ? sum(loss) : loss;
}

function checkOperands(operation: string, x: Tensor, target: Tensor): void {
  requireSameDevice(operation, [x, target]);
  requireFloat(operation, x);
  if (!isFloat(target.dtype)) throw new DTypeError(operation, "target", "of a floating dtype", target.describe());
  shaped(operation, x, target);
}

/** Of losses of differences: one of both is floating, and so is the difference. */
function comparable(operation: string, x: Tensor, target: Tensor): void {
  requireSameDevice(operation, [x, target]);
  if (!isFloat(target.dtype)) requireFloat(operation, x);
  shaped(operation, x, target);
}

function difference(operation: string, x: Tensor, target: Tensor): Tensor {
  comparable(operation, x, target);
  return sub(x, target);
}

function shaped(operation: string, x: Tensor, target: Tensor): void {
  if (!sameShape(x.shape, target.shape)) warnOfShapes(operation, x, target);
}

const warned = new Set<string>();

/** As PyTorch: two shapes that broadcast are mostly a mistake, such as [N, 1] against [N]. Once for each pair of shapes. */
function warnOfShapes(operation: string, x: Tensor, target: Tensor): void {
  const text = `${operation}: target ${target.describe()} is of another shape than x ${x.describe()}. They are broadcast, which is probably not what was meant: reshape one of them.`;
  if (warned.has(text) || warned.size >= 100) return;
  warned.add(text);
  process.emitWarning(text, { type: "BroadcastWarning", code: "DXTENSOR_BROADCAST" });
}

const squaredOp = formula("squaredDifference", {
  emit: (f, [x, t]) => f.square(f.sub(x!, t!)),
  // Each gradient reads both: one that was changed in place since is refused, as in PyTorch.
  grad: [(dy, [x, t]): Tensor => mul(dy, mul(sub(x!, t!), 2)), (dy, [x, t]): Tensor => mul(dy, mul(sub(x!, t!), -2))],
});

/** Mean of (x - target)^2. x and target broadcast. Reference: torch.nn.functional.mse_loss. @autocast float32 */
export function mseLoss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  comparable("mseLoss", x, target);
  // sub() throws for bool. In bfloat16 the difference is rounded before it is squared, as in PyTorch.
  const isApart = [x.dtype, target.dtype].some((dtype) => dtype === "bool" || dtype === "bfloat16");
  const squares = isApart ? square(sub(x, target)) : call(squaredOp, [x, target], undefined);
  return reduceLoss("mseLoss", squares, options);
}

/** Mean of |x - target|. Reference: torch.nn.functional.l1_loss. @autocast float32 */
export function l1Loss(x: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  return reduceLoss("l1Loss", abs(difference("l1Loss", x, target)), options);
}

interface KneeAttributes {
  /** The error at which the loss changes from quadratic to linear. */
  readonly knee: number;
  readonly scale: number;
}
/** scale d^2 / 2 where d = |x - target| < knee, else scale knee (d - knee / 2): the derivative is a limit, which no infinity spoils. */
const kneeOp = formula<KneeAttributes>("kneeLoss", {
  emit: (f, [x, t], { knee, scale }) => {
    const d = f.abs(f.sub(x!, t!));
    return f.where(f.lt(d, knee), f.mul(f.square(d), scale / 2), f.affine(d, scale * knee, (-scale * knee * knee) / 2));
  },
  grad: [
    (dy, [x, t], _, attrs): Tensor => mul(dy, kneeSlope(x!, t!, attrs)),
    (dy, [x, t], _, attrs): Tensor => neg(mul(dy, kneeSlope(x!, t!, attrs))),
  ],
});
const kneeSlope = (x: Tensor, t: Tensor, { knee, scale }: KneeAttributes): Tensor => mul(clamp(sub(x, t), -knee, knee), scale);

/** Mean of d^2 / (2 beta) where d = |x - target| < beta, else of d - beta / 2. beta: default 1; 0 gives l1Loss. Reference: torch.nn.functional.smooth_l1_loss. @autocast float32 */
export function smoothL1Loss(
  x: Tensor,
  target: Tensor,
  options: LossOptions & {
    /** The error from which the loss is linear instead of quadratic. Default: 1. */
    readonly beta?: number | undefined;
  } = {},
): Tensor {
  const { beta = 1 } = options;
  if (!(beta >= 0)) throw new ValueError("smoothL1Loss", "beta", "at least 0", beta);
  if (beta === 0) return l1Loss(x, target, options);
  comparable("smoothL1Loss", x, target);
  return reduceLoss("smoothL1Loss", call(kneeOp, [x, target], { knee: beta, scale: 1 / beta }), options);
}

/** Mean of d^2 / 2 where d = |x - target| < delta, else of delta (d - delta / 2). delta: default 1. Reference: torch.nn.functional.huber_loss. @autocast float32 */
export function huberLoss(
  x: Tensor,
  target: Tensor,
  options: LossOptions & {
    /** The error from which the loss is linear instead of quadratic. Default: 1. */
    readonly delta?: number | undefined;
  } = {},
): Tensor {
  const { delta = 1 } = options;
  if (!(delta > 0)) throw new ValueError("huberLoss", "delta", "above 0", delta);
  comparable("huberLoss", x, target);
  return reduceLoss("huberLoss", call(kneeOp, [x, target], { knee: delta, scale: 1 }), options);
}

/** Options of binaryCrossEntropy(). Reference: torch.nn.functional.binary_cross_entropy. */
export interface BinaryOptions extends LossOptions {
  /** Factor of each element's loss; broadcasts. */
  readonly weight?: Tensor | null | undefined;
}

const weighted = (loss: Tensor, weight: Tensor | null | undefined): Tensor => (weight ? mul(loss, weight) : loss);

const binaryCrossEntropyOp = formula("binaryCrossEntropy", {
  emit: (f, [x, t]) => {
    const limited = (log: Expr): Expr => f.where(f.lt(log, -100), -100, log);
    const [yes, no] = [limited(f.log(x!)), limited(emitLog1p(f.g, f.neg(x!)))];
    return f.neg(f.add(f.mul(t!, yes), f.mul(f.sub(1, t!), no)));
  },
  grad: [
    // PyTorch's: finite at 0 and 1, where the logarithms' own derivatives are not.
    (dy, [x, t]): Tensor => div(mul(dy, sub(x!, t!)), clampMin(mul(x!, sub(1, x!)), x!.dtype === "float16" ? 6e-8 : 1e-12)),
    (dy, [x]): Tensor => mul(dy, sub(log1p(neg(x!)), log(x!))),
  ],
});

/**
 * Mean of -(t log x + (1 - t) log(1 - x)) for probabilities x in [0, 1]; logarithms are at least -100.
 * x and target: one shape. Numbers outside [0, 1] are a ValueError on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1.
 * Reference: torch.nn.functional.binary_cross_entropy. @autocast refused
 */
export function binaryCrossEntropy(x: Tensor, target: Tensor, options: BinaryOptions = {}): Tensor {
  checkOperands("binaryCrossEntropy", x, target);
  if (!sameShape(x.shape, target.shape))
    throw new ShapeError("binaryCrossEntropy", "target", `of x's shape ${x.describe()}`, target.describe());
  requireProbabilities(x);
  return reduceLoss("binaryCrossEntropy", weighted(call(binaryCrossEntropyOp, [x, target], undefined), options.weight), options);
}

function requireProbabilities(x: Tensor): void {
  if (!checksValues(x)) return;
  const fits = scope(() => itemSync(noGrad(() => all(logicalAnd(ge(x, 0), le(x, 1))))));
  if (fits === 0)
    throw new ValueError(
      "binaryCrossEntropy",
      "x",
      "probabilities, in [0, 1]",
      x.describe(),
      "Use binaryCrossEntropyWithLogits for others.",
    );
}

/** Options of binaryCrossEntropyWithLogits(). Reference: torch.nn.functional.binary_cross_entropy_with_logits. */
export interface LogitsOptions extends BinaryOptions {
  /** Factor of the positive part, one for each class; broadcasts. */
  readonly posWeight?: Tensor | null | undefined;
}

/**
 * binaryCrossEntropy of sigmoid(x), computed stably: (1 - t) x - logSigmoid(x).
 * x and target: one shape. Reference: torch.nn.functional.binary_cross_entropy_with_logits. @autocast float32
 */
export function binaryCrossEntropyWithLogits(x: Tensor, target: Tensor, options: LogitsOptions = {}): Tensor {
  checkOperands("binaryCrossEntropyWithLogits", x, target);
  if (!sameShape(x.shape, target.shape))
    throw new ShapeError("binaryCrossEntropyWithLogits", "target", `of x's shape ${x.describe()}`, target.describe());
  const softplus = neg(logSigmoid(x));
  const positive = options.posWeight ? mul(softplus, add(mul(sub(options.posWeight, 1), target), 1)) : softplus;
  return reduceLoss("binaryCrossEntropyWithLogits", weighted(add(mul(sub(1, target), x), positive), options.weight), options);
}

/**
 * Mean of t (log t - x) for logarithms x of probabilities; with logTarget the targets are logarithms too. "batchmean" divides the
 * sum by the first axis. Reference: torch.nn.functional.kl_div. @autocast float32
 */
export function klDiv(
  x: Tensor,
  target: Tensor,
  options: {
    /** "mean" over all elements, "batchmean" over the first axis, "sum", or "none". Default: "mean". */
    readonly reduction?: Reduction | "batchmean" | undefined; /** Whether the target is in log space too. Default: false. */
    readonly logTarget?: boolean | undefined;
  } = {},
): Tensor {
  checkOperands("klDiv", x, target);
  const { reduction = "mean", logTarget = false } = options;
  const safe = logTarget ? target : where(ne(target, 0), target, 1);
  const loss = logTarget ? mul(exp(target), sub(target, x)) : sub(mul(target, log(safe)), mul(target, x));
  return reduction === "batchmean" ? div(sum(loss), x.shape[0] ?? 1) : reduceLoss("klDiv", loss, { reduction });
}
