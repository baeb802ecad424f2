/** A device: memory, two streams that events order, kernels. */
import type { backend } from "dxtensor";
import type { Compute } from "./elementwise.ts";
import { computeOf, operators } from "./kernels.ts";
import { fault, Memory } from "./memory.ts";
import { operationOf, operations } from "./operations.ts";
import { Stream } from "./stream.ts";

type Range = backend.BackendRange;
type Ranges = readonly (Range | null)[];

/** Faults on demand, for tests of who uses a device. */
export interface Faults {
  /** The next allocations fail. */
  failAllocations(count: number): void;
  /** The device is removed: its memory is lost, and each later call says so. */
  remove(): void;
  /** There is no kernel for an operator ("GEMM") or an operation ("linear") from now on. */
  missing(name: string): void;
  /** Each copy takes so long. */
  slowCopies(milliseconds: number): void;
  /** true: queued work no longer finishes. false: it continues. */
  hang(isHung: boolean): void;
}

/** Bytes that the host has to wait for, checked while it waits. */
const spin = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end;);
};

type Run = (inputs: Ranges, outputs: Ranges) => void;

/** What a call becomes: queued alone, or run as a part of a program. */
class Kernel implements backend.BackendKernel {
  readonly now: Run;
  readonly run: Run;
  constructor(now: Run, run: Run) {
    this.now = now;
    this.run = run;
  }
}

export class OpenregDevice implements backend.BackendDevice, Faults {
  readonly dtypes = ["float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"] as const;
  readonly #memory: Memory;
  readonly #compute = new Stream();
  readonly #transfer = new Stream();
  readonly #options: backend.BackendOptions;
  readonly #missing = new Set<string>();
  #copyTime = 0;
  #last: Stream = this.#compute;
  #removed: Error | null = null;

  constructor(memoryInBytes: number, options: backend.BackendOptions) {
    this.#memory = new Memory(memoryInBytes);
    this.#options = options;
  }

