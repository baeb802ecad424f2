/** whileLoop(): a function repeated while a boolean tensor is true. */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer, type LoopBody, type LoopTest, type Tracer } from "../core/tracer.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { clone } from "../ops/data/state.ts";
import { requirePredicate, resultOf } from "./cond.ts";
import { reshape } from "../ops/shape/movement.ts";
import { joinTrees, leavesOf, mapTree, withLeaves } from "./tree.ts";

/**
 * Repeats `carried = bodyFn(...carried)` while condFn(...carried) is true, and gives the last `carried`.
 *
 * condFn: gives a boolean, or a bool tensor of one element, which is read in each round. bodyFn: gives an array like carried: trees of tensors (nested arrays
 * and plain objects) with the same structure, shapes and dtypes. carried: an array, whose elements are the arguments of both. Without a round the
 * tensors of carried are copied. Both functions must be synchronous; they may be compiled functions, which are then replayed in each round.
 *
 * Gradients of any order flow through the rounds that ran, to carried and to closures; each round saves what they need, so use noGrad() where none are
 * wanted. condFn has no gradient.
 * In a compiled function condition and body are programs of their own, and the condition is read in each round. A function whose loop needs gradients, or whose
 * condition or body is no function of its tensors alone (see scan()), runs eagerly, with a warning.
 * Throws ShapeError, DTypeError or ValueError with the path of the leaf for a result that differs from carried.
 * Reference: torch.while_loop, jax.lax.while_loop.
 */
export function whileLoop<Carried extends readonly unknown[]>(
  condFn: (...carried: Carried) => Tensor | boolean,
  bodyFn: (...carried: Carried) => Carried,
  carried: Carried,
): Carried {
  if (!Array.isArray(carried as unknown)) throw new ValueError("whileLoop", "carried", "an array", carried);
  const t = tracer();
  if (t !== null) return traced(t, condFn, bodyFn, carried);
  let state: Carried = carried;
  for (let round = 0; holds(condFn(...state)); round++) {
    const next = resultOf("whileLoop", "bodyFn", bodyFn(...state));
    state = joinTrees({ operation: "whileLoop", like: "like carried" }, "result of bodyFn", carried, next, (_, t) => t);
  }
  return state === carried ? mapTree(carried, (t) => clone(t)) : state;
}

/** In a trace: the condition and the body are programs of their own. Without them the function runs eagerly. */
function traced<Carried extends readonly unknown[]>(
  t: Tracer,
  condFn: (...carried: Carried) => Tensor | boolean,
  bodyFn: (...carried: Carried) => Carried,
  carried: Carried,
): Carried {
  const init = leavesOf(carried);
  if (!t.hasLoops || init.length === 0) t.abandon("whileLoop() reads its condition in each round");
  const test: LoopTest = (carry) => {
    const condition = condFn(...withLeaves(carried, carry));
    resultOf("whileLoop", "condFn", condition);
    if (typeof condition === "boolean") t.abandon("the condition of whileLoop() is a boolean");
    requirePredicate("whileLoop", "result of condFn", condition);
    return reshape(condition, []);
  };
  const body: LoopBody = (carry) => {
    const next = resultOf("whileLoop", "bodyFn", bodyFn(...withLeaves(carried, carry)));
    const joined = joinTrees({ operation: "whileLoop", like: "like carried" }, "result of bodyFn", carried, next, (_, leaf) => leaf);
    return { carry: leavesOf(joined), ys: [] };
  };
  return withLeaves(carried, t.loop({ name: "whileLoop", length: null, reverse: false, init, xs: [] }, body, test).carry);
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
