// Programs of a run on a GPU machine: each with a limit and a log, and none left when the run is interrupted.
import { spawn, type ChildProcess } from "node:child_process";
import { createWriteStream, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

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

const running = new Set<ChildProcess>();
let isStopping = false;

/** A program and all that it started are a process group; for a cell, the end of its first process is the end of all. */
function kill({ pid }: ChildProcess): void {
  // It was not started.
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Ends what runs; what is started later ends at once. */
export function stopPrograms() {
  isStopping = true;
  for (const child of running) kill(child);
}
export const isStopped = () => isStopping;

/**
 * Runs a program with a limit; its output goes to a log and comes back: {name, code, seconds, text, note}. isAlone: with no environment
 * but env.
 */
export function program(
  name: string,
  command: string,
  args: readonly string[],
  { limitMs, out, env = {}, cwd = root, isAlone = false }: ProgramOptions,
): Promise<Done> {
  if (isStopping) return Promise.resolve({ name, code: 130, seconds: 0, text: "", note: "interrupted" });
  return new Promise((done) => {
    const log = createWriteStream(join(out, `${name}.log`));
    const start = performance.now();
    let text = "";
    let isLate = false;
    const child = spawn(command, args, {
      cwd,
      env: isAlone ? env : { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    running.add(child);
    const timer = setTimeout(() => {
      isLate = true;
      kill(child);
    }, limitMs);
    const end = (code: number | null, message?: string) => {
      clearTimeout(timer);
      running.delete(child);
      log.end();
      const seconds = (performance.now() - start) / 1000;
      const note = isLate ? `stopped after ${limitMs / 1000} s` : isStopping ? "interrupted" : (message ?? "");
      done({ name, code, seconds, text, note });
    };
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        log.write(chunk);
        text += chunk.toString();
      });
    child.on("error", (error) => end(null, error.message));
    child.on("close", (code) => end(code));
  });
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
