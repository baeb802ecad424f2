// The report of npm run verify:windows, in the Common Test Report Format: tests of the steps' own reports, else one for each that a step counted.
import { existsSync, readFileSync } from "node:fs";
import { TestBuilder } from "ctrf";
import { writeCtrf } from "./ctrf.ts";

function counted({ name, passed, failed, skipped, seconds, problem }) {
  const tests = [];
  const add = (status, count) => {
    for (let i = 1; i <= count; i++)
      tests.push(new TestBuilder().name(`${name}: ${status} ${i}`).status(status).duration(0).suite([name]).build());
  };
  add("passed", passed);
  add("skipped", skipped);
  for (let i = 1; i <= failed; i++) {
    const test = new TestBuilder().name(`${name}: failed ${i}`).status("failed").duration(0).suite([name]);
    tests.push(test.message(problem ?? "see the output").build());
  }
  if (tests.length > 0) tests[0].duration = Math.round(seconds * 1000);
  return tests;
}

/** The step's own report, unless it knows less than the step's counts. */
function ownTests(step, report) {
  if (report === undefined || !existsSync(report)) return null;
  const { results } = JSON.parse(readFileSync(report, "utf8"));
  const failed = results.tests.filter(({ status }) => status === "failed").length;
  if (failed < step.failed) return null;
  return results.tests.map((test) => ({ ...test, suite: [step.name, ...(test.suite ?? [])] }));
}

/** results: what became of each step; reports: a step's own report by its name. */
export function writeReport(file, { results, reports, start, versions, leftOut, isQuick }) {
  const tests = results.flatMap((step) => ownTests(step, reports.get(step.name)) ?? counted(step));
  writeCtrf(file, { tool: "dxtensor verify:windows", tests, start, extra: { versions, leftOut, isQuick } });
}
