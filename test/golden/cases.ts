/** The recorded cases: their format, and their values as tensors and JavaScript values. See README.md of this folder. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../src/index.ts";
import { fromBfloat16, fromHalf } from "../../src/core/dtype.ts";

export interface GoldenTensor {
  readonly t: string;
  readonly shape: number[];
  readonly data: string;
  readonly stride?: number[];
}
export type Golden =
  | null
  | boolean
  | number
  | string
  | Golden[]
  | GoldenTensor
  | { readonly k: "float"; readonly v: number | "inf" | "-inf" | "nan" }
  | { readonly k: "int"; readonly v: string }
  | { readonly k: "complex"; readonly re: number | string; readonly im: number | string }
  | { readonly k: "tuple"; readonly v: Golden[]; readonly names?: string[] }
  | { readonly k: "slice"; readonly v: Golden[] }
  | { readonly k: "ellipsis" }
  | { readonly k: "dtype" | "device" | "layout" | "memory_format"; readonly v: string }
  | { readonly k: "dict"; readonly v: Record<string, Golden> };
export type Path = readonly (string | number)[];
export type Comparison = "exact" | "close" | "index" | "gauge" | "meta";
export interface Case {
  readonly id: string;
  readonly kind: "ok" | "error";
  readonly op: string;
  readonly variant?: string;
  readonly dtype: string;
  readonly form: "function" | "method" | "property" | "operator";
  readonly input: Golden;
  readonly args: Golden[];
  readonly kwargs: Record<string, Golden>;
  readonly names?: string[];
  readonly out?: Golden;
  readonly compare?: Comparison[];
  readonly tol?: { rtol: number; atol: number; from: string };
  readonly computedIn?: string;
  readonly inplace?: "ok" | "throws";
  readonly alias?: boolean[];
  readonly mutated?: { path: Path; value: GoldenTensor }[];
  readonly gradOutputs?: (GoldenTensor | null)[];
  readonly grads?: { path: Path; grad: GoldenTensor | null }[];
  readonly gradTol?: { rtol: number; atol: number };
  readonly tags?: string[];
  readonly error?: { type: string; message: string };
}

/** What a folder of recorded cases says of an operator. */
export interface OpEntry {
  readonly op: string;
  readonly file: string;
}
export const readIndex = (folder: string): readonly OpEntry[] =>
  (JSON.parse(readFileSync(join(folder, "index.json"), "utf8")) as { ops: OpEntry[] }).ops;

export const readCases = (file: string): Case[] =>
  gunzipSync(readFileSync(file))
    .toString("utf8")
    .split("\n")
    .filter((l) => l.length > 0)
    .map((l) => JSON.parse(l) as Case);

export const isTensor = (v: Golden | undefined): v is GoldenTensor => typeof v === "object" && v !== null && !Array.isArray(v) && "t" in v;

/** The tensors inside a value, in the order of `compare` and `gradOutputs`. */
export function tensorsOf(v: Golden): GoldenTensor[] {
  if (isTensor(v)) return [v];
  if (Array.isArray(v)) return v.flatMap(tensorsOf);
  if (typeof v === "object" && v !== null && "k" in v && v.k === "tuple") return v.v.flatMap(tensorsOf);
  return [];
}

const DTYPES: { readonly [name: string]: dx.DType } = {
  f32: "float32",
  f64: "float64",
  f16: "float16",
  bf16: "bfloat16",
  i64: "int64",
  i32: "int32",
  i16: "int16",
  i8: "int8",
  u8: "uint8",
  bool: "bool",
};

/** The operation or the option does not exist here. */
export class Missing extends Error {}

export function dtypeOf(name: string): dx.DType {
  const dtype = DTYPES[name];
  if (dtype === undefined) throw new Missing(`no dtype ${name}`);
  return dtype;
}

/** Complex dtypes, as names of tensors and of their parts. */
const COMPLEX: { readonly [name: string]: { readonly dtype: dx.ComplexDType; readonly part: string; readonly size: number } } = {
  c64: { dtype: "complex64", part: "f32", size: 4 },
  c32: { dtype: "complex32", part: "f16", size: 2 },
};
export const isComplexName = (name: string): boolean => name in COMPLEX;
/** "float32", "complex64". */
export const anyDtypeOf = (name: string): dx.DType | dx.ComplexDType => COMPLEX[name]?.dtype ?? dtypeOf(name);

/** The real and the imaginary parts of a complex tensor. */
function partsOf(v: GoldenTensor): [GoldenTensor, GoldenTensor] {
  const { part, size } = COMPLEX[v.t]!;
  const bytes = Buffer.from(v.data, "base64");
  const every = (start: number): GoldenTensor => {
    const own = Buffer.alloc(bytes.length / 2);
    for (let i = 0; i < own.length; i += size) bytes.copy(own, i, 2 * i + start, 2 * i + start + size);
    return { ...v, t: part, data: own.toString("base64") };
  };
  return [every(0), every(size)];
}

