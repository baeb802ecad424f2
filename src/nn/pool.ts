/** Pooling layers: the functions of the same names, with their options kept. */
import * as autocast from "../ops/exports/autocast.generated.ts";
import * as adaptive from "../ops/pool/adaptive-pool.ts";
import * as pool from "../ops/pool/pool.ts";
import * as unpool from "../ops/pool/unpool.ts";
import type { PerAxis } from "../ops/conv/spatial.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";
import { windowOptions } from "../ops/declare/positional.ts";

abstract class Pool<Options extends object> extends Module {
  /** Length of the window along each spatial axis. */
  readonly kernelSize: PerAxis;
  /** The options passed to the constructor. */
  readonly options: Options;

  constructor(kernelSize: PerAxis, stride?: PerAxis | Options, padding?: PerAxis | Options, options?: Options) {
    super();
    this.kernelSize = kernelSize;
    this.options = windowOptions(new.target.name, stride, padding, options);
  }

  protected override describeOptions(): string {
    return `kernelSize=${String(this.kernelSize)}`;
  }
}

/** maxPool1d. Reference: torch.nn.MaxPool1d. */
export class MaxPool1d extends Pool<pool.MaxPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.maxPool1d(x, this.kernelSize, this.options);
  }
}

/** maxPool2d. Reference: torch.nn.MaxPool2d. */
export class MaxPool2d extends Pool<pool.MaxPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.maxPool2d(x, this.kernelSize, this.options);
  }
}

/** maxPool3d. Reference: torch.nn.MaxPool3d. */
export class MaxPool3d extends Pool<pool.MaxPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.maxPool3d(x, this.kernelSize, this.options);
  }
}

/** avgPool1d. Reference: torch.nn.AvgPool1d. */
export class AvgPool1d extends Pool<pool.AvgPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.avgPool1d(x, this.kernelSize, this.options);
  }
}

/** avgPool2d. Reference: torch.nn.AvgPool2d. */
export class AvgPool2d extends Pool<pool.AvgPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.avgPool2d(x, this.kernelSize, this.options);
  }
}

/** avgPool3d. Reference: torch.nn.AvgPool3d. */
export class AvgPool3d extends Pool<pool.AvgPoolOptions> {
  forward(x: Tensor): Tensor {
    return pool.avgPool3d(x, this.kernelSize, this.options);
  }
}

type PooledSize = number | readonly (number | null)[];

abstract class AdaptivePool extends Module {
  /** Lengths of the result's spatial axes. */
  readonly outputSize: PooledSize;

  constructor(outputSize: PooledSize) {
    super();
    this.outputSize = outputSize;
  }

  protected override describeOptions(): string {
    return `outputSize=${String(this.outputSize)}`;
  }
}

/** adaptiveAvgPool1d. Reference: torch.nn.AdaptiveAvgPool1d. */
export class AdaptiveAvgPool1d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveAvgPool1d(x, this.outputSize);
  }
}

/** adaptiveAvgPool2d. Reference: torch.nn.AdaptiveAvgPool2d. */
export class AdaptiveAvgPool2d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveAvgPool2d(x, this.outputSize);
  }
}

/** adaptiveAvgPool3d. Reference: torch.nn.AdaptiveAvgPool3d. */
export class AdaptiveAvgPool3d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveAvgPool3d(x, this.outputSize);
  }
}

/** adaptiveMaxPool1d. Reference: torch.nn.AdaptiveMaxPool1d. */
export class AdaptiveMaxPool1d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveMaxPool1d(x, this.outputSize);
  }
}

/** adaptiveMaxPool2d. Reference: torch.nn.AdaptiveMaxPool2d. */
export class AdaptiveMaxPool2d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveMaxPool2d(x, this.outputSize);
  }
}

/** adaptiveMaxPool3d. Reference: torch.nn.AdaptiveMaxPool3d. */
export class AdaptiveMaxPool3d extends AdaptivePool {
  forward(x: Tensor): Tensor {
    return adaptive.adaptiveMaxPool3d(x, this.outputSize);
  }
}

abstract class LpPool extends Pool<unpool.LpOptions> {
  /** Order of the norm. */
  readonly p: number;

  constructor(p: number, kernelSize: PerAxis, options: unpool.LpOptions = {}) {
    super(kernelSize, options);
    this.p = p;
  }
}

/** lpPool1d: the p-norm of each window. Reference: torch.nn.LPPool1d. */
export class LPPool1d extends LpPool {
  forward(x: Tensor): Tensor {
    return autocast.lpPool1d(x, this.p, this.kernelSize, this.options);
  }
}

