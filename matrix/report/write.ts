/** Writes the reports of a run into its folder. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type Test } from "ctrf";
import type { Config } from "../config/schema.ts";
import type { Store } from "../run/store.ts";
import { mergedReport, stepName, type DevicePart } from "./ctrf.ts";
import { htmlReport } from "./html.ts";
import { junitReport } from "./junit.ts";

interface Reported {
  readonly tests: readonly Test[];
  /** What the run says of its device, by the name in the merged report; none where it does not. */
  readonly parts: ReadonlyMap<string, DevicePart>;
}

/** What a run reported; no tests when it left no report. */
function readReport(id: string, folder: string): Reported {
  const file = join(folder, "ctrf.json");
  if (!existsSync(file)) return { tests: [], parts: new Map() };
  const { tests, extra } = parse(readFileSync(file, "utf8")).results;
  const one = extra?.["conformance"] as DevicePart | undefined;
  const several = Object.entries((extra?.["conformanceRuns"] ?? {}) as Readonly<Record<string, DevicePart>>);
  const parts = new Map(several.map(([step, part]) => [stepName(id, step), part]));
  return { tests, parts: one === undefined ? parts : parts.set(id, one) };
}

/** The tests that a run reported. */
export const readTests = (folder: string): readonly Test[] => readReport("", folder).tests;

export interface Written {
  readonly html: string;
  readonly ctrf: string;
  readonly junit: string;
}

export function writeReports(store: Store, config: Config): Written {
  const { record, folder } = store;
  const reports = record.results.map(({ id }) => [id, readReport(id, store.cell(id))] as const);
  const tests = new Map(reports.map(([id, report]) => [id, report.tests]));
  const parts = new Map(reports.flatMap(([, report]) => [...report.parts]));
  const written = { html: join(folder, "report.html"), ctrf: join(folder, "ctrf.json"), junit: join(folder, "junit.xml") };
  writeFileSync(written.ctrf, JSON.stringify(mergedReport(record, tests, parts)));
  writeFileSync(written.junit, junitReport(record, tests));
  writeFileSync(written.html, htmlReport(config, record, tests));
  return written;
}
