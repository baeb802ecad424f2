/** The recorded cases: their format, and their values as tensors and JavaScript values. See README.md beside this file. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import * as dx from "../../src/index.ts";
import { fromBfloat16, fromHalf } from "../../src/dtype.ts";

export interface GoldenTensor { readonly t: string; readonly shape: number[]; readonly data: string; readonly stride?: number[] }
export type Golden =
  | null | boolean | number | string | Golden[] | GoldenTensor
  | { readonly k: "float"; readonly v: number | "inf" | "-inf" | "nan" } | { readonly k: "int"; readonly v: string }
  | { readonly k: "complex"; readonly re: number | string; readonly im: number | string }
  | { readonly k: "tuple"; readonly v: Golden[]; readonly names?: string[] } | { readonly k: "slice"; readonly v: Golden[] } | { readonly k: "ellipsis" }
  | { readonly k: "dtype" | "device" | "layout" | "memory_format"; readonly v: string } | { readonly k: "dict"; readonly v: Record<string, Golden> };
export type Path = readonly (string | number)[];
export interface Case {
  readonly id: string; readonly kind: "ok" | "error"; readonly op: string; readonly variant?: string; readonly dtype: string;
  readonly form: "function" | "method" | "property" | "operator";
  readonly input: Golden; readonly args: Golden[]; readonly kwargs: Record<string, Golden>; readonly names?: string[];
  readonly out?: Golden; readonly compare?: ("exact" | "close" | "index" | "gauge" | "meta")[]; readonly tol?: { rtol: number; atol: number; from: string };
  readonly inplace?: "ok" | "throws"; readonly alias?: boolean[];
  readonly gradOutputs?: (GoldenTensor | null)[]; readonly grads?: { path: Path; grad: GoldenTensor | null }[]; readonly gradTol?: { rtol: number; atol: number };
  readonly tags?: string[]; readonly error?: { type: string; message: string };
}

const folder = fileURLToPath(new URL(".", import.meta.url));

export const readCases = (file: string): Case[] =>
  gunzipSync(readFileSync(join(folder, file))).toString("utf8").split("\n").filter((l) => l.length > 0).map((l) => JSON.parse(l) as Case);

export const isTensor = (v: Golden | undefined): v is GoldenTensor => typeof v === "object" && v !== null && !Array.isArray(v) && "t" in v;

/** The tensors inside a value, in the order of `compare` and `gradOutputs`. */
export function tensorsOf(v: Golden): GoldenTensor[] {
  if (isTensor(v)) return [v];
  if (Array.isArray(v)) return v.flatMap(tensorsOf);
  if (typeof v === "object" && v !== null && "k" in v && v.k === "tuple") return v.v.flatMap(tensorsOf);
  return [];
}

const DTYPES: { readonly [name: string]: dx.DType } = { f32: "float32", f64: "float64", f16: "float16", bf16: "bfloat16", i64: "int64", i32: "int32", i16: "int16", i8: "int8", u8: "uint8", bool: "bool" };

/** A reason for which a case does not apply here. */
export class Excluded extends Error {}

export function dtypeOf(name: string): dx.DType {
  const dtype = DTYPES[name];
  if (dtype === undefined) throw new Excluded("complex numbers are not part of the library");
  return dtype;
}

/** Raw elements as a typed array. */
function raw(v: GoldenTensor): dx.TypedArray {
  const b = Buffer.from(v.data, "base64");
  const a = b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength) as ArrayBuffer;
  switch (v.t) {
    case "f32": return new Float32Array(a);
    case "f64": return new Float64Array(a);
    case "i64": return new BigInt64Array(a);
    case "i32": return new Int32Array(a);
    case "i16": return new Int16Array(a);
    case "i8": return new Int8Array(a);
    case "u8": case "bool": return new Uint8Array(a);
    default: return new Uint16Array(a);
  }
}

/** Elements as numbers; 64-bit integers as bigints. */
export function elementsOf(v: GoldenTensor): (number | bigint)[] {
  const list = Array.from(raw(v) as ArrayLike<number | bigint>);
  if (v.t === "bf16") return list.map((w) => fromBfloat16(Number(w)));
  return v.t === "f16" ? list.map((h) => fromHalf(Number(h))) : list;
}

/** The tensor; a transposed one in PyTorch is one here too. */
export function tensorOf(v: GoldenTensor): dx.Tensor {
  const dtype = dtypeOf(v.t);
  const packed = dx.tensor(raw(v), { dtype, shape: v.shape });
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

export interface SliceValue { readonly slice: readonly (number | null)[] }
export type Value = null | boolean | number | bigint | string | dx.Tensor | SliceValue | readonly Value[] | { readonly dtype: dx.DType } | "...";

/** A value as the table's functions take it: tensors made, tuples as lists; `made` notes each tensor by its path. */
export function decode(v: Golden, path: Path, made: Map<string, dx.Tensor>): Value {
  if (v === null || typeof v === "boolean" || typeof v === "number" || typeof v === "string") return v;
  if (Array.isArray(v)) return v.map((x, i) => decode(x, [...path, i], made));
  if (isTensor(v)) {
    const t = tensorOf(v);
    made.set(JSON.stringify(path), t);
    return t;
  }
  switch (v.k) {
    case "float": return typeof v.v === "number" ? v.v : v.v === "inf" ? Infinity : v.v === "-inf" ? -Infinity : NaN;
    case "int": return BigInt(v.v);
    case "tuple": return v.v.map((x, i) => decode(x, [...path, i], made));
    case "slice": return { slice: v.v as (number | null)[] };
    case "ellipsis": return "...";
    case "dtype": return { dtype: dtypeOf(v.v) };
    case "complex": throw new Excluded("complex numbers are not part of the library");
    default: return v.k === "dict" ? null : String(v.v);
  }
}
