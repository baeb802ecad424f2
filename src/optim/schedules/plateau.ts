/** Rates that fall when a quantity no longer gets better. */
import { ValueError } from "../../core/errors.ts";
import { LRScheduler, type AnyOptimizer, type PerGroup } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** Options of ReduceLROnPlateau. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export interface ReduceLROnPlateauOptions {
  /** Whether less or more is better. Default "min". */
  readonly mode?: "min" | "max" | undefined;
  /** Below 1. Default 0.1. */
  readonly factor?: number | undefined;
  /** Steps without an improvement that are borne. Default 10. */
  readonly patience?: number | undefined;
  /** What an improvement is at least. Default 1e-4. */
  readonly threshold?: number | undefined;
  /** Whether the threshold is a share of the best value, or a difference. Default "rel". */
  readonly thresholdMode?: "rel" | "abs" | undefined;
  /** Steps after a fall that do not count. Default 0. */
  readonly cooldown?: number | undefined;
  /** Default 0. */
  readonly minLr?: PerGroup | undefined;
  /** The least fall that is done. Default 1e-8. */
  readonly eps?: number | undefined;
}

/** The rates times factor after more than `patience` steps without an improvement. Reference: torch.optim.lr_scheduler.ReduceLROnPlateau. */
export class ReduceLROnPlateau extends LRScheduler {
  /** Whether less or more is better. */
  mode: "min" | "max";
  /** By how much rates shrink. */
  factor: number;
  /** Epochs without improvement that are let pass. */
  patience: number;
  /** How much better counts as better. */
  threshold: number;
  /** Whether the threshold is relative or absolute. */
  thresholdMode: "rel" | "abs";
  /** Epochs after a change that do not count. */
  cooldown: number;
  /** The least rate of each group. */
  minLrs: readonly number[];
  /** Smaller changes are left out. */
  eps: number;
  /** The best number so far. */
  best: number;
  /** Epochs of the cooldown that are left. */
  cooldownCounter = 0;
  /** Epochs without improvement so far. */
  numBadEpochs = 0;
  protected readonly remembered = [
    "mode",
    "factor",
    "patience",
    "threshold",
    "thresholdMode",
    "cooldown",
    "minLrs",
    "eps",
    "best",
    "cooldownCounter",
    "numBadEpochs",
  ];

  constructor(
    optimizer: AnyOptimizer,
    mode?: "min" | "max" | ReduceLROnPlateauOptions,
    factor?: number | Partial<ReduceLROnPlateauOptions>,
    options?: Partial<ReduceLROnPlateauOptions>,
  ) {
    const settings = byPosition<ReduceLROnPlateauOptions>("ReduceLROnPlateau", ["mode", "factor"], [mode, factor, options]);
    super("ReduceLROnPlateau", optimizer);
    this.lastEpoch = 0;
    this.mode = settings.mode ?? "min";
    this.thresholdMode = settings.thresholdMode ?? "rel";
    this.factor = settings.factor ?? 0.1;
    if (this.mode !== "min" && this.mode !== "max") throw new ValueError("ReduceLROnPlateau", "mode", "min or max", this.mode);
    if (this.thresholdMode !== "rel" && this.thresholdMode !== "abs")
      throw new ValueError("ReduceLROnPlateau", "thresholdMode", "rel or abs", this.thresholdMode);
    if (!(this.factor < 1)) throw new ValueError("ReduceLROnPlateau", "factor", "below 1", this.factor);
    this.patience = settings.patience ?? 10;
    this.threshold = settings.threshold ?? 1e-4;
    this.cooldown = settings.cooldown ?? 0;
    this.minLrs = this.perGroup("minLr", settings.minLr ?? 0);
    this.eps = settings.eps ?? 1e-8;
    this.best = this.mode === "min" ? Infinity : -Infinity;
    this.noteRates();
  }

  protected next(): readonly number[] {
    return this.lrs.map((lr, i) => {
      const lower = Math.max(lr * this.factor, this.minLrs[i]!);
      return lr - lower > this.eps ? lower : lr;
    });
  }

  /** metric: the quantity after this step, for example `await loss.item()`. */
  override step(metric?: number): void {
    if (typeof metric !== "number") throw new ValueError("ReduceLROnPlateau", "metric", "a number", metric);
    this.moving(() => {
      this.lastEpoch++;
      if (this.#isBetter(metric)) {
        this.best = metric;
        this.numBadEpochs = 0;
      } else this.numBadEpochs++;
      if (this.cooldownCounter > 0) {
        this.cooldownCounter--;
        this.numBadEpochs = 0;
      }
      if (this.numBadEpochs > this.patience) {
        this.apply(this.next());
        this.cooldownCounter = this.cooldown;
        this.numBadEpochs = 0;
      }
      this.noteRates();
    });
  }

  #isBetter(metric: number): boolean {
    const { best, threshold } = this;
    if (this.thresholdMode === "rel") return this.mode === "min" ? metric < best * (1 - threshold) : metric > best * (threshold + 1);
    return this.mode === "min" ? metric < best - threshold : metric > best + threshold;
  }
}
export const reduceLROnPlateau = (
  optimizer: AnyOptimizer,
  mode?: "min" | "max" | ReduceLROnPlateauOptions,
  factor?: number | Partial<ReduceLROnPlateauOptions>,
  options?: Partial<ReduceLROnPlateauOptions>,
): ReduceLROnPlateau => new ReduceLROnPlateau(optimizer, mode, factor, options);
