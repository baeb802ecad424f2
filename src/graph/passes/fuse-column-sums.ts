/**
 * Makes sums of a product's columns part of the product's launch: it writes the sums of each tile of rows, and the reduction adds these. The gradient of a bias is
 * such a sum, of what the launch before has just written with the gradient of an activation.
 */
import { isWhole, packedExpr, withNodes, type ColumnSumsOfTiles, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";
import { sizeOf } from "../../core/shape.ts";
import { usesOf } from "./fuse-prologues.ts";

/**
 * Terms of a product by a shader up to which regions contain it: its tiles take a microsecond or two where threads of their own take three for 2^20 terms. @package
 */
export const MAX_BY_TILES = 2 ** 18;

/** Elements of a float16 result from which on its tiles are summed: rounding the sums may take a launch. */
const MIN_HALVES = 2 ** 20;

/**
 * The axes that a sum over the rows of products [count * rows, columns] in the shape of its input goes along, and the product of those in front of them, which it
 * keeps; null: it is another node.
 */
function summedRows({ operator, attributes, inputs: [x], after }: GraphNode): { readonly axes: readonly number[]; readonly kept: number } | null {
  const { axes } = attributes as { readonly axes?: readonly number[] };
  if (operator !== "REDUCE" || attributes["function"] !== "SUM" || after !== undefined || !x || !axes || axes.length === 0 || !isWhole(x)) return null;
  const first = Math.min(...axes);
  const last = x.sizes.length - 1;
  const isAllBehind = x.sizes.every((d, i) => i < first || (i === last ? !axes.includes(i) : d === 1 || axes.includes(i)));
  return isAllBehind ? { axes, kept: sizeOf(x.sizes.slice(0, first)) } : null;
} // prettier-ignore

/** The sums of all tiles, or those of each product, in the shape of what they are sums of; null: a product's rows are summed apart. */
function tilesAs(x: Expr, value: Value, { axes, kept }: { readonly axes: readonly number[]; readonly kept: number }, { sizes, count }: ColumnSumsOfTiles): Expr | null {
  if (kept !== 1 && kept !== count) return null;
  const tiles = sizes[0]! / kept;
  const first = Math.min(...axes);
  return packedExpr(value, "float32", x.sizes.map((d, i) => (i === first ? tiles : axes.includes(i) ? 1 : d)));
} // prettier-ignore

export function fuseColumnSums(graph: Graph): Graph {
  if (graph.nodes.every(({ withColumnSums }) => withColumnSums === undefined)) return graph;
  const { makers } = usesOf(graph);
  const replaced = new Map<GraphNode, readonly GraphNode[]>();
  const sums = new Map<GraphNode, Value>();
  for (const node of graph.nodes) {
    const summed = summedRows(node);
    const x = node.inputs[0];
    const maker = summed === null ? undefined : makers.get(x!.value);
    const written = maker?.withColumnSums;
    if (maker === undefined || written === undefined || maker.outputs.length > 1 || maker.mark !== node.mark) continue;
    // Regions contain smaller products, with the sums.
    if (written.products <= MAX_BY_TILES || written.columns !== x!.sizes.at(-1) || x!.dtype !== maker.outputs[0]!.dtype) continue;
    if (x!.dtype === "float16" && sizeOf(x!.sizes) < MIN_HALVES) continue;
    const value = sums.get(maker) ?? graph.newValue(4 * sizeOf(written.sizes), maker);
    const parts = tilesAs(x!, value, summed!, written);
    if (parts === null) continue;
    const [y] = node.outputs;
    if (x!.dtype === "float32") replaced.set(node, [{ ...node, inputs: [parts] }]);
    else {
      // Sums of float16 are rounded once, in the end.
      const total = packedExpr(graph.newValue(4 * sizeOf(y!.sizes), node), "float32", y!.sizes);
      const { id, origin, mark } = node;
      const rounding: GraphNode = { id, operator: "SHADER", attributes: {}, inputs: [total], outputs: [y!], origin, ...(mark === undefined ? {} : { mark }), ...written.rounded(y!.sizes) }; // prettier-ignore
      replaced.set(node, [{ ...node, inputs: [parts], outputs: [total] }, rounding]);
    }
    if (sums.has(maker)) continue;
    sums.set(maker, value);
    const { withColumnSums: _, withStatistics: __, withEpilogue: ___, withActivation: ____, asGemm: _____, joins: ______, withNorm: _______, ...kept } = maker; // prettier-ignore
    const origin = `${kept.origin} + sums of columns`;
    replaced.set(maker, [
      {
        ...kept,
        origin,
        shader: written.shader(),
        outputs: [maker.outputs[0]!, packedExpr(value, "float32", written.sizes)],
      },
    ]);
  }
  if (replaced.size === 0) return graph;
  return withNodes(graph, graph.nodes.flatMap((node) => replaced.get(node) ?? [node]), (x) => x); // prettier-ignore
}
