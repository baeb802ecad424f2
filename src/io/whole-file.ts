/** Files that appear whole or not at all. */
import { randomUUID } from "node:crypto";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";

/** The entry of a folder is safe on the disk only when the folder is; where folders cannot be opened, as on Windows, it is so anyhow. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => {});
  await handle.close();
}

/**
 * Writes a file through a fresh one beside it, which takes its name once everything is on the disk. The fresh one has a name that
 * no other call has, and is never one that was there: neither another call's nor what a link leads to.
 */
export async function writeWhole(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path);
  const unfinished = join(folder, `.${randomUUID()}.part`);
  const file = await open(unfinished, "wx");
  try {
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(folder);
}
