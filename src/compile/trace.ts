/**
 * One run of a compiled function's JavaScript on traced tensors. As long as it asks for what a path of the log has, nothing is made;
 * from where it differs on, the run records a branch. Nothing is computed either way.
 */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { changedNodes, isWatching, record, recordedBefore, type TapeNode } from "../autograd/tape.ts";
import type { Definition, TensorSpec, ViewDefinition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import { DTYPES, type DType } from "../core/dtype.ts";
import { DeviceError, ShapeError, TraceError } from "../core/errors.ts";
import { Journal } from "../core/journal.ts";
import { sameData } from "../graph/key.ts";
import type { Target } from "../runtime/write.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import type { Flow, FlowEnd, Tracer } from "../core/tracer.ts";
import type { Placeholders } from "./arguments.ts";
import type { Step } from "./log.ts";
import { Flows } from "./flows.ts";
import type { HostEvent } from "./host-state.ts";
import { Notice } from "./notice.ts";
import {
  finish,
  follow,
  madeAs,
  madeOf,
  pathTo,
  revive,
  visibleOf,
  writtenBy,
  wrote,
  type Constant,
  type Event,
  type GradientEffect,
  type Made,
  type Region,
  type Scalar,
} from "./log.ts";
import { areSame, areSameOrNull, isSame, isSameGuard, isSameOrNull, operand, type Operand } from "./operand.ts";
import { Outside } from "./outside.ts";
import { callerPlace } from "../host/call-site.ts";
import { NO_VALUES, type Values } from "./program.ts";

type Number = number | bigint | boolean;

const NO_NUMBERS: ReadonlySet<Scalar> = new Set();
const NO_OTHERS: readonly Tensor[] = [];

/** Thrown when an argument turns out to be reached by another way too: the run begins anew with that argument passed as it is. */
export class Restart extends Error {
  readonly storage: Storage;
  constructor(storage: Storage, why: string) {
    super(`${why} ${callerPlace() ?? ""}`.trim());
    this.storage = storage;
  }
}

/** Thrown when a run comes to what no program can do: the call is made eagerly. */
export class Abandoned extends Error {}

/** What all runs of one function share. */
export interface Recorded {
  readonly name: string;
  /** Storages outside that some path uses. */
  readonly outer: WeakSet<Storage>;
  /** Views that runs made. */
  readonly views: WeakSet<Tensor>;
}

const copied = (attrs: unknown): unknown => {
  if (attrs === null || typeof attrs !== "object") return attrs;
  try {
    return structuredClone(attrs);
  } catch {
    return attrs;
  }
};

let runs = 0;

export class Run implements Tracer {
  readonly id = ++runs;
  /** The last event that was asked for. */
  at: Step;
  /** Why the run left the log; null while it follows it. */
  reason: string | null = null;
  /** Why the call is made eagerly: whatever becomes of the error in the function's own code. */
  abandoned: Abandoned | null = null;
  /** Of a run that records. */
  notice: Notice | null = null;
  #values: Map<Event, Number | Uint8Array> | null = null;
  #varied: Set<Scalar> | null = null;
  readonly flows: Flows;
  readonly outside = new Outside();
  /** What it changes of the library's own state. */
  readonly journal = new Journal();
  /** What it takes from there, for calls in which the function does not run; null where there are none. */
  readonly host: HostEvent[] | null;
  #isInEffect = false;
  readonly #recorded: Recorded;
  readonly #placeholders: Placeholders;
  /** Storages of the arguments that traced ones stand for, with how many do. */
  #storages: ReadonlyMap<Storage, number> | null = null;
  readonly #args: readonly Tensor[];
  #device: Device | null;
  /** Where the events of a region go that is being recorded. */
  #inner: Event[] | null = null;
  #visited: TapeNode[] | null = null;
  #freed: TapeNode[] | null = null;
  #hasCode = false;
  /** The run has begun a backward pass that walks its nodes. */
  #isRetracing = false;
  /** Gradients of leaves as they were before it. */
  #gradients: Map<Tensor, Tensor | null> | null = null;

  constructor(recorded: Recorded, root: Step, placeholders: Placeholders, args: readonly Tensor[], host: HostEvent[] | null = null) {
    this.#recorded = recorded;
    this.host = host;
    this.at = root;
    this.#placeholders = placeholders;
    this.#args = args;
    this.flows = new Flows(recorded.name, placeholders, args);
    this.#device = args[0]?.device ?? null;
  }

  /** What varying numbers and data are in this call. */
  get values(): Values {
    return this.#values ?? NO_VALUES;
  }

  /** Numbers that differ from what programs hold: inputs from now on, if the run comes to its end. */
  get varied(): ReadonlySet<Scalar> {
    return this.#varied ?? NO_NUMBERS;
  }

  get #argumentStorages(): ReadonlyMap<Storage, number> {
    if (this.#storages !== null) return this.#storages;
    const storages = new Map<Storage, number>();
    this.#args.forEach((t, i) => {
      if (this.#placeholders.tensors[i] !== null) storages.set(t.storage, (storages.get(t.storage) ?? 0) + 1);
    });
    this.#storages = storages;
    return storages;
  }

  /** Nothing of it was, or will be: all that it changed outside is as before. */
  undo(): void {
    this.outside.undo(true);
    this.journal.swap();
  }

  get name(): string {
    return this.#recorded.name;
  }

  /** Whether a tensor is of this function's runs, not from outside. */
  isTraced(t: Tensor): boolean {
    return t.storage.trace !== null || this.#recorded.views.has(t);
  }

  get device(): Device | null {
    return this.#device;
  }

  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, records: boolean): Tensor[] {
    const writes = records && isWatching();
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (
          e.kind === "operation" &&
          (e.definition as unknown) === definition &&
          e.records === records &&
          e.writes === writes &&
          areSame(e.inputs, inputs) &&
          sameData(e.attrs, attrs)
        ) {
          this.at = step;
          if (writes) recordedBefore(e.outputs[0]!.node);
          return e.outputs.length === 1 ? [this.#revive(e.outputs[0]!)] : e.outputs.map((m) => this.#revive(m));
        }
      }
      this.#leave(definition.name);
    }
    const operands = inputs.map((t) => this.#operand(definition.name, t));
    const specs = definition.infer(
      inputs.map((t) => ({ shape: t.shape, dtype: t.dtype })),
      attrs,
    );
    const isEmpty = inputs.some((t) => t.size === 0) || specs.some((s) => sizeOf(s.shape) === 0);
    if (isEmpty && definition.host === undefined && definition.whenEmpty === undefined && specs.some((s) => sizeOf(s.shape) !== 0))
      throw new ShapeError(
        definition.name,
        "tensor",
        "of at least one element along the axes it works on",
        inputs.map((t) => t.describe()).join(", "),
      );
    const device = inputs[0]!.device;
    const outputs = specs.map((s) => this.#allocate(device, s));
    const origin = originOf(definition.name);
    if (records) record(definition, inputs, attrs, outputs);
    this.#push({
      kind: "operation",
      definition: definition as unknown as Definition<never>,
      attrs: copied(attrs),
      records,
      writes,
      inputs: operands,
      outputs: outputs.map(made),
      origin,
    });
    return outputs;
  }

  view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, make: () => Tensor, others: readonly Tensor[] = NO_OTHERS): Tensor {
    const records = isGradEnabled();
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (
          e.kind === "view" &&
          (e.definition as unknown) === definition &&
          e.records === records &&
          isSame(e.input, input) &&
          areSame(e.others, others) &&
          sameData(e.attrs, attrs)
        ) {
          this.at = step;
          return this.#revive(e.output);
        }
      }
      this.#leave(definition.name);
    }
    const seen = this.#operand(definition.name, input);
    const beside = others.map((t) => this.#operand(definition.name, t));
    const output = make();
    this.#recorded.views.add(output);
    this.#push({
      kind: "view",
      definition: definition as unknown as ViewDefinition<never>,
      attrs: copied(attrs),
      input: seen,
      others: beside,
      records,
      output: madeAs(output, false),
      origin: originOf(definition.name),
    });
    return output;
  }

  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind === "create" && (e.definition as unknown) === definition && e.device === device && sameData(e.attrs, attrs)) {
          this.at = step;
          return this.#revive(e.output);
        }
      }
      this.#leave(definition.name);
    }
    this.#requireDevice(definition.name, device);
    const output = this.#allocate(device, definition.infer([], attrs)[0]!);
    this.#push({
      kind: "create",
      definition: definition as unknown as Definition<never>,
      device,
      attrs: copied(attrs),
      output: made(output),
      origin: originOf(definition.name),
    });
    return output;
  }

  scalar(device: Device, dtype: DType, value: Number): Tensor {
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind !== "scalar" || e.dtype !== dtype || e.device !== device || e.holder !== null) continue;
        const differs = !Object.is(e.value, value);
        if (differs && !e.varies) (this.#varied ??= new Set<Scalar>()).add(e);
        if (e.varies || differs || this.varied.has(e)) this.#note(e, value);
        this.at = step;
        return this.#revive(e.output);
      }
      this.#leave(`the number ${value}`);
    }
    this.#requireDevice("scalar", device);
    const output = this.#allocate(device, { dtype, shape: [] });
    this.#push({ kind: "scalar", device, dtype, value, varies: false, holder: null, output: made(output) });
    return output;
  }

  held(owner: object, device: Device, read: () => readonly number[]): Tensor[] {
    const events = read().map((value, index) => this.#held(owner, index, device, value));
    this.host?.push({ kind: "numbers", events, read });
    return events.map((e) => e.output.tensor);
  }

  #held(owner: object, index: number, device: Device, value: number): Scalar {
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind !== "scalar" || e.holder?.owner !== owner || e.holder.index !== index || e.device !== device) continue;
        this.#note(e, value);
        this.at = step;
        this.#revive(e.output);
        return e;
      }
      this.#leave("a step of an optimizer");
    }
    this.#requireDevice("scalar", device);
    const dtype = "float32";
    const output = made(this.#allocate(device, { dtype, shape: [] }));
    const event: Scalar = { kind: "scalar", device, dtype, value, varies: true, holder: { owner, index }, output };
    this.#push(event);
    return event;
  }

  effect<T>(run: () => T): T {
    if (this.#isInEffect) return run();
    this.#isInEffect = true;
    try {
      return run();
    } finally {
      this.#isInEffect = false;
      this.host?.push({ kind: "effect", run });
    }
  }

  guard(holds: () => boolean): void {
    this.host?.push({ kind: "guard", holds });
  }

  constant(device: Device, dtype: DType, shape: Shape, bytes: ArrayBufferView, again?: () => ArrayBufferView): Tensor {
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind === "constant" && e.dtype === dtype && e.device === device && sameData(e.shape, shape)) {
          this.at = step;
          this.#note(e, data);
          if (again !== undefined) this.host?.push({ kind: "data", event: e, read: again });
          return this.#revive(e.output);
        }
      }
      this.#leave("data");
    }
    this.#requireDevice("tensor", device);
    const output = this.#allocate(device, { dtype, shape });
    const event: Constant = { kind: "constant", device, dtype, shape: [...shape], bytes: data.slice(), output: made(output) };
    this.#push(event);
    if (again !== undefined) this.host?.push({ kind: "data", event, read: again });
    return output;
  }

  assign(target: Tensor, source: Tensor): void {
    this.#requireShown(target);
    this.#touchTarget(target);
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind === "assign" && isSame(e.target, target) && isSame(e.source, source)) {
          this.at = step;
          this.#wrote(target);
          return;
        }
      }
      this.#leave("an in-place operation");
    }
    const seen = [this.#operand("assign", target), this.#operand("assign", source)] as const;
    this.#wrote(target);
    this.#push({ kind: "assign", target: seen[0], source: seen[1], origin: originOf("assign") });
  }

  rewrite(target: Tensor, value: Tensor, nodes: readonly TapeNode[], run: () => void): void {
    this.#touchTarget(target);
    if (target.viewOf !== null) this.#touchTarget(target.viewOf.base);
    this.#requireOwnHistory(target);
    if (this.#inner !== null) {
      run();
      return;
    }
    for (let step = this.at.first; step !== null; step = step.sibling) {
      const e = step.event!;
      if (e.kind === "rewrite" && (!e.target.isOuter || e.target.tensor === target) && isSame(e.target, target) && isSame(e.value, value)) {
        this.at = step;
        follow(e, (written) => this.#wrote(written));
        return;
      }
    }
    this.#leave("an in-place operation");
    const seen = [this.#operand("assign", target), this.#operand("assign", value)] as const;
    const inner: Event[] = [];
    this.#inner = inner;
    try {
      run();
    } finally {
      this.#inner = null;
    }
    const after = [...new Set([target.viewOf?.base ?? target, target])].map((t) => ({
      tensor: t,
      node: t.node,
      outputIndex: t.outputIndex,
    }));
    this.#push({ kind: "rewrite", target: seen[0], value: seen[1], inner, nodes, after });
    // What they save has another version before the write.
    for (const m of pathTo(this.at).flatMap(madeOf)) if (m.node !== null && nodes.includes(m.node)) m.isVersioned = true;
  }

  #touchTarget(target: Tensor): void {
    const index = this.#placeholders.indices.get(target.storage);
    if (index !== undefined) {
      // Two arguments over one storage: a write to one is a write to the other.
      const { storage } = this.#args[index]!;
      if (this.#argumentStorages.get(storage)! > 1) throw new Restart(storage, "arguments that share memory, one of which is written");
    }
    if (index !== undefined || target.storage.trace === null) this.outside.touch(target);
  }

  /** What an argument that is a view is to autograd after a write depends on what it is a view of. */
  #requireShown(target: Tensor): void {
    const args = this.#args[this.#placeholders.indices.get(target.storage) ?? -1];
    if (args !== undefined && args.viewOf !== null && args.requiresGrad)
      throw new Restart(args.storage, "an argument that is a view, and is written");
  }

  /** An argument that is a view gives what it is a view of another history: it is written as it is. */
  #requireOwnHistory(target: Tensor): void {
    const args = this.#args[this.#placeholders.indices.get(target.storage) ?? -1];
    if (args !== undefined && args.viewOf !== null) throw new Restart(args.storage, "an argument that is a view, and gets another history");
  }

  read(operation: string, tensor: Tensor): never {
    throw new TraceError({
      operation,
      argument: tensor.describe(),
      expected: `read outside ${this.#recorded.name}, which is being compiled: its data do not exist yet`,
      received: `a read ${callerPlace() ?? "inside it"}`,
      hint: "Return the tensor and read it from the result, or keep the decision on the device (where).",
    });
  }

  renew(view: Tensor): void {
    if (!this.isTraced(view)) this.outside.renew(view);
  }

  custom(node: TapeNode, inputs: readonly Tensor[]): TapeNode {
    if (this.#inner === null) {
      for (let step = this.at.first; step !== null; step = step.sibling) {
        const e = step.event!;
        if (e.kind === "custom" && e.node.isLike(node) && areSame(e.inputs, inputs)) {
          this.at = step;
          e.node.adopt(node);
          return e.node;
        }
      }
      this.#leave(node.name);
    }
    this.#push({ kind: "custom", node, inputs: inputs.map((t) => this.#operand(node.name, t)) });
    return node;
  }

  visit(node: TapeNode, frees: boolean): void {
    if (this.#inner === null || (!node.isTraced && this.#placeholders.boundary(node) < 0)) return;
    this.#visited?.push(node);
    if (frees) this.#freed?.push(node);
  }

  flowOut(ends: readonly FlowEnd[], flow: Flow, keep: (t: Tensor, grad: Tensor) => void): void {
    this.flows.out(ends, flow, keep);
  }

  isReached(leaf: Tensor, ends: readonly FlowEnd[]): boolean {
    return this.flows.isReached(leaf, ends);
  }

  searches(roots: readonly Tensor[], inputs: readonly Tensor[]): void {
    if (!this.flows.leadOutside(roots, inputs)) return;
    this.abandon(`grad() leads through a history that was made outside ${callerPlace() ?? ""}`.trim());
  }

  /** Ends the run: the call is made eagerly. */
  abandon(reason: string): never {
    throw (this.abandoned = new Abandoned(reason));
  }

  lost(undo: () => void, always = false): void {
    this.outside.onUndo(undo, always);
  }

  movesRetained(node: TapeNode, output: number): void {
    this.flows.moves.push({ node, output, after: this.flows.continuations.length });
  }

  /** An argument's gradient, asked for by the tensor outside: what stands for the argument has it. */
  #requireOwnGradient(t: Tensor): void {
    if (t.storage.trace === null && this.#argumentStorages.has(t.storage))
      throw new Restart(t.storage, "an argument that the function reaches otherwise too");
  }

  readGradient(t: Tensor): void {
    this.#requireOwnGradient(t);
    if (this.#inner === null) this.flows.read(t);
  }

  runsCode(): void {
    this.#hasCode = true;
  }

  region<T extends readonly (Tensor | null)[] | void>(
    owner: object,
    tensors: readonly (Tensor | null)[],
    guards: readonly unknown[],
    run: () => T,
  ): T {
    if (this.#inner !== null) return run();
    for (let step = this.at.first; step !== null; step = step.sibling) {
      const e = step.event!;
      if ((e.kind !== "region" && e.kind !== "retraced") || e.owner !== owner || !areSameOrNull(e.tensors, tensors)) continue;
      if (e.guards.length !== guards.length || !e.guards.every((g, i) => isSameGuard(g, guards[i]))) continue;
      if (e.kind === "retraced") {
        this.at = step;
        this.#isRetracing = true;
        return run();
      }
      if (!this.#applies(e)) continue;
      this.at = step;
      this.#skip(e);
      return e.results as T;
    }
    this.#leave("backward() or an optimizer's step");
    const seen = tensors.map((t) => (t === null ? null : this.#operand("backward", t)));
    const [inner, visited, freed] = [[] as Event[], [] as TapeNode[], [] as TapeNode[]];
    this.#inner = inner;
    this.#visited = visited;
    this.#freed = freed;
    this.#hasCode = false;
    const gradients = (this.#gradients = new Map<Tensor, Tensor | null>());
    const flowed = this.flows.continuations.length;
    let results: T;
    let isWhole = false;
    try {
      results = run();
      isWhole = true;
    } finally {
      this.#inner = null;
      if (this.#hasCode || !isWhole) {
        this.#push({ kind: "retraced", owner, tensors: seen, guards: [...guards] });
        for (const event of inner) this.#push(event);
      }
    }
    if (!this.#hasCode) {
      const effects = [...gradients].map(([leaf, old]): GradientEffect => ({
        leaf,
        before: old === null ? null : operand(old),
        after: leaf.ownGrad,
      }));
      const named = new Set<Tensor>(effects.flatMap((e) => e.after ?? []));
      for (const t of (results as readonly (Tensor | null)[] | undefined) ?? []) if (t !== null) named.add(t);
      const nodes = new Map(visited.map((node) => [node, node.retained?.size ?? 0]));
      const pass = { isOver: false };
      for (const node of freed) node.freeAfter(pass);
      this.#push({
        kind: "region",
        owner,
        tensors: seen,
        guards: [...guards],
        inner,
        effects,
        continuations: this.flows.continuations.slice(flowed),
        nodes,
        retaining: [...nodes.keys()].filter((node) => nodes.get(node)! > 0),
        ends: [...nodes].flatMap(([node, retains]) => (node.isTraced ? [] : [{ node, retains, isHooked: isHooked(node) }])),
        pass,
        seen: visibleOf(inner, named),
        written: writtenBy(inner),
        results: (results as readonly (Tensor | null)[] | undefined) ?? null,
      });
    }
    return results;
  }

  touchGradient(leaf: Tensor): void {
    if (this.#inner === null && !this.#isRetracing && !this.outside.touched.has(leaf)) this.outside.replace(leaf);
    this.#noteGradient(leaf);
  }

  dropGradient(leaf: Tensor): void {
    this.outside.drop(leaf);
  }

  #noteGradient(leaf: Tensor): void {
    if (this.#inner !== null && this.#gradients?.has(leaf) === false) this.#gradients.set(leaf, leaf.ownGrad);
    if (leaf.storage.trace === null || this.#placeholders.indices.has(leaf.storage)) this.outside.touch(leaf);
  }

  #wrote(target: Target): void {
    this.flows.noteWrite();
    if (target.storage.trace !== null) wrote(target.storage);
    else this.outside.wrote(target);
  }

  #revive(made: Made): Tensor {
    // A pass that walks nodes tells what it made by its age.
    if (this.#isRetracing && made.ownsStorage) made.tensor.storage.birth = Storage.made++;
    return revive(made);
  }

  /** Whether the gradients and hooks are as they were when the region was recorded. */
  #applies(region: Region): boolean {
    return (
      region.effects.every(({ leaf, before }) => isSameOrNull(before, leaf.ownGrad) && (leaf.hooks === null || leaf.hooks.length === 0)) &&
      region.retaining.every((node) => node.retained?.size === region.nodes.get(node)) &&
      region.ends.every((e) => (e.node.retained?.size ?? 0) === e.retains && isHooked(e.node) === e.isHooked) &&
      [...changedNodes()].every((node) => {
        const retains = region.nodes.get(node);
        return retains === undefined || (node.hooks === null && (node.retained?.size ?? 0) === retains);
      })
    );
  }

  #skip(region: Region): void {
    for (const m of region.seen) this.#revive(m);
    for (const target of region.written) this.#wrote(target);
    for (const { leaf, before, after } of region.effects) {
      this.#noteGradient(leaf);
      // One that grew in its place is the tensor that lies there now.
      if (before === null || before.tensor !== after) leaf.grad = after;
    }
    this.flows.add(region.continuations);
    finish(region.pass);
  }

  #note(e: Event, value: Number | Uint8Array): void {
    (this.#values ??= new Map<Event, Number | Uint8Array>()).set(e, value);
  }

  #leave(what: string): void {
    if (this.reason !== null) return;
    this.reason = `${what} ${callerPlace() ?? ""}`.trim();
    this.notice = new Notice(this.name);
  }

  #push(event: Event): void {
    if (event.kind === "operation") this.notice?.count();
    if (this.#inner !== null) {
      this.#inner.push(event);
      return;
    }
    this.at = this.at.add(event);
  }

  #allocate(device: Device, { dtype, shape }: TensorSpec): Tensor {
    const storage = new Storage(device, sizeOf(shape) * DTYPES[dtype].sizeInBytes);
    storage.trace = this.#recorded;
    return new Tensor(storage, internDesc(device, dtype, shape));
  }

  #operand(operation: string, t: Tensor): Operand {
    this.#requireDevice(operation, t.device);
    const seen = operand(t, !this.isTraced(t));
    if (seen.isOuter) {
      if (this.#argumentStorages.has(t.storage)) throw new Restart(t.storage, "an argument that the function reaches otherwise too");
      this.#recorded.outer.add(t.storage);
    }
    return seen;
  }

  #requireDevice(operation: string, device: Device): void {
    this.#device ??= device;
    if (device !== this.#device)
      throw new DeviceError(operation, "tensor", `on ${this.#device}, like the other tensors of ${this.#recorded.name}`, String(device));
  }
}

const isHooked = ({ hooks }: TapeNode): boolean => hooks !== null && [...hooks.values()].some((list) => list.length > 0);

const made = (t: Tensor): Made => madeAs(t, true);

/** The operation and the line that asked for it. */
function originOf(name: string): string {
  const site = callerPlace();
  return site === null ? name : `${name} ${site}`;
}
