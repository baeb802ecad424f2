/** Forms of losses by classes. */
import type { Value } from "./onnx-graph.ts";
import { form, type FormCall, type Forms } from "./form.ts";
import type { Name } from "./onnx-graph.ts";

interface Nll {
  readonly ignoreIndex: number;
  readonly reduction: "mean" | "sum" | "none";
}

/** The loss of log-probabilities [N, C, ...], and the total weight. */
function nll(c: FormCall<Nll>, logs: Name, target: Value, weight: Value | undefined): [Name, Name] {
  const { ignoreIndex, reduction } = c.attrs;
  const classes = c.cast(target, "int64");
  const counts = c.node("Not", [c.node("Equal", [classes, c.graph.scalar("int64", ignoreIndex)])]);
  const safe = c.node("Where", [counts, classes, c.graph.scalar("int64", 0)]);
  const axis = c.graph.ints([1]);
  const chosen = c.node("Squeeze", [c.node("GatherElements", [logs, c.node("Unsqueeze", [safe, axis])], { axis: 1 }), axis]);
  const [one, zero] = [c.number(1), c.number(0)];
  const factor = weight === undefined ? one : c.node("Gather", [c.cast(weight, c.dtype), safe], { axis: 0 });
  const weights = c.node("Where", [counts, factor, zero]);
  // Chosen, not multiplied: the logarithm of another class may be minus infinity.
  const kept = c.node("Where", [counts, c.node("Neg", [chosen]), zero]);
  const losses = weight === undefined ? kept : c.node("Mul", [kept, weights]);
  const total = c.node("ReduceSum", [weights], { keepdims: 0 });
  if (reduction === "none") return [losses, total];
  const sum = c.node("ReduceSum", [losses], { keepdims: 0 });
  return [reduction === "sum" ? sum : c.node("Div", [sum, total]), total];
}

export const losses: Forms = {
  nllLoss: form<Nll>((c) => nll(c, c.x.name, c.inputs[1]!, c.inputs[2])),
  crossEntropy: form<Nll>((c) => {
    const logs = c.node("LogSoftmax", [c.x.name], { axis: 1 });
    return [...nll(c, logs, c.inputs[1]!, undefined), logs];
  }),
};
