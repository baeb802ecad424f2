/**
 * The history of a compiled function's results: one node of the tape, whose gradients are a compiled program as well. What it needs of
 * the forward pass are further outputs of that; arguments and state are looked up where they lie, and must be unchanged then.
 */
import { isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { Walk } from "../autograd/backward.ts";
import type { Gradients, Parts, TapeNode } from "../autograd/tape.ts";
import type { TensorSpec } from "../definition.ts";
import type { Device } from "../device.ts";
import { AutogradError } from "../errors.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { runEager } from "../runtime/eager.ts";
import { outsideScopes } from "../scope.ts";
import { Storage, internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { withTracer } from "../tracer.ts";
import { Ghosts } from "./arguments.ts";
import { Step, allEvents, pathTo, renew, restore, type Event, type Operand } from "./log.ts";
import { Lowering } from "./lower.ts";
import { CompiledProgram } from "./program.ts";
import { Run } from "./trace.ts";

/** An end of the traced tape, where gradients leave it: a leaf, or a node outside. */
export type Boundary = { readonly leaf: Tensor } | { readonly node: TapeNode; readonly output: number };

const isEqual = (a: Boundary, b: Boundary): boolean =>
  "leaf" in a ? "leaf" in b && a.leaf === b.leaf : !("leaf" in b) && a.node === b.node && a.output === b.output;

/** The gradients of one choice of results, traced. */
interface Traced {
  readonly path: readonly Event[];
  readonly ghosts: Ghosts;
  readonly gradients: readonly { readonly boundary: Boundary; readonly gradient: Tensor }[];
  /** Nodes of the forward pass that are freed. */
  readonly walked: ReadonlySet<TapeNode>;
}

const keyOf = (dys: Gradients): string => dys.map((d) => (d === null ? "0" : "1")).join("");

export class Backward {
  /** Traced tensors of the forward pass that the gradients read: outputs of it, or arguments; and tensors outside. */
  readonly saved: readonly Tensor[];
  readonly boundaries: readonly Boundary[];
  /** By output of the node. */
  readonly specs: readonly TensorSpec[];
  readonly #name: string;
  /** Outputs of nodes, each once. */
  readonly #roots: readonly { readonly node: TapeNode; readonly outputIndex: number; readonly device: Device }[];
  readonly #outputs: ReadonlyMap<Tensor, number>;
  /** Why there are no gradients: what backward() says then. */
  readonly #error: unknown;
  /** The function's own path: what its tape looks like after a call is set up again from it. */
  readonly #path: readonly Event[];
  /** Numbers and constants of the forward pass: made again instead of saved. */
  readonly #cheap: readonly Event[];
  readonly #traced = new Map<string, Traced>();
  readonly #programs = new Map<string, CompiledProgram>();

  constructor(name: string, carried: readonly Tensor[], path: readonly Event[]) {
    this.#name = name;
    this.#path = path;
    const roots: { node: TapeNode; outputIndex: number; device: Device }[] = [];
    const outputs = new Map<Tensor, number>();
    for (const t of carried) {
      const node = t.node!;
      let at = roots.findIndex((r) => r.node === node && r.outputIndex === t.outputIndex);
      if (at < 0) at = roots.push({ node, outputIndex: t.outputIndex, device: t.device }) - 1;
      outputs.set(t, at);
    }
    this.#roots = roots;
    this.#outputs = outputs;
    this.specs = roots.map((r) => r.node.outputs[r.outputIndex]!);
    let error: unknown = null;
    let traced: Traced | null = null;
    try {
      traced = this.#trace(roots.map(() => true));
    } catch (e) {
      error = e;
    }
    this.#error = error;
    this.boundaries = traced?.gradients.map((g) => g.boundary) ?? [];
    const reads = traced === null ? [] : readsOf(traced);
    const cheap = new Map<Storage, Event>();
    for (const e of allEvents(path)) if (e.kind === "create" || (e.kind === "scalar" && !e.varies)) cheap.set(e.output.tensor.storage, e);
    for (const e of allEvents(path)) if (e.kind === "assign") cheap.delete(e.target.storage);
    this.saved = reads.filter((t) => !cheap.has(t.storage));
    this.#cheap = reads.flatMap((t) => cheap.get(t.storage) ?? []);
  }

  /** Which output of the node a carried tensor is. */
  outputOf(t: Tensor): number {
    return this.#outputs.get(t) ?? -1;
  }

  outputAt(node: TapeNode, output: number): number {
    return this.#roots.findIndex((r) => r.node === node && r.outputIndex === output);
  }

  /** What the gradients of a choice of results need. */
  partsOf(dys: Gradients): Parts {
    if (this.#error !== null) return { saved: new Set(), walked: new Set() };
    const traced = this.#tracedOf(dys);
    const read = new Set(readsOf(traced).map((t) => t.storage));
    return { saved: new Set(this.saved.flatMap((t, i) => (read.has(t.storage) ? [i] : []))), walked: traced.walked };
  }

  /** The gradients of the boundaries; given[i] is the real tensor of saved[i], null where this choice does not need it. */
  run(dys: Gradients, given: Gradients): (Tensor | null)[] {
    if (this.#error !== null) throw this.#error;
    if (isGradEnabled())
      throw new AutogradError({
        operation: "backward",
        argument: "createGraph",
        expected: `false, when gradients flow through the results of ${this.#name}, which is compiled`,
        received: "true",
        hint: "Call grad() with createGraph inside the compiled function, and compile what uses its results with it.",
      });
    const key = keyOf(dys);
    const traced = this.#tracedOf(dys);
    return outsideScopes(() => {
      const wanted = dys.flatMap((d) => (d === null ? [] : [d.desc.isPacked ? d : runEager(contiguousOp, [d], undefined)[0]!]));
      let program = this.#programs.get(key);
      if (program === undefined) this.#programs.set(key, (program = this.#compile(traced, wanted.length)));
      const outputs = program.replay([...wanted, ...given] as Tensor[], new Map());
      const storages = outputsOf(traced);
      const results = this.boundaries.map((b) => {
        const found = traced.gradients.find((g) => isEqual(g.boundary, b))?.gradient;
        if (found === undefined) return null;
        const at = storages.indexOf(found.storage);
        if (at >= 0) return new Tensor(outputs[at]!, found.desc, found.offset);
        // The gradient is one of the results' gradients as it came.
        const dy = traced.ghosts.indices.get(found.storage);
        const t = dy === undefined ? given[this.saved.findIndex((s) => s.storage === found.storage)]! : wanted[dy]!;
        return new Tensor(t.storage, found.desc, t.offset + found.offset);
      });
      for (const t of wanted) if (!dys.includes(t)) t.dispose();
      return results;
    });
  }

  #tracedOf(dys: Gradients): Traced {
    const key = keyOf(dys);
    let traced = this.#traced.get(key);
    if (traced === undefined) {
      restore(this.#path);
      try {
        traced = this.#trace(dys.map((d) => d !== null));
      } finally {
        renew();
      }
      this.#traced.set(key, traced);
    }
    return traced;
  }

  dispose(): void {
    for (const p of this.#programs.values()) p.dispose();
    this.#programs.clear();
  }

  #trace(wanted: readonly boolean[]): Traced {
    const roots = this.#roots.filter((_, i) => wanted[i]);
    const templates = roots.map((t) => {
      const spec = t.node.outputs[t.outputIndex]!;
      return new Tensor(new Storage(t.device, 0), internDesc(t.device, spec.dtype, spec.shape));
    });
    const ghosts = new Ghosts(
      { tensors: templates, gradients: templates.map(() => -1), direct: templates.map(() => false) },
      { name: this.#name },
    );
    ghosts.begin(templates);
    const run = new Run(
      { name: this.#name, outer: new WeakSet(), leaves: new Set(), views: new WeakSet() },
      new Step(null, null),
      ghosts,
      templates,
    );
    const walked = new Set<TapeNode>();
    const found: { boundary: Boundary; gradient: Tensor | null; readonly sum: Tensor[] }[] = [];
    const add = (boundary: Boundary, grad: Tensor): void => {
      const before = found.find((f) => isEqual(f.boundary, boundary));
      if (before === undefined) found.push({ boundary, gradient: grad, sum: [grad] });
      else before.sum.push(grad);
    };
    const gradients = outsideScopes(() =>
      noGrad(() =>
        withTracer(run, () => {
          const walk = new Walk(null, (node, output, grad) => {
            if (node.isTraced) {
              if (node.isFreeable) walked.add(node);
              return false;
            }
            add({ node, output }, grad);
            return true;
          });
          roots.forEach((r, i) => walk.from(r.node, r.outputIndex, ghosts.tensors[i]!));
          walk.finish(true);
          for (const [leaf, grad] of walk.leaves) add({ leaf }, grad);
          return found.map(({ boundary, sum }) => ({ boundary, gradient: sum.reduce((a, b) => a.add(b)) }));
        }),
      ),
    );
    return { path: pathTo(run.at), ghosts, gradients, walked };
  }

  #compile(traced: Traced, count: number): CompiledProgram {
    const native = nativeDevice(this.#roots[0]!.device, this.#name);
    const saved = new Map<Storage, number>();
    this.saved.forEach((t, i) => {
      if (t.storage.trace !== null) saved.set(t.storage, count + i);
    });
    const lowering = new Lowering(
      native,
      `${this.#name} backward`,
      (storage) => traced.ghosts.indices.get(storage) ?? saved.get(storage) ?? -1,
    );
    lowering.add(this.#cheap);
    lowering.add(traced.path);
    const outputs = outputsOf(traced);
    const written = lowering.finish(outputs);
    const contents = outputs.map((s) => s.contentInBytes);
    return new CompiledProgram(native, { graph: lowering.graph, inputs: lowering.inputs, contents, written }, `${this.#name} backward`, 3);
  }
}

/** Storages that the gradients' own operations made, as far as a gradient lies in them. */
function outputsOf({ path, gradients }: Traced): Storage[] {
  const own = madeBy(path);
  return [...new Set(gradients.map((g) => g.gradient.storage))].filter((s) => own.has(s) && s.sizeInBytes > 0);
}

function madeBy(path: readonly Event[]): Set<Storage> {
  const made = new Set<Storage>();
  for (const e of allEvents(path)) {
    if (e.kind === "operation") for (const m of e.outputs) made.add(m.tensor.storage);
    else if (e.kind === "create" || e.kind === "scalar" || e.kind === "constant") made.add(e.output.tensor.storage);
  }
  return made;
}

/** What the operations read that is neither theirs nor a result's gradient. */
function readsOf({ path, ghosts, gradients }: Traced): Tensor[] {
  const own = madeBy(path);
  const reads = new Map<Storage, Tensor>();
  const read = (t: Tensor, storage: Storage): void => {
    if (!own.has(storage) && !ghosts.indices.has(storage) && storage.sizeInBytes > 0 && !reads.has(storage)) reads.set(storage, t);
  };
  const all = (list: readonly Operand[]): void => {
    for (const o of list) read(o.tensor, o.storage);
  };
  for (const e of allEvents(path)) {
    if (e.kind === "operation") all(e.inputs);
    else if (e.kind === "assign") all([e.target, e.source]);
  }
  for (const { gradient } of gradients) read(gradient, gradient.storage);
  return [...reads.values()];
}
