/** Turns elementwise nodes and reductions between other operators into few launches of shaders that are made for them. */
import type { Capabilities } from "../../../dml/capabilities.ts";
import { DTYPES, packedBytes } from "../../../core/dtype.ts";
import { elements } from "../../../core/elements.ts";
import { sizeOf } from "../../../core/shape.ts";
import { wordOf } from "../../../host/environment.ts";
import { MAX_BUFFERS, MAX_VIEWS } from "../../../shader/dxbc/emit.ts";
import { printShader } from "../../../shader/print-shader.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { isOnlyCode } from "../../../shader/operations/draws.ts";
import { withIndexWords, withoutIndexWords } from "../../../shader/operations/gathers.ts";
import { WRITES_OVER } from "../../../shader/operations/scatters.ts";
import { simplify } from "../../../shader/simplify.ts";
import { packedExpr, withNodes, type Expr, type FusedNodes, type Graph, type GraphNode, type Value } from "../../graph.ts";
import { removeDeadCode } from "../dead-code.ts";
import { factsOf, group, isFusable, type Grouped } from "./clusters.ts";
import { expandComposites } from "./composites.ts";
import { separateEarlyReductions } from "./early-reductions.ts";
import { joinCounters } from "./counters.ts";
import { formOf } from "./region-form.ts";
import { launchOf } from "./launch.ts";
import { joinOf, withOneGroupLaunches } from "./one-group.ts";
import { oneGroupLaunchOf } from "./one-group-launch.ts";
import { splitLongReductions } from "./long-reductions.ts";
import { repeatDraws, splitDraws } from "./repeated-draws.ts";
import { formIn, sharedLaunches } from "./shared-launches.ts";
import { gainsByFusion } from "./fusion-gains.ts";
import { constantOf, type Facts } from "./region.ts";
import { isScatter, writtenOf } from "./partial-writes.ts";
import { isSmallProduct } from "./work.ts";

/** Whether compiled functions fuse nodes to shaders: where it was measured to be faster, wherever shaders run, or nowhere. */
export type FuseMode = "auto" | "always" | "off";
const modes: readonly FuseMode[] = ["auto", "always", "off"];

/** The option of a function decides against the variable, which is set for the whole process. */
export const fuseMode = (option?: FuseMode): FuseMode => option ?? wordOf("DXTENSOR_FUSE", modes) ?? "auto";

/** isPlanned: the program says what is one DirectML graph. */
export function fuses(capabilities: Capabilities, option?: FuseMode, isPlanned = false): boolean {
  const mode = fuseMode(option);
  if (mode === "off" || !capabilities.runsShaders) return false;
  return mode === "always" || (!isPlanned && gainsByFusion(capabilities));
}

