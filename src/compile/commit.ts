/** After the program has run: real tensors in place of the traced ones, in the result and in what the function changed outside. */
import { continueBackward } from "../autograd/backward.ts";
import { TapeNode, type Hook } from "../autograd/tape.ts";
import { keep } from "../scope.ts";
import { Storage, internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { mapTensors, type Ghosts } from "./arguments.ts";
import type { Place } from "./backward.ts";
import type { Ending } from "./ending.ts";

export function commit(
  name: string,
  ending: Ending,
  ghosts: Ghosts,
  result: unknown,
  given: readonly Tensor[],
  storages: readonly Storage[],
): unknown {
  /** Of what is empty: nothing of it was computed. */
  const empty = new Map<Storage, Storage>();
  const storageOf = (traced: Storage): Storage | undefined => {
    const output = ending.outputOf.get(traced);
    return output === undefined ? empty.get(traced) : storages[output];
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
      else empty.set(ghost.storage, (storage = new Storage(ghost.device, ghost.storage.contentInBytes)));
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
      t = placed(ghost);
      made.set(ghost, t);
      t.leafRequiresGrad = ghost.leafRequiresGrad;
      t.hooks = ghost.hooks;
      if (ending.views.has(ghost)) t.viewOf = ghost.viewOf!.of(real(ghost.viewOf!.base));
      if (ghost.grad !== null) t.grad = keep(real(ghost.grad));
    }
    return t;
  };

  const { behaviour, hooks, retained } = ending.left;
  const freed = new Set<TapeNode>();
  const nodes: TapeNode[] = [];
  /** The output of a real node that stands for one of a traced node. */
  const placeOf = (node: TapeNode | null, output: number): Place | null => {
    for (const [i, b] of ending.backwards.entries()) {
      const at = node === null ? -1 : b.outputAt(node, output);
      if (at >= 0) return { node: nodes[i]!, output: at };
    }
    return null;
  };
  for (const backward of ending.backwards) {
    // Tensors without a history: only what lies in them is needed.
    const saved = backward.saved.map((t) => {
      const argument = ghosts.indices.get(t.storage);
      if (argument !== undefined) return new Tensor(given[argument]!.storage, given[argument]!.desc, given[argument]!.offset);
      return t.storage.trace === null ? new Tensor(t.storage, t.desc, t.offset) : new Tensor(storageOf(t.storage)!, t.desc, 0);
    });
    const ends: Tensor[] = [];
    const inputs = backward.boundaries.map((b) => {
      if ("leaf" in b) return real(b.leaf);
      const argument = ghosts.boundary(b.node);
      if (argument >= 0) return given[argument]!;
      const { dtype, shape } = b.node.outputs[b.output]!;
      const end = new Tensor(new Storage(ending.device!, 0), internDesc(ending.device!, dtype, shape));
      ends.push(end);
      const place = placeOf(b.node, b.output) ?? b;
      end.node = place.node;
      end.outputIndex = place.output;
      return end;
    });
    const node = new TapeNode(name, inputs, backward.specs, saved, (dys, kept) => backward.run(dys, kept), {
      standing: { parts: (dys, stops) => backward.partsOf(dys, stops, behaviour), inner: backward.inner, freed },
    });
    nodes.push(node);
    for (const t of [...saved, ...ends]) t.dispose();
    backward.places.forEach((p, i) => {
      const own = hooks.find((h) => h.node === p.node && h.output === p.output);
      if (own !== undefined) (node.hooks ??= new Map<number, Hook[]>()).set(i, own.hooks);
    });
  }
  const put = (t: Tensor, ghost: Tensor, place: Place): void => {
    t.node = place.node;
    t.outputIndex = place.output;
    if (retained.has(ghost)) (place.node.retained ??= new Map<number, Tensor>()).set(place.output, t);
  };
  const attach = (ghost: Tensor, t: Tensor): void => {
    const lack = ending.lackOf(ghost);
    const traced = ending.placeOf(ghost);
    const place = lack !== null || traced === null ? null : placeOf(traced.node, traced.output);
    if (place !== null) put(t, ghost, place);
    else if (lack !== null)
      t.node = new TapeNode(name, [], [t.desc], [], () => {
        throw lack;
      });
  };

  for (const { tensor, grad, node: history, outputIndex } of ending.effects) {
    const target = ending.outside.has(tensor) ? tensor : real(tensor);
    if (grad !== undefined) {
      const next = grad === null ? null : keep(real(grad));
      if (next !== null && grad !== null && next !== grad) attach(grad, next);
      target.grad = next;
    }
    if (history === undefined) continue;
    const traced = history?.isTraced === true ? ending.placeOf(tensor) : null;
    const place = traced === null ? null : placeOf(traced.node, traced.output);
    if (place !== null) put(target, tensor, place);
    else {
      target.node = history;
      target.outputIndex = outputIndex;
    }
  }
  const returned = mapTensors(result, (ghost) => {
    return real(ghost);
  });
  for (const [ghost, t] of made) attach(ghost, t);
  for (const { node: outer, output, grad, retains } of ending.continuations) {
    const argument = ghosts.boundary(outer);
    const from = argument < 0 ? { node: outer, output } : { node: given[argument]!.node!, output: given[argument]!.outputIndex };
    continueBackward(from.node, from.output, real(grad), retains);
  }
  for (const s of [...storages, ...empty.values()])
    if (s.refs === 0 && s.handle !== 0) {
      s.retain();
      s.release();
    }
  return returned;
}
