/**
 * What the generated forms of the public functions share: they compare their arguments with the declared types, since callers may write
 * JavaScript, and give errors the name that the user called. scripts/lib/signatures.mjs reads the types. @package
 */
import { ComplexTensor } from "../complex-tensor.ts";
import { DTypeError, DxError, ValueError } from "../errors.ts";
import { Tensor } from "../tensor.ts";

/** What a parameter takes. */
export interface Kind {
  readonly is: (value: unknown) => boolean;
  /** Reads after "must be". */
  readonly text: string;
  /** Whether what is wrong is no tensor, or no dtype, rather than a value out of range. */
  readonly isOfDTypes: boolean;
  /** Those of an object of options. */
  readonly fields: Fields | null;
}
export type Fields = Readonly<Record<string, Kind>>;
/** Name and kind of each parameter. */
export type Parameters = readonly (readonly [name: string, kind: Kind])[];

export const isTensor = (value: unknown): value is Tensor => value instanceof Tensor;

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Tensor) && !ArrayBuffer.isView(value);

/** The first field that is not as it should be, or null. */
function wrongField(value: Record<string, unknown>, fields: Fields): string | null {
  for (const key in value) {
    const given = value[key];
    if (given === undefined) continue;
    if (!Object.hasOwn(fields, key) || !fields[key]!.is(given)) return key;
  }
  return null;
}

/** Whether a value is an object with these fields and no others. What is undefined counts as left out. */
export const hasFields = (value: unknown, fields: Fields): boolean => isPlain(value) && wrongField(value, fields) === null;

function shown(value: unknown): string {
  if (value instanceof Tensor || value instanceof ComplexTensor) return value.describe();
  if (typeof value === "string") return value;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return "a function";
  if (Array.isArray(value)) return value.length > 16 ? `an array of ${value.length}` : `[${value.map(shown).join(", ")}]`;
  if (typeof value === "object" && value !== null) return isPlain(value) ? "an object" : value.constructor.name;
  return String(value);
}

function wrong(operation: string, name: string, kind: Kind, value: unknown): DxError {
  const { fields } = kind;
  if (fields !== null && isPlain(value)) {
    const field = wrongField(value, fields)!;
    if (Object.hasOwn(fields, field)) return wrong(operation, field, fields[field]!, value[field]);
    const names = Object.keys(fields);
    return new ValueError(operation, name, `an object of no more than ${names.join(", ")}`, field);
  }
  const hint = value instanceof ComplexTensor ? "Complex numbers have methods of their own: docs/fft.md." : undefined;
  return new (kind.isOfDTypes ? DTypeError : ValueError)(operation, name, kind.text, shown(value), hint);
}

/** A parameter's name, what it takes, what was given, and so on for the next. */
type Given = readonly [name: string, kind: Kind, value: unknown, ...unknown[]];

/** The error for the first argument that is not what its parameter takes. */
export function refused(operation: string, ...given: Given): DxError {
  let i = 0;
  while ((given[i + 1] as Kind).is(given[i + 2])) i += 3;
  return wrong(operation, given[i] as string, given[i + 1] as Kind, given[i + 2]);
}

/** What was thrown, under the name that the user called. */
export function under(operation: string, error: unknown): unknown {
  return error instanceof DxError && error.operation !== operation ? error.rename(operation) : error;
}
