/** The base of all schedules: what sets the learning rates of an optimizer's groups from step to step. */
import { ValueError } from "../../core/errors.ts";
import { changing, type Restore } from "../../core/journal.ts";
import { effect } from "../../core/tracer.ts";
import type { BaseOptions, Optimizer, ParamGroup } from "../optimizer.ts";

/** Any optimizer. */
export type AnyOptimizer = Optimizer;
export type AnyGroup = ParamGroup<BaseOptions & { betas?: readonly [number, number]; momentum?: number }>;

/** What a schedule has to remember, as plain data. */
export type ScheduleState = Readonly<Record<string, unknown>>;

/** What schedules have in common. */
export interface ScheduleOptions {
  /** The last step that was taken, from which a run resumes; -1 begins a new one. Default -1. */
  readonly lastEpoch?: number | undefined;
}

/** A number for all groups, or one for each. */
export type PerGroup<T = number> = T | readonly T[];

/** The base of all schedules, which set the learning rates of an optimizer's groups. Reference: torch.optim.lr_scheduler.LRScheduler. */
export abstract class LRScheduler {
  /** The optimizer whose rates it sets. */
  readonly optimizer: AnyOptimizer;
  /** The groups' rates before the schedule. */
  baseLrs: readonly number[];
  /** Steps taken since the schedule began. */
  lastEpoch: number;
  protected readonly name: string;
  /** The first rates are being set, by the schedule's making. */
  protected isInitial = false;
  protected stepCount = 0;
  #lastLr: readonly number[] = [];

  constructor(name: string, optimizer: AnyOptimizer, { lastEpoch = -1 }: ScheduleOptions = {}) {
    this.name = name;
    this.optimizer = optimizer;
    this.lastEpoch = lastEpoch;
    this.groups.forEach((group, i) => {
      if (lastEpoch === -1) group.initialLr ??= group.lr;
      else if (group.initialLr === undefined)
        throw new ValueError(name, `optimizer.paramGroups[${i}].initialLr`, "set, because lastEpoch is not -1", "undefined");
    });
    this.baseLrs = this.groups.map((g) => g.initialLr!);
  }

  protected get groups(): readonly AnyGroup[] {
    return this.optimizer.paramGroups as unknown as readonly AnyGroup[];
  }

  protected get lrs(): readonly number[] {
    return this.groups.map((g) => g.lr);
  }

  /** The groups' rates of step lastEpoch, mostly from those before. */
  protected abstract next(): readonly number[];

  /** The rates of step lastEpoch from the first ones; null where there is no such formula. */
  protected closedForm(): readonly number[] | null {
    return null;
  }

  /** Fields that stateDict() has in addition to the base's. */
  protected abstract readonly remembered: readonly string[];

  /** @internal Sets the first rates. */
  begin(): void {
    this.moving(() => {
      this.stepCount = 0;
      this.isInitial = true;
      try {
        this.step();
      } finally {
        this.isInitial = false;
      }
    });
  }

  /** The next step's rates: to be called after optimizer.step(). */
  step(): void {
    this.moving(() => {
      this.stepCount++;
      this.moveTo(null);
    });
  }

  /** Runs what changes the schedule and its groups' rates: a part of every call of a compiled function, which may be taken back. */
  protected moving(run: () => void): void {
    effect(() => {
      changing(this, () => this.#save());
      for (const group of this.groups) group.changing();
      run();
    });
  }

  #save(): Restore {
    const fields = Object.fromEntries(Object.entries(this));
    const lastLr = this.#lastLr;
    return () => {
      Object.assign(this, fields);
      this.#lastLr = lastLr;
    };
  }

  /** @internal The rates of the next step, or of a given one. */
  moveTo(epoch: number | null): void {
    this.moving(() => {
      this.lastEpoch = epoch ?? this.lastEpoch + 1;
      this.apply((epoch === null ? null : this.closedForm()) ?? this.next());
    });
  }

  protected apply(rates: readonly number[]): void {
    if (rates.length !== this.groups.length)
      throw new ValueError(
        this.name,
        "optimizer.paramGroups",
        `as many as when the schedule was made (${rates.length})`,
        this.groups.length,
      );
    this.groups.forEach((group, i) => {
      group.lr = rates[i]!;
    });
    this.noteRates();
  }

  /** @internal */
  noteRates(): void {
    this.#lastLr = this.lrs;
  }

  /** The rates that the last step set, by group. */
  getLastLr(): readonly number[] {
    return this.#lastLr;
  }

  /** One step back. @internal */
  undo(): void {
    this.lastEpoch--;
  }

  /** Plain data, from which loadStateDict() resumes. The optimizer's own rates are in its state dict. */
  stateDict(): ScheduleState {
    const own = this as unknown as Record<string, unknown>;
    const fields = Object.fromEntries(this.remembered.map((name) => [name, own[name]]));
    return structuredClone({
      lastEpoch: this.lastEpoch,
      stepCount: this.stepCount,
      baseLrs: this.baseLrs,
      lastLr: this.#lastLr,
      ...fields,
    });
  }

  /** Takes over what stateDict() gave. */
  loadStateDict(state: ScheduleState): void {
    const { lastLr, ...fields } = structuredClone(state);
    for (const name of ["lastEpoch", "stepCount", "baseLrs", ...this.remembered])
      if (!Object.hasOwn(fields, name)) throw new ValueError(`${this.name}.loadStateDict`, "state", `with ${name}`, Object.keys(state));
    Object.assign(this, Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(this, name))));
    this.#lastLr = (lastLr ?? []) as readonly number[];
  }

  protected requireInteger(option: string, value: number | undefined, min = 1): number {
    if (!Number.isInteger(value) || value! < min) throw new ValueError(this.name, option, `an integer of at least ${min}`, value);
    return value!;
  }

  protected requireNumber(option: string, value: number | undefined): number {
    if (typeof value !== "number" || Number.isNaN(value)) throw new ValueError(this.name, option, "a number", value);
    return value;
  }

  protected perGroup<T>(option: string, value: PerGroup<T>): readonly T[] {
    if (!Array.isArray(value)) return this.groups.map(() => value as T);
    if (value.length !== this.groups.length)
      throw new ValueError(this.name, option, `one for each of ${this.groups.length} groups`, value.length);
    return [...(value as readonly T[])];
  }
}