  get operators(): backend.BackendDevice["operators"] {
    return operators.filter((name) => !this.#missing.has(name));
  }

  #requireAlive(): void {
    const { error } = this.#compute.error === null ? this.#transfer : this.#compute;
    if (this.#removed !== null) throw this.#removed;
    if (error !== null) throw error;
  }

  /** Queues work behind everything before: an event orders it where that is in the other stream. */
  #queue(stream: Stream, run: () => void): void {
    this.#requireAlive();
    if (this.#last !== stream) stream.wait(this.#last.record(), this.#last);
    this.#last = stream;
    stream.enqueue(() => {
      if (this.#removed !== null) throw this.#removed;
      run();
    });
  }

  allocate(sizeInBytes: number): object {
    this.#requireAlive();
    try {
      return this.#memory.allocate(sizeInBytes);
    } catch (error) {
      // What is freed in the queue may be enough.
      if (this.isIdle()) throw error;
      this.synchronizeSync();
      return this.#memory.allocate(sizeInBytes);
    }
  }

  free(memory: object): void {
    this.#queue(this.#compute, () => this.#memory.free(memory));
  }

  write(memory: object, offset: number, bytes: Uint8Array): void {
    const staged = bytes.slice();
    this.#queue(this.#transfer, () => {
      spin(this.#copyTime);
      this.#memory.bytes({ memory, offset, size: staged.byteLength }).set(staged);
    });
  }

  async read(memory: object, offset: number, size: number): Promise<Uint8Array> {
    let bytes: Uint8Array | null = null;
    this.#queue(this.#transfer, () => {
      spin(this.#copyTime);
      bytes = this.#memory.bytes({ memory, offset, size }).slice();
    });
    const asked = performance.now();
    while (bytes === null) {
      await new Promise((resolve) => setImmediate(resolve));
      if (bytes === null) this.#requireAlive();
      if (bytes === null && performance.now() - asked > this.#options.timeoutInMs)
        throw fault("timeout", `the device finished nothing for ${this.#options.timeoutInMs} ms`);
    }
    return bytes;
  }

  readSync(memory: object, offset: number, size: number): Uint8Array {
    this.synchronizeSync();
    spin(this.#copyTime);
    return this.#memory.bytes({ memory, offset, size }).slice();
  }

  copy(from: Range, to: Range): void {
    this.#queue(this.#compute, () => this.#memory.bytes(to).set(this.#memory.bytes(from)));
  }

  /** A peer's memory is read by the peer: this device's stream waits for it. */
  copyFrom(peer: backend.BackendDevice, from: Range, to: Range): boolean {
    if (!(peer instanceof OpenregDevice)) return false;
    peer.#requireAlive();
    const event = peer.#last.record();
    this.#requireAlive();
    this.#transfer.wait(event, peer.#last);
    let bytes: Uint8Array | null = null;
    // The peer's own queue keeps the memory until then.
    peer.#queue(peer.#transfer, () => (bytes = peer.#memory.bytes(from).slice()));
    const isRead = peer.#last.record();
    this.#transfer.wait(isRead, peer.#last);
    this.#queue(this.#transfer, () => this.#memory.bytes(to).set(bytes!));
    return true;
  }

  get operations(): readonly string[] {
    return operations.filter((name) => !this.#missing.has(name));
  }

  prepare(call: backend.BackendCall): backend.BackendKernel | null {
    return this.#kernel(call, this.#missing.has(call.operator) ? null : computeOf(call));
  }

  prepareOperation(call: backend.BackendOperation): backend.BackendKernel | null {
    return this.#kernel(call, this.#missing.has(call.operation) ? null : operationOf(call));
  }

  #kernel(call: backend.BackendCall | backend.BackendOperation, compute: Compute | null): backend.BackendKernel | null {
    if (compute === null) return null;
    const elements = (tensors: backend.BackendCall["inputs"], ranges: Ranges) =>
      ranges.flatMap((range, i) => (range === null ? [] : [this.#memory.elements(range, tensors[i]!.dtype)]));
    const now = (inputs: Ranges, outputs: Ranges): void => compute(elements(call.inputs, inputs), elements(call.outputs, outputs));
    return new Kernel(now, (inputs, outputs) => this.#queue(this.#compute, () => now(inputs, outputs)));
  }

  /** One piece of work in the queue. */
  prepareProgram(steps: readonly backend.BackendStep[]): backend.BackendProgram {
    const bound = (range: backend.BackendSlotRange, slots: Ranges): Range => {
      const { memory, offset } = slots[range.slot]!;
      return { memory, offset: offset + range.offset, size: range.size };
    };
    const all = (ranges: readonly (backend.BackendSlotRange | null)[], slots: Ranges): Ranges =>
      ranges.map((range) => (range === null ? null : bound(range, slots)));
    const step = (one: backend.BackendStep, slots: Ranges): void => {
      if ("copy" in one) this.#memory.bytes(bound(one.copy[1], slots)).set(this.#memory.bytes(bound(one.copy[0], slots)));
      else (one.kernel as Kernel).now(all(one.inputs, slots), all(one.outputs, slots));
    };
    return { run: (slots) => this.#queue(this.#compute, () => steps.forEach((one) => step(one, slots))) };
  }

  async synchronize(): Promise<void> {
    const asked = performance.now();
    while (!this.isIdle()) {
      await new Promise((resolve) => setImmediate(resolve));
      if (performance.now() - asked > this.#options.timeoutInMs)
        throw fault("timeout", `the device finished nothing for ${this.#options.timeoutInMs} ms`);
    }
    this.#requireAlive();
  }

  synchronizeSync(): void {
    this.#requireAlive();
    this.#last.drain(this.#options.timeoutInMs);
    this.#requireAlive();
  }

  isIdle(): boolean {
    return this.#compute.isIdle && this.#transfer.isIdle;
  }

  timeSync(queue: () => void): number {
    this.synchronizeSync();
    const start = performance.now();
    queue();
    this.synchronizeSync();
    return (performance.now() - start) / 1000;
  }

  memory(): backend.BackendMemoryStatistics {
    return { heldInBytes: this.#memory.heldInBytes, limitInBytes: this.#memory.limitInBytes };
  }

  close(): void {
    this.#removed = fault("removed", "the device was closed");
  }

  failAllocations(count: number): void {
    this.#memory.failNext(count);
  }

  remove(): void {
    this.#removed = fault("removed", "the device was removed");
  }

  missing(name: string): void {
    this.#missing.add(name);
  }

  slowCopies(milliseconds: number): void {
    this.#copyTime = milliseconds;
  }

  hang(isHung: boolean): void {
    for (const stream of [this.#compute, this.#transfer]) if (isHung) stream.isHung = true; else stream.resume(); // prettier-ignore
  }
}
