/** A compiled program, and its calls: by its recording, or over the arguments' own buffers. */
import { DTYPES, type DType } from "../core/dtype.ts";
import { fromNative } from "../core/errors.ts";
import type { Graph, Value as GraphValue } from "../graph/graph.ts";
import { fuseRegions, fuses, type FuseMode } from "../graph/passes/fuse/fuse.ts";
import { optimize } from "../graph/passes/optimize.ts";
import { isOneGraph, planGraph, type Plan, type Regions } from "../graph/plan/plan.ts";
import { reclaimSmallHeap, relieve, upload, withMemory } from "../runtime/buffers.ts";
import { elements } from "../core/elements.ts";
import type { KernelTime, Binding } from "../native/binding.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { Storage } from "../core/storage.ts";
import { announcingContainers, makeCode, type ContainerListener } from "../shader/dxbc/shader-program.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Event } from "./log.ts";
import type { LoweredInput } from "./path-graph.ts";
import { Notice } from "./notice.ts";
import { ProgramBuffers } from "./program-buffers.ts";
import { ArgumentCopy, noteWritten, Replay } from "./replay.ts";
import type { Tuner } from "./tuner.ts";
import { callSite } from "../host/call-site.ts";
import { inPhase } from "../host/phases.ts";
import type { BucketMapping } from "./variant.ts";

/** What of a call's varying numbers and data differs from the program's last call. */
export type Values = ReadonlyMap<Event, Value>;

export const NO_VALUES: Values = new Map();

/** What a program is made of. */
export interface Lowered {
  readonly graph: Graph;
  readonly inputs: readonly LoweredInput[];
  /** Bytes of what each output holds. */
  readonly contents: readonly number[];
  /** Arguments that the function writes to. */
  readonly written: readonly number[];
}

/** How a program is made. */
export interface ProgramOptions {
  readonly name: string;
  /** undefined leaves the choice between running and replaying to the program. */
  readonly lists: number | undefined;
  readonly regions: Regions | undefined;
  readonly fuse: FuseMode | undefined;
  /** Says which forms operations and regions take; null: what is known of the device does. */
  readonly tuner?: Tuner | null;
  /** Of the run that recorded it. */
  readonly notice?: Notice | null;
}

/** Inputs that are the same bytes in every call. */
const knownBytes = ({ inputs }: Lowered): ReadonlyMap<GraphValue, Uint8Array> =>
  new Map(
    inputs.flatMap(({ value, source }) => {
      if (source.kind !== "fixed") return [];
      const { buffer, byteOffset, byteLength } = source.bytes;
      return [[value, new Uint8Array(buffer, byteOffset, byteLength)] as const];
    }),
  );

/** Begins the pipelines of shaders in the background. */
function pipelinesOf({ id, binding, capabilities }: NativeDevice): ContainerListener {
  if (!capabilities.runsShaders || binding.preparePipeline === undefined) return () => {};
  return ({ bytes, views, uniforms }) => binding.preparePipeline!(id, bytes, views.length / 2, uniforms.length);
}

/** Handles in the addon: released by dispose(), or when the program is garbage. */
class NativeHandles {
  program = 0;
  recording = 0;
  readonly #native: NativeDevice;

  constructor(native: NativeDevice) {
    this.#native = native;
  }

