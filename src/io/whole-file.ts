/** Files that appear whole or not at all. */
import { constants } from "node:fs";
import { access, open, readlink, realpath, rename, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, isAbsolute, join } from "node:path";
import type { Stats } from "node:fs";
import { ValueError } from "../core/errors.ts";
import { removeStale, unfinishedName } from "./unfinished.ts";

/** Windows refuses to replace a file while another save replaces it: then again, a little later. */
async function replaceFile(unfinished: string, path: string): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await rename(unfinished, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EPERM" || process.platform !== "win32" || tries === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

/** The entry of a folder is safe on the disk only when the folder is; where folders cannot be opened, as on Windows, it is so anyhow. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => {});
  await handle.close();
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** As many links as Linux follows. */
const MAX_LINKS = 40;

/** The file that a path names when its last part is a link to what is not there yet. */
async function targetOf(path: string): Promise<string> {
  let target = path;
  for (let i = 0; i < MAX_LINKS; i++) {
    const link = await readlink(target).catch(() => null);
    if (link === null) return target;
    target = isAbsolute(link) ? link : join(await realpath(dirname(target)), link);
  }
  return target;
}

/** The file that a path names, through links, whether it is there or not: what writeWhole() replaces. */
export async function finalPath(path: string): Promise<string> {
  const real = await realpath(path).catch(() => null);
  return real ?? targetOf(path);
}

/** What is there: followed through links, null where nothing is. */
async function statsOf(path: string): Promise<Stats | null> {
  try {
    return await stat(path);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return null;
    throw error;
  }
}

const isSame = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino;

/** Another save may replace a file between two looks at it; so often in a row it does not. */
const MAX_LOOKS = 100;

/** The file that is there, by its real path: null for none, or "through" for what has none, as /dev/stdout that leads to a pipe or to a deleted file. */
async function existing(path: string): Promise<{ readonly real: string; readonly stats: Stats } | "through" | null> {
  for (let looks = 0; ; looks++) {
    const stats = await statsOf(path);
    if (stats === null) return null;
    if (stats.isDirectory()) throw Object.assign(new Error("EISDIR: it is a folder"), { syscall: "open" });
    if (!stats.isFile()) return "through";
    const real = await realpath(path).catch(() => null);
    const found = real === null ? null : await statsOf(real);
    if (found !== null && isSame(found, stats)) return { real: real!, stats };
    // A deleted file has no path. One that another save replaced just now has no link either, but the path leads to a new file. The number of
    // the inode alone tells nothing: the new file may have the old one's.
    const now = await statsOf(path);
    if (found === null && stats.nlink === 0 && now !== null && now.nlink === 0 && isSame(now, stats)) return "through";
    if (looks === MAX_LOOKS) throw Object.assign(new Error("EBUSY: other processes keep replacing it"), { syscall: "open" });
  }
}

type Write = (file: FileHandle) => Promise<void>;

/** A device, a FIFO or a socket gets the bytes themselves, one after the other. */
async function writeThrough(path: string, write: Write): Promise<void> {
  const file = await open(path, constants.O_WRONLY);
  try {
    await write(file);
    // Devices and pipes have nothing to sync.
    await file.sync().catch(() => {});
  } finally {
    await file.close();
  }
}

/** The mode and, where the process may, the owner of the file that is replaced. */
async function takeRights(file: FileHandle, from: Stats): Promise<void> {
  const own = await file.stat();
  if (own.uid !== from.uid || own.gid !== from.gid)
    // Who may not give files away may still keep the group.
    await file.chown(from.uid, from.gid).catch(() => file.chown(own.uid, from.gid).catch(() => {}));
  await file.chmod(from.mode & 0o7777);
}

/** Writes a new file in the folder of `path`, and renames it once everything is on the disk. */
async function replace(path: string, before: Stats | null, write: Write): Promise<void> {
  const folder = dirname(path);
  // First, so that saves which are killed one after the other leave one file, not all.
  await removeStale(folder);
  const unfinished = join(folder, unfinishedName());
  // Until it has the mode of the file that it replaces, nobody else reads it.
  const file = await open(unfinished, "wx", before === null ? 0o666 : 0o600);
  try {
    try {
      await write(file);
      if (before !== null && process.platform !== "win32") await takeRights(file, before);
      await file.sync();
    } finally {
      await file.close();
    }
    await replaceFile(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

/**
 * Writes a file completely or not at all, through a new one in the same folder. A link stays one: the file that it leads to is replaced, which
 * keeps its mode and owner. What is no regular file (a device, a FIFO) is written to as it is. A file that the process may not write is
 * refused, though its folder would let it be replaced.
 */
export async function writeWhole(operation: string, path: string, write: Write): Promise<void> {
  try {
    const before = await existing(path);
    if (before === null) return await replace(await targetOf(path), null, write);
    if (before === "through") return await writeThrough(path, write);
    await access(before.real, constants.W_OK);
    return await replace(before.real, before.stats, write);
  } catch (error) {
    // Not of the file system: what tensors, a signal or the caller's onProgress say.
    if (!(error instanceof Error) || !("syscall" in error)) throw error;
    const wrong = new ValueError(operation, path, "a file that can be written", error.message);
    wrong.cause = error;
    throw wrong;
  }
}
