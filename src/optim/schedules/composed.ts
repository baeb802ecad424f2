/** Schedules of schedules: one after the other, or all at once. */
import { ValueError } from "../../core/errors.ts";
import { ReduceLROnPlateau } from "./plateau.ts";
import { LRScheduler, type AnyOptimizer, type ScheduleState } from "./scheduler.ts";
import { byPosition } from "../../ops/declare/positional.ts";

abstract class Composed extends LRScheduler {
  /** The schedules, in order. */
  readonly schedulers: readonly LRScheduler[];
  protected readonly remembered: readonly string[] = [];

  constructor(name: string, optimizer: AnyOptimizer, schedulers: readonly LRScheduler[]) {
    if (schedulers.length === 0) throw new ValueError(name, "schedulers", "at least one", "none");
    schedulers.forEach((s, i) => {
      if (s instanceof ReduceLROnPlateau)
        throw new ValueError(name, `schedulers[${i}]`, "one whose step() needs no metric", "a ReduceLROnPlateau");
      if (s.optimizer !== optimizer) throw new ValueError(name, `schedulers[${i}]`, "of the same optimizer", "another one's");
    });
    super(name, optimizer);
    this.schedulers = schedulers;
  }

  protected next(): readonly number[] {
    throw new ValueError(this.name, "schedulers", "not sent to a step, as a part of another schedule", this.lastEpoch);
  }

  /** Takes back the step that was made last. */
  override undo(): void {
    for (const s of this.schedulers) s.undo();
  }

  override stateDict(): ScheduleState {
    return { ...super.stateDict(), schedulers: this.schedulers.map((s) => s.stateDict()) };
  }

  /** Takes over what stateDict() gave, also of the schedules inside. */
  override loadStateDict(state: ScheduleState): void {
    const { schedulers, ...own } = state;
    if (!Array.isArray(schedulers) || schedulers.length !== this.schedulers.length)
      throw new ValueError(`${this.name}.loadStateDict`, "schedulers", `of ${this.schedulers.length} schedules`, schedulers);
    super.loadStateDict(own);
    this.schedulers.forEach((s, i) => {
      s.loadStateDict(schedulers[i] as ScheduleState);
    });
  }
}

/** Options of SequentialLR. Reference: torch.optim.lr_scheduler.SequentialLR. */
export interface SequentialLROptions {
  /** The schedules, one after the other. */
  readonly schedulers: readonly LRScheduler[];
  /** Steps at which the next schedule takes over: one less than there are schedules. */
  readonly milestones: readonly number[];
}

/** One schedule after the other. Reference: torch.optim.lr_scheduler.SequentialLR. */
export class SequentialLR extends Composed {
  /** The steps at which the next schedule begins. */
  milestones: readonly number[];
  protected override readonly remembered = ["milestones"];

  constructor(optimizer: AnyOptimizer, schedulers: readonly LRScheduler[] | SequentialLROptions, milestones?: readonly number[]) {
    const settings = byPosition<SequentialLROptions>("SequentialLR", ["schedulers", "milestones"], [schedulers, milestones]);
    const { schedulers: parts, milestones: starts } = settings;
    super("SequentialLR", optimizer, parts);
    if (starts.length !== parts.length - 1)
      throw new ValueError("SequentialLR", "milestones", `${parts.length - 1}, one less than schedules`, starts.length);
    this.milestones = [...starts];
    this.lastEpoch = 0;
    // Each schedule has set its first rates when it was made.
    for (const group of this.groups) group.lr = group.initialLr!;
    this.undo();
    this.#current(0).begin();
    this.noteRates();
  }

  #current(epoch: number): LRScheduler {
    return this.schedulers[this.milestones.filter((m) => m <= epoch).length]!;
  }

  override step(): void {
    this.moving(() => {
      this.lastEpoch++;
      const schedule = this.#current(this.lastEpoch);
      if (this.milestones.includes(this.lastEpoch)) schedule.moveTo(0);
      else schedule.step();
      this.noteRates();
    });
  }
}

/** Options of ChainedScheduler. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export interface ChainedSchedulerOptions {
  /** The schedules, all of which act in each step. */
  readonly schedulers: readonly LRScheduler[];
}

/** All schedules in each step, each upon the rates that the one before set. Reference: torch.optim.lr_scheduler.ChainedScheduler. */
export class ChainedScheduler extends Composed {
  constructor(schedulers: readonly LRScheduler[] | ChainedSchedulerOptions) {
    const { schedulers: parts } = byPosition<ChainedSchedulerOptions>("ChainedScheduler", ["schedulers"], [schedulers]);
    super("ChainedScheduler", parts[0]?.optimizer as AnyOptimizer, parts);
    this.noteRates();
  }

  override step(): void {
    this.moving(() => {
      for (const s of this.schedulers) s.step();
      this.noteRates();
    });
  }
}
export const sequentialLR = (
  optimizer: AnyOptimizer,
  schedulers: readonly LRScheduler[] | SequentialLROptions,
  milestones?: readonly number[],
): SequentialLR => new SequentialLR(optimizer, schedulers, milestones);
export const chainedScheduler = (schedulers: readonly LRScheduler[] | ChainedSchedulerOptions): ChainedScheduler =>
  new ChainedScheduler(schedulers);
