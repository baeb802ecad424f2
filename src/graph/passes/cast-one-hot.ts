/** Makes one-hot rows in the dtype that they are cast to. They are int64 by default, which is in no region; in float32 they are part of what reads them. */
import { packedBytes, type DType } from "../../core/dtype.ts";
import type { Scalar } from "../emitter.ts";
import { Expr, isWhole, packedExpr, withNodes, type Graph, type GraphNode } from "../graph.ts";
import { removeDeadCode } from "./dead-code.ts";

/** Dtypes in which 0 and 1 are what a cast of integers gives. */
const TARGETS: readonly DType[] = ["float32", "float16", "int32", "uint32", "uint8"];

/** Whether an expression shows 0 and 1, of a sequence. */
function areZeroAndOne({ value: { producer }, byteOffset }: Expr): boolean {
  if (producer?.operator !== "FILL_VALUE_SEQUENCE" || byteOffset !== 0) return false;
  const [start, delta] = ["valueStart", "valueDelta"].map((name) => Number((producer.attributes[name] as Scalar).value));
  return start === 0 && delta === 1;
}

/** The one-hot rows that a node casts; null: it is another node. */
function rowsOf(node: GraphNode): GraphNode | null {
  const [x, y] = [node.inputs[0], node.outputs[0]];
  if (node.operator !== "CAST" || node.after !== undefined || !x || !y || !isWhole(x) || !isWhole(y)) return null;
  const rows = x.value.producer;
  if (rows?.operator !== "ONE_HOT" || rows.mark !== node.mark || x.dtype !== rows.outputs[0]!.dtype) return null;
  return TARGETS.includes(y.dtype) && areZeroAndOne(rows.inputs[1]!) ? rows : null;
}

export function castOneHot(graph: Graph): Graph {
  const makers = new Map(graph.nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [[x.value, node] as const]))));
  let isChanged = false;
  const nodes = graph.nodes.flatMap((node) => {
    const rows = rowsOf(node);
    const now = rows === null ? undefined : makers.get(node.inputs[0]!.value);
    if (now === undefined) return [node];
    isChanged = true;
    const { value, dtype } = node.outputs[0]!;
    const [indices, ends] = now.inputs as readonly [Expr, Expr];
    const number = (x: number): Scalar => ({ dtype, value: x });
    const zeroAndOne = graph.newValue(packedBytes(dtype, [2]), now);
    const attributes = { valueDataType: dtype.toUpperCase(), valueStart: number(0), valueDelta: number(1) };
    const common = { id: node.id, origin: now.origin, ...(node.mark === undefined ? {} : { mark: node.mark }) };
    return [
      { ...common, operator: "FILL_VALUE_SEQUENCE", attributes, inputs: [], outputs: [packedExpr(zeroAndOne, dtype, [2])] },
      {
        ...common,
        operator: "ONE_HOT",
        attributes: now.attributes,
        inputs: [indices, new Expr(zeroAndOne, dtype, ends.sizes, ends.strides, 0)],
        outputs: [packedExpr(value, dtype, now.outputs[0]!.sizes)],
      },
    ] satisfies GraphNode[];
  });
  return isChanged ? removeDeadCode(withNodes(graph, nodes, (x) => x)) : graph;
}
