/** Writes the reports of a run into its folder. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, type Test } from "ctrf";
import type { Config } from "../config/schema.ts";
import type { Store } from "../run/store.ts";
import { mergedReport } from "./ctrf.ts";
import { htmlReport } from "./html.ts";
import { junitReport } from "./junit.ts";

/** The tests that a run reported; none when it left no report. */
export function readTests(folder: string): Test[] {
  const file = join(folder, "ctrf.json");
  return existsSync(file) ? parse(readFileSync(file, "utf8")).results.tests : [];
}

export interface Written {
  readonly html: string;
  readonly ctrf: string;
  readonly junit: string;
}

export function writeReports(store: Store, config: Config): Written {
  const { record, folder } = store;
  const tests = new Map(record.results.map(({ id }) => [id, readTests(store.cell(id))]));
  const written = { html: join(folder, "report.html"), ctrf: join(folder, "ctrf.json"), junit: join(folder, "junit.xml") };
  writeFileSync(written.ctrf, JSON.stringify(mergedReport(record, tests)));
  writeFileSync(written.junit, junitReport(record, tests));
  writeFileSync(written.html, htmlReport(config, record, tests));
  return written;
}
