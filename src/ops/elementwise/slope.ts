/** Gradients of elementwise functions with stated slopes. @package */
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { TapeNode, type Gradients } from "../../autograd/tape.ts";
import { withNode } from "../../autograd/tie.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul } from "./binary.ts";

/** (d, v) => d f(v), element by element. */
export type Slope = (d: Tensor, v: Tensor) => Tensor;

/**
 * The gradient dy f'(v), whose own gradients are ddx f'(v) and ddx dy f''(v): slopes lists f', f'' and so on; of the last one the gradient is
 * that of its operations. Derived from a product of sums, f'' would be a difference of infinities where dy is infinite.
 */
export function bySlopes(dy: Tensor, v: Tensor, slopes: readonly [Slope, ...Slope[]]): Tensor {
  const [first, next, ...rest] = slopes;
  if (next === undefined || !isGradEnabled() || (!dy.requiresGrad && !v.requiresGrad)) return first(dy, v);
  const value = noGrad(() => first(dy, v));
  const run = ([ddx]: Gradients, [d, x]: Gradients): Gradients => [
    bySlopes(ddx!, x!, slopes),
    bySlopes(mul(ddx!, d!), x!, [next, ...rest]),
  ];
  return withNode(value, "slope", [dy, v], () => new TapeNode("slope", [dy, v], [value.desc], [dy, v], run));
}