/** The operations that asked for nodes, each once, by their lines. */
function originOf(nodes: readonly GraphNode[]): string {
  const names = [...new Set(nodes.map((n) => n.origin))].filter((name) => name !== "");
  const shown = names.slice(0, 3).join(" + ");
  return `${nodes.length} nodes of ${shown}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;
}

/** What a write by index moves, less the tensor that it stands for as input and as output. */
const updatedBytes = (node: GraphNode): number =>
  packedBytes(node.outputs[0]!.dtype, [writtenOf(node)]) - 2 * node.outputs[0]!.value.sizeInBytes;

function launched(list: readonly Grouped[], facts: Facts, capabilities: Capabilities): GraphNode {
  const nodes = list.flatMap((grouped) => grouped.nodes);
  const [id, origin] = [nodes[0]!.id, originOf(nodes)];
  const steps = list[0]!.steps;
  const { node, source } =
    steps === undefined
      ? launchOf(list.map((grouped) => formIn(grouped)!), facts, capabilities, id, origin) // prettier-ignore
      : oneGroupLaunchOf(steps, facts, capabilities, id, origin);
  const whole = [...node.inputs, ...node.outputs].reduce((n, x) => n + x!.value.sizeInBytes, 0);
  const bytes = nodes.filter(isScatter).reduce((n, scatter) => n + updatedBytes(scatter), whole);
  const fused: FusedNodes = {
    nodes,
    ends: [...new Set(list.flatMap(({ ends }) => ends))],
    bytes,
    flops: nodes.reduce((n, node) => n + (foldOf(node) === null ? writtenOf(node) : sizeOf(node.inputs[0]!.sizes)), 0),
    shader: () => printShader(simplify(source())),
  };
  const flops = nodes.reduce((n, x) => n + (x.flops ?? 0), 0);
  return { ...node, fused, ...(flops > 0 ? { flops } : {}) };
}

/** What a region was measured to gain. */
export interface MeasuredRegion {
  readonly isFaster: boolean;
  readonly text: string;
}
/** Measures the shader that was made of nodes against the nodes; null: it was not measured, and the shader stands. */
export type MeasureRegion = (region: GraphNode, nodes: readonly GraphNode[], constants: ReadonlyMap<Value, Uint8Array>) => MeasuredRegion | null; // prettier-ignore

/** Bytes of what nodes read that never changes. Numbers are part of a region's shader, so the nodes have to read the same. */
function constantsOf(nodes: readonly GraphNode[], facts: Facts): ReadonlyMap<Value, Uint8Array> {
  const known = new Map(facts.constants);
  for (const x of nodes.flatMap((node) => node.inputs)) {
    const number = x === null || known.has(x.value) ? null : constantOf(x, facts);
    if (x === null || number === null) continue;
    const list = elements(x.dtype, new Array<number>(x.value.sizeInBytes / DTYPES[x.dtype].sizeInBytes).fill(number));
    known.set(x.value, new Uint8Array(list.buffer, list.byteOffset, list.byteLength));
  }
  return known;
}

/** Values that writes by index make of a mutable buffer, for the buffer. */
function writesOver({ nodes, state }: Graph): Set<Value> {
  const makers = new Map(nodes.flatMap((node) => (isWriteByIndex(node) ? [[node.outputs[0]!.value, node] as const] : [])));
  const over = new Set<Value>();
  for (const { buffer, value } of state) {
    const chain: Value[] = [];
    let at = value.value;
    for (let maker = makers.get(at); maker !== undefined && at !== buffer; maker = makers.get(at)) {
      chain.push(at);
      at = maker.inputs[0]!.value;
    }
    if (at === buffer) for (const written of chain) over.add(written);
  }
  return over;
}

const isWriteByIndex = ({ operator, asOperator }: GraphNode): boolean => (asOperator?.operator ?? operator) === "SCATTER";

/** The operator that a shader stands for, or a write over a mutable buffer; null: it is none that regions have. */
function asOperatorNode(of: GraphNode, over: ReadonlySet<Value>): GraphNode | null {
  const { id, origin, mark = null, after, asOperator, inputs, outputs } = of;
  const isOver = outputs[0] != null && over.has(outputs[0].value);
  if ((asOperator === undefined && !isOver) || after !== undefined) return null;
  const { operator, attributes } = asOperator ?? of;
  const own = asOperator?.inputs(inputs as readonly Expr[]) ?? inputs;
  const { dtype, sizes } = asOperator?.output ?? outputs[0]!;
  const result = packedExpr(outputs[0]!.value, dtype, sizes);
  const seen = isOver ? { ...attributes, [WRITES_OVER]: true } : attributes;
  const node: GraphNode = { id, operator, attributes: seen, inputs: own, outputs: [result], origin, mark };
  return isFusable(node) ? node : null;
}

/**
 * The graph with nodes as regions read them: small matrix products by shaders as GEMMs, other shaders as their operators, indices of 64 bits as words; and what
 * stands where they are no parts of regions.
 */
function asRegionsRead(graph: Graph): { readonly graph: Graph; readonly stands: (node: GraphNode) => GraphNode } {
  const shaders = new Map<Value, GraphNode>();
  const over = writesOver(graph);
  const all = graph.nodes.map(withIndexWords);
  const nodes = all.map((node): GraphNode => {
    const operator = asOperatorNode(node, over);
    if (operator !== null) {
      shaders.set(node.outputs[0]!.value, node);
      return operator;
    }
    const { id, origin, mark = null, flops, after, asGemm, shader, inputs, outputs } = node;
    if (asGemm === undefined || asGemm.shader !== shader || after !== undefined) return node;
    const own = asGemm.inputs(inputs as readonly Expr[]);
    const gemm: GraphNode = { id, operator: "GEMM", attributes: asGemm.attributes, inputs: own, outputs, origin, mark, ...(flops === undefined ? {} : { flops }) }; // prettier-ignore
    if (!isFusable(gemm) || !isSmallProduct(gemm, true)) return node;
    shaders.set(outputs[0]!.value, node);
    return gemm;
  });
  const isSame = nodes.every((node, i) => node === graph.nodes[i]);
  return {
    graph: isSame ? graph : withNodes(graph, nodes, (x) => x),
    stands: (node) => (node.outputs[0] == null ? undefined : shaders.get(node.outputs[0].value)) ?? withoutIndexWords(node),
  };
}

/** The shader of a launch, or its nodes where they were measured to be faster. */
function measured(
  region: GraphNode,
  list: readonly Grouped[],
  facts: Facts,
  measure: MeasureRegion | null,
  stands: (node: GraphNode) => GraphNode,
): readonly GraphNode[] {
  // Alone, a write over a buffer would be one over a copy.
  if (list.some((grouped) => grouped.nodes.some((node) => isOnlyCode(node) || isScatter(node)))) return [region];
  const nodes = list.flatMap((grouped) => grouped.nodes.map(stands));
  const found = measure?.(region, nodes, constantsOf(nodes, facts)) ?? null;
  if (found === null) return [region];
  return found.isFaster
    ? [{ ...region, measured: found.text }]
    : nodes.map((node, i) => (i === 0 ? { ...node, measured: found.text } : node));
}

/** Whether something reads what a region makes: a node that was replaced may have been its only reader. */
const isNeeded = (grouped: Grouped): boolean => formIn(grouped)?.outputs.length !== 0;

/** A JOIN is mostly no launch: its inputs are written into its result directly. */
const isLaunch = ([first]: readonly Grouped[]): boolean => first!.steps !== undefined || joinOf(first!) === null;

/** constants: inputs whose bytes never change. */
export function fuseRegions(
  graph: Graph,
  capabilities: Capabilities,
  constants: ReadonlyMap<Value, Uint8Array>,
  measure: MeasureRegion | null = null,
): Graph {
  const known = new Map([...constants, ...graph.constants]);
  const facts = (of: Graph): Facts => factsOf(of, known, capabilities.seesTexels ? MAX_VIEWS : MAX_BUFFERS, () => capabilities.roundsHalf);
  const { graph: begun, stands } = asRegionsRead(repeatDraws(splitDraws(graph), known));
  const split = splitLongReductions(begun, capabilities);
  let expanded = expandComposites(split, capabilities);
  // What cannot be one launch stays with DirectML's operator.
  const first = facts(expanded.graph);
  const but = expanded.parts.filter(({ nodes }) => typeof formOf(nodes.filter(isFusable), first) === "string").map(({ of }) => of);
  if (but.length > 0) expanded = expandComposites(split, capabilities, new Set(but));
  const parts = expanded.parts.map(({ nodes }) => nodes);
  const early = separateEarlyReductions(expanded.graph, new Set(parts.flat()));
  const own = facts(early.graph);
  const needed = group(early.graph, own, parts, early).filter(isNeeded);
  const launches = (list: readonly Grouped[]): number => sharedLaunches(list, own).filter(isLaunch).length;
  const nodes = sharedLaunches(withOneGroupLaunches(needed, own, launches), own).flatMap((list) =>
    list.length === 1 && list[0]!.region === null && list[0]!.steps === undefined
      ? list[0]!.nodes.map(stands)
      : measured(launched(list, own, capabilities), list, own, measure, stands),
  );
  return joinCounters(removeDeadCode(withNodes(early.graph, nodes, (x) => x)), capabilities, known);
}
