/** cond(): one of two functions, chosen by a boolean tensor. */
import { close, inBranch, takenBranch } from "../autograd/branch.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { autocast, autocastDType, isAutocastEnabled } from "../core/autocast.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { itemSync } from "../ops/data/conversion.ts";
import { clone, detach } from "../ops/data/state.ts";
import { logicalAnd, logicalNot } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { reshape } from "../ops/shape/movement.ts";
import { joinTrees, mapTree } from "./tree.ts";

/** @internal The result of a function of control flow. Throws for a promise. */
export function resultOf<T>(operation: string, argument: string, result: T): T {
  if (typeof result !== "object" || result === null || !("then" in result)) return result;
  (result as unknown as Promise<unknown>).then(undefined, () => {});
  throw new ValueError(operation, argument, "a function that returns no promise", result);
}

/** @internal Throws unless a tensor is one boolean. */
export function requirePredicate(operation: string, argument: string, predicate: Tensor): void {
  predicate.requireLive(operation, argument);
  if (predicate.dtype !== "bool")
    throw new DTypeError(
      operation,
      argument,
      "a boolean, or a bool tensor of one element",
      predicate.describe(),
      "Compare it: x.gt(0) or x.ne(0).",
    );
  if (predicate.size !== 1) throw new ShapeError(operation, argument, "of one element", predicate.describe(), "Use any() or all().");
}

/** @internal Results that existed before some time (operands, tensors of closures) as tensors of their own. */
export const apart = <T>(result: T, start: number): T => mapTree(result, (t) => (t.storage.birth < start ? clone(t) : t));

const LIKE = "like the result of trueFn";

/** Both results, which must be alike; what join makes of them. */
const joined = <T>(a: T, b: T, join: (a: Tensor, b: Tensor) => Tensor): T =>
  joinTrees({ operation: "cond", like: LIKE }, "result of falseFn", a, b, join);

/** In a trace: both branches, and a choice between their results. */
function traced<T>(predicate: Tensor, trueFn: () => T, falseFn: () => T): T {
  const outer = takenBranch();
  const [isTrue, ifTrue, ifFalse] = noGrad(() => {
    // A branch may write to the predicate.
    const own = clone(reshape(detach(predicate), []));
    const not = logicalNot(own);
    return outer === null ? [own, clone(own), not] : [own, logicalAnd(outer, own), logicalAnd(outer, not)];
  });
  const branch = (taken: Tensor, argument: string, fn: () => T): T => {
    const dtype = isAutocastEnabled() ? autocastDType() : null;
    // A weight that is cast in a branch is the branch's own.
    const run = dtype === null ? fn : () => autocast(dtype, fn, { cacheWeights: false });
    return inBranch(taken, () => resultOf("cond", argument, run()));
  };
  try {
    const a = branch(ifTrue, "trueFn", trueFn);
    const b = branch(ifFalse, "falseFn", falseFn);
    return joined(a, b, (x, y) => where(isTrue, x, y));
  } finally {
    close(ifTrue);
    close(ifFalse);
  }
}

/**
 * trueFn(...operands) if the predicate is true, else falseFn(...operands).
 *
 * predicate: a boolean, or a bool tensor of one element. operands: any values. The functions must be synchronous, and return trees of tensors (nested
 * arrays and plain objects) with the same structure, shapes and dtypes. With a tensor, a result that is an operand or a tensor of a closure is copied. Gradients of
 * any order flow through the function that was chosen; the other one's are zero.
 *
 * A boolean is an `if`: the result is the function's own. Outside of compile() only the chosen function runs; a tensor is read, which waits for the device. In a compiled function a
 * tensor is not read: the program computes both, and chooses results, writes and gradients on the device. So another value records nothing.
 * Throws DTypeError or ShapeError for another predicate; TraceError for a branch that changes what is no tensor, or gradients of leaves, in a compiled
 * function; and for results that differ DTypeError, ShapeError or ValueError with the leaf's path, where both functions run.
 * Reference: torch.cond, jax.lax.cond.
 */
export function cond<Operands extends readonly unknown[], Result>(
  predicate: Tensor | boolean,
  trueFn: (...operands: Operands) => Result,
  falseFn: (...operands: Operands) => Result,
  operands: Operands = [] as unknown as Operands,
): Result {
  const start = Storage.made;
  const run = (isTrue: boolean): Result =>
    isTrue ? resultOf("cond", "trueFn", trueFn(...operands)) : resultOf("cond", "falseFn", falseFn(...operands));
  if (typeof predicate === "boolean") return run(predicate);
  requirePredicate("cond", "predicate", predicate);
  if (tracer() !== null)
    return traced(
      predicate,
      () => trueFn(...operands),
      () => falseFn(...operands),
    );
  if (predicate.device.hasElements) return apart(run(itemSync(predicate) !== 0), start);
  // Nothing says which one it is: both must be alike.
  return joined(run(true), run(false), (x) => x);
}
