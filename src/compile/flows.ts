/** Gradients that leave the function by its inputs: a backward pass inside continues after the call in histories outside, or in those of arguments. */
import { requirePassable } from "../autograd/backward.ts";
import type { TapeNode } from "../autograd/tape.ts";
import { TraceError } from "../core/errors.ts";
import { callSite } from "../host/call-site.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Flow, FlowEnd } from "../core/tracer.ts";
import type { Placeholders } from "./arguments.ts";

/** A gradient that leaves the call. Those of one pass have the same flow, and continue together. */
export type Continuation = FlowEnd & {
  readonly flow: Flow;
  /** The argument has it in its `grad` already. */
  readonly isKept: boolean;
};

/** retainGrad() moved with its tensor from an outer node to another history: continuations from `after` on do not meet it. */
export interface Move {
  readonly node: TapeNode;
  readonly output: number;
  readonly after: number;
}

/** Whether a pass from a node outside reaches a tensor. */
function leadsTo(from: TapeNode, t: Tensor): boolean {
  const seen = new Set([from]);
  for (const node of seen) {
    if ([...(node.retained?.values() ?? [])].includes(t) && node !== from) return true;
    for (const edge of node.edges) {
      if (edge === null) continue;
      if ("leaf" in edge) {
        if (edge.leaf === t) return true;
      } else seen.add(edge.node);
    }
  }
  return false;
}

/** Nodes outside by which the tape of a run begins, as seen from one of its nodes: its edges stay as they are. */
const entries = new WeakMap<TapeNode, readonly TapeNode[]>();

function entriesOf(root: TapeNode): readonly TapeNode[] {
  if (!root.isTraced) return [root];
  let found = entries.get(root);
  if (found === undefined) {
    const seen = new Set([root]);
    for (const node of seen) if (node.isTraced) for (const edge of node.edges) if (edge !== null && "node" in edge) seen.add(edge.node);
    entries.set(root, (found = [...seen].filter((node) => !node.isTraced)));
  }
  return found;
}

/** The passes that continuations are of. */
export const flowsOf = (continuations: readonly { readonly flow: Flow }[]): Iterable<Flow> =>
  continuations.length === 1 ? [continuations[0]!.flow] : new Set(continuations.map((c) => c.flow));

export const NO_CONTINUATIONS: readonly Continuation[] = [];
export const NO_MOVES: readonly Move[] = [];

export class Flows {
  readonly continuations: Continuation[] = [];
  readonly moves: Move[] = [];
  /** Nodes outside that a flow of this call will free. */
  readonly #freed = new Set<TapeNode>();
  #isWrittenSince = false;
  readonly #name: string;
  readonly #placeholders: Placeholders;
  readonly #args: readonly Tensor[];

  /** name: the function's; tensors: its arguments. */
  constructor(name: string, placeholders: Placeholders, args: readonly Tensor[]) {
    this.#name = name;
    this.#placeholders = placeholders;
    this.#args = args;
  }

  /** The outer node that a boundary of the traced tape represents. */
  outer(node: TapeNode): TapeNode {
    const argument = this.#placeholders.boundary(node);
    return argument < 0 ? node : this.#args[argument]!.ownNode!;
  }

