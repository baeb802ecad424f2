/** DML_TENSOR_DATA_TYPE by the short names that case texts use, and elements of each as JavaScript values. */
import { fromHalf, toHalf } from "../../core/dtype.ts";

export interface DataType {
  /** "f32", "u8", … */
  readonly name: string;
  /** DML_TENSOR_DATA_TYPE. */
  readonly id: number;
  readonly bits: number;
  readonly kind: "float" | "signed" | "unsigned";
}

const row = (name: string, id: number, bits: number, kind: DataType["kind"]): DataType => ({ name, id, bits, kind });

export const DATA_TYPES: readonly DataType[] = [
  row("f32", 1, 32, "float"),
  row("f16", 2, 16, "float"),
  row("u32", 3, 32, "unsigned"),
  row("u16", 4, 16, "unsigned"),
  row("u8", 5, 8, "unsigned"),
  row("i32", 6, 32, "signed"),
  row("i16", 7, 16, "signed"),
  row("i8", 8, 8, "signed"),
  row("f64", 9, 64, "float"),
  row("u64", 10, 64, "unsigned"),
  row("i64", 11, 64, "signed"),
  row("u4", 12, 4, "unsigned"),
  row("i4", 13, 4, "signed"),
];

const byName = new Map(DATA_TYPES.map((t) => [t.name, t]));
const byId = new Map(DATA_TYPES.map((t) => [t.id, t]));

export const typeNamed = (name: string): DataType | undefined => byName.get(name);
export const typeOf = (id: number): DataType | undefined => byId.get(id);

/** An element: a bigint for 64-bit integers, else a number. */
export type Element = number | bigint;

/** Reads the element at an index of a buffer of that type. */
export function readElement(view: DataView, type: DataType, index: number): Element {
  switch (type.name) {
    case "f32":
      return view.getFloat32(4 * index, true);
    case "f16":
      return fromHalf(view.getUint16(2 * index, true));
    case "f64":
      return view.getFloat64(8 * index, true);
    case "u32":
      return view.getUint32(4 * index, true);
    case "u16":
      return view.getUint16(2 * index, true);
    case "u8":
      return view.getUint8(index);
    case "i32":
      return view.getInt32(4 * index, true);
    case "i16":
      return view.getInt16(2 * index, true);
    case "i8":
      return view.getInt8(index);
    case "u64":
      return view.getBigUint64(8 * index, true);
    case "i64":
      return view.getBigInt64(8 * index, true);
    case "u4":
      return (view.getUint8(index >> 1) >> (4 * (index & 1))) & 15;
    default:
      return (((view.getUint8(index >> 1) >> (4 * (index & 1))) & 15) << 28) >> 28;
  }
}

/** Writes an element; integers keep their low bits. */
export function writeElement(view: DataView, type: DataType, index: number, value: Element): void {
  switch (type.name) {
    case "f32":
      return view.setFloat32(4 * index, Number(value), true);
    case "f16":
      return view.setUint16(2 * index, toHalf(Number(value)), true);
    case "f64":
      return view.setFloat64(8 * index, Number(value), true);
    case "u64":
    case "i64":
      return view.setBigInt64(8 * index, BigInt.asIntN(64, BigInt(value)), true);
    case "u32":
    case "i32":
      return view.setUint32(4 * index, Number(BigInt.asUintN(32, BigInt(value))), true);
    case "u16":
    case "i16":
      return view.setUint16(2 * index, Number(value), true);
    case "u8":
    case "i8":
      return view.setUint8(index, Number(value));
    default: {
      const old = view.getUint8(index >> 1);
      const shift = 4 * (index & 1);
      return view.setUint8(index >> 1, (old & ~(15 << shift)) | ((Number(value) & 15) << shift));
    }
  }
}

/** The element's bits, as hexadecimal digits. */
export function bitsOf(view: DataView, type: DataType, index: number): string {
  if (type.bits === 4) return (Number(readElement(view, type, index)) & 15).toString(16);
  const bytes = type.bits / 8;
  let text = "";
  for (let i = bytes - 1; i >= 0; i--)
    text += view
      .getUint8(index * bytes + i)
      .toString(16)
      .padStart(2, "0");
  return text;
}
