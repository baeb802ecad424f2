/** Rates that fall by a factor: at regular steps, at given ones, at every one. */
import { ValueError } from "../../core/errors.ts";
import { LRScheduler, type AnyOptimizer, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

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

  constructor(
    optimizer: AnyOptimizer,
    stepSize: number | StepLROptions,
    gamma?: number | Partial<StepLROptions>,
    options?: Partial<StepLROptions>,
  ) {
    const settings = byPosition<StepLROptions>("StepLR", ["stepSize", "gamma"], [stepSize, gamma, options]);
    super("StepLR", optimizer, settings);
    this.stepSize = this.requireInteger("stepSize", settings.stepSize);
    this.gamma = this.requireNumber("gamma", settings.gamma ?? 0.1);
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

  constructor(
    optimizer: AnyOptimizer,
    milestones: readonly number[] | MultiStepLROptions,
    gamma?: number | Partial<MultiStepLROptions>,
    options?: Partial<MultiStepLROptions>,
  ) {
    const settings = byPosition<MultiStepLROptions>("MultiStepLR", ["milestones", "gamma"], [milestones, gamma, options]);
    super("MultiStepLR", optimizer, settings);
    if (!Array.isArray(settings.milestones) || !settings.milestones.every(Number.isInteger))
      throw new ValueError("MultiStepLR", "milestones", "a list of integers", settings.milestones);
    this.milestones = [...settings.milestones];
    this.gamma = this.requireNumber("gamma", settings.gamma ?? 0.1);
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

  constructor(optimizer: AnyOptimizer, gamma: number | ExponentialLROptions, options?: Partial<ExponentialLROptions>) {
    const settings = byPosition<ExponentialLROptions>("ExponentialLR", ["gamma"], [gamma, options]);
    super("ExponentialLR", optimizer, settings);
    this.gamma = this.requireNumber("gamma", settings.gamma);
    this.begin();
  }

  protected next(): readonly number[] {
    return this.isInitial ? this.lrs : this.lrs.map((lr) => lr * this.gamma);
  }

  protected override closedForm(): readonly number[] {
    return this.baseLrs.map((lr) => lr * this.gamma ** this.lastEpoch);
  }
}
export const stepLR = (
  optimizer: AnyOptimizer,
  stepSize: number | StepLROptions,
  gamma?: number | Partial<StepLROptions>,
  options?: Partial<StepLROptions>,
): StepLR => new StepLR(optimizer, stepSize, gamma, options);
export const multiStepLR = (
  optimizer: AnyOptimizer,
  milestones: readonly number[] | MultiStepLROptions,
  gamma?: number | Partial<MultiStepLROptions>,
  options?: Partial<MultiStepLROptions>,
): MultiStepLR => new MultiStepLR(optimizer, milestones, gamma, options);
export const exponentialLR = (
  optimizer: AnyOptimizer,
  gamma: number | ExponentialLROptions,
  options?: Partial<ExponentialLROptions>,
): ExponentialLR => new ExponentialLR(optimizer, gamma, options);
