/** Rates by functions of the step. */
import { ValueError } from "../../core/errors.ts";
import { LRScheduler, type AnyOptimizer, type PerGroup, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** The factor of an epoch's rate, by the epoch's number. */
export type RateFunction = (epoch: number) => number;

/** Options of LambdaLR and MultiplicativeLR. Reference: torch.optim.lr_scheduler.LambdaLR. */
export interface LambdaLROptions extends ScheduleOptions {
  /** The factor of a step; not part of the state dict. */
  readonly lrLambda: PerGroup<RateFunction>;
}

abstract class ByFunction extends LRScheduler {
  protected readonly functions: readonly RateFunction[];
  protected readonly remembered: readonly string[] = [];

  constructor(name: string, optimizer: AnyOptimizer, options: LambdaLROptions) {
    super(name, optimizer, options);
    this.functions = this.perGroup("lrLambda", options.lrLambda);
    for (const f of this.functions) if (typeof f !== "function") throw new ValueError(name, "lrLambda", "a function", typeof f);
    this.begin();
  }
}

/** The first rates times lrLambda(t). Reference: torch.optim.lr_scheduler.LambdaLR. */
export class LambdaLR extends ByFunction {
  constructor(optimizer: AnyOptimizer, lrLambda: PerGroup<RateFunction> | LambdaLROptions, options?: Partial<LambdaLROptions>) {
    const settings = byPosition<LambdaLROptions>("LambdaLR", ["lrLambda"], [lrLambda, options]);
    super("LambdaLR", optimizer, settings);
  }

  protected next(): readonly number[] {
    return this.baseLrs.map((lr, i) => lr * this.functions[i]!(this.lastEpoch));
  }
}

/** The rates before times lrLambda(t). Reference: torch.optim.lr_scheduler.MultiplicativeLR. */
export class MultiplicativeLR extends ByFunction {
  constructor(optimizer: AnyOptimizer, lrLambda: PerGroup<RateFunction> | LambdaLROptions, options?: Partial<LambdaLROptions>) {
    const settings = byPosition<LambdaLROptions>("MultiplicativeLR", ["lrLambda"], [lrLambda, options]);
    super("MultiplicativeLR", optimizer, settings);
  }

  protected next(): readonly number[] {
    return this.isInitial ? this.lrs : this.lrs.map((lr, i) => lr * this.functions[i]!(this.lastEpoch));
  }
}
export const lambdaLR = (
  optimizer: AnyOptimizer,
  lrLambda: PerGroup<RateFunction> | LambdaLROptions,
  options?: Partial<LambdaLROptions>,
): LambdaLR => new LambdaLR(optimizer, lrLambda, options);
export const multiplicativeLR = (
  optimizer: AnyOptimizer,
  lrLambda: PerGroup<RateFunction> | LambdaLROptions,
  options?: Partial<LambdaLROptions>,
): MultiplicativeLR => new MultiplicativeLR(optimizer, lrLambda, options);
