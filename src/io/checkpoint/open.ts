/** Checkpoints that are open for reading: the file with the manifest, and its shards. */
import { dirname, join } from "node:path";
import { realpath } from "node:fs/promises";
import { DTYPES, type DType } from "../../core/dtype.ts";
import { FormatError } from "../../core/errors.ts";
import { define } from "../../core/own-property.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Entry } from "../safetensors-header.ts";
import { openTensorFile, type TensorFile } from "../tensor-file.ts";
import {
  MANIFEST,
  SHARD,
  parseManifest,
  parseShardNote,
  type DividedRecord,
  type Json,
  type Manifest,
  type TensorRecord,
} from "./format.ts";

/** Elements of an entry in a file. */
interface Span {
  readonly file: TensorFile;
  readonly entry: Entry;
  /** In bytes from the entry's first. */
  readonly at: number;
}

/** Where the elements of an entry are: in one file, or in parts. */
export interface Found {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly sizeInBytes: number;
  readonly spans: readonly Span[];
}

export interface OpenCheckpoint {
  readonly path: string;
  readonly state: Json;
  readonly tensors: readonly TensorRecord[];
  readonly arrays: Manifest["arrays"];
  readonly entries: ReadonlyMap<string, Found>;
  close(): Promise<void>;
}

/** How often the file is opened again because another save replaced it meanwhile. */
const MAX_TRIES = 100;

const isGone = (error: unknown): boolean =>
  error instanceof FormatError && (error.cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";

/** The shards of a manifest; null when one is gone. */
async function openShards(folder: string, { id, shards }: Manifest): Promise<readonly TensorFile[] | null> {
  const opened: TensorFile[] = [];
  try {
    for (const { file, sizeInBytes } of shards) {
      const shard = await openTensorFile("load", join(folder, file));
      opened.push(shard);
      const note = Object.hasOwn(shard.header.metadata, SHARD) ? parseShardNote(shard.header.metadata) : null;
      if (note?.id !== id)
        throw new FormatError("load", shard.path, `a shard of the save ${id}`, note === null ? "no shard" : `of ${note.id}`);
      if (shard.sizeInBytes !== sizeInBytes)
        throw new FormatError("load", shard.path, `of ${sizeInBytes} bytes, as its manifest says`, `${shard.sizeInBytes}`);
    }
    return opened;
  } catch (error) {
    for (const { file } of opened) await file.close();
    if (isGone(error)) return null;
    throw error;
  }
}

function entriesOf(
  path: string,
  files: readonly TensorFile[],
  divided: Readonly<Record<string, DividedRecord>> = {},
): ReadonlyMap<string, Found> {
  const entries = new Map<string, Found>();
  for (const file of files) {
    for (const entry of file.header.entries) {
      const { name, dtype, shape, start, end } = entry;
      if (entries.has(name)) throw new FormatError("load", file.path, "without an entry of another file", name);
      entries.set(name, { name, dtype, shape, sizeInBytes: end - start, spans: [{ file, entry, at: 0 }] });
    }
  }
  const wholes = Object.entries(divided).map(([name, record]) => joined(path, name, record, entries));
  for (const { parts } of Object.values(divided)) for (const { entry } of parts) entries.delete(entry);
  for (const whole of wholes) {
    if (entries.has(whole.name)) throw new FormatError("load", path, "with each entry once", whole.name);
    entries.set(whole.name, whole);
  }
  return entries;
}

/** An entry of its parts, which follow each other without a gap. */
function joined(path: string, name: string, { dtype, shape, parts }: DividedRecord, entries: ReadonlyMap<string, Found>): Found {
  const element = DTYPES[dtype].sizeInBytes;
  const spans: Span[] = [];
  let at = 0;
  for (const part of parts) {
    const found = entries.get(part.entry);
    if (found === undefined) throw new FormatError("load", path, `with ${part.entry}, a part of ${name}`, "a checkpoint without it");
    if (found.dtype !== dtype || part.start * element !== at)
      throw new FormatError(
        "load",
        path,
        `with ${dtype} from element ${at / element} on in ${part.entry}`,
        `${found.dtype} from ${part.start}`,
      );
    spans.push({ ...found.spans[0]!, at });
    at += found.sizeInBytes;
  }
  const size = sizeOf(shape);
  if (at !== size * element) throw new FormatError("load", path, `with ${size} elements of ${name} in its parts`, String(at / element));
  return { name, dtype, shape, sizeInBytes: at, spans };
}

/** A file without a manifest is a list of tensors by name. */
function plain({ header }: TensorFile): Pick<OpenCheckpoint, "state" | "tensors" | "arrays"> {
  const state: Record<string, Json> = {};
  header.entries.forEach(({ name }, i) => {
    define<Json>(state, name, { $tensor: i });
  });
  const isSpecial = header.entries.some(({ name }) => name.startsWith("$"));
  return {
    state: isSpecial ? { $object: Object.entries(state) } : state,
    tensors: header.entries.map(({ name }) => ({ entry: name })),
    arrays: [],
  };
}

/**
 * Opens a checkpoint, or any safetensors file. All of its files are open then, so that a save that replaces it takes nothing away: where one had
 * taken shards away before they were open, the new file is opened.
 */
export async function openCheckpoint(path: string): Promise<OpenCheckpoint> {
  let missing: string | null = null;
  for (let tries = 0; ; tries++) {
    const main = await openTensorFile("load", path);
    let files: readonly TensorFile[] = [main];
    const close = async (): Promise<void> => {
      for (const { file } of files) await file.close();
    };
    try {
      const { metadata } = main.header;
      const manifest = Object.hasOwn(metadata, MANIFEST) ? parseManifest("load", path, metadata) : null;
      if (manifest === null) {
        if (Object.hasOwn(metadata, SHARD))
          throw new FormatError("load", path, "a checkpoint", "one of its shards", "Load the file without the numbers in its name.");
        return { path, ...plain(main), entries: entriesOf(path, files), close };
      }
      const shards = await openShards(dirname(await realpath(path)), manifest);
      if (shards !== null) {
        files = [main, ...shards];
        const { state, tensors, arrays, divided } = manifest;
        return { path, state, tensors, arrays, entries: entriesOf(path, files, divided), close };
      }
      if (manifest.id === missing || tries === MAX_TRIES)
        throw new FormatError(
          "load",
          path,
          "with all of its shards next to it",
          "less",
          `It names ${manifest.shards.map((s) => s.file).join(", ")}.`,
        );
      missing = manifest.id;
    } catch (error) {
      await close();
      throw error;
    }
    await close();
  }
}
