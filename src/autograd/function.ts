/** defineFunction(): operations whose gradient user code defines. */
import { AutogradError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { branchInput } from "./branch.ts";
import { isGradEnabled, noGrad } from "./grad-mode.ts";
import { TapeNode, type Gradients } from "./tape.ts";
import { attach } from "./record.ts";

/** What forward leaves for backward. */
export interface FunctionContext {
  /** Keeps tensors for backward, which gets them as `saved`. Changing them in place before is an error then. */
  saveForBackward(...tensors: Tensor[]): void;
  /** The tensors kept, in backward only. */
  readonly saved: readonly Tensor[];
  /** Which arguments of forward want a gradient; false for those that are no tensors. */
  readonly needsInputGrad: readonly boolean[];
  /** Any other value that forward passes to backward. */
  [key: string]: unknown;
}

type FunctionGradients = Tensor | null | readonly (Tensor | null)[];

/** What defineFunction() takes: the forward pass, and the gradients of its arguments. Reference: torch.autograd.Function. */
export interface CustomFunction<Args extends readonly unknown[], Result extends Tensor | readonly Tensor[]> {
  /** Shown in errors and as the tensor's origin. */
  readonly name?: string;
  /** Computes the results; what it calls is not recorded. */
  readonly forward: (context: FunctionContext, ...args: Args) => Result;
  /** The gradients of the tensor arguments (null for none), from those of the results. One for each argument; null for others. */
  readonly backward: (context: FunctionContext, ...gradients: Tensor[]) => FunctionGradients;
}

/**
 * A function that autograd treats as one operation with the given backward. With createGraph, backward's own operations are
 * recorded. Reference: torch.autograd.Function.
 */
export function defineFunction<Args extends readonly unknown[], Result extends Tensor | readonly Tensor[]>(
  definition: CustomFunction<Args, Result>,
): (...args: Args) => Result {
  const name = definition.name ?? "customFunction";
  return (...originals) => {
    const args = originals.map((a) => (a instanceof Tensor ? branchInput(a) : a)) as unknown as Args;
    const needsInputGrad = args.map((a) => a instanceof Tensor && a.requiresGrad);
    let kept: Tensor[] = [];
    const extra: Record<string, unknown> = {};
    const forward = Object.assign(extra, {
      saveForBackward: (...tensors: Tensor[]) => {
        kept = tensors;
      },
      saved: [] as readonly Tensor[],
      needsInputGrad,
    }) as unknown as FunctionContext;
    const result = noGrad(() => definition.forward(forward, ...args));
    if (!isGradEnabled() || !needsInputGrad.includes(true)) return result;
    const inputs = args.filter((a): a is Args[number] & Tensor => a instanceof Tensor) as Tensor[];
    // A result that is an argument, or a view of what has a node already, becomes a tensor of its own.
    const ownTensor = (t: Tensor): Tensor => (inputs.includes(t) || t.node !== null ? new Tensor(t.storage, t.desc, t.offset) : t);
    const outputs = (Array.isArray(result) ? (result as readonly Tensor[]) : [result as Tensor]).map(ownTensor);
    const specs = outputs.map((t) => t.desc);
    const isTensor = args.map((a) => a instanceof Tensor);
    const run = (dys: Gradients, saved: Gradients): Gradients => {
      const context = Object.assign({}, extra, {
        saved: saved as readonly Tensor[],
        saveForBackward: () => {
          throw new AutogradError({
            operation: name,
            expected: "saveForBackward() to be called in forward",
            received: "a call in backward",
          });
        },
      }) as unknown as FunctionContext;
      tracer()?.runsCode();
      const some = dys.find((d) => d !== null)!;
      const filled = dys.map((d, i) => d ?? arithmetic.zeros(some, specs[i]!));
      return checked(name, isTensor, definition.backward(context, ...filled));
    };
    const node = new TapeNode(name, inputs, specs, kept, run, { isForeign: true });
    attach(tracer()?.custom(node, inputs) ?? node, outputs);
    return (Array.isArray(result) ? outputs : outputs[0]!) as unknown as Result;
  };
}

/** The gradients of the tensor arguments, in order: the tape checks what they are. */
function checked(name: string, isTensor: readonly boolean[], gradients: FunctionGradients): (Tensor | null)[] {
  const list = gradients === null || gradients instanceof Tensor ? [gradients] : gradients;
  if (list.length !== isTensor.length)
    throw new AutogradError({
      operation: name,
      argument: "backward's result",
      expected: `${isTensor.length} gradients, one for each argument of forward`,
      received: `${list.length}`,
    });
  return isTensor.flatMap((is, i) => {
    const grad = list[i] ?? null;
    if (is) return [grad];
    if (grad !== null)
      throw new AutogradError({
        operation: name,
        argument: `gradient ${i}`,
        expected: "null, since the argument is no tensor",
        received: grad.describe(),
      });
    return [];
  });
}
