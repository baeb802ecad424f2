/** The exit of a trace: the function's results, its changes outside, and the program that computes both. */
import { changedNodes, type Hook, type TapeNode } from "../autograd/tape.ts";
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { modes } from "../core/journal.ts";
import { Tensor } from "../core/tensor.ts";
import type { Storage } from "../core/storage.ts";
import { tensorsIn, type Placeholders } from "./arguments.ts";
import { Backward, type Behaviour } from "./backward.ts";
import { inGroups, type GradientEdge } from "./gradient-edges.ts";
import { repeat, type HostEvent } from "./host-state.ts";
import { allEvents, madeOf, pathTo, type Event, type GradientEffect, type Step } from "./log.ts";
import type { Outcome } from "./objects.ts";
import { collectBefore, CompiledProgram, NO_VALUES, type ProgramOptions, type Values } from "./program.ts";
import { makeExecutable, type Executable } from "./schedule.ts";
import type { Continuation, Move } from "./flows.ts";
import { isSame, isSameOrNull, operand, type Operand } from "./operand.ts";
import type { Run } from "./trace.ts";
import { layoutOf } from "./geometry.ts";
import type { InitialPair } from "./trace-matching.ts";
import type { BucketMapping, Source, Variant } from "./variant.ts";
import type { NativeDevice } from "../runtime/devices.ts";

/** A tensor outside (or an argument's placeholder) whose gradient or history a call changes. */
export interface Effect {
  readonly tensor: Tensor;
  /** undefined: stays. */
  readonly grad: Tensor | null | undefined;
  /** Whether the gradient of before is disposed of, as zeroGrad() does. */
  readonly drops: boolean;
  /** Where it is on the tape afterwards; undefined: as before. */
  readonly node: TapeNode | null | undefined;
  readonly outputIndex: number;
  /** A view whose node is of what its base is at the end of the call. */
  readonly isRenewed: boolean;
}

/** Programs for one kind of arguments that are kept. */
export const MAX_EXITS = 32;

/** Autograd's state at the end of a run: hooks and retained gradients of traced nodes. */
export interface ExitState {
  readonly behaviour: Behaviour;
  readonly hooks: readonly (GradientEdge & { readonly hooks: Hook[] })[];
  /** Tensors whose gradient is to be kept. */
  readonly retained: ReadonlySet<Tensor>;
}

const NO_EFFECTS: readonly Effect[] = [];

/** What the run leaves changed outside: gradients and histories. */
export function effectsOf(run: Run): readonly Effect[] {
  if (run.outside.isUnchanged) return NO_EFFECTS;
  const effects: Effect[] = [];
  run.outside.keepChanged();
  for (const [tensor, before] of run.outside.touched) {
    const grad = tensor.ownGrad === before.grad ? undefined : tensor.ownGrad;
    const node = tensor.ownNode === before.seen && tensor.outputIndex === before.outputIndex ? undefined : tensor.ownNode;
    if (grad !== undefined || node !== undefined)
      effects.push({
        tensor,
        grad,
        drops: run.outside.drops(tensor, before),
        node,
        outputIndex: tensor.outputIndex,
        isRenewed: tensor.viewOf?.version === tensor.storage.version,
      });
  }
  return effects;
}

const EMPTY_STATE: ExitState = { behaviour: [], hooks: [], retained: new Set() };

/** The tensors that a run gave. */
function tensorsOf({ result, changes }: Outcome): readonly Tensor[] {
  if (changes.length === 0) return result instanceof Tensor ? [result] : tensorsIn(result);
  return tensorsIn([result, changes.map((c) => c.values)]);
}

const isSameContinuation = (a: Continuation, b: Continuation): boolean =>
  a.grad === b.grad &&
  a.isKept === b.isKept &&
  ("leaf" in a ? "leaf" in b && a.leaf === b.leaf : "node" in b && a.node === b.node && a.output === b.output);

