/**
 * Makes sums of a product's columns part of the product's launch: it writes the sums of each tile of rows, and the reduction adds these. The gradient of a bias is
 * such a sum, of what the launch before has just written with the gradient of an activation.
 */
import { isWhole, packedExpr, withNodes, type Graph, type GraphNode, type Value } from "../graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { usesOf } from "./fuse-prologues.ts";

/**
 * Terms of a product by a shader up to which regions contain it: its tiles take a microsecond or two where threads of their own take three for 2^20 terms. @package
 */
export const MAX_BY_TILES = 2 ** 18;

/** The axes that a sum over the rows of a product [rows, columns] in the shape of its input goes along; null: it is another node. */
function summedRows({ operator, attributes, inputs: [x], after }: GraphNode): readonly number[] | null {
  const { axes } = attributes as { readonly axes?: readonly number[] };
  if (operator !== "REDUCE" || attributes["function"] !== "SUM" || after !== undefined || !x || !axes || !isWhole(x)) return null;
  const last = x.sizes.length - 1;
  const isLeading = x.sizes.every((d, i) => (i === last ? !axes.includes(i) : d === 1 || axes.includes(i)));
  return isLeading && axes.length > 0 ? axes : null;
}

export function fuseColumnSums(graph: Graph): Graph {
  if (graph.nodes.every(({ withColumnSums }) => withColumnSums === undefined)) return graph;
  const { makers } = usesOf(graph);
  const replaced = new Map<GraphNode, GraphNode>();
  const sums = new Map<GraphNode, Value>();
  for (const node of graph.nodes) {
    const axes = summedRows(node);
    const x = node.inputs[0];
    const maker = axes === null ? undefined : makers.get(x!.value);
    const written = maker?.withColumnSums;
    if (maker === undefined || written === undefined || maker.outputs.length > 1 || maker.mark !== node.mark) continue;
    // Regions contain smaller products, with the sums.
    if (written.products <= MAX_BY_TILES || written.columns !== x!.sizes.at(-1) || x!.dtype !== "float32") continue;
    const value = sums.get(maker) ?? graph.newValue(4 * sizeOf(written.sizes), maker);
    const [tiles] = written.sizes;
    const parts = packedExpr(value, "float32", x!.sizes.map((d, i) => (axes!.includes(i) ? (i === axes![0] ? tiles! : 1) : d))); // prettier-ignore
    replaced.set(node, { ...node, inputs: [parts] });
    if (sums.has(maker)) continue;
    sums.set(maker, value);
    const { withColumnSums: _, withStatistics: __, withEpilogue: ___, withActivation: ____, asGemm: _____, joins: ______, withNorm: _______, ...kept } = maker; // prettier-ignore
    const origin = `${kept.origin} + sums of columns`;
    replaced.set(maker, {
      ...kept,
      origin,
      shader: written.shader(),
      outputs: [maker.outputs[0]!, packedExpr(value, "float32", written.sizes)],
    });
  }
  if (replaced.size === 0) return graph;
  return withNodes(graph, graph.nodes.map((node) => replaced.get(node) ?? node), (x) => x); // prettier-ignore
}
