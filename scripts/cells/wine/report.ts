// The report of npm run verify:windows, in the Common Test Report Format: tests of the steps' own reports, else one for each that a step counted.
import { existsSync, readFileSync } from "node:fs";
import { TestBuilder, type CTRFReport, type Test } from "ctrf";
import type { Counts } from "../../tools/counts.ts";
import { writeCtrf } from "../../tools/ctrf.ts";
import { partOf } from "../../conformance/schema.ts";

/** What became of a step. */
export interface StepResult extends Counts {
  readonly name: string;
  readonly seconds: number;
  readonly problem?: string | undefined;
}

function counted({ name, passed, failed, skipped, seconds, problem }: StepResult): Test[] {
  const tests: Test[] = [];
  const add = (status: "passed" | "skipped", count: number) => {
    for (let i = 1; i <= count; i++)
      tests.push(new TestBuilder().name(`${name}: ${status} ${i}`).status(status).duration(0).suite([name]).build());
  };
  add("passed", passed);
  add("skipped", skipped);
  for (let i = 1; i <= failed; i++) {
    const test = new TestBuilder().name(`${name}: failed ${i}`).status("failed").duration(0).suite([name]);
    tests.push(test.message(problem ?? "see the output").build());
  }
  if (tests.length > 0) tests[0]!.duration = Math.round(seconds * 1000);
  return tests;
}

/** The step's own report, unless it knows less than the step's counts. */
function ownReport(step: StepResult, file: string | undefined): CTRFReport | null {
  if (file === undefined || !existsSync(file)) return null;
  const report = JSON.parse(readFileSync(file, "utf8")) as CTRFReport;
  return report.results.tests.filter(({ status }) => status === "failed").length < step.failed ? null : report;
}

interface Run {
  readonly results: readonly StepResult[];
  readonly reports: ReadonlyMap<string, string>;
  readonly start: number;
  readonly versions: object;
  readonly leftOut: readonly object[];
  readonly isQuick: boolean;
}

/**
 * results: what became of each step; reports: a step's own report by its name. What such a report says of its device is told of the step, as in each report of
 * several runs.
 */
export function writeReport(file: string, { results, reports, start, ...about }: Run): void {
  const parts: Record<string, unknown> = {};
  const tests = results.flatMap((step) => {
    const own = ownReport(step, reports.get(step.name));
    if (own === null) return counted(step);
    const part = partOf(own);
    if (part !== undefined) parts[step.name] = part;
    return own.results.tests.map((test) => ({ ...test, suite: [step.name, ...(test.suite ?? [])] }));
  });
  const extra = Object.keys(parts).length === 0 ? {} : { conformanceRuns: parts };
  writeCtrf(file, { tool: "dxtensor verify:windows", tests, start, environment: { extra: about }, extra });
}
