/** Rates that fall by a factor: at regular steps, at given ones, at every one. */
import { ValueError } from "../../errors.ts";
import { LRScheduler, type AnyOptimizer, type ScheduleOptions } from "./scheduler.ts";

/** Options of StepLR. Reference: torch.optim.lr_scheduler.StepLR. */
export interface StepLROptions extends ScheduleOptions {
  /** Steps between two falls. */
  readonly stepSize: number;
  /** Default 0.1. */
  readonly gamma?: number | undefined;
}

/** Every stepSize steps the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.StepLR. */
export class StepLR extends LRScheduler {
  /** Steps between changes. */
  stepSize: number;
  /** Factor of each change. */
  gamma: number;
  protected readonly remembered = ["stepSize", "gamma"];

  constructor(optimizer: AnyOptimizer, options: StepLROptions) {
    super("StepLR", optimizer, options);
    this.stepSize = this.demandWhole("stepSize", options.stepSize);
    this.gamma = this.demandNumber("gamma", options.gamma ?? 0.1);
    this.begin();
  }

  protected next(): readonly number[] {
    if (this.lastEpoch === 0 || this.lastEpoch % this.stepSize !== 0) return this.lrs;
    return this.lrs.map((lr) => lr * this.gamma);
  }

  protected override closedForm(): readonly number[] {
    return this.baseLrs.map((lr) => lr * this.gamma ** Math.floor(this.lastEpoch / this.stepSize));
  }
}

/** Options of MultiStepLR. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export interface MultiStepLROptions extends ScheduleOptions {
  /** Steps at which the rates fall; one that stands there twice counts twice. */
  readonly milestones: readonly number[];
  /** Default 0.1. */
  readonly gamma?: number | undefined;
}

/** At each milestone the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.MultiStepLR. */
export class MultiStepLR extends LRScheduler {
  /** The steps at which rates change. */
  milestones: readonly number[];
  /** Factor of each change. */
  gamma: number;
  protected readonly remembered = ["milestones", "gamma"];

  constructor(optimizer: AnyOptimizer, options: MultiStepLROptions) {
    super("MultiStepLR", optimizer, options);
    if (!Array.isArray(options.milestones) || !options.milestones.every(Number.isInteger))
      throw new ValueError("MultiStepLR", "milestones", "a list of whole numbers", options.milestones);
    this.milestones = [...options.milestones];
    this.gamma = this.demandNumber("gamma", options.gamma ?? 0.1);
    this.begin();
  }

  protected next(): readonly number[] {
    const count = this.milestones.filter((m) => m === this.lastEpoch).length;
    return count === 0 ? this.lrs : this.lrs.map((lr) => lr * this.gamma ** count);
  }

  protected override closedForm(): readonly number[] {
    const count = this.milestones.filter((m) => m <= this.lastEpoch).length;
    return this.baseLrs.map((lr) => lr * this.gamma ** count);
  }
}

/** Options of ExponentialLR. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export interface ExponentialLROptions extends ScheduleOptions {
  /** Factor of each change. */
  readonly gamma: number;
}

/** At every step the rates are multiplied by gamma. Reference: torch.optim.lr_scheduler.ExponentialLR. */
export class ExponentialLR extends LRScheduler {
  /** Factor of each change. */
  gamma: number;
  protected readonly remembered = ["gamma"];

  constructor(optimizer: AnyOptimizer, options: ExponentialLROptions) {
    super("ExponentialLR", optimizer, options);
    this.gamma = this.demandNumber("gamma", options.gamma);
    this.begin();
  }

  protected next(): readonly number[] {
    return this.isInitial ? this.lrs : this.lrs.map((lr) => lr * this.gamma);
  }

  protected override closedForm(): readonly number[] {
    return this.baseLrs.map((lr) => lr * this.gamma ** this.lastEpoch);
  }
}
