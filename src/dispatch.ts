/** The only fork: run or trace, then record on the tape. */
import { isGradEnabled } from "./autograd/grad-mode.ts";
import { TapeNode, record, recordView } from "./autograd/tape.ts";
import { isFloat } from "./dtype.ts";
import { AutogradError, DeviceError, DTypeError, ShapeError } from "./errors.ts";
import type { Device } from "./device.ts";
import type { Definition, ViewDefinition } from "./definition.ts";
import { nativeDevice } from "./runtime/devices.ts";
import { runCreation, runEager } from "./runtime/eager.ts";
import { assignEager } from "./runtime/assign.ts";
import { sameShape, showShape } from "./shape.ts";
import { internDesc } from "./storage.ts";
import { Tensor } from "./tensor.ts";
import { tracer } from "./tracer.ts";

/** Stands for the node of a view of a leaf when nothing is recorded: the view requires a gradient all the same. */
const unrecorded = new TapeNode("view", [], [], [], () => []);

const isFloatTensor = (t: Tensor): boolean => isFloat(t.dtype);

/** Runs (or traces) an operation and returns all its outputs. */
export function dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
  let wants = false;
  for (const t of inputs) {
    if (t.isDisposed) t.demandLive(definition.name);
    if (t.requiresGrad) wants = true;
  }
  const t = tracer();
  const outputs = t === null ? runEager(definition, inputs, attrs) : t.dispatch(definition, inputs, attrs);
  if (wants && isGradEnabled() && (t === null || t.recordsTape)) record(definition, inputs, attrs, outputs, isFloatTensor);
  return outputs;
}

/** dispatch for operations of one output. */
export function call<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor {
  return dispatch(definition, inputs, attrs)[0]!;
}

/** An operation without inputs, on a device. */
export function create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
  const t = tracer();
  return t === null ? runCreation(definition, nativeDevice(device, definition.name), attrs)[0]! : t.create(definition, device, attrs);
}

/** Another view of a tensor's storage: nothing is computed. */
export function view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A): Tensor {
  input.demandLive(definition.name);
  const layout = definition.view(input.desc, attrs);
  const output = new Tensor(
    input.storage,
    internDesc(input.device, input.dtype, layout.shape, layout.strides),
    input.offset + layout.offset,
  );
  if (input.requiresGrad && isGradEnabled()) {
    if (tracer()?.recordsTape ?? true) recordView(definition, input, attrs, output);
    else output.node = input.node ?? unrecorded;
  }
  return output;
}

/** Throws unless all tensors lie on one device. */
export function demandSameDevice(operation: string, inputs: readonly Tensor[]): void {
  for (const t of inputs)
    if (t.device !== inputs[0]!.device)
      throw new DeviceError(operation, "tensors", `all on ${inputs[0]!.device}`, `one on ${t.device}`, "Use to(device) to move it.");
}

/**
 * target takes the value of an operation over inputs (the in-place forms: `x.add_(y)` is assign(x, add, [x, y])). compute makes
 * the value; it must have target's shape, and a dtype that target's can take.
 */
export function assign(operation: string, target: Tensor, compute: () => Tensor): Tensor {
  target.demandLive(operation);
  if (isGradEnabled() && target.leafRequiresGrad)
    throw new AutogradError({
      operation,
      argument: "tensor",
      expected: "no leaf that requires a gradient",
      received: target.describe(),
      hint: "Change it inside noGrad().",
    });
  const base = target.node;
  if (isGradEnabled() && base !== null && !target.coversStorage)
    throw new AutogradError({
      operation,
      argument: "tensor",
      expected: "no part of another tensor while gradients are recorded",
      received: target.describe(),
      hint: "Use the form that returns a new tensor, or noGrad().",
    });
  const value = compute();
  if (!sameShape(value.shape, target.shape))
    throw new ShapeError(operation, "result", `of the tensor's own shape ${showShape(target.shape)}`, showShape(value.shape));
  if (value.dtype !== target.dtype) throw new DTypeError(operation, "result", `${target.dtype}, since it is written in place`, value.dtype);
  if (isGradEnabled() && value.node !== null && !target.coversStorage)
    throw new AutogradError({
      operation,
      argument: "tensor",
      expected: "no part of another tensor when a gradient is to flow into it",
      received: target.describe(),
      hint: "Use set() on the whole tensor.",
    });
  const t = tracer();
  if (t === null) assignEager(target, value, value.node === null);
  else t.assign(target, value);
  if (isGradEnabled()) {
    target.node = value.node;
    target.outputIndex = value.outputIndex;
  }
  return target;
}
