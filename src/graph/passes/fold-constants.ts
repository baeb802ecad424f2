/** Folds small constant tensors: they become inputs whose bytes are uploaded once. */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { elements } from "../../core/elements.ts";
import { sizeOf } from "../../core/shape.ts";
import { isWhole, withNodes, type Expr, type Graph, type GraphNode, type Value } from "../graph.ts";

const LARGEST_IN_BYTES = 1024;

interface Scalar {
  readonly dtype: DType;
  readonly value: number | bigint;
}

const isExact = (...numbers: readonly (number | bigint)[]): boolean =>
  numbers.every((v) => typeof v === "bigint" || (Number.isInteger(v) && Math.abs(v) <= 2048));

/** Elements of a node without tensors; null where DirectML's rounding would have to be imitated. */
function filled(node: GraphNode, count: number): readonly (number | bigint)[] | null {
  if (node.operator === "FILL_VALUE_CONSTANT") return new Array<number | bigint>(count).fill((node.attributes.value as Scalar).value);
  const [start, delta] = [(node.attributes.valueStart as Scalar).value, (node.attributes.valueDelta as Scalar).value];
  if (!isExact(start, delta) || !isExact(Number(start) + (count - 1) * Number(delta))) return null;
  return typeof start === "bigint"
    ? Array.from({ length: count }, (_, i) => start + BigInt(i) * BigInt(delta))
    : Array.from({ length: count }, (_, i) => start + i * Number(delta));
}

/** The elements that x shows of the bytes, packed. */
function gathered(x: Expr, from: Uint8Array, sizeInBytes: number): Uint8Array {
  const size = DTYPES[x.dtype].sizeInBytes;
  const to = new Uint8Array(sizeInBytes);
  let at = 0;
  const visit = (axis: number, offset: number): void => {
    if (axis < x.sizes.length) for (let i = 0; i < x.sizes[axis]!; i++) visit(axis + 1, offset + i * x.strides[axis]! * size);
    else {
      to.set(from.subarray(offset, offset + size), at);
      at += size;
    }
  };
  visit(0, x.byteOffset);
  return to;
}

function bytesOf(node: GraphNode, constants: ReadonlyMap<Value, Uint8Array>): Uint8Array | null {
  const out = node.outputs[0];
  if (!out || out.value.sizeInBytes > LARGEST_IN_BYTES || !isWhole(out)) return null;
  if (node.operator === "FILL_VALUE_CONSTANT" || node.operator === "FILL_VALUE_SEQUENCE") {
    const values = filled(node, sizeOf(out.sizes));
    if (values === null) return null;
    const { buffer, byteLength } = elements(out.dtype, values);
    const bytes = new Uint8Array(out.value.sizeInBytes);
    bytes.set(new Uint8Array(buffer, 0, byteLength));
    return bytes;
  }
  const x = node.inputs[0];
  const from = x ? constants.get(x.value) : undefined;
  const moves = node.operator === "ELEMENT_WISE_IDENTITY" && x?.dtype === out.dtype && node.attributes.scaleBias == null;
  return moves && from !== undefined ? gathered(x, from, out.value.sizeInBytes) : null;
}

export function foldConstants(graph: Graph): Graph {
  const results = new Set<Value>([...graph.outputs.map((x) => x.value), ...graph.state.map((w) => w.value.value)]);
  const constants = new Map(graph.constants);
  const nodes = graph.nodes.filter((node) => {
    const bytes = node.outputs.some((x) => x !== null && results.has(x.value)) ? null : bytesOf(node, constants);
    if (bytes !== null) constants.set(node.outputs[0]!.value, bytes);
    return bytes === null;
  });
  const read = new Set(nodes.flatMap((n) => n.inputs.flatMap((x) => (x === null ? [] : [x.value]))));
  const next = withNodes(graph, nodes, (x) => x);
  const made = [...constants].filter(([value]) => !graph.constants.has(value) && read.has(value));
  next.inputs = [...graph.inputs, ...made.map(([value]) => value)];
  next.constants = new Map([...graph.constants, ...made]);
  return next;
}
