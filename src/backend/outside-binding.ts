/**
 * The addon's interface (native/binding.ts) over a device of a backend from outside, so that eager calls, compiled programs, optimizers and files
 * work on it as they are. A failure of the backend's is one of the addon's: it never ends the process.
 */
import type {
  Binding,
  Counters,
  DeviceMemory,
  DeviceTiming,
  DeviceOptions,
  Handle,
  OperationCall,
  ProgramDescription,
} from "../native/binding.ts";
import { asFailure, failure } from "./failure.ts";
import type { BackendDevice, BackendKernel, BackendMemory, BackendRange } from "./interface.ts";
import { NodeFallback, type HostCopies } from "./node-fallback.ts";
import { shown } from "./outside-call.ts";
import { addOutside, forgetOutside, outsideBuffer, releaseOutside, type MemoryOwner, type OutsideBuffer } from "./outside-memory.ts";
import { OutsideProgram, boundAll, kernelsOf, type OutsideStep } from "./outside-program.ts";
import type { NativeDevice } from "./provider.ts";

/** What the runtime does for it. */
export interface Runtime {
  /** The addon, whose pressure counts memory. */
  readonly addon: Binding;
  /** The device that runs what this one has no kernel for. */
  software(): NativeDevice;
  /** Counts a node that falls back; throws in strict mode. */
  noteFallback(operation: string, inputs: string, reason: string): void;
  /** Throws in strict mode; counts nothing. */
  requireFallback(operation: string, inputs: string, reason: string): void;
}

type Slots = readonly (BackendRange | null)[];

/** What startTiming() has begun. */
interface Timing {
  readonly start: number;
  works: number;
  readonly rows: number[];
}

/** Memory is given in blocks, so that reads may end behind a tensor's last word. */
const BLOCK = 16;

