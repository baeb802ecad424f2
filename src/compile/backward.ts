/**
 * The history of a compiled function's results: a node of the tape, whose gradients are a compiled program as well. What it needs of
 * the forward pass are further outputs of that; arguments and state are looked up where they lie, and must be unchanged then. Results
 * that others are made of have a node of their own, at which a pass stops where somebody looks at their gradient.
 */
import { enableGrad, isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { Traversal } from "../autograd/backward.ts";
import { TapeNode, changedNodes, type Edge, type Freed, type Gradients, type Parts } from "../autograd/tape.ts";
import type { TensorSpec } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { nativeDevice, type NativeDevice } from "../runtime/devices.ts";
import { runEager } from "../runtime/eager.ts";
import { outsideScopes } from "../core/scope.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { withTracer } from "../core/tracer.ts";
import { Placeholders } from "./arguments.ts";
import { History } from "./history.ts";
import { interpret, isMissing } from "./interpret.ts";
import { Step, allEvents, madeOf, pathTo, renew, restore, type Event } from "./log.ts";
import type { Operand } from "./operand.ts";
import { Lowering } from "./path-graph.ts";
import { CompiledProgram, type Values } from "./program.ts";
import { Run, type Recorded } from "./trace.ts";
import { matchTraces, type InitialPair, type TraceMatch } from "./trace-matching.ts";
import { Variant, type BucketMapping, type Source } from "./variant.ts";

/** An output of a node. */
export interface GradientEdge {
  readonly node: TapeNode;
  readonly output: number;
}

/** An end of the traced tape, where gradients leave it: a leaf, a node outside, or another result of the function. */
export type Boundary = { readonly leaf: Tensor } | GradientEdge;

const isAt = (a: GradientEdge, node: TapeNode, output: number): boolean => a.node === node && a.output === output;
const isEqual = (a: Boundary, b: Boundary): boolean =>
  "leaf" in a ? "leaf" in b && a.leaf === b.leaf : !("leaf" in b) && isAt(a, b.node, b.output);

/** The gradients of one choice of results, traced. */
interface Traced {
  readonly path: readonly Event[];
  readonly placeholders: Placeholders;
  readonly gradients: readonly { readonly boundary: Boundary; readonly gradient: Tensor }[];
  /** Nodes of the forward pass that are freed. */
  readonly visited: ReadonlySet<TapeNode>;
  /** The gradients' own history, where it is recorded. */
  readonly histories: readonly Backward[];
  program: CompiledProgram | null;
  /** There can be no program. */
  isMissing: boolean;
  /** One that serves other sizes too. */
  variant: Variant | null;
  /** How it is served by one of larger sizes; undefined: not known yet. */
  bucketed: { readonly variant: Variant; readonly mapping: BucketMapping } | null | undefined;
}

/** The same history of a run with larger sizes, and of the one that showed which axes are padded; and how the forward passes are paired. */
export interface Larger {
  readonly larger: Backward;
  readonly base: Backward;
  /** Of this forward pass, and of the base's. */
  readonly forward: TraceMatch;
  readonly known: TraceMatch;
  /** Told why each size has a program of its own. */
  readonly refuse: (reason: string) => void;
}

/** The node that stands for a call's own, and what passes have freed of those. */
export interface CallNode {
  readonly node: TapeNode;
  readonly freed: Freed;
}

/** What a pass wants: which results have gradients, at which boundaries it stops, and whose own history is recorded (null: nobody's). */
interface GradientRequest {
  readonly wanted: readonly boolean[];
  readonly stops: readonly number[];
  readonly records: readonly boolean[] | null;
}

/** Nodes freed of the gradients' own history, beside those of what the gradients are of. */
class FreedBeside implements Freed {
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
  readonly ends: Map<Step, Traced>;
}

/** What a call leaves for its backward passes: hooks and rules of the user's inside the function, as they are at its end. */
export type Behaviour = readonly (() => void)[];

/** Nodes and leaves that lead to a place, with what `leave` makes of edges: false stops there. */
function search(from: GradientEdge, leave: (edge: NonNullable<Edge>) => boolean): Set<TapeNode> {
  const seen = new Set([from.node]);
  for (const node of seen) for (const edge of node.edges) if (edge !== null && leave(edge) && "node" in edge) seen.add(edge.node);
  return seen;
}

/** Places where results of a function begin, those first that lead to others: gradients of the later groups flow through the earlier ones. */
export function inGroups(edges: readonly GradientEdge[]): GradientEdge[][] {
  if (edges.length === 1) return [[...edges]];
  const before = edges.map((p) => {
    const found = new Set<number>();
    search(p, (edge) => {
      if ("node" in edge) edges.forEach((q, i) => isAt(q, edge.node, edge.output) && found.add(i));
      return true;
    });
    return found;
  });
  const ranks: number[] = [];
  const rank = (i: number): number => (ranks[i] ??= Math.max(-1, ...[...before[i]!].map(rank)) + 1);
  const groups: GradientEdge[][] = [];
  edges.forEach((p, i) => (groups[rank(i)] ??= []).push(p));
  return groups;
}

export class Backward {
  /** Traced tensors of the forward pass that the gradients read: outputs of it, or arguments; and tensors outside. */
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
  /** Numbers and constants of the forward pass: made again instead of saved. */
  readonly #cheap: readonly Event[];
  /** Nodes of the function's own tape that passes walk. */
  readonly #nodes: ReadonlySet<TapeNode>;
  readonly #choices = new Map<string, Choice>();
  /** What the pass that is going on has traced, for its second half. */
  #current: {
    readonly request: GradientRequest;
    readonly traced: Traced;
    readonly values: Run["values"];
    readonly behaviour: Behaviour;
  } | null = null;
  #larger: Larger | null = null;

  constructor(name: string, device: Device, edges: readonly GradientEdge[], earlier: readonly GradientEdge[], path: readonly Event[]) {
    this.#name = name;
    this.#device = device;
    this.#path = path;
    this.#earlier = earlier;
    this.edges = edges;
    this.specs = edges.map((p) => p.node.outputs[p.output]!);
    const custom = new Set<TapeNode>();
    for (const e of allEvents(path)) if (e.kind === "custom") custom.add(e.node);
    const found: Boundary[] = [];
    const add = (b: Boundary): void => void (found.some((f) => isEqual(f, b)) || found.push(b));
    const nodes = new Set<TapeNode>();
    for (const p of edges) {
      const seen = search(p, (edge) => {
        if ("leaf" in edge || !edge.node.isTraced || earlier.some((q) => isAt(q, edge.node, edge.output))) add(edge);
        return "node" in edge && edge.node.isTraced;
      });
      for (const node of seen) nodes.add(node);
    }
    this.#nodes = nodes;
    this.hasCode = [...nodes].some((node) => custom.has(node) || this.#isHooked(node));
    let error: unknown = null;
    let traced: Traced | null = null;
    if (!this.hasCode)
      try {
        traced = this.#trace({ wanted: edges.map(() => true), stops: [], records: null }).traced;
      } catch (e) {
        error = e;
      }
    this.#error = error;
    const ends = traced?.gradients.map((g) => g.boundary) ?? (this.hasCode ? found : []);
    // Where there is an error too: whoever asks for the gradient of one of these is told.
    this.boundaries = [...ends, ...found.filter((b) => !ends.some((e) => isEqual(e, b)))];
    this.inner = this.boundaries.flatMap((b, i) => ("node" in b && b.node.isTraced ? [i] : []));
    const all = traced !== null ? [...readsOf(traced), ...keptBy(traced)] : this.hasCode ? everythingOf(path) : [];
    const reads = [...new Map(all.map((t) => [t.storage, t])).values()];
    const cheap = new Map<Storage, Event>();
    for (const e of allEvents(path)) if (e.kind === "create" || (e.kind === "scalar" && !e.varies)) cheap.set(e.output.tensor.storage, e);
    for (const e of allEvents(path)) if (e.kind === "assign") cheap.delete(e.target.storage);
    this.saved = reads.filter((t) => !cheap.has(t.storage));
    this.#cheap = reads.flatMap((t) => cheap.get(t.storage) ?? []);
  }

  /** Whether it serves a run that leaves hooks: one without code of the user's knows none. */
  get isEnough(): boolean {
    return this.hasCode || ![...changedNodes()].some((node) => this.#nodes.has(node) && this.#isHooked(node));
  }

  /** Whether there are no gradients of all of them. */
  get isRefused(): boolean {
    return this.#error !== null;
  }

  /** Which output of the node a place is, -1 for none. */
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
    const read = new Set([...readsOf(traced), ...traced.histories.flatMap((h) => h.saved)].map((t) => t.storage));
    return { saved: new Set(this.saved.flatMap((t, i) => (read.has(t.storage) ? [i] : []))), visited: traced.visited };
  }

  /**
   * The gradients of the boundaries, after partsOf(); given[i] is the real tensor of saved[i], null where this choice does not need it. Where
   * gradients of gradients will be asked for they have a history, a compiled program as well.
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
      const outputs = this.#callLarger(traced, all, values) ?? this.#call(traced, all, wanted.length, values);
      const storages = outputsOf(traced);
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
        const found = traced.gradients.find((g) => isEqual(g.boundary, b))?.gradient;
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
    traced: Traced,
    behaviour: Behaviour,
    { node, freed }: CallNode,
    dys: readonly Tensor[],
    saved: (t: Tensor) => Tensor | null,
  ): History {
    return new History({
      name: `${this.#name} backward`,
      device: this.#device,
      backwards: traced.histories,
      freed: new FreedBeside(freed, this.#nodes),
      behaviour,
      hooks: [],
      saved,
      end: (b) => {
        const dy = "leaf" in b ? -1 : traced.placeholders.boundary(b.node);
        if (dy >= 0) return dys[dy]!;
        const own = "leaf" in b ? -1 : this.outputAt(b.node, b.output);
        if (own >= 0) return { node, output: own };
        const edge = node.edges[this.boundaries.findIndex((e) => isEqual(e, b))];
        if (edge) return "leaf" in edge ? edge.leaf : edge;
        return "leaf" in b ? b.leaf : b;
      },
    });
  }

  #tracedOf(request: GradientRequest, behaviour: Behaviour): { traced: Traced; values: Run["values"]; behaviour: Behaviour } {
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

  /** Whether hooks of the node are the walk's: those of results lie on the node that stands for them. */
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
      const recorded = { name: this.#name, outer: new WeakSet<Storage>(), views: new WeakSet<Tensor>() };
      choice = { placeholders, templates, recorded, start: new Step(null, null), ends: new Map() };
      this.#choices.set(key, choice);
    }
    return choice;
  }

  /** Walks the function's own tape, which is set up, for the gradients of some results. */
  #trace(request: GradientRequest): { traced: Traced; values: Run["values"] } {
    const choice = this.#choice(request);
    const { placeholders, templates } = choice;
    placeholders.begin(templates);
    const run = new Run(choice.recorded, choice.start, placeholders, templates);
    const visited = new Set<TapeNode>();
    const found: { boundary: Boundary; readonly sum: Tensor[] }[] = [];
    const add = (boundary: Boundary, grad: Tensor): void => {
      const before = found.find((f) => isEqual(f.boundary, boundary));
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
            // Nobody sees what lies between; what is handed out keeps its gradient by the node that stands for it.
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
      choice.ends.set(
        run.at,
        (traced = {
          path,
          placeholders,
          gradients,
          visited,
          histories,
          program: null,
          isMissing: false,
          variant: null,
          bucketed: undefined,
        }),
      );
    }
    return { traced, values: run.values };
  }

  /** The history of the gradients: those first that lead to others. */
  #historiesOf(path: readonly Event[], gradients: Traced["gradients"]): Backward[] {
    const edges: GradientEdge[] = [];
    for (const { gradient } of gradients) {
      const [node, output] = [gradient.ownNode, gradient.outputIndex];
      if (node?.isTraced === true && !edges.some((p) => isAt(p, node, output))) edges.push({ node, output });
    }
    const before = [...this.#earlier, ...this.edges];
    const groups = inGroups(edges);
    const whole = [...this.#path, ...path];
    return groups.map(
      (own, i) => new Backward(`${this.#name} backward`, this.#device, own, [...before, ...groups.slice(0, i).flat()], whole),
    );
  }

  /** Says which history of larger sizes its programs may be made of. */
  useLarger(larger: Larger): void {
    if (larger.larger.hasCode || this.hasCode) return;
    this.#larger = larger;
  }

  #sourceOf(traced: Traced): Source {
    const dys = traced.placeholders.tensors.map((t) => t!.storage);
    return {
      path: [...this.#cheap, ...traced.path],
      begins: [...dys, ...this.saved.map((t) => (t.storage.trace === null ? null : t.storage))],
      outputs: outputsOf(traced),
    };
  }

  /** How the gradients of a choice are served by a program of larger sizes; null: they are not. */
  #bucketedOf(request: GradientRequest, traced: Traced): Traced["bucketed"] & (object | null) {
    const found = this.#larger;
    if (found === null || request.records !== null) return null;
    const { larger, base, forward, known } = found;
    const [whole, shown] = [larger, base].map((b) => b.#tracedOf(request, []).traced) as [Traced, Traced];
    const initialPairs = (small: Backward, of: Traced, match: TraceMatch): InitialPair[] | null => {
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
      found.refuse(`${what} in its gradients, which depends on a size otherwise than by its shape`);
      return null;
    };
    const own = initialPairs(this, traced, forward);
    if (own === null) return refuse("what is saved");
    if (whole.variant === null) {
      const others = initialPairs(base, shown, known);
      const source = larger.#sourceOf(whole);
      const match = others === null ? "what it saves" : matchTraces(source.path, base.#sourceOf(shown).path, others);
      if (typeof match === "string") return refuse(match);
      whole.variant = new Variant(source, match, this.#device);
    }
    const mapping = whole.variant.match(this.#sourceOf(traced), own);
    if (typeof mapping !== "string") return { variant: whole.variant, mapping };
    return refuse(mapping);
  }

  /** By a program of larger sizes; null where there is none. */
  #callLarger(traced: Traced, all: readonly Tensor[], values: Values): Storage[] | null {
    const { bucketed } = traced;
    if (!bucketed) return null;
    const name = `${this.#name} backward`;
    const program = bucketed.variant.program(nativeDevice(this.#device, this.#name), { name, lists: undefined, regions: undefined });
    if (program !== null) return program.call(all, bucketed.variant.values(bucketed.mapping, values), bucketed.mapping);
    traced.bucketed = null;
    this.#larger!.refuse(bucketed.variant.refusal!);
    return null;
  }

  /** By a program; operation by operation where there can be none. all: gradients of results, `count` of them, and what was saved. */
  #call(traced: Traced, all: readonly Tensor[], count: number, values: Values): Storage[] {
    const native = nativeDevice(this.#device, this.#name);
    if (!traced.isMissing)
      try {
        traced.program ??= this.#compile(native, traced, count);
        return traced.program.call(all, values);
      } catch (error) {
        if (!isMissing(error)) throw error;
        traced.isMissing = true;
      }
    const saved = this.#savedAt(count);
    const argument = (storage: Storage): Tensor | null => all[traced.placeholders.indices.get(storage) ?? saved.get(storage) ?? -1] ?? null;
    return interpret(native, `${this.#name} backward`, [...this.#cheap, ...traced.path], values, argument, outputsOf(traced));
  }

  /** Which of what a program is given lies in a traced storage that was saved. */
  #savedAt(count: number): Map<Storage, number> {
    const saved = new Map<Storage, number>();
    this.saved.forEach((t, i) => {
      if (t.storage.trace !== null) saved.set(t.storage, count + i);
    });
    return saved;
  }

  #compile(native: NativeDevice, traced: Traced, count: number): CompiledProgram {
    const saved = this.#savedAt(count);
    const lowering = new Lowering(
      native,
      `${this.#name} backward`,
      (storage) => traced.placeholders.indices.get(storage) ?? saved.get(storage) ?? -1,
    );
    lowering.add(this.#cheap);
    lowering.add(traced.path);
    const outputs = outputsOf(traced);
    const written = lowering.finish(outputs);
    const contents = outputs.map((s) => s.contentInBytes);
    return new CompiledProgram(native, { graph: lowering.graph, inputs: lowering.inputs, contents, written }, `${this.#name} backward`);
  }
}

/** Storages that the gradients' own operations made, as far as a gradient lies in them, or their own history reads them. */
function outputsOf({ path, gradients, histories }: Traced): Storage[] {
  const own = madeBy(path);
  const read = [...gradients.map((g) => g.gradient), ...histories.flatMap((h) => h.saved)];
  return [...new Set(read.map((t) => t.storage))].filter((s) => own.has(s) && s.sizeInBytes > 0);
}

/** What else the nodes have saved: rules may read more of it where the gradients' own history is recorded. */
function keptBy({ visited, path, placeholders }: Traced): Tensor[] {
  const own = madeBy(path);
  return [...visited]
    .flatMap((node) => node.kept)
    .filter((t) => !own.has(t.storage) && !placeholders.indices.has(t.storage) && t.storage.sizeInBytes > 0);
}

function madeBy(path: readonly Event[]): Set<Storage> {
  const made = new Set<Storage>();
  for (const e of allEvents(path)) {
    if (e.kind === "operation") for (const m of e.outputs) made.add(m.tensor.storage);
    else if (e.kind === "create" || e.kind === "scalar" || e.kind === "constant") made.add(e.output.tensor.storage);
  }
  return made;
}

/** Everything that a function made or read: hooks and rules of the user's may refer to any of it. */
function everythingOf(path: readonly Event[]): Tensor[] {
  const found = new Map<Storage, Tensor>();
  const add = (t: Tensor, storage: Storage): void => {
    if (storage.sizeInBytes > 0 && !found.has(storage)) found.set(storage, t);
  };
  for (const e of allEvents(path)) {
    if (e.kind === "operation") for (const o of e.inputs) add(o.tensor, o.storage);
    if (e.kind === "assign") for (const o of [e.target, e.source]) add(o.tensor, o.storage);
    for (const m of madeOf(e)) if (m.ownsStorage) add(m.tensor, m.tensor.storage);
  }
  return [...found.values()];
}

const keyOf = ({ wanted, stops, records }: GradientRequest): string =>
  `${wanted.map(Number).join("")}|${stops.join()}|${records?.map(Number).join("") ?? ""}`;

/** Another log for a choice: what its programs held as numbers varies. */
function forget(choice: Choice): void {
  for (const t of choice.ends.values()) {
    t.program?.dispose();
    t.variant?.drop();
    for (const h of t.histories) h.dispose();
  }
  choice.ends.clear();
}

/** What the operations read that is neither theirs nor a result's gradient. */
function readsOf({ path, placeholders, gradients }: Traced): Tensor[] {
  const own = madeBy(path);
  const reads = new Map<Storage, Tensor>();
  const read = (t: Tensor, storage: Storage): void => {
    if (!own.has(storage) && !placeholders.indices.has(storage) && storage.sizeInBytes > 0 && !reads.has(storage)) reads.set(storage, t);
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
