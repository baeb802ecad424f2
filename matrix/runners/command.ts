/** Cells that an npm script of the repository prepares and runs by itself: Microsoft's library over Vulkan, and under Wine. */
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TestBuilder, isValid, type CTRFReport } from "ctrf";
import { reportOf } from "../../scripts/tools/ctrf.ts";
import type { Command, CommandPlatform } from "../config/schema.ts";
import { processProblem, runProcess } from "../run/process.ts";
import { at, root } from "../root.ts";
import type { Run } from "../types.ts";
import { nodeProgram, withPath } from "./host.ts";
import { failed, passed, type Outcome, type RunContext } from "./runner.ts";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** The closing line of every command here: "12 passed, 0 failed". */
export function readCounts(lines: readonly string[]): Counts | null {
  for (const line of lines.toReversed()) {
    const match = /^(\d+) passed, (\d+) failed\b/.exec(line);
    if (match !== null) return { passed: Number(match[1]), failed: Number(match[2]) };
  }
  return null;
}

/** The script's arguments for a run. */
export const commandArguments = (command: Command, run: Run): string[] =>
  [...command.arguments, ...(run.native ? [] : command.later)].map((text) => text.replaceAll("{node}", run.node));

/** A report of one test, for a command that left none. */
function summaryReport(name: string, counts: Counts | null, problem: string | null, durationMs: number): CTRFReport {
  const isGood = problem === null && counts !== null && counts.failed === 0 && counts.passed > 0;
  const message = [counts === null ? "no count" : `${counts.passed} passed, ${counts.failed} failed`, problem]
    .filter((part) => part !== null)
    .join("; ");
  const test = new TestBuilder()
    .name(name)
    .status(isGood ? "passed" : "failed")
    .duration(durationMs)
    .suite(["command"])
    .message(message)
    .build();
  return reportOf({ tool: name, tests: [test], start: Date.now() - durationMs });
}

/** The versions that a report tells, as text. */
function versionsOf(report: CTRFReport): Record<string, string> {
  const versions = report.results.environment?.extra?.["versions"];
  if (typeof versions !== "object" || versions === null) return {};
  return Object.fromEntries(
    Object.entries(versions)
      // A folder of this machine says nothing to whoever reads the report.
      .filter(([name, value]) => name !== "folder" && (typeof value === "string" || Array.isArray(value)))
      .map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : String(value)]),
  );
}

/** What a command said and how it ended make the outcome; `out` gets a report and facts where the command left none. */
export class CommandOutcome {
  readonly #tail: string[] = [];
  readonly #start = Date.now();
  readonly where: string;
  readonly line: string;

  constructor(where: string, script: string, args: readonly string[]) {
    this.where = where;
    this.line = ["npm run", script, ...(args.length === 0 ? [] : ["--", ...args])].join(" ");
  }

  onLine(line: string): void {
    this.#tail.push(line);
    if (this.#tail.length > 50) this.#tail.shift();
  }

  /** ended: how the command ended in words, null when all was well. */
  finish(out: string, ended: string | null): Outcome {
    const counts = readCounts(this.#tail);
    const problem =
      ended ?? (counts === null ? `${this.line} said no count of tests` : counts.failed > 0 ? `${counts.failed} failed` : null);
    const file = join(out, "ctrf.json");
    const own: unknown = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : null;
    const report = own !== null && isValid(own) ? (own as CTRFReport) : summaryReport(this.line, counts, problem, Date.now() - this.#start);
    writeFileSync(file, JSON.stringify(report));
    writeFileSync(join(out, "facts.json"), JSON.stringify({ command: this.line, ...versionsOf(report) }));
    return problem === null ? passed(this.where) : failed(this.where, problem);
  }
}

export async function runCommand(context: RunContext, platform: CommandPlatform): Promise<Outcome> {
  const { script, report } = platform.command;
  const args = commandArguments(platform.command, context.run);
  const outcome = new CommandOutcome("this machine", script, args);
  // Where the command brings versions of Node itself, the running one starts it.
  const { path } = platform.nodes === undefined ? await nodeProgram(context.run.node) : { path: null };
  const start = Date.now();
  const timeoutMs = context.timeoutMs + context.buildMs;
  const end = await runProcess({
    ...context,
    command: path === null ? "npm" : join(path, "npm"),
    args: ["run", script, "--", ...args],
    cwd: root,
    environment: { CI: "1", NO_COLOR: "1", FORCE_COLOR: undefined, ...withPath(path) },
    timeoutMs,
    onLine: (line) => {
      outcome.onLine(line);
      context.onLine(line);
    },
  });
  const made = at(report);
  // One of an earlier call is not this cell's.
  if (existsSync(made) && statSync(made).mtimeMs >= start) copyFileSync(made, join(context.out, "ctrf.json"));
  return outcome.finish(context.out, processProblem(end, outcome.line, timeoutMs));
}
