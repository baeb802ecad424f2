/** A file of JSON that holds an object. */
import { FormatError } from "../core/errors.ts";
import { readWhole } from "./source.ts";

const MAX_BYTES = 2 ** 24;

/** The object in a file of JSON of at most `most` bytes, 16 MiB if not said otherwise. Throws FormatError where it holds something else. */
export async function readJsonObject(operation: string, path: string, most = MAX_BYTES): Promise<Readonly<Record<string, unknown>>> {
  const bytes = await readWhole(operation, path, most);
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new FormatError(operation, path, "JSON", error instanceof Error ? error.message : String(error));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new FormatError(operation, path, "an object", "another value");
  return value as Readonly<Record<string, unknown>>;
}
