/** backward() and grad(): traverse the tape from the results to the leaves and accumulate gradients. */
import { withoutAutocast } from "../core/autocast.ts";
import { isFloat } from "../core/dtype.ts";
import { AutogradError, ShapeError } from "../core/errors.ts";
import { keep } from "../core/scope.ts";
import { sameShape, showShape } from "../core/shape.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer, type Flow, type FlowEnd } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { enableGrad, isGradEnabled, noGrad } from "./grad-mode.ts";
import { conformGradient, type TapeNode } from "./tape.ts";
import { Traversal, retainGradient, type Bounds, type Search } from "./traversal.ts";

/** Options of backward(). Reference: torch.Tensor.backward. */
export interface BackwardOptions {
  /** Gradient of each result; needed where a result has more than one element. */
  readonly gradient?: Tensor | readonly (Tensor | null)[];
  /** Keep what was saved, so that backward() can run again. Default: createGraph. */
  readonly retainGraph?: boolean;
  /** Record the gradients' own operations, for gradients of gradients. */
  readonly createGraph?: boolean;
}

function seeds(operation: string, roots: readonly Tensor[], options: BackwardOptions): Tensor[] {
  const gradients =
    options.gradient === undefined
      ? null
      : Array.isArray(options.gradient)
        ? (options.gradient as readonly (Tensor | null)[])
        : [options.gradient as Tensor];
  return roots.map((root, i) => {
    root.requireLive(operation, "result");
    if (root.node === null && !root.leafRequiresGrad)
      throw new AutogradError({
        operation,
        argument: "result",
        expected: "made from a tensor that requires a gradient",
        received: root.describe(),
      });
    const grad = gradients?.[i];
    if (grad) {
      grad.requireLive(operation, "gradient");
      if (!sameShape(grad.shape, root.shape)) throw new ShapeError(operation, "gradient", showShape(root.shape), showShape(grad.shape));
      return conformGradient(operation, "gradient", grad, root.desc);
    }
    if (root.size !== 1)
      throw new AutogradError({ operation, argument: "result", expected: "a scalar when no gradient is given", received: root.describe() });
    return arithmetic.onesLike(root);
  });
}

const retains = (options: BackwardOptions): boolean => options.retainGraph ?? options.createGraph ?? false;

/** Adds the gradient of root with respect to every leaf that requires one to the leaf's `grad`. */
export function backward(root: Tensor | readonly Tensor[], options: BackwardOptions = {}): void {
  const roots = Array.isArray(root) ? (root as readonly Tensor[]) : [root as Tensor];
  const run = (): void => {
    const bounds = flowsOut(options);
    const traversal = new Traversal(null, bounds);
    traversal.run(roots, seeds("backward", roots, options), retains(options));
    store(traversal, options.createGraph === true);
    traversal.tellReducers();
  };
  inRegion(backward, roots, options, [], () => {
    if (options.createGraph) enableGrad(run);
    else noGrad(run);
  });
}

/** Inside a function that is being compiled: what reaches a node outside flows on when the program has run. */
function flowsOut(options: BackwardOptions): Bounds | null {
  const t = tracer();
  if (t === null) return null;
  const flow = { retains: retains(options), creates: options.createGraph === true };
  const sums = new Map<TapeNode, Map<number, Tensor>>();
  return {
    takes: (node, output, grad) => {
      if (node.isTraced) return false;
      let own = sums.get(node);
      if (own === undefined) sums.set(node, (own = new Map<number, Tensor>()));
      const before = own.get(output);
      own.set(output, before === undefined ? grad : arithmetic.add(before, grad));
      return true;
    },
    ends: (node) => !node.isTraced,
    drained: (traversal) => {
      if (sums.size === 0) return;
      const ends: FlowEnd[] = [];
      for (const [node, own] of sums)
        for (const [output, sum] of own) {
          t.visit(node, false);
          // Its own storage: a leaf with the same gradient may be changed in place before the pass continues.
          ends.push({ node, output, grad: traversal.owned(sum) });
        }
      // Hooks of a leaf see all of its gradient.
      for (const [leaf, sum] of traversal.leaves)
        if (leaf.hooks !== null && leaf.hooks.length > 0 && t.isReached(leaf, ends)) {
          ends.push({ leaf, grad: traversal.owned(sum) });
          traversal.leaves.delete(leaf);
        }
      t.flowOut(ends, flow, retainGradient);
    },
  };
}

/** @internal Continues the pass with gradients that leave a compiled function. isKept: the argument that is this output of the node has the gradient in its `grad`. */
export function continueBackward(ends: readonly (FlowEnd & { readonly isKept: boolean })[], { retains, creates }: Flow): void {
  const run = (): void => {
    const isKept = (node: TapeNode, output: number): boolean =>
      ends.some((e) => e.isKept && "node" in e && e.node === node && e.output === output);
    const traversal = new Traversal(null, { takes: () => false, ends: () => false, keeps: (node, output) => !isKept(node, output) });
    for (const e of ends)
      if ("leaf" in e) traversal.fromLeaf(e.leaf, e.grad);
      else traversal.from(e.node, e.output, e.grad);
    traversal.finish(retains);
    store(traversal, creates);
  };
  withoutAutocast(() => (creates ? enableGrad(run) : noGrad(run)));
}

/**
 * @internal The nodes that a pass from these goes through. Throws what the pass would: that something saved has been freed or changed.
 * isChanged: of what else than by its version is known to be changed. isStrict: nothing that a compiled function's node may need is changed.
 */
