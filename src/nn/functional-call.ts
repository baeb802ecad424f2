/** functionalCall(): a module's forward() with other tensors instead of its parameters and buffers. */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Module } from "./module.ts";
import { Parameter } from "./parameter.ts";
import type { StateDict } from "./module-state.ts";
import { isUninitialized } from "./uninitialized.ts";
import type { Site } from "./sites.ts";

/** Every name of the module's tensors: shared ones have several. */
function namedTensors(module: Module): Map<string, Tensor> {
  const own = new Map<string, Tensor>(module.namedBuffers());
  for (const [prefix, inner] of module.namedModules())
    for (const [name, member] of inner.members())
      if (member instanceof Parameter) own.set(prefix === "" ? name : `${prefix}.${name}`, member);
  return own;
}

/**
 * What `module(...inputs)` gives with the tensors of `state` instead of its parameters and buffers of these names; the others stay the module's. Gradients reach the
 * tensors given. The module is as before afterwards, also where forward() throws; a buffer that forward() writes and that `state` has is written there.
 * A name of tied weights stands for all of them. Works in compiled functions.
 *
 * state: tensors by dotted name, as stateDict() names them. Throws ValueError for a name that the module does not have, and for two tensors of tied weights.
 * Reference: torch.func.functional_call.
 */
export function functionalCall<M extends Module>(
  module: M,
  state: Readonly<StateDict>,
  ...inputs: Parameters<M["forward"]>
): ReturnType<M["forward"]> {
  const own = namedTensors(module);
  const next = new Map<Tensor, Tensor>();
  for (const [name, tensor] of Object.entries(state)) {
    const held = own.get(name);
    if (held === undefined) throw new ValueError("functionalCall", "state", `of names of ${[...own.keys()].join(", ")}`, name);
    if (isUninitialized(held)) held.requireLive("functionalCall", name);
    tensor.requireLive("functionalCall", `state["${name}"]`);
    const other = next.get(held);
    if (other !== undefined && other !== tensor)
      throw new ValueError("functionalCall", "state", "one tensor for tied weights", `another one for ${name}`);
    next.set(held, tensor);
  }
  return withTensors(module.modules(), next, () =>
    (module as unknown as (...values: unknown[]) => ReturnType<M["forward"]>)(...(inputs as unknown[])),
  );
}

/** Runs fn while other tensors replace those that the modules hold, in fields, arrays, objects, Maps, Sets and buffers. @package */
export function withTensors<T>(modules: Iterable<Module>, next: ReadonlyMap<Tensor, Tensor>, fn: () => T): T {
  const sites: Site[] = [];
  for (const m of modules) for (const site of m.sites()) if (next.has(site.tensor)) sites.push(site);
  try {
    for (const site of sites) site.put(next.get(site.tensor)!);
    return fn();
  } finally {
    for (const site of sites) site.put(site.tensor);
  }
}
