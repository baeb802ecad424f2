/**
 * Temporary files of a save: hidden, in the folder of the target file, with the process in their name. A killed process leaves its file; the next
 * save into the folder removes it.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";

/** After so long without a write an unfinished file is nobody's, whatever machine it came from. */
const ABANDONED_MS = 7 * 24 * 3600 * 1000;

const attempt = (read: () => string): string => {
  try {
    return read();
  } catch {
    // Not Linux, or not allowed.
    return "";
  }
};

let own: string | null = null;

/** The machine since it was started, and where in it process ids count: in another container the same number is another process. */
function ownHost(): string {
  own ??= process
    .getBuiltinModule("node:crypto")
    .createHash("sha256")
    .update(hostname())
    .update(attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8")))
    .update(attempt(() => readlinkSync("/proc/self/ns/pid")))
    .digest("hex")
    .slice(0, 16);
  return own;
}

/** When a process began, in the system's own count; "0" where nobody says. Linux gives the same id to another process sooner or later. */
function startOf(pid: number): string {
  const text = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  // The name, which may hold anything, is in parentheses.
  return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "0";
}

/** This process, among those of all machines. */
export const ownProcess = (): string => `${ownHost()}-${process.pid}-${startOf(process.pid)}`;

/** A name that no other call has, in no process of no machine. */
export const unfinishedName = (): string => `.dxtensor-${ownProcess()}-${crypto.randomUUID()}.part`;

const pattern = /^\.dxtensor-([0-9a-f]{16}-\d+-\d+)-[0-9a-f-]{36}\.part$/;

function isAlive(pid: number, start: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: somebody else's, but there.
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = startOf(pid);
  return now === "0" || start === "0" || now === start;
}

/** Whether a process, as ownProcess() names it, has ended. Of another machine's nobody knows: a week after its file was written it counts as ended. */
export function hasEnded(name: string, writtenMs: number): boolean {
  const [, host, pid, start] = /^([0-9a-f]{16})-(\d+)-(\d+)$/.exec(name) ?? [];
  if (host === ownHost()) return !isAlive(Number(pid), start!);
  return Date.now() - writtenMs >= ABANDONED_MS;
}

/** Removes what processes that have ended left unfinished in a folder. Never throws, and never touches what a live process writes. */
export async function removeStale(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const match = pattern.exec(name);
    if (match === null) continue;
    const path = join(folder, name);
    const stats = await lstat(path).catch(() => null);
    if (stats === null || !stats.isFile() || !hasEnded(match[1]!, stats.mtimeMs)) continue;
    await rm(path, { force: true }).catch(() => {});
  }
}
