/** whileLoop(): a function repeated while a boolean tensor is true. */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { clone } from "../ops/data/state.ts";
import { requirePredicate, resultOf } from "./cond.ts";
import { joinTrees, mapTree } from "./tree.ts";

/**
 * Repeats `carried = bodyFn(...carried)` while condFn(...carried) is true, and gives the last `carried`.
 *
 * condFn: gives a boolean, or a bool tensor of one element, which is read in each round. bodyFn: gives an array like carried: trees of tensors (nested arrays
 * and plain objects) with the same structure, shapes and dtypes. carried: an array, whose elements are the arguments of both. Without a round the
 * tensors of carried are copied. Both functions must be synchronous; they may be compiled functions, which are then replayed in each round.
 *
 * Gradients of any order flow through the rounds that ran, to carried and to closures; each round saves what they need, so use noGrad() where none are
 * wanted. condFn has no gradient.
 * A compiled function that calls it runs eagerly, with a warning: how often it repeats is known on the host only.
 * Throws ShapeError, DTypeError or ValueError with the path of the leaf for a result that differs from carried.
 * Reference: torch.while_loop, jax.lax.while_loop.
 */
export function whileLoop<Carried extends readonly unknown[]>(
  condFn: (...carried: Carried) => Tensor | boolean,
  bodyFn: (...carried: Carried) => Carried,
  carried: Carried,
): Carried {
  if (!Array.isArray(carried as unknown)) throw new ValueError("whileLoop", "carried", "an array", carried);
  tracer()?.abandon("whileLoop() reads its condition in each round");
  let state: Carried = carried;
  for (let round = 0; holds(condFn(...state)); round++) {
    const next = resultOf("whileLoop", "bodyFn", bodyFn(...state));
    state = joinTrees({ operation: "whileLoop", like: "like carried" }, "result of bodyFn", carried, next, (_, t) => t);
  }
  return state === carried ? mapTree(carried, (t) => clone(t)) : state;
}

/** Whether the condition holds. */
function holds(condition: Tensor | boolean): boolean {
  resultOf("whileLoop", "condFn", condition);
  if (typeof condition === "boolean") return condition;
  requirePredicate("whileLoop", "result of condFn", condition);
  if (!condition.device.hasElements)
    throw new ValueError("whileLoop", "result of condFn", "on a device that has elements", condition.describe());
  return itemSync(condition) !== 0;
}
