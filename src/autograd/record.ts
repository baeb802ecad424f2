/** Records operations and views on the tape: a node for each, to which its results lead. */
import { AutogradError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import type { Definition, GradContext, TensorSpec, ViewDefinition } from "../core/definition.ts";
import type { Device } from "../core/device.ts";
import { Storage, internDesc } from "../core/storage.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { TapeNode, type Edge, type Gradients } from "./tape.ts";

/** retainGrad() follows the tensor to its new history. */
export function moveRetained(t: Tensor, from: TapeNode, fromOutput: number, to: TapeNode, toOutput: number): void {
  if (from.retained?.get(fromOutput) !== t) return;
  const { retained } = from;
  retained.delete(fromOutput);
  if (!from.isTraced) {
    tracer()?.movesRetained(from, fromOutput);
    // Which passes of the call still meet it is decided after the call.
    tracer()?.lost(() => retained.set(fromOutput, t), true);
  }
  from.change();
  to.change();
  (to.retained ??= new Map<number, Tensor>()).set(toOutput, t);
}

export function attach(node: TapeNode, outputs: readonly Tensor[]): void {
  for (let i = 0; i < outputs.length; i++) {
    const t = outputs[i]!;
    if (!isFloat(t.dtype)) continue;
    t.node = node;
    t.outputIndex = i;
  }
}

/** Records an operation whose inputs want gradients. */
export function record<A>(definition: Definition<A>, inputs: readonly Tensor[], attrs: A, outputs: readonly Tensor[]): void {
  const grad = definition.grad;
  if (!outputs.some((t) => isFloat(t.dtype))) return;
  const outSpecs = outputs.map((t) => t.desc);
  if (grad === null) {
    attach(new TapeNode(definition.name, inputs, outSpecs, [], () => refuseGradient(definition.name)), outputs);
    return;
  }
  const needs = inputs.map((t) => t.requiresGrad);
  const saves = definition.saves;
  const keepInputs = typeof saves?.inputs === "function" ? saves.inputs(needs) : saves?.inputs;
  const keepOutputs = saves?.outputs ?? true;
  const saved: (Tensor | null)[] = inputs.map((t, i) => (keepInputs === undefined || keepInputs.includes(i) ? t : null));
  for (let i = 0; i < outputs.length; i++)
    saved.push(keepOutputs === true || (keepOutputs !== false && keepOutputs.includes(i)) ? outputs[i]! : null);
  const specs = inputs.map((t) => t.desc);
  const count = inputs.length;
  const { device } = inputs[0]!;
  const run = (dys: Gradients, kept: Gradients): Gradients => {
    const context: GradContext<A> = {
      inputs: kept.slice(0, count) as Tensor[],
      outputs: kept.slice(count) as Tensor[],
      specs,
      attrs,
      dys,
      needs,
      inputEdge: (input) => edgeTensor(device, node.edges[input]!, specs[input]!),
    };
    return grad(dys[0] as Tensor, context);
  };
  const node: TapeNode = new TapeNode(definition.name, inputs, outSpecs, saved, run, {
    outputsFrom: count,
    isForeign: definition.traits.users === true,
    isOnce: saves?.keepsNumbers === true ? false : undefined,
  });
  if (saves?.readsLater === true) node.readSavedLater();
  attach(node, outputs);
}

/** @internal A tensor without data whose history is this edge. */
export function edgeTensor(device: Device, edge: Edge, spec: TensorSpec): Tensor {
  if (edge !== null && "leaf" in edge) return edge.leaf;
  const t = new Tensor(new Storage(device, 0), internDesc(device, spec.dtype, spec.shape));
  if (edge !== null) {
    t.node = edge.node;
    t.outputIndex = edge.output;
  }
  return t;
}

/** Of an operation without a derivative, or without one by one of its inputs. */
export function refuseGradient(operation: string, input?: number): never {
  throw new AutogradError({
    operation,
    argument: "gradient",
    expected: "an operation that has one",
    received: `${operation}, whose derivative${input === undefined ? "" : ` by input ${input}`} is not defined here`,
    hint: "Use detach() or noGrad() for what needs no gradient.",
  });
}

/** Records a view. */
export function recordView<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, output: Tensor): void {
  const spec = input.desc;
  const { part } = definition;
  output.node = new TapeNode(definition.name, [input], [output.desc], [], ([dy]) => [definition.grad(dy!, { spec, attrs })], {
    part: part === undefined ? null : (dy) => part(dy, { spec, attrs }),
  });
}
