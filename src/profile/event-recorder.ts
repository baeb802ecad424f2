/** Keeps what happens while a profile is on: a stack of open events, those that are over, and samples of memory. */
import type { Plan } from "../graph/plan/plan.ts";
import { callSite } from "../host/call-site.ts";
import type { DeviceMemory } from "../native/binding.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import type { Mutable, ProfileEvent, ProfileKind, ProfileMemory, ProfilePhase } from "./event.ts";

export interface RecorderOptions {
  readonly maxEvents: number;
  readonly lines: boolean;
  readonly memory: boolean;
}

/** An event that is not over. */
export interface Open {
  readonly event: Mutable<ProfileEvent>;
  /** Of the events inside that are over. */
  innerMs: number;
  /** Live bytes at its beginning, and whose. */
  native: NativeDevice | null;
  liveInBytes: number;
}

/** Where an operation of the forward pass was asked for. */
export interface Origin {
  readonly module: string | null;
  readonly line: string | null;
}

/** Kinds whose line is the user's, and no better one for what happens inside. */
const WIDE: ReadonlySet<ProfileKind> = new Set<ProfileKind>(["module", "backward", "optimizer", "compiled"]);

export class Recorder {
  readonly events: Mutable<ProfileEvent>[] = [];
  readonly memory: ProfileMemory[] = [];
  readonly start = performance.now();
  /** Events and samples beyond the limit. */
  dropped = 0;
  step = 0;
  phase: ProfilePhase = "forward";
  module: string | null = null;
  /** Of the node of the tape whose gradient is computed. */
  origin: Origin | null = null;
  /** Of the compiled program that runs. */
  plan: Plan | null = null;
  isOver = false;
  readonly #options: RecorderOptions;
  readonly #open: Open[] = [];
  readonly #detached = new Set<Open>();
  #count = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  get now(): number {
    return performance.now() - this.start;
  }

  /** The innermost open event. */
  get current(): Open | null {
    return this.#open.at(-1) ?? null;
  }

  /** A new event inside of the one that is open. */
  begin(kind: ProfileKind, name: string, native: NativeDevice | null = null): Open {
    const outer = this.current;
    const before = this.now;
    const open = this.#make(kind, name, native);
    // What the profile itself takes is no part of what it measures.
    if (outer !== null) outer.innerMs += open.event.startMs - before;
    this.#open.push(open);
    return open;
  }

  /** One that is over when finish() is called, whatever happens meanwhile. */
  detached(kind: ProfileKind, name: string, native: NativeDevice, bytes: number | null): Open {
    const open = this.#make(kind, name, native);
    open.event.bytes = bytes;
    this.#detached.add(open);
    return open;
  }

  finish(open: Open): void {
    if (!this.#detached.delete(open)) return;
    open.event.durationMs = this.now - open.event.startMs;
    this.add(open.event);
  }

  /** The end of the profile: what is not over lasts until now. */
  close(): void {
    for (const open of this.#detached) this.finish(open);
    for (let open = this.current; open !== null; open = this.current) this.end(open);
    this.isOver = true;
  }

  #make(kind: ProfileKind, name: string, native: NativeDevice | null): Open {
    const outer = this.current?.event ?? null;
    const liveInBytes = this.#live(native);
    const event: Mutable<ProfileEvent> = {
      id: this.#count++,
      parent: outer?.id ?? null,
      kind,
      name,
      phase: this.phase,
      module: this.origin?.module ?? this.module,
      line: this.#lineIn(outer),
      device: native === null ? null : String(native.device),
      step: this.step,
      startMs: this.now,
      durationMs: 0,
      selfMs: 0,
      queueMs: null,
      queueStartMs: null,
      deviceStartMs: null,
      deviceMs: null,
      inputs: "",
      flops: null,
      bytes: null,
      memoryInBytes: null,
    };
    return { event, innerMs: 0, native, liveInBytes };
  }

  /** Ends an event, and those inside that an exception has left open. */
  end(open: Open): void {
    const at = this.#open.indexOf(open);
    if (at < 0) return;
    this.#open.length = at;
    const { event } = open;
    event.durationMs = this.now - event.startMs;
    event.selfMs = Math.max(0, event.durationMs - open.innerMs);
    const outer = this.current;
    if (open.native !== null && this.#options.memory && event.kind !== "wait") {
      const memory = this.sample(open.native);
      if (memory !== null) event.memoryInBytes = memory.liveInBytes - open.liveInBytes;
    }
    this.add(event);
    if (outer !== null) outer.innerMs += this.now - event.startMs;
  }

  add(event: Mutable<ProfileEvent>): void {
    if (!this.isOver) this.addLate(event);
  }

  /** The same for what is found when the profile is over. */
  addLate(event: Mutable<ProfileEvent>): void {
    if (this.events.length < this.#options.maxEvents) this.events.push(event);
    else this.dropped++;
  }

  /** Runs fn as an event. */
  within<T>(kind: ProfileKind, name: string, native: NativeDevice | null, fn: (open: Open) => T): T {
    const open = this.begin(kind, name, native);
    try {
      return fn(open);
    } finally {
      this.end(open);
    }
  }

  /** The phase while fn runs. */
  inPhase<T>(phase: ProfilePhase, fn: () => T): T {
    const before = this.phase;
    this.phase = phase;
    try {
      return fn();
    } finally {
      this.phase = before;
    }
  }

  /** A number for an event that is no open one's. */
  nextId(): number {
    return this.#count++;
  }

  sample(native: NativeDevice): DeviceMemory | null {
    if (native.isClosed || !native.device.hasElements) return null;
    const memory = native.binding.memory(native.id);
    if (!this.#options.memory || this.isOver) return memory;
    const { liveInBytes, pooledInBytes, programInBytes } = memory;
    const sample = { timeMs: this.now, device: String(native.device), liveInBytes, pooledInBytes, programInBytes };
    if (this.memory.length < this.#options.maxEvents) this.memory.push(sample);
    else this.dropped++;
    return memory;
  }

  #live(native: NativeDevice | null): number {
    if (native === null || !this.#options.memory || native.isClosed || !native.device.hasElements) return 0;
    return native.binding.memory(native.id).liveInBytes;
  }

  #lineIn(outer: ProfileEvent | null): string | null {
    if (this.origin !== null) return this.origin.line;
    if (!this.#options.lines) return null;
    if (outer !== null && outer.line !== null && !WIDE.has(outer.kind)) return outer.line;
    return callSite()?.slice("at ".length) ?? outer?.line ?? null;
  }
}
