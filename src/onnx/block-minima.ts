/** Zero points of packed weights as what their middle codes stand for: (middle - zero) * scale, computed once, when the model is loaded. */
import { domainOf } from "./format/operator-keys.ts";
import type { GraphMessage, NodeMessage } from "./format/proto.ts";
import { Constant, type Value } from "./format/value.ts";
import { readNames } from "./graph-order.ts";
import { MINIMA } from "./operators/block-quantized.ts";

const [SCALES, ZEROS, GROUPS] = [2, 3, 4];

const { fround } = Math;

const numberOf = (node: NodeMessage, name: string, missing: number): number => {
  const found = node.attributes.find((a) => a.name === name);
  return found === undefined || found.reference !== "" ? missing : Number(found.i);
};

/** Minima [N, blocks] of a node's constants; null where the node keeps its zero points. */
function minimaOf(node: NodeMessage, scales: Value, zeros: Value): Constant | null {
  if (!(scales instanceof Constant && zeros instanceof Constant) || scales.dtype !== "float32" || zeros.narrow !== null) return null;
  const [bits, n, width, size] = [
    numberOf(node, "bits", 4),
    numberOf(node, "N", 0),
    numberOf(node, "K", 0),
    numberOf(node, "block_size", 0),
  ];
  const blocks = width / size;
  if ((bits !== 4 && bits !== 8) || n < 1 || !Number.isInteger(blocks) || blocks < 1 || scales.size !== n * blocks) return null;
  const rowBytes = Math.ceil((blocks * bits) / 8);
  const arePacked = zeros.dtype === "uint8";
  if (zeros.size !== n * (arePacked ? rowBytes : blocks) || (!arePacked && zeros.dtype !== "float32")) return null;
  const [s, z] = [scales.data as Float32Array, zeros.data as Uint8Array | Float32Array];
  const minima = new Float32Array(n * blocks);
  const middle = 2 ** (bits - 1);
  for (let row = 0, i = 0; row < n; row++)
    for (let b = 0; b < blocks; b++, i++) {
      const zero = !arePacked ? z[i]! : bits === 8 ? z[i]! : (z[row * rowBytes + (b >> 1)]! >> ((b & 1) * 4)) & 15;
      minima[i] = fround(middle - zero) * s[i]!;
    }
  return new Constant("float32", [n, blocks], minima);
}

/**
 * Gives each MatMulNBits of a graph minima instead of constant zero points, and takes away zero points that nothing reads any more. isKept: nodes that
 * stay as they are. Returns the names of the minima.
 */
export function foldZeroPoints(
  graph: GraphMessage,
  constants: Map<string, Value>,
  isKept: (node: NodeMessage) => boolean,
): ReadonlySet<string> {
  const made = new Set<string>();
  const lost = new Set<string>();
  graph.nodes.forEach((node, at) => {
    if (node.type !== "MatMulNBits" || domainOf(node.domain) !== "com.microsoft" || isKept(node)) return;
    const [scales, zeros, groups] = [node.inputs[SCALES] ?? "", node.inputs[ZEROS] ?? "", node.inputs[GROUPS] ?? ""];
    if (zeros === "" || groups !== "" || node.inputs.length > MINIMA) return;
    const minima = minimaOf(node, constants.get(scales) ?? null, constants.get(zeros) ?? null);
    if (minima === null) return;
    const name = `minima of ${node.outputs[0] ?? ""}`;
    constants.set(name, minima);
    made.add(name);
    lost.add(zeros);
    const inputs = Array.from({ length: MINIMA + 1 }, (_, i) => (i === MINIMA ? name : i === ZEROS ? "" : (node.inputs[i] ?? "")));
    graph.nodes[at] = { ...node, inputs };
  });
  const read = readNames(graph.nodes, graph.outputs.map((o) => o.name)); // prettier-ignore
  for (const name of lost) if (!read.has(name)) constants.delete(name);
  return made;
}
