/** Convolution layers: Conv1d to Conv3d, ConvTranspose1d to ConvTranspose3d. */
import {
  conv1d as conv1dOp,
  conv2d as conv2dOp,
  conv3d as conv3dOp,
  convTranspose1d as transpose1dOp,
  convTranspose2d as transpose2dOp,
  convTranspose3d as transpose3dOp,
} from "../ops/exports/autocast.generated.ts";
import type { ConvOptions, ConvTransposeOptions } from "../ops/conv/conv.ts";
import { ValueError } from "../core/errors.ts";
import { expandList, sizeOf } from "../core/shape.ts";
import { pad } from "../ops/shape/pad.ts";
import type { PerAxis } from "../ops/conv/spatial.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";
import { requireCount, requireGroups, uniformParameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { windowOptions } from "../ops/declare/positional.ts";

/** Options of convolution layers. Reference: torch.nn.Conv2d. */
export interface ConvLayerOptions extends LayerOptions, ConvOptions {
  /** Whether there is a bias. Default: true. */
  readonly bias?: boolean | undefined;
  /** What the padding holds: zeros, or what lies at the other end, mirrored, or at the edge. Default: "zeros". */
  readonly paddingMode?: "zeros" | "circular" | "reflect" | "replicate" | undefined;
}

/** Options of transposed convolution layers. Reference: torch.nn.ConvTranspose2d. */
export interface ConvTransposeLayerOptions extends LayerOptions, ConvTransposeOptions {
  /** Whether there is a bias. Default: true. */
  readonly bias?: boolean | undefined;
}

/** What all convolution layers have: a kernel and a bias that start uniform in ±1/sqrt(inputs of one output). */
abstract class Convolution<Options extends ConvLayerOptions | ConvTransposeLayerOptions> extends Module {
  /** Channels of the input, Ci. */
  readonly inputs: number;
  /** Channels of the result, Co. */
  readonly outputs: number;
  /** Length of the kernel along each spatial axis. */
  readonly kernelSize: readonly number[];
  /** The options passed to the constructor. */
  readonly options: Options;
  /** The kernels: [Co, Ci / groups, ...kernelSize], of a transposed convolution [Ci, Co / groups, ...kernelSize]. */
  weight: Parameter;
  /** [Co]; null without bias. */
  bias: Parameter | null;

  constructor(spatial: number, transposed: boolean, inChannels: number, outChannels: number, kernelSize: PerAxis, options: Options) {
    super();
    const layer = new.target.name;
    const { groups = 1 } = options;
    requireCount(layer, "inChannels", inChannels);
    requireCount(layer, "outChannels", outChannels);
    requireGroups(layer, inChannels, outChannels, groups);
    this.inputs = inChannels;
    this.outputs = outChannels;
    this.kernelSize = expandList(layer, "kernelSize", kernelSize, spatial, 1);
    this.options = options;
    const shape = transposed
      ? [inChannels, outChannels / groups, ...this.kernelSize]
      : [outChannels, inChannels / groups, ...this.kernelSize];
    const fan = shape[1]! * sizeOf(this.kernelSize);
    this.weight = uniformParameter(shape, fan, options);
    this.bias = options.bias === false ? null : uniformParameter([outChannels], fan, options);
  }

  protected override describeOptions(): string {
    const { stride, padding, dilation, groups, paddingMode } = { paddingMode: undefined, ...this.options };
    const rest = Object.entries({ stride, padding, dilation, groups, paddingMode }).flatMap(([k, v]) =>
      v === undefined ? [] : [`${k}=${String(v)}`],
    );
    return [`${this.inputs}`, `${this.outputs}`, `kernelSize=[${this.kernelSize.join(", ")}]`, ...rest].join(", ");
  }
}

abstract class ConvLayer extends Convolution<ConvLayerOptions> {
  constructor(spatial: number, inChannels: number, outChannels: number, kernelSize: PerAxis, options: ConvLayerOptions) {
    super(spatial, false, inChannels, outChannels, kernelSize, options);
    const { paddingMode = "zeros" } = options;
    if (!["zeros", "circular", "reflect", "replicate"].includes(paddingMode))
      throw new ValueError(new.target.name, "paddingMode", '"zeros", "circular", "reflect" or "replicate"', paddingMode);
  }

  protected run(op: (x: Tensor, weight: Tensor, bias: Tensor | null, options: ConvOptions) => Tensor, x: Tensor): Tensor {
    // The operation ignores the options that are the layer's alone.
    const { paddingMode = "zeros", padding = 0 } = this.options;
    if (paddingMode === "zeros" || padding === "valid") return op(x, this.weight, this.bias, this.options);
    const options = { ...this.options, padding: 0 };
    const layer = this.constructor.name;
    const spatial = this.kernelSize.length;
    if (padding === "same" && expandList(layer, "stride", options.stride ?? 1, spatial, 1).some((d) => d !== 1))
      throw new ValueError(layer, "stride", '1 with padding "same"', options.stride);
    const dilation = expandList(layer, "dilation", options.dilation ?? 1, spatial, 1);
    const both =
      padding === "same"
        ? this.kernelSize.map((k, i) => [Math.floor((dilation[i]! * (k - 1)) / 2), Math.ceil((dilation[i]! * (k - 1)) / 2)])
        : expandList(layer, "padding", padding, spatial).map((p) => [p, p]);
    return op(pad(x, both.toReversed().flat(), { mode: paddingMode }), this.weight, this.bias, options);
  }
}

/** conv1d with a learned kernel. x: [N, inputs, W] or [inputs, W]. Reference: torch.nn.Conv1d. */
export class Conv1d extends ConvLayer {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    super(1, inChannels, outChannels, kernelSize, windowOptions<ConvLayerOptions>("Conv1d", stride, padding, options));
  }

  forward(x: Tensor): Tensor {
    return this.run(conv1dOp, x);
  }
}

