/** The owner of a run's objects: labels and a variable that distinguish a dead run's leftovers from a living run's objects. */
import { hostname } from "node:os";
import { randomBytes } from "node:crypto";
import { isRunning, startTime } from "../../scripts/tools/process.ts";

export interface Owner {
  /** "20261121-171500-3f2a": names the run's folder. */
  readonly run: string;
  readonly pid: number;
  /** Start of the process in the kernel's ticks; "" where /proc is not there. A pid that was given again is another process. */
  readonly start: string;
  readonly host: string;
}

export function newOwner(now = new Date()): Owner {
  const stamp = now.toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return { run: `${stamp}-${randomBytes(2).toString("hex")}`, pid: process.pid, start: startTime(process.pid), host: hostname() };
}

/** Whether the process still runs. Elsewhere than on Linux the number alone decides. */
export const isAlive = (owner: Owner): boolean =>
  process.platform === "linux" ? owner.start !== "" && startTime(owner.pid) === owner.start : isRunning(owner.pid);

const prefix = "dxtensor.matrix";

/** Marks what lives as long as a run. */
export const ownerLabels = (owner: Owner): Record<string, string> => ({
  [prefix]: "run",
  [`${prefix}.run`]: owner.run,
  [`${prefix}.pid`]: String(owner.pid),
  [`${prefix}.start`]: owner.start,
  [`${prefix}.host`]: owner.host,
});

/** Marks what is kept from run to run: `matrix clean --all` removes it. */
export const cacheLabels = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({ [prefix]: "cache", ...more });

export const label = prefix;

/** The owner that labels name, null when they are no run's. */
export function readOwner(labels: Readonly<Record<string, string>>): Owner | null {
  if (labels[prefix] !== "run") return null;
  return {
    run: labels[`${prefix}.run`] ?? "",
    pid: Number(labels[`${prefix}.pid`]),
    start: labels[`${prefix}.start`] ?? "",
    host: labels[`${prefix}.host`] ?? "",
  };
}

/** The variable by which processes of a run are found, and its value. */
export const variable = "DXTENSOR_MATRIX_OWNER";
export const variableValue = (owner: Owner): string => [owner.run, owner.pid, owner.start, owner.host].join("/");

export function readVariable(value: string): Owner | null {
  const [run, pid, start, host, ...rest] = value.split("/");
  if (run === undefined || pid === undefined || start === undefined || host === undefined || rest.length > 0) return null;
  return { run, pid: Number(pid), start, host };
}

/** Begins the names of folders that live as long as a run; the name tells whose they are. */
const folderPrefix = "dxtensor-matrix-";
export const folderName = (owner: Owner): string => `${folderPrefix}${owner.pid}-${owner.start}-`;

export function readFolderName(name: string): Owner | null {
  const match = /^dxtensor-matrix-(\d+)-(\d*)-/.exec(name);
  return match === null ? null : { run: "", pid: Number(match[1]), start: match[2]!, host: hostname() };
}
