/**
 * The log of a compiled function: a tree of the events that its JavaScript caused, in order. Calls with equal events share a path; a call that differs
 * begins a branch. lower.ts makes a graph of a path.
 */
import { renewNodes, type Pass, type TapeNode } from "../autograd/tape.ts";
import { moveRetained } from "../autograd/record.ts";
import type { Definition, ViewDefinition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { noteWrite } from "../runtime/assign.ts";
import type { Target } from "../runtime/storage-write.ts";
import type { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { TraceExit } from "./exit.ts";
import type { Continuation } from "./flows.ts";
import type { Operand } from "./operand.ts";

/** A tensor that an event made, with its gradient edge. */
export interface Made {
  readonly tensor: Tensor;
  /** Made together with its storage. */
  readonly ownsStorage: boolean;
  readonly node: TapeNode | null;
  readonly outputIndex: number;
  /** The node saves a tensor whose version differs between runs, or later in the run. */
  isVersioned: boolean;
}

/** A leaf's gradient before and after a region. */
export interface GradientEffect {
  readonly leaf: Tensor;
  readonly before: Operand | null;
  readonly after: Tensor | null;
}

export interface Operation {
  readonly kind: "operation";
  readonly definition: Definition<never>;
  readonly attrs: unknown;
  readonly records: boolean;
  /** Its value is about to be written in place: what its node saves of the target is then that of before the write. */
  readonly writes: boolean;
  readonly inputs: readonly Operand[];
  readonly outputs: readonly Made[];
  readonly origin: string;
}

export interface View {
  readonly kind: "view";
  readonly definition: ViewDefinition<never>;
  readonly attrs: unknown;
  readonly input: Operand;
  /** Further tensors that its history depends on. */
  readonly others: readonly Operand[];
  readonly records: boolean;
  readonly output: Made;
  readonly origin: string;
}

export interface Creation {
  readonly kind: "create";
  readonly definition: Definition<never>;
  readonly device: Device;
  readonly attrs: unknown;
  readonly output: Made;
  readonly origin: string;
}

export interface Scalar {
  readonly kind: "scalar";
  readonly device: Device;
  readonly dtype: DType;
  readonly value: number | bigint | boolean;
  /** The number differed between calls: it is an input. */
  varies: boolean;
  /** Of the library's own numbers: whose it is, and which of them. Null for a number of the function's. */
  readonly holder: { readonly owner: object; readonly index: number } | null;
  readonly output: Made;
}

export interface Constant {
  readonly kind: "constant";
  readonly device: Device;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
  readonly output: Made;
}

export interface Assignment {
  readonly kind: "assign";
  readonly target: Operand;
  readonly source: Operand;
  readonly origin: string;
}

/** A write that changes histories: the write itself, with what is kept from before it, and where tensors are on the tape afterwards. */
export interface Rewrite {
  readonly kind: "rewrite";
  readonly target: Operand;
  readonly value: Operand;
  readonly inner: readonly Event[];
  readonly nodes: readonly TapeNode[];
  readonly after: readonly { readonly tensor: Tensor; readonly node: TapeNode | null; readonly outputIndex: number }[];
}

/** backward(), or an optimizer's step. */
export interface Region {
  readonly kind: "region";
  readonly owner: object;
  readonly tensors: readonly (Operand | null)[];
  readonly guards: readonly unknown[];
  readonly inner: readonly Event[];
  readonly effects: readonly GradientEffect[];
  readonly continuations: readonly Continuation[];
  /** Nodes that it visits, with the number of gradients that each retains. */
  readonly nodes: ReadonlyMap<TapeNode, number>;
  /** Where it leaves the function: the history of arguments. */
  readonly ends: readonly { readonly node: TapeNode; readonly retains: number; readonly isHooked: boolean }[];
  /** Those that keep some. */
  readonly retaining: readonly TapeNode[];
  /** Frees the nodes that it frees; null: none. */
  readonly pass: Pass | null;
  /** What it writes to, once for each write. */
  readonly written: readonly Target[];
  /** What a later call may see of it, to be revived then. */
  readonly seen: readonly Made[];
  readonly results: readonly (Tensor | null)[] | null;
}

/** Begins a region that contains user code: each call traces it again, event by event. */
export interface RetracedRegion {
  readonly kind: "retraced";
  readonly owner: object;
  readonly tensors: readonly (Operand | null)[];
  readonly guards: readonly unknown[];
}

/** A node with a rule of the user's. */
export interface Custom {
  readonly kind: "custom";
  readonly node: TapeNode;
  readonly inputs: readonly Operand[];
}

/** Begins a loop: the events up to its end are its body, traced once for all steps. */
export interface LoopBegin {
  readonly kind: "loop";
  /** The function that asked for it. */
  readonly name: string;
  /** Steps. Null: as many as its test says. */
  readonly length: number | null;
  readonly reverse: boolean;
  /** Packed: the carry of the first step, and what the steps get slices of. */
  readonly init: readonly Operand[];
  readonly xs: readonly Operand[];
  /** Placeholders of a step's carry and slices. */
  readonly carry: readonly Made[];
  readonly slices: readonly Made[];
  /** The tape's nodes of the body have this number or a higher one. */
  readonly start: number;
  readonly origin: string;
}

/** Ends the events that say whether there is another step; the body comes after it. */
export interface LoopTest {
  readonly kind: "loopTest";
  readonly begin: LoopBegin;
  readonly holds: Operand;
}

/** Ends the body. */
export interface LoopEnd {
  readonly kind: "loopEnd";
  readonly begin: LoopBegin;
  /** The next carry and what the step gives besides, each packed in a storage that the body made. */
  readonly carry: readonly Operand[];
  readonly ys: readonly Operand[];
  /** Which carries are kept of each step, as they were before it: for gradients. */
  readonly kept: readonly number[];
  /** The carries that are kept, stacked; the last carry; ys, stacked. */
  readonly outputs: readonly Made[];
}

export type Event =
  | Operation
  | View
  | Creation
  | Scalar
  | Constant
  | Assignment
  | Rewrite
  | Region
  | RetracedRegion
  | Custom
  | LoopBegin
  | LoopTest
  | LoopEnd;

const NO_EXITS: readonly TraceExit[] = [];

/** An event on a path, and what may follow. */
export class Step {
  readonly event: Event | null;
  readonly parent: Step | null;
  /** The first of those that may follow, and the next that may follow the same as this one. */
  first: Step | null = null;
  sibling: Step | null = null;
  #exits: TraceExit[] | null = null;

  constructor(event: Event | null, parent: Step | null) {
    this.event = event;
    this.parent = parent;
  }

  /** Where runs have ended here. */
  get exits(): readonly TraceExit[] {
    return this.#exits ?? NO_EXITS;
  }

  addExit(exit: TraceExit): void {
    (this.#exits ??= []).push(exit);
  }

  dropExits(): void {
    this.#exits = null;
  }

  /** One more that may follow. */
  add(event: Event): Step {
    const step = new Step(event, this);
    step.sibling = this.first;
    this.first = step;
    return step;
  }
}

/** The events from the start to a step. */
export function pathTo(step: Step): Event[] {
  const path: Event[] = [];
  for (let s: Step | null = step; s?.event != null; s = s.parent) path.push(s.event);
  return path.reverse();
}

/** Every event of a path, those inside regions too. */
export function* allEvents(path: Iterable<Event>): Generator<Exclude<Event, Region | Rewrite>> {
  for (const event of path) {
    if (event.kind === "region" || event.kind === "rewrite") yield* allEvents(event.inner);
    else yield event;
  }
}

/** Tensors that an event made by itself. */
export const madeOf = (event: Event): readonly Made[] =>
  event.kind === "operation" || event.kind === "loopEnd"
    ? event.outputs
    : event.kind === "loop"
      ? [...event.carry, ...event.slices]
      : event.kind === "view" || event.kind === "create" || event.kind === "scalar" || event.kind === "constant"
        ? [event.output]
        : [];

/** Traced storages that were written to, and passes that are over. */
const written = new Set<Storage>();
const over = new Set<Pass>();

/** Counts a write to a traced storage. */
export function wrote(storage: Storage): void {
  storage.version++;
  written.add(storage);
}

/** A pass is over: its nodes are freed. Null: it frees none. */
export function finish(pass: Pass | null): void {
  if (pass === null) return;
  pass.isOver = true;
  over.add(pass);
}

/** Before a run: traced storages, nodes and passes become what they were when they were made. Tensors do as the run comes to them. */
export function renew(): void {
  // To clear an empty set costs what making one does.
  if (written.size > 0) {
    for (const storage of written) storage.version = storage.firstVersion;
    written.clear();
  }
  if (over.size > 0) {
    for (const pass of over) pass.isOver = false;
    over.clear();
  }
  renewNodes();
}

/** A traced tensor becomes what it was when the event made it, whatever an earlier call did to it since. */
export function revive({ tensor, node, outputIndex, isVersioned }: Made): Tensor {
  tensor.revive();
  tensor.node = node;
  tensor.outputIndex = outputIndex;
  if (isVersioned) node!.refresh();
  return tensor;
}

/** Does to the tape what the write did when it was recorded; isOutside: to that of tensors outside too. */
export function follow(event: Rewrite, write: (target: Target) => void, isOutside = true): void {
  // Before the write: what they saved of its target is stale after it.
  for (const { node } of event.after) node?.revive();
  for (const inner of event.inner) {
    if (inner.kind === "assign") write(inner.target);
    else for (const made of madeOf(inner)) revive(made);
  }
  for (const node of event.nodes) node.rewritten();
  for (const { tensor, node, outputIndex } of event.after) {
    if (!isOutside && tensor.storage.trace === null) continue;
    if (tensor.ownNode !== null && node !== null && tensor.ownNode !== node)
      moveRetained(tensor, tensor.ownNode, tensor.outputIndex, node, outputIndex);
    tensor.node = node;
    tensor.outputIndex = outputIndex;
    tensor.viewOf?.renewed(tensor.storage.version);
  }
}

/** What of a region's events is visible after it: all of them if they are on the tape, else the tensors named. */
export function visibleOf(inner: readonly Event[], named: ReadonlySet<Tensor>): Made[] {
  const made = [...allEvents(inner)].flatMap(madeOf);
  // A write to a view gives its base a history.
  const bases = new Set([...named].map((t) => t.viewOf?.base));
  const seen = made.some((m) => m.node !== null) ? made : made.filter((m) => named.has(m.tensor) || bases.has(m.tensor));
  // Views that no event made, as of a gradient that became a leaf's.
  const others = [...named].filter((t) => t.storage.trace !== null && !seen.some((m) => m.tensor === t));
  return [...seen, ...others.map((t) => madeAs(t, false))];
}

export const madeAs = (t: Tensor, ownsStorage: boolean): Made => ({
  tensor: t,
  ownsStorage,
  node: t.ownNode,
  outputIndex: t.outputIndex,
  isVersioned: t.ownNode?.isVersioned === true,
});

/** What events write to, once for each write. */
export const writtenBy = (inner: readonly Event[]): Target[] =>
  [...allEvents(inner)].flatMap((event) => (event.kind === "assign" ? [event.target] : []));

/**
 * Sets the tape of a path up as it is after a run of it: what other paths share may have been changed by theirs. Tensors outside stay as
 * they are, but writes to them are counted where `outside` is set, so that gradients that read written tensors are refused. The result undoes this.
 */
export function restore(path: readonly Event[], outside: boolean): () => void {
  renew();
  const versions = new Map<Storage, number>();
  const write = (target: Target): void => {
    const { storage } = target;
    if (storage.trace !== null) wrote(storage);
    else if (outside) {
      if (!versions.has(storage)) versions.set(storage, storage.version);
      noteWrite(target);
    }
  };
  for (const event of path) {
    if (event.kind === "region") {
      for (const m of event.seen) revive(m);
      for (const target of event.written) write(target);
      finish(event.pass);
    } else if (event.kind === "rewrite") follow(event, write, false);
    else if (event.kind === "assign") write(event.target);
    else for (const m of madeOf(event)) revive(m);
  }
  return () => {
    for (const [storage, version] of versions) storage.forgetWrites(version);
  };
}