/** The node of a tensor; null where a view has none any more, since its base was written. backward() through it throws the error then. */
function nodeOrError(t: Tensor, errors?: Map<Tensor, unknown>): TapeNode | null {
  try {
    return t.node;
  } catch (error) {
    errors?.set(t, error);
    return null;
  }
}

/** Where a path's operations run: a call that followed one to its end named no device itself. */
function deviceOf(path: readonly Event[]): Device | null {
  for (const e of allEvents(path)) {
    const made = e.kind === "assign" ? e.target : madeOf(e)[0];
    if (made !== undefined) return made.tensor.device;
  }
  return null;
}

/** Views that a call returns whose base matters: others share their memory, or they must not be written to. */
function viewsAmong(handed: ReadonlySet<Tensor>, isTraced: (t: Tensor) => boolean, isMade: (t: Tensor) => boolean): Set<Tensor> {
  const sharing = new Map<Storage, number>();
  for (const t of handed) sharing.set(t.storage, (sharing.get(t.storage) ?? 0) + 1);
  const found = new Set<Tensor>();
  for (const t of handed) {
    const view = t.viewOf;
    if (view !== null && isTraced(t) && (view.origin !== "recorded" || sharing.get(t.storage)! > 1 || !isMade(view.base))) found.add(t);
  }
  return found;
}

export class TraceExit {
  /** Where the path ends; null: it is not kept. */
  #step: Step | null;
  readonly results: readonly Operand[];
  readonly effects: readonly Effect[];
  readonly continuations: readonly Continuation[];
  readonly moves: readonly Move[];
  /** What the function returned and changed, in terms of traced tensors: for calls that are not checked. */
  readonly outcome: Outcome;
  /** Traced storages whose last value the call hands out. */
  readonly outputs: readonly Storage[];
  readonly outputOf: ReadonlyMap<Storage, number>;
  /** Tensors outside whose gradient or history changes. */
  readonly outside: ReadonlySet<Tensor>;
  /** The history of what outlives the call: those first that lead to others. */
  readonly backwards: readonly Backward[];
  /** Views that outlive the call together with what they are views of, or that are not to be written to. */
  readonly views: ReadonlySet<Tensor>;
  /** Those of them whose base was written after they were made, or last used. */
  readonly stale: ReadonlySet<Tensor>;
  /** One tensor comes out, without a history, and nothing outside changes but bytes. */
  readonly isPlain: boolean;
  /** Whether passes through the history run code of the user's. */
  readonly hasCode: boolean;
  /** A program of larger sizes that serves it; null: it has its own; undefined: not known yet. */
  bucketed: { readonly variant: Variant; readonly mapping: BucketMapping } | null | undefined = undefined;
  /** What numbers and data were in the last run. */
  values: Run["values"] = new Map();
  /** What the last run took from the library's own state. */
  host: readonly HostEvent[] = [];
  /** modes.changes of then. */
  modes = 0;
  #program: Executable | null = null;
  readonly device: Device | null;
  #path: readonly Event[];
  readonly #placeholders: Placeholders;
  /** Gradients of leaves outside that the path begins with. */
  readonly #begins: readonly GradientEffect[];
  readonly #edges = new Map<Tensor, GradientEdge>();
  #state = EMPTY_STATE;
  readonly #historyErrors = new Map<Tensor, unknown>();
  readonly #isTraced: (t: Tensor) => boolean;