  release(): void {
    const { program, recording } = this;
    this.program = this.recording = 0;
    if (this.#native.isClosed) return;
    if (recording !== 0) this.#native.binding.releaseRecording(recording);
    if (program !== 0) this.#native.binding.releaseProgram(program);
  }
}

const abandoned = new FinalizationRegistry<NativeHandles>((held) => held.release());

/**
 * A program of no more dispatches and buffers than this runs as an operation does, over the arguments' own buffers and into new ones:
 * recording its dispatches costs less than the copies around a replay.
 */
const FEW = { dispatches: 4, slots: 8 };

/**
 * Bytes of results per dispatch, by runtime, from which on a larger program runs without a recording too: copying the results takes longer than recording
 * the dispatches. The bound is higher for Microsoft's library, which records more slowly, over memory that copies faster.
 */
const LARGE_RESULTS: Readonly<Record<NativeDevice["runtime"], number>> = { software: 2 ** 16, gpu: 2 ** 20 };

/** Nodes from which on a program keeps no graph and no plan, which take megabytes then: they are made again for explain() and profiles. */
const LARGE = 512;

/** Whether what a large program was made of may still be there: V8 keeps it for long, since it has grown old. */
let leavesGarbage = false;
/** Before a program of so many events is made. */
export function collectBefore(events: number): void {
  if (!leavesGarbage || events < LARGE) return;
  leavesGarbage = false;
  reclaimSmallHeap();
}

/** The groups of steps between barriers. */
interface Groups {
  readonly count: number;
  /** By slot that steps write: how many groups there are up to the last of them. */
  readonly until: ReadonlyMap<number, number>;
}

function groupsOf({ steps }: Plan): Groups {
  const groups = [...new Set(steps.map((s) => s.group))].sort((a, b) => a - b);
  const numbers = new Map(groups.map((group, i) => [group, i + 1]));
  const until = new Map<number, number>();
  for (const s of steps)
    for (const range of "copy" in s ? [s.copy[1]] : s.outputs)
      if (range !== null) until.set(range[0], Math.max(until.get(range[0]) ?? 0, numbers.get(s.group)!));
  return { count: groups.length, until };
}

/** A graph that was lowered, after its passes, with its plan and the position of each result among the plan's outputs. */
function planned(
  native: NativeDevice,
  lowered: Lowered,
  name: string,
  regions: Regions | undefined,
  fuse: FuseMode | undefined,
  tuner: Tuner | null,
): { readonly graph: Graph; readonly plan: Plan; readonly positions: readonly number[] } {
  const optimized = inPhase("optimize", () => optimize(lowered.graph, native.capabilities, isOneGraph(native.capabilities, regions)));
  // Those of convolutions and products first: their pipelines take longest.
  makeCode(optimized.nodes.flatMap(({ shader }) => shader ?? []));
  const fused = fuses(native.capabilities, fuse, regions !== undefined)
    ? inPhase("fuse", () =>
        fuseRegions(
          optimized,
          native.capabilities,
          knownBytes(lowered),
          tuner === null ? null : (region, nodes, constants) => tuner.prefersRegion(region, nodes, constants),
        ),
      )
    : optimized;
  const distinct = [...new Map(fused.outputs.map((x) => [x.value, x])).values()];
  const positions = fused.outputs.map((x) => distinct.findIndex((d) => d.value === x.value));
  fused.outputs = distinct;
  return { graph: fused, plan: inPhase("plan", () => planGraph(fused, native.capabilities, name, regions)), positions };
}

type Made = Pick<ReturnType<typeof planned>, "graph" | "plan">;

/** planned(), later. A function of its own: a closure inside the constructor would keep the graph, since V8 gives all closures of a call one context. */
const remaking =
  (native: NativeDevice, remake: () => Lowered, name: string, regions: Regions | undefined, fuse: FuseMode | undefined): (() => Made) =>
  () =>
    planned(native, remake(), name, regions, fuse, null);

type Value = number | bigint | boolean | Uint8Array;

/**
 * Owns the program, its recording and the buffers it works in (arena, copies of inputs, outputs); keeps the state that the
 * function uses alive.
 */
export class CompiledProgram {
  readonly native: NativeDevice;
  readonly name: string;
  /** Null where it is made again when somebody asks. */
  #made: Made | null;
  #remake: (() => Made) | null;
  readonly #groups: Groups;
  /** Storages outside that it writes to. */
  readonly state: readonly Storage[];
  /** Arguments that it writes to. */
  readonly written: readonly number[];
  readonly #handles: NativeHandles;
  readonly #inputs: readonly LoweredInput[];
  readonly #replay: Replay;
  /** Handles and offsets for a run without a recording: those of arguments, state and results are set in each. Null: it is replayed. */
  #slots: Float64Array | null = null;
  #isSimple = false;
  /** Whether the last call was a replay. */
  #isReplayed = false;
  /** Whether the arguments of the last run without a recording start their buffers. */
  #startsBuffers = true;
  /** Arguments of the last run without a recording. */
  #lastArgs: readonly Tensor[] = [];
  readonly #buffers: ProgramBuffers;
  /** Bytes of the outputs, and the slot of each: equal ones share one. */
  readonly #outputs: readonly { readonly slot: number; readonly contentInBytes: number }[];
  readonly #stateInputs: readonly { readonly slot: number; readonly storage: Storage }[];
  readonly #arguments: readonly ArgumentCopy[];
  readonly #volatile: readonly { readonly slot: number; readonly event: Event; readonly dtype: DType; last: Value | null }[];
  #kernelTimes: readonly (readonly KernelTime[])[] | null = null;
  #disposed = false;