/** conv2d with a learned kernel. x: [N, inputs, H, W] or [inputs, H, W]. Reference: torch.nn.Conv2d. */
export class Conv2d extends ConvLayer {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    super(2, inChannels, outChannels, kernelSize, windowOptions<ConvLayerOptions>("Conv2d", stride, padding, options));
  }

  forward(x: Tensor): Tensor {
    return this.run(conv2dOp, x);
  }
}

/** conv3d with a learned kernel. x: [N, inputs, D, H, W] or [inputs, D, H, W]. Reference: torch.nn.Conv3d. */
export class Conv3d extends ConvLayer {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvLayerOptions,
    padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
    options?: ConvLayerOptions,
  ) {
    super(3, inChannels, outChannels, kernelSize, windowOptions<ConvLayerOptions>("Conv3d", stride, padding, options));
  }

  forward(x: Tensor): Tensor {
    return this.run(conv3dOp, x);
  }
}

/** convTranspose1d with a learned kernel [inputs, outputs/groups, k]. Reference: torch.nn.ConvTranspose1d. */
export class ConvTranspose1d extends Convolution<ConvTransposeLayerOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    super(
      1,
      true,
      inChannels,
      outChannels,
      kernelSize,
      windowOptions<ConvTransposeLayerOptions>("ConvTranspose1d", stride, padding, options),
    );
  }

  forward(x: Tensor): Tensor {
    return transpose1dOp(x, this.weight, this.bias, this.options);
  }
}

/** convTranspose2d with a learned kernel [inputs, outputs/groups, kH, kW]. Reference: torch.nn.ConvTranspose2d. */
export class ConvTranspose2d extends Convolution<ConvTransposeLayerOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    super(
      2,
      true,
      inChannels,
      outChannels,
      kernelSize,
      windowOptions<ConvTransposeLayerOptions>("ConvTranspose2d", stride, padding, options),
    );
  }

  forward(x: Tensor): Tensor {
    return transpose2dOp(x, this.weight, this.bias, this.options);
  }
}

/** convTranspose3d with a learned kernel [inputs, outputs/groups, kD, kH, kW]. Reference: torch.nn.ConvTranspose3d. */
export class ConvTranspose3d extends Convolution<ConvTransposeLayerOptions> {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerAxis,
    stride?: PerAxis | ConvTransposeLayerOptions,
    padding?: PerAxis | ConvTransposeLayerOptions,
    options?: ConvTransposeLayerOptions,
  ) {
    super(
      3,
      true,
      inChannels,
      outChannels,
      kernelSize,
      windowOptions<ConvTransposeLayerOptions>("ConvTranspose3d", stride, padding, options),
    );
  }

  forward(x: Tensor): Tensor {
    return transpose3dOp(x, this.weight, this.bias, this.options);
  }
}

export const conv1d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): Conv1d => new Conv1d(inChannels, outChannels, kernelSize, stride, padding, options);
export const conv2d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): Conv2d => new Conv2d(inChannels, outChannels, kernelSize, stride, padding, options);
export const conv3d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvLayerOptions,
  padding?: PerAxis | "same" | "valid" | ConvLayerOptions,
  options?: ConvLayerOptions,
): Conv3d => new Conv3d(inChannels, outChannels, kernelSize, stride, padding, options);
export const convTranspose1d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): ConvTranspose1d => new ConvTranspose1d(inChannels, outChannels, kernelSize, stride, padding, options);
export const convTranspose2d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): ConvTranspose2d => new ConvTranspose2d(inChannels, outChannels, kernelSize, stride, padding, options);
export const convTranspose3d = (
  inChannels: number,
  outChannels: number,
  kernelSize: PerAxis,
  stride?: PerAxis | ConvTransposeLayerOptions,
  padding?: PerAxis | ConvTransposeLayerOptions,
  options?: ConvTransposeLayerOptions,
): ConvTranspose3d => new ConvTranspose3d(inChannels, outChannels, kernelSize, stride, padding, options);
