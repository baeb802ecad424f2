/** Contracts the nodes between a program's shaders to few nodes, for devices whose graph compiler fuses. */
import { packedExpr, withNodes, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";
import { materializeParts } from "../passes/materialize-parts.ts";
import type { GraphDescription } from "../../native/binding.ts";
import { describeRegion } from "./graph-region.ts";

/** Nodes that are one DirectML graph. */
export interface Region {
  readonly graph: GraphDescription;
  readonly inputs: readonly Expr[];
  readonly results: readonly Value[];
  readonly origins: readonly string[];
  readonly flops: readonly number[];
}

/** The nodes as a graph of their own, whose inputs are all values that come from elsewhere. */
export function regionOf(graph: Graph, nodes: ReadonlySet<GraphNode>, results: readonly Value[], inputPerView: boolean): Region {
  const sub = withNodes(graph, [...nodes], (x) => x);
  const made = new Set([...nodes].flatMap((n) => n.outputs.flatMap((x) => (x === null ? [] : [x.value]))));
  sub.inputs = [...new Set([...nodes].flatMap((n) => n.inputs.flatMap((x) => (x === null || made.has(x.value) ? [] : [x.value]))))];
  return { ...describeRegion(materializeParts(sub).nodes, results, inputPerView), results };
}

/**
 * The graph in layers: nodes that need no shader of their layer, as one node, and shaders behind them. Each layer needs the ones before. The nodes
 * that represent regions are the map's keys, and have the inputs and results of their regions.
 */
export function contract(graph: Graph, inputPerView: boolean): { readonly graph: Graph; readonly regions: ReadonlyMap<GraphNode, Region> } {
  const layers: { readonly nodes: GraphNode[]; readonly shaders: GraphNode[] }[] = [];
  const made = new Map<Value, { readonly node: GraphNode; readonly layer: number; readonly byShader: boolean }>();
  for (const node of graph.nodes) {
    const byShader = node.operator === "SHADER";
    let layer = 0;
    for (const value of [...node.inputs.map((x) => x?.value), ...(node.after ?? [])]) {
      const from = value === undefined ? undefined : made.get(value);
      if (from !== undefined) layer = Math.max(layer, from.byShader && !byShader ? from.layer + 1 : from.layer);
    }
    while (layers.length <= layer) layers.push({ nodes: [], shaders: [] });
    layers[layer]![byShader ? "shaders" : "nodes"].push(node);
    for (const x of node.outputs) if (x !== null) made.set(x.value, { node, layer, byShader });
  }
  const regions = new Map<GraphNode, Region>();
  const needed = new Set<Value>([...graph.outputs.map((x) => x.value), ...graph.state.map((w) => w.value.value)]);
  layers.forEach(({ nodes, shaders }, layer) => {
    for (const node of [...nodes, ...shaders])
      for (const x of node.inputs)
        if (x !== null && (node.operator === "SHADER" || made.get(x.value)?.layer !== layer)) needed.add(x.value);
  });
  const nodes = layers.flatMap((layer) => {
    if (layer.nodes.length < 2) return [...layer.nodes, ...layer.shaders];
    const own = new Set(layer.nodes);
    const outputs = layer.nodes.flatMap((node) => node.outputs.filter((x): x is Expr => x !== null && needed.has(x.value)));
    const region = regionOf(graph, own, outputs.map((x) => x.value), inputPerView); // prettier-ignore
    const { id, origin } = layer.nodes[0]!;
    const whole = outputs.map((x) => packedExpr(x.value, "uint8", [x.value.sizeInBytes]));
    // Planned as a shader is: by its inputs and results alone.
    const after = layer.nodes.flatMap((n) => (n.after ?? []).filter((value) => !own.has(made.get(value)!.node)));
    const node: GraphNode = { id, operator: "SHADER", attributes: {}, inputs: region.inputs, outputs: whole, origin, after };
    regions.set(node, region);
    return [node, ...layer.shaders];
  });
  return { graph: withNodes(graph, nodes, (x) => x), regions };
}
