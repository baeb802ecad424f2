/** The header of NumPy's .npy files: dtype, order and shape. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
import { DTYPES, type DType } from "../../core/dtype.ts";
import { DTypeError, FormatError, UnsupportedError } from "../../core/errors.ts";
import type { Shape } from "../../core/shape.ts";

/** The header's fields. */
export interface NpyHeader {
  readonly dtype: DType;
  readonly shape: Shape;
  /** Whether the elements are column-major: the first axis has stride 1. */
  readonly isFortran: boolean;
  readonly isBigEndian: boolean;
  /** Offset of the elements in the file, in bytes. */
  readonly dataStart: number;
}

const MAGIC = Uint8Array.of(0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59);
/** Magic, version and the header's length, which has 4 bytes from version 2 on. */
export const PREFIX_BYTES = 12;
/** Bytes of the header's text. NumPy itself reads at most 10,000 characters. */
const MAX_TEXT = 2 ** 16;
const MAX_RANK = 64;

/** Dtypes by NumPy's type codes: kind and bytes of an element. */
const TYPE_CODES: { readonly [descr: string]: DType } = {
  b1: "bool",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  f2: "float16",
  f4: "float32",
  f8: "float64",
};

const damaged = (operation: string, source: string, expected: string, received: string): FormatError =>
  new FormatError(operation, source, expected, received.slice(0, 200));

/** Offset of the elements in bytes. `prefix`: the first PREFIX_BYTES of the file, or all of a shorter file. */
export function dataStartOf(operation: string, prefix: Uint8Array, source: string): number {
  const magic = prefix.subarray(0, 6);
  if (magic.byteLength < 6 || !MAGIC.every((byte, i) => magic[i] === byte)) {
    const isZip = magic[0] === 0x50 && magic[1] === 0x4b;
    throw new FormatError(
      operation,
      source,
      "a .npy file",
      isZip ? "a zip file" : magic.byteLength === 0 ? "an empty one" : `one that begins with ${Buffer.from(magic).toString("hex")}`,
      isZip ? "io.npz.load() reads NumPy's .npz files." : undefined,
    );
  }
  const major = prefix[6];
  if (major === undefined || major < 1 || major > 3) throw damaged(operation, source, "of version 1, 2 or 3", `version ${major ?? "none"}`);
  const isShort = major === 1;
  if (prefix.byteLength < (isShort ? 10 : 12)) throw damaged(operation, source, "with a header", `${prefix.byteLength} bytes`);
  const view = new DataView(prefix.buffer, prefix.byteOffset, prefix.byteLength);
  const length = isShort ? view.getUint16(8, true) : view.getUint32(8, true);
  if (length > MAX_TEXT) throw damaged(operation, source, `with a header of at most ${MAX_TEXT} bytes`, `${length}`);
  return (isShort ? 10 : 12) + length;
}

/** Parses a header. `head`: the file's first bytes, at least `dataStart` of them. */
export function parseHeader(operation: string, head: Uint8Array, dataStart: number, source: string): NpyHeader {
  if (head.byteLength < dataStart) throw damaged(operation, source, `with a header of ${dataStart} bytes`, `${head.byteLength}`);
  const isShort = head[6] === 1;
  const text = Buffer.from(head.subarray(isShort ? 10 : 12, dataStart)).toString(head[6] === 3 ? "utf8" : "latin1");
  const fields = fieldsOf(operation, text, source);
  return {
    ...dtypeOf(operation, fields.descr, source),
    shape: shapeOf(operation, fields.shape, source),
    isFortran: fields.isFortran,
    dataStart,
  };
}

interface Fields {
  readonly descr: string;
  readonly isFortran: boolean;
  readonly shape: string;
}

