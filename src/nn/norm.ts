/** BatchNorm, LayerNorm, GroupNorm. */
import { reciprocal } from "../ops/elementwise/unary.ts";
import { groupNorm as groupNormOp, layerNorm as layerNormOp } from "../ops/exports/autocast.generated.ts";
import { ShapeError } from "../core/errors.ts";
import { batchNorm } from "../ops/norm/batch-layer-norm.ts";
import { assign } from "../dispatch/dispatch.ts";
import { isGradModeEnabled, isInferenceModeEnabled, noGrad } from "../autograd/grad-mode.ts";
import { savingHooks } from "../autograd/saved-hooks.ts";
import { batching } from "../core/batching.ts";
import { tracer } from "../core/tracer.ts";
import { add } from "../ops/elementwise/binary.ts";
import { ones, zeros } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { constant } from "./init.ts";
import { Module } from "./module.ts";
import { requireCount, parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { byPosition, oneByPosition } from "../ops/declare/positional.ts";

/** Options of batchNorm1d() to batchNorm3d(). Reference: torch.nn.BatchNorm2d. */
export interface BatchNormLayerOptions extends LayerOptions {
  /** Added to the variance. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;

  /** Share of each batch in the running statistics; null: their plain average. Default: 0.1. */
  readonly momentum?: number | null | undefined;
  /** Whether there are weight and bias. Default: true. */
  readonly affine?: boolean | undefined;
  /** Whether there is a bias in addition to the weight. Default: true. */
  readonly bias?: boolean | undefined;
  /** Whether running statistics are kept, and used in eval mode. Default: true. */
  readonly trackRunningStats?: boolean | undefined;
}

abstract class BatchNorm extends Module {
  /** Number of channels, C. */
  readonly channels: number;
  /** Added to the variance, against a division by zero. */
  readonly epsilon: number;
  /** How much of each batch's statistics the running ones take over; null for the average of all batches. */
  readonly momentum: number | null;
  /** The factors, one for each channel; null without affine. */
  weight: Parameter | null;
  /** The summands, one for each channel; null without. */
  bias: Parameter | null;
  /** [C]: the running mean of each channel; null where none is tracked. */
  readonly runningMean: Tensor | null = null;
  /** [C]: the running variance of each channel; null where none is tracked. */
  readonly runningVariance: Tensor | null = null;
  /** int64: batches seen in training; null where none are tracked. */
  readonly batchesTracked: Tensor | null = null;

  constructor(
    numFeatures: number,
    eps?: number | BatchNormLayerOptions,
    momentum?: number | null | BatchNormLayerOptions,
    options?: BatchNormLayerOptions,
  ) {
    super();
    const settings = byPosition<BatchNormLayerOptions>(new.target.name, ["eps", "momentum"], [eps, momentum, options]);
    requireCount(new.target.name, "numFeatures", numFeatures);
    this.channels = numFeatures;
    this.epsilon = settings.eps ?? 1e-5;
    this.momentum = settings.momentum === undefined ? 0.1 : settings.momentum;
    const affine = settings.affine ?? true;
    this.weight = affine
      ? parameter([numFeatures], settings, (p) => {
          constant(p, 1);
        })
      : null;
    this.bias =
      affine && settings.bias !== false
        ? parameter([numFeatures], settings, (p) => {
            constant(p, 0);
          })
        : null;
    if (settings.trackRunningStats === false) return;
    const at = { device: settings.device, dtype: settings.dtype };
    // Names in the state are PyTorch's.
    const [average, variance, count] = outsideScopes(
      () => [zeros([numFeatures], at), ones([numFeatures], at), zeros([], { ...at, dtype: "int64" })] as const,
    );
    this.runningMean = this.registerBuffer("running_mean", average);
    this.runningVariance = this.registerBuffer("running_var", variance);
    this.batchesTracked = this.registerBuffer("num_batches_tracked", count);
  }

  protected abstract requireShape(x: Tensor): void;

  /** x [N, C, ...] normalized by the batch's statistics in training, by the running ones otherwise. Result: same shape. */
  forward(x: Tensor): Tensor {
    this.requireShape(x);
    const { training, momentum, epsilon, weight, bias, runningMean, runningVariance, batchesTracked } = this;
    const t = tracer();
    // Statistics that the traced function takes as arguments may share memory with other arguments: then each write is traced alone.
    if (t === null || batching() !== null || savingHooks() !== null || [runningMean, runningVariance, batchesTracked].some(isTraced))
      return normalized(this, x, weight, bias);
    const tensors = [x, weight, bias, runningMean, runningVariance, batchesTracked];
    const guards = [training, momentum, epsilon, isGradModeEnabled(), isInferenceModeEnabled()];
    // The tensors say which layer it is: copies of it for one call (functionalCall) are the same one.
    return t.part(normalized, tensors, guards, () => [normalized(this, x, weight, bias)] as const)[0];
  }

  protected override describeOptions(): string {
    return `${this.channels}, eps=${this.epsilon}, momentum=${this.momentum}`;
  }
}

function normalized(layer: BatchNorm, x: Tensor, weight: Tensor | null, bias: Tensor | null): Tensor {
  const { training, runningMean, runningVariance, batchesTracked: count } = layer;
  const track = training && count !== null;
  if (track) noGrad(() => assign("batchNorm", count, () => add(count, 1)));
  const momentum = layer.momentum ?? (track ? reciprocal(toDType(count, "float32")) : 0);
  return batchNorm(x, runningMean, runningVariance, weight, bias, {
    training: training || runningMean === null,
    momentum,
    eps: layer.epsilon,
  });
}

const isTraced = (t: Tensor | null): boolean => t !== null && t.storage.trace !== null;

const requireRank = (layer: string, x: Tensor, ranks: readonly number[], expected: string): void => {
  if (!ranks.includes(x.rank)) throw new ShapeError(layer, "x", expected, x.describe());
};

/** batchNorm over [N, C] or [N, C, W]. Reference: torch.nn.BatchNorm1d. */
export class BatchNorm1d extends BatchNorm {
  protected requireShape(x: Tensor): void {
    requireRank("BatchNorm1d", x, [2, 3], "[N, C] or [N, C, W]");
  }
}

/** batchNorm over [N, C, H, W]. Reference: torch.nn.BatchNorm2d. */
export class BatchNorm2d extends BatchNorm {
  protected requireShape(x: Tensor): void {
    requireRank("BatchNorm2d", x, [4], "[N, C, H, W]");
  }
}

/** batchNorm over [N, C, D, H, W]. Reference: torch.nn.BatchNorm3d. */
export class BatchNorm3d extends BatchNorm {
  protected requireShape(x: Tensor): void {
    requireRank("BatchNorm3d", x, [5], "[N, C, D, H, W]");
  }
}

/** Options of norm layers of channels with weights. Reference: torch.nn.GroupNorm. */
export interface AffineOptions extends LayerOptions {
  /** Added to the variance, against a division by zero. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;

  /** Whether there are weight and bias. Default: true (InstanceNorm: false). */
  readonly affine?: boolean | undefined;
}

/** Options of layerNorm(). Reference: torch.nn.LayerNorm. */
export interface LayerNormOptions extends LayerOptions {
  /** Added to the variance, against a division by zero. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
  /** Whether there are weight and bias. Default: true. */
  readonly elementwiseAffine?: boolean | undefined;
  /** @deprecated Use elementwiseAffine. */
  readonly affine?: boolean | undefined;
  /** Whether there is a bias in addition to the weight. Default: true. */
  readonly bias?: boolean | undefined;
}

/** layerNorm over the last axes. Reference: torch.nn.LayerNorm. */
export class LayerNorm extends Module {
  /** The last axes, which are normalized together. */
  readonly normalizedShape: readonly number[];
  /** Added to the variance, against a division by zero. */
  readonly epsilon: number;
  /** The factors, of the normalized shape; null without affine. */
  weight: Parameter | null;
  /** The summands, of the normalized shape; null without. */
  bias: Parameter | null;

  constructor(normalizedShape: number | readonly number[], eps?: number | LayerNormOptions, options?: LayerNormOptions) {
    super();
    const settings = byPosition<LayerNormOptions>("LayerNorm", ["eps"], [eps, options]);
    this.normalizedShape = typeof normalizedShape === "number" ? [normalizedShape] : [...normalizedShape];
    for (const d of this.normalizedShape) requireCount("LayerNorm", "normalizedShape", d);
    this.epsilon = settings.eps ?? 1e-5;
    const affine = settings.elementwiseAffine ?? true;
    this.weight = affine
      ? parameter(this.normalizedShape, settings, (p) => {
          constant(p, 1);
        })
      : null;
    this.bias =
      affine && settings.bias !== false
        ? parameter(this.normalizedShape, settings, (p) => {
            constant(p, 0);
          })
        : null;
  }

  forward(x: Tensor): Tensor {
    return layerNormOp(x, this.normalizedShape, this.weight, this.bias, { eps: this.epsilon });
  }

  protected override describeOptions(): string {
    return `[${this.normalizedShape.join(", ")}], eps=${this.epsilon}`;
  }
}

/** Options of groupNorm(). Reference: torch.nn.GroupNorm. */
export interface GroupNormLayerOptions extends AffineOptions {
  /** Whether there is a bias in addition to the weight. Default: true. */
  readonly bias?: boolean | undefined;
}

/** groupNorm. Reference: torch.nn.GroupNorm. */
export class GroupNorm extends Module {
  /** Groups of channels that are normalized together. */
  readonly groups: number;
  /** Number of channels, C. */
  readonly channels: number;
  /** Added to the variance, against a division by zero. */
  readonly epsilon: number;
  /** The factors, one for each channel; null without affine. */
  weight: Parameter | null;
  /** The summands, one for each channel; null without. */
  bias: Parameter | null;

  constructor(numGroups: number, numChannels: number, eps?: number | GroupNormLayerOptions, options?: GroupNormLayerOptions) {
    super();
    const settings = oneByPosition<GroupNormLayerOptions>("GroupNorm", "eps", eps, options);
    requireCount("GroupNorm", "numGroups", numGroups);
    requireCount("GroupNorm", "numChannels", numChannels);
    this.groups = numGroups;
    this.channels = numChannels;
    this.epsilon = settings.eps ?? 1e-5;
    const affine = settings.affine ?? true;
    this.weight = affine
      ? parameter([numChannels], settings, (p) => {
          constant(p, 1);
        })
      : null;
    this.bias =
      affine && settings.bias !== false
        ? parameter([numChannels], settings, (p) => {
            constant(p, 0);
          })
        : null;
  }

  forward(x: Tensor): Tensor {
    return groupNormOp(x, this.groups, this.weight, this.bias, { eps: this.epsilon });
  }

  protected override describeOptions(): string {
    return `${this.groups}, ${this.channels}, eps=${this.epsilon}`;
  }
}

export const batchNorm1d = (
  numFeatures: number,
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): BatchNorm1d => new BatchNorm1d(numFeatures, eps, momentum, options);
export const batchNorm2d = (
  numFeatures: number,
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): BatchNorm2d => new BatchNorm2d(numFeatures, eps, momentum, options);
export const batchNorm3d = (
  numFeatures: number,
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): BatchNorm3d => new BatchNorm3d(numFeatures, eps, momentum, options);
export const layerNorm = (
  normalizedShape: number | readonly number[],
  eps?: number | LayerNormOptions,
  options?: LayerNormOptions,
): LayerNorm => new LayerNorm(normalizedShape, eps, options);
export const groupNorm = (
  numGroups: number,
  numChannels: number,
  eps?: number | GroupNormLayerOptions,
  options?: GroupNormLayerOptions,
): GroupNorm => new GroupNorm(numGroups, numChannels, eps, options);
