/**
 * Makes layerNorm and RMSNorm of a product's rows part of the products that read them: the first product writes statistics of its rows too, the others normalize
 * their operand when they load it. Each of their groups merges a row's statistics again, which takes less time than a launch that they wait for.
 */
import { Expr, isWhole, packedExpr, withNodes, type Graph, type GraphNode, type RowNorm } from "../graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { removeDeadCode } from "./dead-code.ts";
import { usesOf } from "./fuse-prologues.ts";

interface Norm {
  readonly norm: RowNorm;
  readonly x: Expr;
  readonly gain: Expr | null;
  readonly shift: Expr | null;
}

/** A factor of each column, as [columns]; null: it is something else. */
function columnsOf(x: Expr, columns: number): Expr | null {
  const last = x.sizes.length - 1;
  const isRow = x.sizes.every((d, i) => (i === last ? d === columns && (d === 1 || x.strides[i] === 1) : d === 1 || x.strides[i] === 0));
  if (!isRow || x.dtype !== "float32" || x.byteOffset % 16 !== 0) return null;
  return new Expr(x.value, "float32", [columns], [1], x.byteOffset);
}

function normOf(node: GraphNode): Norm | null {
  const [x, gain = null, shift = null] = node.inputs;
  if (!x || node.after !== undefined || x.dtype !== "float32" || !isWhole(x)) return null;
  const columns = x.sizes.at(-1)!;
  let norm = node.asNorm;
  if (node.operator === "MEAN_VARIANCE_NORMALIZATION1") {
    const { axes, normalizeVariance, epsilon, fusedActivation } = node.attributes;
    const isOfRows = Array.isArray(axes) && axes.length === 1 && axes[0] === x.sizes.length - 1;
    if (isOfRows && normalizeVariance === true && fusedActivation == null) norm = { kind: "layerNorm", epsilon: epsilon as number };
  }
  if (norm === undefined) return null;
  const [scale, offset] = [gain, shift].map((t) => (t === null ? null : columnsOf(t, columns))) as [Expr | null, Expr | null];
  if ((gain !== null && scale === null) || (shift !== null && offset === null)) return null;
  return { norm, x, gain: scale, shift: offset };
}

export function fuseNorms(graph: Graph): Graph {
  if (graph.nodes.every(({ withStatistics }) => withStatistics === undefined)) return graph;
  const { makers, readers, others } = usesOf(graph);
  const replaced = new Map<GraphNode, GraphNode>();
  const now = (node: GraphNode): GraphNode => replaced.get(node) ?? node;
  for (const node of graph.nodes) {
    const [result, ...more] = node.outputs;
    if (!result || more.length > 0 || others.has(result.value) || !isWhole(result)) continue;
    const norm = normOf(node);
    const maker = norm === null ? undefined : makers.get(norm.x.value);
    if (norm === null || maker === undefined || maker.mark !== node.mark || maker.outputs[0]!.value !== norm.x.value) continue;
    const made = now(maker);
    const written = maker.withStatistics;
    if (written === undefined || written.columns !== norm.x.sizes.at(-1) || !isWhole(maker.outputs[0]!)) continue;
    const all = readers.get(result.value) ?? [];
    if (all.length === 0 || all.some(({ withNorm, mark }) => withNorm === undefined || mark !== node.mark)) continue;
    // Two norms of one result read the same statistics.
    const statistics = made.outputs[1] ?? packedExpr(graph.newValue(4 * sizeOf(written.sizes), maker), "float32", written.sizes);
    const next = all.map((reader) => withNorm(now(reader), result, norm, { x: statistics, tileColumns: written.tileColumns }));
    if (next.some((reader) => reader === null)) continue;
    all.forEach((reader, i) => replaced.set(reader, next[i]!));
    if (made.outputs.length > 1) continue;
    const {
      withStatistics: _,
      withEpilogue: __,
      withActivation: ___,
      asGemm: ____,
      joins: _____,
      withNorm: ______,
      withColumnSums: _______,
      ...kept
    } = made;
    replaced.set(maker, { ...kept, shader: made.withStatistics!.shader(), outputs: [made.outputs[0]!, statistics] });
  }
  if (replaced.size === 0) return graph;
  return removeDeadCode(withNodes(graph, graph.nodes.map(now), (x) => x));
}

function withNorm(
  node: GraphNode,
  result: Expr,
  { norm, x, gain, shift }: Norm,
  statistics: { readonly x: Expr; readonly tileColumns: number },
): GraphNode | null {
  const [read, ...rest] = node.inputs as readonly Expr[];
  if (node.withNorm === undefined || read!.value !== result.value || rest.some((other) => other.value === result.value)) return null;
  if (!isWhole(read!) || read!.sizes.at(-1) !== x.sizes.at(-1)) return null;
  const made = node.withNorm(norm, packedExpr(x.value, x.dtype, read!.sizes), statistics, { gain, shift });
  if (made === null) return null;
  const { withNorm: _, withEpilogue: __, withActivation: ___, asGemm: ____, joins: _____, withColumnSums: ______, ...kept } = node;
  return { ...kept, ...made };
}
