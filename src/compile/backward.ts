/**
 * The history of a compiled function's results: a node of the tape, whose gradients are a compiled program as well. What it needs of
 * the forward pass are further outputs of that; arguments and state are looked up where they lie, and must be unchanged then. Results
 * that others are made of have a node of their own, at which a pass stops where somebody looks at their gradient.
 */
import { enableGrad, isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { Walk } from "../autograd/backward.ts";
import { TapeNode, changedNodes, type Edge, type Freed, type Gradients, type Parts } from "../autograd/tape.ts";
import type { TensorSpec } from "../definition.ts";
import type { Device } from "../device.ts";
import { DTYPES } from "../dtype.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { nativeDevice, type NativeDevice } from "../runtime/devices.ts";
import { runEager } from "../runtime/eager.ts";
import { outsideScopes } from "../scope.ts";
import { Storage, internDesc } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { withTracer } from "../tracer.ts";
import { Ghosts } from "./arguments.ts";
import { History } from "./history.ts";
import { interpret, isMissing } from "./interpret.ts";
import { Step, allEvents, madeOf, pathTo, renew, restore, type Event } from "./log.ts";
import type { Operand } from "./operand.ts";
import { Lowering } from "./lower.ts";
import { CompiledProgram, type Values } from "./program.ts";
import { Run, type Recorded } from "./trace.ts";
import { pairPaths, type Beginning, type Pairing } from "./pairing.ts";
import { Variant, type Fit, type Source } from "./variant.ts";

/** An output of a node. */
export interface Place {
  readonly node: TapeNode;
  readonly output: number;
}

/** An end of the traced tape, where gradients leave it: a leaf, a node outside, or another result of the function. */
export type Boundary = { readonly leaf: Tensor } | Place;

const isAt = (a: Place, node: TapeNode, output: number): boolean => a.node === node && a.output === output;
const isEqual = (a: Boundary, b: Boundary): boolean =>
  "leaf" in a ? "leaf" in b && a.leaf === b.leaf : !("leaf" in b) && isAt(a, b.node, b.output);

/** The gradients of one choice of results, traced. */
interface Traced {
  readonly path: readonly Event[];
  readonly ghosts: Ghosts;
  readonly gradients: readonly { readonly boundary: Boundary; readonly gradient: Tensor }[];
  /** Nodes of the forward pass that are freed. */
  readonly walked: ReadonlySet<TapeNode>;
  /** The gradients' own history, where it is recorded. */
  readonly histories: readonly Backward[];
  program: CompiledProgram | null;
  /** There can be no program. */
  isMissing: boolean;
  /** One that serves other sizes too. */
  variant: Variant | null;
  /** How it is served by one of larger sizes; undefined: not known yet. */
  fitted: { readonly variant: Variant; readonly fit: Fit } | null | undefined;
}

/** The same history of a run with larger sizes, and of the one that showed which axes are padded; and how the forward passes are paired. */
export interface Larger {
  readonly larger: Backward;
  readonly base: Backward;
  /** Of this forward pass, and of the base's. */
  readonly forward: Pairing;
  readonly known: Pairing;
  /** Told why each size has a program of its own. */
  readonly refuse: (reason: string) => void;
}

/** The node that stands for a call's own, and what passes have freed of those. */
export interface Standing {
  readonly node: TapeNode;
  readonly freed: Freed;
}

/** What a pass wants: which results have gradients, at which boundaries it stops, and whose own history is recorded (null: nobody's). */
interface Wish {
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
  readonly ghosts: Ghosts;
  readonly templates: readonly Tensor[];
  readonly recorded: Recorded;
  readonly start: Step;
  readonly ends: Map<Step, Traced>;
}

/** What a call leaves for its backward passes: hooks and rules of the user's inside the function, as they are at its end. */
export type Behaviour = readonly (() => void)[];

/** Nodes and leaves that lead to a place, with what `leave` makes of edges: false stops there. */
function search(from: Place, leave: (edge: NonNullable<Edge>) => boolean): Set<TapeNode> {
  const seen = new Set([from.node]);
  for (const node of seen) for (const edge of node.edges) if (edge !== null && leave(edge) && "node" in edge) seen.add(edge.node);
  return seen;
}

/** Places where results of a function begin, those first that lead to others: gradients of the later groups flow through the earlier ones. */
export function inGroups(places: readonly Place[]): Place[][] {
  if (places.length === 1) return [[...places]];
  const before = places.map((p) => {
    const found = new Set<number>();
    search(p, (edge) => {
      if ("node" in edge) places.forEach((q, i) => isAt(q, edge.node, edge.output) && found.add(i));
      return true;
    });
    return found;
  });
  const ranks: number[] = [];
  const rank = (i: number): number => (ranks[i] ??= Math.max(-1, ...[...before[i]!].map(rank)) + 1);
  const groups: Place[][] = [];
  places.forEach((p, i) => (groups[rank(i)] ??= []).push(p));
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
  readonly places: readonly Place[];
  /** Code of the user's runs in its passes. */
  readonly hasCode: boolean;
  readonly #name: string;
  readonly #device: Device;
  /** Results that lead to these. */
  readonly #earlier: readonly Place[];
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
  #current: { readonly wish: Wish; readonly traced: Traced; readonly values: Run["values"]; readonly behaviour: Behaviour } | null = null;
  #larger: Larger | null = null;

  constructor(name: string, device: Device, places: readonly Place[], earlier: readonly Place[], path: readonly Event[]) {
    this.#name = name;
    this.#device = device;
    this.#path = path;
    this.#earlier = earlier;
    this.places = places;
    this.specs = places.map((p) => p.node.outputs[p.output]!);
    const custom = new Set<TapeNode>();
    for (const e of allEvents(path)) if (e.kind === "custom") custom.add(e.node);
    const found: Boundary[] = [];
    const add = (b: Boundary): void => void (found.some((f) => isEqual(f, b)) || found.push(b));
    const nodes = new Set<TapeNode>();
    for (const p of places) {
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
        traced = this.#trace({ wanted: places.map(() => true), stops: [], records: null }).traced;
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
    return this.places.findIndex((p) => isAt(p, node, output));
  }

  /** What the gradients of a choice of results need, when the pass stops at some of the boundaries. */
  partsOf(dys: Gradients, stops: readonly number[], behaviour: Behaviour): Parts {
    if (this.#error !== null) return { saved: new Set(), walked: new Set() };
    const records = isGradEnabled() ? dys.flatMap((d) => (d === null ? [] : [d.requiresGrad])) : null;
    const wish = { wanted: dys.map((d) => d !== null), stops, records };
    this.#current = { wish, ...this.#tracedOf(wish, behaviour) };
    const { traced } = this.#current;
    const read = new Set([...readsOf(traced), ...traced.histories.flatMap((h) => h.saved)].map((t) => t.storage));
    return { saved: new Set(this.saved.flatMap((t, i) => (read.has(t.storage) ? [i] : []))), walked: traced.walked };
  }

  /**
   * The gradients of the boundaries, after partsOf(); given[i] is the real tensor of saved[i], null where this choice does not need it. Where
   * gradients of gradients will be asked for they have a history, a compiled program as well.
   */
  run(dys: Gradients, given: Gradients, standing: Standing): (Tensor | null)[] {
    if (this.#error !== null) throw this.#error;
    const { wish, traced, values, behaviour } = this.#current!;
    this.#current = null;
    return outsideScopes(() => {
      const flowing = dys.filter((d) => d !== null);
      const wanted = flowing.map((d) => (d.desc.isPacked ? d : runEager(contiguousOp, [d], undefined)[0]!));
      const all = [...wanted, ...given] as Tensor[];
      if (traced.fitted === undefined) traced.fitted = this.#fit(wish, traced);
      const outputs = this.#callLarger(traced, all, values) ?? this.#call(traced, all, wanted.length, values);
      const storages = outputsOf(traced);
      const lying = (storage: Storage): Tensor | null => {
        const dy = traced.ghosts.indices.get(storage);
        return dy === undefined ? (given[this.saved.findIndex((s) => s.storage === storage)] ?? null) : wanted[dy]!;
      };
      const history =
        traced.histories.length === 0
          ? null
          : this.#historyOf(traced, behaviour, standing, flowing, (t) => {
              const at = storages.indexOf(t.storage);
              if (at >= 0) return new Tensor(outputs[at]!, t.desc, 0);
              const there = lying(t.storage) ?? (t.storage.trace === null ? t : null);
              return there === null ? null : new Tensor(there.storage, there.desc, there.offset);
            });
      const results = this.boundaries.map((b) => {
        const found = traced.gradients.find((g) => isEqual(g.boundary, b))?.gradient;
        if (found === undefined) return null;
        const dy = traced.ghosts.tensors.indexOf(found);
        if (isGradEnabled() && dy >= 0) return flowing[dy]!;
        const at = storages.indexOf(found.storage);
        // The gradient is one of the results' gradients as it came, or of what was saved.
        const t = at >= 0 ? null : lying(found.storage);
        // Of what is empty nothing was computed.
        const storage = t?.storage ?? outputs[at] ?? new Storage(found.device, found.storage.contentInBytes);
        const result = new Tensor(storage, found.desc, (t?.offset ?? 0) + found.offset);
        const place = history?.placeOf(found.ownNode, found.outputIndex) ?? null;
        if (place !== null) {
          result.node = place.node;
          result.outputIndex = place.output;
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
    { node, freed }: Standing,
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
        const dy = "leaf" in b ? -1 : traced.ghosts.boundary(b.node);
        if (dy >= 0) return dys[dy]!;
        const own = "leaf" in b ? -1 : this.outputAt(b.node, b.output);
        if (own >= 0) return { node, output: own };
        const edge = node.edges[this.boundaries.findIndex((e) => isEqual(e, b))];
        if (edge) return "leaf" in edge ? edge.leaf : edge;
        return "leaf" in b ? b.leaf : b;
      },
    });
  }

  #tracedOf(wish: Wish, behaviour: Behaviour): { traced: Traced; values: Run["values"]; behaviour: Behaviour } {
    if (!this.hasCode) {
      const end = this.#choices.get(keyOf(wish))?.ends.values().next().value;
      if (end !== undefined) return { traced: end, values: new Map(), behaviour };
    }
    const takeBack = restore(this.#path, this.hasCode);
    for (const again of behaviour) again();
    try {
      const found = this.#trace(wish);
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
    return [...this.places, ...this.#earlier].some((p) => isAt(p, node, output));
  }

  #choice(wish: Wish): Choice {
    const key = keyOf(wish);
    let choice = this.#choices.get(key);
    if (choice === undefined) {
      const templates = this.specs
        .filter((_, i) => wish.wanted[i])
        .map((spec, i) => {
          const t = new Tensor(new Storage(this.#device, 0), internDesc(this.#device, spec.dtype, spec.shape));
          if (wish.records?.[i] === true) t.node = new TapeNode("gradient", [], [t.desc], [], () => []);
          return t;
        });
      const ghosts = new Ghosts(
        { tensors: templates, gradients: templates.map(() => -1), direct: templates.map(() => false) },
        { name: this.#name },
      );
      const recorded = { name: this.#name, outer: new WeakSet<Storage>(), views: new WeakSet<Tensor>() };
      choice = { ghosts, templates, recorded, start: new Step(null, null), ends: new Map() };
      this.#choices.set(key, choice);
    }
    return choice;
  }

  /** Walks the function's own tape, which is set up, for the gradients of some results. */
  #trace(wish: Wish): { traced: Traced; values: Run["values"] } {
    const choice = this.#choice(wish);
    const { ghosts, templates } = choice;
    ghosts.begin(templates);
    const run = new Run(choice.recorded, choice.start, ghosts, templates);
    const walked = new Set<TapeNode>();
    const found: { boundary: Boundary; readonly sum: Tensor[] }[] = [];
    const add = (boundary: Boundary, grad: Tensor): void => {
      const before = found.find((f) => isEqual(f.boundary, boundary));
      if (before === undefined) found.push({ boundary, sum: [grad] });
      else before.sum.push(grad);
    };
    const ends = wish.stops.map((i) => this.boundaries[i] as Place);
    const leavesAt = (node: TapeNode, output: number): boolean => !node.isTraced || ends.some((e) => isAt(e, node, output));
    const gradients = outsideScopes(() =>
      (wish.records === null ? noGrad : enableGrad)(() =>
        withTracer(run, () => {
          const walk = new Walk(null, {
            ends: leavesAt,
            takes: (node, output, grad) => {
              const leaves = leavesAt(node, output);
              if (leaves) add({ node, output }, grad);
              return leaves;
            },
            // Gradients of parts reach a node by no takes().
            visits: (node) => void (node.isFreeable && walked.add(node)),
            skips: (node, output) => this.#isResult(node, output),
            // Nobody sees what lies between; what is handed out keeps its gradient by the node that stands for it.
            keeps: () => false,
          });
          this.places.filter((_, i) => wish.wanted[i]).forEach((p, i) => walk.from(p.node, p.output, ghosts.tensors[i]!));
          walk.drain(true);
          for (const [leaf, grad] of walk.leaves) add({ leaf }, grad);
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
      const histories = wish.records === null ? [] : this.#historiesOf(path, gradients);
      choice.ends.set(
        run.at,
        (traced = { path, ghosts, gradients, walked, histories, program: null, isMissing: false, variant: null, fitted: undefined }),
      );
    }
    return { traced, values: run.values };
  }

  /** The history of the gradients: those first that lead to others. */
  #historiesOf(path: readonly Event[], gradients: Traced["gradients"]): Backward[] {
    const places: Place[] = [];
    for (const { gradient } of gradients) {
      const [node, output] = [gradient.ownNode, gradient.outputIndex];
      if (node?.isTraced === true && !places.some((p) => isAt(p, node, output))) places.push({ node, output });
    }
    const before = [...this.#earlier, ...this.places];
    const groups = inGroups(places);
    const whole = [...this.#path, ...path];
    return groups.map(
      (own, i) => new Backward(`${this.#name} backward`, this.#device, own, [...before, ...groups.slice(0, i).flat()], whole),
    );
  }

  /** Says which history of larger sizes its programs may be made of. */
  fitTo(larger: Larger): void {
    if (larger.larger.hasCode || this.hasCode) return;
    this.#larger = larger;
  }

  #sourceOf(traced: Traced): Source {
    const dys = traced.ghosts.tensors.map((t) => t!.storage);
    return {
      path: [...this.#cheap, ...traced.path],
      begins: [...dys, ...this.saved.map((t) => (t.storage.trace === null ? null : t.storage))],
      outputs: outputsOf(traced),
    };
  }

  /** How the gradients of a choice are served by a program of larger sizes; null: they are not. */
  #fit(wish: Wish, traced: Traced): Traced["fitted"] & (object | null) {
    const found = this.#larger;
    if (found === null || wish.records !== null) return null;
    const { larger, base, forward, known } = found;
    const [whole, shown] = [larger, base].map((b) => b.#tracedOf(wish, []).traced) as [Traced, Traced];
    const beginnings = (small: Backward, of: Traced, pairing: Pairing): Beginning[] | null => {
      const list: Beginning[] = [];
      for (const [i, t] of whole.ghosts.tensors.entries()) {
        const own = of.ghosts.tensors[i]!;
        const shapes = { large: t!.shape, small: own.shape };
        list.push({ large: t!.storage, pair: { small: own.storage, shapes, element: DTYPES[own.dtype].sizeInBytes } });
      }
      if (small.saved.length !== larger.saved.length) return null;
      for (const [i, t] of larger.saved.entries()) {
        const pair = pairing.storages.get(t.storage);
        if ((pair?.small ?? t.storage) !== small.saved[i]!.storage) return null;
        if (pair !== undefined) list.push({ large: t.storage, pair });
      }
      return list;
    };
    const unfit = (what: string): null => {
      found.refuse(`${what} in its gradients, which depends on a size otherwise than by its shape`);
      return null;
    };
    const own = beginnings(this, traced, forward);
    if (own === null) return unfit("what is saved");
    if (whole.variant === null) {
      const others = beginnings(base, shown, known);
      const source = larger.#sourceOf(whole);
      const pairing = others === null ? "what it saves" : pairPaths(source.path, base.#sourceOf(shown).path, others);
      if (typeof pairing === "string") return unfit(pairing);
      whole.variant = new Variant(source, pairing, this.#device);
    }
    const fit = whole.variant.fit(this.#sourceOf(traced), own);
    if (typeof fit !== "string") return { variant: whole.variant, fit };
    return unfit(fit);
  }

  /** By a program of larger sizes; null where there is none. */
  #callLarger(traced: Traced, all: readonly Tensor[], values: Values): Storage[] | null {
    const { fitted } = traced;
    if (!fitted) return null;
    const name = `${this.#name} backward`;
    const program = fitted.variant.program(nativeDevice(this.#device, this.#name), { name, lists: undefined, regions: undefined });
    if (program !== null) return program.call(all, fitted.variant.values(fitted.fit, values), fitted.fit);
    traced.fitted = null;
    this.#larger!.refuse(fitted.variant.refusal!);
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
    const argument = (storage: Storage): Tensor | null => all[traced.ghosts.indices.get(storage) ?? saved.get(storage) ?? -1] ?? null;
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
      (storage) => traced.ghosts.indices.get(storage) ?? saved.get(storage) ?? -1,
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
function keptBy({ walked, path, ghosts }: Traced): Tensor[] {
  const own = madeBy(path);
  return [...walked]
    .flatMap((node) => node.kept)
    .filter((t) => !own.has(t.storage) && !ghosts.indices.has(t.storage) && t.storage.sizeInBytes > 0);
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

const keyOf = ({ wanted, stops, records }: Wish): string =>
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