/** The text is a Python dict literal with three keys, in any order. Regular expressions match it; it is never evaluated. */
function fieldsOf(operation: string, text: string, source: string): Fields {
  const found = new Map<string, string>();
  const inner = /^\s*\{(.*)\}\s*$/s.exec(text)?.[1];
  const item = /\s*(['"])(descr|fortran_order|shape)\1\s*:\s*('[^']*'|"[^"]*"|True|False|\([^()]*\)|\[.*\])\s*(,|$)/sy;
  let end = 0;
  for (let match = inner === undefined ? null : item.exec(inner); match !== null; match = item.exec(inner!)) {
    if (found.has(match[2]!)) break;
    found.set(match[2]!, match[3]!);
    end = item.lastIndex;
    if (match[4] === "") break;
  }
  const [descr, order, shape] = ["descr", "fortran_order", "shape"].map((key) => found.get(key));
  const isWhole = inner !== undefined && inner.slice(end).trim() === "";
  if (descr?.startsWith("["))
    throw new UnsupportedError({
      operation,
      argument: source,
      expected: "of one dtype",
      received: `records: ${descr.slice(0, 100)}`,
      hint: "Save each field by itself.",
    });
  if (!isWhole || !/^['"]/.test(descr ?? "") || !/^(?:True|False)$/.test(order ?? "") || !shape?.startsWith("("))
    throw damaged(operation, source, "with descr, fortran_order and shape in its header", text.trim());
  return { descr: descr!.slice(1, -1), isFortran: order === "True", shape: shape.slice(1, -1) };
}

function dtypeOf(operation: string, descr: string, source: string): Pick<NpyHeader, "dtype" | "isBigEndian"> {
  const [, order, code] = /^([<>=|])?(\w+)$/.exec(descr) ?? [];
  const dtype = code !== undefined && Object.hasOwn(TYPE_CODES, code) ? TYPE_CODES[code]! : undefined;
  if (dtype !== undefined) return { dtype, isBigEndian: order === ">" && DTYPES[dtype].sizeInBytes > 1 };
  const hint = /^[<>=|]?c/.test(descr)
    ? "Save the pairs: x.view(np.float32).reshape(*x.shape, 2), and call viewAsComplex()."
    : /O/.test(descr)
      ? "Objects are pickles, which this library never runs: save numbers."
      : "Convert it in NumPy: x.astype(np.float32).";
  throw new UnsupportedError({
    operation,
    argument: source,
    expected: `of ${Object.values(TYPE_CODES).join(", ")}`,
    received: `dtype ${descr.slice(0, 50)}`,
    hint,
  });
}

function shapeOf(operation: string, text: string, source: string): Shape {
  const parts = text.split(",").map((part) => part.trim());
  if (parts.at(-1) === "") parts.pop();
  // Python 2 writes long integers with an L.
  const shape = parts.map((part) => Number(part.replace(/L$/, "")));
  const isRight = parts.every((part) => /^\d{1,16}L?$/.test(part)) && shape.every((d) => Number.isSafeInteger(d));
  if (!isRight || shape.length > MAX_RANK) throw damaged(operation, source, `with a shape of at most ${MAX_RANK} sizes`, `(${text})`);
  let elements = 1;
  for (const d of shape) if (d !== 0) elements *= d;
  if (!Number.isSafeInteger(elements * 8)) throw damaged(operation, source, "with a shape of fewer than 2^50 elements", `(${text})`);
  return shape;
}

/** The header that NumPy writes for a contiguous little-endian array. */
export function formatHeader(operation: string, dtype: DType, shape: Shape): Uint8Array {
  const code = Object.keys(TYPE_CODES).find((key) => TYPE_CODES[key] === dtype);
  if (code === undefined) throw new DTypeError(operation, "tensor", "of a dtype that NumPy has", dtype, 'Convert it: x.to("float32").');
  const descr = `${DTYPES[dtype].sizeInBytes === 1 ? "|" : "<"}${code}`;
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  // NumPy leaves space for a first size of up to 21 digits, so that a file can grow without moving its elements.
  const spaces = shape.length === 0 ? 0 : 21 - String(shape[0]).length;
  const text = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${sizes}), }${" ".repeat(spaces)}`;
  const total = Math.ceil((10 + text.length + 1) / 64) * 64;
  const head = Buffer.alloc(total, " ");
  head.set(MAGIC);
  head.set([1, 0], 6);
  head.writeUInt16LE(total - 10, 8);
  head.write(text, 10, "latin1");
  head[total - 1] = 0x0a;
  return head;
}