  constructor(run: Run, placeholders: Placeholders, outcome: Outcome, effects: readonly Effect[]) {
    this.#step = run.at;
    this.#isTraced = run.tracedTest;
    this.#placeholders = placeholders;
    this.outcome = outcome;
    this.effects = effects;
    this.continuations = [...run.continuations];
    this.moves = [...run.moves];
    this.#path = pathTo(run.at);
    this.device = run.device ?? deviceOf(this.#path);
    const seen = new Set<Tensor>(run.outside.replaced);
    this.#begins = this.#path
      .flatMap((event) => (event.kind === "region" ? event.effects : []))
      .filter(({ leaf }) => leaf.storage.trace === null && !seen.has(leaf) && seen.add(leaf));
    const returned = tensorsOf(outcome);
    for (const t of returned) run.requireVisible(t);
    this.results = returned.map((t) => operand(t, !run.isTraced(t)));
    const handed = new Set<Tensor>();
    const hand = (t: Tensor): void => {
      if (handed.has(t)) return;
      handed.add(t);
      if (t.ownGrad !== null && run.isTraced(t)) hand(t.ownGrad);
    };
    for (const t of returned) hand(t);
    for (const e of effects) if (e.grad) hand(e.grad);
    for (const c of run.continuations) hand(c.grad);
    this.views = viewsAmong(
      handed,
      (t) => run.isTraced(t),
      (t) => run.isTraced(t) && !placeholders.indices.has(t.storage),
    );
    for (const t of this.views) hand(t.viewOf!.base);
    this.stale = new Set([...this.views].filter((t) => t.viewOf!.version !== t.storage.version));
    const changed = effects.flatMap((e) => (e.node ? [e.tensor] : []));
    const edges: GradientEdge[] = [];
    for (const t of new Set([...handed, ...changed])) {
      // A tensor outside may get a newer node after the call.
      const node = run.isTraced(t) ? nodeOrError(t, this.#historyErrors) : t.ownNode;
      if (node?.isTraced !== true) continue;
      const edge = edges.find((p) => p.node === node && p.output === t.outputIndex) ?? { node, output: t.outputIndex };
      if (!edges.includes(edge)) edges.push(edge);
      this.#edges.set(t, edge);
    }
    const groups = inGroups(edges);
    this.backwards = groups.flatMap((own, i) => {
      const make = (some: readonly GradientEdge[]): Backward =>
        new Backward(run.name, this.device!, some, groups.slice(0, i).flat(), this.#path);
      const whole = make(own);
      // What one of them lacks is no business of the others.
      return whole.isRefused && own.length > 1 ? own.map((p) => make([p])) : [whole];
    });
    this.hasCode = this.backwards.some((b) => b.hasCode);
    const outputs = new Set<Storage>();
    for (const t of [...handed, ...this.backwards.flatMap((b) => b.saved)])
      if (t.storage.trace !== null && !placeholders.indices.has(t.storage) && t.storage.sizeInBytes > 0) outputs.add(t.storage);
    this.outputs = [...outputs];
    this.outputOf = new Map(this.outputs.map((s, i) => [s, i]));
    this.outside = new Set(effects.flatMap((e) => (run.isTraced(e.tensor) ? [] : [e.tensor])));
    const changes =
      outcome.changes.length +
      effects.length +
      this.continuations.length +
      this.backwards.length +
      this.views.size +
      this.#historyErrors.size;
    this.isPlain = changes === 0 && returned.length === 1 && outputs.size === 1;
  }

  /** Why a returned tensor has no history, though it requires a gradient; null when it has one or needs none. */
  historyError(t: Tensor): unknown {
    return this.#historyErrors.get(t) ?? null;
  }

  /** Keeps hooks and retained gradients as the run leaves them. */
  saveState(): void {
    if (this.backwards.length === 0 || (!this.hasCode && changedNodes().size === 0)) {
      this.#state = EMPTY_STATE;
      return;
    }
    const nodes = new Set(changedNodes());
    const retained = new Set([...nodes].flatMap((node) => [...(node.retained?.values() ?? [])]));
    const hooks = [...nodes].flatMap((node) => [...(node.hooks ?? [])].map(([output, list]) => ({ node, output, hooks: list })));
    if (this.hasCode) for (const e of allEvents(this.#path)) if (e.kind === "custom") nodes.add(e.node);
    this.#state = { behaviour: this.hasCode ? [...nodes].map((node) => node.behaviour()) : [], hooks, retained };
  }

  get state(): ExitState {
    return this.#state;
  }

  /** Where a tensor that outlives the call is on the traced tape. */
  edgeOf(t: Tensor): GradientEdge | null {
    const edge = this.#edges.get(t);
    if (edge !== undefined) return edge;
    return t.ownNode === null ? null : { node: t.ownNode, output: t.outputIndex };
  }

  /** Whether another run of the same path ended alike. */
  matches(outcome: Outcome, effects: readonly Effect[], continuations: readonly Continuation[]): boolean {
    // Most functions return one tensor and change nothing.
    if (this.isPlain && outcome.result instanceof Tensor && outcome.changes.length === 0)
      return this.#isResult(outcome.result, 0) && effects.length === 0 && continuations.length === 0;
    const returned = tensorsOf(outcome);
    return (
      returned.length === this.results.length &&
      returned.every((t, i) => this.#isResult(t, i)) &&
      effects.length === this.effects.length &&
      effects.every((e, i) => {
        const own = this.effects[i]!;
        return (
          e.tensor === own.tensor &&
          e.grad === own.grad &&
          e.drops === own.drops &&
          e.isRenewed === own.isRenewed &&
          e.node === own.node &&
          e.outputIndex === own.outputIndex
        );
      }) &&
      continuations.length === this.continuations.length &&
      continuations.every((c, i) => isSameContinuation(c, this.continuations[i]!)) &&
      this.backwards.every((b) => b.isEnough)
    );
  }

  #isResult(t: Tensor, i: number): boolean {
    const seen = this.results[i]!;
    return t.ownNode === seen.node && isSame(seen, t);
  }

  /** What a program of it is made of. */
  get source(): Source {
    return { path: this.#path, begins: this.#placeholders.tensors.map((t) => t?.storage ?? null), outputs: this.outputs };
  }

  get step(): Step | null {
    return this.#step;
  }

  /** Lets go of the path where nothing but values comes out of the program. Whether it has. */
  releasePath(): boolean {
    const others = this.effects.length + this.continuations.length + this.moves.length + this.backwards.length + this.views.size;
    if (!(this.#program instanceof CompiledProgram) || others > 0) return false;
    this.#program.forget();
    this.#step = null;
    this.#path = [];
    return true;
  }

  /** Pairs the storages of its arguments with those of a larger trace. */
  initialPairs(large: TraceExit): InitialPair[] {
    return large.#placeholders.tensors.flatMap((t, i) => {
      const own = this.#placeholders.tensors[i] ?? null;
      if (t === null || own === null) return [];
      const layout = layoutOf(own);
      const [outer, inner] = [t, own].map((x) => layout?.covering(x.shape) ?? null) as [number[] | null, number[] | null];
      const shapes = { large: outer ?? t.shape, small: inner ?? own.shape };
      return [{ large: t.storage, pair: { small: own.storage, shapes, element: DTYPES[t.dtype].sizeInBytes } }];
    });
  }

  program(native: NativeDevice, placeholders: Placeholders, options: ProgramOptions): Executable {
    if (this.#program !== null) return this.#program;
    const argument = (storage: Storage): number => placeholders.indices.get(storage) ?? -1;
    // Where sizes are dynamic, numbers become inputs of later programs of the path.
    const isFixed = this.bucketed === undefined;
    const part = { path: this.#path, argument, count: placeholders.tensors.length, outputs: this.outputs, isFixed };
    collectBefore(this.#path.length);
    this.#program = makeExecutable(native, part, options);
    return this.#program;
  }

  /** Inputs of a call in which the function does not run; null where it has to. */
  repeated(): Values | null {
    if (this.modes !== modes.changes) return null;
    return repeat(this.host, this.bucketed ? this.values : NO_VALUES);
  }

  /** Whether the gradients that the path begins with are there as they were: for calls that are not checked. */
  get isApplicable(): boolean {
    return this.#begins.every(({ leaf, before }) => isSameOrNull(before, leaf.ownGrad));
  }

  isTraced(t: Tensor): boolean {
    return this.#isTraced(t);
  }

  /** The program, if it was made. */
  get made(): Executable | null {
    return this.#program;
  }

  dispose(): void {
    this.#program?.dispose();
    this.#program = null;
    for (const b of this.backwards) b.dispose();
  }
}
