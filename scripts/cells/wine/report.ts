// The report of npm run verify:windows, in the Common Test Report Format: tests of the steps' own reports, else one for each that a step counted.
import { existsSync, readFileSync } from "node:fs";
import { TestBuilder, type CTRFReport, type Test } from "ctrf";
import type { Counts } from "../../tools/counts.ts";
import { writeCtrf } from "../../tools/ctrf.ts";

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
function ownTests(step: StepResult, report: string | undefined): Test[] | null {
  if (report === undefined || !existsSync(report)) return null;
  const { results } = JSON.parse(readFileSync(report, "utf8")) as CTRFReport;
  const failed = results.tests.filter(({ status }) => status === "failed").length;
  if (failed < step.failed) return null;
  return results.tests.map((test) => ({ ...test, suite: [step.name, ...(test.suite ?? [])] }));
}

interface Run {
  readonly results: readonly StepResult[];
  readonly reports: ReadonlyMap<string, string>;
  readonly start: number;
  readonly versions: object;
  readonly leftOut: readonly object[];
  readonly isQuick: boolean;
}

/** results: what became of each step; reports: a step's own report by its name. */
export function writeReport(file: string, { results, reports, start, ...extra }: Run): void {
  const tests = results.flatMap((step) => ownTests(step, reports.get(step.name)) ?? counted(step));
  writeCtrf(file, { tool: "dxtensor verify:windows", tests, start, environment: { extra } });
}
