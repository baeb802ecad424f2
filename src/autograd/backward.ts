/** backward(): walks the tape from the results to the leaves and adds up gradients. */
import { AutogradError, ShapeError } from "../errors.ts";
import { isFloat } from "../dtype.ts";
import { keep } from "../scope.ts";
import { sameShape, showShape } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { tracer } from "../tracer.ts";
import { noGrad, enableGrad } from "./grad-mode.ts";
import type { TapeNode } from "./tape.ts";

/** @internal The operations that backward itself needs; set by ops/index.ts, which this file may not import. */
export const arithmetic = {
  add: null as unknown as (a: Tensor, b: Tensor) => Tensor,
  /** a += b, in a's storage: a gradient that lives outside a compiled function keeps its place. */
  accumulate: null as unknown as (a: Tensor, b: Tensor) => void,
  onesLike: null as unknown as (t: Tensor) => Tensor,
  zeros: null as unknown as (like: Tensor, spec: { readonly shape: readonly number[]; readonly dtype: Tensor["dtype"] }) => Tensor,
  detach: null as unknown as (t: Tensor) => Tensor,
};

export interface BackwardOptions {
  /** Gradient of each result; needed where a result has more than one element. */
  readonly gradient?: Tensor | readonly (Tensor | null)[];
  /** Keep what was saved, so that backward() can run again. Default: createGraph. */
  readonly retainGraph?: boolean;
  /** Record the gradients' own operations, for gradients of gradients. */
  readonly createGraph?: boolean;
}

interface Sink {
  leaf(leaf: Tensor, grad: Tensor): void;
  /** Called with the gradient of a tensor that is no leaf. */
  wants(node: TapeNode, output: number): ((grad: Tensor) => void) | undefined;
}

/** Nodes that wait, the highest sequence first (a binary heap). */
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

function applyHooks(hooks: readonly ((grad: Tensor) => Tensor | void)[] | null | undefined, grad: Tensor): Tensor {
  for (const hook of hooks ?? []) grad = hook(grad) ?? grad;
  return grad;
}

function walk(roots: readonly Tensor[], gradients: readonly (Tensor | null)[], options: BackwardOptions, sink: Sink): void {
  const pending = new Map<TapeNode, (Tensor | null)[]>();
  const queue = new Queue();
  const retain = options.retainGraph ?? options.createGraph ?? false;
  const deliver = (node: TapeNode, output: number, grad: Tensor): void => {
    let dys = pending.get(node);
    if (dys === undefined) {
      dys = new Array<Tensor | null>(node.outputs.length).fill(null);
      pending.set(node, dys);
      queue.push(node);
    }
    const before = dys[output]!;
    dys[output] = before === null ? grad : arithmetic.add(before, grad);
  };
  const leaf = (t: Tensor, grad: Tensor): void => sink.leaf(t, applyHooks(t.hooks, grad));
  roots.forEach((root, i) => {
    const grad = gradients[i];
    if (!grad) return;
    if (root.node !== null) deliver(root.node, root.outputIndex, grad);
    else if (root.leafRequiresGrad) leaf(root, grad);
  });
  while (!queue.isEmpty) {
    const node = queue.pop();
    const dys = pending.get(node)!;
    pending.delete(node);
    for (let i = 0; i < dys.length; i++) {
      const dy = dys[i];
      if (!dy) continue;
      const changed = applyHooks(node.hooks.get(i), dy);
      dys[i] = changed;
      sink.wants(node, i)?.(changed);
    }
    const some = dys.find((d) => d !== null) as Tensor;
    dys[0] ??= arithmetic.zeros(some, node.outputs[0]!);
    const grads = node.backward(dys);
    node.edges.forEach((edge, i) => {
      const grad = grads[i];
      if (edge === null || !grad) return;
      if ("leaf" in edge) leaf(edge.leaf, grad);
      else deliver(edge.node, edge.output, grad);
    });
    if (!retain) node.free();
  }
}

function seeds(operation: string, roots: readonly Tensor[], options: BackwardOptions): (Tensor | null)[] {
  const given =
    options.gradient === undefined
      ? null
      : Array.isArray(options.gradient)
        ? (options.gradient as readonly (Tensor | null)[])
        : [options.gradient as Tensor];
  return roots.map((root, i) => {
    root.demandLive(operation, "result");
    if (!root.requiresGrad)
      throw new AutogradError({
        operation,
        argument: "result",
        expected: "made from a tensor that requires a gradient",
        received: root.describe(),
      });
    const grad = given?.[i];
    if (grad) {
      if (!sameShape(grad.shape, root.shape)) throw new ShapeError(operation, "gradient", showShape(root.shape), showShape(grad.shape));
      return grad;
    }
    if (root.size !== 1)
      throw new AutogradError({ operation, argument: "result", expected: "a scalar when no gradient is given", received: root.describe() });
    return arithmetic.onesLike(root);
  });
}

/** Adds the gradient of root with respect to every leaf that requires one to the leaf's `grad`. */
export function backward(root: Tensor | readonly Tensor[], options: BackwardOptions = {}): void {
  const roots = Array.isArray(root) ? (root as readonly Tensor[]) : [root as Tensor];
  const run = (): void => {
    walk(roots, seeds("backward", roots, options), options, {
      leaf: (leaf, grad) => {
        const before = leaf.grad;
        const t = tracer();
        t?.touchGradient(leaf);
        if (before === null) {
          // A fresh view: the same gradient may reach two leaves.
          leaf.grad = keep(options.createGraph ? grad : arithmetic.detach(grad));
        } else if (t !== null && before.storage.handle !== 0) {
          arithmetic.accumulate(before, grad);
        } else {
          leaf.grad = keep(arithmetic.add(before, grad));
          before.dispose();
        }
      },
      wants: () => undefined,
    });
  };
  const step = () => (options.createGraph ? enableGrad(run) : noGrad(run));
  if (tracer() !== null) tracer()!.backward(roots, step);
  else step();
}

/**
 * Gradients of the results with respect to the given tensors, without touching any `grad`. A tensor that the results do not
 * depend on is an error, or null with allowUnused.
 */
export function grad(
  results: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: BackwardOptions & { readonly allowUnused?: boolean } = {},
): (Tensor | null)[] {
  const roots = Array.isArray(results) ? (results as readonly Tensor[]) : [results as Tensor];
  const found = inputs.map((): Tensor | null => null);
  const give = (i: number, grad: Tensor): void => {
    found[i] = found[i] === null ? grad : arithmetic.add(found[i]!, grad);
  };
  const run = (): void => {
    walk(roots, seeds("grad", roots, options), options, {
      leaf: (leaf, g) =>
        inputs.forEach((t, i) => {
          if (t === leaf) give(i, g);
        }),
      wants: (node, output) => {
        const wanted = inputs.flatMap((t, i) => (t.node === node && t.outputIndex === output ? [i] : []));
        return wanted.length === 0
          ? undefined
          : (g) => {
              for (const i of wanted) give(i, g);
            };
      },
    });
  };
  if (options.createGraph) enableGrad(run);
  else noGrad(run);
  inputs.forEach((t, i) => {
    if (found[i] === null && options.allowUnused !== true)
      throw new AutogradError({
        operation: "grad",
        argument: `inputs[${i}]`,
        expected: "a tensor that the results depend on",
        received: t.describe(),
        hint: "Pass allowUnused: true to get null for it.",
      });
    if (!isFloat(t.dtype))
      throw new AutogradError({ operation: "grad", argument: `inputs[${i}]`, expected: "of a floating dtype", received: t.describe() });
  });
  return found;
}