  /** remake: makes what it is made of again, so that a large program need not keep it. */
  constructor(
    native: NativeDevice,
    lowered: Lowered,
    { name, lists, regions, fuse, tuner = null, notice = null }: ProgramOptions,
    remake: (() => Lowered) | null = null,
  ) {
    this.native = native;
    const said = notice ?? new Notice(name);
    this.written = lowered.written;
    const { graph, plan, positions } = announcingContainers(pipelinesOf(native), () =>
      planned(native, lowered, name, regions, fuse, tuner),
    );
    this.name = name;
    this.#made = { graph, plan };
    this.#groups = groupsOf(plan);
    this.#inputs = [
      ...lowered.inputs,
      ...graph.inputs.slice(lowered.inputs.length).map((value): LoweredInput => ({
        value,
        source: { kind: "fixed", bytes: graph.constants.get(value)! },
      })),
    ];
    this.#outputs = positions.map((position, i) => ({ slot: this.#inputs.length + position, contentInBytes: lowered.contents[i] ?? 0 }));
    this.#stateInputs = lowered.inputs.flatMap(({ source }, slot) => (source.kind === "state" ? [{ slot, storage: source.storage }] : []));
    const written = new Set(graph.state.map((w) => w.buffer));
    this.state = lowered.inputs.flatMap(({ source, value }) => (source.kind === "state" && written.has(value) ? [source.storage] : []));
    this.#arguments = lowered.inputs.flatMap(({ source, value }, slot) =>
      source.kind === "argument" ? [new ArgumentCopy(slot, source.index, value.sizeInBytes, written.has(value))] : [],
    );
    this.#volatile = lowered.inputs.flatMap(({ source }, slot) =>
      source.kind === "volatile" ? [{ slot, event: source.event, dtype: source.event.dtype, last: null }] : [],
    );
    this.#handles = new NativeHandles(native);
    abandoned.register(this, this.#handles, this.#handles);
    this.#buffers = new ProgramBuffers(native, name, this.#inputs.length + plan.outputs.length + 1);
    this.#replay = new Replay({
      native,
      name,
      dispatches: plan.steps.length,
      lists,
      handles: this.#handles,
      buffers: this.#buffers,
      inputs: this.#inputs,
      arguments: this.#arguments,
      written: this.written,
      stateInputs: this.#stateInputs,
      outputBytes: plan.outputs,
      outputs: this.#outputs,
    });
    for (const { storage } of this.#stateInputs) {
      storage.retain();
      storage.programs++;
    }
    try {
      said.compiles(graph.nodes.length);
      this.#make(name);
      if (lists === undefined && (this.#hasFew || this.#hasLarge)) this.#slots = this.#ownSlots();
      this.#isSimple =
        this.#inputs.length <= FEW.slots && this.#outputs.length === 1 && plan.outputs.length === 1 && plan.presets.length === 0;
    } catch (error) {
      this.dispose();
      throw error;
    }
    // What tune chose then may be chosen otherwise now.
    const isDropped = remake !== null && tuner === null && graph.nodes.length >= LARGE;
    this.#remake = isDropped ? remaking(native, remake, name, regions, fuse) : null;
    if (isDropped) this.#made = null;
    leavesGarbage ||= isDropped;
  }

  get graph(): Graph {
    return this.#remade.graph;
  }

  get description(): Plan {
    return this.#remade.plan;
  }

  /** Nobody asks for its graph: it is not made again. */
  forget(): void {
    this.#remake = null;
  }

  get #remade(): Made {
    return (this.#made ??= this.#remake!());
  }

  /** Whether it holds its graph and its plan now. */
  get keepsGraph(): boolean {
    return this.#made !== null;
  }

  get barriers(): number {
    return Math.max(0, this.#groups.count - 1);
  }

  info(): ReturnType<Binding["programInfo"]> {
    return this.native.binding.programInfo(this.#handles.program);
  }

  /** What the last profile() found of the kernels of each dispatchable. */
  get kernelTimes(): readonly (readonly KernelTime[])[] | null {
    return this.#kernelTimes;
  }

  /** How many groups of steps there are up to the last one that writes a state. */
  #groupsUntil(state: Storage): number {
    const slot = this.#stateInputs.find(({ storage }) => storage === state)?.slot;
    return (slot === undefined ? undefined : this.#groups.until.get(slot)) ?? this.#groups.count;
  }

  /** From the next replay on, a part of the recording ends as soon as each of these states is written: then it can be taken. */
  cutBehind(states: readonly Storage[]): void {
    const count = this.barriers + 1;
    const cuts = [...new Set(states.map((s) => this.#groupsUntil(s)))].filter((n) => n < count).sort((a, b) => a - b);
    this.#replay.cutAt(cuts);
    // Only a recording has parts.
    if (cuts.length > 0 && !this.#hasFew) this.#slots = null;
  }

  /** The recording of the last call, 0 where it had none, and its part that wrote each state. */
  partsOf(states: readonly Storage[]): { readonly recording: number; readonly parts: readonly number[] } {
    const recording = this.#isReplayed ? this.#handles.recording : 0;
    return { recording, parts: states.map((s) => this.#replay.partUntil(this.#groupsUntil(s))) };
  }

  /**
   * Seconds of each dispatch on the device, in the order of the description's steps, and of each dispatchable's kernels. Runs it as it was
   * called last. isPart: of a schedule, where some of what it was called with is gone: it runs on any bytes then.
   */
  profile(isPart = false): ReturnType<Binding["profile"]> {
    this.#replay.record();
    for (const a of this.#arguments) {
      const t = this.#lastArgs[a.index];
      if (t === undefined || (isPart && t.isDisposed)) continue;
      t.requireLive(`${this.name}: profileSync`, "argument of the last call");
      this.native.binding.copy(t.storage.handle, t.offset * DTYPES[t.dtype].sizeInBytes, this.#buffers.handle(a.slot), 0, a.sizeInBytes);
      a.remember(t);
    }
    try {
      const times = this.native.binding.profile(this.#handles.recording);
      this.#kernelTimes = times.kernels;
      return times;
    } catch (error) {
      throw fromNative(`${this.name}: profileSync`, error);
    }
  }

  /**
   * Runs on these arguments; returns new storages of the outputs. Values of written arguments go to the arguments. mapping: how arguments and results
   * of smaller sizes map to the program's.
   */
  call(args: readonly Tensor[], values: Values, mapping: BucketMapping | null = null): Storage[] {
    relieve();
    this.#write(values);
    this.#isReplayed = mapping !== null || this.#slots === null || !this.#bind(this.#slots, args);
    if (!this.#isReplayed) return this.#run(this.#slots!, args);
    this.#lastArgs = [];
    return this.#replay.call(args, mapping);
  }

  /** Sets the handles and offsets of the arguments; false where the program cannot read one of them in its own buffer. */
  #bind(slots: Float64Array, args: readonly Tensor[]): boolean {
    this.#startsBuffers = true;
    for (const a of this.#arguments) {
      const t = args[a.index]!;
      if (!a.mayBind(t)) return false;
      slots[2 * a.slot] = t.storage.handle;
      slots[2 * a.slot + 1] = t.offset === 0 ? 0 : t.offset * DTYPES[t.dtype].sizeInBytes;
      this.#startsBuffers &&= t.offset === 0;
    }
    return true;
  }

  get #hasFew(): boolean {
    const { steps, inputs, outputs } = this.description;
    return this.#hasOwnResults && steps.length <= FEW.dispatches && inputs.length + outputs.length <= FEW.slots;
  }

  get #hasLarge(): boolean {
    const bytes = this.#outputs.reduce((sum, o) => sum + o.contentInBytes, 0);
    return this.#hasOwnResults && bytes >= this.description.steps.length * LARGE_RESULTS[this.native.runtime];
  }

  /** Whether each result has a buffer of its own: equal ones are copied out of one. */
  get #hasOwnResults(): boolean {
    return new Set(this.#outputs.map((o) => o.slot)).size === this.#outputs.length;
  }

  #ownSlots(): Float64Array {
    const slots = new Float64Array(2 * this.#buffers.slots);
    for (let i = 0; i < this.#buffers.slots; i++) slots[2 * i] = this.#buffers.handle(i);
    return slots;
  }

  #run(slots: Float64Array, args: readonly Tensor[]): Storage[] {
    for (const { slot, storage } of this.#stateInputs) slots[2 * slot] = storage.handle;
    this.#lastArgs = args;
    const storages: Storage[] = [];
    for (const o of this.#outputs) storages.push(new Storage(this.native.device, o.contentInBytes));
    try {
      this.#dispatch(slots, storages);
    } catch {
      withMemory(this.name, () => this.#dispatch(slots, storages));
    }
    noteWritten(this.written, args);
    return storages;
  }

  #dispatch(slots: Float64Array, storages: readonly Storage[]): void {
    if (this.#startsBuffers && this.#isSimple) this.#runSimple(slots, storages);
    else this.#execute(slots, storages);
  }

  /** What the addon's `run` does: one output, inputs that start their buffers. */
  #runSimple(slots: Float64Array, [result]: readonly Storage[]): void {
    const { binding } = this.native;
    const { program } = this.#handles;
    const count = this.#inputs.length;
    if (count === 1) result!.handle = binding.run(program, result!, slots[0]!);
    else if (count === 2) result!.handle = binding.run(program, result!, slots[0]!, slots[2]!);
    else result!.handle = binding.run(program, result!, ...Array.from({ length: count }, (_, i) => slots[2 * i]!));
  }

  #execute(slots: Float64Array, storages: readonly Storage[]): void {
    for (const { slot } of this.#outputs) slots[2 * slot] = 0;
    this.native.binding.execute(this.#handles.program, slots, storages);
    for (let i = 0; i < storages.length; i++) storages[i]!.handle = slots[2 * this.#outputs[i]!.slot]!;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    abandoned.unregister(this.#handles);
    this.#handles.release();
    this.#buffers.release();
    for (const { storage } of this.#stateInputs) {
      storage.programs--;
      storage.release();
    }
  }

  /** Makes the program in the addon and the buffers that it works in. */
  #make(name: string): void {
    const { native, description } = this;
    const site = callSite();
    const named = { ...description, name: site === null ? name : `${name} ${site}` };
    this.#handles.program = inPhase("pipelines", () => withMemory(name, () => native.binding.createProgram(native.id, named)));
    const scratch = this.#inputs.length + description.outputs.length;
    this.#inputs.forEach(({ source, value }, slot) => {
      if (source.kind === "fixed") this.#buffers.own(slot, upload(native, source.bytes, name));
      else if (source.kind === "volatile") this.#buffers.allocate(slot, value.sizeInBytes);
    });
    this.#buffers.allocate(scratch, description.scratch);
    for (const { offset, bytes } of description.presets) this.#buffers.write(scratch, offset, bytes);
    this.#write(new Map(this.#volatile.map(({ event }) => [event, initialValue(event)])));
  }

  #write(values: Values): void {
    if (values.size === 0) return;
    for (const input of this.#volatile) {
      const now = values.get(input.event);
      if (now === undefined || (Object.is(now, input.last) && !(now instanceof Uint8Array))) continue;
      this.#buffers.write(input.slot, 0, now instanceof Uint8Array ? now : elements(input.dtype, [now]));
      input.last = now;
    }
  }
}

const initialValue = (event: Event): Value => (event.kind === "scalar" ? event.value : event.kind === "constant" ? event.bytes : 0);
