/** Verifies a graph's invariants. Runs after each pass in tests and when DXTENSOR_VERIFY=1. */
import { OPERATORS } from "../dml/operators.generated.ts";
import { isOperator, spanInBytes, type Expr, type Graph, type Value } from "./graph.ts";

export function verifyGraph(graph: Graph, stage: string): void {
  const fail = (text: string): never => {
    throw new TypeError(`graph after ${stage}: ${text}`);
  };
  const written = new Set<Value>(graph.inputs);
  const check = (x: Expr, where: string): void => {
    if (!written.has(x.value)) fail(`${where} reads value %${x.value.id} before it is written`);
    if (x.byteOffset + spanInBytes(x.dtype, x.sizes, x.strides) > Math.ceil(x.value.sizeInBytes / 4) * 4)
      fail(`${where} reads past the end of value %${x.value.id} (${x.value.sizeInBytes} bytes)`);
  };
  for (const node of graph.nodes) {
    const slots = isOperator(node.operator)
      ? OPERATORS[node.operator].fields.filter((f) => f.kind === "input" && f.type === "tensor").length
      : node.inputs.length;
    if (node.inputs.length < slots) fail(`${node.operator} has ${node.inputs.length} of ${slots} inputs`);
    for (const x of node.inputs) if (x !== null) check(x, node.operator);
    for (const value of node.after ?? [])
      if (!written.has(value)) fail(`${node.operator} comes after value %${value.id}, which is not written yet`);
    for (const x of node.outputs) {
      if (x === null) continue;
      if (written.has(x.value)) fail(`value %${x.value.id} is written twice`);
      written.add(x.value);
    }
  }
  for (const x of graph.outputs) check(x, "an output");
  for (const w of graph.state) {
    check(w.value, "a state write");
    if (!graph.inputs.includes(w.buffer)) fail("a state write goes to no input");
    if (w.value.value.sizeInBytes !== w.buffer.sizeInBytes)
      fail(`a state write of ${w.value.value.sizeInBytes} bytes goes to a buffer of ${w.buffer.sizeInBytes}`);
  }
}