export class OutsideBinding implements MemoryOwner {
  readonly #backend: string;
  readonly #device: BackendDevice;
  readonly #runtime: Runtime;
  readonly #programs = new Map<number, OutsideProgram>();
  readonly #recordings = new Map<number, { readonly program: number; readonly slots: Slots }>();
  readonly #known = new Map<string, BackendKernel | null>();
  readonly #copies: HostCopies = {
    read: ({ memory, offset, size }) => this.#bytes(this.#device.readSync(memory, offset, size), size),
    write: ({ memory, offset }, bytes) => this.#device.write(memory, offset, bytes),
  };
  readonly #counts = { dispatches: 0, replays: 0, replayCopies: 0, copies: 0, uploads: 0, readbacks: 0, operators: 0, runs: 0 };
  #limit: number | undefined;
  #live = { bytes: 0, buffers: 0, peak: 0 };
  #ids = 0;
  #timing: Timing | null = null;

  constructor(backend: string, device: BackendDevice, runtime: Runtime, options: DeviceOptions) {
    this.#backend = backend;
    this.#device = device;
    this.#runtime = runtime;
    this.#limit = options.memoryLimitInBytes;
  }

  get addon(): Binding {
    return this.#runtime.addon;
  }

  /** Calls the backend. */
  #ask<T>(call: string, operator: string | null, ask: () => T): T {
    try {
      return ask();
    } catch (error) {
      throw asFailure(this.#backend, call, operator, error);
    }
  }

  #bytes(bytes: unknown, size: number): Uint8Array {
    if (bytes instanceof Uint8Array && bytes.byteLength === size) return bytes;
    throw failure(
      "internal",
      `read gave ${bytes instanceof Uint8Array ? `${bytes.byteLength} bytes` : typeof bytes} instead of ${size} bytes`,
    );
  }

  #allocate(sizeInBytes: number): BackendMemory {
    if (this.#limit !== undefined && this.#live.bytes + sizeInBytes > this.#limit)
      throw failure("outOfMemory", `${this.#backend}: ${sizeInBytes} bytes go beyond the limit of ${this.#limit}`, "allocate");
    const memory: unknown = this.#ask("allocate", null, () => this.#device.allocate(sizeInBytes));
    if (typeof memory !== "object" || memory === null)
      throw failure("internal", `${this.#backend}: allocate gave ${typeof memory}, no object`, "allocate");
    return memory;
  }

  #free(memory: BackendMemory): void {
    // A device that was removed may throw; its memory is gone with it.
    try {
      this.#device.free(memory);
    } catch {
      return;
    }
  }

  drop({ memory, sizeInBytes }: OutsideBuffer): void {
    this.#live.bytes -= sizeInBytes;
    this.#live.buffers--;
    this.#free(memory);
  }

  #rangeOf(handle: Handle, offset: number, size: number): BackendRange {
    const { owner, memory, sizeInBytes } = outsideBuffer(handle);
    if (owner !== this) throw failure("invalid", `buffer ${handle} is on another device`);
    if (offset < 0 || size < 0 || offset + size > sizeInBytes)
      throw failure("invalid", `bytes ${offset} to ${offset + size} lie outside the buffer of ${sizeInBytes}`);
    return { memory, offset, size };
  }

  #wholeFrom(handle: Handle, offset: number, least: number): BackendRange {
    const { sizeInBytes } = outsideBuffer(handle);
    return this.#rangeOf(handle, offset, Math.max(least, sizeInBytes - offset));
  }

  allocate(_: number, sizeInBytes: number, owner: object): Handle {
    const size = Math.ceil(sizeInBytes / BLOCK) * BLOCK;
    const memory = this.#allocate(size);
    const handle = addOutside({ owner: this, memory, sizeInBytes: size }, owner);
    const live = this.#live;
    live.bytes += size;
    live.buffers++;
    live.peak = Math.max(live.peak, live.bytes);
    return handle;
  }

  upload(device: number, bytes: ArrayBufferView, owner: object): Handle {
    const handle = this.allocate(device, bytes.byteLength, owner);
    try {
      this.write(handle, 0, bytes);
    } catch (error) {
      this.release(handle);
      throw error;
    }
    return handle;
  }

  write(handle: Handle, offset: number, bytes: ArrayBufferView): void {
    const { memory } = this.#rangeOf(handle, offset, bytes.byteLength);
    this.#counts.uploads++;
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#ask("write", null, () => this.#device.write(memory, offset, view));
  }

  copy(from: Handle, fromOffset: number, to: Handle, toOffset: number, sizeInBytes: number): void {
    if (from === to && fromOffset === toOffset) return;
    this.#copy(this.#rangeOf(from, fromOffset, sizeInBytes), this.#rangeOf(to, toOffset, sizeInBytes));
  }

  #copy(from: BackendRange, to: BackendRange): void {
    this.#counts.copies++;
    this.#ask("copy", null, () => this.#device.copy(from, to));
  }

  /** A new buffer with bytes of another device of the backend's; null where they have to go through the host. */
  receive(peer: Binding, handle: Handle, offset: number, sizeInBytes: number, owner: object): Handle | null {
    if (!(peer instanceof OutsideBinding) || peer.#backend !== this.#backend || this.#device.copyFrom === undefined) return null;
    const from = peer.#rangeOf(handle, offset, sizeInBytes);
    const made = this.allocate(0, sizeInBytes, owner);
    try {
      const to = this.#rangeOf(made, 0, sizeInBytes);
      if (this.#ask("copyFrom", null, () => this.#device.copyFrom!(peer.#device, from, to))) return made;
    } catch (error) {
      this.release(made);
      throw error;
    }
    this.release(made);
    return null;
  }

  async read(handle: Handle, offset: number, sizeInBytes: number): Promise<ArrayBuffer> {
    const { memory } = this.#rangeOf(handle, offset, sizeInBytes);
    this.#counts.readbacks++;
    try {
      return ownBuffer(this.#bytes(await this.#device.read(memory, offset, sizeInBytes), sizeInBytes));
    } catch (error) {
      throw asFailure(this.#backend, "read", null, error);
    }
  }

  readSync(handle: Handle, offset: number, sizeInBytes: number): ArrayBuffer {
    const range = this.#rangeOf(handle, offset, sizeInBytes);
    this.#counts.readbacks++;
    return ownBuffer(this.#ask("readSync", null, () => this.#copies.read(range)));
  }

  readInto(handle: Handle, offset: number, into: Uint8Array): void {
    const range = this.#rangeOf(handle, offset, into.byteLength);
    this.#counts.readbacks++;
    into.set(this.#ask("readSync", null, () => this.#copies.read(range)));
  }

  release(handle: Handle): void {
    releaseOutside(handle);
  }

  #kernel(call: "prepare" | "prepareOperation", name: string, ask: () => BackendKernel | null): BackendKernel | null {
    const kernel = this.#ask(call, name, ask);
    if (kernel !== null && typeof kernel?.run !== "function")
      throw failure("internal", `${this.#backend}: ${call} gave no kernel`, call, name);
    this.#counts.operators++;
    return kernel;
  }

  /** The device's kernel for a whole operation; null where it has none. */
  prepareOperation(call: OperationCall): BackendKernel | null {
    return this.#kernel("prepareOperation", call.operation, () => this.#device.prepareOperation!(call));
  }

  createProgram(_: number, description: ProgramDescription): number {
    const prepare = (call: Parameters<BackendDevice["prepare"]>[0]): BackendKernel | null => {
      if (!this.#device.operators.includes(call.operator)) return null;
      const key = JSON.stringify(call, (_key, v: unknown) =>
        typeof v === "bigint" ? `${v}n` : typeof v === "number" && !Number.isFinite(v) ? String(v) : v,
      );
      let kernel = this.#known.get(key);
      if (kernel !== undefined) return kernel;
      kernel = this.#kernel("prepare", call.operator, () => this.#device.prepare(call));
      this.#known.set(key, kernel);
      if (this.#known.size > MAX_KERNELS) this.#known.delete(this.#known.keys().next().value!);
      return kernel;
    };
    const made = new OutsideProgram(
      description,
      prepare,
      (steps) => this.#ask("prepareProgram", null, () => this.#device.prepareProgram?.(steps) ?? null),
      () => this.#runtime.software(),
    );
    this.#programs.set(++this.#ids, made);
    return this.#ids;
  }

  #program(id: number): OutsideProgram {
    const found = this.#programs.get(id);
    if (found === undefined) throw failure("invalid", `program ${id} is not there: it was released, or its device was closed`);
    return found;
  }

  releaseProgram(id: number): void {
    this.#program(id).release();
    this.#programs.delete(id);
  }

  programInfo(id: number): ReturnType<Binding["programInfo"]> {
    const { dispatchables } = this.#program(id).description;
    return {
      descriptors: 0,
      temporaryInBytes: 0,
      persistentInBytes: 0,
      operators: dispatchables.length,
      kernels: dispatchables.map(() => []),
    };
  }

  run(program: number, owner: object, ...inputs: Handle[]): Handle {
    const slots = new Float64Array(2 * inputs.length + 4);
    inputs.forEach((handle, i) => (slots[2 * i] = handle));
    this.execute(program, slots, [owner]);
    return slots[2 * inputs.length]!;
  }

  execute(id: number, slots: Float64Array, owners: readonly (object | null)[]): void {
    const program = this.#program(id);
    const { inputs, outputs, scratch } = program.description;
    const made: number[] = [];
    let own: BackendRange | null = null;
    try {
      outputs.forEach((size, i) => {
        const at = 2 * (inputs.length + i);
        if (slots[at] !== 0) return;
        slots[at] = this.allocate(0, size, owners[i]!);
        made.push(at);
      });
      // Memory of one call: programs that are kept would hold it while they do nothing.
      if (scratch > 0 && slots[2 * (inputs.length + outputs.length)] === 0)
        own = { memory: this.#allocate(Math.ceil(scratch / BLOCK) * BLOCK), offset: 0, size: scratch };
      this.#run(program, this.#slots(program, slots, own));
    } catch (error) {
      for (const at of made) {
        this.release(slots[at]!);
        slots[at] = 0;
      }
      throw error;
    } finally {
      if (own !== null) this.#free(own.memory);
    }
  }

  /** Handles and offsets in pairs as ranges; `own` is the scratch memory where the last pair has none. */
  #slots({ description: { inputs, outputs, scratch } }: OutsideProgram, slots: Float64Array, own: BackendRange | null = null): Slots {
    const least = [...inputs, ...outputs, scratch];
    return least.map((size, i) => {
      const handle = slots[2 * i]!;
      // Scratch memory is the only one that may be without a handle.
      const isOwn = handle === 0 && i === least.length - 1 && (own !== null || scratch === 0);
      return isOwn ? own : this.#wholeFrom(handle, slots[2 * i + 1]!, size);
    });
  }

  /** Refuses in strict mode what falls back, before anything of the program has run or written to state. */
  #requireFallbacks({ steps }: OutsideProgram): void {
    for (const step of steps)
      if (step.kind === "dispatch" && step.prepared instanceof NodeFallback) this.#runtime.requireFallback(...describedFallback(step));
  }

  #run(program: OutsideProgram, slots: Slots): void {
    this.#requireFallbacks(program);
    this.#counts.runs++;
    if (this.#timing !== null) {
      this.#runTimed(program, slots, this.#timing);
      return;
    }
    if (program.whole !== null) {
      this.#counts.dispatches += program.steps.length;
      this.#ask("run", program.description.name, () => program.whole!.run(slots));
      return;
    }
    for (const step of program.steps) this.#step(step, slots);
  }

  #step(step: OutsideStep, slots: Slots): void {
    if (step.kind === "copy") {
      const [from, to] = boundAll([step.from, step.to], slots);
      this.#copy(from!, to!);
      return;
    }
    this.#counts.dispatches++;
    const { prepared } = step;
    if (prepared instanceof NodeFallback) {
      this.#runtime.noteFallback(...describedFallback(step));
      this.#ask("run", prepared.call.operator, () =>
        prepared.run(boundAll(step.inputs, slots), boundAll(step.outputs, slots), this.#copies),
      );
      return;
    }
    const operator = prepared[0]!.name;
    for (const part of kernelsOf(step))
      if ("kernel" in part) this.#ask("run", operator, () => part.kernel.run(boundAll(part.inputs, slots), boundAll(part.outputs, slots)));
  }

  record(program: number, slots: Float64Array): number {
    this.#recordings.set(++this.#ids, { program, slots: this.#slots(this.#program(program), slots) });
    return this.#ids;
  }

  #recording(id: number): { readonly program: OutsideProgram; readonly slots: Slots } {
    const found = this.#recordings.get(id);
    if (found === undefined) throw failure("invalid", `recording ${id} is not there: it was released, or its device was closed`);
    return { program: this.#program(found.program), slots: found.slots };
  }

  replay(recording: number, inputs: Float64Array, outputs: Float64Array, owners: readonly object[], results: Float64Array): void {
    const { program, slots } = this.#recording(recording);
    const made: Handle[] = [];
    try {
      for (let i = 0; i < inputs.length; i += 5) this.copy(inputs[i]!, inputs[i + 1]!, inputs[i + 2]!, inputs[i + 3]!, inputs[i + 4]!);
      this.#run(program, slots);
      for (let i = 0; i < owners.length; i++) {
        const [handle, offset, size] = outputs.subarray(3 * i, 3 * i + 3);
        made.push(this.allocate(0, size!, owners[i]!));
        this.copy(handle!, offset!, made[i]!, 0, size!);
      }
    } catch (error) {
      for (const handle of made) this.release(handle);
      throw error;
    }
    results.set(made);
    this.#counts.replays++;
    this.#counts.replayCopies += inputs.length / 5 + owners.length;
  }

  releaseRecording(recording: number): void {
    this.#recordings.delete(recording);
  }

  profile(recording: number): ReturnType<Binding["profile"]> {
    const { program, slots } = this.#recording(recording);
    this.synchronizeSync();
    const seconds = program.steps.flatMap((step) => {
      const queue = (): void => this.#step(step, slots);
      const time =
        this.#device.timeSync === undefined ? this.#timed(queue) : this.#ask("timeSync", null, () => this.#device.timeSync!(queue));
      return step.kind === "copy" ? [] : [time];
    });
    return { seconds: Float64Array.from(seconds), kernels: program.description.dispatchables.map(() => []) };
  }

  startTiming(): void {
    if (this.#device.timeSync === undefined) throw failure("unsupported", `${this.#backend}: the device has no clock`, "startTiming");
    if (this.#timing !== null) throw failure("invalid", `${this.#backend}: the device is timed already`, "startTiming");
    this.synchronizeSync();
    this.#timing = { start: performance.now(), works: 0, rows: [] };
  }

  stopTiming(): DeviceTiming {
    const timing = this.#timing;
    if (timing === null) throw failure("invalid", `${this.#backend}: the device is not timed`, "stopTiming");
    this.#timing = null;
    this.synchronizeSync();
    return { dispatches: Float64Array.from(timing.rows), programs: [] };
  }

  /** Step by step, each dispatch by the device's clock. */
  #runTimed({ steps }: OutsideProgram, slots: Slots, timing: Timing): void {
    const work = timing.works++;
    let dispatch = 0;
    for (const step of steps) {
      if (step.kind === "copy") {
        this.#step(step, slots);
        continue;
      }
      const begin = performance.now() - timing.start;
      const ms = this.#ask("timeSync", null, () => this.#device.timeSync!(() => this.#step(step, slots))) * 1000;
      timing.rows.push(work, dispatch++, begin, begin, begin, begin + ms);
    }
  }

  #timed(queue: () => void): number {
    const start = performance.now();
    queue();
    this.synchronizeSync();
    return (performance.now() - start) / 1000;
  }

  flush(): void {
    this.#ask("flush", null, () => this.#device.flush?.());
  }

  async synchronize(): Promise<void> {
    try {
      await this.#device.synchronize();
    } catch (error) {
      throw asFailure(this.#backend, "synchronize", null, error);
    }
  }

  synchronizeSync(): void {
    this.#ask("synchronizeSync", null, () => this.#device.synchronizeSync());
  }

  doneWithin(): boolean {
    return this.#ask("isIdle", null, () => this.#device.isIdle());
  }

  counters(): Counters {
    const { dispatches, replays, replayCopies, copies, uploads, readbacks, operators, runs } = this.#counts;
    return {
      dispatchesRecorded: dispatches,
      tablesBound: 0,
      barriersRecorded: 0,
      submissions: runs,
      listsSubmitted: runs,
      replays,
      replayCopies,
      copies,
      uploads,
      readbacks,
      operatorsCompiled: operators,
      graphsCompiled: 0,
      shadersCompiled: 0,
    };
  }

  memory(): DeviceMemory {
    const { bytes, buffers, peak } = this.#live;
    const { heldInBytes, limitInBytes } = this.#ask("memory", null, () => this.#device.memory());
    return {
      liveInBytes: bytes,
      liveBuffers: buffers,
      peakInBytes: peak,
      pooledInBytes: heldInBytes,
      idleInBytes: Math.max(0, heldInBytes - bytes),
      stagingInBytes: 0,
      programInBytes: 0,
      limitInBytes: Math.min(limitInBytes, this.#limit ?? limitInBytes),
    };
  }

  setDeviceOptions(_: number, options: DeviceOptions): void {
    this.#limit = options.memoryLimitInBytes;
  }

  settle(): number {
    return 0;
  }

  closeDevice(): void {
    forgetOutside(this);
    for (const program of this.#programs.values()) program.release();
    this.#programs.clear();
    this.#recordings.clear();
    try {
      this.#device.close();
    } catch {
      // It is closed all the same, as a device of the addon's is that was removed.
    }
  }
}

/** Operation, inputs and reason of a step that falls back. */
function describedFallback({ prepared, origin }: Extract<OutsideStep, { kind: "dispatch" }>): [string, string, string] {
  const { call } = prepared as NodeFallback;
  const inputs = call.inputs.flatMap((t) => (t === null ? [] : [shown(t)])).join(", ");
  return [/^[^\s(]*/.exec(origin)![0], inputs, `has no kernel for ${call.operator} of these tensors`];
}

/** Kernels that are kept for calls to come. */
const MAX_KERNELS = 4096;

/** A buffer that holds the bytes, and is not shared. */
const ownBuffer = (bytes: Uint8Array): ArrayBuffer =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
    ? bytes.buffer
    : (bytes.slice().buffer as ArrayBuffer);

/** What only the addon and its tests ask for. */
const foreign = [
  "load",
  "adapters",
  "openDevice",
  "sweep",
  "track",
  "untrack",
  "collectedOwners",
  "pressure",
  "version",
  "hold",
  "injectFault",
  "lapackOpen",
  "lapackHas",
  "lapackCall",
  "backendLoad",
  "backendDevices",
  "backendOpen",
  "backendClose",
  "backendAllocate",
  "backendFree",
  "backendWrite",
  "backendRead",
  "backendCopy",
  "backendPrepare",
  "backendRun",
  "backendForget",
  "backendSynchronize",
  "backendMemory",
] as const satisfies readonly Exclude<keyof Binding, keyof OutsideBinding>[];

for (const name of foreign)
  Object.defineProperty(OutsideBinding.prototype, name, {
    value: () => {
      throw failure("unsupported", `a backend from outside has no ${name}`, name);
    },
  });

/** As the runtime knows it. */
export const bindingOf = (outside: OutsideBinding): Binding => outside as unknown as Binding;
