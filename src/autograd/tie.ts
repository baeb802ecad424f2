/** Dependencies with a zero derivative: a value depends on a tensor, so that second derivatives exist and are zero. */
import { batching } from "../core/batching.ts";
import { defineView } from "../core/definition.ts";
import { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { arithmetic } from "./gradient-arithmetic.ts";
import { isGradEnabled, noGrad } from "./grad-mode.ts";
import { TapeNode, type Gradients } from "./tape.ts";

/** An alias of a tensor with another history: traced functions find it again by its attributes. */
const aliasOp = defineView<string>({
  name: "alias",
  view: ({ shape, strides }) => ({ shape, strides, offset: 0 }),
  grad: (dy) => dy,
});

/** An alias of value whose history is output `output` of the node that `make` returns. Later runs of a compiled function find it by value, name and others. */
export function withNode(value: Tensor, name: string, others: readonly Tensor[], make: () => TapeNode, output = 0): Tensor {
  const again = (shown = value): Tensor => {
    const t = new Tensor(shown.storage, shown.desc, shown.offset);
    t.node = make();
    t.outputIndex = output;
    return t;
  };
  const level = batching();
  if (level !== null) {
    const own = level.owns(value) ? value : level.leaf(value);
    return level.view(aliasOp, own, name, () => again(own));
  }
  const t = tracer();
  return t === null ? again() : t.view(aliasOp, value, name, again, others);
}

/**
 * value, as a function of x too, whose derivative by x is zero: where a rule chooses by x, the gradient's own gradient is there and
 * zero, not missing ("none": the value requires a gradient, but x gets none, as in PyTorch's norms and convolutions; "linear": it depends on
 * the incoming one, of which it takes no element). value itself while nothing is recorded.
 */
export function tie(value: Tensor, x: Tensor, derivative: "zero" | "none" | "linear" = "zero"): Tensor {
  if (!isGradEnabled() || !x.requiresGrad) return value;
  const { desc } = x;
  const run = ([dy]: Gradients): Gradients => {
    if (derivative === "none") return [dy!, null];
    const none = arithmetic.zeros(dy!, desc);
    return [dy!, derivative === "zero" ? none : tie(none, dy!)];
  };
  return withNode(value, derivative, [x], () => new TapeNode("constant", [value, x], [value.desc], [], run));
}

/**
 * y, made of x by a function whose derivative does not depend on x, though PyTorch's reads it: the gradients of the gradient are there, and zero ("none":
 * x gets none of them).
 */
export function reading(y: Tensor, x: Tensor, derivative: "zero" | "none" = "zero"): Tensor {
  if (!isGradEnabled() || !x.requiresGrad || y.node === null) return y;
  const { name } = y.node;
  return withNode(
    y,
    `reading ${derivative}`,
    [x],
    () => new TapeNode(name, [y], [y.desc], [x], ([dy], [saved]) => [tie(dy!, saved!, derivative)]),
  );
}

/**
 * choose(dy, x), where x only decides which elements of dy are taken, and by which factor: linear in dy, element by element, and so its own
 * adjoint. The gradient of a step function's operation: it and all its gradients depend on x, and their derivatives by x are zero.
 */
export function chosenBy(dy: Tensor, x: Tensor, choose: (dy: Tensor, x: Tensor) => Tensor): Tensor {
  const value = noGrad(() => choose(dy, x));
  if (!isGradEnabled() || (!x.requiresGrad && !dy.requiresGrad)) return value;
  const { desc } = x;
  const run = ([ddx]: Gradients, [saved]: Gradients): Gradients => [chosenBy(ddx!, saved!, choose), arithmetic.zeros(ddx!, desc)];
  return withNode(value, "choice", [dy, x], () => new TapeNode("choice", [dy, x], [value.desc], [x], run));
}
