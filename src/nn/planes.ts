/** Vision layers: Upsample, PixelShuffle, Fold, Unfold, MaxUnpool and their kin. */
import { localResponseNorm as localResponseOp } from "../ops/exports/autocast.generated.ts";
import { cosineSimilarity as cosineOp, interpolate } from "../ops/exports/autocast.generated.ts";
import { fold as foldOp, unfoldWindows, type FoldOptions } from "../ops/conv/fold.ts";
import { pairwiseDistance as distanceOp, type PairwiseOptions, type SimilarityOptions } from "../ops/reduce/distance.ts";
import type { InterpolateOptions } from "../ops/vision/interpolate.ts";
import type { LocalResponseOptions } from "../ops/norm/rms-norm.ts";
import {
  channelShuffle as channelShuffleOp,
  pixelShuffle as pixelShuffleOp,
  pixelUnshuffle as pixelUnshuffleOp,
} from "../ops/shape/shuffle.ts";
import { maxUnpool1d as unpool1d, maxUnpool2d as unpool2d, maxUnpool3d as unpool3d, type UnpoolOptions } from "../ops/pool/unpool.ts";
import type { Tensor } from "../core/tensor.ts";
import type { PerAxis } from "../ops/conv/spatial.ts";
import { Module } from "./module.ts";
import { byPosition } from "../ops/declare/positional.ts";

/** interpolate with its options kept. Reference: torch.nn.Upsample. */
export class Upsample extends Module {
  /** The options passed to the constructor. */
  readonly options: InterpolateOptions;

  constructor(options: InterpolateOptions) {
    super();
    this.options = options;
  }

  forward(x: Tensor): Tensor {
    return interpolate(x, this.options);
  }
}

/** pixelShuffle. Reference: torch.nn.PixelShuffle. */
export class PixelShuffle extends Module {
  /** By how much height and width grow. */
  readonly factor: number;

  constructor(upscaleFactor: number) {
    super();
    this.factor = upscaleFactor;
  }

  forward(x: Tensor): Tensor {
    return pixelShuffleOp(x, this.factor);
  }
}
/** pixelUnshuffle. Reference: torch.nn.PixelUnshuffle. */
export class PixelUnshuffle extends Module {
  /** By how much height and width shrink. */
  readonly factor: number;

  constructor(downscaleFactor: number) {
    super();
    this.factor = downscaleFactor;
  }

  forward(x: Tensor): Tensor {
    return pixelUnshuffleOp(x, this.factor);
  }
}
/** channelShuffle. Reference: torch.nn.ChannelShuffle. */
export class ChannelShuffle extends Module {
  /** Groups of channels that are interleaved. */
  readonly groups: number;

  constructor(groups: number) {
    super();
    this.groups = groups;
  }

  forward(x: Tensor): Tensor {
    return channelShuffleOp(x, this.groups);
  }
}

/** Windows as columns. Reference: torch.nn.Unfold. */
export class Unfold extends Module {
  /** Length of the window along each spatial axis. */
  readonly kernelSize: PerAxis;
  /** The options passed to the constructor. */
  readonly options: FoldOptions;

  constructor(kernelSize: PerAxis, options: FoldOptions = {}) {
    super();
    this.kernelSize = kernelSize;
    this.options = options;
  }

  forward(x: Tensor): Tensor {
    return unfoldWindows(x, this.kernelSize, this.options);
  }
}
/** Columns added into planes. Reference: torch.nn.Fold. */
export class Fold extends Module {
  /** Lengths of the result's spatial axes. */
  readonly outputSize: PerAxis;
  /** Length of the window along each spatial axis. */
  readonly kernelSize: PerAxis;
  /** The options passed to the constructor. */
  readonly options: FoldOptions;

  constructor(outputSize: PerAxis, kernelSize: PerAxis, options: FoldOptions = {}) {
    super();
    this.outputSize = outputSize;
    this.kernelSize = kernelSize;
    this.options = options;
  }

  forward(x: Tensor): Tensor {
    return foldOp(x, this.outputSize, this.kernelSize, this.options);
  }
}

abstract class MaxUnpool extends Module {
  /** Length of the window along each spatial axis. */
  readonly kernelSize: PerAxis;
  /** The options passed to the constructor. */
  readonly options: UnpoolOptions;

