/** A traced function as a recorded program: its buffers, its recording, and a call of it. */
import { internDesc, Storage, type Desc } from "../storage.ts";
import { DTYPES } from "../dtype.ts";
import { allocate, relieve, upload, withMemory } from "../runtime/buffers.ts";
import { elements } from "../runtime/constants.ts";
import { contiguousOp } from "../runtime/assign.ts";
import { runEager } from "../runtime/eager.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { fromNative } from "../errors.ts";
import { outsideScopes } from "../scope.ts";
import { Tensor } from "../tensor.ts";
import type { Check } from "./check.ts";
import { callerPlace } from "./place.ts";
import { optimize } from "../graph/optimize.ts";
import { isOneGraph, planGraph, type Plan, type Regions } from "../graph/plan/plan.ts";
import type { Trace, TracedInput } from "./trace.ts";
import type { Graph } from "../graph/graph.ts";

/** The program's own copy of one of the function's arguments, and what of it lies there since the last call. */
class ArgumentCopy {
  readonly slot: number;
  readonly index: number;
  readonly sizeInBytes: number;
  #storage: WeakRef<Storage> | null = null;
  #desc: Desc | null = null;
  #offset = 0;
  #version = 0;

  constructor(slot: number, index: number, sizeInBytes: number) {
    this.slot = slot;
    this.index = index;
    this.sizeInBytes = sizeInBytes;
  }

  holds(t: Tensor): boolean {
    return (
      this.#desc === t.desc && this.#offset === t.offset && this.#version === t.storage.version && this.#storage?.deref() === t.storage
    );
  }

  remember(t: Tensor): void {
    this.#storage = new WeakRef(t.storage);
    this.#desc = t.desc;
    this.#offset = t.offset;
    this.#version = t.storage.version;
  }
}

/**
 * Owns the program, its recording and the buffers it works in (arena, copies of inputs, outputs); keeps the state that the
 * function uses alive. Recorded again when a state cell was repointed from outside.
 */
export class CompiledProgram {
  readonly native: NativeDevice;
  readonly graph: Graph;
  readonly description: Plan;
  readonly #id: number;
  readonly #inputs: readonly TracedInput[];
  readonly #lists: number;
  /** The buffer of each slot that the program owns; state cells are null. */
  readonly #buffers: readonly (Storage | null)[];
  readonly #outputs: readonly Desc[];
  readonly #written: readonly Storage[];
  readonly #state: readonly { readonly slot: number; readonly storage: Storage }[];
  #recording = 0;
  /** Handles that the recording was made with, by slot. */
  #recorded: number[] = [];
  /** Storage.repoints when the state was last seen to lie where it was recorded. */
  #seenRepoints = -1;
  readonly #arguments: readonly ArgumentCopy[];
  readonly #volatile: readonly { readonly slot: number; readonly event: number }[];
  #disposed = false;

