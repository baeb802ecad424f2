/** Operators as a backend from outside sees them: by name, with named attributes. */
import { DTYPES, fromBfloat16, fromHalf, type DType } from "../core/dtype.ts";
import { ENUMS, OPERATORS, type OperatorName } from "../dml/operators.generated.ts";
import type { OperatorRow } from "../dml/schema.ts";
import type { FieldValue, OperatorDescription, TensorDescription } from "../native/binding.ts";
import type { BackendActivation, BackendCall, BackendTensor } from "./interface.ts";

const rows = new Map<number, OperatorRow>(Object.values<OperatorRow>(OPERATORS).map((row) => [row.type, row]));

/** The dtype of each DML_TENSOR_DATA_TYPE; bool and bfloat16 are known by the integers that hold them. */
const dtypes = new Map<number, DType>(
  (Object.keys(DTYPES) as DType[]).flatMap((dtype) =>
    dtype === "bool" || dtype === "bfloat16" ? [] : [[DTYPES[dtype].dml, dtype] as const],
  ),
);

function packed(sizes: readonly number[]): number[] {
  const strides = new Array<number>(sizes.length).fill(1);
  for (let i = sizes.length - 2; i >= 0; i--) strides[i] = strides[i + 1]! * sizes[i + 1]!;
  return strides;
}

function tensorOf({ dataType, sizes, strides }: TensorDescription): BackendTensor {
  return { dtype: dtypes.get(dataType)!, sizes, strides: strides ?? packed(sizes) };
}

/** The number in the eight bytes of a DML_SCALAR_UNION. */
function scalarOf(bytes: Uint8Array, dtype: DType): number | bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, 8);
  switch (dtype) {
    case "float32":
      return view.getFloat32(0, true);
    case "float64":
      return view.getFloat64(0, true);
    case "float16":
      return fromHalf(view.getUint16(0, true));
    case "bfloat16":
      return fromBfloat16(view.getUint16(0, true));
    case "int8":
      return view.getInt8(0);
    case "uint8":
    case "bool":
      return view.getUint8(0);
    case "int16":
      return view.getInt16(0, true);
    case "uint16":
      return view.getUint16(0, true);
    case "int32":
      return view.getInt32(0, true);
    case "uint32":
      return view.getUint32(0, true);
    case "int64":
      return view.getBigInt64(0, true);
    case "uint64":
      return view.getBigUint64(0, true);
    default:
      return dtype satisfies never;
  }
}

const nameIn = (enumeration: string, value: number): string | number =>
  Object.entries(ENUMS[enumeration as keyof typeof ENUMS]).find(([, n]) => n === value)?.[0] ?? value;

function attributesOf(row: OperatorRow, fields: readonly FieldValue[]): Record<string, unknown> {
  const counts = new Set(row.fields.flatMap((f) => (f.count === undefined ? [] : [f.count])));
  const typeField = row.fields.findIndex((f) => f.type === "enum:DML_TENSOR_DATA_TYPE");
  const attributes: Record<string, unknown> = {};
  row.fields.forEach(({ name, kind, type }, i) => {
    if (kind !== "attribute" || counts.has(i)) return;
    const value = fields[i] ?? null;
    if (value !== null && i === typeField) attributes[name] = dtypes.get(value as number);
    else if (value !== null && type.startsWith("enum:")) attributes[name] = nameIn(type.slice(5), value as number);
    else if (type === "scalarUnion" && value !== null)
      attributes[name] = scalarOf(value as Uint8Array, dtypes.get(fields[typeField] as number)!);
    else if (type === "operator") attributes[name] = value === null ? null : activationOf(value as OperatorDescription);
    else if (type === "operatorArray") attributes[name] = (value as readonly OperatorDescription[] | null)?.map(activationOf) ?? [];
    else attributes[name] = value;
  });
  return attributes;
}

function activationOf({ type, fields }: OperatorDescription): BackendActivation {
  const row = rows.get(type)!;
  return { operator: row.name as OperatorName, attributes: attributesOf(row, fields) };
}

/** The call that a description of the addon's form stands for. */
export function callOf({ type, fields }: OperatorDescription): BackendCall {
  const row = rows.get(type)!;
  const tensors = (kind: "input" | "output"): (BackendTensor | null)[] =>
    row.fields.flatMap((f, i) => {
      if (f.kind !== kind) return [];
      const value = fields[i] ?? null;
      if (f.type === "tensorArray") return ((value ?? []) as readonly TensorDescription[]).map(tensorOf);
      return [value === null ? null : tensorOf(value as TensorDescription)];
    });
  return {
    operator: row.name as OperatorName,
    attributes: attributesOf(row, fields),
    inputs: tensors("input"),
    outputs: tensors("output"),
  };
}

/** The call without its activation, and the activation over its result; null where it has none. */
export function splitActivation(call: BackendCall): readonly [BackendCall, BackendCall] | null {
  const fused = call.attributes["fusedActivation"] as BackendActivation | null | undefined;
  const outputs = call.outputs.filter((t) => t !== null);
  if (fused === null || fused === undefined || outputs.length !== 1) return null;
  const plain = { ...call, attributes: { ...call.attributes, fusedActivation: null } };
  return [plain, { operator: fused.operator, attributes: fused.attributes, inputs: outputs, outputs }];
}

/** Bytes from a tensor's first element to behind its last, as a multiple of 4. */
export function spanInBytes({ dtype, sizes, strides }: BackendTensor): number {
  const last = sizes.reduce((n, d, i) => n + (d - 1) * strides[i]!, 1);
  return Math.ceil((last * DTYPES[dtype].sizeInBytes) / 4) * 4;
}

/** Whether a tensor's elements fill what it spans. */
export const isDense = (t: BackendTensor): boolean =>
  t.sizes.reduce((n, d) => n * d, 1) === t.sizes.reduce((n, d, i) => n + (d - 1) * t.strides[i]!, 1);

/** "float32[2, 3]". */
export const shown = ({ dtype, sizes }: BackendTensor): string => `${dtype}[${sizes.join(", ")}]`;
