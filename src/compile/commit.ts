/** The end of a call, after its program has run: replaces traced tensors by real ones in the result, and applies the function's changes outside. */
import { continueBackward } from "../autograd/backward.ts";
import { TapeNode } from "../autograd/tape.ts";
import { keep } from "../core/scope.ts";
import { Storage } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { mapTensors, type Placeholders } from "./arguments.ts";
import type { GradientEdge } from "./gradient-edges.ts";
import type { TraceExit } from "./exit.ts";
import { flowsOf } from "./flows.ts";
import { History } from "./history.ts";
import type { Objects, Outcome } from "./objects.ts";

/** A version that no storage has: the view looks at what its base has become. */
const STALE = -1;

/** t, with requiresGrad and hooks as the function set them on its traced tensor. */
function marked(t: Tensor, traced: Tensor): Tensor {
  t.leafRequiresGrad = traced.leafRequiresGrad;
  t.hooks = traced.hooks;
  return t;
}

/** The storage of the gradient that a call left last on a leaf. */
const lastStorages = new WeakMap<Tensor, Storage>();

/**
 * Moves a leaf's new gradient into the storage of its last one, if only programs refer to that. A call that accumulates into the gradient then finds
 * the program that did so before.
 */
function reuseStorage(leaf: Tensor, grad: Tensor): void {
  const [last, { storage }] = [lastStorages.get(leaf), grad];
  const isFree = last !== undefined && last !== storage && last.programs > 0 && last.refs === last.programs;
  if (!isFree || storage.refs !== 1 || storage.handle === 0 || last.contentInBytes !== storage.contentInBytes) {
    lastStorages.set(leaf, storage);
    return;
  }
  last.repoint(storage.handle, storage.owner ?? storage);
  last.trace = storage.trace;
  storage.handle = 0;
  storage.refs--;
  last.retain();
  grad.storage = last;
}

