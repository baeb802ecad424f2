/** A checkpoint that all ranks of a group write: each its part, and the first one the index when all parts are on the disk. */
import { rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ValueError } from "../../core/errors.ts";
import type { ProcessRanks } from "../../core/process-ranks.ts";
import { sizeOf } from "../../core/shape.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { TransferOptions } from "../parts.ts";
import { PendingFile } from "../pending-file.ts";
import type { Readable } from "../pieces.ts";
import { finalPath } from "../whole-file.ts";
import { Encoder } from "./encode.ts";
import { layoutOf, type NewEntry } from "./entries.ts";
import { manifestOf, oneAtATime, ownerName, removeOlder, removeShards, shardName, whileInFlight } from "./folder.ts";
import { MANIFEST, SHARD, VERSION, VERSION_OF_WHOLES, type Manifest, type ShardRecord } from "./format.ts";
import { mergeStates, type MergedState, type RankEntry, type RankState, type RankWrite } from "./merge-states.ts";
import { fileOf, newId, numberedName, requireCount, type NewFile } from "./new-file.ts";

/** Options of a save by all ranks. */
export interface RanksSaveOptions extends TransferOptions {
  /** How many checkpoints of the folder stay, this one included, as of save(). Default: all. */
  readonly keepLast?: number | undefined;
}

/** What a rank has. */
interface Own {
  readonly state: RankState;
  readonly entries: readonly NewEntry[];
}

/** The first elements of an entry: without the zeros at the end of a part. */
class FirstBytes implements Readable {
  readonly name: string;
  readonly sizeInBytes: number;
  readonly #all: Readable;

  constructor(name: string, all: Readable, sizeInBytes: number) {
    this.name = name;
    this.sizeInBytes = sizeInBytes;
    this.#all = all;
  }

  read(start: number, end: number): Promise<ArrayBuffer | Uint8Array<ArrayBuffer>> {
    return this.#all.read(start, end);
  }

  dispose(): void {
    this.#all.dispose();
  }
}

