// One build at a time in one folder: neither ninja nor make guards against two.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ScriptError, say } from "./project.ts";

function holder(file: string): number {
  try {
    return Number(readFileSync(file, "utf8"));
  } catch {
    return 0;
  }
}

function isAlive(pid: number): boolean {
  if (pid === 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Runs body while holding the lock file, which bears the holder's process id; one left by a dead process is taken over. */
export async function withLock<T>(file: string, body: () => Promise<T>, timeoutMs = 15 * 60_000): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const end = Date.now() + timeoutMs;
  for (let told = false; ;) {
    try {
      writeFileSync(file, String(process.pid), { flag: "wx" });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const pid = holder(file);
    if (!isAlive(pid)) {
      // An empty file may be one that is being written right now.
      await sleep(100);
      if (holder(file) === pid) rmSync(file, { force: true });
      continue;
    }
    if (!told) say(`waiting for the build of process ${pid} (${file})`);
    told = true;
    if (Date.now() > end)
      throw new ScriptError(
        "LOCKED",
        `${file} was held by process ${pid} for ${timeoutMs / 1000} s.`,
        "End that process, or delete the file.",
      );
    await sleep(200);
  }
  try {
    return await body();
  } finally {
    rmSync(file, { force: true });
  }
}
