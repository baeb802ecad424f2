/** The base of all optimizers: parameter groups, flat layouts, state, and what a step is. */
import { inspect } from "node:util";
import { enableGrad, noGrad } from "../autograd/grad-mode.ts";
import type { Device } from "../device.ts";
import { assign, call, dispatch } from "../dispatch.ts";
import { isFloat } from "../dtype.ts";
import { AutogradError, DTypeError, DeviceError, TraceError, ValueError } from "../errors.ts";
import { clearGradient } from "../nn/module.ts";
import { copyInto } from "../ops/copy.ts";
import { contiguous, itemSync } from "../ops/data.ts";
import { meant } from "../did-you-mean.ts";
import { isIterable, isPlain } from "../ops/checked.ts";
import { outsideScopes } from "../scope.ts";
import { Tensor } from "../tensor.ts";
import { tracer, type Tracer } from "../tracer.ts";
import { sameData } from "../graph/key.ts";
import { Clock, cell, setCell, steps } from "./clock.ts";
import { Partition, gatherFlatOp } from "./flat.ts";
import { Plan, gradientOf, type Run } from "./plan.ts";
import { settingsText } from "./options.ts";
import type { Rule } from "./rule.ts";

/** What every optimizer's options contain. */
export interface BaseOptions {
  /** Learning rate. */
  lr: number;
}

/** Parameters with options of their own. */
export type GroupInput<O extends BaseOptions> = {
  /** The group's parameters. */
  readonly params: Iterable<Tensor>;
} & { readonly [K in keyof O]?: O[K] | undefined };

/** Parameters, or groups of them. */
export type ParametersInput<O extends BaseOptions> = Iterable<Tensor> | Iterable<GroupInput<O>>;

/** State by number of the parameter and name, and the groups' options. */
export interface OptimizerState {
  /** State of each parameter, by its number among all groups. */
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor>>>>;
  /** Options of each group, and the numbers of its parameters. */
  readonly paramGroups: readonly {
    readonly params: readonly number[];
    readonly options: Readonly<object>;
    /** The rate that a schedule started with. */
    readonly initialLr?: number | undefined;
  }[];
}

/** Parameters that share options. lr may be set at any time, also between calls of a compiled step. */
export class ParamGroup<O extends BaseOptions> {
  /** The group's parameters. */
  readonly params: readonly Tensor[];
  /** May be changed; a compiled step is then recorded anew, but for what schedules change: lr, momentum and the first of betas. */
  readonly options: O;
  /** The rate that a schedule started with; undefined before there was one. */
  initialLr: number | undefined;

  constructor(params: readonly Tensor[], options: O) {
    this.params = params;
    this.options = options;
  }

  /** The learning rate. Throws ValueError below 0. */
  get lr(): number {
    return this.options.lr;
  }

  /** The learning rate. Throws ValueError below 0. */
  set lr(value: number) {
    if (!(typeof value === "number" && value >= 0)) throw new ValueError("optimizer", "lr", "at least 0", value);
    this.options.lr = value;
  }
}

/** What belongs to a partition beside its buffers. */
interface Unit<O extends BaseOptions> {
  readonly group: ParamGroup<O>;
  readonly partition: Partition;
  /** By parameter. */
  readonly clocks: Clock[];
  plan: Plan | null;
  /** Has taken no step and no state: its state starts with the options of the first step. */
  isFresh: boolean;
  /** Values that the counters began with. */
  starts: readonly number[];
}