  constructor(native: NativeDevice, trace: Trace, name: string, lists: number, regions?: Regions) {
    this.native = native;
    const graph = optimize(trace.graph, native.capabilities, isOneGraph(native.capabilities, regions));
    this.graph = graph;
    this.description = planGraph(graph, native.capabilities, name, regions);
    this.#inputs = [
      ...trace.inputs,
      ...graph.inputs.slice(trace.inputs.length).map((value): TracedInput => ({
        value,
        source: { kind: "fixed", bytes: graph.constants.get(value)! },
      })),
    ];
    this.#lists = lists;
    try {
      const place = callerPlace();
      this.#id = native.binding.createProgram(native.id, { ...this.description, name: place === null ? name : `${name} ${place}` });
    } catch (error) {
      throw fromNative(name, error);
    }
    this.#outputs = graph.outputs.map((x, i) => internDesc(native.device, x.dtype, trace.results[i]!.shape));
    this.#state = trace.inputs.flatMap((input, slot) => (input.source.kind === "state" ? [{ slot, storage: input.source.storage }] : []));
    for (const { storage } of this.#state) storage.retain();
    const cells = new Set(graph.state.map((w) => w.cell));
    this.#written = trace.inputs.flatMap((input) =>
      input.source.kind === "state" && cells.has(input.value) ? [input.source.storage] : [],
    );
    const sized = (bytes: number): Storage | null => (bytes === 0 ? null : this.#own(allocate(native, bytes, name, true)));
    this.#buffers = [
      ...this.#inputs.map((input) => {
        if (input.source.kind === "state") return null;
        if (input.source.kind === "fixed") return this.#own(upload(native, input.source.bytes, name));
        return sized(input.value.sizeInBytes);
      }),
      ...this.description.outputs.map(sized),
      sized(this.description.scratch),
    ];
    this.#arguments = trace.inputs.flatMap(({ source, value }, slot) =>
      source.kind === "argument" ? [new ArgumentCopy(slot, source.index, value.sizeInBytes)] : [],
    );
    this.#volatile = trace.inputs.flatMap(({ source }, slot) => (source.kind === "volatile" ? [{ slot, event: source.event }] : []));
    this.#fillConstants(trace);
  }

  get barriers(): number {
    return Math.max(0, new Set(this.description.steps.map((s) => s.group)).size - 1);
  }

  info(): { descriptors: number; temporaryInBytes: number; persistentInBytes: number; operators: number } {
    return this.native.binding.programInfo(this.#id);
  }

  /** Seconds of each dispatch on the device, in the order of the description's steps. Runs it as it was called last. */
  profile(): Float64Array {
    this.#record();
    try {
      return this.native.binding.profile(this.#recording);
    } catch (error) {
      throw fromNative(`${this.description.name}: profileSync`, error);
    }
  }

  /**
   * Runs on these arguments, of which it copies those that are not as they were at the last call; returns new tensors for the outputs.
   * `volatile`: numbers and data that differ from the last call.
   */
  replay(given: readonly Tensor[], volatile: Check["volatile"] | null): Tensor[] {
    relieve();
    const { binding } = this.native;
    const name = this.description.name;
    this.#record();
    const stale = this.#arguments.filter((a) => !a.holds(given[a.index]!));
    const temporary: Tensor[] = [];
    const copies = stale.flatMap(({ slot, index, sizeInBytes }) => {
      const t = given[index]!;
      const packed = t.desc.isPacked ? t : outsideScopes(() => runEager(contiguousOp, [t], undefined)[0]!);
      if (packed !== t) temporary.push(packed);
      return [packed.storage.handle, packed.offset * DTYPES[t.dtype].sizeInBytes, this.#buffers[slot]!.handle, 0, sizeInBytes];
    });
    if (volatile !== null)
      for (const { slot, event } of this.#volatile) {
        const now = volatile.get(event);
        if (now !== undefined)
          binding.write(this.#buffers[slot]!.handle, 0, now instanceof Uint8Array ? now : elements(now.dtype, [now.value]));
      }
    const first = this.#inputs.length;
    const storages = this.#outputs.map((d) => new Storage(this.native.device, d.sizeInBytes));
    const outputs = storages.flatMap((s, i) => [this.#buffers[first + i]!.handle, 0, s.sizeInBytes]);
    const results = new Float64Array(storages.length);
    withMemory(name, () => binding.replay(this.#recording, Float64Array.from(copies), Float64Array.from(outputs), storages, results));
    storages.forEach((s, i) => {
      s.handle = results[i]!;
    });
    for (const a of stale) a.remember(given[a.index]!);
    for (const s of this.#written) s.version++;
    for (const t of temporary) t.dispose();
    return storages.map((s, i) => new Tensor(s, this.#outputs[i]!));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    if (!this.native.isClosed) {
      if (this.#recording !== 0) this.native.binding.releaseRecording(this.#recording);
      this.native.binding.releaseProgram(this.#id);
    }
    for (const b of this.#buffers) b?.release();
    for (const { storage } of this.#state) storage.release();
  }

  #own(storage: Storage): Storage {
    storage.retain();
    return storage;
  }

  /** Numbers and data that were inputs from the start hold their first values, scratch memory what no node writes. */
  #fillConstants(trace: Trace): void {
    const scratch = this.#buffers.at(-1);
    for (const { offset, bytes } of this.description.presets) this.native.binding.write(scratch!.handle, offset, bytes);
    this.#inputs.forEach(({ source }, slot) => {
      if (source.kind !== "volatile") return;
      const event = trace.events[source.event]!;
      const bytes = event.kind === "scalar" ? elements(event.dtype, [event.value]) : event.kind === "constant" ? event.bytes : null;
      if (bytes !== null) this.native.binding.write(this.#buffers[slot]!.handle, 0, bytes);
    });
  }

  /** Makes the recording, or makes it anew when a state cell has another buffer than before. */
  #record(): void {
    if (this.#recording !== 0) {
      if (this.#seenRepoints === Storage.repoints) return;
      this.#seenRepoints = Storage.repoints;
      if (this.#state.every(({ slot, storage }) => this.#recorded[slot] === storage.handle)) return;
    }
    const { binding } = this.native;
    if (this.#recording !== 0) binding.releaseRecording(this.#recording);
    this.#recording = 0;
    this.#recorded = this.#buffers.map((b, slot) => {
      const input = this.#inputs[slot];
      return input?.source.kind === "state" ? input.source.storage.handle : (b?.handle ?? 0);
    });
    const slots = new Float64Array(2 * this.#recorded.length);
    this.#recorded.forEach((handle, i) => {
      slots[2 * i] = handle;
    });
    this.#recording = withMemory(this.description.name, () => binding.record(this.#id, slots, this.#lists));
  }
}
