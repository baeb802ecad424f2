// Runs suites one after the other, counts passed and failed tests, and prints a summary: suites that ran, suites that did not, and the reasons.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, problemOf, runProgram } from "../../tools/program.ts";
import { root } from "../../tools/project.ts";
import { describeFile } from "../describe-file.ts";
import { Failures, shortened } from "./failures.ts";
import { hasCommand, lackOf } from "./needs.ts";
import { refusal, type Budget, type Entry } from "./plan.ts";
import { limitOf, type Suite } from "./table.ts";

/** Lines that the summary spends on failures, of about sixty in all: a log viewer often shows only its end. */
const maxTold = 30;

export interface Ran {
  readonly name: string;
  readonly why: string;
  readonly minutes: number;
  readonly usualMinutes: number;
  readonly passed: number;
  readonly failed: number;
  /** What its output says of each failure, in lines. */
  readonly told: readonly (readonly string[])[];
}

export interface Skipped {
  readonly name: string;
  readonly why: string;
  readonly usualMinutes: number;
}

export interface Outcome {
  readonly ran: readonly Ran[];
  readonly skipped: readonly Skipped[];
}

interface RunContext {
  /** Minutes since the run began. */
  readonly elapsed: () => number;
  /** Where the run's output goes. */
  readonly write: (text: string) => void;
  /** The clone in which a suite fails that leaves files behind; null: no check, for somebody may be editing files. */
  readonly clone: string | null;
}

/** Files of a clone that git neither tracks nor ignores; none for null. */
function untracked(clone: string | null): ReadonlySet<string> {
  if (clone === null) return new Set();
  const lines = (ask("git", ["-C", clone, "-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all"]) ?? "").split(
    "\n",
  );
  return new Set(lines.filter((line) => line.startsWith("?? ")).map((line) => line.slice("?? ".length)));
}

/** What a suite left in the checkout: a failure of that suite, with the first bytes of each file, since they tell which test wrote it. */
function leftBehind(suite: string, clone: string | null, before: ReadonlySet<string>): string[] {
  return [...untracked(clone)]
    .filter((path) => !before.has(path))
    .map((path) => `${suite}: left behind ${path} (${describeFile(join(clone!, path))})`);
}

type Step = { readonly ran: Ran } | { readonly cut: string };

/** One suite. minutesLeft: minutes until the run has to end; what is ended then without a failure did not fail. */
async function runSuite(
  { suite, reason }: Entry,
  minutesLeft: number,
  env: NodeJS.ProcessEnv,
  { elapsed, write, clone }: RunContext,
): Promise<Step> {
  const limit = limitOf(suite);
  const failures = new Failures();
  let counts: { passed: number; failed: number } | null = null;
  const before = untracked(clone);
  const start = elapsed();
  const ended = await runProgram("bash", ["-c", suite.command], {
    cwd: root,
    env: { ...env, ...suite.env },
    limitMs: Math.min(limit, minutesLeft) * 60_000,
    keep: 0,
    onText: (text) => void write(text),
    onLine: (line) => {
      const match = /^(\d+) passed, (\d+) failed$/.exec(line);
      if (match !== null) counts = { passed: Number(match[1]), failed: Number(match[2]) };
      failures.take(line);
    },
  });
  const minutes = elapsed() - start;
  if (ended.isLate && minutesLeft < limit && !failures.hasFailed)
    return { cut: `ended after ${minutes.toFixed(0)} minutes, when the time was over; nothing had failed so far` };
  const problem = ended.isLate ? `not done after ${Math.min(limit, minutesLeft).toFixed(0)} minutes` : problemOf(ended);
  const found = (counts as { passed: number; failed: number } | null) ?? { passed: problem === null ? 1 : 0, failed: 0 };
  const left = leftBehind(suite.name, clone, before);
  for (const line of left) write(`${line}\n`);
  const failed = found.failed + (problem !== null && found.failed === 0 ? 1 : 0) + left.length;
  return {
    ran: {
      name: suite.name,
      why: reason,
      minutes,
      usualMinutes: suite.minutes,
      passed: found.passed,
      failed,
      told:
        failed > 0 ? [...failures.told, ...left.map((line) => [line]), ...(problem === null ? [] : [[`${suite.name}: ${problem}`]])] : [],
    },
  };
}

