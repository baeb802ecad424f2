/** save(): a nested state into a file, or several. */
import { rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ValueError } from "../../core/errors.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import type { TransferOptions } from "../parts.ts";
import { piecesOf, type Piece } from "../pieces.ts";
import { finalPath, writeWhole } from "../whole-file.ts";
import { Encoder } from "./encode.ts";
import { manifestOf, oneAtATime, ownerName, removeOlder, removeShards, shardName, whileInFlight } from "./folder.ts";
import { MANIFEST, SHARD, VERSION_OF_WHOLES, type Manifest, type ShardNote } from "./format.ts";
import { layoutOf, type NewEntry } from "./entries.ts";
import { fileOf, newId, numberedName, requireCount, type NewFile } from "./new-file.ts";

/** Options of save(). */
export interface CheckpointSaveOptions extends TransferOptions {
  /** The most bytes of tensors in one file; a larger tensor has a file of its own. More go into further files next to it. Default: one file for all. */
  readonly maxShardBytes?: number | undefined;
  /**
   * How many checkpoints of the folder stay, this one included: older ones with the same name but for its last number are removed once this one is
   * complete. Default: all.
   */
  readonly keepLast?: number | undefined;
}

/** Entries for one file each, in order. */
function divided(entries: readonly NewEntry[], most: number): readonly (readonly NewEntry[])[] {
  const files: NewEntry[][] = [[]];
  let bytes = 0;
  for (const entry of entries) {
    const { sizeInBytes } = entry.bytes;
    if (bytes + sizeInBytes > most && files.at(-1)!.length > 0) {
      files.push([]);
      bytes = 0;
    }
    files.at(-1)!.push(entry);
    bytes += sizeInBytes;
  }
  return files;
}

/** The files of a state: the shards, and last the one with the manifest. */
class Plan {
  readonly files: readonly NewFile[];
  readonly #pieces: AsyncGenerator<Piece>;
  readonly #first: Promise<IteratorResult<Piece>>;
  readonly #entries: readonly NewEntry[];
  readonly #totalBytes: number;
  #isFirst = true;
  #bytes = 0;

  constructor(encoder: Encoder, checkpoint: string, id: string, maxShardBytes: number) {
    const { entries, tensors, arrays } = layoutOf("save", encoder.tensors, encoder.arrays);
    const parts = divided(entries, maxShardBytes);
    const note: ShardNote = { version: VERSION_OF_WHOLES, id, owner: ownerName() };
    const shards =
      parts.length === 1
        ? []
        : parts.map((part, i) => fileOf(shardName(checkpoint, i, parts.length, id), part, { [SHARD]: JSON.stringify(note) }));
    const manifest: Manifest = {
      version: VERSION_OF_WHOLES,
      id,
      savedAt: Date.now(),
      state: encoder.state,
      tensors,
      arrays,
      shards: shards.map(({ name, head, dataBytes }) => ({ file: name, sizeInBytes: head.byteLength + dataBytes })),
    };
    const main = fileOf(checkpoint, shards.length === 0 ? entries : [], { [MANIFEST]: JSON.stringify(manifest) });
    this.files = [...shards, main];
    this.#entries = entries;
    this.#totalBytes = this.files.reduce((n, file) => n + file.dataBytes, 0);
    this.#pieces = piecesOf(this.files.flatMap((file) => file.entries.map(({ bytes }) => bytes)));
    // The first piece is requested before save() returns: it has the values of this moment.
    this.#first = this.#pieces.next();
    // If the file cannot be opened, nobody waits for it.
    this.#first.catch(() => {});
  }

  /** Writes the next file. */
  async write(file: NewFile, path: string, { signal, onProgress }: TransferOptions): Promise<void> {
    await writeWhole("save", path, async (handle) => {
      await handle.writeFile(file.head);
      const end = this.#bytes + file.dataBytes;
      while (this.#bytes < end) {
        const next = this.#isFirst ? await this.#first : await this.#pieces.next();
        this.#isFirst = false;
        signal?.throwIfAborted();
        const { name, bytes } = next.value as Piece;
        await handle.writeFile(bytes);
        this.#bytes += bytes.byteLength;
        onProgress?.({ bytes: this.#bytes, totalBytes: this.#totalBytes, name });
      }
      signal?.throwIfAborted();
    });
  }

  dispose(): void {
    for (const { bytes } of this.#entries) bytes.dispose();
  }
}

/** Reads the state now, as far as no stateDict() returns a promise. */
function planOf(state: unknown, target: string, id: string, maxShardBytes: number): Plan | Promise<Plan> {
  const encoder = new Encoder("save");
  const plan = (): Plan => {
    try {
      return new Plan(encoder, basename(target), id, maxShardBytes);
    } finally {
      encoder.dispose();
    }
  };
  encoder.begin(state);
  return encoder.isWaiting ? encoder.settle().then(plan) : plan();
}

/** Writes the shards, then the manifest, which makes them the checkpoint. Without it the shards are removed. */
async function writeFiles(plan: Plan, path: string, folder: string, options: TransferOptions): Promise<void> {
  const main = plan.files.at(-1)!;
  try {
    for (const file of plan.files) await plan.write(file, file === main ? path : join(folder, file.name), options);
  } catch (error) {
    for (const { name } of plan.files.slice(0, -1)) await rm(join(folder, name), { force: true }).catch(() => {});
    throw error;
  }
}

/**
 * Writes a nested state into a safetensors file, which appears complete or not at all: modules, optimizers, schedules, GradScaler, generators, loaders
 * and other objects with stateDict(), tensors (all dtypes, any strides), typed arrays, and plain data (also undefined, NaN, BigInt, Date, Map and Set)
 * in objects and lists. Tensors that share memory share it again after load(), and are stored once.
 *
 * What is saved is the state of now. A tensor that changes before its bytes were read is a ValueError; the first 256 MiB are read at once.
 * path: text or a file: URL. With maxShardBytes a state that is larger goes into files next to it ("NAME-00001-of-00003-ID.safetensors"), which
 * belong to the file at path. Those of the checkpoint that is replaced are removed once the new one is complete, and those of killed processes.
 * Throws ValueError where state is undefined, DTypeError for what cannot be saved (a function, an object of a class without stateDict()), ValueError for cycles, options out of their
 * range, and where the file cannot be written. Reference: torch.save.
 */
export async function save(path: FilePath, state: unknown, options: CheckpointSaveOptions = {}): Promise<void> {
  const { maxShardBytes = Infinity, keepLast, signal } = options;
  signal?.throwIfAborted();
  const target = pathOf("save", "path", path);
  if (state === undefined) throw new ValueError("save", "state", "an object, a list or another value that is to be saved", state);
  requireCount("save", "maxShardBytes", maxShardBytes);
  requireCount("save", "keepLast", keepLast);
  const id = newId();
  const planned = planOf(state, target, id, maxShardBytes);
  const plan = planned instanceof Promise ? await planned : planned;
  try {
    const file = await finalPath(target);
    const isAlike = numberedName("save", file, target, keepLast);
    await oneAtATime(dirname(file), () =>
      whileInFlight(id, async () => {
        const replaced = await manifestOf(file);
        await writeFiles(plan, target, dirname(file), options);
        const gone = new Set(replaced === null ? [] : [replaced.id]);
        if (isAlike !== null) for (const older of await removeOlder(file, keepLast!, isAlike)) gone.add(older);
        await removeShards(dirname(file), gone);
      }),
    );
  } finally {
    plan.dispose();
  }
}
