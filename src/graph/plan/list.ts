/** A program of a dispatch for each node, in groups that need no barrier inside. */
import { OPERATORS } from "../../dml/operators.generated.ts";
import type { BindingRange, ProgramDescription, ProgramStep } from "../../native/binding.ts";
import { isPacked } from "../../core/shape.ts";
import { Arena } from "../arena.ts";
import { describeNode, describeShader, nodeKey, type OperatorNode } from "../describe.ts";
import { isOperator, isWhole, spanInBytes, updatedBy, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";
import { flatJoins, type FlatJoins } from "../joins.ts";
import { regionOf, type Region } from "./contract.ts";
import { regionBytes } from "./graph-region.ts";
import { sizesOf, slotsOf, type Plan, type Preset } from "./slots.ts";

/** Whether an output may be written over an input. */
function mayWriteOver(node: GraphNode, input: Expr, output: Expr): boolean {
  if (isOperator(node.operator)) return OPERATORS[node.operator].supportsInPlace;
  const { inPlace = false } = node.shader ?? {};
  if (inPlace === true || updatedBy(node, output.value) === input) return true;
  return inPlace !== false && inPlace.some(([i, o]) => node.inputs[i] === input && node.outputs[o] === output);
}

/** State that nodes write in place: the state's buffer, by the value that is written and by the values that it updates. */
function inPlaceWrites(graph: Graph): Map<Value, Value> {
  const index = new Map(graph.nodes.map((n, i) => [n, i]));
  const readers = new Map<Value, GraphNode[]>();
  const made = new Map<Value, GraphNode>();
  for (const node of graph.nodes) {
    for (const x of node.outputs) if (x !== null) made.set(x.value, node);
    for (const x of node.inputs) {
      if (x === null) continue;
      const list = readers.get(x.value);
      if (list === undefined) readers.set(x.value, [node]);
      else list.push(node);
    }
  }
  const outputs = new Set(graph.outputs.map((x) => x.value));
  const kept = new Set([...graph.inputs, ...graph.state.map((w) => w.value.value)]);
  const direct = new Map<Value, Value>();
  for (const { buffer, value } of graph.state) {
    let node = made.get(value.value);
    if (node === undefined || outputs.has(value.value) || outputs.has(buffer) || direct.has(value.value) || !isWhole(value)) continue;
    const values = [value.value];
    for (let x = updatedBy(node, value.value); x !== null; x = updatedBy(node, x.value)) {
      const before = x.value;
      const maker = made.get(before);
      const isOnly = node.inputs.filter((y) => y?.value === before).length === 1;
      if (!isOnly || maker === undefined || updatedBy(maker, before) === null) break;
      if (outputs.has(before) || direct.has(before) || kept.has(before)) break;
      if (!readers.get(before)!.every((r) => index.get(r)! <= index.get(node!)!)) break;
      values.push(before);
      node = maker;
    }
    const first: GraphNode = node;
    const reads = first.inputs.filter((x) => x !== null && x.value === buffer);
    const out = first.outputs.find((x) => x !== null && x.value === values.at(-1))!;
    const self =
      reads.length === 0 ||
      (reads.length === 1 &&
        mayWriteOver(first, reads[0]!, out) &&
        isWhole(reads[0]!) &&
        isPacked(out.sizes, out.strides) &&
        reads[0]!.dtype === out.dtype);
    const others = (readers.get(buffer) ?? []).every((r) => r === first || index.get(r)! < index.get(first)!);
    if (self && others) for (const v of values) direct.set(v, buffer);
  }
  return direct;
}

/**
 * The nodes that depend on no update in place and on no read of a removed JOIN's output. Empty when
 * a graph of them is not worth it.
 */
function headOf(nodes: readonly GraphNode[], direct: ReadonlyMap<Value, Value>, joins: FlatJoins): Set<GraphNode> {
  const late = new Set<Value>([...direct.keys(), ...[...joins.inside.values()].map(({ whole }) => whole)]);
  const head = new Set<GraphNode>();
  for (const node of nodes) {
    const follows = node.operator === "SHADER" || [...node.inputs, ...node.outputs].some((x) => x !== null && late.has(x.value));
    if (!follows) head.add(node);
    else for (const x of node.outputs) if (x !== null) late.add(x.value);
  }
  return head.size > 1 ? head : new Set();
}

/** Values that the nodes make and others need: nodes outside, the program's results, pieces of the removed JOINs. */
function resultsOf(head: ReadonlySet<GraphNode>, rest: readonly GraphNode[], inside: ReadonlyMap<Value, unknown>, graph: Graph): Value[] {
  const needed = new Set<Value>([...graph.outputs.map((x) => x.value), ...graph.state.map((w) => w.value.value), ...inside.keys()]);
  for (const node of rest) for (const x of node.inputs) if (x !== null) needed.add(x.value);
  return [...head].flatMap((node) => node.outputs.flatMap((x) => (x !== null && needed.has(x.value) ? [x.value] : [])));
}

/**
 * A dispatch for each node, in groups that need no barrier inside, intermediates in one arena by lifetime. `asGraph`: the nodes
 * before the first update in place are one graph, which comes first. regions: what some nodes represent.
 */
export function planList(graph: Graph, name: string, asGraph: boolean, regions: ReadonlyMap<GraphNode, Region> = new Map()): Plan {
  const slots = slotsOf(graph);
  const direct = inPlaceWrites(graph);
  const joins = flatJoins(graph, new Set([...slots.outputs.keys(), ...direct.keys(), ...graph.state.map((w) => w.value.value)]), direct);
  const all = graph.nodes.filter((n) => !joins.gone.has(n));
  const head = asGraph ? headOf(all, direct, joins) : new Set<GraphNode>();
  const nodes = all.filter((n) => !head.has(n));
  const results = resultsOf(head, nodes, joins.inside, graph);
  const region = head.size === 0 ? null : regionOf(graph, head, results, true);
  const groups = groupsOf(nodes, direct, joins.inside, graph, head);
  const order = nodes.map((node, i) => ({ node, i, group: groups[i]! })).sort((a, b) => a.group - b.group || a.i - b.i);
  const last = order.at(-1)?.group ?? 0;

  const rootOf = (v: Value): { root: Value; offset: number } => {
    let offset = 0;
    for (let at = joins.inside.get(v); at !== undefined; at = joins.inside.get(v)) {
      offset += at.offset;
      v = at.whole;
    }
    return { root: v, offset };
  };
  const copied = graph.state.filter((w) => direct.get(w.value.value) !== w.buffer);
  const ends = new Map<Value, number>();
  for (const value of results) ends.set(rootOf(value).root, 0);
  for (const { node, group } of order)
    for (const x of [...node.inputs, ...node.outputs]) if (x !== null) ends.set(rootOf(x.value).root, group);
  for (const w of copied) ends.set(rootOf(w.value.value).root, last + 1);

  const arena = new Arena();
  const offsets = new Map<Value, number>();
  const slotOf = (v: Value): readonly [number, number] => {
    const { root, offset } = rootOf(v);
    const buffer = direct.get(root);
    const slot = slots.inputs.get(buffer ?? root) ?? slots.outputs.get(root);
    if (slot !== undefined) return [slot, offset];
    let at = offsets.get(root);
    if (at === undefined) {
      at = arena.take(root.sizeInBytes);
      offsets.set(root, at);
    }
    return [slots.scratch, at + offset];
  };
  const presets = joins.presets.map(({ whole, offset, bytes }): Preset => {
    ends.delete(whole);
    return { offset: slotOf(whole)[1] + offset, bytes };
  });
  /** Values by the group of their last read, presets excepted. */
  const endsAt = Array.from({ length: last + 2 }, (): Value[] => []);
  for (const [root, end] of ends) endsAt[end]!.push(root);
  const release = (group: number): void => {
    for (const root of endsAt[group]!) if (offsets.has(root)) arena.free(offsets.get(root)!);
  };
  const range = (x: Expr | null): BindingRange => {
    if (x === null) return null;
    const [slot, at] = slotOf(x.value);
    return [slot, at + x.byteOffset, spanInBytes(x.dtype, x.sizes, x.strides)];
  };

  const dispatchables: ProgramDescription["dispatchables"][number][] = [];
  // A step between two groups fills the outputs of the later one.
  const isFilled = order.some(
    ({ node: { shader } }) => (shader?.updates.length ?? 0) > 0 || shader?.fills.some((f) => f !== null) === true,
  );
  const stepOf = (group: number): number => (isFilled ? 2 * group + 1 : group);
  const known = new Map<string, number>();
  const steps: ProgramStep[] = [];
  const addRegion = (r: Region, group: number): void => {
    const dispatch = dispatchables.push(r.graph) - 1;
    const inputs = r.inputs.map((x): BindingRange => {
      const [slot, at] = slotOf(x.value);
      return [slot, at + x.byteOffset, regionBytes(x)];
    });
    const outputs = r.results.map((value) => [...slotOf(value), value.sizeInBytes] as const);
    steps.push({ group: stepOf(group), dispatch, inputs, outputs, origins: r.origins, flops: r.flops });
  };
  if (region !== null) {
    addRegion(region, 0);
    if (order[0]?.group !== 0) release(0);
  }
  const addNode = (node: GraphNode, group: number): void => {
    const key = nodeKey(node);
    let index = known.get(key);
    if (index === undefined) {
      const description =
        node.operation ??
        (node.shader === undefined ? describeNode(node as OperatorNode) : describeShader(node.shader, node.inputs.length));
      known.set(key, (index = dispatchables.push(description) - 1));
    }
    node.shader?.fills.forEach((fill, i) => {
      if (fill === null) return;
      const dispatch = dispatchables.push(describeShader(fill, 0)) - 1;
      steps.push({ group: stepOf(group) - 1, dispatch, inputs: [], outputs: [range(node.outputs[i]!)], origin: node.origin });
    });
    for (const [input, output] of node.shader?.updates ?? []) {
      const [from, to] = [node.inputs[input]!, node.outputs[output]!].map(range) as [BindingRange, BindingRange];
      if (String(from) !== String(to)) steps.push({ group: stepOf(group) - 1, copy: [from, to] });
    }
    steps.push({
      group: stepOf(group),
      dispatch: index,
      inputs: node.inputs.map(range),
      outputs: node.outputs.map(range),
      origin: node.origin,
      flops: [node.flops ?? 0],
    });
  };
  order.forEach(({ node, group }, k) => {
    const contracted = regions.get(node);
    if (contracted === undefined) addNode(node, group);
    else addRegion(contracted, group);
    if (order[k + 1]?.group !== group) release(group);
  });
  for (const { buffer, value } of copied) {
    const [slot, at] = slotOf(value.value);
    steps.push({
      group: stepOf(last + 1),
      copy: [
        [slot, at, buffer.sizeInBytes],
        [slots.inputs.get(buffer)!, 0, buffer.sizeInBytes],
      ],
    });
  }
  return { name, ...sizesOf(graph), scratch: arena.size, dispatchables, steps, presets };
}

/** The earliest group of each node: after its inputs were written, and, where it writes state in place, after all reads of the old value. */
function groupsOf(
  nodes: readonly GraphNode[],
  direct: ReadonlyMap<Value, Value>,
  inside: ReadonlyMap<Value, { whole: Value }>,
  graph: Graph,
  head: ReadonlySet<GraphNode>,
): number[] {
  const written = new Map<Value, number>();
  const read = new Map<Value, number>();
  const inputs = new Set(graph.inputs);
  const write = (value: Value, group: number): void => {
    for (let v: Value | undefined = value; v !== undefined; v = inside.get(v)?.whole) written.set(v, Math.max(written.get(v) ?? 0, group));
  };
  for (const node of head) {
    for (const x of node.inputs) if (x !== null && inputs.has(x.value)) read.set(x.value, 0);
    for (const x of node.outputs) if (x !== null) write(x.value, 0);
  }
  return nodes.map((node) => {
    let group = 0;
    for (const x of node.inputs) if (x !== null) group = Math.max(group, (written.get(x.value) ?? -1) + 1);
    for (const value of node.after ?? []) group = Math.max(group, (written.get(value) ?? -1) + 1);
    for (const x of node.outputs) {
      const buffer = x === null ? undefined : direct.get(x.value);
      if (buffer !== undefined) group = Math.max(group, (read.get(buffer) ?? -1) + 1);
    }
    for (const x of node.inputs) {
      const buffer = x === null ? undefined : (direct.get(x.value) ?? (inputs.has(x.value) ? x.value : undefined));
      if (buffer !== undefined) read.set(buffer, Math.max(read.get(buffer) ?? 0, group));
    }
    for (const x of node.outputs) if (x !== null) write(x.value, group);
    return group;
  });
}
