// Reports in the Common Test Report Format.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ReportBuilder, validateStrict, type CTRFReport, type Environment, type Test } from "ctrf";

interface Run {
  readonly tool: string;
  readonly tests: readonly Test[];
  /** When it began, as Date.now() says it; 0: unknown. */
  readonly start: number;
  readonly stop?: number;
  /** Where it ran, and what else is known of it. */
  readonly environment?: Environment;
  /** What is no part of the format: results.extra. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A report, checked against the format. */
export function reportOf({ tool, tests, start, stop = Date.now(), environment = {}, extra = {} }: Run): CTRFReport {
  const report = new ReportBuilder()
    .tool({ name: tool })
    .generatedBy("dxtensor")
    .environment(environment)
    .addTests([...tests])
    .summaryOverrides({ start, stop })
    .build();
  if (Object.keys(extra).length > 0) report.results.extra = { ...report.results.extra, ...extra };
  validateStrict(report);
  return report;
}

export function writeCtrf(file: string, run: Run): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(reportOf(run), null, 1)}\n`);
}
