/** Types of CSV columns: from text to values, and what a column's first values say. */
import { DTYPES, arrayClass, type DType } from "../../core/dtype.ts";
import { tensor } from "../../ops/creation/creation.ts";
import type { Tensor } from "../../core/tensor.ts";

/** The type of a CSV column: text, or the dtype that its batches have. */
export type CsvType = "string" | Exclude<DType, "float16" | "bfloat16">;

/** The value of a row in a column of this type. */
export type CsvValue<T extends CsvType> = T extends "string"
  ? string
  : T extends "bool"
    ? boolean
    : T extends "int64" | "uint64"
      ? bigint
      : number;

/** A CSV column: its type, and what a missing value becomes. */
export interface CsvColumn<T extends CsvType = CsvType> {
  /** The type of its values. */
  readonly type: T;
  /** The value in place of a missing one. Default: NaN in float columns, the text itself in columns of text; elsewhere a missing value is an error. */
  readonly fill?: CsvValue<T> | undefined;
}

/** CSV columns by name: a type, or a type with a `fill`. */
export type CsvColumns = { readonly [name: string]: CsvType | { readonly [T in CsvType]: CsvColumn<T> }[CsvType] };

type TypeOf<C> = C extends CsvType ? C : C extends { readonly type: infer T extends CsvType } ? T : never;

/** A row: an object with the value of each column. */
export type CsvRow<C extends CsvColumns = CsvColumns> = string extends keyof C
  ? { [name: string]: string | number | bigint | boolean }
  : { -readonly [Name in keyof C]: CsvValue<TypeOf<C[Name]>> };

/** A batch of rows: a tensor [rows] for each column, a list for a column of text. */
export type CsvBatch<C extends CsvColumns = CsvColumns> = string extends keyof C
  ? { [name: string]: Tensor | string[] }
  : { -readonly [Name in keyof C]: TypeOf<C[Name]> extends "string" ? string[] : Tensor };

export type Value = string | number | bigint | boolean;

export const CSV_TYPES: readonly CsvType[] = [
  "string", "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
]; // prettier-ignore

const INTEGER = /^[+-]?\d+$/;
const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const NOT_FINITE = /^([+-]?)(nan|inf|infinity)$/i;
const TRUTHS: ReadonlyMap<string, boolean> = new Map([["true", true], ["false", false], ["1", true], ["0", false]]); // prettier-ignore
/** No 64-bit integer has more characters, but for leading zeros. */
const MAX_DIGITS = 64;

/** The value of a text; null if it is none of the type, or out of the type's range. */
export function valueOf(type: CsvType, field: string): Value | null {
  if (type === "string") return field;
  const text = field.trim();
  if (type === "bool") return TRUTHS.get(text.toLowerCase()) ?? null;
  return DTYPES[type].kind === "float" ? floatOf(type, text) : integerOf(type, text);
}

function floatOf(type: CsvType, text: string): number | null {
  const [, sign, word] = NOT_FINITE.exec(text) ?? [];
  if (word !== undefined) return word.toLowerCase() === "nan" ? Number.NaN : sign === "-" ? -Infinity : Infinity;
  if (!FLOAT.test(text)) return null;
  const value = Number(text);
  return Number.isFinite(type === "float32" ? Math.fround(value) : value) ? value : null;
}

function integerOf(type: Exclude<CsvType, "string">, text: string): number | bigint | null {
  if (!INTEGER.test(text) || text.length > MAX_DIGITS) return null;
  const { sizeInBytes, isSigned } = DTYPES[type];
  if (sizeInBytes === 8) {
    const value = BigInt(text.replace(/^\+/, ""));
    return (isSigned ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value)) === value ? value : null;
  }
  const value = Number(text);
  const bits = 8 * sizeInBytes;
  const [low, high] = isSigned ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  // -0 has no integer.
  return value >= low && value <= high ? value + 0 : null;
}

/** Whether a text is an integer that the float type has only a neighbour of. */
export function isRounded(type: "float32" | "float64", field: string): boolean {
  const text = field.trim();
  if (!INTEGER.test(text)) return false;
  const value = Number(text);
  // All integers up to 2^24 are in both.
  if (Math.abs(value) <= 2 ** 24) return false;
  const stored = type === "float32" ? Math.fround(value) : value;
  return !Number.isFinite(stored) || BigInt(stored) !== BigInt(text.replace(/^\+/, ""));
}

/** The type that all texts of a column have: bool, int32, int64, uint64, float32, float64 or string. */
export function inferType(texts: readonly string[], isMissing: (text: string) => boolean): CsvType {
  const present = texts.filter((text) => !isMissing(text));
  if (texts.length === 0) return "string";
  if (present.length === texts.length && present.every((text) => /^(?:true|false)$/i.test(text.trim()))) return "bool";
  // 007 is a name: as a number it would lose its zeros.
  if (present.some((text) => /^\s*[+-]?0\d/.test(text))) return "string";
  const are = (type: CsvType): boolean => present.every((text) => valueOf(type, text) !== null);
  if (present.length === texts.length) for (const type of ["int32", "int64"] as const) if (are(type)) return type;
  // A float column would round these: 64 bits keep them (where a value is missing, with a fill), or text does.
  if (present.length > 0 && present.every((text) => INTEGER.test(text.trim())) && present.some((text) => isRounded("float64", text)))
    return (["int64", "uint64"] as const).find(are) ?? "string";
  // Integers that float32 would round.
  const isWide = present.some((text) => INTEGER.test(text.trim()) && Math.abs(Number(text)) > 2 ** 24);
  for (const type of isWide ? (["float64"] as const) : (["float32", "float64"] as const)) if (are(type)) return type;
  return "string";
}

/** The values of a column in a batch: a tensor on the default device, or the texts. */
export function columnOf(type: CsvType, values: readonly Value[]): Tensor | string[] {
  if (type === "string") return values as string[];
  const data =
    type === "bool" ? Uint8Array.from(values as never[], Number) : (arrayClass(type) as Uint8ArrayConstructor).from(values as number[]);
  return tensor(data, { dtype: type });
}
