/** A program of one DirectML graph, and a region of a program as such a graph. */
import type { BindingRange, GraphDescription, ProgramDescription, ProgramStep } from "../../native/binding.ts";
import { Arena } from "../arena.ts";
import { describeNode, type OperatorNode } from "../describe.ts";
import { Expr, type Graph, type GraphNode, type Value } from "../graph.ts";
import { isPacked, packedStrides, sameShape, sizeOf } from "../../core/shape.ts";
import { sizesOf, slotsOf } from "./slots.ts";

/** Largest offset of an input from the start of the output that overwrites it, in bytes. */
const MAX_OFFSET = 0xffffffff;

/**
 * One graph of all nodes. New values of state are written over the old ones where the device compiles graphs with such outputs (`overwrites`: the
 * software adapter); else they go to the arena and are copied to the state's buffers afterwards.
 */
export function planRegion(graph: Graph, name: string, overwrites: boolean): ProgramDescription {
  const slots = slotsOf(graph);
  const results: { value: Value; range: BindingRange }[] = graph.outputs.map((x) => ({
    value: x.value,
    range: [slots.outputs.get(x.value)!, 0, x.value.sizeInBytes],
  }));
  const arena = new Arena();
  const copies: ProgramStep[] = [];
  const over: { readonly output: number; readonly buffer: Value }[] = [];
  for (const { buffer, value } of graph.state) {
    const target: BindingRange = [slots.inputs.get(buffer)!, 0, buffer.sizeInBytes];
    let range = results.find((r) => r.value === value.value)?.range;
    if (range === undefined) {
      if (overwrites && buffer.sizeInBytes <= MAX_OFFSET) {
        over.push({ output: results.push({ value: value.value, range: target }) - 1, buffer });
        continue;
      }
      range = [slots.scratch, arena.take(value.value.sizeInBytes), value.value.sizeInBytes];
      results.push({ value: value.value, range });
    }
    copies.push({ group: 1, copy: [range, target] });
  }
  const region = describeRegion(
    graph.nodes,
    results.map((r) => r.value),
    !overwrites,
  );
  const outputOf = new Map(over.map(({ output, buffer }) => [buffer, output]));
  const pairs = region.inputs.flatMap((x, input) => {
    const output = outputOf.get(x.value);
    return output === undefined ? [] : [[output, input, x.byteOffset] as const];
  });
  pairs.sort((a, b) => a[0] - b[0]);
  return {
    name,
    ...sizesOf(graph),
    scratch: arena.size,
    dispatchables: [pairs.length === 0 ? region.graph : { ...region.graph, overwrites: pairs }],
    steps: [
      {
        group: 0,
        dispatch: 0,
        inputs: region.inputs.map((x) => [slots.inputs.get(x.value)!, x.byteOffset, regionBytes(x)] as const),
        outputs: results.map((r) => r.range),
        origins: region.origins,
        flops: region.flops,
      },
      ...copies,
    ],
  };
}

export const regionBytes = (x: Expr): number => x.value.sizeInBytes - x.byteOffset;

/** Whether a node's output is its input, byte for byte. */
const isWholeCopy = ({ operator, attributes }: GraphNode, from: Expr, to: Expr): boolean =>
  operator === "ELEMENT_WISE_IDENTITY" &&
  (attributes["scaleBias"] ?? null) === null &&
  from.dtype === to.dtype &&
  from.value.sizeInBytes === to.value.sizeInBytes &&
  [from, to].every((x) => x.byteOffset === 0 && isPacked(x.sizes, x.strides));

/**
 * Microsoft's CompileGraph makes an addition to a GEMM's output the GEMM's C, and what computes the addend a part of that. It returns E_INVALIDARG where
 * that node's sizes are not the addition's. With the node's own sizes the addition stays a node.
 */
