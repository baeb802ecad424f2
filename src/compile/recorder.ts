/** The position of a run in the trace log. A new event is appended after the current step, or to the region that is being recorded. */
import { noteMade, requireOpen } from "../autograd/branch.ts";
import { mark } from "../core/checkpoint-marks.ts";
import type { TensorSpec } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { DeviceError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { ArgumentAliases } from "./argument-aliases.ts";
import type { Placeholders } from "./arguments.ts";
import type { Event, LoopBegin, Scalar, Step } from "./log.ts";
import { Notice } from "./notice.ts";
import { operand, type Operand } from "./operand.ts";
import { NO_VALUES, type Values } from "./program.ts";
import type { RegionRecording } from "./region-recording.ts";
import { callSite } from "../host/call-site.ts";
import { recordingBegins } from "../host/young-generation.ts";

export type Number = number | bigint | boolean;

const NO_NUMBERS: ReadonlySet<Scalar> = new Set();

/** What all runs of one function share. */
export interface Recorded {
  readonly name: string;
  /** Storages outside that some path uses. */
  readonly outer: WeakSet<Storage>;
  /** Whether there are any. */
  hasOuter: boolean;
  /** Views that runs made. */
  readonly views: WeakSet<Tensor>;
  /** Why each step of a loop is traced; null: loops are programs of their own. */
  unrolls: string | null;
  /** Storages that the bodies of loops made, which nobody outside may use; null where there are none. */
  enclosed: WeakMap<Storage, LoopBegin> | null;
}

/** What the runs of a function share, before the first of them. */
export const newRecorded = (name: string, unrolls: string | null = null): Recorded => ({
  name,
  outer: new WeakSet(),
  hasOuter: false,
  views: new WeakSet(),
  unrolls,
  enclosed: null,
});

const isTracedBy = ({ views }: Recorded, t: Tensor): boolean => t.storage.trace !== null || views.has(t);

export abstract class Recorder {
  /** The last event. */
  at: Step;
  /** Why the run left the log; null while it follows it. */
  reason: string | null = null;
  /** Of a run that records. */
  notice: Notice | null = null;
  protected readonly recorded: Recorded;
  protected readonly placeholders: Placeholders;
  protected readonly args: readonly Tensor[];
  #aliases: ArgumentAliases | null = null;
  /** The region, or the write that changes histories, that is being recorded. */
  protected recording: RegionRecording | null = null;
  /** Whether a backward pass runs that no region is recorded for. */
  protected isInPass = false;
  #values: Map<Event, Number | Uint8Array> | null = null;
  #varied: Set<Scalar> | null = null;
  #device: Device | null;

  constructor(recorded: Recorded, root: Step, placeholders: Placeholders, args: readonly Tensor[]) {
    this.recorded = recorded;
    this.at = root;
    this.placeholders = placeholders;
    this.args = args;
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

  get name(): string {
    return this.recorded.name;
  }

  /** Whether a tensor is of this function's runs, not from outside. */
  isTraced(t: Tensor): boolean {
    return isTracedBy(this.recorded, t);
  }

  /** The same after the run, which it does not keep. */
  get tracedTest(): (t: Tensor) => boolean {
    const { recorded } = this;
    return (t) => isTracedBy(recorded, t);
  }

  protected get aliases(): ArgumentAliases {
    return (this.#aliases ??= new ArgumentAliases(this.placeholders, this.args));
  }

  get device(): Device | null {
    return this.#device;
  }

  /** Throws for a tensor that is not to leave the function. */
  requireVisible(t: Tensor): void {
    if (this.recorded.enclosed !== null) this.requireReachable(t);
    requireOpen(this.name, t, this.recorded);
  }

  /** Throws for a tensor of a loop's body after its end. */
  protected abstract requireReachable(t: Tensor): void;

  protected note(e: Event, value: Number | Uint8Array): void {
    (this.#values ??= new Map<Event, Number | Uint8Array>()).set(e, value);
  }

  /** A number that differs from what programs hold. */
  protected vary(e: Scalar): void {
    (this.#varied ??= new Set<Scalar>()).add(e);
  }

  protected leave(what: string): void {
    if (this.reason !== null) return;
    this.reason = `${what} ${callSite() ?? ""}`.trim();
    this.notice = new Notice(this.name);
    recordingBegins();
  }

  protected push(event: Event): void {
    mark(event);
    if (event.kind === "operation") this.notice?.count();
    if (this.recording !== null) {
      this.recording.events.push(event);
      return;
    }
    this.at = this.at.add(event);
  }

  protected allocate(device: Device, { dtype, shape }: TensorSpec): Tensor {
    const storage = new Storage(device, sizeOf(shape) * DTYPES[dtype].sizeInBytes);
    storage.trace = this.recorded;
    noteMade(storage, this.recorded);
    return new Tensor(storage, internDesc(device, dtype, shape));
  }

  protected operand(operation: string, t: Tensor): Operand {
    this.requireDevice(operation, t.device);
    // A backward pass reads what branches have saved.
    if (this.recording === null && !this.isInPass) requireOpen(operation, t, this.recorded);
    if (this.recorded.enclosed !== null) this.requireReachable(t);
    const seen = operand(t, !this.isTraced(t));
    if (seen.isOuter) {
      this.aliases.requireUnreached(t);
      this.recorded.outer.add(t.storage);
      this.recorded.hasOuter = true;
    }
    return seen;
  }

  protected requireDevice(operation: string, device: Device): void {
    this.#device ??= device;
    if (device !== this.#device)
      throw new DeviceError(operation, "tensor", `on ${this.#device}, like the other tensors of ${this.recorded.name}`, String(device));
  }
}