  out(ends: readonly FlowEnd[], flow: Flow, keep: (t: Tensor, grad: Tensor) => void): void {
    const next = ends.map((e) => ({ ...e, flow, isKept: "node" in e && this.#keeps(e.node, e.output) }));
    this.add(next);
    for (const e of next) if ("node" in e && e.isKept) keep(this.#placeholders.tensors[this.#placeholders.boundary(e.node)]!, e.grad);
  }

  /** What one or several passes hand on. Throws what a pass would throw on the way. */
  add(next: readonly Continuation[]): void {
    for (const flow of flowsOf(next)) {
      const passed = requirePassable(this.#starts(next.filter((c) => c.flow === flow)), (s) => this.#isWritten(s));
      for (const node of passed) {
        // Which parts of a compiled function's node a pass frees is known when it passes.
        if (!node.isFreeable || node.hasParts) continue;
        if (this.#freed.has(node)) node.refusePass();
        if (!flow.retains) this.#freed.add(node);
      }
    }
    this.continuations.push(...next);
  }

  /** The function has written to something: what flows on may need it as it was. */
  noteWrite(): void {
    if (this.continuations.length > 0) this.#isWrittenSince = true;
  }

  /** Whether what flows on still finds what it needs at the end of the call. */
  get isPassable(): boolean {
    if (!this.#isWrittenSince) return true;
    try {
      requirePassable(this.#starts(this.continuations), (s) => this.#isWritten(s), true);
      return true;
    } catch {
      return false;
    }
  }

  #starts(continuations: readonly Continuation[]): Set<TapeNode> {
    return new Set(continuations.flatMap((c) => ("node" in c ? [this.outer(c.node)] : [])));
  }

  /** Writes to an argument are counted on its placeholder. */
  #isWritten(storage: Storage): boolean {
    return this.#args.some((t, i) => t.storage === storage && this.#placeholders.tensors[i]?.storage.isWritten === true);
  }

  isReached(leaf: Tensor, ends: readonly FlowEnd[]): boolean {
    const at = this.#placeholders.tensors.indexOf(leaf);
    const real = at < 0 ? leaf : this.#args[at]!;
    return ends.some((e) => "node" in e && leadsTo(this.outer(e.node), real));
  }

  /** Whether the way from results to inputs leads through a history that was made outside. */
  leadOutside(roots: readonly Tensor[], inputs: readonly Tensor[]): boolean {
    const from = new Set<TapeNode>();
    for (const { node } of roots) if (node !== null) for (const entry of entriesOf(node)) from.add(this.outer(entry));
    if (from.size === 0) return false;
    const leaves = new Set<Tensor>();
    const nodes = new Set<TapeNode>();
    for (const t of inputs) {
      const { node } = t;
      if (node !== null) nodes.add(this.outer(node));
      else leaves.add(this.#args[this.#placeholders.tensors.indexOf(t)] ?? t);
    }
    for (const node of from)
      for (const edge of node.edges) {
        if (edge === null) continue;
        if ("leaf" in edge ? leaves.has(edge.leaf) : nodes.has(edge.node)) return true;
        if ("node" in edge) from.add(edge.node);
      }
    return false;
  }

  /** Whether the gradient of an argument that has a history is to be kept in its `grad`. */
  #keeps(node: TapeNode, output: number): boolean {
    const index = this.#placeholders.boundary(node);
    if (index < 0 || node.retained?.has(output) !== true) return false;
    // Hooks of outer tensors run after the call.
    const { ownNode, outputIndex } = this.#args[index]!;
    return (node.hooks?.get(output) ?? ownNode?.hooks?.get(outputIndex) ?? []).length === 0;
  }

  /** Refuses the gradient of a tensor some of which has not come yet. */
  read(t: Tensor): void {
    if (this.continuations.length === 0) return;
    const at = this.#placeholders.tensors.indexOf(t);
    const real = at < 0 ? t : this.#args[at]!;
    const isLate = this.continuations.some((c) => {
      if ("leaf" in c) return c.leaf === t;
      const isOwn = this.#placeholders.boundary(c.node) === at && at >= 0;
      return (isOwn && !c.isKept && c.node.retained !== null) || leadsTo(this.outer(c.node), real);
    });
    if (!isLate) return;
    throw new TraceError({
      operation: "grad",
      argument: t.describe(),
      expected: `read outside ${this.#name}: gradients for tensors outside exist only after the call`,
      received: `a read ${callSite() ?? "inside it"}`,
      hint: "Compute the tensors that lead to it inside the compiled function.",
    });
  }
}
