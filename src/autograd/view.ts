/** Autograd's record of a view: its base, and the chain of views from there, which can be applied to another tensor. */
import type { PartialGradient, ViewDefinition } from "../core/definition.ts";
import { AutogradError } from "../core/errors.ts";
import type { Desc } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { tracer } from "../core/tracer.ts";
import { TapeNode, edgeOf, isSameEdge } from "./tape.ts";
import { moveRetained } from "./record.ts";

/** How a view came to be, which decides whether it may be written to while gradients are recorded. */
export type ViewOrigin = "recorded" | "noGrad" | "several" | "function";

const ORIGINS: { readonly [K in Exclude<ViewOrigin, "recorded">]: string } = {
  noGrad: "a view made in noGrad() or inferenceMode()",
  several: "one of several views that one operation returned",
  function: "a view that a user function returned",
};

export class View {
  /** The tensor at the start of the chain of views: no view itself. */
  readonly base: Tensor;
  origin: ViewOrigin;
  /** The storage's version when the view's node was made: a later one means that the base may have another history. */
  version: number;
  /**
   * Nodes that runs of a compiled function replaced the view's node by, by how often they had done so. Later runs that reach the same point reuse
   * them.
   */
  #renewed: TapeNode[][] | null = null;
  #renewals = 0;
  #before: View | null;
  readonly #definition: ViewDefinition<never>;
  readonly #attrs: unknown;
  #input: Desc;

  constructor(input: Tensor, definition: ViewDefinition<never>, attrs: unknown, origin: ViewOrigin) {
    const before = input.viewOf;
    this.base = before === null ? input : before.base;
    this.origin = origin === "recorded" && before !== null ? before.origin : origin;
    this.version = input.storage.version;
    this.#before = before;
    this.#definition = definition;
    this.#attrs = attrs;
    this.#input = input.desc;
    this.base.hold();
  }

  /** The node of the view `t`, made again from the base if the storage was written since. */
  nodeOf(t: Tensor): TapeNode | null {
    if (this.version === t.storage.version || t.storage !== this.base.storage) return t.ownNode;
    if (t.ownNode === null && !this.base.requiresGrad) return null;
    this.requireWritable("backward", t, "its base, or another view of it, is being changed while gradients are recorded");
    tracer()?.renew(t);
    const before = t.ownNode;
    const next = this.base.requiresGrad ? this.#next(t.desc) : null;
    if (before !== null && next !== null) moveRetained(t, before, t.outputIndex, next, 0);
    t.node = next;
    t.outputIndex = 0;
    this.version = t.storage.version;
    return next;
  }

  #next(output: Desc): TapeNode {
    if (tracer() === null) return this.#renewedNode(output);
    const edge = edgeOf(this.base);
    const known = ((this.#renewed ??= [])[this.#renewals++] ??= []);
    let node = known.find((n) => isSameEdge(n.edges[0]!, edge));
    if (node === undefined) known.push((node = this.#renewedNode(output)));
    return node;
  }

  /** Another run of the function that made the view begins, with the storage at this version. */
  restart(version: number): void {
    this.version = version;
    this.#renewals = 0;
  }

  /** A write has replaced the view's node, as in an earlier run. */
  renewed(version: number): void {
    this.version = version;
    this.#renewals++;
  }

  /** A node for the whole chain, from the base as it is now; output: what the view shows. */
  node(output: Desc): TapeNode {
    return new TapeNode("view", [this.base], [output], [], ([dy]) => [this.adjoint(dy!)], { part: (dy) => this.#part(dy) });
  }

  /** The same after a write. Its gradient has its own storage, as in PyTorch: a leaf may keep it and accumulate into it in place. */
  #renewedNode(output: Desc): TapeNode {
    const run = ([dy]: readonly (Tensor | null)[]): Tensor[] => {
      const dx = this.adjoint(dy!);
      return [dx.storage === dy!.storage ? arithmetic.clone(dx) : dx];
    };
    return new TapeNode("view", [this.base], [output], [], run, { part: (dy) => this.#part(dy) });
  }

  /** The adjoint without the zeros, where each step of the chain has one. */
  #part(dy: PartialGradient): PartialGradient | null {
    const before = this.#definition.part?.(dy, { spec: this.#input, attrs: this.#attrs as never }) ?? null;
    return before === null || this.#before === null ? before : this.#before.#part(before);
  }

  /** The same view of another tensor of the base's shape, which may be a view itself. */
  of(base: Tensor): View {
    const view = new View(base, this.#definition, this.#attrs, this.origin);
    view.#input = this.#input;
    view.#before = this.#before?.after(base.viewOf) ?? base.viewOf;
    return view;
  }

  /** The same steps, where the base is shown by a view already. Holds no base. */
  private after(start: View | null): View {
    if (start === null) return this;
    const view = new View(start.base, this.#definition, this.#attrs, this.origin);
    view.base.letGo();
    view.#input = this.#input;
    view.#before = this.#before?.after(start) ?? start;
    return view;
  }

  /** The same part of another tensor of the base's shape. */
  apply(x: Tensor): Tensor {
    const start = this.#before === null ? x : this.#before.apply(x);
    return (this.#definition.apply ?? arithmetic.view.bind(null, this.#definition))(start, this.#attrs as never);
  }

  /** dy at the view's elements of a tensor of the base's shape, zeros elsewhere. */
  adjoint(dy: Tensor): Tensor {
    const dx = this.#definition.grad(dy, { spec: this.#input, attrs: this.#attrs as never });
    return this.#before === null ? dx : this.#before.adjoint(dx);
  }

  /** Throws for views whose history cannot be replaced. */
  requireWritable(operation: string, t: Tensor, when: string): void {
    if (this.origin === "recorded") return;
    throw new AutogradError({
      operation,
      argument: "tensor",
      expected: "a view whose history can change with its base's",
      received: `${t.describe()}, ${ORIGINS[this.origin]}: ${when}`,
      hint: "Change the base itself, clone the view, or do both inside noGrad().",
    });
  }
}
