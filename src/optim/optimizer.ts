/** The base of all optimizers: parameter groups, flat layouts, state, and what a step is. */
import { enableGrad, noGrad } from "../autograd/grad-mode.ts";
import type { Device } from "../device.ts";
import { call } from "../dispatch.ts";
import { isFloat } from "../dtype.ts";
import { AutogradError, DTypeError, DeviceError, TraceError, ValueError } from "../errors.ts";
import { clearGradient } from "../nn/module.ts";
import { copyInto } from "../ops/copy.ts";
import { contiguous, itemSync } from "../ops/data.ts";
import { outsideScopes } from "../scope.ts";
import { Tensor } from "../tensor.ts";
import { tracer, type Tracer } from "../tracer.ts";
import { Clock, cell, setCell, type Counter } from "./clock.ts";
import { Partition, gatherFlatOp } from "./flat.ts";
import { Plan, gradientOf, type Run } from "./plan.ts";

/** What every optimizer's options contain. */
export interface BaseOptions {
  /** Learning rate. */
  lr: number;
}

/** Parameters with options of their own. */
export type GroupInput<O extends BaseOptions> = { readonly params: Iterable<Tensor> } & { readonly [K in keyof O]?: O[K] | undefined };

/** Parameters, or groups of them. */
export type ParametersInput<O extends BaseOptions> = Iterable<Tensor> | Iterable<GroupInput<O>>;

/** State by number of the parameter and name, and the groups' options. */
export interface OptimizerState {
  readonly state: Readonly<Record<string, Readonly<Record<string, Tensor>>>>;
  readonly paramGroups: readonly { readonly params: readonly number[]; readonly options: Readonly<object> }[];
}

/** Parameters that share options. lr may be set at any time, also between calls of a compiled step. */
export class ParamGroup<O extends BaseOptions> {
  readonly params: readonly Tensor[];
  /** May be changed; a compiled step is then recorded anew (lr excepted). */
  readonly options: O;

  constructor(params: readonly Tensor[], options: O) {
    this.params = params;
    this.options = options;
  }

  get lr(): number {
    return this.options.lr;
  }

  set lr(value: number) {
    if (!(value >= 0)) throw new ValueError("optimizer", "lr", "at least 0", value);
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
}

/** The learning rate on a device, with what was written there. */
interface Rate {
  readonly cell: Tensor;
  written: number;
  /** The trace in which a step has read it. */
  trace: Tracer | null;
}

export abstract class Optimizer<O extends BaseOptions> {
  readonly #name: string;
  readonly #defaults: O;
  readonly #groups: ParamGroup<O>[] = [];
  #units: Unit<O>[] = [];
  readonly #rates = new Map<ParamGroup<O>, Map<Device, Rate>>();

  constructor(name: string, params: ParametersInput<O>, defaults: O) {
    this.#name = name;
    this.#defaults = defaults;
    const list = [...(params as Iterable<Tensor | GroupInput<O>>)];
    if (list.length === 0) throw new ValueError(name, "params", "at least one parameter", "none");
    const groups = list[0] instanceof Tensor ? [{ params: list as Tensor[] } as unknown as GroupInput<O>] : (list as GroupInput<O>[]);
    for (const group of groups) this.addParamGroup(group);
  }

