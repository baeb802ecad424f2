/** After the program has run: real tensors in place of the traced ones, in the result and in what the function changed outside. */
import { continueBackward } from "../autograd/backward.ts";
import { TapeNode } from "../autograd/tape.ts";
import { keep } from "../scope.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { mapTensors, type Ghosts } from "./arguments.ts";
import type { Place } from "./backward.ts";
import type { Ending } from "./ending.ts";
import { flowsOf } from "./flows.ts";
import { History } from "./history.ts";
import type { Objects, Outcome } from "./objects.ts";

/** A version that no storage has: the view looks at what its base has become. */
const STALE = -1;

/** t, with what the function set of the traced tensor that it stands for. */
function marked(t: Tensor, ghost: Tensor): Tensor {
  t.leafRequiresGrad = ghost.leafRequiresGrad;
  t.hooks = ghost.hooks;
  return t;
}

/** Where the gradient of a leaf lay that a call left last. */
const places = new WeakMap<Tensor, Storage>();

/**
 * A leaf's new gradient lies where its last one lay, if only programs still know that storage: a call that adds to the gradient then finds
 * the program that added to the last one.
 */
function settle(leaf: Tensor, grad: Tensor): void {
  const [last, { storage }] = [places.get(leaf), grad];
  const isFree = last !== undefined && last !== storage && last.programs > 0 && last.refs === last.programs;
  if (!isFree || storage.refs !== 1 || storage.handle === 0 || last.contentInBytes !== storage.contentInBytes) {
    places.set(leaf, storage);
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
  ending: Ending,
  ghosts: Ghosts,
  outcome: Outcome,
  objects: Objects | null,
  given: readonly Tensor[],
  storages: readonly Storage[],
): unknown {
  const { result } = outcome;
  if (ending.isPlain && outcome.changes.length === 0 && result instanceof Tensor) {
    const output = ending.outputOf.get(result.storage);
    if (output !== undefined && result.grad === null) return marked(new Tensor(storages[output]!, result.desc, result.offset), result);
  }
  /** Of what is empty: nothing of it was computed. */
  let empty: Map<Storage, Storage> | null = null;
  const storageOf = (traced: Storage): Storage | undefined => {
    const output = ending.outputOf.get(traced);
    return output === undefined ? empty?.get(traced) : storages[output];
  };
  const made = new Map<Tensor, Tensor>();

  const placed = (ghost: Tensor): Tensor => {
    const argument = ghosts.indices.get(ghost.storage);
    if (argument !== undefined) {
      const t = given[argument]!;
      return new Tensor(t.storage, ghost.desc, t.offset + ghost.offset);
    }
    let storage = storageOf(ghost.storage);
    if (storage === undefined) {
      if (ghost.storage.trace === null) storage = ghost.storage;
      else (empty ??= new Map<Storage, Storage>()).set(ghost.storage, (storage = new Storage(ghost.device, ghost.storage.contentInBytes)));
    }
    return new Tensor(storage, ghost.desc, ghost.offset);
  };

  /** The real tensor of a traced one; tensors from outside stand for themselves. */
  const real = (ghost: Tensor): Tensor => {
    const argument = ghosts.tensors.indexOf(ghost);
    if (argument >= 0) return given[argument]!;
    if (!ending.isTraced(ghost)) return ghost;
    let t = made.get(ghost);
    if (t === undefined) {
      t = marked(placed(ghost), ghost);
      made.set(ghost, t);
      if (ending.views.has(ghost)) {
        t.viewOf = ghost.viewOf!.of(real(ghost.viewOf!.base));
        if (ending.stale.has(ghost)) t.viewOf.version = STALE;
      }
      if (ghost.grad !== null) t.grad = keep(real(ghost.grad));
    }
    return t;
  };

  /** Where the history of an argument ends as it was before the call. */
  const before = (argument: number): Place => ({ node: given[argument]!.ownNode!, output: given[argument]!.outputIndex });

  const { behaviour, hooks, retained } = ending.left;
  const history =
    ending.backwards.length === 0
      ? null
      : new History({
          name,
          device: ending.device!,
          backwards: ending.backwards,
          freed: new Set(),
          behaviour,
          hooks,
          saved: (t) => {
            const argument = ghosts.indices.get(t.storage);
            if (argument !== undefined) return new Tensor(given[argument]!.storage, given[argument]!.desc, given[argument]!.offset);
            return t.storage.trace === null ? new Tensor(t.storage, t.desc, t.offset) : new Tensor(storageOf(t.storage)!, t.desc, 0);
          },
          end: (b) => {
            if ("leaf" in b) return real(b.leaf);
            const argument = ghosts.boundary(b.node);
            return argument >= 0 ? before(argument) : b;
          },
        });
  const placeOf = (traced: Place): Place | null => history?.placeOf(traced.node, traced.output) ?? null;
  const put = (t: Tensor, ghost: Tensor, place: Place): void => {
    t.node = place.node;
    t.outputIndex = place.output;
    if (retained.has(ghost)) (place.node.retained ??= new Map<number, Tensor>()).set(place.output, t);
  };
  const attach = (ghost: Tensor, t: Tensor): void => {
    const lack = ending.lackOf(ghost);
    const traced = ending.placeOf(ghost);
    const place = lack !== null || traced === null ? null : placeOf(traced);
    if (place !== null) put(t, ghost, place);
    else if (lack !== null)
      t.node = new TapeNode(name, [], [t.desc], [], () => {
        throw lack;
      });
  };

  const flowing = ending.continuations.map((c) => {
    if ("leaf" in c) return { leaf: real(c.leaf), grad: real(c.grad), isKept: false, flow: c.flow };
    const argument = ghosts.boundary(c.node);
    const from = argument < 0 ? { node: c.node, output: c.output } : before(argument);
    return { ...from, grad: real(c.grad), isKept: c.isKept, flow: c.flow };
  });

  /** Gradients that the call has made for leaves outside. */
  const left: (readonly [Tensor, Tensor])[] = [];
  const moved = ending.moves.map(({ node, output, after }) => {
    const argument = ghosts.boundary(node);
    if (argument < 0) return { node, output, after };
    const from = before(argument);
    (from.node.retained ??= new Map<number, Tensor>()).set(from.output, given[argument]!);
    return { ...from, after };
  });

  for (const { tensor, grad, drops, node: next, outputIndex, isRenewed } of ending.effects) {
    const target = ending.outside.has(tensor) ? tensor : real(tensor);
    if (grad !== undefined) {
      const made = grad === null ? null : keep(real(grad));
      if (made !== null && grad !== null && made !== grad) attach(grad, made);
      const before = target.ownGrad;
      target.grad = made;
      if (drops && before !== null && before !== made) before.dispose();
      if (made !== null && made !== grad && target === tensor) left.push([target, made]);
    }
    if (next === undefined) continue;
    const traced = next?.isTraced === true ? ending.placeOf(tensor) : null;
    const place = traced === null ? null : placeOf(traced);
    if (place !== null) put(target, tensor, place);
    else {
      target.node = next;
      target.outputIndex = outputIndex;
    }
    if (isRenewed && target === tensor) target.viewOf!.version = target.storage.version;
  }
  const returned = objects === null ? mapTensors(result, real) : objects.give(outcome, real);
  for (const [ghost, t] of made) attach(ghost, t);
  for (const flow of flowsOf(flowing)) {
    const first = flowing.findIndex((f) => f.flow === flow);
    for (const m of moved) if (m.after <= first) m.node.retained?.delete(m.output);
    continueBackward(
      flowing.filter((f) => f.flow === flow),
      flow,
    );
  }
  for (const m of moved) m.node.retained?.delete(m.output);
  for (const [leaf, grad] of left) if (leaf.ownGrad === grad) settle(leaf, grad);
  for (const s of storages)
    if (s.refs === 0 && s.handle !== 0) {
      s.retain();
      s.release();
    }
  return returned;
}
