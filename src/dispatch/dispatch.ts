/** The only fork: run or trace, then record on the tape. */
import { branchInput, branchInputs } from "../autograd/branch.ts";
import { isGradEnabled, noGrad } from "../autograd/grad-mode.ts";
import { overwrite } from "../autograd/over.ts";
import { record, recordView } from "../autograd/record.ts";
import { View } from "../autograd/view.ts";
import { batching } from "../core/batching.ts";
import { isFloat } from "../core/dtype.ts";
import { DeviceError } from "../core/errors.ts";
import type { Device } from "../core/device.ts";
import type { Definition, ViewDefinition } from "../core/definition.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { runCreation, runEager, runOne } from "../runtime/eager.ts";
import { internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { interceptor, runsDirectly, tracer } from "../core/tracer.ts";

export { assign, type AssignOptions } from "../autograd/in-place-operation.ts";

/** Whether a gradient will be asked for through an operation on these inputs, all of which must be alive. */
function isRecorded(operation: string, inputs: readonly Tensor[]): boolean {
  let wants = false;
  for (let i = 0; i < inputs.length; i++) {
    const t = inputs[i]!;
    if (t.isDisposed) t.requireLive(operation);
    if (t.requiresGrad) wants = true;
  }
  return wants && isGradEnabled();
}

/** Runs (or traces) an operation and returns all its outputs. */
export function dispatch<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor[] {
  const level = batching();
  if (level !== null) return level.dispatch(definition, inputs, attrs);
  const records = isRecorded(definition.name, inputs);
  const t = interceptor();
  if (t !== null) return t.dispatch(definition, branchInputs(inputs), attrs, records);
  const outputs = runEager(definition, inputs, attrs);
  if (records) record(definition, inputs, attrs, outputs);
  return outputs;
}

/** dispatch for an operation that runs eagerly in several programs, which `run` calls: one node of the tape, and one operation of a trace. */
export function dispatchInPieces<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, run: () => Tensor[]): Tensor[] {
  if (batching() !== null || tracer() !== null) return dispatch(definition, inputs, attrs);
  const records = isRecorded(definition.name, inputs);
  const outputs = noGrad(run);
  if (records) record(definition, inputs, attrs, outputs);
  return outputs;
}

/** dispatch for operations of one output. */
export function call<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor {
  if (!runsDirectly() || isRecorded(definition.name, inputs)) return dispatch(definition, inputs, attrs)[0]!;
  return runOne(definition, inputs, attrs);
}

/**
 * call for an operation whose value is what an in-place operation on its first input gives: where no gradient is required it writes what it changes
 * into that input's own buffer, and no more.
 */
export const callOver = <A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A): Tensor =>
  overwrite(definition, inputs, attrs) ?? call(definition, inputs, attrs);

/** An operation without inputs, on a device. */
export function create<A>(definition: Definition<A>, device: Device, attrs: A): Tensor {
  const level = batching();
  if (level !== null) return level.below(() => create(definition, device, attrs));
  const t = interceptor();
  return t === null ? runCreation(definition, nativeDevice(device, definition.name), attrs)[0]! : t.create(definition, device, attrs);
}

/** Another view of a tensor's storage: nothing is computed. */
export function view<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A): Tensor {
  input.requireLive(definition.name);
  const level = batching();
  if (level !== null) return level.view(definition, input, attrs, () => makeView(definition, input, attrs));
  const t = interceptor();
  if (t === null) return makeView(definition, input, attrs);
  const seen = branchInput(input);
  return t.view(definition, seen, attrs, () => makeView(definition, seen, attrs));
}

function makeView<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A): Tensor {
  const layout = definition.view(input.desc, attrs);
  const output = new Tensor(
    input.storage,
    internDesc(input.device, input.dtype, layout.shape, layout.strides),
    input.offset + layout.offset,
  );
  if (!isFloat(input.dtype)) return output;
  const enabled = isGradEnabled();
  if (enabled && input.requiresGrad) recordView(definition, input, attrs, output);
  output.viewOf = new View(input, definition as unknown as ViewDefinition<never>, attrs, enabled ? "recorded" : "noGrad");
  return output;
}

/** What an operation gives as its own result, though a view of something that it computed: in-place operations may change it. */
export function asResult(t: Tensor): Tensor {
  t.viewOf?.base.letGo();
  t.viewOf = null;
  return t;
}

/** Marks views that one operation gave together: none of them may be written to while gradients are recorded, as in PyTorch. */
export function together(views: Tensor[]): Tensor[] {
  for (const { viewOf } of views) if (viewOf?.origin === "recorded") viewOf.origin = "several";
  return views;
}

/** Throws unless all tensors are on one device. */
export function requireSameDevice(operation: string, inputs: readonly Tensor[]): void {
  for (const t of inputs)
    if (t.device !== inputs[0]!.device)
      throw new DeviceError(operation, "tensors", `all on ${inputs[0]!.device}`, `one on ${t.device}`, "Use to(device) to move it.");
}
