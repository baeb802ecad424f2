/** Types of Parquet's columns. https://github.com/apache/parquet-format/blob/master/LogicalTypes.md */
import type { ColumnType } from "../tables/types.ts";

/** @internal A column as the file describes it. */
export interface SchemaElement {
  readonly name: string;
  readonly type?: string;
  readonly repetition_type?: string;
  readonly num_children?: number;
  readonly converted_type?: string;
  readonly precision?: number;
  readonly logical_type?: { readonly type: string; readonly bitWidth?: number; readonly isSigned?: boolean };
}

/** Digits that float64 represents, all of them. */
const EXACT_DIGITS = 15;

function integerOf({ type, converted_type: converted = "", logical_type: logical }: SchemaElement): ColumnType {
  const named = /^(U?)INT_(8|16|32|64)$/.exec(converted);
  const isUnsigned = named?.[1] === "U" || (logical?.type === "INTEGER" && logical.isSigned === false);
  const bits = named?.[2] ?? (logical?.type === "INTEGER" ? logical.bitWidth : undefined) ?? (type === "INT32" ? 32 : 64);
  return `${isUnsigned ? "uint" : "int"}${bits}` as ColumnType;
}

/** What the values of a column become, or why they cannot be read. */
export function typeOf(element: SchemaElement): ColumnType | { readonly refused: string } {
  const { type, converted_type: converted, logical_type: logical } = element;
  if (element.num_children !== undefined && element.num_children > 0) return { refused: "a nested column" };
  if (element.repetition_type === "REPEATED") return { refused: "a list in each row" };
  if (converted === "DECIMAL" || logical?.type === "DECIMAL")
    return (element.precision ?? Infinity) <= EXACT_DIGITS ? "float64" : { refused: `decimals of ${element.precision} digits` };
  if (converted === "BSON" || converted === "INTERVAL" || ["GEOMETRY", "GEOGRAPHY", "VARIANT"].includes(logical?.type ?? ""))
    return { refused: (converted ?? logical!.type).toLowerCase() };
  switch (type) {
    case "BOOLEAN":
      return "bool";
    case "INT32":
    case "INT64":
      return integerOf(element);
    case "INT96":
      return "int64";
    case "FLOAT":
      return "float32";
    case "DOUBLE":
      return "float64";
    case "BYTE_ARRAY":
      return ["UTF8", "ENUM", "JSON"].includes(converted ?? "") || ["STRING", "ENUM", "JSON"].includes(logical?.type ?? "")
        ? "string"
        : "binary";
    case "FIXED_LEN_BYTE_ARRAY":
      return logical?.type === "FLOAT16" ? "float32" : logical?.type === "UUID" ? "string" : "binary";
    default:
      return { refused: `values of type ${String(type)}` };
  }
}
