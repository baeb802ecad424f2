/** Pipeline: stages of a model on several devices, which work on parts of the batch at once. */
import { withDevice, type Device, type DeviceLike } from "../core/device.ts";
import { backward as backwardFrom } from "../autograd/backward.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { mapTree, leavesOf } from "../control/tree.ts";
import { ShapeError, TraceError, ValueError } from "../core/errors.ts";
import { keep, outsideScopes, scope } from "../core/scope.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { to } from "../ops/data/conversion.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { reshape } from "../ops/shape/movement.ts";
import { joinedParts, movedTo, partsOf } from "./batch-parts.ts";
import { requireDevices } from "./device-parallel.ts";
import { Module } from "./module.ts";
import { scheduleOf, type PipelineSchedule } from "./pipeline-schedule.ts";

const OPERATION = "Pipeline";

/** Options of Pipeline. */
export interface PipelineOptions {
  /** The device of each stage; a device may have several. */
  readonly devices: readonly DeviceLike[];
  /** Into how many parts a batch is split. Default: the number of stages. */
  readonly microbatches?: number | undefined;
  /**
   * The order in which step() computes: "1F1B" begins the backward pass of a microbatch when its loss is there, so that a stage keeps as many microbatches as
   * stages follow it, itself included; "GPipe" computes all forward passes first. Default: "1F1B".
   */
  readonly schedule?: PipelineSchedule | undefined;
}

/** What a stage keeps of a microbatch until its backward pass. */
interface Kept {
  /** What it was given, as leaves: their gradients go to the stage before. */
  readonly inputs: readonly Tensor[];
  /** What it gave; of the last stage, its loss. */
  readonly outputs: readonly Tensor[];
  /** Those of them that it has made. */
  readonly made: readonly Tensor[];
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
  /** The order in which step() computes. */
  readonly schedule: PipelineSchedule;

  constructor(stages: S, { devices, microbatches = stages.length, schedule = "1F1B" }: PipelineOptions) {
    super();
    if (stages.length === 0) throw new ValueError(OPERATION, "stages", "at least one", 0);
    this.devices = requireDevices(OPERATION, devices);
    if (this.devices.length !== stages.length)
      throw new ValueError(OPERATION, "devices", `one for each of ${stages.length} stages`, this.devices.length);
    if (!Number.isSafeInteger(microbatches) || microbatches < 1)
      throw new ValueError(OPERATION, "microbatches", "an integer of at least 1", microbatches);
    if (!["1F1B", "GPipe"].includes(schedule)) throw new ValueError(OPERATION, "schedule", '"1F1B" or "GPipe"', schedule);
    this.stages = stages;
    this.microbatches = microbatches;
    this.schedule = schedule;
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

  #requireEager(): void {
    if (tracer() !== null)
      throw new TraceError({
        operation: OPERATION,
        received: "a call while a function is compiled",
        hint: "A compiled function computes on one device.",
      });
  }

