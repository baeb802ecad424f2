/** The tape nodes of a call of a compiled function: one represents the traced nodes of each group of results. */
import { TapeNode, type Freed, type Hook } from "../autograd/tape.ts";
import type { Device } from "../core/device.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { Backward, Behaviour } from "./backward.ts";
import type { Boundary, GradientEdge } from "./gradient-edges.ts";

/** Real values of a call, by what was traced. */
export interface Call {
  readonly name: string;
  readonly device: Device;
  readonly backwards: readonly Backward[];
  readonly freed: Freed;
  readonly behaviour: Behaviour;
  /** Hooks that the function left on its results. */
  readonly hooks: readonly (GradientEdge & { readonly hooks: Hook[] })[];
  /** The real tensor of one that gradients read; null where this call does not compute it. */
  saved(t: Tensor): Tensor | null;
  /** Where gradients go at a boundary that is no result of the call: a tensor, or an edge. */
  end(boundary: Boundary): Tensor | GradientEdge;
}

/** An empty tensor whose history is this edge. */
function edgeTensor(device: Device, { node, output }: GradientEdge): Tensor {
  const { dtype, shape } = node.outputs[output]!;
  const t = new Tensor(new Storage(device, 0), internDesc(device, dtype, shape));
  t.node = node;
  t.outputIndex = output;
  return t;
}

export class History {
  readonly #nodes: TapeNode[] = [];
  readonly #backwards: readonly Backward[];

  constructor(call: Call) {
    const { name, device, backwards, freed, behaviour, hooks } = call;
    this.#backwards = backwards;
    for (const backward of backwards) {
      // Tensors without a history: only their values are needed.
      const saved = backward.saved.map((t) => call.saved(t));
      const ends: Tensor[] = [];
      const inputs = backward.boundaries.map((b) => {
        const end = ("leaf" in b ? null : this.edgeOf(b.node, b.output)) ?? call.end(b);
        if (end instanceof Tensor) return end;
        ends.push(edgeTensor(device, end));
        return ends.at(-1)!;
      });
      const node: TapeNode = new TapeNode(name, inputs, backward.specs, saved, (dys, kept) => backward.run(dys, kept, { node, freed }), {
        compiled: { parts: (dys, stops) => backward.partsOf(dys, stops, behaviour), inner: backward.inner, freed },
      });
      this.#nodes.push(node);
      for (const t of [...saved, ...ends]) t?.dispose();
      backward.edges.forEach((p, i) => {
        const left = hooks.find((h) => h.node === p.node && h.output === p.output);
        if (left !== undefined) (node.hooks ??= new Map<number, Hook[]>()).set(i, left.hooks);
      });
    }
  }

  /** The real edge that represents an output of a traced node. */
  edgeOf(node: TapeNode | null, output: number): GradientEdge | null {
    for (const [i, b] of this.#backwards.entries()) {
      const at = node === null || i >= this.#nodes.length ? -1 : b.outputAt(node, output);
      if (at >= 0) return { node: this.#nodes[i]!, output: at };
    }
    return null;
  }
}
