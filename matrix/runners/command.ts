/** Cells that an npm script of the repository prepares and runs by itself: Microsoft's library over Vulkan, and under Wine. */
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ReportBuilder, TestBuilder, isValid, validateStrict } from "ctrf";
import { processProblem, runProcess } from "../run/process.ts";
import { at, root } from "../root.ts";
import type { Platform } from "../config/schema.ts";
import { nodeProgram, withPath } from "./host.ts";
import { failed, passed, type Outcome, type RunContext } from "./runner.ts";

type CommandPlatform = Extract<Platform, { runner: "command" }>;

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

/** A report of one test, for a command that writes none of its own. */
function writeSummary(file: string, name: string, counts: Counts | null, problem: string | null, durationMs: number): void {
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
  const report = new ReportBuilder().tool({ name }).generatedBy("dxtensor").addTests([test]).build();
  validateStrict(report);
  writeFileSync(file, JSON.stringify(report));
}

export async function runCommand(context: RunContext, platform: CommandPlatform): Promise<Outcome> {
  const { script, arguments: args } = platform;
  const where = `npm run ${script}`;
  // Where the command brings versions of Node itself, the running one starts it.
  const { program, path } = platform.nodes === undefined ? await nodeProgram(context.run.node) : { program: process.execPath, path: null };
  const report = join(context.out, "ctrf.json");
  const tail: string[] = [];
  const start = Date.now();
  const timeoutMs = context.timeoutMs + context.buildMs;
  const end = await runProcess({
    ...context,
    command: path === null ? "npm" : join(path, "npm"),
    args: ["run", script, "--", ...args],
    cwd: root,
    environment: { CI: "1", NO_COLOR: "1", FORCE_COLOR: undefined, DXTENSOR_CTRF: report, ...withPath(path) },
    timeoutMs,
    onLine: (line) => {
      tail.push(line);
      if (tail.length > 50) tail.shift();
      context.onLine(line);
    },
  });
  const counts = readCounts(tail);
  const ended = processProblem(end, where, timeoutMs);
  const problem = ended ?? (counts === null ? `${where} said no count of tests` : counts.failed > 0 ? `${counts.failed} failed` : null);
  const own = platform.report === undefined ? null : at(platform.report);
  // One of an earlier call is not this cell's.
  if (own !== null && existsSync(own) && statSync(own).mtimeMs >= start) copyFileSync(own, report);
  const hasReport = existsSync(report) && isValid(JSON.parse(readFileSync(report, "utf8")));
  if (!hasReport) writeSummary(report, where, counts, problem, Date.now() - start);
  const facts = join(context.out, "facts.json");
  if (!existsSync(facts)) writeFileSync(facts, JSON.stringify({ command: where, node: context.run.node, program }));
  return problem === null ? passed(where) : failed(where, problem);
}
