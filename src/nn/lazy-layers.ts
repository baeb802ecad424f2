/** Lazy layers: LazyLinear, LazyConv1d to LazyConv3d, LazyConvTranspose1d to LazyConvTranspose3d. Their first input says how many channels it has. */
import { ShapeError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import type { PerAxis } from "../ops/conv/spatial.ts";
import { oneByPosition, windowOptions } from "../ops/declare/positional.ts";
import { initialize, makeLazy } from "./lazy.ts";
import { uniform } from "./init.ts";
import {
  Conv1d,
  Conv2d,
  Conv3d,
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvLayerOptions,
  type ConvTransposeLayerOptions,
} from "./conv.ts";
import { Linear, type LinearOptions } from "./linear.ts";
import { requireGroups, type LayerOptions } from "./options.ts";

const startUniform = (fan: (shape: readonly number[]) => number, options: LayerOptions) => {
  let bound = 0;
  return (name: string, t: Tensor, shape: readonly number[]): void => {
    // The weight comes first, and the bias has its bound.
    if (name === "weight") bound = fan(shape) > 0 ? 1 / Math.sqrt(fan(shape)) : 0;
    uniform(t, -bound, bound, options);
  };
};

/** linear() that takes inFeatures from its first input. Reference: torch.nn.LazyLinear. */
export class LazyLinear extends Linear {
  constructor(outFeatures: number, bias?: boolean | LinearOptions, options?: LinearOptions) {
    const settings = oneByPosition<LinearOptions>("LazyLinear", "bias", bias, options);
    super(0, outFeatures, { ...settings, device: "meta" });
    makeLazy(this, settings.device, {
      classes: [LazyLinear, Linear],
      shapes: (length) => ({ weight: [outFeatures, length], bias: [outFeatures] }),
      lengthIn: (name, shape) => (name === "weight" ? (shape[1] ?? null) : null),
      settle: (length) => void ((this as { inputs: number }).inputs = length),
      start: startUniform((shape) => shape[1]!, settings),
    });
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => {
      if (x.rank === 0) throw new ShapeError("LazyLinear", "x", "of at least one axis", x.describe());
      return x.shape.at(-1)!;
    });
    return super.forward(x);
  }
}

type AnyConv = Conv1d | Conv2d | Conv3d | ConvTranspose1d | ConvTranspose2d | ConvTranspose3d;
type Class = { readonly prototype: object; readonly name: string };

function makeLazyConv(layer: AnyConv, classes: readonly [Class, Class], settings: ConvLayerOptions | ConvTransposeLayerOptions): void {
  const { outputs, kernelSize } = layer;
  const { groups = 1 } = settings;
  const isTransposed = classes[1].name.startsWith("ConvTranspose");
  const own = layer as { inputs: number; options: object };
  own.inputs = 0;
  own.options = settings;
  makeLazy(layer, settings.device, {
    classes,
    shapes: (length) => ({
      weight: isTransposed ? [length, outputs / groups, ...kernelSize] : [outputs, length / groups, ...kernelSize],
      bias: [outputs],
    }),
    lengthIn: (name, shape) => (name !== "weight" || shape.length < 2 ? null : isTransposed ? shape[0]! : shape[1]! * groups),
    settle: (length) => {
      requireGroups(classes[0].name, length, outputs, groups);
      own.inputs = length;
    },
    start: startUniform((shape) => shape[1]! * sizeOf(kernelSize), settings),
  });
}

/** Channels of x [N, C, ...] or [C, ...]. */
function channelsOf(layer: AnyConv, x: Tensor): number {
  const spatial = layer.kernelSize.length;
  if (x.rank !== spatial + 1 && x.rank !== spatial + 2)
    throw new ShapeError(layer.constructor.name, "x", `of ${spatial + 2} axes, or ${spatial + 1} without a batch`, x.describe());
  return x.shape.at(-spatial - 1)!;
}

/** Channels that any layer of these groups may have. */
const some = ({ groups }: { readonly groups?: number | undefined }): number => groups ?? 1;

/** conv1d() that takes inChannels from its first input. Reference: torch.nn.LazyConv1d. */
export class LazyConv1d extends Conv1d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    const settings = windowOptions<ConvLayerOptions>("LazyConv1d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConv1d, Conv1d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

/** conv2d() that takes inChannels from its first input. Reference: torch.nn.LazyConv2d. */
export class LazyConv2d extends Conv2d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    const settings = windowOptions<ConvLayerOptions>("LazyConv2d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConv2d, Conv2d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

/** conv3d() that takes inChannels from its first input. Reference: torch.nn.LazyConv3d. */
export class LazyConv3d extends Conv3d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    const settings = windowOptions<ConvLayerOptions>("LazyConv3d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConv3d, Conv3d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

/** convTranspose1d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose1d. */
export class LazyConvTranspose1d extends ConvTranspose1d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    const settings = windowOptions<ConvTransposeLayerOptions>("LazyConvTranspose1d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConvTranspose1d, ConvTranspose1d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

/** convTranspose2d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose2d. */
export class LazyConvTranspose2d extends ConvTranspose2d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    const settings = windowOptions<ConvTransposeLayerOptions>("LazyConvTranspose2d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConvTranspose2d, ConvTranspose2d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

/** convTranspose3d() that takes inChannels from its first input. Reference: torch.nn.LazyConvTranspose3d. */
export class LazyConvTranspose3d extends ConvTranspose3d {
  constructor(
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    const settings = windowOptions<ConvTransposeLayerOptions>("LazyConvTranspose3d", stride, padding, options);
    super(some(settings), outChannels, kernelSize, { ...settings, device: "meta" });
    makeLazyConv(this, [LazyConvTranspose3d, ConvTranspose3d], settings);
  }

  override forward(x: Tensor): Tensor {
    initialize(this, () => channelsOf(this, x));
    return super.forward(x);
  }
}

export const lazyLinear = (outFeatures: number, bias?: boolean | LinearOptions, options?: LinearOptions): LazyLinear =>
  new LazyLinear(outFeatures, bias, options);
export const lazyConv1d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): LazyConv1d => new LazyConv1d(outChannels, kernelSize, stride, padding, options);
export const lazyConv2d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): LazyConv2d => new LazyConv2d(outChannels, kernelSize, stride, padding, options);
export const lazyConv3d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): LazyConv3d => new LazyConv3d(outChannels, kernelSize, stride, padding, options);
export const lazyConvTranspose1d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): LazyConvTranspose1d => new LazyConvTranspose1d(outChannels, kernelSize, stride, padding, options);
export const lazyConvTranspose2d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): LazyConvTranspose2d => new LazyConvTranspose2d(outChannels, kernelSize, stride, padding, options);
export const lazyConvTranspose3d = (
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): LazyConvTranspose3d => new LazyConvTranspose3d(outChannels, kernelSize, stride, padding, options);
