/** Forms of recurrent cells, and of an LSTM with a projection, step by step. */
import { form, type FormCall, type Forms } from "./form.ts";
import type { Name } from "./onnx-graph.ts";

/** Equal parts of the last axis. */
const parts = (c: FormCall, x: Name, count: number, width: number): Name[] =>
  Array.from({ length: count }, (_, i) =>
    c.node("Slice", [x, c.graph.ints([i * width]), c.graph.ints([(i + 1) * width]), c.graph.ints([-1])]),
  );

/** Hidden state and cell after a step, by the gates' sums [N, 4H]. */
function lstmStep(c: FormCall, sums: Name, cell: Name, width: number): [Name, Name] {
  const [i, f, z, o] = parts(c, sums, 4, width) as [Name, Name, Name, Name];
  const kept = c.node("Mul", [c.node("Sigmoid", [f]), cell]);
  const next = c.node("Add", [kept, c.node("Mul", [c.node("Sigmoid", [i]), c.node("Tanh", [z])])]);
  return [c.node("Mul", [c.node("Sigmoid", [o]), c.node("Tanh", [next])]), next];
}

interface Steps {
  readonly reverse: boolean;
  readonly masked: boolean;
}

/** Every step of an LSTM with a projection, by the gates' sums [T, N, 4H] without the hidden state's share. */
function projected(c: FormCall<Steps>): Name[] {
  const [sums, first, cell, weights, projection, mask] = c.inputs;
  const steps = sums!.shape[0]!;
  if (steps !== sums!.other[0]) c.refuse("a dynamic number of steps");
  const across = (x: Name): Name => c.node("Transpose", [x], { perm: [1, 0] });
  const [hiddenWeights, down] = [across(weights!.name), across(projection!.name)];
  const at = (x: Name, k: number): Name => c.node("Gather", [x, c.graph.scalar("int64", k)], { axis: 0 });
  let [hidden, state] = [first!.name, cell!.name];
  const outputs = new Array<Name>(steps);
  for (let i = 0; i < steps; i++) {
    const k = c.attrs.reverse ? steps - 1 - i : i;
    const gates = c.node("Add", [at(sums!.name, k), c.node("MatMul", [hidden, hiddenWeights])]);
    const [wide, next] = lstmStep(c, gates, state, cell!.shape[1]!);
    const narrow = c.node("MatMul", [wide, down]);
    const seen = c.attrs.masked ? at(mask!.name, k) : null;
    const choose = (yes: Name, no: Name): Name => (seen === null ? yes : c.node("Where", [seen, yes, no]));
    outputs[k] = choose(narrow, c.number(0));
    [hidden, state] = [choose(narrow, hidden), choose(next, state)];
  }
  const rows = outputs.map((y) => c.node("Unsqueeze", [y, c.graph.ints([0])]));
  const whole = c.node("Concat", rows, { axis: 0 });
  // The rest is what a gradient reads.
  return [whole, hidden, state, whole, whole, whole, whole];
}

export const cells: Forms = {
  projectedLstm: form(projected),
  lstmCell: form((c) => {
    const [a, b, cell] = c.inputs;
    return lstmStep(c, c.node("Add", [a!.name, b!.name]), cell!.name, cell!.shape[1]!);
  }),
  gruCell: form((c) => {
    const [a, b, h] = c.inputs;
    const width = h!.shape[1]!;
    const [xr, xz, xn] = parts(c, a!.name, 3, width) as [Name, Name, Name];
    const [hr, hz, hn] = parts(c, b!.name, 3, width) as [Name, Name, Name];
    const gate = (x: Name, y: Name): Name => c.node("Sigmoid", [c.node("Add", [x, y])]);
    const n = c.node("Tanh", [c.node("Add", [xn, c.node("Mul", [gate(xr, hr), hn])])]);
    return c.node("Add", [n, c.node("Mul", [gate(xz, hz), c.node("Sub", [h!.name, n])])]);
  }),
};
