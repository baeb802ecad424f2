/** Makes one launch of shaders that read the same tensors first, where they can share one: products of x with several weights. */
import { withNodes, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";

export function joinLaunches(graph: Graph): Graph {
  if (graph.nodes.every(({ joins }) => joins === undefined)) return graph;
  const madeAt = new Map<Value, number>();
  graph.nodes.forEach((node, i) => node.outputs.forEach((x) => x !== null && madeAt.set(x.value, i)));
  /** By what their launches share; the last ones, which others may still join. */
  const open = new Map<string, number[]>();
  const launches = new Map<number, readonly number[]>();
  graph.nodes.forEach((node, i) => {
    if (node.joins === undefined || node.inputs.length === 0 || node.after !== undefined) return;
    const shared = node.joins.shared ?? 1;
    const [first, others] = [node.inputs.slice(0, shared), node.inputs.slice(shared)] as [Expr[], Expr[]];
    const key = [...first.map((x) => `${x.value.id}+${x.byteOffset} ${x.dtype} ${x.sizes.join()}`), node.joins.key].join(" ");
    const list = open.get(key);
    if (list !== undefined && canJoin(graph, list, i, others, madeAt)) list.push(i);
    else open.set(key, [i]);
    launches.set(i, open.get(key)!);
  });
  const nodes = graph.nodes.flatMap((node, i): GraphNode[] => {
    const list = launches.get(i);
    if (list === undefined || list.length === 1) return [node];
    return list[0] === i ? [joined(list.map((k) => graph.nodes[k]!))] : [];
  });
  return withNodes(graph, nodes, (x) => x);
}

/** The launch is where the first of them was: what the others read is there by then. */
function canJoin(graph: Graph, list: readonly number[], i: number, inputs: readonly Expr[], madeAt: ReadonlyMap<Value, number>): boolean {
  const [first, ...rest] = [...list, i].map((k) => graph.nodes[k]!) as [GraphNode, ...GraphNode[]];
  const isReady = inputs.every(({ value }) => (madeAt.get(value) ?? -1) < list[0]!);
  return isReady && first.mark === graph.nodes[i]!.mark && first.joins!.launch([first, ...rest]) !== null;
}

function joined(nodes: readonly GraphNode[]): GraphNode {
  const [first, ...rest] = nodes as readonly [GraphNode, ...GraphNode[]];
  const { joins, withActivation: _, withEpilogue: __, withPrologue: ___, flops: ____, ...kept } = first;
  const flops = nodes.flatMap((node) => node.flops ?? []);
  return {
    ...kept,
    ...(flops.length === 0 ? {} : { flops: flops.reduce((a, b) => a + b) }),
    shader: joins!.launch(nodes)!,
    inputs: [...first.inputs, ...rest.flatMap(({ inputs }) => inputs.slice(joins!.shared ?? 1))],
    outputs: nodes.flatMap(({ outputs }) => outputs),
    origin: [...new Set(nodes.map(({ origin }) => origin))].join(" + "),
  };
}
