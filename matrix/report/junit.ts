/** JUnit XML, which CI servers read: one suite for each run, and one for the cells that were not run. */
import type { Test } from "ctrf";
import junit, { type Builder } from "junit-report-builder";
import type { RunRecord } from "../run/store.ts";
import { cellResults } from "./results.ts";

/** The package is CommonJS whose types are those of a module with a default: what is imported is a builder itself. */
const newBuilder = (): Builder => (junit as unknown as { newBuilder(): Builder }).newBuilder();

// XML 1.0 cannot represent them.
// oxlint-disable-next-line no-control-regex
const clean = (text: string): string => text.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "?");

export function junitReport(record: RunRecord, tests: ReadonlyMap<string, readonly Test[]>): string {
  const builder = newBuilder();
  const cells = cellResults(record);
  for (const run of record.plan.runs) {
    const result = record.results.find(({ id }) => id === run.id);
    if (result === undefined) continue;
    const suite = builder
      .testSuite()
      .name(clean(run.id))
      .timestamp(new Date(result.startedAt))
      .time((result.endedAt - result.startedAt) / 1000)
      .property("evidence", cells.find(({ cell }) => cell.run === run.id)?.cell.evidence ?? "")
      .property("cells", run.cells.join(" "));
    for (const [name, value] of Object.entries(result.facts)) suite.property(name, clean(value));
    for (const test of tests.get(run.id) ?? []) {
      const [file = "", ...suites] = Array.isArray(test.suite) ? test.suite : [];
      const one = suite
        .testCase()
        .className(clean([file, ...suites].join(" > ")))
        .name(clean(test.name))
        .time(test.duration / 1000);
      if (test.status === "failed") one.failure(clean(test.message ?? "failed")).stacktrace(clean(test.trace ?? ""));
      else if (test.status !== "passed") one.skipped();
    }
    if (result.status === "failed" && !(tests.get(run.id) ?? []).some(({ status }) => status === "failed"))
      suite
        .testCase()
        .className("matrix")
        .name(clean(run.id))
        .error(clean(result.reason ?? "failed"));
  }
  const idle = cells.filter(({ result }) => result === null);
  if (idle.length > 0) {
    const suite = builder.testSuite().name("not run");
    for (const { cell, reason } of idle) {
      const one = suite.testCase().className(cell.platform).name(cell.id);
      one.standardOutput(clean(reason ?? "")).skipped();
    }
  }
  return builder.build();
}
