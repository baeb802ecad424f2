/** Activations by their names in configs. */
import type { Tensor } from "../core/tensor.ts";
import { gelu, relu, silu } from "../ops/elementwise/activation.ts";

/** Names of transformers.activations.ACT2FN. */
export type Activation = "gelu_new" | "gelu_pytorch_tanh" | "gelu" | "relu" | "silu" | "swish";
export const ACTIVATIONS: readonly Activation[] = ["gelu_new", "gelu_pytorch_tanh", "gelu", "relu", "silu", "swish"];

/** The activation of a name. */
export function activated(activation: Activation, x: Tensor): Tensor {
  switch (activation) {
    case "gelu_new":
    case "gelu_pytorch_tanh":
      return gelu(x, "tanh");
    case "gelu":
      return gelu(x);
    case "relu":
      return relu(x);
    case "silu":
    case "swish":
      return silu(x);
    default:
      return activation satisfies never;
  }
}
