/** Files of a checkpoint to be: their headers, names and ids. */
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import type { Entry } from "../safetensors-header.ts";
import { headOf } from "../tensor-file.ts";
import type { NewEntry } from "./entries.ts";
import { numberedLike } from "./folder.ts";

/** A file to be. */
export interface NewFile {
  readonly name: string;
  readonly entries: readonly NewEntry[];
  readonly head: Uint8Array;
  readonly dataBytes: number;
}

/** Throws ValueError for an option that is no count. */
export function requireCount(operation: string, argument: string, value: number | undefined): void {
  if (value !== undefined && value !== Infinity && !(Number.isSafeInteger(value) && value >= 1))
    throw new ValueError(operation, argument, "an integer of at least 1", value);
}

/** The larger elements first, so that every tensor begins at a multiple of its element size. */
export function fileOf(name: string, entries: readonly NewEntry[], metadata: Readonly<Record<string, string>>): NewFile {
  const sorted = [...entries].sort((a, b) => DTYPES[b.dtype].sizeInBytes - DTYPES[a.dtype].sizeInBytes);
  let dataBytes = 0;
  const header = sorted.map(({ name: entry, dtype, shape, bytes }): Entry => {
    const start = dataBytes;
    return { name: entry, dtype, shape, start, end: (dataBytes += bytes.sizeInBytes) };
  });
  return { name, entries: sorted, head: headOf("save", header, metadata), dataBytes };
}

/** Of one save alone. */
export const newId = (): string => crypto.randomUUID().replaceAll("-", "").slice(0, 16);

/** Which names are those of older checkpoints, for keepLast; null without it. Throws ValueError for a name without a number. */
export function numberedName(operation: string, file: string, target: string, keepLast: number | undefined): RegExp | null {
  const isAlike = keepLast === undefined ? null : numberedLike(file);
  if (keepLast !== undefined && isAlike === null)
    throw new ValueError(
      operation,
      "path",
      "with a number in the file's name, by which keepLast finds older checkpoints",
      target,
      "Name it step-100.safetensors.",
    );
  return isAlike;
}
