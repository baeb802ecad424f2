/** Gradients that flow on from a run into what lies before the function: histories outside, or those of arguments. */
import type { TapeNode } from "../autograd/tape.ts";
import { TraceError } from "../errors.ts";
import { callerPlace } from "../place.ts";
import type { Tensor } from "../tensor.ts";
import type { Flow } from "../tracer.ts";
import type { Ghosts } from "./arguments.ts";

/** A gradient that flows on into what lies before the function: a node outside, or an argument's history. */
export interface Continuation {
  readonly node: TapeNode;
  readonly output: number;
  readonly grad: Tensor;
  readonly flow: Flow;
  /** The argument has it in its `grad` already. */
  isKept: boolean;
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

export class Flows {
  readonly continuations: Continuation[] = [];
  readonly #name: string;
  readonly #ghosts: Ghosts;
  readonly #tensors: readonly Tensor[];

  /** name: the function's; tensors: its arguments. */
  constructor(name: string, ghosts: Ghosts, tensors: readonly Tensor[]) {
    this.#name = name;
    this.#ghosts = ghosts;
    this.#tensors = tensors;
  }

  out(node: TapeNode, output: number, grad: Tensor, flow: Flow): void {
    this.continuations.push({ node, output, grad, flow, isKept: false });
  }

  /** Whether the gradient of an argument that has a history is to be kept in its `grad`. */
  keeps(node: TapeNode, output: number): boolean {
    const index = this.#ghosts.boundary(node);
    if (index < 0 || node.retained?.has(output) !== true) return false;
    // Hooks of what lies outside run after the call.
    const { ownNode, outputIndex } = this.#tensors[index]!;
    return (node.hooks?.get(output) ?? ownNode?.hooks?.get(outputIndex) ?? []).length === 0;
  }

  keep(node: TapeNode, grad: Tensor, keep: (t: Tensor, grad: Tensor) => void): void {
    const flowing = this.continuations.filter((c) => c.node === node);
    for (const c of flowing) c.isKept = true;
    keep(this.#ghosts.tensors[this.#ghosts.boundary(node)]!, grad);
  }

  /** Refuses the gradient of a tensor some of which has not come yet. */
  read(t: Tensor): void {
    if (this.continuations.length === 0) return;
    const at = this.#ghosts.tensors.indexOf(t);
    const real = at < 0 ? t : this.#tensors[at]!;
    const isLate = this.continuations.some(({ node, isKept }) => {
      const argument = this.#ghosts.boundary(node);
      const from = argument < 0 ? node : this.#tensors[argument]!.ownNode!;
      return (argument === at && at >= 0 && !isKept && node.retained !== null) || leadsTo(from, real);
    });
    if (!isLate) return;
    throw new TraceError({
      operation: "grad",
      argument: t.describe(),
      expected: `read outside ${this.#name}: gradients flow on into what was made outside when it has run`,
      received: `a read ${callerPlace() ?? "inside it"}`,
      hint: "Make what leads to it inside the compiled function.",
    });
  }
}
