/** Rates that follow half a cosine, once or again and again. */
import { LRScheduler, type AnyOptimizer, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** Options of CosineAnnealingLR. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export interface CosineAnnealingLROptions extends ScheduleOptions {
  /** Steps from the first rate to the least one. */
  readonly tMax: number;
  /** The least rate. Default 0. */
  readonly etaMin?: number | undefined;
}

/** etaMin + (lr - etaMin) (1 + cos(π t / tMax)) / 2. Reference: torch.optim.lr_scheduler.CosineAnnealingLR. */
export class CosineAnnealingLR extends LRScheduler {
  /** Steps of half a period. */
  tMax: number;
  /** The least rate. */
  etaMin: number;
  protected readonly remembered = ["tMax", "etaMin"];

  constructor(
    optimizer: AnyOptimizer,
    tMax: number | CosineAnnealingLROptions,
    etaMin?: number | Partial<CosineAnnealingLROptions>,
    options?: Partial<CosineAnnealingLROptions>,
  ) {
    const settings = byPosition<CosineAnnealingLROptions>("CosineAnnealingLR", ["tMax", "etaMin"], [tMax, etaMin, options]);
    super("CosineAnnealingLR", optimizer, settings);
    this.tMax = this.requireInteger("tMax", settings.tMax);
    this.etaMin = this.requireNumber("etaMin", settings.etaMin ?? 0);
    this.begin();
  }

  protected next(): readonly number[] {
    const { lastEpoch: t, tMax, etaMin } = this;
    if (this.isInitial) return this.lrs;
    if (this.stepCount === 1 && t > 0) return this.closedForm();
    // The formula below would divide by the height at the least rate, which is 0.
    if ((t - 1 - tMax) % (2 * tMax) === 0)
      return this.lrs.map((lr, i) => lr + ((this.baseLrs[i]! - etaMin) * (1 - Math.cos(Math.PI / tMax))) / 2);
    const ratio = (1 + Math.cos((Math.PI * t) / tMax)) / (1 + Math.cos((Math.PI * (t - 1)) / tMax));
    return this.lrs.map((lr) => ratio * (lr - etaMin) + etaMin);
  }

  protected override closedForm(): readonly number[] {
    const height = (1 + Math.cos((Math.PI * this.lastEpoch) / this.tMax)) / 2;
    return this.baseLrs.map((lr) => this.etaMin + (lr - this.etaMin) * height);
  }
}

/** Options of CosineAnnealingWarmRestarts. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export interface CosineAnnealingWarmRestartsOptions extends ScheduleOptions {
  /** Steps of the first fall. */
  readonly t0: number;
  /** How many times longer each next one is. Default 1. */
  readonly tMult?: number | undefined;
  /** The least rate. Default 0. */
  readonly etaMin?: number | undefined;
}

/** Half a cosine that starts again when it has ended. Reference: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts. */
export class CosineAnnealingWarmRestarts extends LRScheduler {
  /** Steps of the first period. */
  t0: number;
  /** By how much each period is longer than the one before. */
  tMult: number;
  /** The least rate. */
  etaMin: number;
  /** Steps since the last start, and those of the present fall. */
  tCur: number;
  /** Steps of the present period. */
  tI: number;
  protected readonly remembered = ["t0", "tMult", "etaMin", "tCur", "tI"];

  constructor(
    optimizer: AnyOptimizer,
    t0: number | CosineAnnealingWarmRestartsOptions,
    tMult?: number | Partial<CosineAnnealingWarmRestartsOptions>,
    options?: Partial<CosineAnnealingWarmRestartsOptions>,
  ) {
    const settings = byPosition<CosineAnnealingWarmRestartsOptions>("CosineAnnealingWarmRestarts", ["t0", "tMult"], [t0, tMult, options]);
    super("CosineAnnealingWarmRestarts", optimizer, settings);
    this.t0 = this.requireInteger("t0", settings.t0);
    this.tMult = this.requireInteger("tMult", settings.tMult ?? 1);
    this.etaMin = this.requireNumber("etaMin", settings.etaMin ?? 0);
    this.tCur = this.lastEpoch;
    this.tI = this.t0;
    this.begin();
  }

  protected next(): readonly number[] {
    const height = (1 + Math.cos((Math.PI * this.tCur) / this.tI)) / 2;
    return this.baseLrs.map((lr) => this.etaMin + (lr - this.etaMin) * height);
  }

  /** The next step's rates, or those of a given step, which may be a fraction. */
  override step(epoch?: number): void {
    this.moving(() => {
      this.stepCount++;
      if (epoch === undefined && this.lastEpoch >= 0) {
        this.tCur++;
        if (this.tCur >= this.tI) {
          this.tCur %= this.tI;
          this.tI *= this.tMult;
        }
        this.lastEpoch++;
      } else {
        this.#locate(epoch ?? 0);
        this.lastEpoch = Math.floor(epoch ?? 0);
      }
      this.apply(this.next());
    });
  }

  #locate(epoch: number): void {
    const { t0, tMult } = this;
    if (epoch < t0) {
      [this.tCur, this.tI] = [epoch, t0];
    } else if (tMult === 1) {
      this.tCur = epoch % t0;
    } else {
      const n = Math.floor(Math.log((epoch / t0) * (tMult - 1) + 1) / Math.log(tMult));
      this.tCur = epoch - (t0 * (tMult ** n - 1)) / (tMult - 1);
      this.tI = t0 * tMult ** n;
    }
  }
}
export const cosineAnnealingLR = (
  optimizer: AnyOptimizer,
  tMax: number | CosineAnnealingLROptions,
  etaMin?: number | Partial<CosineAnnealingLROptions>,
  options?: Partial<CosineAnnealingLROptions>,
): CosineAnnealingLR => new CosineAnnealingLR(optimizer, tMax, etaMin, options);
export const cosineAnnealingWarmRestarts = (
  optimizer: AnyOptimizer,
  t0: number | CosineAnnealingWarmRestartsOptions,
  tMult?: number | Partial<CosineAnnealingWarmRestartsOptions>,
  options?: Partial<CosineAnnealingWarmRestartsOptions>,
): CosineAnnealingWarmRestarts => new CosineAnnealingWarmRestarts(optimizer, t0, tMult, options);
