/** Types of columns, and the values of a file's columns in them. */
import type { Tensor } from "../../index.ts";
import { arrayClass, type TypedArray } from "../../core/dtype.ts";
import { FormatError } from "../../core/errors.ts";

const NUMBERS = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"] as const;

/** What a column's values become: a tensor's dtype, or a list of texts or of bytes. */
export type ColumnType = (typeof NUMBERS)[number] | "string" | "binary";
/** All of them. */
export const COLUMN_TYPES: readonly string[] = [...NUMBERS, "string", "binary"];

/** A column that is read: its type, and what a missing value becomes. */
export interface ColumnOptions {
  /** Default: the type that the file has. */
  readonly type?: ColumnType | undefined;
  /** In site of a missing value. */
  readonly fill?: number | bigint | boolean | string | undefined;
}

/** The columns that are read, by name. */
export interface ColumnsOptions {
  /** The type, or options. */
  readonly [name: string]: ColumnType | ColumnOptions;
}

/** A value of a row. */
export type Cell = number | bigint | boolean | string | Uint8Array | null;
type TypeOf<C> = C extends { readonly type: infer T } ? T : C;
type CellOf<T> = T extends "string" ? string | null : T extends "binary" ? Uint8Array | null : T extends "bool" ? boolean : T extends "int64" | "uint64" ? bigint : T extends ColumnType ? number : Cell; // prettier-ignore
type PartOf<T> = T extends "string" ? readonly (string | null)[] : T extends "binary" ? readonly (Uint8Array | null)[] : T extends ColumnType ? Tensor : Tensor | readonly (string | Uint8Array | null)[]; // prettier-ignore

/** A row: the values by column. */
export type TableRow<C extends ColumnsOptions> = { [K in keyof C & string]: CellOf<TypeOf<C[K]>> };
/** A batch of rows: a tensor [rows] for each column of numbers, a list for each of texts or bytes. */
export type TableBatch<C extends ColumnsOptions> = { [K in keyof C & string]: PartOf<TypeOf<C[K]>> };

/** A column of some rows as the file has it. */
export interface RawColumn {
  readonly values: ArrayLike<unknown>;
  /** null: no value is missing. */
  readonly isNull: ((row: number) => boolean) | null;
}
/** A column of some rows. */
export type HostColumn = TypedArray | readonly (string | Uint8Array | null)[];

/** Where a column is, for errors. */
export interface ColumnSite {
  readonly operation: string;
  readonly path: string;
  readonly name: string;
  /** The first row's index in the file. */
  readonly start: number;
}

const decoder = new TextDecoder();

function requireValue({ operation, path, name, start }: ColumnSite, row: number, type: ColumnType, value: unknown): FormatError {
  const received = value === null ? `a missing value in row ${start + row}` : `${String(value)} in row ${start + row}`;
  const hint = value === null ? `State what it becomes: columns: { ${name}: { fill: … } }.` : undefined;
  return new FormatError(operation, path, `values of ${type} in column "${name}"`, received, hint);
}

function listOf({ values, isNull }: RawColumn, type: ColumnType, fill: unknown, site: ColumnSite): HostColumn {
  return Array.from({ length: values.length }, (_, row) => {
    if (isNull?.(row) === true) return (fill ?? null) as string | null;
    const value = values[row];
    if (type === "string" && value instanceof Uint8Array) return decoder.decode(value);
    if (type === "string" ? typeof value !== "string" : !(value instanceof Uint8Array)) throw requireValue(site, row, type, value);
    return value as string | Uint8Array;
  });
}

/**
 * A column's values in a type. isInteger: whether the file has integers. Throws FormatError, with the column and the row, for a missing value and for one
 * that the type cannot represent; floats are rounded.
 */
export function columnIn(type: ColumnType, raw: RawColumn, fill: unknown, site: ColumnSite, isInteger: boolean): HostColumn {
  if (type === "string" || type === "binary") return listOf(raw, type, fill, site);
  const { values, isNull } = raw;
  const Class = arrayClass(type);
  if (isNull === null && values instanceof Class && type !== "bool") return values;
  const out = new Class(values.length);
  const isWide = out instanceof BigInt64Array || out instanceof BigUint64Array;
  const isFloat = type === "float32" || type === "float64";
  for (let row = 0; row < values.length; row++) {
    const isMissing = isNull?.(row) === true;
    const value = isMissing ? (fill ?? null) : values[row];
    if (typeof value !== "number" && typeof value !== "bigint" && typeof value !== "boolean") throw requireValue(site, row, type, value);
    if (isWide && typeof value === "number" && !Number.isInteger(value)) throw requireValue(site, row, type, value);
    out[row] = (isWide ? BigInt(value) : Number(value)) as never;
    // Floats are rounded to the nearest; an integer is what it is, or an error.
    const isExact = !isFloat || (isInteger && !isMissing);
    // oxlint-disable-next-line eqeqeq -- == compares a bigint with a number
    if (isExact && out[row] != (value as unknown)) throw requireValue(site, row, type, value);
  }
  return out;
}

/** A value of a column, for a row. */
export function cellOf(type: ColumnType, column: HostColumn, row: number): Cell {
  const value = column[row]!;
  return type === "bool" ? value === 1 : value;
}