  /** Names of the state that each parameter has, under the given options. */
  protected abstract stateNames(options: O): readonly string[];
  /** Counters that each parameter has; the first is the number of steps. */
  protected abstract counters(options: O): readonly Counter[];
  /** Throws for options out of their range. */
  protected abstract checkOptions(options: O): void;
  /** Updates run.data and run.state in place; rate is the learning rate, float32 of one element. */
  protected abstract update(run: Run, gradient: Tensor, rate: Tensor, options: O): void;

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
    const { params: given, ...own } = input;
    const params = [...given];
    const options: O = { ...this.#defaults, ...Object.fromEntries(Object.entries(own).filter(([, v]) => v !== undefined)) };
    if (params.length === 0) throw new ValueError(this.#name, "params", "at least one parameter", "an empty group");
    if (!(options.lr >= 0)) throw new ValueError(this.#name, "lr", "at least 0", options.lr);
    this.checkOptions(options);
    const known = new Set(this.#groups.flatMap((g) => g.params));
    params.forEach((p, i) => {
      if (!(p instanceof Tensor)) throw new DTypeError(this.#name, `params[${i}]`, "a tensor", typeof p);
      p.demandLive(this.#name, `params[${i}]`);
      if (!p.isLeaf)
        throw new AutogradError({
          operation: this.#name,
          argument: `params[${i}]`,
          expected: "a leaf",
          received: `${p.describe()} made by an operation`,
        });
      if (!isFloat(p.dtype) || p.dtype === "float64" || p.dtype === "bfloat16")
        throw new DTypeError(this.#name, `params[${i}]`, "float32 or float16", p.describe());
      if (known.has(p)) throw new ValueError(this.#name, `params[${i}]`, "in one group once", `${p.describe()} again`);
      known.add(p);
    });
    const group = new ParamGroup(params, options);
    this.#groups.push(group);
    this.#rates.set(group, new Map());
    this.#units.push(...this.#layOut(group));
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
      for (const name of this.stateNames(group.options)) partition.stateOf(name);
      const clock = Clock.start(partition.device, this.counters(group.options));
      return { group, partition, clocks: parameters.map(() => clock), plan: null };
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
        here = Clock.start(unit.partition.device, this.counters(unit.group.options));
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
      const guards = this.#units.flatMap((u) => [u.plan!.id, ...this.#guards(u.group.options)]);
      if (t === null)
        outsideScopes(() => {
          this.#run();
        });
      else
        t.region(
          this,
          this.#units.flatMap((u) => u.partition.parameters.map((p) => p.grad)),
          guards,
          () => {
            this.#run();
          },
        );
    });
    return result;
  }

  #guards(options: O): unknown[] {
    return Object.entries(options).flatMap(([name, value]) => (name === "lr" ? [] : [value]));
  }

  #prepare(unit: Unit<O>): void {
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
    const counters = this.counters(unit.group.options);
    // Options that count differently begin anew.
    if (unit.clocks.some((c) => c.values.length !== counters.length)) unit.clocks.fill(Clock.start(unit.partition.device, counters));
    for (const clock of new Set(unit.clocks)) {
      const members = unit.clocks.flatMap((c, i) => (c === clock ? [i] : []));
      const stepping = members.filter((i) => unit.partition.parameters[i]!.grad !== null);
      if (stepping.length === 0 || stepping.length === members.length) continue;
      const apart = clock.copy();
      for (const i of stepping) unit.clocks[i] = apart;
    }
  }

  #rateOf(group: ParamGroup<O>, device: Device): Rate {
    const rates = this.#rates.get(group)!;
    let rate = rates.get(device);
    if (rate === undefined) {
      rate = { cell: cell(device, group.lr), written: group.lr, trace: null };
      rates.set(device, rate);
    }
    return rate;
  }

  #writeRates(t: Tracer | null): void {
    for (const { group, partition } of this.#units) {
      const rate = this.#rateOf(group, partition.device);
      if (rate.written !== group.lr) {
        if (t !== null && rate.trace === t)
          throw new TraceError({
            operation: this.#name,
            argument: "lr",
            expected: "the same in all steps of one call of a compiled function",
            received: `${group.lr} after ${rate.written}`,
          });
        setCell(rate.cell, group.lr);
        rate.written = group.lr;
      }
      rate.trace = t;
    }
  }

  #run(): void {
    for (const { group, partition, plan } of this.#units) {
      const rate = this.#rateOf(group, partition.device).cell;
      for (const clock of new Set(plan!.runs.map((r) => r.clock))) clock.tick(this.counters(group.options));
      for (const run of plan!.runs) {
        const gradient = gradientOf(run, (list) => call(gatherFlatOp, list, undefined), contiguous);
        this.update(run, gradient, rate, group.options);
        if (tracer() === null && gradient !== run.parameters[0]!.grad) gradient.dispose();
      }
    }
  }

  /** Takes the gradients away, or fills them with zeros. */
  zeroGrad({ setToNull = true }: { readonly setToNull?: boolean } = {}): void {
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
      return { params, options: { ...group.options } };
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
    const step = unit.clocks[i]!.values[0];
    if (step !== undefined) own.step = new Tensor(step.storage, step.desc, step.offset);
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
    const i = unit.partition.parameters.indexOf(p);
    for (const name of this.stateNames(group.options)) {
      const value = own[name];
      if (value === undefined)
        throw new ValueError(`${this.#name}.loadStateDict`, "state", `with ${name} for each parameter`, Object.keys(own));
      this.#fillState(unit, name, i, value);
    }
    if (unit.clocks[i]!.values.length === 0) return;
    if (own.step === undefined)
      throw new ValueError(`${this.#name}.loadStateDict`, "state", "with step for each parameter", Object.keys(own));
    this.#loaded.set(p, itemSync(own.step));
  }

  /** Steps of the parameters whose state is being loaded. */
  readonly #loaded = new Map<Tensor, number>();

  /** New clocks for a group whose state was loaded: one for each number of steps. */
  #shareClocks(group: ParamGroup<O>): void {
    for (const unit of this.#units) {
      if (unit.group !== group) continue;
      const old = new Set(unit.clocks);
      const made = new Map<number, Clock>();
      unit.partition.parameters.forEach((p, i) => {
        const n = this.#loaded.get(p);
        if (n === undefined) return;
        let clock = made.get(n);
        if (clock === undefined) made.set(n, (clock = Clock.start(unit.partition.device, this.counters(group.options), n)));
        unit.clocks[i] = clock;
      });
      for (const clock of old) if (!unit.clocks.includes(clock)) clock.dispose();
      unit.plan?.dispose();
      unit.plan = null;
    }
    this.#loaded.clear();
  }

  /** Frees the optimizer's state. The parameters stay. */
  dispose(): void {
    for (const unit of this.#units) this.#drop(unit);
    for (const rates of this.#rates.values()) for (const rate of rates.values()) rate.cell.dispose();
    this.#units = [];
  }
}
