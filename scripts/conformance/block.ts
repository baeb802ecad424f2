// What a report says of the device that its tests ran on: results.extra.conformance, from what became of each test file.
import type { Test } from "ctrf";
import type { DeviceFacts } from "./device.ts";
import type { Conformance, SetResult } from "./schema.ts";
import { SETS, filesOf, type TestSet } from "./sets.ts";

export type Fallback = Conformance["fellBack"][number];

/** A test file with its tests; what failed in addition to them is a test with the file's name. */
export interface FileTests {
  readonly name: string;
  readonly seconds: number;
  readonly tests: readonly Pick<Test, "name" | "status">[];
  readonly fellBack?: readonly Fallback[];
}

interface Parts {
  /** When the run began, in ISO 8601. */
  readonly date: string;
  readonly version: string;
  readonly facts: DeviceFacts;
  readonly done: readonly FileTests[];
  /** The test files of the version that may be in sets. */
  readonly files: readonly string[];
  readonly only: string | null;
  /** What fell back in an earlier part of the run. */
  readonly fellBack?: readonly Fallback[];
}

const countsOf = (done: readonly FileTests[]) => {
  const tests = done.flatMap((file) => file.tests);
  const count = (status: string): number => tests.filter((test) => test.status === status).length;
  const [passed, failed] = [count("passed"), count("failed")];
  const seconds = Math.round(done.reduce((n, file) => n + file.seconds, 0) * 10) / 10;
  return { passed, failed, skipped: tests.length - passed - failed, seconds };
};

function setResult(set: TestSet, { done, files: all, only }: Parts): SetResult {
  const files = filesOf(set, all);
  const mine = done.filter(({ name }) => files.includes(name));
  return {
    name: set.name,
    files: mine.length,
    ofFiles: files.length,
    ...countsOf(mine),
    // A file that ended before its tests were known has none but a failure of its own.
    isComplete: only === null && mine.length === files.length && mine.every(({ tests, name }) => tests.some((test) => test.name !== name)),
  };
}

/** The same operation for the same reason once. */
function mergedFallbacks(lists: readonly Fallback[]): Fallback[] {
  const merged = new Map<string, Fallback>();
  for (const one of lists) {
    const key = `${one.operation}|${one.reason}`;
    merged.set(key, { ...one, calls: one.calls + (merged.get(key)?.calls ?? 0) });
  }
  return [...merged.values()].toSorted((a, b) => a.operation.localeCompare(b.operation));
}

/** The block. Tests of files that are in no set are counted for themselves. */
export function conformanceBlock(parts: Parts): Conformance {
  const { date, version, facts, done, files, only, fellBack = [] } = parts;
  const inSets = new Set(SETS.flatMap((set) => filesOf(set, files)));
  const outside = done.filter(({ name }) => !inSets.has(name));
  return {
    formatVersion: 1,
    date,
    device: facts.device,
    versions: { dxtensor: version, node: process.version, directml: facts.directml },
    system: facts.system,
    sets: SETS.map((set) => setResult(set, parts)).filter((set) => set.files > 0),
    ...(outside.length === 0 ? {} : { outside: { files: outside.map(({ name }) => name).toSorted(), ...countsOf(outside) } }),
    fellBack: mergedFallbacks([...fellBack, ...done.flatMap((file) => file.fellBack ?? [])]),
    only,
  };
}

/** The tests of a report by file. A file takes as long as its tests. */
export function byFile(tests: readonly Test[]): readonly FileTests[] {
  const files = new Map<string, Test[]>();
  for (const test of tests) files.set(test.filePath ?? "", [...(files.get(test.filePath ?? "") ?? []), test]);
  return [...files].map(([name, own]) => ({ name, seconds: own.reduce((n, { duration }) => n + duration / 1000, 0), tests: own }));
}
