/** Files that appear whole or not at all. */
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";

/** Windows refuses to replace a file while another save replaces it: then again, a little later. */
async function takePlace(unfinished: string, path: string): Promise<void> {
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

/**
 * Writes a file through a fresh one beside it, which takes its name once everything is on the disk. The fresh one has a name that
 * no other call has, and is never one that was there: neither another call's nor what a link leads to.
 */
export async function writeWhole(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const folder = dirname(path);
  const unfinished = join(folder, `.${crypto.randomUUID()}.part`);
  const file = await open(unfinished, "wx");
  try {
    try {
      await write(file);
      await file.sync();
    } finally {
      await file.close();
    }
    await takePlace(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(folder);
}
