/** ai.onnx.preview.training: one step of an optimizer. Inputs are rate and step count, then all tensors of the first kind, of the second kind, and so on. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** The tensors of each kind for each parameter. */
function parameters(c: Call, kinds: number): Tensor[][] {
  const count = (c.inputs.length - 2) / kinds;
  return Array.from({ length: count }, (_, i) => Array.from({ length: kinds }, (__, k) => c.tensor(2 + k * count + i)));
}

/** Results by parameter as outputs by kind. */
const byKind = (results: readonly (readonly Tensor[])[]): Tensor[] => (results[0] ?? []).flatMap((_, k) => results.map((r) => r[k]!));

const regularized = (c: Call, x: Tensor, g: Tensor): Tensor => ops.add(ops.mul(x, c.float("norm_coefficient", 0)), g);

function adagrad(c: Call): Tensor[] {
  const rate = ops.div(c.tensor(0), ops.add(ops.mul(ops.to(c.tensor(1), "float32"), c.float("decay_factor", 0)), 1));
  return byKind(
    parameters(c, 3).map(([x, g, h]) => {
      const gradient = regularized(c, x!, g!);
      const squares = ops.add(h!, ops.mul(gradient, gradient));
      return [ops.sub(x!, ops.div(ops.mul(rate, gradient), ops.add(ops.sqrt(squares), c.float("epsilon", 1e-6)))), squares];
    }),
  );
}

function adam(c: Call): Tensor[] {
  const [alpha, beta, epsilon] = [c.float("alpha", 0.9), c.float("beta", 0.999), c.float("epsilon", 1e-6)];
  const t = ops.to(c.tensor(1), "float32");
  const corrected = ops.div(ops.mul(c.tensor(0), ops.sqrt(ops.sub(1, ops.pow(beta, t)))), ops.sub(1, ops.pow(alpha, t)));
  const rate = ops.where(ops.gt(t, 0), corrected, c.tensor(0));
  return byKind(
    parameters(c, 4).map(([x, g, v, h]) => {
      const gradient = regularized(c, x!, g!);
      const first = ops.add(ops.mul(v!, alpha), ops.mul(gradient, 1 - alpha));
      const second = ops.add(ops.mul(h!, beta), ops.mul(ops.mul(gradient, gradient), 1 - beta));
      const next = ops.sub(x!, ops.div(ops.mul(rate, first), ops.add(ops.sqrt(second), epsilon)));
      return [ops.mul(next, 1 - c.float("norm_coefficient_post", 0)), first, second];
    }),
  );
}

function momentum(c: Call): Tensor[] {
  const isNesterov = c.oneOf("mode", "standard", ["standard", "nesterov"]) === "nesterov";
  const alpha = c.float("alpha", 0);
  const share = ops.where(ops.gt(c.tensor(1), 0), c.make([c.float("beta", 0)], "float32", []), 1);
  return byKind(
    parameters(c, 3).map(([x, g, v]) => {
      const gradient = regularized(c, x!, g!);
      const moved = ops.add(ops.mul(v!, alpha), ops.mul(gradient, share));
      const direction = isNesterov ? ops.add(gradient, ops.mul(moved, alpha)) : moved;
      return [ops.sub(x!, ops.mul(c.tensor(0), direction)), moved];
    }),
  );
}

export const training = family({ Adagrad: adagrad, Adam: adam, Momentum: momentum });
