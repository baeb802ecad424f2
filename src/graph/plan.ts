/**
 * From a graph to a program: which nodes become one dispatch, in which order and group, and where values lie. Devices whose
 * graph compiler fuses get one graph of all nodes; others get a dispatch for each node.
 */
import type { Capabilities } from "../backends/capabilities.ts";
import { describeNode } from "../dml/describe.ts";
import type { BindingRange, GraphDescription, OperatorDescription, ProgramDescription, ProgramStep } from "../native/binding.ts";
import { spanInBytes, type Expr, type Graph, type GraphNode, type Value } from "./graph.ts";

export function planGraph(graph: Graph, capabilities: Capabilities, name: string): ProgramDescription {
  const outputs = new Map<Value, number>();
  graph.outputs.forEach((x, i) => outputs.set(x.value, graph.inputs.length + i));
  const inputs = new Map<Value, number>();
  graph.inputs.forEach((v, i) => inputs.set(v, i));
  const scratchSlot = graph.inputs.length + graph.outputs.length;
  const base = {
    name,
    inputs: graph.inputs.map((v) => v.sizeInBytes),
    outputs: graph.outputs.map((x) => x.value.sizeInBytes),
  };
  if (capabilities.fusesGraphs && graph.nodes.length > 1) {
    const region = describeRegion(graph.nodes, inputs, outputs);
    return {
      ...base,
      scratch: 0,
      dispatchables: [region.graph],
      steps: [{ group: 0, dispatch: 0, inputs: region.inputs.map((x) => [inputs.get(x.value)!, x.byteOffset, regionBytes(x)] as const), outputs: graph.outputs.map((x, i): BindingRange => [graph.inputs.length + i, 0, x.value.sizeInBytes]) }],
    };
  }
  const offsets = new Map<Value, number>();
  let scratch = 0;
  const place = (v: Value): readonly [number, number] => {
    const slot = inputs.get(v) ?? outputs.get(v);
    if (slot !== undefined) return [slot, 0];
    let at = offsets.get(v);
    if (at === undefined) {
      at = scratch;
      offsets.set(v, at);
      scratch += Math.ceil(v.sizeInBytes / 256) * 256;
    }
    return [scratchSlot, at];
  };
  const range = (x: Expr | null): BindingRange => {
    if (x === null) return null;
    const [slot, at] = place(x.value);
    return [slot, at + x.byteOffset, spanInBytes(x.dtype, x.sizes, x.strides)];
  };
  const dispatchables: OperatorDescription[] = [];
  const known = new Map<string, number>();
  const level = new Map<Value, number>();
  const steps: ProgramStep[] = graph.nodes.map((node) => {
    const description = describeNode(node);
    const key = JSON.stringify(description, (_, v: unknown) => (v instanceof Uint8Array ? [...v] : Object.is(v, -0) ? "-0" : typeof v === "number" && !Number.isFinite(v) ? String(v) : v));
    let index = known.get(key);
    if (index === undefined) {
      index = dispatchables.push(description) - 1;
      known.set(key, index);
    }
    let group = 0;
    for (const x of node.inputs) if (x !== null) group = Math.max(group, (level.get(x.value) ?? -1) + 1);
    for (const x of node.outputs) if (x !== null) level.set(x.value, group);
    return { group, dispatch: index, inputs: node.inputs.map(range), outputs: node.outputs.map(range) };
  });
  return { ...base, scratch, dispatchables, steps: steps.map((s, i) => ({ s, i })).sort((a, b) => a.s.group - b.s.group || a.i - b.i).map(({ s }) => s) };
}

const regionBytes = (x: Expr): number => x.value.sizeInBytes - x.byteOffset;

/**
 * A DirectML graph of nodes. Edges carry no offset, so an input that is read at several offsets becomes several graph inputs,
 * and every tensor on an edge is declared with the size of the whole value.
 */
function describeRegion(nodes: readonly GraphNode[], inputs: ReadonlyMap<Value, number>, outputs: ReadonlyMap<Value, number>): { graph: GraphDescription; inputs: Expr[] } {
  const entries: Expr[] = [];
  const inputEdges: [number, number, number][] = [];
  const edges: [number, number, number, number][] = [];
  const outputEdges: [number, number, number][] = [];
  const where = new Map<Value, readonly [number, number]>();
  const outputCount = outputs.size;
  const firstOutput = inputs.size;
  nodes.forEach((node, n) => {
    node.inputs.forEach((x, k) => {
      if (x === null) return;
      const from = where.get(x.value);
      if (from !== undefined) {
        if (x.byteOffset !== 0) throw new TypeError(`${node.operator}: a value inside a region is read at byte ${x.byteOffset}`);
        edges.push([from[0], from[1], n, k]);
        return;
      }
      let entry = entries.findIndex((e) => e.value === x.value && e.byteOffset === x.byteOffset);
      if (entry < 0) entry = entries.push(x) - 1;
      inputEdges.push([entry, n, k]);
    });
    node.outputs.forEach((x, k) => {
      if (x === null) return;
      where.set(x.value, [n, k]);
      const slot = outputs.get(x.value);
      if (slot !== undefined) outputEdges.push([n, k, slot - firstOutput]);
    });
  });
  const described = nodes.map((node) => describeNode(node, regionBytes));
  return { graph: { inputCount: entries.length, outputCount, nodes: described, inputEdges, edges, outputEdges }, inputs: entries };
}
