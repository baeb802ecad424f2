// Which processes there are.
import { readFileSync } from "node:fs";

/** Start time of a process in the kernel's ticks, "" when there is none: a pid that was given again is another process. */
export function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [state, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie owns nothing any more.
    return state === "Z" ? "" : (rest[18] ?? "");
  } catch {
    return "";
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
