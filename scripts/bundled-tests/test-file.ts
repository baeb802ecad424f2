// Runs one test file of the bundle in a separate process, and reads the results of its tests.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestBuilder, type Test } from "ctrf";
import { problemOf, runProgram } from "../tools/program.ts";
import type { Report } from "./report.ts";

/** The folder of the bundle. */
export const root = dirname(fileURLToPath(import.meta.url)).replace(/[\\/]chunks[\\/]library$/, "");

interface Manifest {
  readonly version: string;
  readonly files: readonly string[];
  readonly leftOut: readonly { readonly file: string; readonly reason: string }[];
}
export const readManifest = (): Manifest => JSON.parse(readFileSync(join(root, "manifest.json"), "utf8"));

export type Outcome = Omit<Report, "isComplete">;
export interface FileResult extends Outcome {
  readonly name: string;
  readonly ms: number;
}
interface FileOptions {
  readonly timeoutMs: number;
  readonly pattern: string | undefined;
  readonly isQuiet: boolean;
  readonly signal: AbortSignal;
  /** The folder that it runs in (default: the bundle's). */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What the process writes on standard error is not shown; its last lines are part of the failure if it crashes. */
  readonly isSilent?: boolean;
}

/** Characters and lines of a process's standard error that a failure shows. */
const LAST = { characters: 1 << 16, lines: 12 };

/** The last lines of what a process wrote before it crashed, as the end of a failure's message. */
function lastLines(text: string): string {
  // What the device wrote comes before Node's own traces.
  const [before, ...traces] = text.split(/^-{5} Native stack trace -{5}$/m);
  const lines = (before!.trim() === "" ? traces.join("") : before!).trimEnd().split("\n").slice(-LAST.lines);
  return lines.join("") === "" ? "" : `\nlast lines of its standard error:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

/** What a file's process wrote, with the crash or the time limit that ended it. */
function outcome(report: string, how: string | null, stderr: string): Outcome {
  const known: Report = existsSync(report) ? JSON.parse(readFileSync(report, "utf8")) : { isComplete: false, tests: [], broken: [] };
  if (how === null && known.isComplete) return known;
  const running = existsSync(`${report}.running`) ? `, in or after the test "${readFileSync(`${report}.running`, "utf8")}"` : "";
  // A test that was not reached did not pass: what ends a process early must not hide the tests behind it.
  const tests = known.tests.map((test) =>
    test.status === "other" ? { ...test, status: "failed" as const, message: "not reached: the process ended before it" } : test,
  );
  return { tests, broken: [...known.broken, `${how ?? "the process ended without a report"}${running}${lastLines(stderr)}`] };
}

export async function runFile(
  name: string,
  { timeoutMs, pattern, isQuiet, signal, cwd = root, env = {}, isSilent = false }: FileOptions,
): Promise<FileResult> {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-tests-"));
  const report = join(folder, "report.json");
  const start = performance.now();
  try {
    const args = ["--expose-gc", "--enable-source-maps", join(root, "file.mjs"), name, report, ...(pattern === undefined ? [] : [pattern])];
    const stdout = isQuiet ? "ignore" : "inherit";
    // Who ends this program by force ends the file's process too.
    const stderr = isSilent ? "pipe" : "inherit";
    // Tests of the cache turn it on, in folders of their own: vitest.config.ts does the same.
    const options = {
      cwd,
      env: { DXTENSOR_SHADER_CACHE: "0", ...env },
      limitMs: timeoutMs,
      signal,
      stdout,
      stderr,
      keep: LAST.characters,
      isGroup: false,
    } as const;
    const ended = await runProgram(process.execPath, args, options);
    const problem = problemOf(ended);
    const how = problem === null ? null : ended.isLate ? `stopped after ${timeoutMs / 1000} s` : `the process ${problem}`;
    return { name, ...outcome(report, how, ended.text), ms: performance.now() - start };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A file's tests for the report; what failed in addition to them is a failed test with the file's name. */
export const testsOf = ({ name, tests, broken }: Pick<FileResult, "name" | "tests" | "broken">): Test[] => [
  ...tests.map(({ name: test, suites, status, duration, message, trace }) => {
    const builder = new TestBuilder()
      .name(test)
      .status(status)
      .duration(duration)
      .suite([name, ...suites])
      .filePath(name);
    if (message !== undefined) builder.message(message);
    if (trace !== undefined) builder.trace(trace);
    return builder.build();
  }),
  ...broken.map((problem) =>
    new TestBuilder().name(name).status("failed").duration(0).suite([name]).filePath(name).message(problem).build(),
  ),
];
