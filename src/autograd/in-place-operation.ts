/** In-place operations: checks that a tensor may be written, writes it, and updates the histories of the tensor, its base and their views. */
import { batching } from "../core/batching.ts";
import { isFloat, isInteger, type DType } from "../core/dtype.ts";
import type { TensorSpec } from "../core/definition.ts";
import { AutogradError, DTypeError, ShapeError } from "../core/errors.ts";
import { assignEager, noteWrite } from "../runtime/assign.ts";
import { requireChangeable } from "../core/inference.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { isInBranch, outsideOf, valueIfTaken } from "./branch.ts";
import { isGradEnabled, noGrad } from "./grad-mode.ts";
import { beginWrite, endWrite } from "./over.ts";
import { savingHooks } from "./saved-hooks.ts";
import { TapeNode, watching, type Gradients } from "./tape.ts";
import { moveRetained } from "./record.ts";
import type { View } from "./view.ts";

export interface AssignOptions {
  /** The value does not depend on what the target held: its old history gets zeros. Default: false. */
  readonly replaces?: boolean;
  /** Overlapping elements get the same value: all values are equal, or unchanged. Default: false. */
  readonly uniform?: boolean;
  /** A second backward() through the write needs no retainGraph. Default: false. */
  readonly isAgain?: boolean;
}

/**
 * target takes the value of an operation over inputs (the in-place forms: `x.add_(y)` is assign(x, add, [x, y])). compute makes
 * the value; it must have target's shape, and a dtype that target's can take.
 */
export function assign(operation: string, target: Tensor, compute: () => Tensor, options: AssignOptions = {}): Tensor {
  target.requireLive(operation);
  requireChangeable(target, operation);
  const level = batching();
  if (level !== null && !level.owns(target)) {
    level.writeOutside(operation, compute, (value) => void assign(operation, target, () => value, options));
    return target;
  }
  if (options.uniform !== true) requireNonOverlapping(operation, target);
  if (isInBranch()) {
    const { isAgain = false } = options;
    return assignValue(operation, target, () => valueIfTaken(conformValue(operation, target, compute()), target), { isAgain });
  }
  return assignValue(operation, target, compute, options);
}

function assignValue(operation: string, target: Tensor, compute: () => Tensor, options: AssignOptions): Tensor {
  if (!isGradEnabled()) {
    const over = beginWrite(target);
    let value: Tensor;
    try {
      value = conformValue(operation, target, compute());
    } finally {
      endWrite(over);
    }
    return over.isDone ? written(target) : write(operation, target, value);
  }
  const had = target.requiresGrad;
  if (had) requireWritable(operation, target);
  const over = beginWrite(target, had ? () => undefined : () => requireWritable(operation, target));
  let made: { readonly result: Tensor; readonly nodes: readonly TapeNode[] };
  try {
    made = watching(() =>
      withNewNode(target, had, () => {
        const value = conformValue(operation, target, compute());
        return over.isDone ? value : copyIfSame(target, value);
      }),
    );
  } finally {
    endWrite(over);
  }
  const { result, nodes } = made;
  if (over.isDone && !result.requiresGrad) return written(target);
  if (!had) {
    if (!result.requiresGrad) return write(operation, target, result);
    requireWritable(operation, target);
  }
  const t = tracer();
  const replaces = had && (options.replaces === true || result.node === null);
  const run = (): void => rewrite(operation, target, result, over.isDone ? null : nodes, replaces, options.isAgain !== true);
  if (t === null) run();
  else t.rewrite(target, result, nodes, run);
  const hooks = savingHooks();
  if (hooks !== null) for (const node of nodes) node.pack(hooks);
  return target;
}

/** Writes, and gives target (or its base) the history of the value. nodes: what computed it; null: it lies in the target's buffer, and no node saves it. */
function rewrite(
  operation: string,
  target: Tensor,
  value: Tensor,
  nodes: readonly TapeNode[] | null,
  replaces: boolean,
  isOnce: boolean,
): void {
  // What the operation saved of the target is from before the write, what it saved of the value is the target afterwards.
  const targets = nodes?.flatMap((n) => n.saving(target, outsideOf) ?? []) ?? [];
  const values = nodes?.flatMap((n) => n.savedIn(value.storage)) ?? [];
  for (const s of values) s.repoint(target);
  if (targets.length > 0) {
    const before = snapshot(target, value);
    for (const s of targets) s.repoint(before);
    before.dispose();
  }
  const view = target.viewOf;
  const node =
    view !== null
      ? rebased(operation, view, target, value, replaces, isOnce)
      : replaces
        ? new TapeNode(operation, [target, value], [target.desc], [], ([dy]) => [arithmetic.zeros(dy!, target.desc), dy!])
        : value.node!;
  const output = view === null && !replaces ? value.outputIndex : 0;
  node.retain();
  if (nodes === null) written(target);
  else write(operation, target, value);
  for (const s of values) s.refresh();
  setHistory(view?.base ?? target, node, output);
  // A view finds its new node by its base.
  const shownBy = target.node;
  if (view !== null && shownBy !== null) for (const s of values) s.showBy(shownBy);
  node.release();
}