/** Raw elements as a typed array; of complex numbers both parts in turn. */
export function raw(v: GoldenTensor): dx.TypedArray {
  const b = Buffer.from(v.data, "base64");
  const a = b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength) as ArrayBuffer;
  switch (v.t) {
    case "f32":
    case "c64":
      return new Float32Array(a);
    case "f64":
      return new Float64Array(a);
    case "i64":
      return new BigInt64Array(a);
    case "i32":
      return new Int32Array(a);
    case "i16":
      return new Int16Array(a);
    case "i8":
      return new Int8Array(a);
    case "u8":
    case "bool":
      return new Uint8Array(a);
    default:
      return new Uint16Array(a);
  }
}

/** Elements as numbers; 64-bit integers as bigints. */
export function elementsOf(v: GoldenTensor): (number | bigint)[] {
  const list = Array.from(raw(v) as ArrayLike<number | bigint>);
  if (v.t === "bf16") return list.map((w) => fromBfloat16(Number(w)));
  return v.t === "f16" || v.t === "c32" ? list.map((h) => fromHalf(Number(h))) : list;
}

export type Numbers = dx.Tensor | dx.ComplexTensor;
export const isNumbers = (v: unknown): v is Numbers => v instanceof dx.Tensor || v instanceof dx.ComplexTensor;

/** make for complex numbers, too: for each of their parts. */
export const withComplex =
  (make: (v: GoldenTensor) => dx.Tensor) =>
  (v: GoldenTensor): Numbers => {
    if (!isComplexName(v.t)) return make(v);
    const [re, im] = partsOf(v);
    return new dx.ComplexTensor(make(re), make(im));
  };

export const packedOf = (v: GoldenTensor): dx.Tensor => dx.tensor(raw(v), { dtype: dtypeOf(v.t), shape: v.shape });

/** The tensor; a transposed one in PyTorch is one here too. */
export function tensorOf(v: GoldenTensor): dx.Tensor {
  const dtype = dtypeOf(v.t);
  const packed = packedOf(v);
  const { stride } = v;
  if (stride === undefined || packed.size === 0 || dtype === "float64" || dtype === "bfloat16") return packed;
  const order = v.shape.map((_, i) => i).sort((a, b) => stride[b]! - stride[a]! || a - b);
  let step = 1;
  for (const axis of [...order].reverse()) {
    if (v.shape[axis] !== 1 && stride[axis] !== step) return packed;
    step *= v.shape[axis]!;
  }
  const stored = packed.permute(order).contiguous();
  return stored.permute(order.map((_, i) => order.indexOf(i)));
}

/** The same elements as a view with an offset and gaps: every second position of the last axis, the rest filled with other bytes. */
export function stridedOf(v: GoldenTensor): dx.Tensor {
  const dtype = dtypeOf(v.t);
  const elements = raw(v);
  if (elements.length === 0) return tensorOf(v);
  const last = v.shape.at(-1) ?? 1;
  const rows = elements.length / last;
  // One more row in front and one more position behind each row's pairs.
  const width = 2 * last + 1;
  const Class = elements.constructor as new (length: number) => dx.TypedArray;
  const spread = new Class((rows + 1) * width);
  const gap = dtype === "bool" ? 1 : dtype === "int64" ? 77n : 77;
  for (let i = 0; i < spread.length; i++) (spread as { [i: number]: number | bigint })[i] = gap;
  for (let r = 0; r < rows; r++)
    for (let i = 0; i < last; i++) (spread as { [i: number]: number | bigint })[(r + 1) * width + 2 * i + 1] = elements[r * last + i]!;
  const whole = dx.tensor(spread, { dtype, shape: [rows + 1, width] });
  const part = whole.slice(0, 1).slice(1, 1, undefined, 2);
  return v.shape.length === 0
    ? part.select(0, 0).select(0, 0)
    : v.shape.length === 1
      ? part.select(0, 0)
      : part.unflatten(0, v.shape.slice(0, -1));
}

export interface SliceValue {
  readonly slice: readonly (number | null)[];
}
export interface ComplexValue {
  readonly re: number;
  readonly im: number;
}
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Numbers
  | SliceValue
  | ComplexValue
  | readonly Value[]
  | { readonly dtype: dx.DType | dx.ComplexDType }
  | "...";

const floatOf = (v: number | string): number => (typeof v === "number" ? v : v === "inf" ? Infinity : v === "-inf" ? -Infinity : NaN);

/** A value as the table's functions take it: tuples as lists, tensors by `make`, which is told the path. */
export function decode(v: Golden, path: Path, make: (v: GoldenTensor, path: Path) => Numbers): Value {
  if (v === null || typeof v === "boolean" || typeof v === "number" || typeof v === "string") return v;
  if (Array.isArray(v)) return v.map((x, i) => decode(x, [...path, i], make));
  if (isTensor(v)) return make(v, path);
  switch (v.k) {
    case "float":
      return floatOf(v.v);
    case "int":
      return BigInt(v.v);
    case "tuple":
      return v.v.map((x, i) => decode(x, [...path, i], make));
    case "slice":
      return { slice: v.v as (number | null)[] };
    case "ellipsis":
      return "...";
    case "dtype":
      return { dtype: anyDtypeOf(v.v) };
    case "complex":
      return { re: floatOf(v.re), im: floatOf(v.im) };
    default:
      return v.k === "dict" ? null : String(v.v);
  }
}
