/** Losses: MSELoss, L1Loss, CrossEntropyLoss and their kin, with the options of the functions of the same names. */
import { crossEntropy as crossEntropyOp, nllLoss as nllLossOp } from "../ops/exports/autocast.generated.ts";
import * as autocast from "../ops/exports/autocast.generated.ts";
import type { CrossEntropyOptions, NllOptions } from "../ops/loss/cross-entropy.ts";
import type { BinaryOptions, LogitsOptions, LossOptions } from "../ops/loss/regression.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "./module.ts";
import { kept } from "./kept.ts";

/** mseLoss. Reference: torch.nn.MSELoss. */
export class MSELoss extends Module {
  /** The options passed to the constructor. */
  readonly options: LossOptions;

  constructor(options: LossOptions = {}) {
    super();
    this.options = options;
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.mseLoss(x, target, this.options);
  }
}

/** l1Loss. Reference: torch.nn.L1Loss. */
export class L1Loss extends Module {
  /** The options passed to the constructor. */
  readonly options: LossOptions;

  constructor(options: LossOptions = {}) {
    super();
    this.options = options;
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.l1Loss(x, target, this.options);
  }
}

/** smoothL1Loss. Reference: torch.nn.SmoothL1Loss. */
export class SmoothL1Loss extends Module {
  /** The options passed to the constructor. */
  readonly options: LossOptions & { readonly beta?: number };

  constructor(
    options: LossOptions & {
      /** Where the square becomes a line. Default: 1. */
      readonly beta?: number;
    } = {},
  ) {
    super();
    this.options = options;
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.smoothL1Loss(x, target, this.options);
  }
}

/** huberLoss. Reference: torch.nn.HuberLoss. */
export class HuberLoss extends Module {
  /** The options passed to the constructor. */
  readonly options: LossOptions & { readonly delta?: number };

  constructor(
    options: LossOptions & {
      /** Where the square becomes a line. Default: 1. */
      readonly delta?: number;
    } = {},
  ) {
    super();
    this.options = options;
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.huberLoss(x, target, this.options);
  }
}

/** binaryCrossEntropy. Reference: torch.nn.BCELoss. */
export class BCELoss extends Module {
  /** The options passed to the constructor. */
  readonly options: BinaryOptions;

  constructor(options: BinaryOptions = {}) {
    super();
    this.options = kept(this, options, { weight: "weight" });
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.binaryCrossEntropy(x, target, this.options);
  }
}

/** binaryCrossEntropyWithLogits. Reference: torch.nn.BCEWithLogitsLoss. */
export class BCEWithLogitsLoss extends Module {
  /** The options passed to the constructor. */
  readonly options: LogitsOptions;

  constructor(options: LogitsOptions = {}) {
    super();
    this.options = kept(this, options, { weight: "weight", posWeight: "pos_weight" });
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return autocast.binaryCrossEntropyWithLogits(x, target, this.options);
  }
}

/** nllLoss. Reference: torch.nn.NLLLoss. */
export class NLLLoss extends Module {
  /** The options passed to the constructor. */
  readonly options: NllOptions;

  constructor(options: NllOptions = {}) {
    super();
    this.options = kept(this, options, { weight: "weight" });
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return nllLossOp(x, target, this.options);
  }
}

/** crossEntropy. Reference: torch.nn.CrossEntropyLoss. */
export class CrossEntropyLoss extends Module {
  /** The options passed to the constructor. */
  readonly options: CrossEntropyOptions;

  constructor(options: CrossEntropyOptions = {}) {
    super();
    this.options = kept(this, options, { weight: "weight" });
  }

  forward(x: Tensor, target: Tensor): Tensor {
    return crossEntropyOp(x, target, this.options);
  }
}

export const mseLoss = (options: LossOptions = {}): MSELoss => new MSELoss(options);
export const l1Loss = (options: LossOptions = {}): L1Loss => new L1Loss(options);
export const smoothL1Loss = (
  options: LossOptions & {
    /** Where the square becomes a line. Default: 1. */
    readonly beta?: number;
  } = {},
): SmoothL1Loss => new SmoothL1Loss(options);
export const huberLoss = (
  options: LossOptions & {
    /** Where the square becomes a line. Default: 1. */
    readonly delta?: number;
  } = {},
): HuberLoss => new HuberLoss(options);
export const binaryCrossEntropy = (options: BinaryOptions = {}): BCELoss => new BCELoss(options);
export const binaryCrossEntropyWithLogits = (options: LogitsOptions = {}): BCEWithLogitsLoss => new BCEWithLogitsLoss(options);
export const nllLoss = (options: NllOptions = {}): NLLLoss => new NLLLoss(options);
export const crossEntropy = (options: CrossEntropyOptions = {}): CrossEntropyLoss => new CrossEntropyLoss(options);
