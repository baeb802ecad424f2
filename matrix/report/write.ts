/** Writes the reports of a run into its folder. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type Test } from "ctrf";
import type { Config } from "../config/schema.ts";
import type { Store } from "../run/store.ts";
import { mergedReport, type DevicePart } from "./ctrf.ts";
import { htmlReport } from "./html.ts";
import { junitReport } from "./junit.ts";

interface Reported {
  readonly tests: readonly Test[];
  /** Null where the run does not describe its device. */
  readonly part: DevicePart | null;
}

/** What a run reported; no tests when it left no report. */
function readReport(folder: string): Reported {
  const file = join(folder, "ctrf.json");
  if (!existsSync(file)) return { tests: [], part: null };
  const { tests, extra } = parse(readFileSync(file, "utf8")).results;
  return { tests, part: (extra?.["conformance"] ?? null) as DevicePart | null };
}

/** The tests that a run reported. */
export const readTests = (folder: string): readonly Test[] => readReport(folder).tests;

export interface Written {
  readonly html: string;
  readonly ctrf: string;
  readonly junit: string;
}

export function writeReports(store: Store, config: Config): Written {
  const { record, folder } = store;
  const reports = record.results.map(({ id }) => [id, readReport(store.cell(id))] as const);
  const tests = new Map(reports.map(([id, report]) => [id, report.tests]));
  const parts = new Map(reports.flatMap(([id, { part }]) => (part === null ? [] : [[id, part] as const])));
  const written = { html: join(folder, "report.html"), ctrf: join(folder, "ctrf.json"), junit: join(folder, "junit.xml") };
  writeFileSync(written.ctrf, JSON.stringify(mergedReport(record, tests, parts)));
  writeFileSync(written.junit, junitReport(record, tests));
  writeFileSync(written.html, htmlReport(config, record, tests));
  return written;
}
