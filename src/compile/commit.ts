/** After the program has run: real tensors in place of the traced ones, in the result and in what the function changed outside. */
import { continueBackward } from "../autograd/backward.ts";
import { TapeNode } from "../autograd/tape.ts";
import { keep } from "../scope.ts";
import { Storage, internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { mapTensors, type Ghosts } from "./arguments.ts";
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
      if (ghost.grad !== null) t.grad = keep(real(ghost.grad));
    }
    return t;
  };

  const { backward } = ending;
  let node: TapeNode | null = null;
  if (backward !== null) {
    // Tensors without a history: only what lies in them is needed.
    const saved = backward.saved.map((t) => {
      const argument = ghosts.indices.get(t.storage);
      if (argument !== undefined) return new Tensor(given[argument]!.storage, given[argument]!.desc, given[argument]!.offset);
      return t.storage.trace === null ? new Tensor(t.storage, t.desc, t.offset) : new Tensor(storageOf(t.storage)!, t.desc, 0);
    });
    const outers: Tensor[] = [];
    const inputs = backward.boundaries.map((b) => {
      if ("leaf" in b) return real(b.leaf);
      const argument = ghosts.boundary(b.node);
      if (argument >= 0) return given[argument]!;
      const { dtype, shape } = b.node.outputs[b.output]!;
      const outer = new Tensor(new Storage(ending.device!, 0), internDesc(ending.device!, dtype, shape));
      outers.push(outer);
      outer.node = b.node;
      outer.outputIndex = b.output;
      return outer;
    });
    node = new TapeNode(name, inputs, backward.specs, saved, (dys, kept) => backward.run(dys, kept), {
      parts: (dys) => backward.partsOf(dys),
    });
    for (const t of [...saved, ...outers]) t.dispose();
  }
  const attach = (ghost: Tensor, t: Tensor): void => {
    const lack = ending.lackOf(ghost);
    const output = backward === null || lack !== null ? -1 : backward.outputOf(ghost);
    if (output >= 0) {
      t.node = node;
      t.outputIndex = output;
    } else if (lack !== null) {
      t.node = new TapeNode(name, [], [t.desc], [], () => {
        throw lack;
      });
    }
  };

  for (const { tensor, grad, node: history, outputIndex } of ending.effects) {
    const target = ending.outside.has(tensor) ? tensor : real(tensor);
    if (grad !== undefined) {
      const next = grad === null ? null : keep(real(grad));
      if (next !== null && grad !== null && next !== grad) attach(grad, next);
      target.grad = next;
    }
    if (history === undefined) continue;
    if (history?.isTraced) {
      target.node = node;
      target.outputIndex = backward!.outputAt(history, outputIndex);
    } else {
      target.node = history;
      target.outputIndex = outputIndex;
    }
  }
  const returned = mapTensors(result, (ghost) => {
    const t = real(ghost);
    if (made.has(ghost)) attach(ghost, t);
    return t;
  });
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
