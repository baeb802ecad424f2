/** DataParallel: one process computes a batch on several devices. */
import { namedDevice, withDevice, type Device, type DeviceLike } from "../core/device.ts";
import { DeviceError, TraceError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { joinedParts, movedTo, partsOf } from "./batch-parts.ts";
import { DeviceTraining, type DeviceStep, type DeviceStepOptions, type StepOptimizer } from "./device-step.ts";
import { withTensors } from "./functional-call.ts";
import { Module } from "./module.ts";
import { replicate } from "./replicas.ts";

const OPERATION = "DataParallel";

/** Options of DataParallel. */
export interface DataParallelOptions {
  /** The axis of inputs and outputs along which the batch is split, from 0. Default: 0. */
  readonly axis?: number | undefined;
  /** Where the outputs are joined. Default: the first device. */
  readonly outputDevice?: DeviceLike | undefined;
}

/** The devices of a list, each once. Throws for what is none. @package */
export function requireDevices(operation: string, devices: readonly DeviceLike[]): readonly Device[] {
  if (!Array.isArray(devices) || devices.length === 0) throw new ValueError(operation, "devices", "a list of at least one device", devices);
  const list = devices.map((d: DeviceLike, i) => namedDevice(operation, `devices[${i}]`, d));
  const other = list.find((d) => !d.hasElements);
  if (other !== undefined) throw new DeviceError(operation, "devices", "devices with elements", String(other));
  return list;
}

/**
 * The module on several devices of this process: forward() splits its inputs along an axis, computes the parts on all devices at once, and joins the outputs on
 * the first one. Gradients are summed in the parameters, which are the first device's.
 *
 * The module is on the first device. Each forward pass copies its parameters and buffers to the others. What these write into buffers is lost: the
 * running statistics of batch norm are those of the first part. Tensors in arrays, plain objects and complex tensors are split too, each of one size along the
 * axis; tensors without axes and other values go to all. A batch smaller than the number of devices uses as many as it has elements. Outputs
 * without axes, such as losses, become a list with one element for each part.
 *
 * Throws DeviceError where the module is elsewhere, ShapeError for inputs that differ along the axis, TraceError inside a compiled function.
 * Reference: torch.nn.DataParallel.
 */
export class DataParallel<M extends Module> extends Module {
  /** The module itself. */
  readonly module: M;
  /** The devices; the first one has the parameters. */
  readonly devices: readonly Device[];
  /** The axis along which the batch is split. */
  readonly axis: number;
  /** Where the outputs are. */
  readonly outputDevice: Device;

  constructor(module: M, devices: readonly DeviceLike[], { axis = 0, outputDevice }: DataParallelOptions = {}) {
    super();
    const list = requireDevices(OPERATION, devices);
    if (new Set(list).size < list.length) throw new ValueError(OPERATION, "devices", "different devices", list.map(String));
    if (!Number.isInteger(axis) || axis < 0) throw new ValueError(OPERATION, "axis", "an integer of at least 0", axis);
    this.module = module;
    this.devices = list;
    this.axis = axis;
    this.outputDevice = outputDevice === undefined ? list[0]! : namedDevice(OPERATION, "outputDevice", outputDevice);
  }

  /** The module's result for the whole batch. */
  forward(...inputs: Parameters<M["forward"]>): ReturnType<M["forward"]> {
    if (tracer() !== null)
      throw new TraceError({
        operation: OPERATION,
        received: "a call while a function is compiled",
        hint: "A compiled function computes on one device. Compile what each device computes, or call the module itself.",
      });
    const [first, ...others] = this.devices;
    const parameters = this.module.parameters();
    const buffers = this.module.buffers();
    for (const t of [...parameters, ...buffers])
      if (t.device !== first!)
        throw new DeviceError(OPERATION, "module", `all on ${first!}`, `one on ${t.device}`, `Use module.to("${first!}").`);
    const parts = partsOf(OPERATION, inputs, this.devices.length, this.axis);
    // All copies first: what they wait for is done, and each device then works while the next one gets its part.
    const replicas = others.slice(0, parts.length - 1).map((device) => replicate(parameters, buffers, device));
    const modules = this.module.modules();
    const run = (part: readonly unknown[], i: number): unknown => {
      const device = this.devices[i]!;
      const forward = (): unknown => (this.module as unknown as (...values: unknown[]) => unknown)(...part);
      return withDevice(device, () =>
        i === 0 ? forward() : withTensors(modules, replicas[i - 1] as ReadonlyMap<Tensor, Tensor>, forward),
      );
    };
    const moved = parts.map((part, i) => movedTo(part, this.devices[i]!));
    const results = moved.map(run);
    return joinedParts(OPERATION, results, this.axis, this.outputDevice) as ReturnType<M["forward"]>;
  }

  /**
   * A compiled training step: each device computes the loss and the gradients of its part of the batch, takes the gradients of the other devices while its
   * own are still computed, and updates its own copy of the parameters. Parameters, buffers and the optimizer's state are those of the first device, so that
   * checkpoints are as without this. Parts count by their size: the loss is that of the whole batch where it is a mean. What the other devices write into
   * buffers is lost; hooks of gradients are not called, and gradients that parameters have already are not added.
   *
   * lossOf: the mean loss of a batch, one element, computed with `module`; it is compiled, for each device. optimizer: of the module's parameters; what it has
   * taken over from a checkpoint has to be there before the first step, or be loaded together with the parameters. Result: a function with the parameters of lossOf that gives the loss (float32, on the first device); it does not wait for the devices.
   *
   * Throws ValueError for a batch with fewer elements than devices, TraceError inside a compiled function. See compile() for what is refused.
   */
  compileStep<Inputs extends readonly unknown[], P extends StepOptimizer>(
    lossOf: (...inputs: Inputs) => Tensor,
    optimizer: P,
    options: DeviceStepOptions<P> = {},
  ): DeviceStep<Inputs> {
    const training = new DeviceTraining(this.module, this.devices, this.axis, lossOf, optimizer, options);
    const step = (...inputs: Inputs): Tensor => training.step(inputs);
    Object.defineProperty(step, "programs", { get: () => training.programs });
    return Object.assign(step, {
      ofParts: (parts: readonly Inputs[]) => training.ofParts(parts),
      dispose: () => training.dispose(),
    }) as DeviceStep<Inputs>;
  }

  protected override describeOptions(): string {
    return `devices=[${this.devices.join(", ")}]`;
  }
}

/** Makes a DataParallel. */
export const dataParallel = <M extends Module>(
  module: M,
  devices: readonly DeviceLike[],
  options: DataParallelOptions = {},
): DataParallel<M> => new DataParallel(module, devices, options);
