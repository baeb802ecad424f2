/**
 * Adds a number to several counters by one launch. Layers count their batches in int64 tensors of one element, which are dispatches of their own
 * otherwise: no region has elements of 64 bits.
 */
import type { Capabilities } from "../../../dml/capabilities.ts";
import { MAX_BUFFERS, MAX_VIEWS } from "../../../shader/dxbc/emit.ts";
import type { Element } from "../../../shader/ir.ts";
import { callOf, kernel, type Kernel } from "../../../shader/kernels/kernel.ts";
import type { BufferElements } from "../../../shader/language.ts";
import { printShader } from "../../../shader/print-shader.ts";
import { simplify } from "../../../shader/simplify.ts";
import { isWhole, packedExpr, withNodes, type Expr, type FusedNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";

const BYTES = 8;

interface Counter {
  readonly node: GraphNode;
  /** What is counted on: an input of the graph. */
  readonly from: Value;
  /** The number that is added, as its low and its high word. */
  readonly addend: readonly [number, number];
}

const isCounter = (x: Expr | null | undefined): x is Expr =>
  x != null && x.dtype === "int64" && x.value.sizeInBytes === BYTES && isWhole(x);

/** Null: the node does something else. made: values that nodes of the graph write. */
function counterOf(node: GraphNode, made: ReadonlySet<Value>, constants: ReadonlyMap<Value, Uint8Array>): Counter | null {
  if (node.operator !== "ELEMENT_WISE_ADD" || node.attributes.fusedActivation != null || node.after !== undefined || node.mark != null) return null;
  const [a, b] = node.inputs;
  if (!isCounter(a) || !isCounter(b) || !isCounter(node.outputs[0])) return null;
  for (const [x, y] of [[a, b], [b, a]] as const) {
    const bytes = constants.get(y.value);
    if (bytes?.byteLength !== BYTES || constants.has(x.value) || made.has(x.value)) continue;
    const view = new DataView(bytes.buffer, bytes.byteOffset, BYTES);
    return { node, from: x.value, addend: [view.getUint32(0, true), view.getUint32(4, true)] };
  }
  return null;
} // prettier-ignore

const names = (prefix: string, count: number): { readonly [name: string]: Element } =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, "u32"]));

function counting(count: number, [low, high]: Counter["addend"]): Kernel {
  const [inputs, outputs] = [names("x", count), names("y", count)];
  const maxBuffers = 2 * count;
  return kernel(
    `count ${count} by ${high} ${low}`,
    { inputs, outputs, threads: 32, groups: () => 1, isOneOfMany: true, maxBuffers },
    (s) => {
      const buffers = s.buffers as { readonly [name: string]: BufferElements<"u32"> };
      s.if(s.thread.lt(1), () => {
        for (let i = 0; i < count; i++) {
          const [x, y] = [buffers[`x${i}`]!, buffers[`y${i}`]!];
          const before = x.load(s.u32(0));
          const sum = before.add(low);
          const carry = sum.lt(before).toUint();
          const top = x.load(s.u32(1)).add(high).add(carry);
          y.store(s.u32(0), sum);
          y.store(s.u32(1), top);
        }
      });
    },
  );
}

function launched(counters: readonly Counter[], capabilities: Capabilities): GraphNode {
  const made = counting(counters.length, counters[0]!.addend);
  const shapes = Object.fromEntries(counters.flatMap((_, i) => [[`x${i}`, [2]] as const, [`y${i}`, [2]] as const]));
  const shader = callOf(capabilities, made, { shapes, params: {} }, { inPlace: counters.map((_, i) => [i, i] as const) });
  const nodes = counters.map(({ node }) => node);
  const fused: FusedNodes = {
    nodes,
    ends: ["elements of 64 bits"],
    bytes: 2 * BYTES * nodes.length,
    flops: 0,
    shader: () => printShader(simplify(counting(counters.length, counters[0]!.addend).program.source)),
  };
  return {
    id: nodes[0]!.id,
    operator: "SHADER",
    shader,
    attributes: {},
    inputs: counters.map(({ from }) => packedExpr(from, "int64", [1])),
    outputs: nodes.map(({ outputs }) => outputs[0]!),
    origin: `${nodes.length} counters of ${nodes[0]!.origin}`,
    fused,
  };
}

/** constants: inputs whose bytes never change. */
export function joinCounters(graph: Graph, capabilities: Capabilities, constants: ReadonlyMap<Value, Uint8Array>): Graph {
  const made = new Set(graph.nodes.flatMap(({ outputs }) => outputs.flatMap((x) => (x === null ? [] : [x.value]))));
  const byAddend = new Map<string, Counter[]>();
  const seen = new Set<Value>();
  for (const node of graph.nodes) {
    const counter = counterOf(node, made, constants);
    if (counter === null || seen.has(counter.from)) continue;
    seen.add(counter.from);
    const key = String(counter.addend);
    byAddend.set(key, [...(byAddend.get(key) ?? []), counter]);
  }
  const perLaunch = (capabilities.seesTexels ? MAX_VIEWS : MAX_BUFFERS) / 2;
  /** By the first node of each: nothing has to be made before it. */
  const launches = new Map<GraphNode, GraphNode>();
  const joined = new Set<GraphNode>();
  for (const all of byAddend.values())
    for (let i = 0; i + 1 < all.length; i += perLaunch) {
      const some = all.slice(i, i + perLaunch);
      launches.set(some[0]!.node, launched(some, capabilities));
      for (const { node } of some) joined.add(node);
    }
  if (joined.size === 0) return graph;
  const nodes = graph.nodes.flatMap((node) => (joined.has(node) ? (launches.get(node) ?? []) : node));
  return withNodes(graph, nodes, (x) => x);
}
