/** Rates that begin with a share of themselves or end at zero: constant, linear, polynomial. */
import { ValueError } from "../../core/errors.ts";
import { LRScheduler, type AnyOptimizer, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** Options of ConstantLR. Reference: torch.optim.lr_scheduler.ConstantLR. */
export interface ConstantLROptions extends ScheduleOptions {
  /** In [0, 1]. Default 1/3. */
  readonly factor?: number | undefined;
  /** Steps with the factor. Default 5. */
  readonly totalIters?: number | undefined;
}

/** The rates times factor for totalIters steps, then whole. Reference: torch.optim.lr_scheduler.ConstantLR. */
export class ConstantLR extends LRScheduler {
  /** Factor of the rates at first. */
  factor: number;
  /** Steps until it ends. */
  totalIters: number;
  protected readonly remembered = ["factor", "totalIters"];

  constructor(
    optimizer: AnyOptimizer,
    factor?: number | ConstantLROptions,
    totalIters?: number | Partial<ConstantLROptions>,
    options?: Partial<ConstantLROptions>,
  ) {
    const settings = byPosition<ConstantLROptions>("ConstantLR", ["factor", "totalIters"], [factor, totalIters, options]);
    super("ConstantLR", optimizer, settings);
    this.factor = settings.factor ?? 1 / 3;
    this.totalIters = this.requireInteger("totalIters", settings.totalIters ?? 5, 0);
    if (!(this.factor >= 0 && this.factor <= 1)) throw new ValueError("ConstantLR", "factor", "in [0, 1]", this.factor);
    this.begin();
  }

  protected next(): readonly number[] {
    if (this.lastEpoch === 0) return this.lrs.map((lr) => lr * this.factor);
    return this.lastEpoch === this.totalIters ? this.lrs.map((lr) => lr * (1 / this.factor)) : this.lrs;
  }

  protected override closedForm(): readonly number[] {
    const ended = this.lastEpoch >= this.totalIters ? 1 : 0;
    return this.baseLrs.map((lr) => lr * (this.factor + ended * (1 - this.factor)));
  }
}

/** Options of LinearLR. Reference: torch.optim.lr_scheduler.LinearLR. */
export interface LinearLROptions extends ScheduleOptions {
  /** In (0, 1]. Default 1/3. */
  readonly startFactor?: number | undefined;
  /** In [0, 1]. Default 1. */
  readonly endFactor?: number | undefined;
  /** Steps from one factor to the other. Default 5. */
  readonly totalIters?: number | undefined;
}

/** The rates times a factor that goes from startFactor to endFactor. Reference: torch.optim.lr_scheduler.LinearLR. */
export class LinearLR extends LRScheduler {
  /** Factor of the rates at first. */
  startFactor: number;
  /** Factor of the rates at the end. */
  endFactor: number;
  /** Steps until it ends. */
  totalIters: number;
  protected readonly remembered = ["startFactor", "endFactor", "totalIters"];

  constructor(
    optimizer: AnyOptimizer,
    startFactor?: number | LinearLROptions,
    endFactor?: number | Partial<LinearLROptions>,
    options?: Partial<LinearLROptions>,
  ) {
    const settings = byPosition<LinearLROptions>("LinearLR", ["startFactor", "endFactor"], [startFactor, endFactor, options]);
    super("LinearLR", optimizer, settings);
    this.startFactor = settings.startFactor ?? 1 / 3;
    this.endFactor = settings.endFactor ?? 1;
    this.totalIters = this.requireInteger("totalIters", settings.totalIters ?? 5);
    if (!(this.startFactor > 0 && this.startFactor <= 1)) throw new ValueError("LinearLR", "startFactor", "in (0, 1]", this.startFactor);
    if (!(this.endFactor >= 0 && this.endFactor <= 1)) throw new ValueError("LinearLR", "endFactor", "in [0, 1]", this.endFactor);
    this.begin();
  }

  protected next(): readonly number[] {
    const { lastEpoch, startFactor, totalIters } = this;
    if (lastEpoch === 0) return this.lrs.map((lr) => lr * startFactor);
    if (this.isInitial || lastEpoch > totalIters) return this.lrs;
    const rise = this.endFactor - startFactor;
    return this.lrs.map((lr) => lr * (1 + rise / (totalIters * startFactor + (lastEpoch - 1) * rise)));
  }

  protected override closedForm(): readonly number[] {
    const share = Math.min(this.totalIters, this.lastEpoch) / this.totalIters;
    return this.baseLrs.map((lr) => lr * (this.startFactor + (this.endFactor - this.startFactor) * share));
  }
}

/** Options of PolynomialLR. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export interface PolynomialLROptions extends ScheduleOptions {
  /** Steps until the rates are 0. Default 5. */
  readonly totalIters?: number | undefined;
  /** Default 1. */
  readonly power?: number | undefined;
}

/** The rates times (1 - t / totalIters)^power. Reference: torch.optim.lr_scheduler.PolynomialLR. */
export class PolynomialLR extends LRScheduler {
  /** Steps until it ends. */
  totalIters: number;
  /** The polynomial's order. */
  power: number;
  protected readonly remembered = ["totalIters", "power"];

  constructor(
    optimizer: AnyOptimizer,
    totalIters?: number | PolynomialLROptions,
    power?: number | Partial<PolynomialLROptions>,
    options?: Partial<PolynomialLROptions>,
  ) {
    const settings = byPosition<PolynomialLROptions>("PolynomialLR", ["totalIters", "power"], [totalIters, power, options]);
    super("PolynomialLR", optimizer, settings);
    this.totalIters = this.requireInteger("totalIters", settings.totalIters ?? 5);
    this.power = this.requireNumber("power", settings.power ?? 1);
    this.begin();
  }

  protected next(): readonly number[] {
    const { lastEpoch: t, totalIters: n } = this;
    if (this.isInitial || t > n) return this.lrs;
    const factor = ((1 - t / n) / (1 - (t - 1) / n)) ** this.power;
    return this.lrs.map((lr) => lr * factor);
  }

  protected override closedForm(): readonly number[] {
    const share = 1 - Math.min(this.totalIters, this.lastEpoch) / this.totalIters;
    return this.baseLrs.map((lr) => lr * share ** this.power);
  }
}
export const constantLR = (
  optimizer: AnyOptimizer,
  factor?: number | ConstantLROptions,
  totalIters?: number | Partial<ConstantLROptions>,
  options?: Partial<ConstantLROptions>,
): ConstantLR => new ConstantLR(optimizer, factor, totalIters, options);
export const linearLR = (
  optimizer: AnyOptimizer,
  startFactor?: number | LinearLROptions,
  endFactor?: number | Partial<LinearLROptions>,
  options?: Partial<LinearLROptions>,
): LinearLR => new LinearLR(optimizer, startFactor, endFactor, options);
export const polynomialLR = (
  optimizer: AnyOptimizer,
  totalIters?: number | PolynomialLROptions,
  power?: number | Partial<PolynomialLROptions>,
  options?: Partial<PolynomialLROptions>,
): PolynomialLR => new PolynomialLR(optimizer, totalIters, power, options);