  constructor(kernelSize: PerAxis, options: UnpoolOptions = {}) {
    super();
    this.kernelSize = kernelSize;
    this.options = options;
  }

  protected abstract readonly run: typeof unpool1d;

  /** The elements of x at the positions that max pooling gave as indices, zeros elsewhere. outputSize: where the pooled size is not enough to tell. */
  forward(x: Tensor, indices: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return this.run(x, indices, this.kernelSize, { ...this.options, outputSize: outputSize ?? this.options.outputSize });
  }
}
/** maxUnpool1d. Reference: torch.nn.MaxUnpool1d. */
export class MaxUnpool1d extends MaxUnpool {
  protected readonly run = unpool1d;
}
/** maxUnpool2d. Reference: torch.nn.MaxUnpool2d. */
export class MaxUnpool2d extends MaxUnpool {
  protected readonly run = unpool2d;
}
/** maxUnpool3d. Reference: torch.nn.MaxUnpool3d. */
export class MaxUnpool3d extends MaxUnpool {
  protected readonly run = unpool3d;
}

/** localResponseNorm. Reference: torch.nn.LocalResponseNorm. */
export class LocalResponseNorm extends Module {
  /** Number of neighbouring channels. */
  readonly size: number;
  /** The options passed to the constructor. */
  readonly options: LocalResponseOptions;

  constructor(size: number, options: LocalResponseOptions = {}) {
    super();
    this.size = size;
    this.options = options;
  }

  forward(x: Tensor): Tensor {
    return localResponseOp(x, this.size, this.options);
  }
}

/** cosineSimilarity along an axis. Reference: torch.nn.CosineSimilarity. */
export class CosineSimilarity extends Module {
  /** The options passed to the constructor. */
  readonly options: SimilarityOptions;

  constructor(axis?: number | SimilarityOptions, eps?: number) {
    super();
    this.options = byPosition("CosineSimilarity", ["axis", "eps"], [axis, eps]);
  }

  forward(a: Tensor, b: Tensor): Tensor {
    return cosineOp(a, b, this.options);
  }
}
/** pairwiseDistance. Reference: torch.nn.PairwiseDistance. */
export class PairwiseDistance extends Module {
  /** The options passed to the constructor. */
  readonly options: PairwiseOptions;

  constructor(p?: number | PairwiseOptions, eps?: number) {
    super();
    this.options = byPosition("PairwiseDistance", ["p", "eps"], [p, eps]);
  }

  forward(a: Tensor, b: Tensor): Tensor {
    return distanceOp(a, b, this.options);
  }
}

export const upsample = (options: InterpolateOptions): Upsample => new Upsample(options);
export const pixelShuffle = (upscaleFactor: number): PixelShuffle => new PixelShuffle(upscaleFactor);
export const pixelUnshuffle = (downscaleFactor: number): PixelUnshuffle => new PixelUnshuffle(downscaleFactor);
export const channelShuffle = (groups: number): ChannelShuffle => new ChannelShuffle(groups);
export const unfold = (kernelSize: PerAxis, options: FoldOptions = {}): Unfold => new Unfold(kernelSize, options);
export const fold = (outputSize: PerAxis, kernelSize: PerAxis, options: FoldOptions = {}): Fold =>
  new Fold(outputSize, kernelSize, options);
export const maxUnpool1d = (kernelSize: PerAxis, options: UnpoolOptions = {}): MaxUnpool1d => new MaxUnpool1d(kernelSize, options);
export const maxUnpool2d = (kernelSize: PerAxis, options: UnpoolOptions = {}): MaxUnpool2d => new MaxUnpool2d(kernelSize, options);
export const maxUnpool3d = (kernelSize: PerAxis, options: UnpoolOptions = {}): MaxUnpool3d => new MaxUnpool3d(kernelSize, options);
export const localResponseNorm = (size: number, options: LocalResponseOptions = {}): LocalResponseNorm =>
  new LocalResponseNorm(size, options);
export const cosineSimilarity = (axis?: number | SimilarityOptions, eps?: number): CosineSimilarity => new CosineSimilarity(axis, eps);
export const pairwiseDistance = (p?: number | PairwiseOptions, eps?: number): PairwiseDistance => new PairwiseDistance(p, eps);
