// A file in one line: its size, time and first bytes. A check that finds an unexpected file prints it, so that a log tells who wrote it.
import { closeSync, lstatSync, openSync, readSync } from "node:fs";

const FIRST = 120;

/** `12 bytes, 2026-01-31T10:00:00.000Z, begins "text"`. */
export function describeFile(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return "gone";
  const when = stats.mtime.toISOString();
  if (!stats.isFile()) return `no regular file, ${when}`;
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(FIRST);
    const count = readSync(file, bytes);
    return `${stats.size} bytes, ${when}, begins ${JSON.stringify(bytes.toString("latin1", 0, count))}`;
  } finally {
    closeSync(file);
  }
}
