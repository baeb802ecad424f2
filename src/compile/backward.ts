/**
 * The backward pass of a compiled function. The results get one node of the tape, whose gradients are a compiled program as well. Tensors saved by the
 * forward pass are further outputs of its program; arguments and state are read from their own storages, and their versions are checked. A result that
 * other results depend on has a node of its own: a pass stops there if the result has hooks or retains its gradient.
 */
import { enableGrad, isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { Traversal } from "../autograd/traversal.ts";
import { TapeNode, changedNodes, type Freed, type Gradients, type Parts } from "../autograd/tape.ts";
import type { TensorSpec } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { runEager } from "../runtime/eager.ts";
import { outsideScopes } from "../core/scope.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { Placeholders } from "./arguments.ts";
import { inGroups, isAt, isSameBoundary, reachedFrom, type Boundary, type GradientEdge } from "./gradient-edges.ts";
import { History } from "./history.ts";
import { Step, allEvents, pathTo, renew, restore, type Event } from "./log.ts";
import { Unrolled, hasLoops } from "./loops.ts";
import type { Values } from "./program.ts";
import { Recomputation } from "./recomputation.ts";
import { newRecorded, type Recorded } from "./recorder.ts";
import { Run } from "./trace.ts";
import { matchTraces, type InitialPair, type TraceMatch } from "./trace-matching.ts";
import { TracedGradients, everythingOf, type ForwardValues } from "./traced-gradients.ts";
import { Variant } from "./variant.ts";

/** The same history of a trace with larger sizes, and of the one that showed which axes are padded; and the matches of their forward passes. */
export interface Larger {
  readonly larger: Backward;
  readonly base: Backward;
  /** Of this forward pass, and of the base's. */
  readonly forward: TraceMatch;
  readonly known: TraceMatch;
  /** Told why each size has a program of its own. */
  readonly refuse: (reason: string) => void;
}

/** The node that represents a call's own nodes, and those of them that passes have freed. */
export interface CallNode {
  readonly node: TapeNode;
  readonly freed: Freed;
}

/** What a pass asks for: which results have gradients, at which boundaries it stops, and which gradients record a history (null: none). */
interface GradientRequest {
  readonly wanted: readonly boolean[];
  readonly stops: readonly number[];
  readonly records: readonly boolean[] | null;
}

/** Freed nodes of the gradients' own history; those of the forward pass are noted in `outer`. */
class FreedWithNodes implements Freed {
  readonly #own = new Set<TapeNode>();
  readonly #outer: Freed;
  readonly #nodes: ReadonlySet<TapeNode>;

  constructor(outer: Freed, nodes: ReadonlySet<TapeNode>) {
    this.#outer = outer;
    this.#nodes = nodes;
  }

  has(node: TapeNode): boolean {
    return (this.#nodes.has(node) ? this.#outer : this.#own).has(node);
  }

  add(node: TapeNode): void {
    (this.#nodes.has(node) ? this.#outer : this.#own).add(node);
  }
}

/** One choice of results: its log, since code of the user's may take another way each time. */
interface Choice {
  readonly placeholders: Placeholders;
  readonly templates: readonly Tensor[];
  readonly recorded: Recorded;
  readonly start: Step;
  readonly ends: Map<Step, TracedGradients>;
}

/** What a call leaves for its backward passes: hooks and rules of the user's inside the function, as they are at its end. */
export type Behaviour = readonly (() => void)[];

export class Backward {
  /** TracedGradients tensors of the forward pass that the gradients read: outputs of it, or arguments; and tensors outside. */
  readonly saved: readonly Tensor[];
  readonly boundaries: readonly Boundary[];
  /** Which of the boundaries are results of the function as well. */
  readonly inner: readonly number[];
  /** By output of the node. */
  readonly specs: readonly TensorSpec[];
  /** Outputs of nodes, each once. */
  readonly edges: readonly GradientEdge[];
  /** Code of the user's runs in its passes. */
  readonly hasCode: boolean;
  readonly #name: string;
  readonly #device: Device;
  /** Results that lead to these. */
  readonly #earlier: readonly GradientEdge[];
  /** Why there are no gradients: what backward() says then. */
  readonly #error: unknown;
  /** The function's own path: what its tape looks like after a call is set up again from it. */
  readonly #path: readonly Event[];
  readonly #forward: ForwardValues;
  readonly #recomputation: Recomputation;
  /** Tensors of the forward pass that all gradients read, to recompute others. */
  readonly #recomputedFrom: readonly Tensor[];
  /** Nodes of the function's own tape that passes visit. */
  readonly #nodes: ReadonlySet<TapeNode>;
  readonly #choices = new Map<string, Choice>();
  /** What the current pass has traced, for its second half. */
  #current: {
    readonly request: GradientRequest;
    readonly traced: TracedGradients;
    readonly values: Run["values"];
    readonly behaviour: Behaviour;
  } | null = null;
  #larger: Larger | null = null;

  /** recomputation: of the function itself, where this is the history of its gradients. */
  constructor(
    name: string,
    device: Device,
    edges: readonly GradientEdge[],
    earlier: readonly GradientEdge[],
    path: readonly Event[],
    recomputation = new Recomputation(path),
  ) {
    this.#recomputation = recomputation;
    this.#name = name;
    this.#device = device;
    this.#path = path;
    this.#earlier = earlier;
    this.edges = edges;
    this.specs = edges.map((p) => p.node.outputs[p.output]!);
    const custom = new Set<TapeNode>();
    for (const e of allEvents(path)) if (e.kind === "custom") custom.add(e.node);
    const found: Boundary[] = [];
    const add = (b: Boundary): void => void (found.some((f) => isSameBoundary(f, b)) || found.push(b));
    const nodes = new Set<TapeNode>();
    for (const p of edges) {
      const seen = reachedFrom(p, (edge) => {
        if ("leaf" in edge || !edge.node.isTraced || earlier.some((q) => isAt(q, edge.node, edge.output))) add(edge);
        return "node" in edge && edge.node.isTraced;
      });
      for (const node of seen) nodes.add(node);
    }
    this.#nodes = nodes;
    this.hasCode = [...nodes].some((node) => custom.has(node) || this.#isHooked(node));
    if (this.hasCode && hasLoops(path)) throw new Unrolled("each step of a loop is traced: hooks, or gradients of your own");
    let error: unknown = null;
    let traced: TracedGradients | null = null;
    if (!this.hasCode)
      try {
        traced = this.#trace({ wanted: edges.map(() => true), stops: [], records: null }).traced;
      } catch (e) {
        if (e instanceof Unrolled) throw e;
        error = e;
      }
    this.#error = error;
    const ends = traced?.gradients.map((g) => g.boundary) ?? (this.hasCode ? found : []);
    // With an error too: backward() through one of these throws it.
    this.boundaries = [...ends, ...found.filter((b) => !ends.some((e) => isSameBoundary(e, b)))];
    this.inner = this.boundaries.flatMap((b, i) => ("node" in b && b.node.isTraced ? [i] : []));
    const all = traced !== null ? [...traced.reads(), ...traced.kept()] : this.hasCode ? everythingOf(path) : [];
    // Code of the user's may refer to any tensor.
    const remade = recomputation.of(this.hasCode ? [] : all.map((t) => t.storage));
    const read = this.hasCode ? all : [...all.filter((t) => !recomputation.makes(t.storage)), ...remade.reads];
    const reads = [...new Map(read.map((t) => [t.storage, t])).values()];
    const cheap = new Map<Storage, Event>();
    for (const e of allEvents(path)) if (e.kind === "create" || (e.kind === "scalar" && !e.varies)) cheap.set(e.output.tensor.storage, e);
    for (const e of allEvents(path)) if (e.kind === "assign") cheap.delete(e.target.storage);
    this.saved = reads.filter((t) => !cheap.has(t.storage));
    this.#recomputedFrom = remade.reads;
    this.#forward = { saved: this.saved, recomputed: [...reads.flatMap((t) => cheap.get(t.storage) ?? []), ...remade.events] };
  }

  /** Whether it serves a run that leaves hooks: one without code of the user's knows none. */
  get isEnough(): boolean {
    return this.hasCode || ![...changedNodes()].some((node) => this.#nodes.has(node) && this.#isHooked(node));
  }

  /** Whether there are no gradients of all of them. */
  get isRefused(): boolean {
    return this.#error !== null;
  }

  /** Which output of the node represents an output of a traced node; -1 for none. */
  outputAt(node: TapeNode, output: number): number {
    return this.edges.findIndex((p) => isAt(p, node, output));
  }

  /** What the gradients of a choice of results need, when the pass stops at some of the boundaries. */
  partsOf(dys: Gradients, stops: readonly number[], behaviour: Behaviour): Parts {
    if (this.#error !== null) return { saved: new Set(), visited: new Set() };
    const records = isGradEnabled() ? dys.flatMap((d) => (d === null ? [] : [d.requiresGrad])) : null;
    const request = { wanted: dys.map((d) => d !== null), stops, records };
    this.#current = { request, ...this.#tracedOf(request, behaviour) };
    const { traced } = this.#current;
    const read = new Set([...traced.reads(), ...this.#recomputedFrom, ...traced.histories.flatMap((h) => h.saved)].map((t) => t.storage));
    return { saved: new Set(this.saved.flatMap((t, i) => (read.has(t.storage) ? [i] : []))), visited: traced.visited };
  }

  /**
   * The gradients of the boundaries, after partsOf(). saved[i] is the real tensor of this.saved[i], or null where this choice does not read it. With
   * createGraph the gradients have a history, which is a compiled program as well.
   */
  run(dys: Gradients, saved: Gradients, callNode: CallNode): (Tensor | null)[] {
    if (this.#error !== null) throw this.#error;
    const { request: wish, traced, values, behaviour } = this.#current!;
    this.#current = null;
    return outsideScopes(() => {
      const flowing = dys.filter((d) => d !== null);
      const wanted = flowing.map((d) => (d.desc.isPacked ? d : runEager(contiguousOp, [d], undefined)[0]!));
      const all = [...wanted, ...saved] as Tensor[];
      if (traced.bucketed === undefined) traced.bucketed = this.#bucketedOf(wish, traced);
      const outputs =
        this.#callLarger(traced, all, values) ??
        traced.call(nativeDevice(this.#device, this.#name), `${this.#name} backward`, this.#forward, all, values);
      const storages = traced.outputs();
      const locate = (storage: Storage): Tensor | null => {
        const dy = traced.placeholders.indices.get(storage);
        return dy === undefined ? (saved[this.saved.findIndex((s) => s.storage === storage)] ?? null) : wanted[dy]!;
      };
      const history =
        traced.histories.length === 0
          ? null
          : this.#historyOf(traced, behaviour, callNode, flowing, (t) => {
              const at = storages.indexOf(t.storage);
              if (at >= 0) return new Tensor(outputs[at]!, t.desc, 0);
              const there = locate(t.storage) ?? (t.storage.trace === null ? t : null);
              return there === null ? null : new Tensor(there.storage, there.desc, there.offset);
            });
      const results = this.boundaries.map((b) => {
        const found = traced.gradients.find((g) => isSameBoundary(g.boundary, b))?.gradient;
        if (found === undefined) return null;
        const dy = traced.placeholders.tensors.indexOf(found);
        if (isGradEnabled() && dy >= 0) return flowing[dy]!;
        const at = storages.indexOf(found.storage);
        // The gradient is one of the results' gradients as it came, or of what was saved.
        const t = at >= 0 ? null : locate(found.storage);
        // Of what is empty nothing was computed.
        const storage = t?.storage ?? outputs[at] ?? new Storage(found.device, found.storage.contentInBytes);
        const result = new Tensor(storage, found.desc, (t?.offset ?? 0) + found.offset);
        const edge = history?.edgeOf(found.ownNode, found.outputIndex) ?? null;
        if (edge !== null) {
          result.node = edge.node;
          result.outputIndex = edge.output;
        }
        return result;
      });
      for (const t of wanted) if (!dys.includes(t)) t.dispose();
      return results;
    });
  }

  #historyOf(
    traced: TracedGradients,
    behaviour: Behaviour,
    { node, freed }: CallNode,
    dys: readonly Tensor[],
    saved: (t: Tensor) => Tensor | null,
  ): History {
    return new History({
      name: `${this.#name} backward`,
      device: this.#device,
      backwards: traced.histories,
      freed: new FreedWithNodes(freed, this.#nodes),
      behaviour,
      hooks: [],
      saved,
      end: (b) => {
        const dy = "leaf" in b ? -1 : traced.placeholders.boundary(b.node);
        if (dy >= 0) return dys[dy]!;
        const own = "leaf" in b ? -1 : this.outputAt(b.node, b.output);
        if (own >= 0) return { node, output: own };
        const edge = node.edges[this.boundaries.findIndex((e) => isSameBoundary(e, b))];
        if (edge) return "leaf" in edge ? edge.leaf : edge;
        return "leaf" in b ? b.leaf : b;
      },
    });
  }

  #tracedOf(request: GradientRequest, behaviour: Behaviour): { traced: TracedGradients; values: Run["values"]; behaviour: Behaviour } {
    if (!this.hasCode) {
      const end = this.#choices.get(keyOf(request))?.ends.values().next().value;
      if (end !== undefined) return { traced: end, values: new Map(), behaviour };
    }
    const takeBack = restore(this.#path, this.hasCode);
    for (const again of behaviour) again();
    try {
      const found = this.#trace(request);
      const code = this.hasCode ? [...allEvents(found.traced.path)].flatMap((e) => (e.kind === "custom" ? [e.node.behaviour()] : [])) : [];
      return { ...found, behaviour: [...behaviour, ...code] };
    } finally {
      takeBack();
      renew();
    }
  }

  dispose(): void {
    for (const choice of this.#choices.values()) forget(choice);
  }

  /** Whether the pass runs hooks of the node. Hooks of results are on the node that represents them. */
  #isHooked(node: TapeNode): boolean {
    return [...(node.hooks ?? [])].some(([output, hooks]) => hooks.length > 0 && !this.#isResult(node, output));
  }

  #isResult(node: TapeNode, output: number): boolean {
    return [...this.edges, ...this.#earlier].some((p) => isAt(p, node, output));
  }

  #choice(request: GradientRequest): Choice {
    const key = keyOf(request);
    let choice = this.#choices.get(key);
    if (choice === undefined) {
      const templates = this.specs
        .filter((_, i) => request.wanted[i])
        .map((spec, i) => {
          const t = new Tensor(new Storage(this.#device, 0), internDesc(this.#device, spec.dtype, spec.shape));
          if (request.records?.[i] === true) t.node = new TapeNode("gradient", [], [t.desc], [], () => []);
          return t;
        });
      const placeholders = new Placeholders(
        { tensors: templates, gradients: templates.map(() => -1), direct: templates.map(() => false) },
        { name: this.#name },
      );
      const recorded = newRecorded(this.#name);
      choice = { placeholders, templates, recorded, start: new Step(null, null), ends: new Map() };
      this.#choices.set(key, choice);
    }
    return choice;
  }

  /** Traverses the function's own tape, which is set up, for the gradients of some results. */
  #trace(request: GradientRequest): { traced: TracedGradients; values: Run["values"] } {
    const choice = this.#choice(request);
    const { placeholders, templates } = choice;
    placeholders.begin(templates);
    const run = new Run(choice.recorded, choice.start, placeholders, templates);
    const visited = new Set<TapeNode>();
    const found: { boundary: Boundary; readonly sum: Tensor[] }[] = [];
    const add = (boundary: Boundary, grad: Tensor): void => {
      const before = found.find((f) => isSameBoundary(f.boundary, boundary));
      if (before === undefined) found.push({ boundary, sum: [grad] });
      else before.sum.push(grad);
    };
    const ends = request.stops.map((i) => this.boundaries[i] as GradientEdge);
    const leavesAt = (node: TapeNode, output: number): boolean => !node.isTraced || ends.some((e) => isAt(e, node, output));
    const gradients = outsideScopes(() =>
      (request.records === null ? noGrad : enableGrad)(() =>
        withTracer(run, () => {
          const traversal = new Traversal(null, {
            ends: leavesAt,
            takes: (node, output, grad) => {
              const leaves = leavesAt(node, output);
              if (leaves) add({ node, output }, grad);
              return leaves;
            },
            // Gradients of parts reach a node by no takes().
            visits: (node) => void (node.isFreeable && visited.add(node)),
            skips: (node, output) => this.#isResult(node, output),
            // Tensors inside the function are out of reach; a result retains its gradient by the node that represents it.
            keeps: () => false,
          });
          this.edges.filter((_, i) => request.wanted[i]).forEach((p, i) => traversal.from(p.node, p.output, placeholders.tensors[i]!));
          traversal.drain(true);
          for (const [leaf, grad] of traversal.leaves) add({ leaf }, grad);
          return found.map(({ boundary, sum }) => ({ boundary, gradient: sum.reduce((a, b) => a.add(b)) }));
        }),
      ),
    );
    if (run.varied.size > 0) {
      for (const e of run.varied) e.varies = true;
      forget(choice);
    }
    let traced = choice.ends.get(run.at);
    if (traced === undefined) {
      const path = pathTo(run.at);
      const histories = request.records === null ? [] : this.#historiesOf(path, gradients);
      traced = new TracedGradients({ path, placeholders, gradients, visited, histories });
      choice.ends.set(run.at, traced);
    }
    return { traced, values: run.values };
  }

  /** The history of the gradients: those first that lead to others. */
  #historiesOf(path: readonly Event[], gradients: TracedGradients["gradients"]): Backward[] {
    const edges: GradientEdge[] = [];
    for (const { gradient } of gradients) {
      const [node, output] = [gradient.ownNode, gradient.outputIndex];
      if (node?.isTraced === true && !edges.some((p) => isAt(p, node, output))) edges.push({ node, output });
    }
    const before = [...this.#earlier, ...this.edges];
    const groups = inGroups(edges);
    const whole = [...this.#path, ...path];
    return groups.map(
      (own, i) =>
        new Backward(`${this.#name} backward`, this.#device, own, [...before, ...groups.slice(0, i).flat()], whole, this.#recomputation),
    );
  }

  /** Says which history of larger sizes its programs may be made of. */
  useLarger(larger: Larger): void {
    if (larger.larger.hasCode || this.hasCode) return;
    this.#larger = larger;
  }

  /** How the gradients of a choice are served by a program of larger sizes; null: they are not. */
  #bucketedOf(request: GradientRequest, traced: TracedGradients): TracedGradients["bucketed"] & (object | null) {
    const found = this.#larger;
    if (found === null || request.records !== null) return null;
    const { larger, base, forward, known } = found;
    const [whole, shown] = [larger, base].map((b) => b.#tracedOf(request, []).traced) as [TracedGradients, TracedGradients];
    const initialPairs = (small: Backward, of: TracedGradients, match: TraceMatch): InitialPair[] | null => {
      const list: InitialPair[] = [];
      for (const [i, t] of whole.placeholders.tensors.entries()) {
        const own = of.placeholders.tensors[i]!;
        const shapes = { large: t!.shape, small: own.shape };
        list.push({ large: t!.storage, pair: { small: own.storage, shapes, element: DTYPES[own.dtype].sizeInBytes } });
      }
      if (small.saved.length !== larger.saved.length) return null;
      for (const [i, t] of larger.saved.entries()) {
        const pair = match.storages.get(t.storage);
        if ((pair?.small ?? t.storage) !== small.saved[i]!.storage) return null;
        if (pair !== undefined) list.push({ large: t.storage, pair });
      }
      return list;
    };
    const refuse = (what: string): null => {
      found.refuse(`${what} in its gradients, which depends on a size by more than its shape`);
      return null;
    };
    const own = initialPairs(this, traced, forward);
    if (own === null) return refuse("what is saved");
    if (whole.variant === null) {
      const others = initialPairs(base, shown, known);
      const source = whole.source(larger.#forward);
      const match = others === null ? "what it saves" : matchTraces(source.path, shown.source(base.#forward).path, others);
      if (typeof match === "string") return refuse(match);
      whole.variant = new Variant(source, match, this.#device);
    }
    const mapping = whole.variant.match(traced.source(this.#forward), own);
    if (typeof mapping !== "string") return { variant: whole.variant, mapping };
    return refuse(mapping);
  }

  /** By a program of larger sizes; null where there is none. */
  #callLarger(traced: TracedGradients, all: readonly Tensor[], values: Values): Storage[] | null {
    const { bucketed } = traced;
    if (!bucketed) return null;
    const name = `${this.#name} backward`;
    const program = bucketed.variant.program(nativeDevice(this.#device, this.#name), {
      name,
      lists: undefined,
      regions: undefined,
      fuse: undefined,
    });
    if (program !== null) return program.call(all, bucketed.variant.values(bucketed.mapping, values), bucketed.mapping);
    traced.bucketed = null;
    this.#larger!.refuse(bucketed.variant.refusal!);
    return null;
  }
}

const keyOf = ({ wanted, stops, records }: GradientRequest): string =>
  `${wanted.map(Number).join("")}|${stops.join()}|${records?.map(Number).join("") ?? ""}`;

/** Another log for a choice: what its programs held as numbers varies. */
function forget(choice: Choice): void {
  for (const traced of choice.ends.values()) traced.dispose();
  choice.ends.clear();
}
