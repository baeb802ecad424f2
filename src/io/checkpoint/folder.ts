/** Checkpoints in a folder: which are complete, which is the last, and which files belong to none any more. */
import { lstat, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { openTensorFile } from "../tensor-file.ts";
import { hasEnded, ownProcess } from "../unfinished.ts";
import { MANIFEST, SHARD, parseManifest, parseShardNote, type Manifest } from "./format.ts";

/** "step-100-00001-of-00003-0123456789abcdef.safetensors" */
const shardPattern = /-\d{5,}-of-\d{5,}-([0-9a-f]{16})\.safetensors$/;

export function shardName(checkpoint: string, index: number, count: number, id: string): string {
  const number = (n: number): string => String(n).padStart(5, "0");
  return `${checkpoint.replace(/\.safetensors$/, "")}-${number(index + 1)}-of-${number(count)}-${id}.safetensors`;
}

/** Made by the first save: to load Node's crypto takes milliseconds. */
let thread: string | null = null;

/** Worker threads are one process, and do not see each other's saves. */
const ownThread = (): string => (thread ??= crypto.randomUUID());

/** Saves of this thread that have not ended, by their ids. */
const inFlight = new Set<string>();

/** Who writes shards. */
export const ownerName = (): string => `${ownProcess()}/${ownThread()}`;

/** Runs a save, whose shards nobody removes meanwhile. */
export async function whileInFlight<T>(id: string, run: () => Promise<T>): Promise<T> {
  inFlight.add(id);
  try {
    return await run();
  } finally {
    inFlight.delete(id);
  }
}

const running = new Map<string, Promise<unknown>>();

/** Saves into one folder run one after the other, in this thread: with keepLast each removes what others may just replace. */
export async function oneAtATime<T>(folder: string, run: () => Promise<T>): Promise<T> {
  const before = running.get(folder) ?? Promise.resolve();
  const own = before.then(run, run);
  running.set(folder, own);
  try {
    return await own;
  } finally {
    if (running.get(folder) === own) running.delete(folder);
  }
}

/** Whether a save of this owner can no longer end. */
function isOver(owner: string, id: string, writtenMs: number): boolean {
  const [process = "", itsThread] = owner.split("/");
  if (itsThread === ownThread() && process === ownProcess()) return !inFlight.has(id);
  return hasEnded(process, writtenMs);
}

const isRegular = async (path: string): Promise<boolean> => (await lstat(path).catch(() => null))?.isFile() ?? false;

/** The texts of a safetensors file; null for any other, and one that cannot be read. */
async function metadataOf(path: string): Promise<Readonly<Record<string, string>> | null> {
  if (!(await isRegular(path))) return null;
  const opened = await openTensorFile("load", path).catch(() => null);
  await opened?.file.close();
  return opened?.header.metadata ?? null;
}

/** The manifest of a checkpoint; null for any other file. */
export async function manifestOf(path: string): Promise<Manifest | null> {
  const metadata = await metadataOf(path);
  try {
    return metadata === null || !Object.hasOwn(metadata, MANIFEST) ? null : parseManifest("load", path, metadata);
  } catch {
    return null;
  }
}

const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith("."));

/** The checkpoints of a folder by name, those whose shards are missing too. */
async function checkpointsIn(folder: string, isMeant: (name: string) => boolean = () => true): Promise<ReadonlyMap<string, Manifest>> {
  const found = new Map<string, Manifest>();
  for (const name of await namesIn(folder)) {
    if (shardPattern.test(name) || !isMeant(name)) continue;
    const manifest = await manifestOf(join(folder, name));
    if (manifest !== null) found.set(name, manifest);
  }
  return found;
}

/** Whether all shards are there, and as long as they should be. */
async function isComplete(folder: string, { shards }: Manifest): Promise<boolean> {
  for (const { file, sizeInBytes } of shards) {
    const stats = await stat(join(folder, file)).catch(() => null);
    if (stats?.isFile() !== true || stats.size !== sizeInBytes) return false;
  }
  return true;
}

const lastNumber = (name: string): number => Number(/(\d+)\D*$/.exec(name)?.[1] ?? -1);

/** By the time of their saves; those of one millisecond by the number in their names. */
const byAge = ([a, x]: readonly [string, Manifest], [b, y]: readonly [string, Manifest]): number =>
  x.savedAt - y.savedAt || lastNumber(a) - lastNumber(b) || (a < b ? -1 : 1);

/** The path of the last complete checkpoint; null where there is none. */
export async function lastIn(folder: string): Promise<string | null> {
  for (const [name, manifest] of [...(await checkpointsIn(folder))].sort(byAge).toReversed())
    if (await isComplete(folder, manifest)) return join(folder, name);
  return null;
}

/** Which of a folder's shards may be garbage: those of ended saves, and of the manifests that were replaced. By their saves' ids. */
async function candidatesIn(folder: string, replaced: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly string[]>> {
  const byId = new Map<string, string[]>();
  for (const name of await namesIn(folder)) {
    const id = shardPattern.exec(name)?.[1];
    if (id !== undefined) byId.set(id, [...(byId.get(id) ?? []), name]);
  }
  for (const [id, names] of byId) {
    const path = join(folder, names[0]!);
    const stats = await lstat(path).catch(() => null);
    const metadata = await metadataOf(path);
    const note = metadata === null || !Object.hasOwn(metadata, SHARD) ? null : parseShardNote(metadata);
    if (stats === null || note?.id !== id || !(replaced.has(id) || isOver(note.owner, id, stats.mtimeMs))) byId.delete(id);
  }
  return byId;
}

/**
 * Removes shards of saves that did not end, or whose manifest was replaced. A save that has ended commits no manifest any more, so the manifests
 * are read after its end is known: what none of them names then stays unnamed.
 */
export async function removeShards(folder: string, replaced: ReadonlySet<string>): Promise<void> {
  const candidates = await candidatesIn(folder, replaced);
  if (candidates.size === 0) return;
  const named = new Set([...(await checkpointsIn(folder)).values()].map(({ id }) => id));
  for (const [id, names] of candidates)
    if (!named.has(id)) for (const name of names) await rm(join(folder, name), { force: true }).catch(() => {});
}

/** Names like a checkpoint's with another number: the text around the last number of its name. Null for a name without a number. */
export function numberedLike(path: string): RegExp | null {
  const parts = /^(.*?)\d+(\D*)$/s.exec(basename(path));
  if (parts === null) return null;
  const escape = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${escape(parts[1]!)}\\d+${escape(parts[2]!)}$`, "s");
}

/**
 * Removes all but the last checkpoints with names like this one's. It stays, as does what was saved later: of processes that save at once, none removes
 * a newer checkpoint. Gives the ids of those that are gone.
 */
export async function removeOlder(path: string, keepLast: number, isAlike: RegExp): Promise<ReadonlySet<string>> {
  const folder = dirname(path);
  const found = [...(await checkpointsIn(folder, (name) => isAlike.test(name)))].sort(byAge).toReversed();
  const own = found.findIndex(([name]) => name === basename(path));
  const gone = new Set<string>();
  for (const [name, { id }] of own < 0 ? [] : found.slice(Math.max(own + 1, keepLast))) {
    // Another process may have replaced it meanwhile.
    if ((await manifestOf(join(folder, name)))?.id !== id) continue;
    await rm(join(folder, name), { force: true }).catch(() => {});
    gone.add(id);
  }
  return gone;
}
