/** InstanceNorm and RMSNorm: normalization of single samples. */
import { rmsNorm as rmsNormOp } from "../ops/exports/autocast.generated.ts";
import { ShapeError } from "../core/errors.ts";
import { ones, zeros } from "../ops/creation/creation.ts";
import { instanceNorm } from "../ops/norm/instance-norm.ts";
import { select, unsqueeze } from "../ops/shape/movement.ts";
import { byPosition, oneByPosition } from "../ops/declare/positional.ts";
import { outsideScopes } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { constant } from "./init.ts";
import { Module } from "./module.ts";
import type { AffineOptions } from "./norm.ts";
import { requireCount, parameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";

/** Options of instanceNorm1d() to instanceNorm3d(). Reference: torch.nn.InstanceNorm2d. */
export interface InstanceNormLayerOptions extends AffineOptions {
  /** Whether there is a bias in addition to the weight. Default: true. */
  readonly bias?: boolean | undefined;
  /** Share of each batch in the running statistics. Default: 0.1. */
  readonly momentum?: number | undefined;
  /** Whether running statistics are kept, and used in eval mode. Default: false. */
  readonly trackRunningStats?: boolean | undefined;
}

abstract class InstanceNorm extends Module {
  /** Number of channels, C. */
  readonly channels: number;
  /** The options passed to the constructor. */
  readonly options: InstanceNormLayerOptions;
  /** The factors, one for each channel; null without affine. */
  weight: Parameter | null = null;
  /** The summands, one for each channel; null without. */
  bias: Parameter | null = null;
  /** [C]: the running mean of each channel; null where none is tracked. */
  readonly runningMean: Tensor | null = null;
  /** [C]: the running variance of each channel; null where none is tracked. */
  readonly runningVariance: Tensor | null = null;
  protected abstract readonly spatial: number;

  constructor(
    numFeatures: number,
    eps?: number | InstanceNormLayerOptions,
    momentum?: number | InstanceNormLayerOptions,
    options?: InstanceNormLayerOptions,
  ) {
    super();
    const settings = byPosition<InstanceNormLayerOptions>(new.target.name, ["eps", "momentum"], [eps, momentum, options]);
    requireCount(new.target.name, "numFeatures", numFeatures);
    this.channels = numFeatures;
    this.options = settings;
    if (settings.affine === true) {
      this.weight = parameter([numFeatures], settings, (p) => void constant(p, 1));
      if (settings.bias !== false) this.bias = parameter([numFeatures], settings, (p) => void constant(p, 0));
    }
    if (settings.trackRunningStats !== true) return;
    const at = { device: settings.device, dtype: settings.dtype };
    const [average, variance, count] = outsideScopes(
      () => [zeros([numFeatures], at), ones([numFeatures], at), zeros([], { ...at, dtype: "int64" })] as const,
    );
    this.runningMean = this.registerBuffer("running_mean", average);
    this.runningVariance = this.registerBuffer("running_var", variance);
    this.registerBuffer("num_batches_tracked", count);
  }

  /** x [N, C, ...] or [C, ...] normalized over the axes behind C, for each sample alone. Result: same shape. */
  forward(x: Tensor): Tensor {
    const single = x.rank === this.spatial + 1;
    if (!single && x.rank !== this.spatial + 2)
      throw new ShapeError(this.constructor.name, "x", `of ${this.spatial + 2} axes, or ${this.spatial + 1} without a batch`, x.describe());
    const y = instanceNorm(single ? unsqueeze(x, 0) : x, this.weight, this.bias, {
      eps: this.options.eps,
      momentum: this.options.momentum,
      runningMean: this.runningMean,
      runningVar: this.runningVariance,
      useInputStats: this.training || this.runningMean === null,
    });
    return single ? select(y, 0, 0) : y;
  }

  protected override describeOptions(): string {
    return `${this.channels}`;
  }
}

/** instanceNorm over [N, C, W]. Reference: torch.nn.InstanceNorm1d. */
export class InstanceNorm1d extends InstanceNorm {
  protected readonly spatial = 1;
}
/** instanceNorm over [N, C, H, W]. Reference: torch.nn.InstanceNorm2d. */
export class InstanceNorm2d extends InstanceNorm {
  protected readonly spatial = 2;
}
/** instanceNorm over [N, C, D, H, W]. Reference: torch.nn.InstanceNorm3d. */
export class InstanceNorm3d extends InstanceNorm {
  protected readonly spatial = 3;
}

/** Options of rmsNorm(). Reference: torch.nn.RMSNorm. */
export interface RMSNormLayerOptions extends LayerOptions {
  /** Added to the mean of squares. Default: the dtype's smallest difference from 1. */
  readonly eps?: number | null | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | null | undefined;
  /** Whether there are weights. Default: true. */
  readonly elementwiseAffine?: boolean | undefined;
  /** @deprecated Use elementwiseAffine. */
  readonly affine?: boolean | undefined;
}

/** rmsNorm over the last axes. Reference: torch.nn.RMSNorm. */
export class RMSNorm extends Module {
  /** The last axes, which are normalized together. */
  readonly normalizedShape: readonly number[];
  /** Added to the mean of squares; null for the dtype's own smallest difference from 1. */
  readonly epsilon: number | null;
  /** The factors, of the normalized shape; null without affine. */
  weight: Parameter | null;

  constructor(normalizedShape: number | readonly number[], eps?: number | null | RMSNormLayerOptions, options?: RMSNormLayerOptions) {
    super();
    const settings = oneByPosition<RMSNormLayerOptions>("RMSNorm", "eps", eps, options);
    this.normalizedShape = typeof normalizedShape === "number" ? [normalizedShape] : [...normalizedShape];
    for (const d of this.normalizedShape) requireCount("RMSNorm", "normalizedShape", d);
    this.epsilon = settings.eps ?? null;
    this.weight = settings.elementwiseAffine === false ? null : parameter(this.normalizedShape, settings, (p) => void constant(p, 1));
  }

  forward(x: Tensor): Tensor {
    return rmsNormOp(x, this.normalizedShape, this.weight, { eps: this.epsilon });
  }

  protected override describeOptions(): string {
    return `[${this.normalizedShape.join(", ")}]`;
  }
}

export const instanceNorm1d = (
  numFeatures: number,
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): InstanceNorm1d => new InstanceNorm1d(numFeatures, eps, momentum, options);
export const instanceNorm2d = (
  numFeatures: number,
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): InstanceNorm2d => new InstanceNorm2d(numFeatures, eps, momentum, options);
export const instanceNorm3d = (
  numFeatures: number,
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): InstanceNorm3d => new InstanceNorm3d(numFeatures, eps, momentum, options);
export const rmsNorm = (
  normalizedShape: number | readonly number[],
  eps?: number | null | RMSNormLayerOptions,
  options?: RMSNormLayerOptions,
): RMSNorm => new RMSNorm(normalizedShape, eps, options);