/** The rates of a group on a device, with what was written there. */
interface Rates {
  readonly cells: readonly Tensor[];
  written: readonly number[];
  /** The options that the counters were made for. */
  fixed: object;
  /** The trace in which a step has read them. */
  trace: Tracer | null;
}

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
  #units: Unit<O>[] = [];
  readonly #rates = new Map<ParamGroup<O>, Map<Device, Rates>>();

  constructor(name: string, params: ParametersInput<O>, defaults: O) {
    this.#name = name;
    this.#defaults = defaults;
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
  /** Names of the state that each parameter has, under the given options. */
  protected abstract stateNames(options: O): readonly string[];
  /** Throws for options out of their range. */
  protected abstract checkOptions(options: O): void;
  /** The options that programs hold fixed, as the rule knows them. */
  protected abstract fixed(options: O): object;

  /** Numbers that may be others in every step, for which no program is made anew. The first is the learning rate. */
  protected rates(options: O): readonly number[] {
    return [options.lr];
  }

  /** What a state is before the first step. */
  protected initialState(_name: string, _options: O): number {
    return 0;
  }

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
    if (!isPlain(input) || !isIterable(input.params))
      throw new DTypeError(this.#name, "params", "tensors, or objects with params", input, "Pass model.parameters().");
    const { params: given, ...own } = input;
    const names = Object.keys(this.#defaults);
    const unknown = Object.keys(own).find((key) => !names.includes(key));
    if (unknown !== undefined)
      throw new ValueError(this.#name, "params", `groups of params and no more than ${names.join(", ")}`, unknown, meant(unknown, names));
    for (const [key, value] of Object.entries(own)) this.#demandKind(key, value);
    const params = [...given];
    const options: O = { ...this.#defaults, ...Object.fromEntries(Object.entries(own).filter(([, v]) => v !== undefined)) };
    if (params.length === 0) throw new ValueError(this.#name, "params", "at least one parameter", "an empty group");
    if (!(options.lr >= 0)) throw new ValueError(this.#name, "lr", "at least 0", options.lr);
    this.checkOptions(options);
    const known = new Set(this.#groups.flatMap((g) => g.params));
    params.forEach((p, i) => {
      if (!(p instanceof Tensor)) throw new DTypeError(this.#name, `params[${i}]`, "a tensor", p);
      p.demandLive(this.#name, `params[${i}]`);
      if (!p.isLeaf)
        throw new AutogradError({
          operation: this.#name,
          argument: `params[${i}]`,
          expected: "a leaf",
          received: `${p.describe()} made by an operation`,
        });
      if (!isFloat(p.dtype) || p.dtype === "float64")
        throw new DTypeError(this.#name, `params[${i}]`, "float32, float16 or bfloat16", p.describe());
      if (known.has(p)) throw new ValueError(this.#name, `params[${i}]`, "in one group once", `${p.describe()} again`);
      known.add(p);
    });
    const group = new ParamGroup(params, options);
    this.#groups.push(group);
    this.#rates.set(group, new Map());
    this.#units.push(...this.#layOut(group));
  }

  /** A group's option is of its default's kind. */
  #demandKind(key: string, value: unknown): void {
    if (value === undefined) return;
    const isNumber = (v: unknown): boolean => typeof v === "number" || typeof v === "boolean";
    const like = (this.#defaults as unknown as Readonly<Record<string, unknown>>)[key];
    if (Array.isArray(like)) {
      if (!Array.isArray(value) || !value.every(isNumber)) throw new ValueError(this.#name, key, "an array of numbers", value);
    } else if (typeof like === "boolean") {
      if (typeof value !== "boolean") throw new ValueError(this.#name, key, "true or false", value);
    } else if (!isNumber(value)) throw new ValueError(this.#name, key, "a number", value);
  }

  #starts({ options }: ParamGroup<O>): readonly number[] {
    return this.rule.clock.counters(this.fixed(options)).map((c) => c.start(0, this.rates(options)));
  }

  #newClock({ options }: ParamGroup<O>, on: Device, taken = 0, known: Readonly<Record<string, number>> = {}): Clock {
    return Clock.start(on, this.rule.clock.counters(this.fixed(options)), this.rates(options), taken, known);
  }

  /** One unit for each device and dtype, each with its parameters in one buffer. */
  #layOut(group: ParamGroup<O>): Unit<O>[] {
    const kinds = new Map<string, Tensor[]>();
    for (const p of group.params) {
      if (p.size === 0) continue;
      const key = `${p.device} ${p.dtype}`;
      kinds.set(key, [...(kinds.get(key) ?? []), p]);
    }
    return [...kinds.values()].map((parameters) => {
      const partition = new Partition(this, parameters);
      partition.arrange();
      for (const name of this.stateNames(group.options)) partition.stateOf(name, this.initialState(name, group.options));
      const clock = this.#newClock(group, partition.device);
      return { group, partition, clocks: parameters.map(() => clock), plan: null, isFresh: true, starts: this.#starts(group) };
    });
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
      for (const u of next) this.#inherit(u, old);
      for (const u of old) this.#drop(u);
      this.#units = [...this.#units.filter((u) => u.group !== group), ...next];
    }
  }

  #inherit(unit: Unit<O>, old: readonly Unit<O>[]): void {
    unit.isFresh = old.every((u) => u.isFresh);
    const moved = new Map<Clock, Clock>();
    unit.partition.parameters.forEach((p, i) => {
      const from = old.find((u) => u.partition.parameters.includes(p))!;
      const j = from.partition.parameters.indexOf(p);
      for (const name of from.partition.state.keys()) {
        const before = from.partition.stateView(name, j);
        this.#fillState(unit, name, i, before);
        before.dispose();
      }
      const clock = from.clocks[j]!;
      let here = moved.get(clock);
      if (here === undefined) {
        here = this.#newClock(unit.group, unit.partition.device);
        here.values.forEach((t, k) => copyInto(this.#name, t, clock.values[k]!));
        moved.set(clock, here);
      }
      unit.clocks[i] = here;
    });
  }

  #fillState(unit: Unit<O>, name: string, index: number, value: Tensor): void {
    const place = unit.partition.stateView(name, index);
    copyInto(this.#name, place, value);
    place.dispose();
  }

  #drop(unit: Unit<O>): void {
    unit.plan?.dispose();
    for (const clock of new Set(unit.clocks)) clock.dispose();
    unit.partition.dispose();
  }

  /**
   * Updates all parameters that have a gradient; the others stay untouched. A closure, if given, is called first and its result
   * returned: it computes the loss anew.
   */
  step<T = undefined>(closure?: () => T): T | undefined {
    const result = closure === undefined ? undefined : enableGrad(closure);
    const t = tracer();
    noGrad(() => {
      // While tracing nothing is laid out anew: a parameter that was moved is updated by itself.
      if (t === null) this.#arrange();
      for (const unit of this.#units) this.#prepare(unit);
      this.#writeRates(t);
      if (t === null)
        outsideScopes(() => {
          this.#run();
        });
      else
        t.region(this, this.#gradients(), this.#guards(), () => {
          this.#run();
        });
    });
    return result;
  }

  #gradients(): (Tensor | null)[] {
    const gradients: (Tensor | null)[] = [];
    for (const { partition } of this.#units) for (const p of partition.parameters) gradients.push(p.grad);
    return gradients;
  }

  /** What a step depends on besides gradients and rates. */
  #guards(): unknown[] {
    const guards: unknown[] = [];
    for (const { plan, group } of this.#units) guards.push(plan!.id, ...Object.values(this.fixed(group.options)));
    return guards;
  }

  /** State that starts with an option, such as a rate, takes what it is now, in the first step. */
  #begin(unit: Unit<O>): void {
    const { group, partition } = unit;
    for (const name of this.stateNames(group.options)) partition.restart(name, this.initialState(name, group.options));
    if (!sameData(unit.starts, this.#starts(group))) {
      const clock = this.#newClock(group, partition.device);
      for (const old of new Set(unit.clocks)) old.dispose();
      unit.clocks.fill(clock);
    }
    unit.isFresh = false;
  }

  #prepare(unit: Unit<O>): void {
    if (unit.isFresh) this.#begin(unit);
    const names = this.stateNames(unit.group.options);
    if (unit.plan !== null && unit.plan.isCurrent && unit.plan.states.length === names.length) return;
    unit.plan?.dispose();
    const { parameters, device, dtype } = unit.partition;
    for (const p of parameters)
      if (p.device !== device || p.dtype !== dtype)
        throw new DeviceError(
          this.#name,
          "parameter",
          `as before the compiled function (${dtype} on ${device})`,
          `${p.describe()} on ${p.device}`,
          "Call step() once outside of compiled functions after moving a model.",
        );
    this.#splitClocks(unit);
    unit.plan = new Plan(unit.partition, unit.clocks, names);
  }

  /** Parameters without a gradient take no step: from now on their clock is another one than the others'. */
  #splitClocks(unit: Unit<O>): void {
    const { length } = this.rule.clock.counters(this.fixed(unit.group.options));
    // Options that count differently begin anew.
    if (unit.clocks.some((c) => c.values.length !== length)) unit.clocks.fill(this.#newClock(unit.group, unit.partition.device));
    for (const clock of new Set(unit.clocks)) {
      const members = unit.clocks.flatMap((c, i) => (c === clock ? [i] : []));
      const stepping = members.filter((i) => unit.partition.parameters[i]!.grad !== null);
      if (stepping.length === 0 || stepping.length === members.length) continue;
      const apart = clock.copy();
      for (const i of stepping) unit.clocks[i] = apart;
    }
  }

  #ratesOf(group: ParamGroup<O>, device: Device): Rates {
    const all = this.#rates.get(group)!;
    const values = this.rates(group.options);
    let rates = all.get(device);
    if (rates?.cells.length !== values.length) {
      rates?.cells.forEach((c) => {
        c.dispose();
      });
      rates = { cells: values.map((v) => cell(device, v)), written: values, fixed: this.fixed(group.options), trace: null };
      all.set(device, rates);
    }
    return rates;
  }

  #writeRates(t: Tracer | null): void {
    for (const unit of this.#units) {
      const { group, partition } = unit;
      const rates = this.#ratesOf(group, partition.device);
      const [values, fixed] = [this.rates(group.options), this.fixed(group.options)];
      const isOther = values.some((v, i) => v !== rates.written[i]);
      if (isOther && t !== null && rates.trace === t)
        throw new TraceError({
          operation: this.#name,
          argument: values[0] === rates.written[0] ? "momentum" : "lr",
          expected: "the same in all steps of one call of a compiled function",
          received: `${values.join(", ")} after ${rates.written.join(", ")}`,
        });
      values.forEach((v, i) => {
        if (v !== rates.written[i]) setCell(rates.cells[i]!, v);
      });
      if (values.some((v, i) => i > 0 && v !== rates.written[i]) || !sameData(fixed, rates.fixed)) this.#recount(group, rates, fixed);
      rates.written = values;
      rates.fixed = fixed;
      rates.trace = t;
    }
  }

  /** Counters that follow from rates or options other than before. */
  #recount(group: ParamGroup<O>, { cells }: Rates, fixed: object): void {
    const { clock: counting } = this.rule;
    if (counting.counters(fixed).every((c) => c.recount === undefined)) return;
    for (const unit of this.#units)
      if (unit.group === group && unit.partition.device === cells[0]!.device)
        for (const clock of new Set(unit.clocks)) clock.recount(counting, cells, fixed);
  }

  /** All is computed before any of it is written: a step for which memory runs out has not happened, and may be taken again. */
  #run(): void {
    const writes: Write[] = [];
    for (const { group, partition, plan } of this.#units) {
      const rates = this.#ratesOf(group, partition.device).cells;
      const fixed = this.fixed(group.options);
      const ticked = new Map<Clock, readonly Tensor[]>();
      for (const { clock } of plan!.runs) {
        if (ticked.has(clock)) continue;
        const next = clock.next(this.rule.clock, rates, fixed);
        ticked.set(clock, next);
        clock.values.forEach((target, i) => writes.push({ target, value: next[i]! }));
      }
      for (const run of plan!.runs) {
        const gradient = gradientOf(run, (list) => call(gatherFlatOp, list, undefined), contiguous);
        const counters = this.ticksAfter ? run.clock.values : ticked.get(run.clock)!;
        writes.push(...this.#update(run, gradient, rates, counters, group.options, fixed));
        if (tracer() === null && gradient !== run.parameters[0]!.grad) gradient.dispose();
      }
    }
    for (const { target, value } of writes) assign(this.#name, target, () => value);
  }

  #update(run: Run, gradient: Tensor, rates: readonly Tensor[], counters: readonly Tensor[], options: O, fixed: object): Write[] {
    const states = this.stateNames(options).map((name) => run.state.get(name)!);
    const attributes = { rates: rates.length, counters: counters.length, fixed };
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

  /** State of each parameter (tensors that share the optimizer's storage) and options of the groups. */
  stateDict(): OptimizerState {
    const state: Record<string, Record<string, Tensor>> = {};
    let first = 0;
    const paramGroups = this.#groups.map((group) => {
      const params = group.params.map((p, i) => {
        const own = this.#stateOf(group, p);
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

  #stateOf(group: ParamGroup<O>, p: Tensor): Record<string, Tensor> | null {
    const unit = this.#unitOf(group, p);
    if (unit === undefined) return null;
    const i = unit.partition.parameters.indexOf(p);
    const own: Record<string, Tensor> = {};
    this.rule.clock.counters(this.fixed(group.options)).forEach(({ name }, k) => {
      const value = unit.clocks[i]!.values[k];
      if (value !== undefined) own[name] = new Tensor(value.storage, value.desc, value.offset);
    });
    for (const name of this.stateNames(group.options)) {
      const view = unit.partition.stateView(name, i);
      // Unlike the optimizer's own views this one belongs to the caller's scope.
      own[name] = new Tensor(view.storage, view.desc, view.offset);
      view.dispose();
    }
    return own;
  }

  /** Takes over state and options, for the same parameters in the same order. */
  loadStateDict(saved: OptimizerState): void {
    if (saved.paramGroups.length !== this.#groups.length)
      throw new ValueError(`${this.#name}.loadStateDict`, "paramGroups", `${this.#groups.length} groups`, saved.paramGroups.length);
    this.#groups.forEach((group, i) => {
      const given = saved.paramGroups[i]!;
      if (given.params.length !== group.params.length)
        throw new ValueError(
          `${this.#name}.loadStateDict`,
          `paramGroups[${i}]`,
          `of ${group.params.length} parameters`,
          given.params.length,
        );
    });
    this.#groups.forEach((group, i) => {
      const given = saved.paramGroups[i]!;
      Object.assign(group.options, given.options);
      if (given.initialLr !== undefined) group.initialLr = given.initialLr;
      this.checkOptions(group.options);
      group.params.forEach((p, j) => {
        this.#loadState(group, p, saved.state[given.params[j]!]);
      });
      this.#shareClocks(group);
    });
  }

  #loadState(group: ParamGroup<O>, p: Tensor, own: Readonly<Record<string, Tensor>> | undefined): void {
    const unit = this.#unitOf(group, p);
    if (unit === undefined || own === undefined) return;
    unit.isFresh = false;
    const i = unit.partition.parameters.indexOf(p);
    for (const name of this.stateNames(group.options)) {
      const value = own[name];
      if (value === undefined)
        throw new ValueError(`${this.#name}.loadStateDict`, "state", `with ${name} for each parameter`, Object.keys(own));
      this.#fillState(unit, name, i, value);
    }
    if (unit.clocks[i]!.values.length === 0) return;
    const known: Record<string, number> = {};
    for (const { name } of this.rule.clock.counters(this.fixed(group.options)))
      if (own[name] !== undefined) known[name] = itemSync(own[name]);
    if (known[steps.name] === undefined)
      throw new ValueError(`${this.#name}.loadStateDict`, "state", "with step for each parameter", Object.keys(own));
    this.#loaded.set(p, known);
  }

  /** Counters of the parameters whose state is being loaded. */
  readonly #loaded = new Map<Tensor, Readonly<Record<string, number>>>();

  /** New clocks for a group whose state was loaded: one for each number of steps. */
  #shareClocks(group: ParamGroup<O>): void {
    for (const unit of this.#units) {
      if (unit.group !== group) continue;
      const old = new Set(unit.clocks);
      const made = new Map<string, Clock>();
      unit.partition.parameters.forEach((p, i) => {
        const known = this.#loaded.get(p);
        if (known === undefined) return;
        const key = JSON.stringify(known);
        let clock = made.get(key);
        if (clock === undefined) made.set(key, (clock = this.#newClock(group, unit.partition.device, known[steps.name], known)));
        unit.clocks[i] = clock;
      });
      for (const clock of old) if (!unit.clocks.includes(clock)) clock.dispose();
      unit.plan?.dispose();
      unit.plan = null;
    }
    this.#loaded.clear();
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
    for (const unit of this.#units) this.#drop(unit);
    for (const rates of this.#rates.values()) for (const { cells } of rates.values()) for (const c of cells) c.dispose();
    this.#units = [];
  }
}