/** The base's new node: the gradient of the part that was written goes to the value, that of the rest to what the base was. */
function rebased(operation: string, view: View, target: Tensor, value: Tensor, replaces: boolean, isOnce: boolean): TapeNode {
  const { base } = view;
  const isWhole = target.size === base.size && isNonOverlapping(target);
  const part = target.desc;
  const run = ([dy]: Gradients): Gradients => {
    if (isWhole && !replaces) return [null, arithmetic.clone(view.apply(dy!))];
    return [rest(dy!, view, part), arithmetic.clone(view.apply(dy!))];
  };
  return new TapeNode(`${operation} of a view`, [base, value], [base.desc], [], run, isOnce ? { isOnce } : {});
}

/** dy with zeros where a view shows it: a copy with zeros written, but in traces and where that is recorded. */
function rest(dy: Tensor, view: View, part: TensorSpec): Tensor {
  if (!isGradEnabled() && batching() === null && tracer() === null) {
    const copy = arithmetic.clone(dy);
    const shown = view.apply(copy);
    if (shown.storage === copy.storage) {
      const zeros = arithmetic.zeros(dy, part);
      assignEager(shown, zeros, true);
      // What the pass frees is free at once.
      if (shown !== copy) shown.dispose();
      zeros.dispose();
      return copy;
    }
  }
  const mask = noGrad(() => view.adjoint(arithmetic.onesLike(arithmetic.zeros(dy, part))));
  return arithmetic.without(dy, mask);
}

function setHistory(t: Tensor, node: TapeNode, output: number): void {
  const before = t.ownNode;
  if (before !== null) moveRetained(t, before, t.outputIndex, node, output);
  t.node = node;
  t.outputIndex = output;
}

/** Whether a node of the chain of views that begins behind the base's is hooked, or keeps its gradient. */
function isWatched(last: TapeNode, base: TapeNode | null): boolean {
  for (let node = last; ;) {
    if (node.hooks !== null || node.retained !== null) return true;
    const edge = node.edges[0] ?? null;
    if (edge === null || !("node" in edge) || edge.node === base) return false;
    node = edge.node;
  }
}

/** Hooks of a view, and of those that it is a view of, belong to what they were: the write's own history starts at the base. */
function withNewNode<T>(target: Tensor, had: boolean, fn: () => T): T {
  const { viewOf: view, node } = target;
  if (!had || view === null || node === null || !isWatched(node, view.base.node)) return fn();
  const output = target.outputIndex;
  node.retain();
  target.node = view.node(target.desc);
  target.outputIndex = 0;
  try {
    return fn();
  } finally {
    target.node = node;
    target.outputIndex = output;
    node.release();
  }
}

/** The target's elements as they are before the write: its buffer itself where the write brings another one. */
function snapshot(target: Tensor, value: Tensor): Tensor {
  const moves =
    batching() === null && tracer() === null && target.coversStorage && value.coversStorage && value.storage.refs === 1 && target.size > 0;
  return moves ? new Tensor(target.storage.split(), target.desc) : noGrad(() => arithmetic.clone(target));
}

/** Counts a write whose value is in the target's buffer already. */
function written(target: Tensor): Tensor {
  noteWrite(target);
  return target;
}

function write(operation: string, target: Tensor, value: Tensor): Tensor {
  if (value === target) return target;
  const level = batching();
  if (level !== null) {
    level.write(operation, target, value);
    return written(target);
  }
  const t = tracer();
  if (t === null) assignEager(target, value, true);
  else t.assign(target, value);
  return target;
}

/** The value in the target's dtype. Throws where PyTorch cannot cast either: floating dtypes to integers, numbers to bool. */
function conformValue(operation: string, target: Tensor, value: Tensor): Tensor {
  if (!sameShape(value.shape, target.shape))
    throw new ShapeError(operation, "result", `of the tensor's own shape ${showShape(target.shape)}`, showShape(value.shape));
  if (value.dtype === target.dtype) return value;
  if (!castsInPlace(value.dtype, target.dtype))
    throw new DTypeError(operation, "result", `${target.dtype}, since it is written in place`, value.dtype);
  return arithmetic.cast(value, target.dtype);
}

/** The value; a copy where it is what the target shows: a write that is none would leave its views with their old histories. */
const copyIfSame = (target: Tensor, value: Tensor): Tensor =>
  value.storage === target.storage && value.desc === target.desc && value.offset === target.offset ? arithmetic.clone(value) : value;

const castsInPlace = (from: DType, to: DType): boolean => (isFloat(to) ? true : isInteger(to) && !isFloat(from));

const isNonOverlapping = (t: Tensor): boolean => t.desc.isPacked || t.shape.every((d, i) => d <= 1 || t.strides[i] !== 0);

function requireNonOverlapping(operation: string, target: Tensor): void {
  if (isNonOverlapping(target)) return;
  throw new ShapeError(
    operation,
    "tensor",
    "without overlapping elements",
    `${target.describe()} with strides [${target.strides.join(", ")}], as expand() makes them`,
    "Use clone() first.",
  );
}

/** Throws for leaves that require a gradient, views of one, and views whose history cannot be replaced. */
function requireWritable(operation: string, target: Tensor): void {
  const view = target.viewOf;
  view?.requireWritable(operation, target, "it is being changed while gradients are recorded");
  const refused =
    view !== null && view.base.ownNode === null && target.requiresGrad
      ? "no view of a leaf that requires a gradient"
      : target.isLeaf && target.requiresGrad
        ? "no leaf that requires a gradient"
        : null;
  if (refused === null) return;
  throw new AutogradError({
    operation,
    argument: "tensor",
    expected: refused,
    received: target.describe(),
    hint: "Change it inside noGrad().",
  });
}
