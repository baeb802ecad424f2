// Seconds that test files usually take: kept for each run, so that a run of a few files can estimate its time.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Test } from "ctrf";

/** A file of which nothing is known: the mean of all. */
const guess = 4;
/** To start a worker and to read the library. */
const start = 1;

type Seconds = Readonly<Record<string, number>>;

function read(file: string): Seconds {
  try {
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Seconds) : {};
  } catch {
    // Two runs at once may leave half of it: it is made again.
    return {};
  }
}

/** Adds those of a run. A file of which tests were left out, as by their names, keeps what is known. */
export function keepSeconds(file: string, tests: readonly Test[]): void {
  const found: Record<string, number> = {};
  const partly = new Set<string>();
  for (const { filePath, duration, status } of tests) {
    if (filePath === undefined) continue;
    found[filePath] = (found[filePath] ?? start) + duration / 1000;
    if (status !== "passed" && status !== "failed") partly.add(filePath);
  }
  const known = read(file);
  const kept = Object.fromEntries(Object.entries(found).filter(([path]) => !partly.has(path) || known[path] === undefined));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...known, ...kept }));
}

export function usualSeconds(file: string): (path: string) => number {
  const known = read(file);
  return (path) => known[path] ?? guess;
}