function addBySizesOfAddend(nodes: readonly GraphNode[]): readonly GraphNode[] {
  const made = new Map<Value, readonly [GraphNode, Expr]>();
  for (const node of nodes) for (const x of node.outputs) if (x !== null) made.set(x.value, [node, x]);
  const isPlain = (x: Expr | null): x is Expr => x !== null && x.byteOffset === 0 && isPacked(x.sizes, x.strides);
  const withoutOnes = ({ sizes }: Expr): readonly number[] => sizes.slice(sizes.findIndex((n) => n !== 1));
  return nodes.map((node) => {
    if (node.operator !== "ELEMENT_WISE_ADD" && node.operator !== "ELEMENT_WISE_ADD1") return node;
    if (![...node.inputs, ...node.outputs].every(isPlain)) return node;
    const from = node.inputs.map((x) => made.get(x!.value));
    const addend = from.find((f) => f !== undefined && f[0].operator !== "GEMM")?.[1];
    if (addend === undefined || !from.some((f) => f?.[0].operator === "GEMM")) return node;
    const own = node.outputs[0]!.sizes;
    if (sameShape(withoutOnes(addend), withoutOnes(node.outputs[0]!)) || sizeOf(addend.sizes) !== sizeOf(own)) return node;
    const sizes = [...own.slice(addend.sizes.length).fill(1), ...addend.sizes];
    const resized = (x: Expr | null): Expr => new Expr(x!.value, x!.dtype, sizes, packedStrides(sizes), 0);
    return { ...node, inputs: node.inputs.map(resized), outputs: node.outputs.map(resized) };
  });
}

/**
 * A DirectML graph of nodes. Edges carry no offset, so an input that is read at several offsets becomes several graph inputs,
 * and every tensor on an edge is declared with the size of the whole value.
 *
 * inputPerView: an input that is read as tensors of several sizes, strides or dtypes becomes several graph inputs as well. Microsoft's
 * library needs it: it drops an identity between a graph input and a graph output, and then copies only the elements that the input's
 * first reader declares. Who reads such an identity's output reads the input, for the same reason. Additions to GEMMs change for it too.
 */
export function describeRegion(
  own: readonly GraphNode[],
  results: readonly Value[],
  inputPerView: boolean,
): { graph: GraphDescription; inputs: Expr[]; origins: string[]; flops: number[] } {
  const nodes = inputPerView ? addBySizesOfAddend(own) : own;
  const entries: Expr[] = [];
  const known = new Map<string, number>();
  const resultsOf = new Map<Value, number[]>();
  results.forEach((value, i) => {
    const list = resultsOf.get(value);
    if (list === undefined) resultsOf.set(value, [i]);
    else list.push(i);
  });
  const inputEdges: [number, number, number][] = [];
  const edges: [number, number, number, number][] = [];
  const outputEdges: [number, number, number][] = [];
  const where = new Map<Value, readonly [number, number]>();
  const copied = new Map<Value, Value>();
  nodes.forEach((node, n) => {
    node.inputs.forEach((read, k) => {
      if (read === null) return;
      const source = copied.get(read.value);
      const x = source === undefined ? read : new Expr(source, read.dtype, read.sizes, read.strides, read.byteOffset);
      const from = where.get(x.value);
      if (from !== undefined) {
        edges.push([from[0], from[1], n, k]);
        return;
      }
      const view = inputPerView ? `,${x.dtype},${x.sizes.join()},${x.strides.join()}` : "";
      const key = `${x.value.id}+${x.byteOffset}${view}`;
      let entry = known.get(key);
      if (entry === undefined) known.set(key, (entry = entries.push(x) - 1));
      inputEdges.push([entry, n, k]);
    });
    const [input] = node.inputs;
    const [output] = node.outputs;
    if (
      inputPerView &&
      input != null &&
      output != null &&
      resultsOf.has(output.value) &&
      !where.has(input.value) &&
      isWholeCopy(node, input, output)
    )
      copied.set(output.value, input.value);
    node.outputs.forEach((x, k) => {
      if (x === null) return;
      where.set(x.value, [n, k]);
      for (const i of resultsOf.get(x.value) ?? []) outputEdges.push([n, k, i]);
    });
  });
  return {
    graph: {
      inputCount: entries.length,
      outputCount: results.length,
      nodes: nodes.map((node) => describeNode(node as OperatorNode, regionBytes)),
      inputEdges,
      edges,
      outputEdges,
    },
    inputs: entries,
    origins: nodes.map((n) => n.origin),
    flops: nodes.map((n) => n.flops ?? 0),
  };
}
