/** What the fields of a module hold: its parameters and the modules inside. @package */
import { isForeign } from "../core/copies.ts";
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";

/** What a value of a field holds: itself, or what is in arrays, plain objects and Maps. around: those that it is in. */
export function* membersIn(
  name: string,
  value: unknown,
  around: readonly object[],
  isModule: (value: object) => value is Module,
): Generator<[string, Parameter | Module]> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return;
  if (value instanceof Parameter || isModule(value) || isForeignMember(value)) yield [name, value];
  else if (typeof value === "function") return;
  else if (!around.includes(value))
    for (const [key, inner] of entriesIn(value, around.length)) {
      const found = membersIn(`${name}.${String(key)}`, inner, [...around, value], isModule);
      if (typeof key === "string" || typeof key === "number") yield* found;
      else if (found.next().done !== true) throw new ValueError("Module", name, "a Map of strings or numbers to what it holds", key);
    }
}

/** A module or what may be a parameter, of another copy of this package. */
const isForeignMember = (value: unknown): value is Module | Parameter =>
  isForeign(value) && (typeof value === "function" || (value as Tensor).requiresGrad);

function entriesIn(value: object, depth: number): Iterable<readonly [key: unknown, inner: unknown]> {
  // Rows of numbers are data: nobody looks through them.
  if (Array.isArray(value)) return depth > 0 && typeof value[0] !== "object" && typeof value[0] !== "function" ? [] : value.entries();
  if (value instanceof Map) return value.entries();
  if (value instanceof Set) return [...value].entries();
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? Object.entries(value) : [];
}

/** A child that is none of the modules around it: a tree that holds itself has no end. */
export function requireOutside(operation: string, name: string, child: Module, around: readonly Module[]): Module {
  if (!around.includes(child)) return child;
  const hint = "Hold a reference to an outer module in a private field: this.#outer.";
  throw new ValueError(operation, name, "a module that does not hold the one it is in", child.constructor.name, hint);
}
