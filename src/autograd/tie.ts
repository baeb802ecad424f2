/** Values whose derivative is zero, but which depend on a tensor all the same. */
import { Tensor } from "../tensor.ts";
import { arithmetic } from "./arithmetic.ts";
import { isGradEnabled, noGrad } from "./grad-mode.ts";
import { TapeNode } from "./tape.ts";

/**
 * value, as a function of x too, whose derivative by x is zero: where a rule chooses by x, the gradient's own gradient is there and
 * zero, not missing ("none": the value requires a gradient, but x gets none, as in PyTorch's norms and convolutions; "linear": it depends on
 * the incoming one, of which it takes no element). value itself while nothing is recorded.
 */
export function tie(value: Tensor, x: Tensor, derivative: "zero" | "none" | "linear" = "zero"): Tensor {
  if (!isGradEnabled() || !x.requiresGrad) return value;
  const { desc } = x;
  const tied = new Tensor(value.storage, value.desc, value.offset);
  tied.node = new TapeNode("constant", [value, x], [value.desc], [], ([dy]) => {
    if (derivative === "none") return [dy!, null];
    const none = arithmetic.zeros(dy!, desc);
    return [dy!, derivative === "zero" ? none : tie(none, dy!)];
  });
  return tied;
}

/**
 * y, made of x by a function whose derivative does not depend on x, though PyTorch's reads it: the gradients of the gradient are there, and zero.
 */
export function reading(y: Tensor, x: Tensor): Tensor {
  if (!isGradEnabled() || !x.requiresGrad || y.node === null) return y;
  const same = new Tensor(y.storage, y.desc, y.offset);
  same.node = new TapeNode(y.node.name, [y], [y.desc], [x], ([dy], [saved]) => [tie(dy!, saved!)]);
  return same;
}

/**
 * choose(dy, x), where x only decides which elements of dy are taken, and by which factor: linear in dy, element by element, and so its own
 * adjoint. The gradient of a step function's operation: it and all its gradients depend on x, and their derivatives by x are zero.
 */
export function chosenBy(dy: Tensor, x: Tensor, choose: (dy: Tensor, x: Tensor) => Tensor): Tensor {
  const value = noGrad(() => choose(dy, x));
  if (!isGradEnabled() || (!x.requiresGrad && !dy.requiresGrad)) return value;
  const { desc } = x;
  const tied = new Tensor(value.storage, value.desc, value.offset);
  tied.node = new TapeNode("choice", [dy, x], [value.desc], [x], ([ddx], [saved]) => [
    chosenBy(ddx!, saved!, choose),
    arithmetic.zeros(ddx!, desc),
  ]);
  return tied;
}
