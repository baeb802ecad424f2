/** Tensors in nodes' attributes as constants of the model: read once, and kept on the device as initializers are. */
import type { Tensor } from "../../core/tensor.ts";
import type { AttributeMessage, GraphMessage, NodeMessage, TensorMessage } from "./proto.ts";
import { constantOf, emptied } from "./tensor-message.ts";
import { Constant, type Texts } from "./value.ts";

/** Constants with as many elements go to the device once; smaller ones when they are used. */
export const UPLOADED = 16;

function* tensorsOfAttribute({ t, tensors, g, graphs, sparse }: AttributeMessage): Generator<TensorMessage> {
  if (t !== null) yield t;
  yield* tensors;
  for (const s of [sparse?.values, sparse?.indices]) if (s !== null && s !== undefined) yield s;
  if (g !== null) yield* tensorsOfGraph(g);
  for (const inner of graphs) yield* tensorsOfGraph(inner);
}

function* tensorsOfGraph(graph: GraphMessage): Generator<TensorMessage> {
  for (const s of graph.sparseInitializers) for (const t of [s.values, s.indices]) if (t !== null) yield t;
  yield* tensorsIn(graph.nodes);
}

function* tensorsIn(nodes: readonly NodeMessage[]): Generator<TensorMessage> {
  for (const node of nodes) for (const a of node.attributes) yield* tensorsOfAttribute(a);
}

export class Constants {
  readonly #known = new WeakMap<TensorMessage, Constant | Texts>();
  readonly #owned: Constant[] = [];
  #users = 1;

  /** Copies what is a view of the file's bytes, which would stay in memory for it. */
  detach(nodes: readonly NodeMessage[]): void {
    for (const t of tensorsIn(nodes)) if (t.raw !== null) t.raw = new Uint8Array(t.raw);
  }

  of(t: TensorMessage): Constant | Texts {
    let found = this.#known.get(t);
    if (found === undefined) {
      found = constantOf(t);
      emptied(t);
      this.#known.set(t, found);
      if (found instanceof Constant && found.size >= UPLOADED) {
        found.isOwned = true;
        this.#owned.push(found);
      }
    }
    return found;
  }

  /** Whether a tensor shares its memory with one of them. */
  has(t: Tensor): boolean {
    return this.#owned.some((c) => c.tensor?.storage === t.storage);
  }

  /** One more model uses them. */
  share(): this {
    this.#users++;
    return this;
  }

  dispose(): void {
    if (--this.#users === 0) for (const c of this.#owned) c.dispose();
  }
}
