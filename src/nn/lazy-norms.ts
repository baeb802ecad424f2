/** Lazy norms: LazyBatchNorm1d to LazyBatchNorm3d, LazyInstanceNorm1d to LazyInstanceNorm3d. Their first input says how many channels it has. */
import { ShapeError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { byPosition } from "../ops/declare/positional.ts";
import { constant } from "./init.ts";
import { InstanceNorm1d, InstanceNorm2d, InstanceNorm3d, type InstanceNormLayerOptions } from "./instance-norm.ts";
import { initialize, makeLazy } from "./lazy.ts";
import { BatchNorm1d, BatchNorm2d, BatchNorm3d, type BatchNormLayerOptions } from "./norm.ts";

type AnyNorm = BatchNorm1d | BatchNorm2d | BatchNorm3d | InstanceNorm1d | InstanceNorm2d | InstanceNorm3d;
type Class = { readonly prototype: object };

function makeLazyNorm(layer: AnyNorm, classes: readonly [Class, Class], settings: BatchNormLayerOptions | InstanceNormLayerOptions): void {
  const own = layer as { channels: number; options?: object };
  own.channels = 0;
  if (own.options !== undefined) own.options = settings;
  makeLazy(layer, settings.device, {
    classes,
    shapes: (length) => ({ weight: [length], bias: [length], running_mean: [length], running_var: [length] }),
    lengthIn: (_, shape) => shape[0] ?? null,
    settle: (length) => void (own.channels = length),
    start: (name, t) => void constant(t, name === "weight" || name === "running_var" ? 1 : 0),
  });
}

/** Channels of x [N, C, ...]; with spatial axes alone counted, also of [C, ...]. */
function channelsOf(layer: AnyNorm, x: Tensor, spatial: number | null): number {
  const axis = spatial !== null && x.rank === spatial + 1 ? 0 : 1;
  if (x.rank <= axis) throw new ShapeError(layer.constructor.name, "x", "[N, C, ...]", x.describe());
  return x.shape[axis]!;
}

/** batchNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm1d. */
export class LazyBatchNorm1d extends BatchNorm1d {
  constructor(eps?: number | BatchNormLayerOptions, momentum?: number | null | BatchNormLayerOptions, options?: BatchNormLayerOptions) {
    const settings = byPosition<BatchNormLayerOptions>("LazyBatchNorm1d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyBatchNorm1d, BatchNorm1d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, null));
    return super.forward(x);
  }
}

/** batchNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm2d. */
export class LazyBatchNorm2d extends BatchNorm2d {
  constructor(eps?: number | BatchNormLayerOptions, momentum?: number | null | BatchNormLayerOptions, options?: BatchNormLayerOptions) {
    const settings = byPosition<BatchNormLayerOptions>("LazyBatchNorm2d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyBatchNorm2d, BatchNorm2d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, null));
    return super.forward(x);
  }
}

/** batchNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyBatchNorm3d. */
export class LazyBatchNorm3d extends BatchNorm3d {
  constructor(eps?: number | BatchNormLayerOptions, momentum?: number | null | BatchNormLayerOptions, options?: BatchNormLayerOptions) {
    const settings = byPosition<BatchNormLayerOptions>("LazyBatchNorm3d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyBatchNorm3d, BatchNorm3d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, null));
    return super.forward(x);
  }
}

/** instanceNorm1d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm1d. */
export class LazyInstanceNorm1d extends InstanceNorm1d {
  constructor(eps?: number | InstanceNormLayerOptions, momentum?: number | InstanceNormLayerOptions, options?: InstanceNormLayerOptions) {
    const settings = byPosition<InstanceNormLayerOptions>("LazyInstanceNorm1d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyInstanceNorm1d, InstanceNorm1d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, this.spatial));
    return super.forward(x);
  }
}

/** instanceNorm2d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm2d. */
export class LazyInstanceNorm2d extends InstanceNorm2d {
  constructor(eps?: number | InstanceNormLayerOptions, momentum?: number | InstanceNormLayerOptions, options?: InstanceNormLayerOptions) {
    const settings = byPosition<InstanceNormLayerOptions>("LazyInstanceNorm2d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyInstanceNorm2d, InstanceNorm2d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, this.spatial));
    return super.forward(x);
  }
}

/** instanceNorm3d() that takes numFeatures from its first input. Reference: torch.nn.LazyInstanceNorm3d. */
export class LazyInstanceNorm3d extends InstanceNorm3d {
  constructor(eps?: number | InstanceNormLayerOptions, momentum?: number | InstanceNormLayerOptions, options?: InstanceNormLayerOptions) {
    const settings = byPosition<InstanceNormLayerOptions>("LazyInstanceNorm3d", ["eps", "momentum"], [eps, momentum, options]);
    super(1, { ...settings, device: "meta" });
    makeLazyNorm(this, [LazyInstanceNorm3d, InstanceNorm3d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x, this.spatial));
    return super.forward(x);
  }
}

export const lazyBatchNorm1d = (
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): LazyBatchNorm1d => new LazyBatchNorm1d(eps, momentum, options);
export const lazyBatchNorm2d = (
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): LazyBatchNorm2d => new LazyBatchNorm2d(eps, momentum, options);
export const lazyBatchNorm3d = (
  eps?: number | BatchNormLayerOptions,
  momentum?: number | null | BatchNormLayerOptions,
  options?: BatchNormLayerOptions,
): LazyBatchNorm3d => new LazyBatchNorm3d(eps, momentum, options);
export const lazyInstanceNorm1d = (
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): LazyInstanceNorm1d => new LazyInstanceNorm1d(eps, momentum, options);
export const lazyInstanceNorm2d = (
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): LazyInstanceNorm2d => new LazyInstanceNorm2d(eps, momentum, options);
export const lazyInstanceNorm3d = (
  eps?: number | InstanceNormLayerOptions,
  momentum?: number | InstanceNormLayerOptions,
  options?: InstanceNormLayerOptions,
): LazyInstanceNorm3d => new LazyInstanceNorm3d(eps, momentum, options);
