/** One rise and one long fall of the rates, the momentum against them. */
import { ValueError } from "../../core/errors.ts";
import { requireMomentum, setMomentum } from "./momentum.ts";
import { LRScheduler, type AnyOptimizer, type PerGroup, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** Options of OneCycleLR. Reference: torch.optim.lr_scheduler.OneCycleLR. */
export interface OneCycleLROptions extends ScheduleOptions {
  /** The upper rate: one, or one for each group. */
  readonly maxLr: PerGroup;
  /** Steps in all; or epochs and stepsPerEpoch. */
  readonly totalSteps?: number | undefined;
  /** Epochs, where totalSteps is not given. */
  readonly epochs?: number | undefined;
  /** Steps of each epoch, where totalSteps is not given. */
  readonly stepsPerEpoch?: number | undefined;
  /** Share of the steps in which the rates rise. Default 0.3. */
  readonly pctStart?: number | undefined;
  /** Default "cos". */
  readonly annealStrategy?: "cos" | "linear" | undefined;
  /** Move momentum (or the first of betas) too. Default true. */
  readonly cycleMomentum?: boolean | undefined;
  /** The least momentum, at the largest rate. Default 0.85. */
  readonly baseMomentum?: PerGroup | undefined;
  /** Default 0.95. */
  readonly maxMomentum?: PerGroup | undefined;
  /** The first rate is maxLr / divFactor. Default 25. */
  readonly divFactor?: number | undefined;
  /** The last rate is the first one / finalDivFactor. Default 1e4. */
  readonly finalDivFactor?: number | undefined;
  /** Fall to the first rate as fast as it rose, then to the last one. Default false. */
  readonly threePhase?: boolean | undefined;
}

type Rate = "initial" | "max" | "min";

interface Phase {
  readonly end: number;
  readonly from: Rate;
  readonly to: Rate;
}

const shapes = {
  cos: (from: number, to: number, share: number): number => to + ((from - to) / 2) * (Math.cos(Math.PI * share) + 1),
  linear: (from: number, to: number, share: number): number => (to - from) * share + from,
};

/**
 * Rates from maxLr / divFactor up to maxLr and down to a tiny one, momentum from maxMomentum to baseMomentum and back.
 * Reference: torch.optim.lr_scheduler.OneCycleLR.
 */
export class OneCycleLR extends LRScheduler {
  /** Steps of the whole cycle. */
  totalSteps: number;
  /** The phases: up, down, and where there are three, further down. */
  phases: readonly Phase[];
  /** Whether rates follow a cosine or a line. */
  annealStrategy: "cos" | "linear";
  /** Whether momentum moves against the rate. */
  cycleMomentum: boolean;
  /** The upper rate of each group. */
  maxLrs: readonly number[];
  /** The last rate of each group. */
  minLrs: readonly number[];
  /** The lower momentum of each group. */
  baseMomentums: readonly number[];
  /** The upper momentum of each group. */
  maxMomentums: readonly number[];
  protected readonly remembered = [
    "totalSteps",
    "phases",
    "annealStrategy",
    "cycleMomentum",
    "maxLrs",
    "minLrs",
    "baseMomentums",
    "maxMomentums",
  ];

  constructor(
    optimizer: AnyOptimizer,
    maxLr: PerGroup | OneCycleLROptions,
    totalSteps?: number | Partial<OneCycleLROptions>,
    options?: Partial<OneCycleLROptions>,
  ) {
    const settings = byPosition<OneCycleLROptions>("OneCycleLR", ["maxLr", "totalSteps"], [maxLr, totalSteps, options]);
    super("OneCycleLR", optimizer, settings);
    const { pctStart = 0.3, divFactor = 25, finalDivFactor = 1e4, threePhase = false } = settings;
    this.totalSteps = this.#total(settings);
    if (!(pctStart >= 0 && pctStart <= 1)) throw new ValueError("OneCycleLR", "pctStart", "in [0, 1]", pctStart);
    this.annealStrategy = settings.annealStrategy ?? "cos";
    if (!Object.hasOwn(shapes, this.annealStrategy))
      throw new ValueError("OneCycleLR", "annealStrategy", "cos or linear", this.annealStrategy);
    const up: Phase = { end: pctStart * this.totalSteps - 1, from: "initial", to: "max" };
    const last = this.totalSteps - 1;
    this.phases = threePhase
      ? [up, { end: 2 * pctStart * this.totalSteps - 2, from: "max", to: "initial" }, { end: last, from: "initial", to: "min" }]
      : [up, { end: last, from: "max", to: "min" }];
    this.maxLrs = this.perGroup("maxLr", settings.maxLr);
    this.maxLrs.forEach((lr) => this.requireNumber("maxLr", lr));
    if (this.lastEpoch === -1)
      this.groups.forEach((group, i) => {
        group.initialLr = this.maxLrs[i]! / divFactor;
      });
    this.baseLrs = this.groups.map((g) => g.initialLr!);
    this.minLrs = this.baseLrs.map((lr) => lr / finalDivFactor);
    this.cycleMomentum = settings.cycleMomentum ?? true;
    this.baseMomentums = this.perGroup("baseMomentum", settings.baseMomentum ?? 0.85);
    this.maxMomentums = this.perGroup("maxMomentum", settings.maxMomentum ?? 0.95);
    if (this.cycleMomentum) requireMomentum("OneCycleLR", optimizer);
    this.begin();
  }

  #total({ totalSteps, epochs, stepsPerEpoch }: OneCycleLROptions): number {
    if (totalSteps !== undefined) return this.requireInteger("totalSteps", totalSteps);
    if (epochs === undefined || stepsPerEpoch === undefined)
      throw new ValueError("OneCycleLR", "totalSteps", "given, or epochs and stepsPerEpoch", "neither");
    return this.requireInteger("epochs", epochs) * this.requireInteger("stepsPerEpoch", stepsPerEpoch);
  }

  protected next(): readonly number[] {
    const t = this.lastEpoch;
    if (t > this.totalSteps) throw new ValueError("OneCycleLR", "step", `called at most ${this.totalSteps} times`, t);
    const at = Math.max(
      this.phases.findIndex(({ end }) => t <= end),
      t > this.phases.at(-1)!.end ? this.phases.length - 1 : 0,
    );
    const phase = this.phases[at]!;
    const start = at === 0 ? 0 : this.phases[at - 1]!.end;
    const share = (t - start) / (phase.end - start);
    const shape = shapes[this.annealStrategy];
    return this.groups.map((group, i) => {
      const rates = { initial: this.baseLrs[i]!, max: this.maxLrs[i]!, min: this.minLrs[i]! };
      // Momentum is least where the rate is largest.
      const momenta = { initial: this.maxMomentums[i]!, max: this.baseMomentums[i]!, min: this.maxMomentums[i]! };
      if (this.cycleMomentum) setMomentum(group, shape(momenta[phase.from], momenta[phase.to], share));
      return shape(rates[phase.from], rates[phase.to], share);
    });
  }
}
export const oneCycleLR = (
  optimizer: AnyOptimizer,
  maxLr: PerGroup | OneCycleLROptions,
  totalSteps?: number | Partial<OneCycleLROptions>,
  options?: Partial<OneCycleLROptions>,
): OneCycleLR => new OneCycleLR(optimizer, maxLr, totalSteps, options);
