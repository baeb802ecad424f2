// Programs of a run on a GPU machine: each with a limit and a log, and none left when the run is interrupted.
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runProgram } from "../../scripts/tools/program.ts";

export interface Counts {
  passed: number;
  failed: number;
}

export interface Failure {
  readonly name: string;
  readonly message: string;
}

interface Report {
  readonly results: { readonly tests: readonly { readonly name: string; readonly status: string; readonly message?: string }[] };
}

interface ProgramOptions {
  readonly limitMs: number;
  readonly out: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly isAlone?: boolean;
}

/** What came of a program. code: null where it was not started. */
export interface Done {
  readonly name: string;
  readonly code: number | null;
  readonly seconds: number;
  readonly text: string;
  readonly note: string;
}

/** Where the archives were unpacked. */
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const at = (...parts: string[]) => join(root, ...parts);
export const node = at("bin", "node");

const stopping = new AbortController();

/** Ends what runs, with all that it started (for a cell, the end of its first process is the end of all); what is started later ends at once. */
export const stopPrograms = () => stopping.abort();
export const isStopped = () => stopping.signal.aborted;

/**
 * Runs a program with a limit; its output goes to a log and comes back: {name, code, seconds, text, note}. isAlone: with no environment
 * but env.
 */
export async function program(
  name: string,
  command: string,
  args: readonly string[],
  { limitMs, out, env = {}, cwd = root, isAlone = false }: ProgramOptions,
): Promise<Done> {
  if (isStopped()) return { name, code: 130, seconds: 0, text: "", note: "interrupted" };
  const log = createWriteStream(join(out, `${name}.log`));
  const onText = (text: string): void => void log.write(text);
  const ended = await runProgram(command, args, { cwd, env, isAlone, limitMs, signal: stopping.signal, onText });
  log.end();
  const note = ended.isLate ? `stopped after ${limitMs / 1000} s` : isStopped() ? "interrupted" : (ended.error ?? "");
  return { name, code: ended.code, seconds: ended.ms / 1000, text: ended.text, note };
}

export const json = (file: string): unknown => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null);

/** The last line "N passed, N failed" of an output, which may count what was skipped, too. */
export function counts(text: string): Counts | null {
  const found = [...text.matchAll(/^(\d+) passed, (\d+) failed(?:, \d+ skipped)?\r?$/gm)].at(-1);
  return found === undefined ? null : { passed: Number(found[1]), failed: Number(found[2]) };
}

export function lastJson(text: string): unknown {
  for (const line of text.trimEnd().split("\n").toReversed())
    if (line.startsWith("{"))
      try {
        return JSON.parse(line);
      } catch {
        // A line of a log that begins like an object.
      }
  return null;
}

/** Failed tests of a report in the Common Test Report Format. */
export const failuresOf = (report: unknown): Failure[] =>
  report === null
    ? []
    : (report as Report).results.tests.filter((t) => t.status === "failed").map((t) => ({ name: t.name, message: t.message ?? "" }));
