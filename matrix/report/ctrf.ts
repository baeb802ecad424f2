/** One report in the Common Test Report Format for the whole matrix: each cell as a test, then the tests of each run. */
import { TestBuilder, type CTRFReport, type Test, type TestStatus } from "ctrf";
import { reportOf } from "../../scripts/tools/ctrf.ts";
import type { RunRecord } from "../run/store.ts";
import type { RunResult } from "../types.ts";
import { cellResults, evidenceText, type CellResult } from "./results.ts";

const statuses: Readonly<Record<CellResult["status"], TestStatus>> = { passed: "passed", failed: "failed", "not run": "skipped" };

function cellTest(entry: CellResult, earlier: readonly RunResult[]): Test {
  const { cell, result, status, reason } = entry;
  const builder = new TestBuilder()
    .name(cell.id)
    .status(statuses[status])
    .duration(result === null ? 0 : result.endedAt - result.startedAt)
    .suite(["matrix", cell.platform, `node-${cell.node}`])
    .tags([cell.evidence, ...(cell.mustPass ? ["must-pass"] : [])])
    .extra({ evidence: evidenceText(entry), ...(cell.run === null ? {} : { run: cell.run }) });
  if (reason !== null) builder.message(reason);
  if (earlier.length > 0)
    builder
      .retries(earlier.length)
      .flaky(status === "passed")
      .message([...earlier.map((one) => `at first: ${one.reason ?? ""}`), reason ?? "then passed"].join("; "));
  return builder.build();
}

/** The name of a part of a run that describes its device by itself: a command tests on several versions of Node. */
export const stepName = (run: string, step: string): string => `${run}: ${step}`;

/** A run's test, told apart from its likes in other runs; the file stands in the suite. suite: what names the run. */
function runTest(evidence: string, suite: readonly string[], { name, status, duration, message, trace, filePath }: Test): Test {
  const builder = new TestBuilder()
    .name(name)
    .status(status)
    .duration(duration)
    .suite([...suite])
    .tags([evidence]);
  if (filePath !== undefined) builder.filePath(filePath);
  if (message !== undefined) builder.message(message);
  if (trace !== undefined) builder.trace(trace);
  return builder.build();
}

/** What a run's report says of its device, as `dxtensor conformance` writes it; the package of the tests has the schema. */
export type DevicePart = Readonly<Record<string, unknown>>;

/** tests: what each run reported. parts: what it said of its device, by the run's name, or by stepName(). */
export function mergedReport(
  record: RunRecord,
  tests: ReadonlyMap<string, readonly Test[]>,
  parts: ReadonlyMap<string, DevicePart> = new Map(),
): CTRFReport {
  const cells = cellResults(record);
  const times = record.results.flatMap(({ startedAt, endedAt }) => [startedAt, endedAt]);
  const evidence = (run: string): string => cells.find(({ cell }) => cell.run === run)?.cell.evidence ?? "software";
  const suiteOf = (run: string, [step = "", ...rest]: readonly string[] = []): readonly string[] => {
    const named = stepName(run, step);
    return parts.has(named) ? [named, ...rest] : [run, ...(step === "" ? [] : [step]), ...rest];
  };
  return reportOf({
    tool: "dxtensor matrix",
    start: Math.min(...times, Date.now()),
    stop: times.length === 0 ? Date.now() : Math.max(...times),
    environment: {
      appName: "dxtensor",
      testEnvironment: record.plan.suite,
      extra: { run: record.owner.run, sources: record.sources.what, ...(record.call === undefined ? {} : { call: record.call }) },
    },
    tests: [
      ...cells.map((entry) =>
        cellTest(
          entry,
          (record.earlier ?? []).filter(({ id }) => id === entry.cell.run),
        ),
      ),
      ...record.plan.runs.flatMap(({ id }) => (tests.get(id) ?? []).map((test) => runTest(evidence(id), suiteOf(id, test.suite), test))),
    ],
    extra: parts.size === 0 ? {} : { conformanceRuns: Object.fromEntries(parts) },
  });
}
