/** Custom kernels: written in TypeScript over the typed graph builder. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { create, dispatch, requireSameDevice } from "../../dispatch/dispatch.ts";
import { device as deviceOf, defaultDevice, type DeviceLike } from "../../core/device.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type GradRule, type TensorSpec } from "../../core/definition.ts";

/** The definition that kernel() takes: shapes, the DirectML operators, and the gradient. */
export interface KernelDefinition<A> {
  /** Name in errors, programs and traces. */
  readonly name: string;
  /** Shapes and dtypes of the outputs; throws for inputs that it does not support. */
  readonly infer: (inputs: readonly TensorSpec[], attrs: A) => readonly TensorSpec[];
  /** Adds DirectML operators to the graph; a tensor of rank 0 has sizes [1] there. */
  readonly lower: (g: GraphBuilder, inputs: readonly Expr[], attrs: A, outputs: readonly TensorSpec[]) => readonly Expr[];
  /**
   * Gradients of the inputs (null for none), composed of operations; their shapes are checked, their dtypes cast to those of the inputs.
   * null: it has none, and backward() through it is an error.
   */
  readonly grad: GradRule<A> | null;
  /** Compile all nodes as one DirectML graph, whatever the device's planner would choose. Default: false. */
  readonly asGraph?: boolean;
}

/** A kernel, ready to be called: all outputs, in `infer`'s order. */
export type Kernel<A> = (inputs: readonly Tensor[], attrs: A, options?: { readonly device?: DeviceLike }) => Tensor[];

/**
 * Defines an operation. It runs eagerly as one program, works inside compile() like other operations, and is differentiable if
 * it has a `grad`. attrs must be plain data (undefined for none). Throws what `infer` throws, UnsupportedError when a device
 * lacks an operator (outside strict mode it then runs on the software adapter), NativeError when DirectML refuses a node.
 */
export function kernel<A = undefined>(definition: KernelDefinition<A>): Kernel<A> {
  const { asGraph, grad, ...rest } = definition;
  // Plain JavaScript may leave it out.
  const operation = define<A>({ ...rest, grad: grad ?? null, traits: { asGraph: asGraph ?? false, users: true } });
  return (inputs, attrs, options = {}) => {
    if (inputs.length === 0) return [create(operation, options.device === undefined ? defaultDevice() : deviceOf(options.device), attrs)];
    requireSameDevice(definition.name, inputs);
    return dispatch(operation, inputs, attrs);
  };
}
