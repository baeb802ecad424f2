/** One backward pass over the tape: which nodes it visits, in which order, and the sums of the gradients that reach nodes and leaves. */
import { inGradientOf, markOf } from "../core/checkpoint-marks.ts";
import type { PartialGradient, TensorSpec } from "../core/definition.ts";
import { ShapeError } from "../core/errors.ts";
import { keep } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { activeReducers, type GradientReducer } from "./gradient-reducers.ts";
import { isAnomalyEnabled, requireNumbers } from "./anomaly.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { inPass } from "./backward-pass.ts";
import { PartialSum } from "./partial-sum.ts";
import { conformGradient, type Gradients, type Hook, type TapeNode } from "./tape.ts";

/** Pending nodes, the highest sequence first (a binary heap). */
class Queue {
  readonly #heap: TapeNode[] = [];

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  push(node: TapeNode): void {
    const h = this.#heap;
    let i = h.push(node) - 1;
    while (i > 0) {
      const up = (i - 1) >> 1;
      if (h[up]!.sequence >= node.sequence) break;
      h[i] = h[up]!;
      i = up;
    }
    h[i] = node;
  }

  pop(): TapeNode {
    const h = this.#heap;
    const top = h[0]!;
    const last = h.pop()!;
    if (h.length > 0) {
      let i = 0;
      for (;;) {
        let child = 2 * i + 1;
        if (child >= h.length) break;
        if (child + 1 < h.length && h[child + 1]!.sequence > h[child]!.sequence) child++;
        if (h[child]!.sequence <= last.sequence) break;
        h[i] = h[child]!;
        i = child;
      }
      h[i] = last;
    }
    return top;
  }
}

/** The nodes that a traversal visits, and the gradients that it looks for. */
export interface Search {
  /** Nodes that lead to a tensor that is looked for. */
  readonly leads: ReadonlySet<TapeNode>;
  /** Nodes whose outputs are looked for. */
  readonly found: ReadonlyMap<TapeNode, readonly { readonly output: number; give(grad: Tensor): void }[]>;
  readonly leaves: ReadonlySet<Tensor>;
}

/** The part of the tape that a traversal stays in. */
export interface Bounds {
  /** Takes a gradient that leaves the part: true if it did. */
  takes(node: TapeNode, output: number, grad: Tensor): boolean;
  /** Whether it would. */
  ends(node: TapeNode, output: number): boolean;
  /** Whether hooks of this output are not run. */
  skips?(node: TapeNode, output: number): boolean;
  /** Whether retainGrad() of an output takes effect. Default: true. */
  keeps?(node: TapeNode, output: number): boolean;
  /** A node's rule is about to run, or its view is passed. */
  visits?(node: TapeNode): void;
  /** All nodes have been visited. Hooks of leaves have not run yet. */
  drained?(traversal: Traversal): void;
}

/** @internal One pass from the results towards the leaves. */
export class Traversal {
  /** Sums of the leaves' gradients, in the order in which they were reached. */
  readonly leaves = new Map<Tensor, Tensor>();
  readonly #pending = new Map<TapeNode, (Tensor | PartialSum | null)[]>();
  readonly #reached = new Map<Tensor, Tensor | PartialSum>();
  /** Sums of parts that leave the bounds. */
  readonly #leaving: { readonly node: TapeNode; readonly output: number; readonly sum: PartialSum }[] = [];
  readonly #queue = new Queue();
  readonly #search: Search | null;
  /** Storages that user code has seen or returned, and may keep. */
  readonly #exposed = new Set<Storage>();
  /** The gradients that it has seen or given themselves; views of them are the pass's own. */
  readonly #seen = new Set<Tensor>();
  /** What leaves have taken as their gradients. */
  readonly #taken = new Set<Storage>();
  #seeds: ReadonlySet<Tensor> = new Set();
  /** Edges to leaves that have not been passed, for who asks when a leaf's gradient is complete. */
  #uses: Map<Tensor, number> | null = null;
  #reducers: readonly GradientReducer[] = [];
  /** Storages made from here on are the traversal's own. */
  readonly #start = Storage.made;

