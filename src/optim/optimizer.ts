/** Optimizer: the base of all optimizers, with parameter groups, state, and what a step is. */
import { inspect } from "node:util";
import { enableGrad, noGrad } from "../autograd/grad-mode.ts";
import { assign, call, dispatch } from "../dispatch/dispatch.ts";
import { ValueError } from "../core/errors.ts";
import { clearGradient } from "../nn/module-tensors.ts";
import { contiguous } from "../ops/data/conversion.ts";
import { gt } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { reshape } from "../ops/shape/movement.ts";
import { outsideScopes, scope } from "../core/scope.ts";
import type { Shape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer, type Tracer } from "../core/tracer.ts";
import type { Clock } from "./clock.ts";
import { gatherFlatOp, type StateForm } from "./flat.ts";
import { ParamGroup, type BaseOptions, type GroupInput, type OptimizerState, type ParametersInput } from "./group.ts";
import { checkedGroup } from "./group-input.ts";
import { settingsText } from "./options.ts";
import { gradientOf, type Run } from "./parameter-runs.ts";
import type { Rule } from "./rule.ts";
import { loadUnit, requireSamePrecision, stateOf } from "./state-dict.ts";
import { Unit, type Recipe, type Work } from "./unit.ts";

export type { BaseOptions, GroupInput, OptimizerState, ParametersInput } from "./group.ts";
export { ParamGroup } from "./group.ts";

/** The same writes, of the present values where `skips` is above 0. */
function kept(writes: readonly Write[], skips: Tensor): readonly Write[] {
  const isSkipped = gt(skips, 0);
  return writes.map(({ target, value }) => ({ target, value: where(reshape(isSkipped, target.rank === 0 ? [] : [1]), target, value) }));
}

/** @internal The key of a step that the device decides on. */
export const STEP_UNLESS = Symbol("step unless");

/** What a step is about to write. */
interface Write {
  readonly target: Tensor;
  readonly value: Tensor;
}

/** The base of all optimizers: parameter groups, state, and steps. Reference: torch.optim.Optimizer. */
export abstract class Optimizer<O extends BaseOptions = BaseOptions> {
  readonly #name: string;
  readonly #defaults: O;
  readonly #groups: ParamGroup<O>[] = [];
  readonly #recipe: Recipe<O>;
  #units: Unit<O>[] = [];

