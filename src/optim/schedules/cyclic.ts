/** Rates that go up and down between two bounds. */
import { ValueError } from "../../core/errors.ts";
import { requireMomentum, setMomentum } from "./momentum.ts";
import { LRScheduler, type AnyOptimizer, type PerGroup, type ScheduleOptions } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

/** How cycles shrink: not, by half each, or by a power of gamma. */
export type CyclicMode = "triangular" | "triangular2" | "expRange" | "exp_range";

/** Options of CyclicLR. Reference: torch.optim.lr_scheduler.CyclicLR. */
export interface CyclicLROptions extends ScheduleOptions {
  /** The lower rate: one, or one for each group. */
  readonly baseLr: PerGroup;
  /** The upper rate: one, or one for each group. */
  readonly maxLr: PerGroup;
  /** Steps of a rise. Default 2000. */
  readonly stepSizeUp?: number | undefined;
  /** Steps of a fall. Default stepSizeUp. */
  readonly stepSizeDown?: number | undefined;
  /** The height of a cycle: the same, half of that before, or gamma^t. Default "triangular". */
  readonly mode?: CyclicMode | undefined;
  /** Default 1. */
  readonly gamma?: number | undefined;
  /** The height of a cycle, in place of mode's; not part of the state dict. */
  readonly scaleFn?: ((x: number) => number) | undefined;
  /** Whether scaleFn is given the cycle, from 1, or the step. Default "cycle". */
  readonly scaleMode?: "cycle" | "iterations" | undefined;
  /** Move momentum (or the first of betas) too. Default true. */
  readonly cycleMomentum?: boolean | undefined;
  /** The least momentum, at the largest rate. Default 0.8. */
  readonly baseMomentum?: PerGroup | undefined;
  /** Default 0.9. */
  readonly maxMomentum?: PerGroup | undefined;
}

const modes: Readonly<Record<CyclicMode, (x: number, gamma: number) => number>> = {
  triangular: () => 1,
  triangular2: (cycle) => 1 / 2 ** (cycle - 1),
  expRange: (t, gamma) => gamma ** t,
  exp_range: (t, gamma) => gamma ** t,
};

/** baseLr + (maxLr - baseLr) * the height of a triangle; momentum against it. Reference: torch.optim.lr_scheduler.CyclicLR. */
export class CyclicLR extends LRScheduler {
  /** The upper rate of each group. */
  maxLrs: readonly number[];
  /** Steps of one cycle. */
  totalSize: number;
  /** The part of a cycle in which the rate grows. */
  stepRatio: number;
  /** How cycles shrink. */
  mode: CyclicMode;
  /** The base of mode "expRange". */
  gamma: number;
  /** Whether the amplitude follows the cycles or the steps. */
  scaleMode: "cycle" | "iterations";
  /** Whether momentum moves against the rate. */
  cycleMomentum: boolean;
  /** The lower momentum of each group. */
  baseMomentums: readonly number[];
  /** The upper momentum of each group. */
  maxMomentums: readonly number[];
  readonly #scale: ((x: number) => number) | null;
  protected readonly remembered = [
    "maxLrs",
    "totalSize",
    "stepRatio",
    "mode",
    "gamma",
    "scaleMode",
    "cycleMomentum",
    "baseMomentums",
    "maxMomentums",
  ];

  constructor(
    optimizer: AnyOptimizer,
    baseLr: PerGroup | CyclicLROptions,
    maxLr?: PerGroup | Partial<CyclicLROptions>,
    options?: Partial<CyclicLROptions>,
  ) {
    const settings = byPosition<CyclicLROptions>("CyclicLR", ["baseLr", "maxLr"], [baseLr, maxLr, options]);
    super("CyclicLR", optimizer, settings);
    const { stepSizeUp: up = 2000, stepSizeDown: down = up, scaleFn, gamma = 1, mode = "triangular" } = settings;
    const lows = this.perGroup("baseLr", settings.baseLr).map((lr) => this.requireNumber("baseLr", lr));
    this.maxLrs = this.perGroup("maxLr", settings.maxLr).map((lr) => this.requireNumber("maxLr", lr));
    this.totalSize = this.requireNumber("stepSizeUp", up) + this.requireNumber("stepSizeDown", down);
    this.stepRatio = up / this.totalSize;
    if (!Object.hasOwn(modes, mode) && scaleFn === undefined)
      throw new ValueError("CyclicLR", "mode", "triangular, triangular2 or expRange", mode);
    this.mode = mode;
    this.gamma = gamma;
    this.#scale = scaleFn ?? null;
    this.scaleMode =
      scaleFn === undefined ? (mode === "expRange" || mode === "exp_range" ? "iterations" : "cycle") : (settings.scaleMode ?? "cycle");
    this.cycleMomentum = settings.cycleMomentum ?? true;
    this.baseMomentums = this.perGroup("baseMomentum", settings.baseMomentum ?? 0.8);
    this.maxMomentums = this.perGroup("maxMomentum", settings.maxMomentum ?? 0.9);
    if (this.cycleMomentum) requireMomentum("CyclicLR", optimizer);
    this.baseLrs = lows;
    this.begin();
  }

  protected next(): readonly number[] {
    const t = this.lastEpoch;
    const cycle = Math.floor(1 + t / this.totalSize);
    const x = 1 + t / this.totalSize - cycle;
    const share = x <= this.stepRatio ? x / this.stepRatio : (x - 1) / (this.stepRatio - 1);
    const argument = this.scaleMode === "cycle" ? cycle : t;
    const scale = this.#scale === null ? modes[this.mode](argument, this.gamma) : this.#scale(argument);
    return this.groups.map((group, i) => {
      const [low, high] = [this.baseMomentums[i]!, this.maxMomentums[i]!];
      if (this.cycleMomentum) setMomentum(group, high - (high - low) * share * scale);
      return this.baseLrs[i]! + (this.maxLrs[i]! - this.baseLrs[i]!) * share * scale;
    });
  }
}
export const cyclicLR = (
  optimizer: AnyOptimizer,
  baseLr: PerGroup | CyclicLROptions,
  maxLr?: PerGroup | Partial<CyclicLROptions>,
  options?: Partial<CyclicLROptions>,
): CyclicLR => new CyclicLR(optimizer, baseLr, maxLr, options);