export function commit(
  name: string,
  exit: TraceExit,
  placeholders: Placeholders,
  outcome: Outcome,
  objects: Objects | null,
  args: readonly Tensor[],
  storages: readonly Storage[],
): unknown {
  const { result } = outcome;
  if (exit.isPlain && outcome.changes.length === 0 && result instanceof Tensor) {
    const output = exit.outputOf.get(result.storage);
    if (output !== undefined && result.grad === null) return marked(new Tensor(storages[output]!, result.desc, result.offset), result);
  }
  /** Of what is empty: nothing of it was computed. */
  let empty: Map<Storage, Storage> | null = null;
  const storageOf = (traced: Storage): Storage | undefined => {
    const output = exit.outputOf.get(traced);
    return output === undefined ? empty?.get(traced) : storages[output];
  };
  const made = new Map<Tensor, Tensor>();

  const materialize = (traced: Tensor): Tensor => {
    const argument = placeholders.indices.get(traced.storage);
    if (argument !== undefined) {
      const t = args[argument]!;
      return new Tensor(t.storage, traced.desc, t.offset + traced.offset);
    }
    let storage = storageOf(traced.storage);
    if (storage === undefined) {
      if (traced.storage.trace === null) storage = traced.storage;
      else
        (empty ??= new Map<Storage, Storage>()).set(traced.storage, (storage = new Storage(traced.device, traced.storage.contentInBytes)));
    }
    return new Tensor(storage, traced.desc, traced.offset);
  };

  /** The real tensor of a traced one. A tensor from outside is real already. */
  const real = (traced: Tensor): Tensor => {
    const argument = placeholders.tensors.indexOf(traced);
    if (argument >= 0) return args[argument]!;
    if (!exit.isTraced(traced)) return traced;
    let t = made.get(traced);
    if (t === undefined) {
      t = marked(materialize(traced), traced);
      made.set(traced, t);
      if (exit.views.has(traced)) {
        t.viewOf = traced.viewOf!.of(real(traced.viewOf!.base));
        if (exit.stale.has(traced)) t.viewOf.version = STALE;
      }
      if (traced.grad !== null) t.grad = keep(real(traced.grad));
    }
    return t;
  };

  /** Where the history of an argument ends as it was before the call. */
  const before = (argument: number): GradientEdge => ({ node: args[argument]!.ownNode!, output: args[argument]!.outputIndex });

  const { behaviour, hooks, retained } = exit.state;
  const history =
    exit.backwards.length === 0
      ? null
      : new History({
          name,
          device: exit.device!,
          backwards: exit.backwards,
          freed: new Set(),
          behaviour,
          hooks,
          saved: (t) => {
            const argument = placeholders.indices.get(t.storage);
            if (argument !== undefined) return new Tensor(args[argument]!.storage, args[argument]!.desc, args[argument]!.offset);
            return t.storage.trace === null ? new Tensor(t.storage, t.desc, t.offset) : new Tensor(storageOf(t.storage)!, t.desc, 0);
          },
          end: (b) => {
            if ("leaf" in b) return real(b.leaf);
            const argument = placeholders.boundary(b.node);
            return argument >= 0 ? before(argument) : b;
          },
        });
  const edgeOf = (traced: GradientEdge): GradientEdge | null => history?.edgeOf(traced.node, traced.output) ?? null;
  const setHistory = (t: Tensor, traced: Tensor, edge: GradientEdge): void => {
    t.node = edge.node;
    t.outputIndex = edge.output;
    if (retained.has(traced)) (edge.node.retained ??= new Map<number, Tensor>()).set(edge.output, t);
  };
  const attach = (traced: Tensor, t: Tensor): void => {
    const error = exit.historyError(traced);
    const tracedEdge = exit.edgeOf(traced);
    const edge = error !== null || tracedEdge === null ? null : edgeOf(tracedEdge);
    if (edge !== null) setHistory(t, traced, edge);
    else if (error !== null)
      t.node = new TapeNode(name, [], [t.desc], [], () => {
        throw error;
      });
  };

  const flowing = exit.continuations.map((c) => {
    if ("leaf" in c) return { leaf: real(c.leaf), grad: real(c.grad), isKept: false, flow: c.flow };
    const argument = placeholders.boundary(c.node);
    const from = argument < 0 ? { node: c.node, output: c.output } : before(argument);
    return { ...from, grad: real(c.grad), isKept: c.isKept, flow: c.flow };
  });

  /** Gradients that the call has made for leaves outside. */
  const newGradients: (readonly [Tensor, Tensor])[] = [];
  const moved = exit.moves.map(({ node, output, after }) => {
    const argument = placeholders.boundary(node);
    if (argument < 0) return { node, output, after };
    const from = before(argument);
    (from.node.retained ??= new Map<number, Tensor>()).set(from.output, args[argument]!);
    return { ...from, after };
  });

  for (const { tensor, grad, drops, node: next, outputIndex, isRenewed } of exit.effects) {
    const target = exit.outside.has(tensor) ? tensor : real(tensor);
    if (grad !== undefined) {
      const made = grad === null ? null : keep(real(grad));
      if (made !== null && grad !== null && made !== grad) attach(grad, made);
      const before = target.ownGrad;
      target.grad = made;
      if (drops && before !== null && before !== made) before.dispose();
      if (made !== null && made !== grad && target === tensor) newGradients.push([target, made]);
    }
    if (next === undefined) continue;
    const tracedEdge = next?.isTraced === true ? exit.edgeOf(tensor) : null;
    const materialize = tracedEdge === null ? null : edgeOf(tracedEdge);
    if (materialize !== null) setHistory(target, tensor, materialize);
    else {
      target.node = next;
      target.outputIndex = outputIndex;
    }
    if (isRenewed && target === tensor) target.viewOf!.version = target.storage.version;
  }
  const returned = objects === null ? mapTensors(result, real) : objects.give(outcome, real);
  for (const [traced, t] of made) attach(traced, t);
  for (const flow of flowsOf(flowing)) {
    const first = flowing.findIndex((f) => f.flow === flow);
    for (const m of moved) if (m.after <= first) m.node.retained?.delete(m.output);
    continueBackward(
      flowing.filter((f) => f.flow === flow),
      flow,
    );
  }
  for (const m of moved) m.node.retained?.delete(m.output);
  for (const [leaf, grad] of newGradients) if (leaf.ownGrad === grad) reuseStorage(leaf, grad);
  for (const s of storages)
    if (s.refs === 0 && s.handle !== 0) {
      s.retain();
      s.release();
    }
  return returned;
}