  readonly #bounds: Bounds | null;
  readonly #late: TapeNode[] = [];
  readonly #isWatched = (node: TapeNode, output: number): boolean =>
    (node.hooks?.get(output)?.length ?? 0) > 0 || node.retained?.has(output) === true || this.#search?.found.has(node) === true;

  constructor(search: Search | null, bounds: Bounds | null = null) {
    this.#search = search;
    this.#bounds = bounds;
  }

  run(roots: readonly Tensor[], gradients: Gradients, retain: boolean): void {
    this.#seeds = new Set(gradients.filter((g) => g !== null));
    if (this.#search === null && this.#bounds === null) this.#askReducers(roots);
    roots.forEach((root, i) => {
      const node = root.node;
      if (node !== null) this.#deliver(node, root.outputIndex, gradients[i]!);
      else this.#reach(root, gradients[i]!);
    });
    this.finish(retain);
  }

  /** Counts the edges to the leaves that reducers ask about. */
  #askReducers(roots: readonly Tensor[]): void {
    this.#reducers = activeReducers();
    if (this.#reducers.length === 0) return;
    const uses = (this.#uses = new Map<Tensor, number>());
    const count = (leaf: Tensor): void => {
      if (this.#reducers.some(({ leaves }) => leaves.has(leaf))) uses.set(leaf, (uses.get(leaf) ?? 0) + 1);
    };
    const seen = new Set(roots.flatMap(({ node }) => node ?? []));
    for (const node of seen)
      for (const edge of node.edges) {
        if (edge === null) continue;
        if ("leaf" in edge) count(edge.leaf);
        else seen.add(edge.node);
      }
    // A root that is a leaf itself has its gradient from the start: it is told of at the end.
    for (const root of roots) uses.delete(root);
  }

  /** An edge to a leaf has been passed. */
  #passed(leaf: Tensor): void {
    const left = this.#uses?.get(leaf);
    if (left === undefined) return;
    this.#uses!.set(leaf, left - 1);
    const sum = left === 1 ? this.#reached.get(leaf) : undefined;
    if (sum === undefined) return;
    const grad = this.#dense(sum);
    this.#reached.set(leaf, grad);
    for (const reducer of this.#reducers) if (reducer.leaves.has(leaf)) reducer.ready(leaf, grad);
  }

  /** The gradients are in their leaves. */
  tellReducers(): void {
    for (const reducer of this.#reducers) if ([...this.leaves.keys()].some((leaf) => reducer.leaves.has(leaf))) reducer.finish();
  }

  /** Starts at an output of a node too. */
  from(node: TapeNode, output: number, gradient: Tensor): void {
    this.#deliver(node, output, gradient);
  }

  /** Begins with a gradient of a leaf too. */
  fromLeaf(leaf: Tensor, gradient: Tensor): void {
    this.#reach(leaf, gradient);
  }

  /** Visits nodes until the queue is empty. finish() runs the leaves' hooks. */
  drain(retain: boolean): void {
    inPass(() => {
      while (!this.#queue.isEmpty) this.#visit(this.#queue.pop(), retain);
    });
    for (const { node, output, sum } of this.#leaving.splice(0)) this.#bounds!.takes(node, output, sum.sum);
    for (const [leaf, sum] of this.#reached) {
      const grad = this.#dense(sum);
      this.#reached.set(leaf, grad);
      this.leaves.set(leaf, grad);
    }
    for (const node of this.#late.splice(0)) node.free();
  }

  finish(retain: boolean): void {
    this.drain(retain);
    this.#bounds?.drained?.(this);
    for (const [leaf, grad] of this.leaves) this.leaves.set(leaf, this.#hooked(leaf.hooks, grad));
  }

  /** The tensor if no one else refers to its storage, or a packed copy. */
  owned(grad: Tensor): Tensor {
    const { storage } = grad;
    const isOwn = storage.birth >= this.#start && !this.#exposed.has(storage) && grad.node === null && grad.coversStorage;
    const own = isOwn ? grad : arithmetic.clone(grad);
    this.#exposed.add(own.storage);
    return own;
  }

  /**
   * What becomes a leaf's first gradient. A gradient argument that was only viewed on its way is that gradient itself, as in PyTorch:
   * a later change of either changes both.
   */
  taken(leaf: Tensor, grad: Tensor): Tensor {
    const { storage } = grad;
    const isViewed =
      storage.birth < this.#start &&
      grad.viewOf !== null &&
      !this.#seeds.has(grad) &&
      !this.#seen.has(grad) &&
      !this.#taken.has(storage) &&
      grad.node === null;
    if (!isViewed || !grad.desc.isPacked || !leaf.desc.isPacked) return this.owned(grad);
    this.#exposed.add(storage);
    this.#taken.add(storage);
    return arithmetic.detach(grad);
  }

  /** A gradient that is a view of memory of the pass's own, which nobody else sees, is no view any more: it may be changed in place. */
  release(grad: Tensor): void {
    const { viewOf, storage } = grad;
    if (viewOf?.origin !== "noGrad" || grad.node !== null || storage.birth < this.#start || this.#exposed.has(storage)) return;
    viewOf.base.letGo();
    grad.viewOf = null;
  }

  #deliver(node: TapeNode, output: number, grad: Tensor): void {
    if (!this.#isWanted(node)) return;
    if (this.#bounds?.takes(node, output, grad) === true) return;
    const dys = this.#waiting(node);
    dys[output] = added(dys[output]!, grad);
  }

  #deliverPart(node: TapeNode, output: number, part: PartialGradient): void {
    if (!this.#isWanted(node)) return;
    const spec = node.outputs[output]!;
    if (this.#bounds?.ends(node, output) === true) {
      let left = this.#leaving.find((l) => l.node === node && l.output === output);
      if (left === undefined) this.#leaving.push((left = { node, output, sum: new PartialSum(spec) }));
      left.sum.add(part);
      return;
    }
    const dys = this.#waiting(node);
    dys[output] = addedPart(dys[output]!, part, spec);
  }

  #isWanted(node: TapeNode): boolean {
    return this.#search === null || this.#search.leads.has(node) || this.#search.found.has(node);
  }

  #waiting(node: TapeNode): (Tensor | PartialSum | null)[] {
    let dys = this.#pending.get(node);
    if (dys === undefined) {
      dys = new Array<Tensor | null>(node.outputs.length).fill(null);
      this.#pending.set(node, dys);
      this.#queue.push(node);
    }
    return dys;
  }

  #reach(leaf: Tensor, grad: Tensor): void {
    if (this.#search !== null && !this.#search.leaves.has(leaf)) return;
    this.#reached.set(leaf, added(this.#reached.get(leaf) ?? null, grad));
  }

  /** Passes through a view whose gradient is not watched: gradients stay parts, without the zeros around them. */
  #pass(node: TapeNode, dy: Tensor | PartialSum | null, retain: boolean): boolean {
    if (node.part === null || dy === null || this.#isWatched(node, 0)) return false;
    if (this.#search !== null && !this.#search.leads.has(node)) return false;
    const part = node.part(dy instanceof PartialSum ? dy.part : { grad: dy, box: null });
    const edge = node.edges[0]!;
    if (part === null || edge === null) return false;
    this.#noteVisit(node, retain);
    if ("node" in edge) this.#deliverPart(edge.node, edge.output, part);
    else if (this.#search === null || this.#search.leaves.has(edge.leaf))
      this.#reached.set(edge.leaf, addedPart(this.#reached.get(edge.leaf) ?? null, part, edge.leaf.desc));
    if ("leaf" in edge) this.#passed(edge.leaf);
    return true;
  }

  #visit(node: TapeNode, retain: boolean): void {
    const waiting = this.#pending.get(node)!;
    this.#pending.delete(node);
    if (this.#pass(node, waiting[0]!, retain)) return;
    const dys = waiting.map((dy) => (dy === null ? null : this.#dense(dy)));
    dys.forEach((dy, i) => {
      if (dy === null || this.#bounds?.skips?.(node, i) === true) return;
      dys[i] = this.#hooked(node.hooks?.get(i), dy);
      const keeper = this.#bounds?.keeps?.(node, i) === false ? undefined : node.retained?.get(i);
      if (keeper !== undefined && !keeper.isDisposed) retainGradient(keeper, dys[i]!);
    });
    for (const { output, give } of this.#search?.found.get(node) ?? []) if (dys[output]) give(dys[output]);
    if (this.#search !== null && !this.#search.leads.has(node)) {
      // Its hooks have run.
      tracer()?.visit(node, false);
      return;
    }
    const some = dys.find((d) => d !== null)!;
    if (!node.hasParts) dys[0] ??= arithmetic.zeros(some, node.outputs[0]!);
    this.#noteVisit(node, retain);
    if (node.isForeign) this.#expose(dys);
    const mark = markOf(node);
    const grads = mark === null ? node.backward(dys, this.#isWatched) : inGradientOf(mark, () => node.backward(dys, this.#isWatched));
    if (isAnomalyEnabled()) requireNumbers(node, grads);
    if (node.isForeign) this.#expose(grads);
    node.edges.forEach((edge, i) => {
      const grad = grads[i];
      if (edge === null) return;
      if ("leaf" in edge) {
        if (grad) this.#reach(edge.leaf, grad);
        this.#passed(edge.leaf);
      } else if (grad) this.#deliver(edge.node, edge.output, grad);
    });
    if (retain) return;
    // Nodes of one compiled call share what they free: not before all of them have been passed.
    if (node.hasParts) this.#late.push(node);
    else node.free();
  }

  /** A gradient as a tensor. What slices wrote is no view of a gradient argument, even of one that covers it. */
  #dense(sum: Tensor | PartialSum): Tensor {
    const grad = denseOf(sum);
    return sum instanceof PartialSum && sum.hasPieces && grad.storage.birth < this.#start ? arithmetic.clone(grad) : grad;
  }

  #noteVisit(node: TapeNode, retain: boolean): void {
    this.#bounds?.visits?.(node);
    tracer()?.visit(node, !retain);
  }

  #expose(grads: Gradients): void {
    for (const g of grads)
      if (g !== null) {
        this.#exposed.add(g.storage);
        this.#seen.add(g);
      }
  }

  #hooked(hooks: readonly Hook[] | null | undefined, grad: Tensor): Tensor {
    if (!hooks || hooks.length === 0) return grad;
    tracer()?.runsCode();
    let result = grad;
    // A copy: a hook may take itself away.
    for (const hook of hooks.slice()) {
      this.#expose([result]);
      const returned = hook(result);
      if (returned === undefined || returned === null) continue;
      const conformed = conformGradient("registerHook", "gradient that the hook returned", returned, grad.desc);
      if (!sameShape(returned.shape, grad.shape))
        throw new ShapeError("registerHook", "gradient that the hook returned", showShape(grad.shape), showShape(returned.shape));
      result = conformed;
    }
    this.#expose([result]);
    return result;
  }
}

const denseOf = (sum: Tensor | PartialSum): Tensor => (sum instanceof PartialSum ? sum.sum : sum);

function added(sum: Tensor | PartialSum | null, grad: Tensor): Tensor | PartialSum {
  if (!(sum instanceof PartialSum)) return sum === null ? grad : arithmetic.add(sum, grad);
  sum.add({ grad, box: null });
  return sum;
}

function addedPart(sum: Tensor | PartialSum | null, part: PartialGradient, spec: TensorSpec): PartialSum {
  let parts = sum;
  if (!(parts instanceof PartialSum)) {
    parts = new PartialSum(spec);
    if (sum !== null) parts.add({ grad: sum as Tensor, box: null });
  }
  parts.add(part);
  return parts;
}

/** retainGrad(): a copy of the gradient, or its sum with the present one. */
export function retainGradient(t: Tensor, grad: Tensor): void {
  t.grad = keep(t.ownGrad === null ? arithmetic.clone(grad) : arithmetic.add(t.ownGrad, grad));
}
