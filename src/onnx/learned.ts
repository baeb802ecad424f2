/** Which weights of a graph are parameters, which are running statistics, and which are numbers that operators read on the host. */
import type { GraphMessage, NodeMessage } from "./format/proto.ts";
import { innerGraphs } from "./format/limits.ts";

/** Inputs that are weights, by operator: those of a layer, in whatever domain it is. */
const WEIGHTS: Readonly<Record<string, readonly number[]>> = {
  Conv: [1, 2],
  ConvTranspose: [1, 2],
  FusedConv: [1, 2],
  NhwcConv: [1, 2],
  DeformConv: [1, 3],
  CausalConvWithState: [1, 2],
  Gemm: [0, 1, 2],
  FusedGemm: [0, 1, 2],
  MatMul: [0, 1],
  FusedMatMul: [0, 1],
  BatchNormalization: [1, 2],
  InstanceNormalization: [1, 2],
  GroupNormalization: [1, 2],
  GroupNorm: [1, 2],
  LayerNormalization: [1, 2],
  RMSNormalization: [1],
  SimplifiedLayerNormalization: [1],
  SkipLayerNormalization: [2, 3, 4],
  SkipSimplifiedLayerNormalization: [2, 3],
  EmbedLayerNormalization: [2, 3, 4, 5, 6],
  LSTM: [1, 2, 3, 7],
  GRU: [1, 2, 3],
  RNN: [1, 2, 3],
  PRelu: [1],
  Gather: [0],
  BiasGelu: [1],
  FastGelu: [1],
  BiasSplitGelu: [1],
  Add: [0, 1],
  Sub: [0, 1],
  Mul: [0, 1],
  Div: [0, 1],
};

/** Operators whose result shows the elements of their first input. */
const SEEN_THROUGH = new Set(["Identity", "Reshape", "Transpose", "Unsqueeze", "Squeeze", "Flatten", "Cast"]);

/** What an initializer is to the model. */
export type Role = "parameter" | "statistic" | "constant";

/** Tells the role of a floating initializer of a graph with nodes in order. */
export function rolesOf(graph: GraphMessage): (name: string) => Role {
  const readers = new Map<string, { readonly node: NodeMessage; readonly at: number }[]>();
  const inner = new Set<string>();
  const collect = (nodes: readonly NodeMessage[], isInner: boolean): void => {
    for (const node of nodes) {
      node.inputs.forEach((name, at) => {
        if (isInner) inner.add(name);
        const list = readers.get(name);
        if (list === undefined) readers.set(name, [{ node, at }]);
        else list.push({ node, at });
      });
      for (const g of innerGraphs(node)) {
        collect(g.nodes, true);
        for (const { name } of g.outputs) inner.add(name);
      }
    }
  };
  collect(graph.nodes, false);
  const fixed = fixedNames(graph);
  const isOutput = new Set(graph.outputs.map((o) => o.name));
  const isLearned = (name: string): boolean => {
    const list = readers.get(name) ?? [];
    if (inner.has(name)) return false;
    return (list.length > 0 || isOutput.has(name)) && list.every(({ node, at }) => isWeightOf(node, at));
  };
  const isWeightOf = (node: NodeMessage, at: number): boolean => {
    if (SEEN_THROUGH.has(node.type)) return at === 0 && isLearned(node.outputs[0] ?? "");
    const others = node.inputs.filter((other, i) => i !== at && other !== "");
    return WEIGHTS[node.type]?.includes(at) === true && others.some((other) => !fixed.has(other));
  };
  return (name) => {
    const list = readers.get(name) ?? [];
    if (list.length > 0 && list.every(({ node, at }) => node.type === "BatchNormalization" && at >= 3)) return "statistic";
    return isLearned(name) ? "parameter" : "constant";
  };
}

/** Values that are made of weights and of shapes alone, as the sizes of a Resize are. */
function fixedNames(graph: GraphMessage): Set<string> {
  const fixed = new Set<string>();
  for (const t of graph.initializers) fixed.add(t.name);
  for (const s of graph.sparseInitializers) fixed.add(s.values?.name ?? "");
  for (const node of graph.nodes)
    if (node.type === "Shape" || node.type === "Size" || node.inputs.every((name) => name === "" || fixed.has(name)))
      for (const name of node.outputs) fixed.add(name);
  return fixed;
}
