/** TensorProto as constants. */
import { arrayClass, isFloat, type DType, type TypedArray } from "../../core/dtype.ts";
import { truths } from "../../core/elements.ts";
import { FormatError } from "../../core/errors.ts";
import { sizeOf } from "../../core/shape.ts";
import type { SparseTensorMessage, TensorMessage } from "./proto.ts";
import { narrowType, packedLength, unpackedCodes, type NarrowType } from "./narrow-types.ts";
import { byteLength, Constant, dtypeOf, KEPT, STRING, Texts, type Pieces } from "./value.ts";

/** Hands over the bytes of a tensor that lies in a file next to the model: `size` of them from `offset` on. Throws FormatError where they are not there. */
export type External = (location: string, offset: number, size: number) => Pieces;

const utf8 = new TextDecoder();

/** A copy of little-endian bytes as a typed array: the file's own bytes need not stay. */
function copied(dtype: DType, bytes: Uint8Array, count: number): TypedArray {
  const data = new (arrayClass(dtype))(count);
  const own = new Uint8Array(data.buffer);
  own.set(bytes);
  return dtype === "bool" ? (truths(own) as TypedArray) : data;
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
  const isBool = dtype === "bool";
  list.forEach((v, i) => (data[i] = isWide ? v : isBool ? Number(Number(v) !== 0) : Number(v)));
  return data as unknown as TypedArray;
}

/** A field of text that says where data lie. */
function integerOf(t: TensorMessage, name: "offset" | "length"): number | null {
  const text = t.external[name];
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new FormatError("onnx", `tensor ${t.name}`, `with an integer as ${name}`, text);
  return value;
}

/** Elements in another file: few are read now, many when they go to the device. */
function elsewhere(t: TensorMessage, dtype: DType, size: number, external: External | null): TypedArray | Pieces {
  const { location } = t.external;
  if (external === null || location === undefined)
    throw new FormatError(
      "onnx",
      `tensor ${t.name}`,
      "in a file that the loader can open",
      location ?? "no location",
      "Load the model by its path.",
    );
  const length = integerOf(t, "length");
  if (length !== null && length < size) throw new FormatError("onnx", `tensor ${t.name}`, `of ${size} bytes`, String(length));
  const pieces = external(location, integerOf(t, "offset") ?? 0, size);
  if (sizeOf(t.dims) > KEPT) return pieces;
  const bytes = new Uint8Array(size);
  pieces((offset, piece) => bytes.set(piece, offset));
  return copied(dtype, bytes, sizeOf(t.dims));
}

/** Lengths are integers of at least 0 whose product is one. */
function requireShape(what: string, dims: readonly number[]): void {
  if (dims.some((d) => !Number.isSafeInteger(d) || d < 0) || !Number.isSafeInteger(sizeOf(dims)))
    throw new FormatError("onnx", what, "of lengths of at least 0", `[${dims.join(", ")}]`);
}

/** Packed codes as the numbers that they stand for. */
function narrowConstant(t: TensorMessage, type: NarrowType, count: number, external: External | null): Constant {
  const size = packedLength(type, count);
  const made = (bytes: Uint8Array): TypedArray => unpackedCodes(type, bytes, count);
  if (t.isExternal) {
    const pieces = elsewhere(t, "uint8", size, external);
    if (typeof pieces !== "function") return new Constant(type.dtype, t.dims, made(pieces as Uint8Array), type);
    const bytes = new Uint8Array(size);
    pieces((offset, piece) => bytes.set(piece, offset));
    return new Constant(type.dtype, t.dims, made(bytes), type);
  }
  const { raw } = t;
  const bytes = raw === null || (raw.byteLength === 0 && count > 0) ? Uint8Array.from(t.int32s) : raw;
  if (bytes.byteLength !== size) throw new FormatError("onnx", `tensor ${t.name}`, `of ${size} bytes`, String(bytes.byteLength));
  return new Constant(type.dtype, t.dims, made(bytes), type);
}

/** The value of a TensorProto. isLent: whether the constant may refer to the file's bytes until it is uploaded. */
export function constantOf(t: TensorMessage, external: External | null = null, isLent = false): Constant | Texts {
  requireShape(`tensor ${t.name}`, t.dims);
  const count = sizeOf(t.dims);
  if (t.dataType === STRING) {
    if (t.strings.length !== count) throw new FormatError("onnx", `tensor ${t.name}`, `of ${count} elements`, String(t.strings.length));
    return new Texts(
      t.dims,
      t.strings.map((s) => utf8.decode(s)),
    );
  }
  const narrow = narrowType(t.dataType);
  if (narrow !== null) return narrowConstant(t, narrow, count, external);
  const dtype = dtypeOf(t.dataType, `onnx tensor ${t.name}`);
  const size = byteLength(dtype, t.dims);
  if (t.isExternal) return new Constant(dtype, t.dims, elsewhere(t, dtype, size, external));
  const { raw } = t;
  if (raw === null || (raw.byteLength === 0 && count > 0)) return new Constant(dtype, t.dims, listed(t, dtype, count));
  if (raw.byteLength !== size) throw new FormatError("onnx", `tensor ${t.name}`, `of ${size} bytes`, String(raw.byteLength));
  if (isLent && count > KEPT && isFloat(dtype)) return Constant.lent(dtype, t.dims, raw);
  return new Constant(dtype, t.dims, copied(dtype, raw, count));
}

/** Lets go of what a message holds, once it has been read. */
export function emptied(t: TensorMessage): void {
  t.raw = null;
  for (const list of [t.floats, t.doubles, t.int32s, t.int64s, t.strings]) list.length = 0;
}

/** Elements of a sparse tensor that are made on the host: zeros among them take memory, too. */
const MAX_DENSE = 2 ** 26;

/** A sparse tensor's elements among zeros: indices are flat, or rows of coordinates. */
export function denseOf(s: SparseTensorMessage): Constant {
  const found = s.values === null ? null : constantOf(s.values);
  const indices = s.indices === null ? null : constantOf(s.indices);
  const name = `sparse tensor ${s.values?.name ?? ""}`;
  if (!(found instanceof Constant) || !(indices instanceof Constant))
    throw new FormatError("onnx", name, "of values and indices", "one without");
  requireShape(name, s.dims);
  const size = sizeOf(s.dims);
  if (size > MAX_DENSE) throw new FormatError("onnx", name, `of at most ${MAX_DENSE} elements`, String(size));
  const rank = indices.shape.length === 2 ? s.dims.length : 1;
  if (indices.size !== found.size * rank)
    throw new FormatError("onnx", name, `with ${rank} indices for each of ${found.size} values`, `${indices.size} indices`);
  const data = new (arrayClass(found.dtype))(size) as unknown as { [i: number]: number | bigint };
  const list = indices.numbers();
  const values = found.data;
  const lengths = rank === 1 ? [size] : s.dims;
  for (let i = 0; i < found.size; i++) {
    let at = 0;
    for (let axis = 0; axis < rank; axis++) {
      const index = list[i * rank + axis]!;
      if (index < 0 || index >= lengths[axis]!)
        throw new FormatError("onnx", name, `with indices in [0, ${lengths[axis]! - 1}] of axis ${axis}`, String(index));
      at = at * lengths[axis]! + index;
    }
    data[at] = values[i]!;
  }
  return new Constant(found.dtype, s.dims, data as unknown as TypedArray);
}
