/** Which layers of a module are adapted. @package */
import { UnsupportedError, ValueError } from "../core/errors.ts";
import { MultiheadAttention } from "./attention.ts";
import { OUTPUT_LAYER } from "./inner.ts";
import { isAdapted, modulesIn } from "./lora-layer.ts";
import { kindOf } from "./lora-kinds.ts";
import type { LoraTarget } from "./lora-options.ts";
import type { Module } from "./module.ts";
import { isUninitialized } from "./uninitialized.ts";

const ALL_LINEAR = "all-linear";

/** Modules by name, without those that adapters are made of. */
export function ownModules(root: Module): ReadonlyMap<string, Module> {
  const inner = new Set<Module>();
  for (const module of root.modules()) if (isAdapted(module)) for (const part of modulesIn(module)) inner.add(part);
  return new Map([...root.namedModules()].filter(([, module]) => !inner.has(module)));
}

/** Whether a name, or its end, is what is meant. */
export const isNamed = (name: string, wanted: string): boolean => name === wanted || name.endsWith(`.${wanted}`);

/** Layers whose weights others read, and those that make logits. */
function exceptionsIn(modules: ReadonlyMap<string, Module>): { readonly read: ReadonlySet<Module>; readonly last: ReadonlySet<Module> } {
  const [read, last] = [new Set<Module>(), new Set<Module>()];
  for (const module of modules.values()) {
    if (module instanceof MultiheadAttention) read.add(module.out_proj);
    if (OUTPUT_LAYER in module) last.add(module[OUTPUT_LAYER] as Module);
  }
  return { read, last };
}

/** The layers that a target chooses, by name. Throws ValueError where it chooses none, UnsupportedError for a layer of a kind that has no adapters. */
export function targetsOf(operation: string, root: Module, target: LoraTarget, exclude: LoraTarget): ReadonlyMap<string, Module> {
  const modules = ownModules(root);
  const { read, last } = exceptionsIn(modules);
  const found = new Map<string, Module>();
  const choose = (each: LoraTarget, into: Map<string, Module>, argument: string): void => {
    if (typeof each === "object" && !(each instanceof RegExp)) {
      for (const inner of each) choose(inner, into, argument);
      return;
    }
    let count = 0;
    for (const [name, module] of modules) {
      const kind = read.has(module) ? null : kindOf(module);
      let isMeant: boolean;
      if (each === ALL_LINEAR) isMeant = kind?.isLinear === true && !last.has(module);
      else if (typeof each === "string") isMeant = isNamed(name, each);
      // lastIndex of a global expression would make its result depend on the name before.
      else if (each instanceof RegExp) isMeant = kind !== null && new RegExp(each.source, each.flags.replace(/[gy]/g, "")).test(name);
      else isMeant = kind !== null && each(name, module);
      if (!isMeant) continue;
      count++;
      if (kind === null && argument === "target")
        throw new UnsupportedError({
          operation,
          argument,
          expected: "of layers that can be adapted: linear layers, convolutions, embeddings",
          received: `${name}, ${read.has(module) ? "whose weight the attention around it reads" : `a ${module.constructor.name}`}`,
        });
      into.set(name, module);
    }
    if (count === 0 && each !== ALL_LINEAR)
      throw new ValueError(operation, argument, `one that chooses a layer: ${adaptable(modules)}`, String(each));
  };
  choose(target, found, "target");
  const left = new Map<string, Module>();
  choose(exclude, left, "exclude");
  for (const name of left.keys()) found.delete(name);
  if (found.size === 0) throw new ValueError(operation, "target", `one that chooses a layer: ${adaptable(modules)}`, String(target));
  for (const [name, module] of found) {
    const uninitialized = [...module.members()].find(([, member]) => "storage" in member && isUninitialized(member));
    if (uninitialized !== undefined)
      throw new ValueError(
        operation,
        "target",
        "of layers whose shapes are known",
        name,
        "Call a lazy layer once, or load its state, first.",
      );
  }
  return found;
}

function adaptable(modules: ReadonlyMap<string, Module>): string {
  const names = [...modules].flatMap(([name, module]) => (kindOf(module) === null ? [] : [name === "" ? '""' : name]));
  return names.length === 0
    ? "the module has none"
    : `${names.slice(0, 8).join(", ")}${names.length > 8 ? ` and ${names.length - 8} more` : ""}`;
}
