/** Fuses an activation into the operator or shader whose result only it reads, where that one has a fused activation. */
import { hostOf } from "../../dml/fusion.ts";
import { OPERATORS } from "../../dml/operators.generated.ts";
import { isOperator, isWhole, Expr, withNodes, type Activation, type Graph, type GraphNode, type Value } from "../graph.ts";

function activationOf(node: GraphNode): Activation | null {
  if (!isOperator(node.operator)) return null;
  const row = OPERATORS[node.operator];
  const tensors = row.fields.filter((f) => f.kind !== "attribute");
  if (!row.fusable || tensors.length !== 2 || !node.operator.startsWith("ACTIVATION_") || node.operator.includes("SOFTMAX")) return null;
  return { operator: node.operator, attributes: node.attributes };
}

/** onlyShaders: operators of DirectML stay. */
export function fuseActivations(graph: Graph, onlyShaders = false): Graph {
  if (onlyShaders && graph.nodes.every(({ withActivation }) => withActivation === undefined)) return graph;
  const readers = new Map<Value, number>();
  const count = (x: Expr | null): void => {
    if (x !== null) readers.set(x.value, (readers.get(x.value) ?? 0) + 1);
  };
  for (const node of graph.nodes) node.inputs.forEach(count);
  graph.outputs.forEach(count);
  for (const w of graph.state) count(w.value);
  const nodes: GraphNode[] = [];
  const madeBy = new Map<Value, number>();
  for (const node of graph.nodes) {
    const activation = activationOf(node);
    const x = node.inputs[0];
    const at = x ? madeBy.get(x.value) : undefined;
    if (activation !== null && x && at !== undefined && readers.get(x.value) === 1 && isWhole(x)) {
      const host = nodes[at]!;
      const name = onlyShaders ? null : hostOf(host.operator);
      const out = host.outputs[0]!;
      const result = node.outputs[0]!;
      const shader = out.dtype === result.dtype ? (host.withActivation?.(activation) ?? null) : null;
      if (shader !== null) {
        // Its columns would be summed before the activation.
        const { withActivation: _, withColumnSums: __, ...rest } = host;
        nodes[at] = {
          ...rest,
          shader,
          outputs: [new Expr(result.value, out.dtype, out.sizes, out.strides, 0)],
          origin: `${host.origin} + ${node.origin}`,
        };
        madeBy.delete(x.value);
        madeBy.set(result.value, at);
        continue;
      }
      if (
        name !== null &&
        host.attributes.fusedActivation == null &&
        out.value === x.value &&
        (out.dtype === "float32" || out.dtype === "float16") &&
        host.outputs.filter((o) => o !== null).length === 1
      ) {
        nodes[at] = {
          ...host,
          operator: name,
          attributes: { ...host.attributes, fusedActivation: activation },
          outputs: [new Expr(result.value, out.dtype, out.sizes, out.strides, 0)],
          origin: `${host.origin} + ${node.origin}`,
        };
        madeBy.delete(x.value);
        madeBy.set(result.value, at);
        continue;
      }
    }
    const index = nodes.push(node) - 1;
    for (const o of node.outputs) if (o !== null) madeBy.set(o.value, index);
  }
  return withNodes(graph, nodes, (e) => e);
}
