/** Losses of classes. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** -weight[t] x[t]; targets that are ignored count nothing, in means too. */
function likelihood(c: Call, x: Tensor, target: Tensor, weight: Tensor | null): Tensor {
  const ignored = c.hasAttribute("ignore_index") ? c.int("ignore_index", 0) : null;
  const reduction = c.oneOf("reduction", "mean", ["none", "mean", "sum"]);
  const classes = ops.to(target, "int32");
  const isIgnored = ignored === null ? null : ops.eq(classes, ignored);
  const safe = isIgnored === null ? classes : ops.where(isIgnored, ops.zerosLike(classes), classes);
  const picked = ops.squeeze(ops.gather(x, 1, ops.unsqueeze(safe, 1)), 1);
  let factor = weight === null ? null : ops.reshape(ops.indexSelect(weight, 0, ops.reshape(safe, [-1])), safe.shape);
  if (isIgnored !== null) {
    const ones = factor ?? ops.onesLike(picked);
    factor = ops.where(isIgnored, ops.zerosLike(ones), ones);
  }
  const loss = factor === null ? ops.neg(picked) : ops.neg(ops.mul(picked, factor));
  if (reduction === "none") return loss;
  if (reduction === "sum") return ops.sum(loss);
  return factor === null ? ops.mean(loss) : ops.div(ops.sum(loss), ops.sum(factor));
}

function softmaxLoss(c: Call): Tensor[] {
  const logs = ops.logSoftmax(c.x, 1);
  return [likelihood(c, logs, c.tensor(1), c.optional(2)), logs];
}

export const loss = family({
  NegativeLogLikelihoodLoss: (c) => likelihood(c, c.x, c.tensor(1), c.optional(2)),
  SoftmaxCrossEntropyLoss: softmaxLoss,
});
