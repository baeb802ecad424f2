/** Values of JSON whose kinds are checked. */
import { FormatError } from "../../core/errors.ts";

export type Json = Readonly<Record<string, unknown>>;

export const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** A list, or FormatError. */
export function listOf(operation: string, source: string, name: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value))
    throw new FormatError(operation, source, `with a list ${name}`, value === undefined ? "none" : JSON.stringify(value).slice(0, 60));
  return value;
}

/** An object, or FormatError. */
export function recordOf(operation: string, source: string, name: string, value: unknown): Json {
  if (!isRecord(value))
    throw new FormatError(operation, source, `with an object ${name}`, value === undefined ? "none" : JSON.stringify(value).slice(0, 60));
  return value;
}
