/**
 * One message a day and one identifier a month, for all processes of a user. The file system decides between them: a file of a date or a month is
 * created once. Nothing is locked, so nothing stays locked.
 */
import { linkSync, lstatSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** "2026-11-27", UTC. */
export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** "2026-11" */
export const monthOf = (day: string): string => day.slice(0, 7);

const LAST = /^last-(\d{4}-\d\d-\d\d)$/;
const IDENTIFIER = /^identifier-\d{4}-\d\d$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The latest day that the names of the folder's files tell of. */
export function lastDay(names: readonly string[]): string | null {
  const days = names.flatMap((name) => LAST.exec(name)?.[1] ?? []);
  return days.toSorted().at(-1) ?? null;
}

/** The earliest day of the next message: today, or the day after the last one, where the clock has jumped back too. */
export function nextDay(last: string | null, today: string): string {
  if (last === null || last < today) return today;
  const next = new Date(`${last}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return dayOf(next);
}

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

const isFrom = (names: readonly string[], day: string): boolean => (lastDay(names) ?? "") >= day;

/** Whether the day's message is this process's to send: true once a day for all processes. Throws where the folder cannot be written. */
export function claimDay(folder: string, day: string): boolean {
  if (isFrom(readdirSync(folder), day)) return false;
  const own = `last-${day}`;
  try {
    writeFileSync(join(folder, own), "", { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
  // Whoever claimed a later day since the first look may have deleted this day's file, which another had created.
  const names = readdirSync(folder).filter((name) => LAST.test(name));
  const isLatest = lastDay(names) === day;
  for (const name of names) if (name < own || (name === own && !isLatest)) rmSync(join(folder, name), { force: true });
  return isLatest;
}

/** The month's identifier; null where there is none. */
export function readIdentifier(folder: string, month: string): string | null {
  const path = join(folder, `identifier-${month}`);
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined || !stats.isFile() || stats.size > 64) return null;
  const text = readFileSync(path, "utf8").trim();
  return UUID.test(text) ? text : null;
}

/** The month's identifier, which is `made` where there is none yet; those of other months are deleted. Throws where the folder cannot be written. */
export function keepIdentifier(folder: string, month: string, made: string = crypto.randomUUID()): string {
  const known = readIdentifier(folder, month);
  if (known !== null) return known;
  const path = join(folder, `identifier-${month}`);
  const temporary = join(folder, `${crypto.randomUUID()}.new`);
  writeFileSync(temporary, `${made}\n`, { flag: "wx", mode: 0o600 });
  try {
    // Unlike a rename it fails where another process was first, and unlike a write it never shows a part.
    linkSync(temporary, path);
  } catch {
    // Another was first; or the file is damaged, or the file system has no links.
    if (readIdentifier(folder, month) === null) renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
  for (const name of readdirSync(folder))
    if (IDENTIFIER.test(name) && name !== `identifier-${month}`) rmSync(join(folder, name), { force: true });
  const kept = readIdentifier(folder, month);
  if (kept === null) throw new Error(`${path} cannot be written`);
  return kept;
}
