/** Nodes of the graph as the addon takes them: fields in the schema's order. */
import { DTYPES, toBfloat16, toHalf } from "../core/dtype.ts";
import { HALF_BYTES, spanInBytes, type Activation, type Expr, type GraphNode, type ShaderCall } from "./graph.ts";
import { keyOf } from "./key.ts";
import type { FieldValue, OperatorDescription, ShaderDescription, TensorDescription } from "../native/binding.ts";
import { isPacked } from "../core/shape.ts";
import type { Scalar } from "./emitter.ts";
import { ENUMS, OPERATORS, type OperatorName } from "../dml/operators.generated.ts";

const span = (x: Expr): number => spanInBytes(x.dtype, x.sizes, x.strides);

export function describeTensor(x: Expr, bytes: (x: Expr) => number = span): TensorDescription {
  const packed = isPacked(x.sizes, x.strides);
  return { dataType: DTYPES[x.dtype].dml, sizes: x.sizes, strides: packed ? null : x.strides, sizeInBytes: bytes(x) };
}

/** Bytes as twice as many elements of 4 bits. */
function halfBytes({ sizes, ...rest }: TensorDescription): TensorDescription {
  return { ...rest, dataType: ENUMS.DML_TENSOR_DATA_TYPE.UINT4, sizes: [...sizes.slice(0, -1), 2 * sizes.at(-1)!] };
}

/** The eight bytes of a DML_SCALAR_UNION. */
export function scalarBytes({ dtype, value }: Scalar): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  const n = Number(value);
  switch (dtype) {
    case "float32":
      view.setFloat32(0, n, true);
      break;
    case "float64":
      view.setFloat64(0, n, true);
      break;
    case "float16":
      view.setUint16(0, toHalf(n), true);
      break;
    case "bfloat16":
      view.setUint16(0, toBfloat16(n), true);
      break;
    case "int8":
      view.setInt8(0, n);
      break;
    case "uint8":
    case "bool":
      view.setUint8(0, n);
      break;
    case "int16":
      view.setInt16(0, n, true);
      break;
    case "uint16":
      view.setUint16(0, n, true);
      break;
    case "int32":
      view.setInt32(0, n, true);
      break;
    case "uint32":
      view.setUint32(0, n, true);
      break;
    case "int64":
      view.setBigInt64(0, BigInt(value), true);
      break;
    case "uint64":
      view.setBigUint64(0, BigInt(value), true);
      break;
    default:
      dtype satisfies never;
  }
  return bytes;
}

function attribute(type: string, value: unknown): FieldValue {
  if (type.startsWith("enum:")) {
    const name = type.slice(5) as keyof typeof ENUMS;
    return typeof value === "number" ? value : (ENUMS[name] as { readonly [k: string]: number })[value as string]!;
  }
  if (type === "operator") return value === null ? null : describeActivation(value as Activation);
  if (type === "operatorArray") return (value as readonly Activation[]).map(describeActivation);
  if (type === "scalarUnion") return scalarBytes(value as Scalar);
  return value as FieldValue;
}

function describe(
  operator: OperatorName,
  attributes: { readonly [name: string]: unknown },
  tensor: (field: number) => FieldValue,
): OperatorDescription {
  const row = OPERATORS[operator];
  const fields: FieldValue[] = [];
  row.fields.forEach((f, i) => {
    fields.push(f.kind === "attribute" ? attribute(f.type, attributes[f.name] ?? null) : tensor(i));
  });
  row.fields.forEach((f) => {
    if (f.count === undefined) return;
    const list = fields[row.fields.indexOf(f)];
    fields[f.count] = Array.isArray(list) ? list.length : 0;
  });
  return { type: row.type, fields };
}

const describeActivation = (a: Activation): OperatorDescription => describe(a.operator, a.attributes, () => null);

/** A string that is equal for nodes that are one dispatchable, and for launches that differ in nothing but constants: these take the shader's code. */
export const keyWithoutConstants = (node: GraphNode): string =>
  node.operation !== undefined
    ? keyOf(node.operation.call)
    : node.shader === undefined
      ? keyOf(describeNode(node as OperatorNode))
      : keyOf([node.shader.id, node.shader.groups, node.outputs.map((x) => x?.value.sizeInBytes)]);

/** A string that is equal for nodes that are one dispatchable. */
export const nodeKey = (node: GraphNode): string =>
  `${keyWithoutConstants(node)} ${node.shader === undefined ? "" : node.shader.constants.join()}`;

/** A node of DirectML. */
export type OperatorNode = GraphNode & { readonly operator: OperatorName };

/** A launch as the addon takes it. */
export const describeShader = (
  call: Pick<ShaderCall, "bytes" | "views" | "constants" | "groups">,
  inputCount: number,
): ShaderDescription => ({
  shader: call.bytes,
  views: call.views,
  constants: call.constants,
  groups: call.groups,
  inputCount,
});

/** The description of a node; tensors as the node sees them, of as many bytes as `bytes` says (default: their span). */
export function describeNode(node: OperatorNode, bytes?: (x: Expr) => number): OperatorDescription {
  const row = OPERATORS[node.operator];
  const lists = { input: [...node.inputs], output: [...node.outputs] };
  return describe(node.operator, node.attributes, (i) => {
    const f = row.fields[i]!;
    const list = lists[f.kind as "input" | "output"];
    if (f.type === "tensorArray") {
      const rest = row.fields.slice(i + 1).filter((g) => g.kind === f.kind).length;
      return list.splice(0, list.length - rest).map((x) => describeTensor(x!, bytes));
    }
    const x = list.shift() ?? null;
    if (x === null) return null;
    const described = describeTensor(x, bytes);
    return x === node.inputs[0] && node.attributes[HALF_BYTES] === true ? halfBytes(described) : described;
  });
}
