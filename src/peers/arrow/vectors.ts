/** Columns of Arrow's record batches. */
import type { TypedArray } from "../../core/dtype.ts";
import type { ColumnType, RawColumn } from "../tables/types.ts";

/** @internal The type of a column; a dictionary has that of its values inside. */
export interface ArrowType {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly unit?: number;
  readonly dictionary?: ArrowType;
  toString(): string;
}

/** @internal A column of a record batch. */
export interface Vector {
  readonly type: ArrowType;
  readonly length: number;
  readonly nullCount: number;
  readonly data: readonly { readonly offset: number; readonly values: unknown }[];
  get(row: number): unknown;
}

/** Numbers of apache-arrow's enum Type. */
const TYPE = {
  int: 2,
  float: 3,
  binary: 4,
  utf8: 5,
  bool: 6,
  date: 8,
  time: 9,
  timestamp: 10,
  duration: 18,
  largeBinary: 19,
  largeUtf8: 20,
};
const isDictionary = (type: ArrowType): boolean => type.dictionary !== undefined;
/** Of Arrow's units of dates: milliseconds have 64 bits, days 32. */
const MILLISECONDS = 1;

/** What the values of a column become, or why they cannot be read. */
export function typeOf(type: ArrowType): ColumnType | { readonly refused: string } {
  if (type.dictionary !== undefined) return typeOf(type.dictionary);
  switch (type.typeId) {
    case TYPE.int:
      return `${type.isSigned === true ? "int" : "uint"}${type.bitWidth!}` as ColumnType;
    case TYPE.float:
      return type.precision === 2 ? "float64" : "float32";
    case TYPE.bool:
      return "bool";
    case TYPE.utf8:
    case TYPE.largeUtf8:
      return "string";
    case TYPE.binary:
    case TYPE.largeBinary:
      return "binary";
    case TYPE.date:
      return type.unit === MILLISECONDS ? "int64" : "int32";
    case TYPE.time:
      return type.bitWidth === 32 ? "int32" : "int64";
    case TYPE.timestamp:
    case TYPE.duration:
      return "int64";
    default:
      return { refused: `a column of ${String(type)}` };
  }
}

const HALF = 0;

/** Rows of a column: a part of the file's own bytes where these are a typed array's. */
export function rawColumn(vector: Vector, from: number, to: number): RawColumn {
  const { type } = vector;
  const isNull = vector.nullCount > 0 ? (row: number): boolean => vector.get(from + row) === null : null;
  const [part] = vector.data;
  const isHalf = type.typeId === TYPE.float && type.precision === HALF;
  const isPlain = !isDictionary(type) && [TYPE.int, TYPE.float, TYPE.date, TYPE.time, TYPE.timestamp, TYPE.duration].includes(type.typeId);
  // The package's own values of dates and timestamps are milliseconds.
  if (isPlain && !isHalf && part !== undefined && vector.data.length === 1)
    return { values: (part.values as TypedArray).subarray(from, to) as unknown as ArrayLike<unknown>, isNull };
  return { values: Array.from({ length: to - from }, (_, i) => vector.get(from + i)), isNull };
}
