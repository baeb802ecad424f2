/** SWALR: rates that go to those of weight averaging, and stay there. */
import { ValueError } from "../../core/errors.ts";
import { byPosition } from "../../ops/declare/positional.ts";
import { LRScheduler, type AnyOptimizer, type PerGroup, type ScheduleOptions } from "./scheduler.ts";

/** Options of SWALR. Reference: torch.optim.swa_utils.SWALR. */
export interface SWALROptions extends ScheduleOptions {
  /** The rates at the end, one for all groups or one for each. */
  readonly swaLr: PerGroup;
  /** Steps until then. Default 10. */
  readonly annealEpochs?: number | undefined;
  /** Along a cosine or a line. Default "cos". */
  readonly annealStrategy?: "cos" | "linear" | undefined;
}

/** From the present rates to swaLr in annealEpochs steps, constant from then on. Reference: torch.optim.swa_utils.SWALR. */
export class SWALR extends LRScheduler {
  /** The rates at the end, by group. */
  swaLrs: readonly number[];
  /** Steps until then. */
  annealEpochs: number;
  /** Along a cosine or a line. */
  annealStrategy: "cos" | "linear";
  protected readonly remembered = ["swaLrs", "annealEpochs", "annealStrategy"];

  constructor(optimizer: AnyOptimizer, swaLr: PerGroup | SWALROptions, options?: Partial<SWALROptions>) {
    const settings = byPosition<SWALROptions>("SWALR", ["swaLr"], [swaLr, options]);
    super("SWALR", optimizer, settings);
    this.swaLrs = this.perGroup("swaLr", settings.swaLr).map((lr) => this.requireNumber("swaLr", lr));
    this.annealEpochs = this.requireInteger("annealEpochs", settings.annealEpochs ?? 10, 0);
    this.annealStrategy = settings.annealStrategy ?? "cos";
    if (this.annealStrategy !== "cos" && this.annealStrategy !== "linear")
      throw new ValueError("SWALR", "annealStrategy", '"cos" or "linear"', this.annealStrategy);
    this.begin();
  }

  #share(step: number): number {
    const t = Math.max(0, Math.min(1, step / Math.max(1, this.annealEpochs)));
    return this.annealStrategy === "cos" ? (1 - Math.cos(Math.PI * t)) / 2 : t;
  }

  protected next(): readonly number[] {
    const step = this.annealEpochs === 0 ? Math.max(1, this.stepCount - 1) : this.stepCount - 1;
    const [before, now] = [this.#share(step - 1), this.#share(step)];
    return this.lrs.map((lr, i) => {
      const end = this.swaLrs[i]!;
      const first = before === 1 ? end : (lr - before * end) / (1 - before);
      return end * now + first * (1 - now);
    });
  }
}

export const swaLR = (optimizer: AnyOptimizer, swaLr: PerGroup | SWALROptions, options?: Partial<SWALROptions>): SWALR =>
  new SWALR(optimizer, swaLr, options);
