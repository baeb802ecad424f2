/** The state of an optimizer's parameters as tensors by name, and back. */
import { ValueError } from "../core/errors.ts";
import { partOf, setPart } from "../core/tensor-part.ts";
import { Tensor } from "../core/tensor.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { Clock, steps, type ClockRule, type Counter } from "./clock.ts";
import type { BaseOptions } from "./group.ts";
import { PRECISION } from "./group-input.ts";
import type { Unit } from "./unit.ts";

type State = Readonly<Record<string, Tensor>>;

/** What a parameter has by now, in tensors that share the optimizer's storage; null before its first step. */
export function stateOf<O extends BaseOptions>(unit: Unit<O>, p: Tensor, counters: readonly Counter[]): Record<string, Tensor> | null {
  const i = unit.partition.parameters.indexOf(p);
  const clock = unit.clockOf(i);
  if (clock === null) return null;
  const own: Record<string, Tensor> = {};
  counters.forEach(({ name }, k) => {
    const value = clock.values[k];
    if (value !== undefined) own[name] = new Tensor(value.storage, value.desc, value.offset);
  });
  for (const name of unit.stateNames) {
    const view = unit.partition.stateView(name, i);
    // Unlike the optimizer's own views this one belongs to the caller's scope.
    own[name] = new Tensor(view.storage, view.desc, view.offset);
    setPart(own[name], partOf(p));
    view.dispose();
  }
  return own;
}

/** What is kept of half precision, and the form of the state, is decided when the optimizer is made. */
export function requireSamePrecision<O extends BaseOptions>(name: string, options: O, saved: object, lasting: readonly string[]): void {
  for (const option of PRECISION) {
    const value = (saved as Partial<BaseOptions>)[option];
    if (value !== undefined && value !== (options[option] ?? false))
      throw new ValueError(
        `${name}.loadStateDict`,
        option,
        `${options[option] ?? false}, as this optimizer has it`,
        value,
        "Make the optimizer with the option that the state was saved with.",
      );
  }
  for (const option of lasting) {
    const [value, own] = [saved, options].map((o) => (o as Readonly<Record<string, unknown>>)[option]);
    if (value !== undefined && value !== own)
      throw new ValueError(`${name}.loadStateDict`, option, `${String(own)}, as this optimizer has it`, value);
  }
}

/** Parameters that have taken as many steps, and count alike, share a clock. A parameter without state has taken none. */
export function loadUnit<O extends BaseOptions>(
  name: string,
  counting: ClockRule,
  unit: Unit<O>,
  states: ReadonlyMap<Tensor, State | undefined>,
): void {
  const { partition, counted } = unit;
  const before = unit.clocks;
  const clocks = new Map<string, Clock>();
  const counters = counting.counters(counted.fixed);
  const required = (own: State, key: string): Tensor => {
    const value = own[key];
    if (value === undefined) throw new ValueError(`${name}.loadStateDict`, "state", `with ${key} for each parameter`, Object.keys(own));
    return value;
  };
  partition.parameters.forEach((p, i) => {
    const own = states.get(p);
    if (own === undefined) {
      unit.load(i, null);
      return;
    }
    const slots = new Map(unit.stateNames.map((key) => [key, required(own, key)]));
    const known: Record<string, number> = {};
    for (const counter of counters) if (own[counter.name] !== undefined) known[counter.name] = itemSync(own[counter.name]!);
    if (counters.length > 0) required(own, steps.name);
    const key = JSON.stringify(known);
    let clock = clocks.get(key);
    if (clock === undefined) {
      clock = Clock.start(partition.device, counting, counted, known[steps.name], known);
      clocks.set(key, clock);
    }
    unit.load(i, { slots, clock });
  });
  unit.release(before);
}
