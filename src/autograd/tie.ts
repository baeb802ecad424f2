/** Values whose derivative is zero, but which depend on a tensor all the same. */
import { Tensor } from "../tensor.ts";
import { arithmetic } from "./arithmetic.ts";
import { isGradEnabled } from "./grad-mode.ts";
import { TapeNode } from "./tape.ts";

/**
 * value, as a function of x too, whose derivative by x is zero: where a rule chooses by x, the gradient's own gradient is there and
 * zero, not missing ("none": the value requires a gradient, but x gets none, as in PyTorch's norms and convolutions). value itself
 * while nothing is recorded.
 */
export function tie(value: Tensor, x: Tensor, derivative: "zero" | "none" = "zero"): Tensor {
  if (!isGradEnabled() || !x.requiresGrad) return value;
  const { desc } = x;
  const tied = new Tensor(value.storage, value.desc, value.offset);
  tied.node = new TapeNode("constant", [value, x], [value.desc], [], ([dy]) => [
    dy!,
    derivative === "zero" ? arithmetic.zeros(dy!, desc) : null,
  ]);
  return tied;
}
