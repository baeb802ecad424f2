/** What an optimizer keeps of those parameters of a group that have one device and dtype: their layout, their state, what a step does. */
import { DeviceError, ValueError } from "../core/errors.ts";
import { sameData } from "../graph/key.ts";
import { changing, hasChanged, isJournaled } from "../core/journal.ts";
import { copyInto } from "../ops/data/copy.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer, type Tracer } from "../core/tracer.ts";
import { Clock, scalarBuffer, writeScalar, type ClockRule, type Counted } from "./clock.ts";
import { Partition, type StateForm } from "./flat.ts";
import type { BaseOptions, ParamGroup } from "./group.ts";
import { Plan } from "./parameter-runs.ts";
import type { Kept, Rule } from "./rule.ts";

/** How an optimizer counts, moves and begins. */
export interface Recipe<O extends BaseOptions> {
  readonly name: string;
  rule(): Rule;
  rates(options: O): readonly number[];
  fixed(options: O): object;
  /** Whether each parameter is a unit by itself, in its shape. */
  readonly isPerParameter: boolean;
  stateNames(options: O, shape: Shape): readonly string[];
  /** How a state differs from its parameter. */
  stateForm(name: string, options: O, shape: Shape): Partial<StateForm>;
  /** What a state is before the first step. */
  initialState(name: string, options: O, shape: Shape): number;
}

/** Plans that are kept: parameters that have gradients in turns have as many. */
const PLANS = 8;
const NO_CLOCKS: readonly Clock[] = [];

/** What one step does to a unit. */
export interface Work<O extends BaseOptions> extends Counted {
  readonly unit: Unit<O>;
  readonly plan: Plan;
  /** Clocks that an earlier step of the same call of a compiled function has moved on. */
  readonly moved: readonly Clock[];
  /** Those of them whose counters the step has to count again. */
  readonly stale: readonly Clock[];
}

export class Unit<O extends BaseOptions> {
  readonly group: ParamGroup<O>;
  readonly partition: Partition;
  readonly #recipe: Recipe<O>;
  /** What is kept of parameters in half precision. */
  readonly kept: Kept;
  /** By parameter; null: it has taken no step and has no state. */
  readonly #clocks: (Clock | null)[];
  /** The clock that was made last for first steps: where they were taken back, it is that of the next. */
  #first: Clock | null = null;
  #plan: Plan | null = null;
  #plans: Plan[] = [];
  /** The rates on the device, with what lies there. */
  #rateBuffers: readonly Tensor[] = [];
  #written: readonly number[] = [];

  constructor(owner: object, recipe: Recipe<O>, group: ParamGroup<O>, parameters: readonly Tensor[]) {
    this.#recipe = recipe;
    this.group = group;
    const { masterWeights, kahan } = group.options;
    const { dtype } = parameters[0]!;
    this.kept = dtype === "float32" ? "none" : masterWeights === true ? "master_weight" : kahan === true ? "kahan_compensation" : "none";
    const common: Partial<StateForm> = this.kept === "master_weight" ? { dtype: "float32" } : {};
    this.partition = new Partition(owner, parameters, (name) =>
      name === this.kept ? common : { ...common, ...recipe.stateForm(name, group.options, this.#shape) },
    );
    this.partition.arrange();
    for (const name of this.stateNames) this.partition.stateOf(name, this.#initialState(name));
    this.#clocks = parameters.map(() => null);
  }

  /** The first parameter's. */
  get #shape(): Shape {
    return this.partition.parameters[0]!.shape;
  }

  get #counting(): ClockRule {
    return this.#recipe.rule().clock;
  }

  /** Names of the state that each parameter has. */
  get stateNames(): readonly string[] {
    const own = this.#recipe.stateNames(this.group.options, this.#shape);
    return this.kept === "none" ? own : [...own, this.kept];
  }

  /** What is kept of half precision starts at 0: the first step takes the parameter's own value. */
  #initialState(name: string): number {
    return name === this.kept ? 0 : this.#recipe.initialState(name, this.group.options, this.#shape);
  }

  /** The group's rates now. */
  get rates(): readonly number[] {
    return this.#recipe.rates(this.group.options);
  }

