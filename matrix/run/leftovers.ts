/** Processes and folders of dead runs on this machine. Processes are found by the variable that every child inherits. */
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { dropUnfinished } from "./nodes.ts";
import { isAlive, readFolderName, readVariable, variable, type Owner } from "./owner.ts";

const isLeftover = (owner: Owner | null): boolean => owner !== null && owner.host === hostname() && !isAlive(owner);

/** Processes whose run is over: [pid, run]. Only Linux shows the environment of a process. */
export function findProcesses(): [number, string][] {
  if (!existsSync("/proc/self/environ")) return [];
  const found: [number, string][] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    let environment: string;
    try {
      environment = readFileSync(`/proc/${name}/environ`, "utf8");
    } catch {
      // It has ended, or is another user's.
      continue;
    }
    const value = environment.split("\0").find((entry) => entry.startsWith(`${variable}=`));
    const owner = value === undefined ? null : readVariable(value.slice(variable.length + 1));
    if (owner !== null && isLeftover(owner)) found.push([Number(name), owner.run]);
  }
  return found;
}

export interface Removed {
  readonly processes: number;
  readonly folders: number;
}

/** Ends the processes and removes the folders of runs that are over. */
export function removeLeftovers(): Removed {
  const processes = findProcesses();
  for (const [pid] of processes) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
  let folders = 0;
  for (const name of readdirSync(tmpdir())) {
    if (!isLeftover(readFolderName(name))) continue;
    rmSync(join(tmpdir(), name), { recursive: true, force: true });
    folders++;
  }
  return { processes: processes.length, folders: folders + dropUnfinished().length };
}