/** The compiler's cache, where there is one; it serves each clone and each package. */
const ccache = (): NodeJS.ProcessEnv =>
  hasCommand("ccache")
    ? { CMAKE_C_COMPILER_LAUNCHER: "ccache", CMAKE_CXX_COMPILER_LAUNCHER: "ccache", CCACHE_BASEDIR: root, CCACHE_NOHASHDIR: "1" }
    : {};

/** Runs the entries in their order, as the budget lets them begin; null: all of them, however long it takes. */
export async function runSuites(entries: readonly Entry[], budget: Budget | null, context: RunContext): Promise<Outcome> {
  const { elapsed, write } = context;
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-ci-"));
  const env = { ...ccache(), DXTENSOR_CI_FOLDER: folder };
  const [ran, skipped]: [Ran[], Skipped[]] = [[], []];
  const skip = (suite: Suite, why: string): void => {
    write(`\n!!!! SKIPPED: ${suite.name}: ${why}\n`);
    skipped.push({ name: suite.name, why, usualMinutes: suite.minutes });
  };
  let [hasRotated, broken] = [false, null as string | null];
  try {
    for (const entry of entries) {
      const { suite, why } = entry;
      const refused =
        broken ?? (budget === null ? null : refusal(entry, { elapsed: elapsed(), hasRotated }, budget)) ?? (await lackOf(suite));
      if (refused !== null) {
        skip(suite, refused);
        continue;
      }
      write(`\n==== ${suite.name}: ${entry.reason}; usually ${suite.minutes} min  (${elapsed().toFixed(1)} min)\n`);
      hasRotated ||= why === "rotation";
      // What always runs has its own limit alone.
      const left = budget === null || why === "always" ? Infinity : Math.max(0, budget.max - elapsed());
      const step = await runSuite(entry, left, env, context);
      if ("cut" in step) {
        skip(suite, step.cut);
        continue;
      }
      ran.push(step.ran);
      if (suite.required && step.ran.failed > 0) broken = `${suite.name} failed`;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return { ran, skipped };
}

const shown = (minutes: number): string => `${minutes.toFixed(1)} min`.padStart(9);

/** The suites that ran, those that did not with the reason, and all failures again: a log viewer may show only the end of a long log. */
export function summaryOf({ ran, skipped }: Outcome): string {
  const width = Math.max(...[...ran, ...skipped].map(({ name }) => name.length), 0);
  const usual = ({ minutes, usualMinutes }: Ran): string =>
    minutes > 2 * usualMinutes + 1 || minutes < usualMinutes / 2 - 1 ? ` (usually ${usualMinutes}: .ci/suites.yaml?)` : "";
  const failed = ran.filter((r) => r.failed > 0);
  const each = Math.max(4, Math.floor(maxTold / failed.length));
  return [
    ...ran.map((r) => `ran      ${r.name.padEnd(width)} ${shown(r.minutes)}  ${r.passed} passed, ${r.failed} failed; ${r.why}${usual(r)}`),
    ...skipped.map((s) => `not run  ${s.name.padEnd(width)} ${shown(s.usualMinutes)}  ${s.why}`),
    ...failed.flatMap((r) => [`failures of ${r.name}: ${r.failed}`, ...shortened(r.told, each).map((line) => `    ${line}`)]),
    ...(hasCommand("ccache") ? [`ccache: ${/Hits:\s+(.*)/.exec(ask("ccache", ["--show-stats"]) ?? "")?.[1] ?? "no figures"}`] : []),
  ].join("\n");
}
