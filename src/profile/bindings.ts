/** The binding of each open device while a profile is on: what it is asked for becomes an event, or a part of the operation that asks. */
import type { Plan } from "../graph/plan/plan.ts";
import type { Binding, DeviceTiming } from "../native/binding.ts";
import { onOpen, openDevices, type NativeDevice } from "../runtime/devices.ts";
import { operationOf } from "../runtime/eager.ts";
import type { Mutable, ProfileEvent } from "./event.ts";
import type { Open, Recorder } from "./event-recorder.ts";

const bytesOf = (bytes: ArrayBufferView): number => bytes.byteLength;

/** The binding that each timed binding calls. */
const originals = new WeakMap<Binding, Binding>();

/** A device that the profile has seen. */
export interface Observed {
  readonly native: NativeDevice;
  readonly binding: Binding;
  /** Why its dispatches are not timed; null: they are. */
  reason: string | null;
  /** When the timing began, and what each run since then belongs to. */
  readonly timedFrom: number;
  readonly works: Work[];
}

/** A run of a program. */
export interface Work {
  readonly event: Mutable<ProfileEvent>;
  /** What the program consists of; null for an operation's. */
  readonly plan: Plan | null;
}

export class Bindings {
  readonly observed: Observed[] = [];
  readonly #recorder: Recorder;
  readonly #times: boolean;
  #ends: () => void = () => {};

  constructor(recorder: Recorder, times: boolean) {
    this.#recorder = recorder;
    this.#times = times;
  }

  attach(): void {
    for (const native of openDevices()) this.#observe(native);
    this.#ends = onOpen((native) => this.#observe(native));
  }

  detach(): void {
    this.#ends();
    for (const { native, binding } of this.observed) native.binding = binding;
  }

  #observe(native: NativeDevice): void {
    if (!native.device.hasElements) return;
    const { binding } = native;
    const reason = this.#startTiming(native, binding);
    const observed: Observed = { native, binding, reason, timedFrom: this.#recorder.now, works: [] };
    this.observed.push(observed);
    const own = this.#methods(observed) as Partial<Record<PropertyKey, unknown>>;
    const bound = new Map<PropertyKey, unknown>();
    const standIn = new Proxy(binding, {
      get(target, name) {
        if (own[name] !== undefined) return own[name];
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        let method = bound.get(name);
        if (method === undefined) bound.set(name, (method = (value as (...args: never[]) => unknown).bind(target)));
        return method;
      },
    });
    originals.set(standIn, binding);
    native.binding = standIn;
    this.#recorder.sample(native);
  }

  #startTiming(native: NativeDevice, binding: Binding): string | null {
    if (!this.#times) return "devices were not timed (deviceTime: false)";
    try {
      binding.startTiming(native.id);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Waits for the devices, and ends their timing. */
  times(): readonly { readonly observed: Observed; readonly timing: DeviceTiming }[] {
    return this.observed.flatMap((observed) => {
      const { native, binding } = observed;
      if (observed.reason !== null) return [];
      try {
        if (native.isClosed) throw new Error("the device was closed");
        return [{ observed, timing: binding.stopTiming(native.id) }];
      } catch (error) {
        observed.reason = (error as Error).message;
        return [];
      }
    });
  }

  /** Runs work of a program: a part of the operation or the program that is open, or an event of its own. */
  #submit<T>({ native, works }: Observed, program: number, run: () => T): T {
    const noted = ({ event }: Open): T => {
      const result = run();
      works.push({ event, plan: event.kind === "program" ? this.#recorder.plan : null });
      return result;
    };
    const outer = this.#recorder.current;
    const kind = outer?.event.kind;
    if ((kind === "operation" || kind === "program") && outer!.event.device === String(native.device)) return noted(outer!);
    return this.#recorder.within("operation", operationOf(native, program) ?? `program ${program}`, native, noted);
  }

  #moves<T>(kind: "upload" | "copy" | "wait", name: string, native: NativeDevice, bytes: number | null, run: () => T): T {
    return this.#recorder.within(kind, name, native, ({ event }) => {
      event.bytes = bytes;
      return run();
    });
  }

  /** An event from the call until its promise is settled, or until the profile ends. */
  async #until<T>(open: Open, promise: Promise<T>): Promise<T> {
    const recorder = this.#recorder;
    try {
      return await promise;
    } finally {
      recorder.finish(open);
    }
  }

  #methods(observed: Observed): Partial<Binding> {
    const { native, binding } = observed;
    const recorder = this.#recorder;
    return {
      run: (program, owner, ...inputs) => this.#submit(observed, program, () => binding.run(program, owner, ...inputs)),
      execute: (program, slots, owners) => this.#submit(observed, program, () => binding.execute(program, slots, owners)),
      replay: (recording, inputs, outputs, owners, results) =>
        this.#submit(observed, recording, () => binding.replay(recording, inputs, outputs, owners, results)),
      createProgram: (device, description) =>
        recorder.within("compile", description.name, native, () => binding.createProgram(device, description)),
      record: (program, slots, lists) => recorder.within("compile", "record", native, () => binding.record(program, slots, lists)),
      upload: (device, bytes, owner) => this.#moves("upload", "upload", native, bytesOf(bytes), () => binding.upload(device, bytes, owner)),
      write: (handle, offset, bytes) => this.#moves("upload", "write", native, bytesOf(bytes), () => binding.write(handle, offset, bytes)),
      copy: (from, fromOffset, to, toOffset, size) =>
        this.#moves("copy", "copy", native, size, () => binding.copy(from, fromOffset, to, toOffset, size)),
      ...(binding.receive === undefined
        ? {}
        : {
            receive: (peer, handle, offset, size, owner) =>
              this.#moves("copy", "receive", native, size, () =>
                binding.receive!(originals.get(peer) ?? peer, handle, offset, size, owner),
              ),
          }),
      readSync: (handle, offset, size) => this.#moves("wait", "readSync", native, size, () => binding.readSync(handle, offset, size)),
      readInto: (handle, offset, into) =>
        this.#moves("wait", "readSync", native, into.byteLength, () => binding.readInto(handle, offset, into)),
      synchronizeSync: (device) => this.#moves("wait", "synchronizeSync", native, null, () => binding.synchronizeSync(device)),
      read: (handle, offset, size) => {
        const promise = binding.read(handle, offset, size);
        return this.#until(recorder.detached("read", "read", native, size), promise);
      },
      synchronize: (device) => {
        const promise = binding.synchronize(device);
        return this.#until(recorder.detached("read", "synchronize", native, null), promise);
      },
    };
  }
}
