/** Margin, ranking and likelihood losses. @functional */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { AutogradError, DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { isBroadcastableTo, sameShape, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, le, logicalAnd, logicalNot, lt, ne } from "../elementwise/compare.ts";
import { asFloat, toDType } from "../data/conversion.ts";
import { pairwiseDistance } from "../reduce/distance.ts";
import { gather } from "../index/gather.ts";
import { reduceLoss, type LossOptions } from "./regression.ts";
import { logSigmoid, softplus } from "../elementwise/activation.ts";
import { reshape, unsqueeze } from "../shape/movement.ts";
import { pow } from "../elementwise/power.ts";
import { arange } from "../creation/ranges.ts";
import { argmax } from "../reduce/extrema.ts";
import { any, mean, sum } from "../reduce/reduce.ts";
import { requireFloat } from "../declare/support.ts";
import { exp, log, neg, square } from "../elementwise/unary.ts";
import { clampMin, minimum, where } from "../elementwise/where.ts";

function checkOperands(operation: string, x: Tensor, target: Tensor): void {
  requireSameDevice(operation, [x, target]);
  requireFloat(operation, x);
}

/** Options of losses with a margin. Reference: torch.nn.functional.margin_ranking_loss. */
export interface MarginOptions extends LossOptions {
  /** By how much what is apart must be so at least. */
  readonly margin?: number | undefined;
}

/** Mean of max(0, -y (a - b) + margin): a is to rank above b where y is 1, below where it is -1. Reference: torch.nn.functional.margin_ranking_loss. @autocast float32 */
export function marginRankingLoss(a: Tensor, b: Tensor, y: Tensor, options: MarginOptions = {}): Tensor {
  requireSameDevice("marginRankingLoss", [a, b, y]);
  if (a.rank !== b.rank || a.rank !== y.rank)
    throw new ShapeError("marginRankingLoss", "a, b and y", "of one number of axes", [a, b, y].map((t) => t.describe()).join(", "));
  return reduceLoss("marginRankingLoss", clampMin(add(asFloat(mul(neg(y), sub(a, b))), options.margin ?? 0), 0), options);
}

/** Mean of x where y is 1, of max(0, margin - x) where it is -1. margin: default 1. Reference: torch.nn.functional.hinge_embedding_loss. @autocast float32 */
export function hingeEmbeddingLoss(x: Tensor, y: Tensor, options: MarginOptions = {}): Tensor {
  checkOperands("hingeEmbeddingLoss", x, y);
  const apart = where(ne(y, 1), clampMin(sub(options.margin ?? 1, x), 0), 0);
  return reduceLoss("hingeEmbeddingLoss", add(apart, where(ne(y, -1), x, 0)), options);
}

/** Mean of 1 - cos(a, b) where y is 1, of max(0, cos(a, b) - margin) where it is -1. a, b: [N, E] or [E]. Reference: torch.nn.functional.cosine_embedding_loss. @autocast float32 */
export function cosineEmbeddingLoss(a: Tensor, b: Tensor, y: Tensor, options: MarginOptions = {}): Tensor {
  requireSameDevice("cosineEmbeddingLoss", [a, b, y]);
  if (y.rank > 1 || a.rank !== y.rank + 1 || b.rank !== y.rank + 1)
    throw new ShapeError(
      "cosineEmbeddingLoss",
      "a, b and y",
      "[N, E], [N, E] and [N], or without N",
      [a, b, y].map((t) => t.describe()).join(", "),
    );
  // PyTorch's own formula: each squared length grows by 1e-12.
  const total = (v: Tensor): Tensor => sum(v, -1);
  const lengths = mul(add(total(square(a)), 1e-12), add(total(square(b)), 1e-12));
  const cosine = div(total(mul(a, b)), pow(lengths, 0.5));
  const loss = add(where(eq(y, 1), sub(1, cosine), 0), where(eq(y, -1), clampMin(sub(cosine, options.margin ?? 0), 0), 0));
  return reduceLoss("cosineEmbeddingLoss", loss, options);
}

/** Mean of ln(1 + e^(-y x)). Throws AutogradError for a y that requires a gradient. Reference: torch.nn.functional.soft_margin_loss. @autocast float32 */
export function softMarginLoss(x: Tensor, y: Tensor, options: LossOptions = {}): Tensor {
  checkOperands("softMarginLoss", x, y);
  if (y.requiresGrad && isGradEnabled())
    throw new AutogradError({
      operation: "softMarginLoss",
      argument: "y",
      expected: "labels that require no gradient",
      received: y.describe(),
      hint: "Use detach().",
    });
  return reduceLoss("softMarginLoss", softplus(mul(neg(y), x), { threshold: Infinity }), options);
}

/** Options of multiMarginLoss(). Reference: torch.nn.functional.multi_margin_loss. */
export interface MultiMarginOptions extends LossOptions {
  /** Power of each class's excess: 1 or 2. Default: 1. */
  readonly p?: 1 | 2 | undefined;
  /** Default: 1. */
  readonly margin?: number | undefined;
  /** One factor for each class. */
  readonly weight?: Tensor | null | undefined;
}
/** Mean over samples of the mean over classes of max(0, margin - x[y] + x[i])^p. x: [N, C] or [C]. Reference: torch.nn.functional.multi_margin_loss. @autocast float32 */
export function multiMarginLoss(x: Tensor, y: Tensor, options: MultiMarginOptions = {}): Tensor {
  checkOperands("multiMarginLoss", x, y);
  const { p = 1, margin = 1, weight = null } = options;
  if (p !== 1 && p !== 2) throw new ValueError("multiMarginLoss", "p", "1 or 2", p);
  if (!isInteger(y.dtype)) throw new DTypeError("multiMarginLoss", "y", "of an integer dtype", y.describe());
  const single = x.rank < 2;
  if ((x.rank !== 2 && !single) || y.size !== (single ? 1 : x.shape[0]) || y.rank > 1)
    throw new ShapeError("multiMarginLoss", "x and y", "[N, C] and [N]", `${x.describe()}, ${y.describe()}`);
  const classes = x.shape.at(-1) ?? 1;
  const rows = reshape(x, [x.size / classes, classes]);
  const targetIndices = reshape(toDType(y, "int32"), [rows.shape[0]!, 1]);
  let excess = clampMin(add(sub(margin, gather(rows, 1, targetIndices)), rows), 0);
  if (p === 2) excess = square(excess);
  if (weight !== null) excess = mul(excess, unsqueeze(gather(weight, 0, reshape(targetIndices, [targetIndices.size])), 1));
  const others = ne(arange(classes, { dtype: "int32", device: x.device }), targetIndices);
  const loss = div(sum(where(others, excess, 0), 1), classes);
  return reduceLoss("multiMarginLoss", reshape(loss, y.shape), options);
}

/** Mean over samples of the sums over pairs of max(0, 1 - (x[target] - x[other])) / C; targets end at the first -1. Reference: torch.nn.functional.multilabel_margin_loss. @autocast float32 */
export function multilabelMarginLoss(x: Tensor, y: Tensor, options: LossOptions = {}): Tensor {
  checkOperands("multilabelMarginLoss", x, y);
  if (!isInteger(y.dtype)) throw new DTypeError("multilabelMarginLoss", "y", "of an integer dtype", y.describe());
  if (x.rank > 2 || !sameShape(x.shape, y.shape))
    throw new ShapeError("multilabelMarginLoss", "y", `of x's shape ${showShape(x.shape)}`, y.describe());
  const classes = x.shape.at(-1) ?? 1;
  const rows = reshape(x, [x.size / classes, classes]);
  const labels = reshape(toDType(y, "int32"), rows.shape);
  const at = arange(classes, { dtype: "int32", device: x.device });
  const ended = lt(labels, 0);
  const end = where(any(ended, 1, { keepDims: true }), toDType(argmax(toDType(ended, "int32"), 1, { keepDims: true }), "int32"), classes);
  const counts = lt(at, end);
  const chosen = gather(rows, 1, toDType(clampMin(labels, 0), "int32"));
  const isTarget = any(logicalAnd(eq(unsqueeze(labels, 2), at), unsqueeze(counts, 2)), 1);
  const margins = clampMin(sub(1, sub(unsqueeze(chosen, 2), unsqueeze(rows, 1))), 0);
  const pairs = logicalAnd(unsqueeze(counts, 2), unsqueeze(logicalNot(isTarget), 1));
  const loss = div(sum(where(pairs, margins, 0), [1, 2]), classes);
  return reduceLoss("multilabelMarginLoss", x.rank < 2 ? reshape(loss, []) : loss, options);
}

/** Mean over classes of the binary cross entropy of sigmoid(x), then over samples. x, y: [..., C]. Reference: torch.nn.functional.multilabel_soft_margin_loss. @autocast float32 */
export function multilabelSoftMarginLoss(
  x: Tensor,
  y: Tensor,
  options: LossOptions & {
    /** A weight for each class: [C]. Default: 1 for each. */
    readonly weight?: Tensor | null | undefined;
  } = {},
): Tensor {
  checkOperands("multilabelSoftMarginLoss", x, y);
  const all = neg(add(mul(y, logSigmoid(x)), mul(sub(1, y), logSigmoid(neg(x)))));
  return reduceLoss("multilabelSoftMarginLoss", mean(options.weight ? mul(all, options.weight) : all, -1), options);
}

/** Options of tripletMarginLoss(). Reference: torch.nn.functional.triplet_margin_loss. */
export interface TripletOptions extends LossOptions {
  /** Default: 1. */
  readonly margin?: number | undefined;
  /** Whether the negative's distance to the positive counts too, where it is smaller. Default: false. */
  readonly swap?: boolean | undefined;
  /** Default: the p-norm of the difference. */
  readonly distanceFunction?: ((a: Tensor, b: Tensor) => Tensor) | null | undefined;
  /** @deprecated Use distanceFunction. */
  readonly distance?: ((a: Tensor, b: Tensor) => Tensor) | null | undefined;

  /** Order of the norm. Default: 2. */
  readonly p?: number | undefined;
  /** Added to differences. Default: 1e-6. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}
/** Mean of max(0, d(anchor, positive) - d(anchor, negative) + margin). Reference: torch.nn.functional.triplet_margin_loss, …_with_distance_loss. @autocast float32 */
export function tripletMarginLoss(anchor: Tensor, positive: Tensor, negative: Tensor, options: TripletOptions = {}): Tensor {
  requireSameDevice("tripletMarginLoss", [anchor, positive, negative]);
  if (anchor.rank !== positive.rank || anchor.rank !== negative.rank)
    throw new ShapeError(
      "tripletMarginLoss",
      "anchor, positive and negative",
      "of one number of axes",
      [anchor, positive, negative].map((t) => t.describe()).join(", "),
    );
  if (options.margin !== undefined && !(options.margin > 0)) throw new ValueError("tripletMarginLoss", "margin", "above 0", options.margin);
  const d = options.distanceFunction ?? ((a, b): Tensor => pairwiseDistance(a, b, { p: options.p, eps: options.eps }));
  const near = d(anchor, positive);
  let far = d(anchor, negative);
  if (options.swap === true) far = minimum(far, d(positive, negative));
  return reduceLoss("tripletMarginLoss", clampMin(sub(add(near, options.margin ?? 1), far), 0), options);
}

/** Options of poissonNllLoss(). Reference: torch.nn.functional.poisson_nll_loss. */
export interface PoissonOptions extends LossOptions {
  /** Whether x is the logarithm of the rate. Default: true. */
  readonly logInput?: boolean | undefined;
  /** Whether Stirling's approximation of ln target! is added. Default: false. */
  readonly full?: boolean | undefined;
  /** Added to rates before their logarithm. Default: 1e-8. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}
/** Mean of rate - target ln rate. Reference: torch.nn.functional.poisson_nll_loss. @autocast float32 */
export function poissonNllLoss(x: Tensor, target: Tensor, options: PoissonOptions = {}): Tensor {
  requireSameDevice("poissonNllLoss", [x, target]);
  const { logInput = true, full = false, eps: epsilon = 1e-8 } = options;
  let loss = asFloat(logInput ? sub(exp(x), mul(target, x)) : sub(x, mul(target, log(add(asFloat(x), epsilon)))));
  if (full) {
    const safe = where(le(target, 1), 1, target);
    const stirling = add(sub(mul(safe, log(safe)), safe), mul(log(mul(safe, 2 * Math.PI)), 0.5));
    loss = add(loss, where(le(target, 1), 0, stirling));
  }
  return reduceLoss("poissonNllLoss", loss, options);
}

/** Options of gaussianNllLoss(). Reference: torch.nn.functional.gaussian_nll_loss. */
export interface GaussianOptions extends LossOptions {
  /** Whether the constant is added. Default: false. */
  readonly full?: boolean | undefined;
  /** Least variance. Default: 1e-6. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}
/** Mean of (ln variance + (x - target)² / variance) / 2. variance: x's shape, without its last axis, or with 1 there. Reference: torch.nn.functional.gaussian_nll_loss. */
export function gaussianNllLoss(x: Tensor, target: Tensor, variance: Tensor, options: GaussianOptions = {}): Tensor {
  checkOperands("gaussianNllLoss", x, target);
  const { full = false, eps: epsilon = 1e-6 } = options;
  let v = variance;
  if (!sameShape(v.shape, x.shape)) {
    if (sameShape(v.shape, x.shape.slice(0, -1))) v = unsqueeze(v, -1);
    else if (v.rank !== x.rank || !isBroadcastableTo(v.shape, x.shape))
      throw new ShapeError(
        "gaussianNllLoss",
        "variance",
        `one that broadcasts to x's shape ${showShape(x.shape)}, or without its last axis`,
        variance.describe(),
      );
  }
  // The bound passes every gradient, as PyTorch's does: it clamps without recording it.
  const low = lt(v, epsilon);
  const bounded = add(v, where(low, sub(epsilon, v).detach(), 0));
  const loss = mul(add(log(bounded), div(square(sub(x, target)), bounded)), 0.5);
  return reduceLoss("gaussianNllLoss", full ? add(loss, 0.5 * Math.log(2 * Math.PI)) : loss, options);
}
