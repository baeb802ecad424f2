/**
 * One run of a compiled function's JavaScript on traced tensors. The run follows a path of the log as long as its events are equal to the path's;
 * from the first difference on it records a branch. It computes nothing.
 */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { isWatching, recordedBefore, type TapeNode } from "../autograd/tape.ts";
import { record } from "../autograd/record.ts";
import type { Definition, ViewDefinition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import type { DType } from "../core/dtype.ts";
import { ShapeError, TraceError } from "../core/errors.ts";
import { Journal } from "../core/journal.ts";
import type { Target } from "../runtime/storage-write.ts";
import { sizeOf, type Shape } from "../core/shape.ts";
import { sameData } from "../graph/key.ts";
import { Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Flow, FlowEnd, Tracer } from "../core/tracer.ts";
import type { Placeholders } from "./arguments.ts";
import { Flows, NO_CONTINUATIONS, NO_MOVES, type Continuation, type Move } from "./flows.ts";
import type { HostEvent } from "./host-state.ts";
import {
  finish,
  follow,
  madeAs,
  madeOf,
  pathTo,
  revive,
  wrote,
  type Constant,
  type Made,
  type Region,
  type Scalar,
  type Step,
} from "./log.ts";
import {
  nextAssignment,
  nextConstant,
  nextCreation,
  nextCustom,
  nextHeldScalar,
  nextOperation,
  nextRegion,
  nextRewrite,
  nextScalar,
  nextView,
} from "./next-step.ts";
import { Outside } from "./outside.ts";
import { isApplicable, RegionRecording } from "./region-recording.ts";
import { LoopRecorder } from "./loop-recorder.ts";
import type { Number, Recorded } from "./recorder.ts";
import { isInBranch, isOwn, noteMade, refuseInBranch } from "../autograd/branch.ts";
import { callSite } from "../host/call-site.ts";

const NO_OTHERS: readonly Tensor[] = [];

/** Thrown when a run comes to what no program can do: the call is made eagerly. */
export class Abandoned extends Error {}

/** Whether nobody can change plain data. */
const isFixed = (data: unknown): boolean =>
  data === null ||
  typeof data !== "object" ||
  ((Array.isArray(data) || Object.getPrototypeOf(data) === Object.prototype) &&
    Object.isFrozen(data) &&
    Object.values(data).every(isFixed));

const copied = (attrs: unknown): unknown => {
  if (isFixed(attrs)) return attrs;
  try {
    return structuredClone(attrs);
  } catch {
    return attrs;
  }
};

let runs = 0;

export class Run extends LoopRecorder implements Tracer {
  readonly id = ++runs;
  /** Why the call is made eagerly: whatever becomes of the error in the function's own code. */
  abandoned: Abandoned | null = null;
  /** Made when a gradient leaves the function, as those of few do. */
  #flows: Flows | null = null;
  readonly outside = new Outside(this.id);
  /** What it changes of the library's own state. */
  readonly journal = new Journal();
  /** What it takes from there, for calls in which the function does not run; null where there are none. */
  readonly host: HostEvent[] | null;
  #isInEffect = false;
  /** The run has begun a backward pass that visits its nodes one by one, since user code runs in it. */
  #isRetracing = false;

  constructor(recorded: Recorded, root: Step, placeholders: Placeholders, args: readonly Tensor[], host: HostEvent[] | null = null) {
    super(recorded, root, placeholders, args);
    this.host = host;
  }

  get #ownFlows(): Flows {
    return (this.#flows ??= new Flows(this.name, this.placeholders, this.args));
  }

  /** Gradients that leave the call. */
  get continuations(): readonly Continuation[] {
    return this.#flows?.continuations ?? NO_CONTINUATIONS;
  }

  get moves(): readonly Move[] {
    return this.#flows?.moves ?? NO_MOVES;
  }

  /** Whether what flows on still finds what it needs at the end of the call. */
  get isPassable(): boolean {
    return this.#flows === null || this.#flows.isPassable;
  }

  /** Nothing of it was, or will be: all that it changed outside is as before. */
  undo(): void {
    this.outside.undo(true);
    this.journal.swap();
  }

  dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, records: boolean): Tensor[] {
    const writes = records && isWatching();
    if (this.recording === null) {
      const step = nextOperation(this.at, definition, inputs, attrs, records, writes);
      if (step !== null) {
        const { outputs } = step.event;
        this.at = step;
        if (writes) recordedBefore(outputs[0]!.node);
        return outputs.length === 1 ? [this.revived(outputs[0]!)] : outputs.map((m) => this.revived(m));
      }
      this.leave(definition.name);
    }
    const operands = inputs.map((t) => this.operand(definition.name, t));
    const specs = definition.infer(
      inputs.map((t) => ({ shape: t.shape, dtype: t.dtype })),
      attrs,
    );
    const isEmpty = inputs.some((t) => t.size === 0) || specs.some((s) => sizeOf(s.shape) === 0);
    if (isEmpty && definition.host === undefined && definition.whenEmpty === undefined && specs.some((s) => sizeOf(s.shape) !== 0))
      throw new ShapeError(
        definition.name,
        "tensor",
        "of at least one element along the reduced axes",
        inputs.map((t) => t.describe()).join(", "),
      );
    const device = inputs[0]!.device;
    const outputs = specs.map((s) => this.allocate(device, s));
    const origin = originOf(definition.name);
    if (records) record(definition, inputs, attrs, outputs);
    this.push({
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
    if (this.recording === null) {
      const step = nextView(this.at, definition, input, attrs, others, records);
      if (step !== null) {
        this.at = step;
        return this.revived(step.event.output);
      }
      this.leave(definition.name);
    }
    const seen = this.operand(definition.name, input);
    const operands = others.map((t) => this.operand(definition.name, t));
    const output = make();
    this.recorded.views.add(output);
    noteMade(output, this.recorded);
    this.push({
      kind: "view",
      definition: definition as unknown as ViewDefinition<never>,
      attrs: copied(attrs),
      input: seen,
      others: operands,
      records,
      output: madeAs(output, false),
      origin: originOf(definition.name),
    });
    return output;
  }

  create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
    if (this.recording === null) {
      const step = nextCreation(this.at, definition, device, attrs);
      if (step !== null) {
        this.at = step;
        return this.revived(step.event.output);
      }
      this.leave(definition.name);
    }
    this.requireDevice(definition.name, device);
    const output = this.allocate(device, definition.infer([], attrs)[0]!);
    this.push({
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
    const known = this.knownNumber("scalar", dtype);
    if (known !== null) return known;
    if (this.recording === null) {
      const step = nextScalar(this.at, device, dtype);
      if (step !== null) {
        const e = step.event;
        if (this.isChecking && !Object.is(this.values.get(e) ?? e.value, value))
          this.refuseInLoop("a number that changes from step to step");
        this.noteNumber(e);
        const differs = !Object.is(e.value, value);
        if (differs && !e.varies) this.vary(e);
        if (e.varies || differs || this.varied.has(e)) this.note(e, value);
        this.at = step;
        return this.revived(e.output);
      }
      this.leave(`the number ${value}`);
    }
    this.requireDevice("scalar", device);
    const output = this.allocate(device, { dtype, shape: [] });
    const event: Scalar = { kind: "scalar", device, dtype, value, varies: false, holder: null, output: made(output) };
    this.push(event);
    this.noteNumber(event);
    return output;
  }

  held(owner: object, device: Device, read: () => readonly number[]): Tensor[] {
    this.refuseInLoop("an optimizer's step");
    const events = read().map((value, index) => this.#held(owner, index, device, value));
    this.host?.push({ kind: "numbers", events, read });
    return events.map((e) => e.output.tensor);
  }

  #held(owner: object, index: number, device: Device, value: number): Scalar {
    if (this.recording === null) {
      const step = nextHeldScalar(this.at, device, owner, index);
      if (step !== null) {
        const e = step.event;
        this.note(e, value);
        this.at = step;
        this.revived(e.output);
        return e;
      }
      this.leave("a step of an optimizer");
    }
    this.requireDevice("scalar", device);
    const dtype = "float32";
    const output = made(this.allocate(device, { dtype, shape: [] }));
    const event: Scalar = { kind: "scalar", device, dtype, value, varies: true, holder: { owner, index }, output };
    this.push(event);
    return event;
  }

  effect<T>(run: () => T): T {
    if (this.#isInEffect) return run();
    refuseInBranch("a change of state that the host keeps", "Make it outside of cond().");
    this.refuseInLoop("a change of state that the host keeps");
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
    if (again !== undefined) this.refuseInLoop("data that the host makes for each call");
    const known = this.knownNumber("constant", dtype);
    if (known !== null) return known;
    const data = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (this.recording === null) {
      const step = nextConstant(this.at, device, dtype, shape);
      if (step !== null) {
        if (this.isChecking && !sameData(this.values.get(step.event) ?? step.event.bytes, data))
          this.refuseInLoop("data that change from step to step");
        this.noteNumber(step.event);
        this.at = step;
        this.note(step.event, data);
        if (again !== undefined) this.host?.push({ kind: "data", event: step.event, read: again });
        return this.revived(step.event.output);
      }
      this.leave("data");
    }
    this.requireDevice("tensor", device);
    const output = this.allocate(device, { dtype, shape });
    const event: Constant = { kind: "constant", device, dtype, shape: [...shape], bytes: data.slice(), output: made(output) };
    this.push(event);
    this.noteNumber(event);
    if (again !== undefined) this.host?.push({ kind: "data", event, read: again });
    return output;
  }

  assign(target: Tensor, source: Tensor): void {
    this.aliases.requireNoGradientView(target);
    this.#touchTarget(target);
    if (this.recording === null) {
      const step = nextAssignment(this.at, target, source);
      if (step !== null) {
        this.at = step;
        this.#wrote(target);
        return;
      }
      this.leave("an in-place operation");
    }
    this.requireOwnInLoop(target);
    const seen = [this.operand("assign", target), this.operand("assign", source)] as const;
    this.#wrote(target);
    this.push({ kind: "assign", target: seen[0], source: seen[1], origin: originOf("assign") });
  }

  rewrite(target: Tensor, value: Tensor, nodes: readonly TapeNode[], run: () => void): void {
    this.#touchTarget(target);
    if (target.viewOf !== null) this.#touchTarget(target.viewOf.base);
    this.aliases.requireNoView(target);
    if (this.recording !== null) {
      run();
      return;
    }
    const step = nextRewrite(this.at, target, value);
    if (step !== null) {
      this.at = step;
      follow(step.event, (written) => this.#wrote(written));
      return;
    }
    this.leave("an in-place operation");
    this.requireOwnInLoop(target);
    const seen = [this.operand("assign", target), this.operand("assign", value)] as const;
    const recording = (this.recording = new RegionRecording());
    try {
      run();
    } finally {
      this.recording = null;
    }
    const after = [...new Set([target.viewOf?.base ?? target, target])].map((t) => ({
      tensor: t,
      node: t.node,
      outputIndex: t.outputIndex,
    }));
    this.push({ kind: "rewrite", target: seen[0], value: seen[1], inner: recording.events, nodes, after });
    // What they save has another version before the write.
    for (const m of pathTo(this.at).flatMap(madeOf)) if (m.node !== null && nodes.includes(m.node)) m.isVersioned = true;
  }

  #touchTarget(target: Tensor): void {
    if (this.aliases.requireOwnStorage(target) || target.storage.trace === null) this.outside.touch(target);
  }

  read(operation: string, tensor: Tensor): never {
    throw new TraceError({
      operation,
      argument: tensor.describe(),
      expected: `read outside ${this.recorded.name}, which is being compiled: its data do not exist yet`,
      received: `a read ${callSite() ?? "inside it"}`,
      hint: "Return the tensor and read it from the result, or keep the decision on the device (where).",
    });
  }

  renew(view: Tensor): void {
    if (!this.isTraced(view)) this.outside.renew(view);
  }

  custom(node: TapeNode, inputs: readonly Tensor[]): TapeNode {
    this.refuseInLoop("a gradient of your own");
    if (this.recording === null) {
      const step = nextCustom(this.at, node, inputs);
      if (step !== null) {
        this.at = step;
        step.event.node.adopt(node);
        return step.event.node;
      }
      this.leave(node.name);
    }
    this.push({ kind: "custom", node, inputs: inputs.map((t) => this.operand(node.name, t)) });
    return node;
  }

  visit(node: TapeNode, frees: boolean): void {
    if (this.recording === null || (!node.isTraced && this.placeholders.boundary(node) < 0)) return;
    this.recording.visit(node, frees);
  }

  flowOut(ends: readonly FlowEnd[], flow: Flow, keep: (t: Tensor, grad: Tensor) => void): void {
    this.#ownFlows.out(ends, flow, keep);
  }

  isReached(leaf: Tensor, ends: readonly FlowEnd[]): boolean {
    return this.#ownFlows.isReached(leaf, ends);
  }

  searches(roots: readonly Tensor[], inputs: readonly Tensor[]): void {
    if (!this.#ownFlows.leadOutside(roots, inputs)) return;
    this.abandon(`grad() leads through a history that was made outside ${callSite() ?? ""}`.trim());
  }

  /** Ends the run: the call is made eagerly. */
  abandon(reason: string): never {
    throw (this.abandoned = new Abandoned(reason));
  }

  lost(undo: () => void, always = false): void {
    this.outside.onUndo(undo, always);
  }

  movesRetained(node: TapeNode, output: number): void {
    this.#ownFlows.moves.push({ node, output, after: this.continuations.length });
  }

  readGradient(t: Tensor): void {
    this.aliases.requireOwnGradient(t);
    if (this.recording === null) this.#flows?.read(t);
  }

  runsCode(): void {
    if (this.recording !== null) this.recording.hasCode = true;
  }

  region<T extends readonly (Tensor | null)[] | void>(
    owner: object,
    tensors: readonly (Tensor | null)[],
    guards: readonly unknown[],
    run: () => T,
  ): T {
    if (this.recording !== null) return run();
    this.refuseInLoop("a backward pass, or an optimizer's step");
    const step = nextRegion(this.at, owner, tensors, guards, isApplicable);
    if (step !== null) {
      const e = step.event;
      this.at = step;
      if (e.kind === "retraced") {
        this.#isRetracing = true;
        return run();
      }
      this.#skip(e);
      return e.results as T;
    }
    this.leave("backward() or an optimizer's step");
    const seen = tensors.map((t) => (t === null ? null : this.operand("backward", t)));
    const recording = (this.recording = new RegionRecording());
    const flowed = this.continuations.length;
    let results: T;
    let isComplete = false;
    try {
      results = run();
      isComplete = true;
    } finally {
      this.recording = null;
      if (recording.hasCode || !isComplete) {
        this.push({ kind: "retraced", owner, tensors: seen, guards: [...guards] });
        for (const event of recording.events) this.push(event);
      }
    }
    if (!recording.hasCode) {
      const own = (results as readonly (Tensor | null)[] | undefined) ?? null;
      this.push(recording.finish(owner, seen, guards, this.continuations.slice(flowed), own));
    }
    return results;
  }

  part<T extends readonly (Tensor | null)[]>(
    owner: object,
    tensors: readonly (Tensor | null)[],
    guards: readonly unknown[],
    run: () => T,
  ): T {
    // A loop's body is traced twice, and a branch notes what it makes. The error for a disposed tensor names the operation that uses it.
    if (this.isInLoop || isInBranch()) return run();
    for (const t of tensors) if (t?.isDisposed === true) return run();
    return this.region(owner, tensors, guards, run);
  }

  touchGradient(leaf: Tensor): void {
    if (this.recording === null) this.refuseInLoop("a change of a leaf's gradient");
    if (isInBranch() && !isOwn(leaf))
      refuseInBranch(`a change of the gradient of ${leaf.describe()}`, "Call backward() and zeroGrad() outside of cond(), or use grad().");
    if (this.recording === null && !this.#isRetracing && !this.outside.touched.has(leaf)) this.outside.replace(leaf);
    this.#noteGradient(leaf);
  }

  dropGradient(leaf: Tensor): void {
    this.outside.drop(leaf);
  }

  #noteGradient(leaf: Tensor): void {
    this.recording?.noteGradient(leaf);
    if (leaf.storage.trace === null || this.placeholders.indices.has(leaf.storage)) this.outside.touch(leaf);
  }

  #wrote(target: Target): void {
    this.#flows?.noteWrite();
    if (target.storage.trace !== null) wrote(target.storage);
    else this.outside.wrote(target);
  }

  protected override revived(made: Made): Tensor {
    // A backward pass tells its own tensors by their age.
    if (this.#isRetracing && made.ownsStorage) made.tensor.storage.birth = Storage.made++;
    return revive(made);
  }

  #skip(region: Region): void {
    for (const m of region.seen) this.revived(m);
    for (const target of region.written) this.#wrote(target);
    for (const { leaf, before, after } of region.effects) {
      this.#noteGradient(leaf);
      // A gradient that was accumulated in place is the same tensor.
      if (before === null || before.tensor !== after) leaf.grad = after;
    }
    if (region.continuations.length > 0) this.#ownFlows.add(region.continuations);
    finish(region.pass);
  }
}

const made = (t: Tensor): Made => madeAs(t, true);

/** By line, then by operation: a program has thousands of events, of few lines. */
const origins = new Map<string, Map<string, string>>();
const MAX_LINES = 4096;

/** The operation and the line that asked for it. */
function originOf(name: string): string {
  const site = callSite();
  if (site === null) return name;
  let ofLine = origins.get(site);
  if (ofLine === undefined) {
    if (origins.size >= MAX_LINES) origins.clear();
    origins.set(site, (ofLine = new Map<string, string>()));
  }
  let origin = ofLine.get(name);
  if (origin === undefined) ofLine.set(name, (origin = `${name} ${site}`));
  return origin;
}
