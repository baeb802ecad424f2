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

export const cells: Forms = {
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