/** What this rank has, as it is now. */
async function ownState(operation: string, state: unknown): Promise<Own> {
  const encoder = new Encoder(operation);
  encoder.begin(state);
  await encoder.settle();
  try {
    const { entries, tensors, arrays } = layoutOf(operation, encoder.tensors, encoder.arrays);
    const described = new Map<string, RankEntry>();
    for (const { name, dtype, shape } of entries) described.set(name, { name, dtype, shape, isCommon: true });
    for (const { entry } of arrays) described.set(entry, { ...described.get(entry)!, isCommon: false });
    encoder.tensors.forEach(({ name, tensor, isCommon, part }, i) => {
      const { entry, view, order } = tensors[i]!;
      const before = described.get(entry)!;
      if (part !== undefined && (tensor.size !== part.length || view !== undefined || order !== undefined))
        throw new ValueError(
          operation,
          `state.${name}`,
          "of one element for each of the parameter's",
          tensor.describe(),
          "This optimizer's state of sharded parameters cannot be divided for other numbers of ranks: save it with dx.save on each rank.",
        );
      described.set(entry, { ...before, isCommon: before.isCommon && isCommon, ...(part === undefined ? {} : { part }) });
    });
    return { state: { state: encoder.state, tensors, arrays, entries: [...described.values()] }, entries };
  } finally {
    encoder.dispose();
  }
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What a rank says of a part of the save: what it has done, or why it could not. */
type Said<T> = { readonly done: T } | { readonly failed: string };

/** Exchanges what the ranks have done. Throws this rank's error, or one that names the first rank that has one: on all ranks. */
async function agreed<T>(
  operation: string,
  ranks: ProcessRanks,
  run: () => Promise<T>,
  failed?: () => Promise<void>,
): Promise<readonly T[]> {
  let own: Said<T>;
  let error: unknown = null;
  try {
    own = { done: await run() };
  } catch (e) {
    error = e;
    own = { failed: textOf(e) };
  }
  const bytes = await ranks.gather(operation, Buffer.from(JSON.stringify(own)));
  const all = bytes.map((one) => JSON.parse(Buffer.from(one).toString()) as Said<T>);
  const bad = all.findIndex((one) => "failed" in one);
  if (bad < 0) return all.map((one) => (one as { readonly done: T }).done);
  // All know it, so no rank writes an index.
  await failed?.();
  if (error !== null) throw error;
  throw ranks.refused(operation, bad, (all[bad] as { readonly failed: string }).failed);
}

/** The file with a rank's part; null where it has nothing to write. */
function partFile(own: Own, writes: readonly RankWrite[], name: string, id: string): NewFile | null {
  if (writes.length === 0) return null;
  const entries = new Map(own.entries.map((entry) => [entry.name, entry]));
  const written = writes.map(({ entry, name: to, shape }): NewEntry => {
    const { dtype, bytes, shape: all } = entries.get(entry)!;
    const size = sizeOf(all) === 0 ? 0 : (bytes.sizeInBytes / sizeOf(all)) * sizeOf(shape);
    return { name: to, dtype, shape, bytes: new FirstBytes(to, bytes, size) };
  });
  return fileOf(name, written, { [SHARD]: JSON.stringify({ version: VERSION_OF_WHOLES, id, owner: ownerName() }) });
}

const writeFile = (operation: string, path: string, { head, entries }: NewFile, options: TransferOptions): Promise<void> =>
  new PendingFile(
    head,
    entries.map(({ bytes }) => bytes),
  ).write(operation, path, options);

function indexOf(merged: MergedState, shards: readonly ShardRecord[], id: string, name: string): NewFile {
  const { state, tensors, arrays, divided } = merged;
  const isDivided = Object.keys(divided).length > 0;
  const manifest: Manifest = {
    version: isDivided ? VERSION : VERSION_OF_WHOLES,
    id,
    savedAt: Date.now(),
    state,
    tensors,
    arrays,
    shards,
    ...(isDivided ? { divided } : {}),
  };
  return fileOf(name, [], { [MANIFEST]: JSON.stringify(manifest) });
}

/** Throws where the first rank does not see what the others have written. */
async function requireParts(operation: string, folder: string, shards: readonly ShardRecord[]): Promise<void> {
  for (const { file, sizeInBytes } of shards) {
    const stats = await stat(join(folder, file)).catch(() => null);
    if (stats?.size !== sizeInBytes)
      throw new ValueError(
        operation,
        "path",
        "in a folder that all ranks see",
        `one in which the first rank sees ${stats === null ? "no" : `${stats.size} bytes of`} ${file}`,
      );
  }
}

/** dx.distributed.save(). All ranks call it. */
export async function saveOverRanks(
  operation: string,
  ranks: ProcessRanks,
  path: FilePath,
  state: unknown,
  options: RanksSaveOptions,
): Promise<void> {
  const prepared = prepare(operation, path, state, options);
  // Whoever waits for an earlier save that fails never comes to wait for this one.
  prepared.catch(() => {});
  try {
    // The exchanges of two saves would mix.
    await oneAtATime("ranks", () => saveAll(operation, ranks, prepared, options));
  } finally {
    for (const { bytes } of (await prepared.catch(() => null))?.own.entries ?? []) bytes.dispose();
  }
}

/** Where a checkpoint goes, and what this rank has for it. */
interface Prepared {
  readonly own: Own;
  readonly target: string;
  readonly file: string;
  readonly isAlike: RegExp | null;
}

/** Checks the arguments, and reads the state of now. */
async function prepare(operation: string, path: FilePath, state: unknown, { keepLast, signal }: RanksSaveOptions): Promise<Prepared> {
  signal?.throwIfAborted();
  const target = pathOf(operation, "path", path);
  if (state === undefined) throw new ValueError(operation, "state", "an object, a list or another value that is to be saved", state);
  requireCount(operation, "keepLast", keepLast);
  const own = await ownState(operation, state);
  try {
    const file = await finalPath(target);
    return { own, target, file, isAlike: numberedName(operation, file, target, keepLast) };
  } catch (error) {
    for (const { bytes } of own.entries) bytes.dispose();
    throw error;
  }
}

async function saveAll(operation: string, ranks: ProcessRanks, prepared: Promise<Prepared>, options: RanksSaveOptions): Promise<void> {
  const plans = await agreed(operation, ranks, async () => {
    const { own, target } = await prepared;
    return { id: newId(), name: basename(target), state: own.state };
  });
  const { own, target, file, isAlike } = await prepared;
  const { id, name } = plans[0]!;
  const other = plans.findIndex((plan) => plan.name !== name);
  if (other > 0) throw new ValueError(operation, "path", `${name} on all ranks`, `${plans[other]!.name} on rank ${other}`);
  const merged = mergeStates(
    operation,
    plans.map((plan) => plan.state),
  );
  const folder = dirname(file);
  await oneAtATime(folder, () =>
    whileInFlight(id, () => writeAll(operation, ranks, own, merged, { id, target, file, folder, isAlike }, options)),
  );
}

interface Target {
  readonly id: string;
  readonly target: string;
  readonly file: string;
  readonly folder: string;
  readonly isAlike: RegExp | null;
}

async function writeAll(
  operation: string,
  ranks: ProcessRanks,
  own: Own,
  merged: MergedState,
  { id, target, file, folder, isAlike }: Target,
  options: RanksSaveOptions,
): Promise<void> {
  const { rank, size } = ranks;
  const part = partFile(own, merged.writes[rank]!, shardName(basename(target), rank, size, id), id);
  const removePart = async (): Promise<void> => {
    if (part !== null) await rm(join(folder, part.name), { force: true }).catch(() => {});
  };
  const written = await agreed(
    operation,
    ranks,
    async (): Promise<ShardRecord | null> => {
      if (part === null) return null;
      await writeFile(operation, join(folder, part.name), part, options);
      return { file: part.name, sizeInBytes: part.head.byteLength + part.dataBytes };
    },
    removePart,
  );
  const shards = written.filter((one) => one !== null);
  let replaced: Manifest | null = null;
  await agreed(
    operation,
    ranks,
    async () => {
      if (rank !== 0) return;
      await requireParts(operation, folder, shards);
      replaced = await manifestOf(file);
      await writeFile(operation, target, indexOf(merged, shards, id, basename(target)), {});
    },
    removePart,
  );
  if (rank !== 0) return;
  // The new checkpoint is there, whatever happens to the old ones.
  const gone = new Set(replaced === null ? [] : [(replaced as Manifest).id]);
  if (isAlike !== null) for (const older of await removeOlder(file, options.keepLast!, isAlike)) gone.add(older);
  await removeShards(folder, gone);
}