  #run(stage: number, input: unknown): unknown {
    const inputs = (Array.isArray(input) ? input : [input]) as never[];
    return withDevice(this.devices[stage]!, () => this.stages[stage]!.forward(...inputs));
  }

  /**
   * A forward and a backward pass of the whole batch, by the schedule: the gradients of the mean loss are added to the parameters'. Result: the mean loss, without
   * a history, on the last stage's device.
   *
   * inputs: what forward() takes. targets: a tensor, or arrays and objects of these, split like the inputs. loss: the mean loss of a microbatch, one element, of the last
   * stage's result and of its targets. Microbatches count by their sizes, so losses and gradients are those of forward() and backward() with the whole batch.
   * Throws ShapeError for a loss of several elements, TraceError inside a compiled function. Reference: torch.distributed.pipelining.Schedule1F1B.step.
   */
  step<T>(inputs: Parameters<S[0]["forward"]>, targets: T, loss: (output: ResultOf<S>, targets: T) => Tensor): Tensor {
    this.#requireEager();
    const parts = partsOf(OPERATION, [inputs, targets], this.microbatches, 0) as readonly (readonly [readonly unknown[], T])[];
    const sizes = parts.map((part) => leavesOf(part).find((t) => t.rank > 0)?.shape[0] ?? 1);
    const total = sizes.reduce((a, b) => a + b, 0);
    const last = this.stages.length - 1;
    const values: unknown[] = parts.map(([input]) => input);
    const kept = new Map<string, Kept>();
    const losses: Tensor[] = [];
    const forward = (stage: number, microbatch: number): void => {
      const before = values[microbatch];
      const device = this.devices[stage]!;
      const leaves: Tensor[] = [];
      const input = stage === 0 ? movedTo(before, device) : mapTree(before, (t) => leafOf(t, device, leaves));
      const outputs = scope(() => {
        const output = this.#run(stage, input);
        if (stage < last) return (values[microbatch] = output);
        const own = loss(output as ResultOf<S>, movedTo(parts[microbatch]![1], device));
        if (own.size !== 1) throw new ShapeError(OPERATION, "loss(output, targets)", "of one element", own.describe(), "Take its mean().");
        values[microbatch] = null;
        return mul(own, sizes[microbatch]! / total);
      });
      if (stage === last) losses.push((outputs as Tensor).detach().clone());
      const received = new Set(leavesOf(input));
      const all = leavesOf(outputs);
      kept.set(`${stage} ${microbatch}`, { inputs: leaves, outputs: all, made: all.filter((t) => !received.has(t)) });
    };
    const backward = (stage: number, microbatch: number): void => {
      const { outputs, made } = kept.get(`${stage} ${microbatch}`)!;
      const followers = stage === last ? null : kept.get(`${stage + 1} ${microbatch}`)!.inputs;
      scope(() => {
        const roots = outputs.map((t, i) => ({ t, gradient: followers === null ? null : (followers[i]?.grad ?? null) }));
        const own = roots.filter(({ t, gradient }) => t.requiresGrad && (followers === null || gradient !== null));
        if (own.length === 0) return;
        const gradient = own.map((root) => (root.gradient === null ? null : to(root.gradient, this.devices[stage]!)));
        backwardFrom(
          own.map(({ t }) => t),
          { gradient },
        );
      });
      for (const t of made) t.dispose();
      for (const t of followers ?? []) disposeLeaf(t);
    };
    try {
      for (const passes of scheduleOf(this.schedule, this.stages.length, parts.length))
        for (const { kind, stage, microbatch } of passes) (kind === "forward" ? forward : backward)(stage, microbatch);
      return noGrad(() => scope(() => keep(losses.map((t) => reshape(t, [])).reduce((a, b) => add(a, b)))));
    } finally {
      for (const t of losses) t.dispose();
    }
  }

  /** The last stage's result for the whole batch. */
  forward(...inputs: Parameters<S[0]["forward"]>): ResultOf<S> {
    this.#requireEager();
    const values: unknown[] = [...partsOf(OPERATION, inputs, this.microbatches, 0)];
    const last = this.stages.length - 1;
    for (let clock = 0; clock < values.length + last; clock++) {
      const busy = this.stages.map((_, i) => i).filter((i) => clock - i >= 0 && clock - i < values.length);
      // What is read waits for the device that made it; then all devices get work, and none is waited for.
      const moved = busy.map((i) => movedTo(values[clock - i], this.devices[i]!));
      busy.forEach((i, k) => {
        values[clock - i] = this.#run(i, moved[k]);
      });
    }
    return joinedParts(OPERATION, values, 0, this.devices[last]!) as ResultOf<S>;
  }
}

/** A tensor of the stage before, on a device: with a history of its own. */
function leafOf(t: Tensor, device: Device, leaves: Tensor[]): Tensor {
  const moved = outsideScopes(() => noGrad(() => to(t.detach(), device)));
  moved.leafRequiresGrad = t.requiresGrad;
  leaves.push(moved);
  return moved;
}

function disposeLeaf(t: Tensor): void {
  t.grad?.dispose();
  t.dispose();
}

/** Makes a Pipeline. */
export const pipeline = <const S extends readonly Module[]>(stages: S, options: PipelineOptions): Pipeline<S> =>
  new Pipeline(stages, options);
