// Counting of test results over several programs, and the closing line.
import { problemOf, runProgram } from "./program.ts";
import { root, say } from "./project.ts";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** "12 passed, 0 failed, 3 skipped" in a program's output: the last such line counts. */
export function readCounts(line: string): Counts | null {
  const match = /(\d+) passed[,;]?\s+(\d+) failed(?:[,;]?\s+(\d+) skipped)?/.exec(line);
  return match === null ? null : { passed: Number(match[1]), failed: Number(match[2]), skipped: Number(match[3] ?? 0) };
}

export const sum = (counts: readonly Counts[]): Counts =>
  counts.reduce((a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }), {
    passed: 0,
    failed: 0,
    skipped: 0,
  });

/**
 * Runs a test program with its output shown. A program that fails without saying how often counts as one failure, so does one
 * that a signal ended; one that succeeds without a count as one pass.
 */
export async function countProgram(
  name: string,
  command: string,
  args: readonly string[],
  {
    env = {},
    timeoutMs = 30 * 60_000,
    output = "stdout",
  }: { readonly env?: NodeJS.ProcessEnv; readonly timeoutMs?: number; readonly output?: "stdout" | "stderr" } = {},
): Promise<Counts> {
  say(`\n== ${name}`);
  let counts: Counts | null = null;
  const ended = await runProgram(command, args, {
    cwd: root,
    env,
    limitMs: timeoutMs,
    stderr: "inherit",
    keep: 0,
    onText: (text) => void process[output].write(text),
    onLine: (line) => {
      counts = readCounts(line) ?? counts;
    },
  });
  const problem = problemOf(ended);
  const told = counts as Counts | null;
  const found = told ?? { passed: problem === null ? 1 : 0, failed: 0, skipped: 0 };
  if (problem === null) return found;
  say(`== ${name}: ${problem}`);
  return found.failed === 0 ? { ...found, failed: 1 } : found;
}

/** Prints the last line of a run and returns the exit status. */
export function close(counts: readonly Counts[]): number {
  const { passed, failed, skipped } = sum(counts);
  if (skipped > 0) process.stdout.write(`${skipped} skipped\n`);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 && passed > 0 ? 0 : 1;
}
