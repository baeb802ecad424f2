/** TensorProto as constants. */
import { arrayClass, DTYPES, type DType, type TypedArray } from "../dtype.ts";
import { FormatError } from "../errors.ts";
import { sizeOf } from "../shape.ts";
import type { SparseTensorMessage, TensorMessage } from "./proto.ts";
import { byteLength, Constant, dtypeOf, STRING, Texts } from "./value.ts";

/** Gives the bytes of a tensor that lies in a file beside the model. */
export type External = (location: string, offset: number, length: number | null) => Uint8Array;

const utf8 = new TextDecoder();

/** Little-endian bytes as a typed array, which must begin where its elements may. */
function aligned(dtype: DType, bytes: Uint8Array, count: number): TypedArray {
  const size = DTYPES[dtype].sizeInBytes;
  if (bytes.byteOffset % size === 0) return new (arrayClass(dtype))(bytes.buffer as ArrayBuffer, bytes.byteOffset, count);
  // A Buffer's own slice() copies nothing.
  return new (arrayClass(dtype))(Uint8Array.from(bytes).buffer, 0, count);
}

/** The elements that lie in a field for their type. */
function listed(t: TensorMessage, dtype: DType, count: number): TypedArray {
  const list: readonly (number | bigint)[] =
    dtype === "float32"
      ? t.floats
      : dtype === "float64"
        ? t.doubles
        : dtype === "int64" || dtype === "uint64" || dtype === "uint32"
          ? t.int64s
          : t.int32s;
  if (list.length !== count) throw new FormatError("onnx", `tensor ${t.name}`, `of ${count} elements`, String(list.length));
  const data = new (arrayClass(dtype))(count) as unknown as { [i: number]: number | bigint };
  const isWide = dtype === "int64" || dtype === "uint64";
  list.forEach((v, i) => (data[i] = isWide ? v : Number(v)));
  return data as unknown as TypedArray;
}

/** The value of a TensorProto. */
export function constantOf(t: TensorMessage, external: External | null = null): Constant | Texts {
  const count = sizeOf(t.dims);
  if (t.dims.some((d) => d < 0)) throw new FormatError("onnx", `tensor ${t.name}`, "of lengths of at least 0", `[${t.dims.join(", ")}]`);
  if (t.dataType === STRING)
    return new Texts(
      t.dims,
      t.strings.map((s) => utf8.decode(s)),
    );
  const dtype = dtypeOf(t.dataType, `onnx tensor ${t.name}`);
  let raw = t.raw;
  if (t.isExternal) {
    const { location, offset, length } = t.external;
    if (external === null || location === undefined)
      throw new FormatError("onnx", `tensor ${t.name}`, "in a file at hand", location ?? "no location", "Load the model by its path.");
    raw = external(location, Number(offset ?? 0), length === undefined ? null : Number(length));
  }
  if (raw === null || (raw.byteLength === 0 && count > 0)) return new Constant(dtype, t.dims, listed(t, dtype, count));
  if (raw.byteLength < byteLength(dtype, t.dims))
    throw new FormatError("onnx", `tensor ${t.name}`, `of ${byteLength(dtype, t.dims)} bytes`, String(raw.byteLength));
  return new Constant(dtype, t.dims, aligned(dtype, raw, count));
}

/** A sparse tensor's elements among zeros: places are flat, or rows of coordinates. */
export function denseOf(s: SparseTensorMessage): Constant {
  const found = s.values === null ? null : constantOf(s.values);
  const places = s.indices === null ? null : constantOf(s.indices);
  if (!(found instanceof Constant) || !(places instanceof Constant))
    throw new FormatError("onnx", "sparse tensor", "of values and indices", "one without");
  const data = new (arrayClass(found.dtype))(sizeOf(s.dims)) as unknown as { [i: number]: number | bigint };
  const list = places.numbers();
  const rank = places.shape.length === 2 ? s.dims.length : 1;
  const lengths = rank === 1 ? [sizeOf(s.dims)] : s.dims;
  for (let i = 0; i < found.size; i++) {
    let at = 0;
    for (let axis = 0; axis < rank; axis++) at = at * lengths[axis]! + list[i * rank + axis]!;
    data[at] = found.data[i]!;
  }
  return new Constant(found.dtype, s.dims, data as unknown as TypedArray);
}