  get counted(): Counted {
    const { options } = this.group;
    return { rates: this.#recipe.rates(options), fixed: this.#recipe.fixed(options) };
  }

  /** Counters of a parameter, if it has taken a step. */
  clockOf(index: number): Clock | null {
    return this.#clocks[index]!;
  }

  /** Takes over the state of parameters that others kept. */
  inherit(old: readonly Unit<O>[]): void {
    const moved = new Map<Clock, Clock>();
    this.partition.parameters.forEach((p, i) => {
      const from = old.find((u) => u.partition.parameters.includes(p))!;
      const j = from.partition.parameters.indexOf(p);
      const clock = from.#clocks[j]!;
      if (clock === null) return;
      for (const name of from.partition.state.keys()) {
        // What is kept of another dtype is copied again.
        if (name === from.kept && name !== this.kept) continue;
        const before = from.partition.stateView(name, j);
        this.#fill(name, i, before);
        before.dispose();
      }
      let here = moved.get(clock);
      if (here === undefined) {
        here = Clock.start(this.partition.device, this.#counting, clock.counted);
        here.values.forEach((t, k) => copyInto(this.#recipe.name, t, clock.values[k]!));
        moved.set(clock, here);
      }
      this.#clocks[i] = here;
    });
  }

  #fill(name: string, index: number, value: Tensor): void {
    const view = this.partition.stateView(name, index);
    copyInto(this.#recipe.name, view, value);
    view.dispose();
  }

  /** To be called before anything but buffers changes. */
  #changing(): void {
    changing(this, () => {
      const [clocks, plan, plans] = [[...this.#clocks], this.#plan, [...this.#plans]];
      const counted = new Map(clocks.flatMap((c) => (c === null ? [] : [[c, c.counted] as const])));
      return () => {
        clocks.forEach((c, i) => {
          this.#clocks[i] = c;
        });
        this.#plan = plan;
        this.#plans = plans;
        for (const [clock, before] of counted) clock.counted = before;
      };
    });
  }

  /** What a step does now, with the gradients that are there. */
  prepare(t: Tracer | null): Work<O> {
    const counted = this.counted;
    const names = this.stateNames;
    if (this.#recipe.isPerParameter) this.#requireSameState(names);
    if (this.#clocks.includes(null)) this.#begin(counted, names);
    const isCurrent = (p: Plan): boolean => p.isCurrent(this.#clocks) && p.states.length === names.length;
    if (this.#plan === null || !isCurrent(this.#plan)) {
      this.#changing();
      this.#requireSameDevice();
      this.#split(counted);
      this.#plan = this.#plans.find(isCurrent) ?? this.#newPlan(names);
    }
    let moved = NO_CLOCKS;
    let stale = NO_CLOCKS;
    for (const clock of this.#plan.clocks) {
      const isMoved = t !== null && clock.movedBy === t.id;
      if (isMoved) moved = [...moved, clock];
      clock.movedBy = t?.id ?? 0;
      if (!clock.isStale(this.#counting, counted)) continue;
      if (isMoved) stale = [...stale, clock];
      else this.#settle(clock, counted);
    }
    return { unit: this, plan: this.#plan, moved, stale, ...counted };
  }

  #newPlan(names: readonly string[]): Plan {
    const plan = new Plan(this.partition, this.#clocks, names, this.#recipe.isPerParameter);
    this.#plans.push(plan);
    // What a call that is taken back has replaced is needed again.
    if (this.#plans.length > PLANS && !isJournaled()) this.#plans.shift()!.dispose();
    return plan;
  }

  /** Parameters that take their first step get state, with the options of that step. */
  #begin(counted: Counted, names: readonly string[]): void {
    let clock: Clock | null = null;
    this.partition.parameters.forEach((p, i) => {
      if (this.#clocks[i] !== null || p.grad === null) return;
      if (clock === null) {
        this.#changing();
        clock = this.#firstClock(counted);
      }
      for (const name of names) this.partition.begin(name, i, this.#initialState(name));
      this.#clocks[i] = clock;
    });
  }

  #firstClock(counted: Counted): Clock {
    const first = this.#first;
    const isUnused = first !== null && !this.#clocks.includes(first) && sameData(first.counted, counted);
    return (this.#first = isUnused ? first : Clock.start(this.partition.device, this.#counting, counted));
  }

  /** The form of the state of a parameter by itself is decided when the optimizer is made. */
  #requireSameState(names: readonly string[]): void {
    const known = [...this.partition.state.keys()];
    if (known.length !== names.length) throw new ValueError(this.#recipe.name, "options", `such that the state is ${known.join(", ")}`, names.join(", ")); // prettier-ignore
  }

  #requireSameDevice(): void {
    const { parameters, device, dtype } = this.partition;
    for (const p of parameters)
      if (p.device !== device || p.dtype !== dtype)
        throw new DeviceError(
          this.#recipe.name,
          "parameter",
          `as before the compiled function (${dtype} on ${device})`,
          `${p.describe()} on ${p.device}`,
          "Call step() once outside of compiled functions after moving a model.",
        );
  }

  /** Parameters without a gradient take no step: from now on their clock is another one than the others'. */
  #split(counted: Counted): void {
    const clocks = this.#clocks;
    const { length } = this.#counting.counters(counted.fixed);
    // Options that count differently start again.
    if (clocks.some((c) => c !== null && c.values.length !== length)) {
      const started = Clock.start(this.partition.device, this.#counting, counted);
      clocks.forEach((c, i) => {
        if (c !== null) clocks[i] = started;
      });
    }
    for (const clock of new Set(clocks)) {
      if (clock === null) continue;
      const members = clocks.flatMap((c, i) => (c === clock ? [i] : []));
      const stepping = members.filter((i) => this.partition.parameters[i]!.grad !== null);
      if (stepping.length === 0 || stepping.length === members.length) continue;
      // Where it happens inside a compiled function, the next call has another path.
      tracer()?.guard(() => false);
      const apart = clock.copy();
      for (const i of stepping) clocks[i] = apart;
    }
  }

  /** Counters are up to date with a step. */
  count({ rates, fixed, stale }: Work<O>): void {
    if (stale.length === 0) return;
    this.#changing();
    for (const clock of stale) clock.counted = { rates, fixed };
  }

  /**
   * Updates the counters for a replay of the same work, in which the step's JavaScript does not run. Returns false if options or counters changed so that
   * the step has to be traced again.
   */
  tryReplay({ plan, fixed, moved, stale }: Work<O>): boolean {
    if (!plan.isInPlace(this.#clocks)) return false;
    const now = this.counted;
    if (!sameData(now.fixed, fixed)) return false;
    for (const clock of plan.clocks) {
      const isStale = clock.isStale(this.#counting, now);
      if (!moved.includes(clock)) {
        if (isStale) this.#settle(clock, now);
      } else if (isStale !== stale.includes(clock)) return false;
    }
    this.count({ unit: this, plan, moved, stale, ...now });
    return true;
  }

  /** Brings counters to the present options, so that both may be saved together. */
  settle(): void {
    const counted = this.counted;
    for (const clock of new Set(this.#clocks)) if (clock?.isStale(this.#counting, counted) === true) this.#settle(clock, counted);
  }

  #settle(clock: Clock, counted: Counted): void {
    // With options that stay, the next step would count alike; those that a call takes back need the counters of before.
    if (hasChanged(this.group)) changing(clock, () => clock.save());
    clock.settle(this.#counting, this.rateBuffers(counted.rates), counted);
  }

  /** Tensors that hold the rates. */
  rateBuffers(rates: readonly number[]): readonly Tensor[] {
    if (this.#rateBuffers.length !== rates.length) {
      for (const c of this.#rateBuffers) c.dispose();
      this.#rateBuffers = rates.map((v) => scalarBuffer(this.partition.device, v));
    } else
      rates.forEach((v, i) => {
        if (v !== this.#written[i]) writeScalar(this.#rateBuffers[i]!, v);
      });
    this.#written = rates;
    return this.#rateBuffers;
  }

  /** A parameter has this state from now on; null: none, as before its first step. */
  load(index: number, state: { readonly slots: ReadonlyMap<string, Tensor>; readonly clock: Clock } | null): void {
    this.#changing();
    this.#first = null;
    this.#clocks[index] = state?.clock ?? null;
    if (state === null) this.partition.end(index);
    else for (const [name, value] of state.slots) this.#fill(name, index, value);
  }

  /** Frees clocks that no parameter has, of those that were there before. */
  release(before: ReadonlySet<Clock | null>): void {
    for (const clock of before) if (clock !== null && !this.#clocks.includes(clock)) clock.dispose();
    for (const plan of this.#plans) plan.dispose();
    this.#plans = [];
    this.#plan = null;
  }

  get clocks(): ReadonlySet<Clock | null> {
    return new Set(this.#clocks);
  }

  dispose(): void {
    for (const plan of this.#plans) plan.dispose();
    for (const clock of new Set(this.#clocks)) clock?.dispose();
    for (const c of this.#rateBuffers) c.dispose();
    this.partition.dispose();
  }
}
