/** Pipeline: stages of a model on several devices, which work on parts of the batch at once. */
import { withDevice, type Device, type DeviceLike } from "../core/device.ts";
import { TraceError, ValueError } from "../core/errors.ts";
import { tracer } from "../core/tracer.ts";
import { joinedParts, movedTo, partsOf } from "./batch-parts.ts";
import { requireDevices } from "./device-parallel.ts";
import { Module } from "./module.ts";

const OPERATION = "Pipeline";

/** Options of Pipeline. */
export interface PipelineOptions {
  /** The device of each stage; a device may have several. */
  readonly devices: readonly DeviceLike[];
  /** Into how many parts a batch is split. Default: the number of stages. */
  readonly microbatches?: number | undefined;
}

/** What the last stage gives. */
type ResultOf<S extends readonly Module[]> = S extends readonly [...(readonly Module[]), infer L extends Module]
  ? ReturnType<L["forward"]>
  : ReturnType<S[number]["forward"]>;

/**
 * Stages one after the other, each on its device. forward() splits the batch along axis 0 into microbatches: while a stage computes one, the stage before
 * computes the next (the schedule of GPipe, also in backward). Losses are those of one device, where no stage computes statistics of the batch.
 *
 * The stages are moved to their devices when it is made. The first stage takes the inputs of forward(); each other one what the stage before gives, a list as
 * several arguments. The result is on the last stage's device.
 * Throws ValueError where stages and devices differ in number, TraceError inside a compiled function.
 * Reference: torch.distributed.pipelining.ScheduleGPipe; Huang et al. 2019.
 */
export class Pipeline<S extends readonly Module[]> extends Module {
  /** The stages, in order. */
  readonly stages: S;
  /** The device of each. */
  readonly devices: readonly Device[];
  /** Into how many parts a batch is split at most. */
  readonly microbatches: number;

  constructor(stages: S, { devices, microbatches = stages.length }: PipelineOptions) {
    super();
    if (stages.length === 0) throw new ValueError(OPERATION, "stages", "at least one", 0);
    this.devices = requireDevices(OPERATION, devices);
    if (this.devices.length !== stages.length)
      throw new ValueError(OPERATION, "devices", `one for each of ${stages.length} stages`, this.devices.length);
    if (!Number.isSafeInteger(microbatches) || microbatches < 1)
      throw new ValueError(OPERATION, "microbatches", "an integer of at least 1", microbatches);
    this.stages = stages;
    this.microbatches = microbatches;
    const owners = new Map<object, number>();
    stages.forEach((stage, i) => {
      for (const t of [...stage.parameters(), ...stage.buffers()]) {
        const owner = owners.get(t) ?? i;
        if (this.devices[owner] !== this.devices[i])
          throw new ValueError(OPERATION, "stages", "stages of two devices without a common tensor", `stages ${owner} and ${i} share one`);
        owners.set(t, owner);
      }
    });
    stages.forEach((stage, i) => stage.to(this.devices[i]!));
  }

  /** The last stage's result for the whole batch. */
  forward(...inputs: Parameters<S[0]["forward"]>): ResultOf<S> {
    if (tracer() !== null)
      throw new TraceError({
        operation: OPERATION,
        received: "a call while a function is compiled",
        hint: "A compiled function computes on one device.",
      });
    const values: unknown[] = [...partsOf(OPERATION, inputs, this.microbatches, 0)];
    const last = this.stages.length - 1;
    for (let clock = 0; clock < values.length + last; clock++) {
      const busy = this.stages.map((_, i) => i).filter((i) => clock - i >= 0 && clock - i < values.length);
      // What is read waits for the device that made it; then all devices get work, and none is waited for.
      const moved = busy.map((i) => movedTo(values[clock - i], this.devices[i]!));
      busy.forEach((i, k) => {
        const stage = this.stages[i]! as unknown as (...values: unknown[]) => unknown;
        const input = moved[k];
        values[clock - i] = withDevice(this.devices[i]!, () => (Array.isArray(input) ? stage(...(input as unknown[])) : stage(input)));
      });
    }
    return joinedParts(OPERATION, values, 0, this.devices[last]!) as ResultOf<S>;
  }
}

/** Makes a Pipeline. */
export const pipeline = <const S extends readonly Module[]>(stages: S, options: PipelineOptions): Pipeline<S> =>
  new Pipeline(stages, options);
