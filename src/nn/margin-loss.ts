/** Layers of margin, ranking and likelihood losses. */
import { klDiv as klDivOp } from "../ops/exports/autocast.generated.ts";
import * as autocast from "../ops/exports/autocast.generated.ts";
import { ctcLoss as ctcLossOp, type CtcOptions } from "../ops/loss/ctc-loss.ts";
import type { LossOptions, Reduction } from "../ops/loss/regression.ts";
import * as functions from "../ops/loss/margin-loss.ts";
import type { GaussianOptions, MarginOptions, MultiMarginOptions, PoissonOptions, TripletOptions } from "../ops/loss/margin-loss.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";
import { kept } from "./kept.ts";

/** A module that keeps the options of a loss. */
abstract class Loss<Options extends object> extends Module {
  /** The options passed to the constructor. */
  readonly options: Options;

  constructor(options: Options, names: { readonly [K in keyof Options]?: string } = {}) {
    super();
    this.options = kept(this, options, names);
  }
}

/** marginRankingLoss. Reference: torch.nn.MarginRankingLoss. */
export class MarginRankingLoss extends Loss<MarginOptions> {
  constructor(options: MarginOptions = {}) {
    super(options);
  }

  forward(a: Tensor, b: Tensor, y: Tensor): Tensor {
    return autocast.marginRankingLoss(a, b, y, this.options);
  }
}

/** hingeEmbeddingLoss. Reference: torch.nn.HingeEmbeddingLoss. */
export class HingeEmbeddingLoss extends Loss<MarginOptions> {
  constructor(options: MarginOptions = {}) {
    super(options);
  }

  forward(x: Tensor, y: Tensor): Tensor {
    return autocast.hingeEmbeddingLoss(x, y, this.options);
  }
}

/** cosineEmbeddingLoss. Reference: torch.nn.CosineEmbeddingLoss. */
export class CosineEmbeddingLoss extends Loss<MarginOptions> {
  constructor(options: MarginOptions = {}) {
    super(options);
  }

  forward(a: Tensor, b: Tensor, y: Tensor): Tensor {
    return autocast.cosineEmbeddingLoss(a, b, y, this.options);
  }
}

/** softMarginLoss. Reference: torch.nn.SoftMarginLoss. */
export class SoftMarginLoss extends Loss<LossOptions> {
  constructor(options: LossOptions = {}) {
    super(options);
  }

  forward(x: Tensor, y: Tensor): Tensor {
    return autocast.softMarginLoss(x, y, this.options);
  }
}

/** multiMarginLoss. Reference: torch.nn.MultiMarginLoss. */
export class MultiMarginLoss extends Loss<MultiMarginOptions> {
  constructor(options: MultiMarginOptions = {}) {
    super(options, { weight: "weight" });
  }

  forward(x: Tensor, y: Tensor): Tensor {
    return autocast.multiMarginLoss(x, y, this.options);
  }
}

/** multilabelMarginLoss. Reference: torch.nn.MultiLabelMarginLoss. */
export class MultiLabelMarginLoss extends Loss<LossOptions> {
  constructor(options: LossOptions = {}) {
    super(options);
  }

  forward(x: Tensor, y: Tensor): Tensor {
    return autocast.multilabelMarginLoss(x, y, this.options);
  }
}

/** multilabelSoftMarginLoss. Reference: torch.nn.MultiLabelSoftMarginLoss. */
export class MultiLabelSoftMarginLoss extends Loss<LossOptions & { readonly weight?: Tensor | null | undefined }> {
  constructor(
    options: LossOptions & {
      /** A weight for each class: [C]. Default: 1 for each. */
      readonly weight?: Tensor | null | undefined;
    } = {},
  ) {
    super(options, { weight: "weight" });
  }

  forward(x: Tensor, y: Tensor): Tensor {
    return autocast.multilabelSoftMarginLoss(x, y, this.options);
  }
}

/** tripletMarginLoss. Reference: torch.nn.TripletMarginLoss, torch.nn.TripletMarginWithDistanceLoss. */
export class TripletMarginLoss extends Loss<TripletOptions> {
  constructor(options: TripletOptions = {}) {
    super(options);
  }

  forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    return autocast.tripletMarginLoss(anchor, positive, negative, this.options);
  }
}

/** poissonNllLoss. Reference: torch.nn.PoissonNLLLoss. */
export class PoissonNLLLoss extends Loss<PoissonOptions> {
  constructor(options: PoissonOptions = {}) {
    super(options);
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.poissonNllLoss(x, target, this.options);
  }
}

/** gaussianNllLoss. Reference: torch.nn.GaussianNLLLoss. */
export class GaussianNLLLoss extends Loss<GaussianOptions> {
  constructor(options: GaussianOptions = {}) {
    super(options);
  }

  forward(x: Tensor, target: Tensor, variance: Tensor): Tensor {
    return functions.gaussianNllLoss(x, target, variance, this.options);
  }
}

type KlOptions = {
  /** "mean" over all elements, "batchmean" over the first axis, "sum", or "none". Default: "mean". */
  readonly reduction?: Reduction | "batchmean" | undefined;
  /** Whether the target is in log space too. Default: false. */
  readonly logTarget?: boolean | undefined;
};
/** klDiv. Reference: torch.nn.KLDivLoss. */
export class KLDivLoss extends Loss<KlOptions> {
  constructor(options: KlOptions = {}) {
    super(options);
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return klDivOp(x, target, this.options);
  }
}

/** ctcLoss. Reference: torch.nn.CTCLoss. */
export class CTCLoss extends Loss<CtcOptions> {
  constructor(options: CtcOptions = {}) {
    super(options);
  }

  forward(x: Tensor, targets: Tensor, inputLengths: Tensor | readonly number[], targetLengths: Tensor | readonly number[]): Tensor {
    return ctcLossOp(x, targets, inputLengths, targetLengths, this.options);
  }
}

export const marginRankingLoss = (options: MarginOptions = {}): MarginRankingLoss => new MarginRankingLoss(options);
export const hingeEmbeddingLoss = (options: MarginOptions = {}): HingeEmbeddingLoss => new HingeEmbeddingLoss(options);
export const cosineEmbeddingLoss = (options: MarginOptions = {}): CosineEmbeddingLoss => new CosineEmbeddingLoss(options);
export const softMarginLoss = (options: LossOptions = {}): SoftMarginLoss => new SoftMarginLoss(options);
export const multiMarginLoss = (options: MultiMarginOptions = {}): MultiMarginLoss => new MultiMarginLoss(options);
export const multilabelMarginLoss = (options: LossOptions = {}): MultiLabelMarginLoss => new MultiLabelMarginLoss(options);
export const multilabelSoftMarginLoss = (
  options: LossOptions & {
    /** A weight for each class: [C]. Default: 1 for each. */
    readonly weight?: Tensor | null | undefined;
  } = {},
): MultiLabelSoftMarginLoss => new MultiLabelSoftMarginLoss(options);
export const tripletMarginLoss = (options: TripletOptions = {}): TripletMarginLoss => new TripletMarginLoss(options);
export const poissonNllLoss = (options: PoissonOptions = {}): PoissonNLLLoss => new PoissonNLLLoss(options);
export const gaussianNllLoss = (options: GaussianOptions = {}): GaussianNLLLoss => new GaussianNLLLoss(options);
export const klDiv = (options: KlOptions = {}): KLDivLoss => new KLDivLoss(options);
export const ctcLoss = (options: CtcOptions = {}): CTCLoss => new CTCLoss(options);