/** lpPool2d: the p-norm of each window. Reference: torch.nn.LPPool2d. */
export class LPPool2d extends LpPool {
  forward(x: Tensor): Tensor {
    return autocast.lpPool2d(x, this.p, this.kernelSize, this.options);
  }
}

/** lpPool3d: the p-norm of each window. Reference: torch.nn.LPPool3d. */
export class LPPool3d extends LpPool {
  forward(x: Tensor): Tensor {
    return autocast.lpPool3d(x, this.p, this.kernelSize, this.options);
  }
}

abstract class FractionalPool extends Pool<unpool.FractionalOptions> {
  // oxlint-disable-next-line no-useless-constructor -- its windows have no stride, and the options must be given: the checks are made of it
  constructor(kernelSize: PerAxis, options: unpool.FractionalOptions) {
    super(kernelSize, options);
  }
}

/** fractionalMaxPool2d. Reference: torch.nn.FractionalMaxPool2d. */
export class FractionalMaxPool2d extends FractionalPool {
  forward(x: Tensor): Tensor {
    return unpool.fractionalMaxPool2d(x, this.kernelSize, this.options);
  }
}

/** fractionalMaxPool3d. Reference: torch.nn.FractionalMaxPool3d. */
export class FractionalMaxPool3d extends FractionalPool {
  forward(x: Tensor): Tensor {
    return unpool.fractionalMaxPool3d(x, this.kernelSize, this.options);
  }
}

export const maxPool1d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.MaxPoolOptions,
  padding?: PerAxis | pool.MaxPoolOptions,
  options?: pool.MaxPoolOptions,
): MaxPool1d => new MaxPool1d(kernelSize, stride, padding, options);
export const maxPool2d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.MaxPoolOptions,
  padding?: PerAxis | pool.MaxPoolOptions,
  options?: pool.MaxPoolOptions,
): MaxPool2d => new MaxPool2d(kernelSize, stride, padding, options);
export const maxPool3d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.MaxPoolOptions,
  padding?: PerAxis | pool.MaxPoolOptions,
  options?: pool.MaxPoolOptions,
): MaxPool3d => new MaxPool3d(kernelSize, stride, padding, options);
export const avgPool1d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.AvgPoolOptions,
  padding?: PerAxis | pool.AvgPoolOptions,
  options?: pool.AvgPoolOptions,
): AvgPool1d => new AvgPool1d(kernelSize, stride, padding, options);
export const avgPool2d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.AvgPoolOptions,
  padding?: PerAxis | pool.AvgPoolOptions,
  options?: pool.AvgPoolOptions,
): AvgPool2d => new AvgPool2d(kernelSize, stride, padding, options);
export const avgPool3d = (
  kernelSize: PerAxis,
  stride?: PerAxis | pool.AvgPoolOptions,
  padding?: PerAxis | pool.AvgPoolOptions,
  options?: pool.AvgPoolOptions,
): AvgPool3d => new AvgPool3d(kernelSize, stride, padding, options);
export const adaptiveAvgPool1d = (outputSize: PooledSize): AdaptiveAvgPool1d => new AdaptiveAvgPool1d(outputSize);
export const adaptiveAvgPool2d = (outputSize: PooledSize): AdaptiveAvgPool2d => new AdaptiveAvgPool2d(outputSize);
export const adaptiveAvgPool3d = (outputSize: PooledSize): AdaptiveAvgPool3d => new AdaptiveAvgPool3d(outputSize);
export const adaptiveMaxPool1d = (outputSize: PooledSize): AdaptiveMaxPool1d => new AdaptiveMaxPool1d(outputSize);
export const adaptiveMaxPool2d = (outputSize: PooledSize): AdaptiveMaxPool2d => new AdaptiveMaxPool2d(outputSize);
export const adaptiveMaxPool3d = (outputSize: PooledSize): AdaptiveMaxPool3d => new AdaptiveMaxPool3d(outputSize);
export const lpPool1d = (p: number, kernelSize: PerAxis, options: unpool.LpOptions = {}): LPPool1d => new LPPool1d(p, kernelSize, options);
export const lpPool2d = (p: number, kernelSize: PerAxis, options: unpool.LpOptions = {}): LPPool2d => new LPPool2d(p, kernelSize, options);
export const lpPool3d = (p: number, kernelSize: PerAxis, options: unpool.LpOptions = {}): LPPool3d => new LPPool3d(p, kernelSize, options);
export const fractionalMaxPool2d = (kernelSize: PerAxis, options: unpool.FractionalOptions): FractionalMaxPool2d =>
  new FractionalMaxPool2d(kernelSize, options);
export const fractionalMaxPool3d = (kernelSize: PerAxis, options: unpool.FractionalOptions): FractionalMaxPool3d =>
  new FractionalMaxPool3d(kernelSize, options);