  constructor(name: string, params: ParametersInput<O>, defaults: O) {
    this.#name = name;
    this.#defaults = defaults;
    this.#recipe = {
      name,
      rule: () => this.rule,
      rates: (options) => this.rates(options),
      fixed: (options) => this.fixed(options),
      isPerParameter: this.isPerParameter,
      stateNames: (options, shape) => this.stateNames(options, shape),
      stateForm: (name, options, shape) => this.stateForm(name, options, shape),
      initialState: (state, options, shape) => this.initialState(state, options, shape),
    };
    const list = [...(params as Iterable<Tensor | GroupInput<O>>)];
    if (list.length === 0) throw new ValueError(name, "params", "at least one parameter", "none");
    const groups = list[0] instanceof Tensor ? [{ params: list as Tensor[] } as unknown as GroupInput<O>] : (list as GroupInput<O>[]);
    for (const group of groups) this.addParamGroup(group);
  }

  /** How it counts and moves. */
  protected abstract get rule(): Rule;
  /** Counters move on after the update, which reads those of the step before. */
  protected get ticksAfter(): boolean {
    return false;
  }
  /** Whether the rule needs each parameter by itself, in its shape (one element for rank 0): then no two of them are updated by one operation. */
  protected get isPerParameter(): boolean {
    return false;
  }
  /** Names of the state that each parameter has, under the given options. `shape` is the parameter's if the rule needs each by itself. */
  protected abstract stateNames(options: O, shape: Shape): readonly string[];
  /** Throws for options out of their range. */
  protected abstract checkOptions(options: O): void;
  /** The options that programs hold fixed, as the rule knows them. */
  protected abstract fixed(options: O): object;

  /** Numbers that may be others in every step, for which no new program is made. The first is the learning rate. */
  protected rates(options: O): readonly number[] {
    return [options.lr];
  }

  /** What a state is before the first step. */
  protected initialState(_name: string, _options: O, _shape: Shape): number {
    return 0;
  }

  /** Dtype and shape of a state, where they are others than the parameter's: only if the rule needs each by itself. */
  protected stateForm(_name: string, _options: O, _shape: Shape): Partial<StateForm> {
    return {};
  }

  /** Options that are decided when the optimizer is made. */
  protected get lasting(): readonly string[] {
    return [];
  }

  /** Throws for a parameter that the rule cannot update. */
  protected checkParameter(_argument: string, _p: Tensor): void {}

  /** The options that groups have unless they give their own. */
  get defaults(): Readonly<O> {
    return this.#defaults;
  }

  /** The groups of parameters, each with its options. Reference: torch.optim.Optimizer.param_groups. */
  get paramGroups(): readonly ParamGroup<O>[] {
    return this.#groups;
  }

  /** The first group's learning rate; setting it sets all groups'. */
  get lr(): number {
    return this.#groups[0]!.lr;
  }

  set lr(value: number) {
    for (const group of this.#groups) group.lr = value;
  }

  /** Adds parameters with options of their own. */
  addParamGroup(input: GroupInput<O>): void {
    const { params, options } = checkedGroup(this.#name, input, {
      defaults: this.#defaults,
      taken: new Set(this.#groups.flatMap((g) => g.params)),
      checkOptions: (own) => this.checkOptions(own),
      checkParameter: (argument, p) => this.checkParameter(argument, p),
    });
    const group = new ParamGroup(params, options);
    this.#groups.push(group);
    this.#units.push(...this.#layOut(group));
  }

  /** One unit for each device and dtype (or for each parameter), each with its parameters in one buffer. */
  #layOut(group: ParamGroup<O>): Unit<O>[] {
    const kinds = new Map<string, Tensor[]>();
    for (const [i, p] of group.params.entries()) {
      if (p.size === 0) continue;
      const key = this.isPerParameter ? `${i}` : `${p.device} ${p.dtype}`;
      kinds.set(key, [...(kinds.get(key) ?? []), p]);
    }
    return [...kinds.values()].map((parameters) => new Unit(this, this.#recipe, group, parameters));
  }

  /** Parameters that were moved or replaced come back into one buffer, their state with them. */
  #arrange(): void {
    for (const group of this.#groups) {
      const old = this.#units.filter((u) => u.group === group);
      if (old.every((u) => u.partition.fits)) {
        for (const u of old) u.partition.arrange();
        continue;
      }
      const next = this.#layOut(group);
      for (const u of next) u.inherit(old);
      for (const u of old) u.dispose();
      this.#units = [...this.#units.filter((u) => u.group !== group), ...next];
    }
  }

  /**
   * Updates all parameters that have a gradient; the others stay untouched. A closure, if given, is called first and its result
   * returned: it computes the loss again.
   */
  step<T = undefined>(closure?: () => T): T | undefined {
    const result = closure === undefined ? undefined : enableGrad(closure);
    this.#step(null);
    return result;
  }

  /** @internal step(), decided on the device: where `skips` (one element) is above 0, everything keeps its value. */
  [STEP_UNLESS](skips: Tensor): void {
    this.#step(skips);
  }

  #step(skips: Tensor | null): void {
    const t = tracer();
    noGrad(() => {
      // While tracing no layout changes: a parameter that was moved is updated by itself.
      if (t === null) this.#arrange();
      const works = this.#units.map((unit) => unit.prepare(t));
      if (t !== null) this.#trace(t, works, skips);
      else {
        const rateBuffers = works.map(({ unit, rates }) => unit.rateBuffers(rates));
        outsideScopes(() => {
          if (skips === null) this.#run(works, rateBuffers, null);
          else scope(() => this.#run(works, rateBuffers, skips));
        });
      }
    });
  }

  /** A step of a function that is being compiled: each has rates of its own. */
  #trace(t: Tracer, works: readonly Work<O>[], skips: Tensor | null): void {
    t.guard(() => works.every((work) => work.unit.tryReplay(work)));
    const rates = works.map(({ unit }) => t.held(unit, unit.partition.device, () => unit.rates));
    for (const work of works) work.unit.count(work);
    const guards: unknown[] = [];
    for (const { plan, fixed, stale } of works) {
      guards.push(plan.id, stale.length === 0 ? "" : stale.map((c) => plan.clocks.indexOf(c)).join());
      guards.push(...Object.values(fixed as Record<string, unknown>));
    }
    t.region(this, [...this.#gradients(), skips], guards, () => {
      this.#run(works, rates, skips);
    });
  }

  #gradients(): (Tensor | null)[] {
    const gradients: (Tensor | null)[] = [];
    for (const { partition } of this.#units) for (const p of partition.parameters) gradients.push(p.grad);
    return gradients;
  }

  /** All is computed before any of it is written: a step for which memory runs out has not happened, and may be taken again. */
  #run(works: readonly Work<O>[], rates: readonly (readonly Tensor[])[], skips: Tensor | null): void {
    const writes: Write[] = [];
    const { clock: counting } = this.rule;
    works.forEach(({ unit, plan, fixed, stale }, i) => {
      const counters = new Map<Clock, readonly Tensor[]>();
      for (const clock of plan.clocks) {
        const { values } = clock;
        const now = stale.includes(clock) ? counting.recount(values, rates[i]!, fixed) : values;
        const next = values.length === 0 ? values : counting.tick(now, rates[i]!, fixed);
        counters.set(clock, this.ticksAfter ? now : next);
        values.forEach((target, k) => writes.push({ target, value: next[k]! }));
      }
      for (const run of plan.runs) {
        const gradient = gradientOf(run, (list) => call(gatherFlatOp, list, undefined), contiguous);
        writes.push(...this.#update(run, gradient, rates[i]!, counters.get(run.clock)!, unit, fixed));
        if (tracer() === null && gradient !== run.parameters[0]!.grad) gradient.dispose();
      }
    });
    for (const { target, value } of skips === null ? writes : kept(writes, skips)) assign(this.#name, target, () => value);
  }

  #update(run: Run, gradient: Tensor, rates: readonly Tensor[], counters: readonly Tensor[], unit: Unit<O>, fixed: object): Write[] {
    const states = unit.stateNames.map((name) => run.state.get(name)!);
    const attributes = { rates: rates.length, counters: counters.length, fixed, kept: unit.kept, low: run.data.dtype };
    const next = dispatch(this.rule.update, [run.data, gradient, ...rates, ...counters, ...states], attributes);
    return [run.data, ...states].map((target, i) => ({ target, value: next[i]! }));
  }

  /** Takes the gradients away, or fills them with zeros. */
  zeroGrad({
    setToNull = true,
  }: {
    /** Whether gradients become null; false fills them with zeros. Default: true. */
    readonly setToNull?: boolean;
  } = {}): void {
    for (const group of this.#groups) for (const p of group.params) clearGradient(p, setToNull);
  }

  /**
   * State of each parameter that has taken a step (tensors that share the optimizer's storage), and options of the groups. Reference:
   * torch.optim.Optimizer.state_dict.
   */
  stateDict(): OptimizerState {
    if (tracer() === null) for (const unit of this.#units) unit.settle();
    const state: Record<string, Record<string, Tensor>> = {};
    let first = 0;
    const paramGroups = this.#groups.map((group) => {
      const params = group.params.map((p, i) => {
        const unit = this.#unitOf(group, p);
        const own = unit === undefined ? null : stateOf(unit, p, this.rule.clock.counters(this.fixed(group.options)));
        if (own !== null) state[first + i] = own;
        return first + i;
      });
      first += params.length;
      const { initialLr } = group;
      return { params, options: { ...group.options }, ...(initialLr === undefined ? {} : { initialLr }) };
    });
    return { state, paramGroups };
  }

  #unitOf(group: ParamGroup<O>, p: Tensor): Unit<O> | undefined {
    return this.#units.find((u) => u.group === group && u.partition.parameters.includes(p));
  }

  /** Takes over state and options, for the same parameters in the same order. */
  loadStateDict(saved: OptimizerState): void {
    if (saved.paramGroups.length !== this.#groups.length)
      throw new ValueError(`${this.#name}.loadStateDict`, "paramGroups", `${this.#groups.length} groups`, saved.paramGroups.length);
    this.#groups.forEach((group, i) => {
      const savedGroup = saved.paramGroups[i]!;
      if (savedGroup.params.length !== group.params.length)
        throw new ValueError(
          `${this.#name}.loadStateDict`,
          `paramGroups[${i}]`,
          `of ${group.params.length} parameters`,
          savedGroup.params.length,
        );
    });
    this.#groups.forEach((group, i) => {
      const savedGroup = saved.paramGroups[i]!;
      requireSamePrecision(this.#name, group.options, savedGroup.options, this.lasting);
      group.changing();
      Object.assign(group.options, savedGroup.options);
      if (savedGroup.initialLr !== undefined) group.initialLr = savedGroup.initialLr;
      this.checkOptions(group.options);
      const states = new Map(group.params.map((p, j) => [p, saved.state[savedGroup.params[j]!]]));
      for (const unit of this.#units) if (unit.group === group) loadUnit(this.#name, this.rule.clock, unit, states);
    });
  }

  /** @internal The names in its state that count steps: the others have what it keeps for each element. */
  get counterNames(): ReadonlySet<string> {
    return new Set(this.#groups.flatMap(({ options }) => this.rule.clock.counters(this.fixed(options)).map(({ name }) => name)));
  }

  /** The settings of each group, as console.log shows them: "Adam (", "Parameter Group 0", "    betas: [0.9, 0.999]", … */
  toString(): string {
    return settingsText(
      this.#name,
      this.#groups.map(({ options, initialLr }) => ({ ...options, initialLr })),
    );
  }

  /** @internal */
  [inspect.custom](): string {
    return this.toString();
  }

  /** Frees the optimizer's state. The parameters stay. */
  dispose(): void {
    for (const unit of this.#units) unit.dispose();
    this.#units = [];
  }
}
