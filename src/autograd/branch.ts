/**
 * The branches of cond() in a trace. A program computes both, and one boolean on the device decides which one counts: what the other writes is not
 * written, and no gradient leaves it, not even a NaN.
 */
import { defineView } from "../core/definition.ts";
import { TraceError } from "../core/errors.ts";
import type { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { isGradEnabled } from "./grad-mode.ts";
import { TapeNode } from "./tape.ts";
import { View } from "./view.ts";

/** Whether the branch that is being traced is taken: one boolean on the device. Null outside of all. */
let current: Tensor | null = null;

/** Branches whose tensors may be used: those that are being traced, and those whose results are being chosen from. */
const open = new Set<Storage>();

/** Which branch of which function made a tensor, or a storage with all its tensors. */
const makers = new WeakMap<Tensor | Storage, { readonly branch: Storage; readonly owner: object }>();

const makerOf = (t: Tensor) => makers.get(t) ?? makers.get(t.storage); // prettier-ignore

/** The tensor of which branchInput() made a view. */
const seen = new WeakMap<Tensor, Tensor>();

/** The tensor that a branch sees as t. */
export const outsideOf = (t: Tensor): Tensor => seen.get(t) ?? t;

export const takenBranch = (): Tensor | null => current;

export const isInBranch = (): boolean => current !== null && tracer() !== null;

/** Traces a branch. Until close(), its tensors may be used. */
export function inBranch<T>(taken: Tensor, run: () => T): T {
  const outer = current;
  current = taken;
  open.add(taken.storage);
  try {
    return run();
  } finally {
    current = outer;
  }
}

export const close = (taken: Tensor): void => void open.delete(taken.storage);

/** A traced function made a tensor, or a storage. */
export function noteMade(made: Tensor | Storage, owner: object): void {
  if (current !== null) makers.set(made, { branch: current.storage, owner });
}

/** Whether the branch that is being traced made it: nobody else sees it. */
export const isOwn = (t: Tensor): boolean => current !== null && makerOf(t)?.branch === current.storage;

/** Throws for a tensor of a branch that is over. */
export function requireOpen(operation: string, t: Tensor, owner: object): void {
  const maker = makerOf(t);
  if (maker === undefined || maker.owner !== owner || open.has(maker.branch)) return;
  throw new TraceError({
    operation,
    argument: t.describe(),
    expected: "made outside of the branches of cond(), or returned by one",
    received: "a tensor that a branch made and kept: whether the branch is taken is known on the device only",
    hint: "Return it from both branches, and use the result of cond().",
  });
}

/** The value that target gets where a branch assigns `value` to it: what it holds, if the branch is not taken. */
export function valueIfTaken(value: Tensor, target: Tensor): Tensor {
  if (current === null || tracer() === null || makers.get(target.storage)?.branch === current.storage) return value;
  const taken = current;
  // What target held has its gradients where the branch is not taken, so it is not seen as the branch sees it.
  current = null;
  try {
    const view = target.viewOf;
    const before = view !== null && makers.has(target) && target.requiresGrad && isGradEnabled() ? view.apply(view.base) : target;
    return arithmetic.select(taken, value, before);
  } finally {
    current = taken;
  }
}

const inputOp = defineView<undefined>({
  name: "branchInput",
  view: ({ shape, strides }) => ({ shape, strides, offset: 0 }),
  grad: (dy) => dy,
});

/** x as the branch that is being traced sees it: its gradient is zero where the branch is not taken. */
export function branchInput(x: Tensor): Tensor {
  const t = tracer();
  const taken = current;
  if (taken === null || t === null || !isGradEnabled() || !x.requiresGrad || isOwn(x)) return x;
  const make = (): Tensor => {
    const input = new Tensor(x.storage, x.desc, x.offset);
    seen.set(input, x);
    input.node = new TapeNode("cond", [x], [x.desc], [taken], ([dy], [saved]) => [
      arithmetic.select(saved!, dy!, arithmetic.zeros(dy!, { shape: [], dtype: dy!.dtype })),
    ]);
    input.viewOf = new View(x, inputOp as never, undefined, "recorded");
    return input;
  };
  return t.view(inputOp, x, undefined, make, [taken]);
}

/** All of an operation's inputs as the branch sees them. */
export const branchInputs = (inputs: readonly Tensor[]): readonly Tensor[] => (current === null ? inputs : inputs.map(branchInput));

/** Throws in a branch: `what` changes something that is no tensor. */
export function refuseInBranch(what: string, hint: string): void {
  if (!isInBranch()) return;
  throw new TraceError({
    operation: "cond",
    argument: "branch",
    expected: "one that changes tensors alone, since its predicate is a tensor and the function is being compiled",
    received: what,
    hint,
  });
}