export function requirePassable(from: Iterable<TapeNode>, isChanged: (storage: Storage) => boolean, isStrict = false): Set<TapeNode> {
  const seen = new Set(from);
  for (const node of seen) {
    node.requirePassable(isChanged, isStrict);
    // A rule of the user's may give no gradients, a compiled function's node some of them.
    if (!node.isForeign && (isStrict || !node.hasParts))
      for (const edge of node.edges) if (edge !== null && "node" in edge) seen.add(edge.node);
  }
  return seen;
}

/** Under a tracer a traversal is a region; the guards are what it depends on. */
function inRegion<T extends readonly (Tensor | null)[] | void>(
  owner: object,
  roots: readonly Tensor[],
  options: BackwardOptions,
  inputs: readonly Tensor[],
  run: () => T,
  allowsUnused = false,
): T {
  // Gradients have the dtypes of the forward operations, whatever region asks for them.
  const alone = (): T => withoutAutocast(run);
  const t = tracer();
  if (t === null) return alone();
  const { gradient } = options;
  const gradients = gradient === undefined ? [] : Array.isArray(gradient) ? (gradient as readonly (Tensor | null)[]) : [gradient as Tensor];
  const guards = [roots.length, gradients.length, options.retainGraph, options.createGraph, isGradEnabled(), allowsUnused];
  return t.region(owner, [...roots, ...gradients, ...inputs], guards, alone);
}

/**
 * The leaves' new gradients: each a tensor of its own. One that is there already is accumulated in place, unless its own history is to
 * be recorded.
 */
function store(traversal: Traversal, records: boolean): void {
  const growing = new Set<Storage>();
  if (!records) for (const leaf of traversal.leaves.keys()) if (leaf.ownGrad !== null) growing.add(leaf.ownGrad.storage);
  // Gradients are read before others are accumulated into them. A leaf that was frozen since gets none.
  const wanting = [...traversal.leaves].filter(([leaf]) => leaf.leafRequiresGrad);
  const sums = wanting.map(([leaf, sum]) => ({
    leaf,
    sum:
      growing.has(sum.storage) || (records && leaf.ownGrad === null)
        ? traversal.owned(sum)
        : leaf.ownGrad === null
          ? traversal.taken(leaf, sum)
          : sum,
  }));
  for (const { leaf, sum } of sums) {
    tracer()?.touchGradient(leaf);
    if (leaf.ownGrad === null) leaf.grad = keep(sum);
    else if (records) leaf.grad = keep(arithmetic.add(leaf.ownGrad, sum));
    else arithmetic.accumulate(leaf.ownGrad, sum);
  }
}

/**
 * Gradients of the results with respect to the given tensors, without touching any `grad`. A tensor that the results do not
 * depend on is an error, or null with allowUnused.
 */
export function grad(
  results: Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  options: BackwardOptions & {
    /** Whether an input that the results do not depend on gives null instead of an error. Default: false. */
    readonly allowUnused?: boolean;
  } = {},
): (Tensor | null)[] {
  const roots = Array.isArray(results) ? (results as readonly Tensor[]) : [results as Tensor];
  inputs.forEach((t, i) => {
    if (!isFloat(t.dtype))
      throw new AutogradError({ operation: "grad", argument: `inputs[${i}]`, expected: "of a floating dtype", received: t.describe() });
  });
  const found = inputs.map((): Tensor | null => null);
  const run = (): void => {
    const gradients = seeds("grad", roots, options);
    const traversal = new Traversal(searchFor(roots, inputs, found));
    traversal.run(roots, gradients, retains(options));
    inputs.forEach((t, i) => {
      found[i] ??= traversal.leaves.get(t) ?? null;
    });
    found.forEach((t, i) => {
      if (t !== null && found.every((other, k) => k === i || other?.storage !== t.storage)) traversal.release(t);
    });
  };
  const allowsUnused = options.allowUnused === true;
  tracer()?.searches(roots, inputs);
  const whole = (): (Tensor | null)[] => {
    if (options.createGraph) enableGrad(run);
    else noGrad(run);
    requireFound(inputs, found, allowsUnused);
    return found;
  };
  return inRegion(grad, roots, options, inputs, whole, allowsUnused);
}

function requireFound(inputs: readonly Tensor[], found: readonly (Tensor | null)[], allowsUnused: boolean): void {
  inputs.forEach((t, i) => {
    if (found[i] === null && !allowsUnused)
      throw new AutogradError({
        operation: "grad",
        argument: `inputs[${i}]`,
        expected: "a tensor that the results depend on",
        received: t.describe(),
        hint: "Pass allowUnused: true to get null for it.",
      });
  });
}

/** The nodes between the results and the inputs. */
function searchFor(roots: readonly Tensor[], inputs: readonly Tensor[], found: (Tensor | null)[]): Search {
  const wanted = new Map<TapeNode, { output: number; give(grad: Tensor): void }[]>();
  const leaves = new Set<Tensor>();
  inputs.forEach((t, i) => {
    const node = t.node;
    if (node === null) {
      leaves.add(t);
      return;
    }
    const list = wanted.get(node) ?? [];
    wanted.set(node, list);
    list.push({
      output: t.outputIndex,
      give: (grad) => {
        found[i] = grad;
      },
    });
  });
  const leads = new Set<TapeNode>();
  const seen = new Set<TapeNode>();
  // Each node is looked at twice: its edges first, then what they lead to.
  const stack = roots.flatMap((r) => r.node ?? []);
  while (stack.length > 0) {
    const node = stack.at(-1)!;
    if (!seen.has(node)) {
      seen.add(node);
      for (const edge of node.edges) if (edge !== null && "node" in edge && !seen.has(edge.node)) stack.push(edge.node);
      continue;
    }
    stack.pop();
    const reaches = node.edges.some((e) => e !== null && ("node" in e ? leads.has(e.node) || wanted.has(e.node) : leaves.has(e.leaf)));
    if (reaches) leads.add(node);
  }
  return { leads, found: wanted, leaves };
}
