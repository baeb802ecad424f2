/** Pooling layers: the functions of the same names, with their options kept. */
import * as adaptive from "../ops/adaptive-pool.ts";
import * as pool from "../ops/pool.ts";
import type { PerAxis } from "../ops/window.ts";
import type { Tensor } from "../tensor.ts";
import { Module } from "./module.ts";

abstract class Pool<Options> extends Module {
  readonly kernelSize: PerAxis;
  readonly options: Options;

  constructor(kernelSize: PerAxis, options: Options = {} as Options) {
    super();
    this.kernelSize = kernelSize;
    this.options = options;
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

type OutputSize = number | readonly (number | null)[];

abstract class AdaptivePool extends Module {
  readonly outputSize: OutputSize;

  constructor(outputSize: OutputSize) {
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

export const maxPool1d = (kernelSize: PerAxis, options: pool.MaxPoolOptions = {}): MaxPool1d => new MaxPool1d(kernelSize, options);
export const maxPool2d = (kernelSize: PerAxis, options: pool.MaxPoolOptions = {}): MaxPool2d => new MaxPool2d(kernelSize, options);
export const maxPool3d = (kernelSize: PerAxis, options: pool.MaxPoolOptions = {}): MaxPool3d => new MaxPool3d(kernelSize, options);
export const avgPool1d = (kernelSize: PerAxis, options: pool.AvgPoolOptions = {}): AvgPool1d => new AvgPool1d(kernelSize, options);
export const avgPool2d = (kernelSize: PerAxis, options: pool.AvgPoolOptions = {}): AvgPool2d => new AvgPool2d(kernelSize, options);
export const avgPool3d = (kernelSize: PerAxis, options: pool.AvgPoolOptions = {}): AvgPool3d => new AvgPool3d(kernelSize, options);
export const adaptiveAvgPool1d = (outputSize: OutputSize): AdaptiveAvgPool1d => new AdaptiveAvgPool1d(outputSize);
export const adaptiveAvgPool2d = (outputSize: OutputSize): AdaptiveAvgPool2d => new AdaptiveAvgPool2d(outputSize);
export const adaptiveAvgPool3d = (outputSize: OutputSize): AdaptiveAvgPool3d => new AdaptiveAvgPool3d(outputSize);
export const adaptiveMaxPool1d = (outputSize: OutputSize): AdaptiveMaxPool1d => new AdaptiveMaxPool1d(outputSize);
export const adaptiveMaxPool2d = (outputSize: OutputSize): AdaptiveMaxPool2d => new AdaptiveMaxPool2d(outputSize);
export const adaptiveMaxPool3d = (outputSize: OutputSize): AdaptiveMaxPool3d => new AdaptiveMaxPool3d(outputSize);
