/** The state of modules by name: what stateDict() gives, and loadStateDict() takes. @package */
import { ShapeError, ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { partOf, setPart } from "../core/tensor-part.ts";
import { Tensor } from "../core/tensor.ts";
import { copyInto } from "../ops/data/copy.ts";
import { requireElements } from "../runtime/meta.ts";
import type { HookKinds, Hooks } from "./hooks.ts";
import { OWN } from "./inner.ts";
import { requireOutside } from "./members.ts";
import { finishLoaded, isLazy, shapesToLoad } from "./lazy.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import { replace } from "./replace.ts";
import { isUninitialized, materialize } from "./uninitialized.ts";

/** Tensors by name, "0.weight": what a module knows, or a file holds. */
export type StateDict = Record<string, Tensor>;

/** The names that loadStateDict() did not find, and those that it does not know. */
export interface LoadedNames {
  readonly missing: string[];
  readonly unexpected: string[];
}

/** The modules that have hooks of these kinds, outer ones first, by their prefix in the state. */
function withHooks(module: Module, kinds: readonly (keyof HookKinds)[]): (readonly [prefix: string, hooks: Hooks])[] {
  const found: (readonly [string, Hooks])[] = [];
  for (const [name, m] of module.namedModules()) {
    const { hooks } = m[OWN];
    if (hooks !== null && kinds.some((kind) => hooks.has(kind))) found.push([name === "" ? "" : `${name}.`, hooks]);
  }
  return found;
}

/** Whether loadStateDict() does more than copying: hooks see the state, or lazy layers get their shapes of it. */
export const loadsAsAWhole = (module: Module): boolean =>
  withHooks(module, ["stateDictPre", "stateDictPost", "loadStateDictPre", "loadStateDictPost"]).length > 0 || module.modules().some(isLazy);

/** Names and tensors of the state, shared ones under each of their names. */
export function* stateOf(module: Module): Generator<[string, Tensor]> {
  const seen = new Set<string>();
  const visit = function* (inner: Module, prefix: string, around: readonly Module[]): Generator<[string, Tensor]> {
    for (const [name, member] of inner.members()) if (member instanceof Parameter) yield [`${prefix}${name}`, member];
    for (const [name, { tensor, persistent }] of inner[OWN].buffers) if (persistent) yield [`${prefix}${name}`, tensor];
    for (const [name, child] of inner.namedChildren())
      yield* visit(requireOutside("stateDict", `${prefix}${name}`, child, around), `${prefix}${name}.`, [...around, child]);
  };
  for (const [name, t] of visit(module, "", [module])) {
    if (seen.has(name)) throw new ValueError("stateDict", "name", "used once", name);
    seen.add(name);
    yield [name, t];
  }
}

/** Module.stateDict(). */
export function readState(module: Module): StateDict {
  const modules = withHooks(module, ["stateDictPre", "stateDictPost"]);
  for (const [prefix, hooks] of modules) hooks.run("stateDictPre", (hook) => hook(hooks.module as never, prefix));
  let state: StateDict = {};
  for (const [name, t] of stateOf(module)) {
    if (isUninitialized(t)) t.requireLive("stateDict", name);
    state[name] = new Tensor(t.storage, t.desc, t.offset);
    setPart(state[name], partOf(t));
  }
  // Inner modules come first, and this one last.
  for (const [prefix, hooks] of modules.toReversed())
    hooks.run("stateDictPost", (hook) => {
      const next = hook(hooks.module as never, state, prefix);
      if (next !== undefined && next !== null && prefix === "") state = next;
    });
  return state;
}

/** Module.loadStateDict(). */
export function loadState(module: Module, state: Readonly<StateDict>, strict: boolean, assign: boolean): LoadedNames {
  const hooked = withHooks(module, ["loadStateDictPre"]);
  if (hooked.length > 0) state = { ...state };
  for (const [prefix, hooks] of hooked) hooks.run("loadStateDictPre", (hook) => hook(hooks.module as never, state, prefix));
  const own = new Map(stateOf(module));
  const missing = [...own.keys()].filter((name) => !Object.hasOwn(state, name));
  const unexpected = Object.keys(state).filter((name) => !own.has(name));
  // Hooks that run when the values are copied may allow what is missing.
  const after = withHooks(module, ["loadStateDictPost"]);
  if (strict && after.length === 0) requireNames(missing, unexpected);
  const waiting = shapesToLoad(module, (name) => state[name]?.shape);
  const wrong = [...own].flatMap(([name, t]) => {
    const value = state[name];
    const shape = isUninitialized(t) ? (waiting.get(name) ?? null) : t.shape;
    if (value === undefined || (shape !== null && sameShape(value.shape, shape))) return [];
    return [`${name} ${shape === null ? t.describe() : showShape(shape)} got ${showShape(value.shape)}`];
  });
  if (wrong.length > 0) throw new ShapeError("loadStateDict", "tensors", "of the module's shapes", wrong.join("; "));
  const entries = [...own].flatMap(([name, t]) => (Object.hasOwn(state, name) ? [[t, state[name]!] as const] : []));
  for (const [t, value] of entries) {
    value.requireLive("loadStateDict", "state");
    if (!assign && t.device !== value.device) requireElements("loadStateDict", t);
  }
  for (const [t, value] of entries) {
    if (isUninitialized(t)) materialize(t, value.shape);
    if (assign) outsideScopes(() => replace(t, new Tensor(value.storage, value.desc, value.offset)));
    else copyInto("loadStateDict", t, value);
  }
  finishLoaded(module);
  for (const [, hooks] of after.toReversed())
    hooks.run("loadStateDictPost", (hook) => hook(hooks.module as never, { missing, unexpected }));
  if (strict && after.length > 0) requireNames(missing, unexpected);
  return { missing, unexpected };
}

function requireNames(missing: readonly string[], unexpected: readonly string[]): void {
  if (missing.length + unexpected.length === 0) return;
  const parts = [
    missing.length > 0 ? `without ${missing.join(", ")}` : "",
    unexpected.length > 0 ? `with unknown ${unexpected.join(", ")}` : "",
  ].filter((p) => p !== "");
  throw new ValueError(
    "loadStateDict",
    "state",
    "of exactly the module's names",
    `one ${parts.join(" and ")}`,
    "Pass strict: false to load what fits.",
  );
}
