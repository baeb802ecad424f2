// Writes reports in the Common Test Report Format.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { ReportBuilder, validateStrict, type Test } from "ctrf";

interface Run {
  readonly tool: string;
  readonly tests: Test[];
  readonly start: number;
  readonly extra: Record<string, unknown>;
}

/** tests: what TestBuilder builds; start: when they began, as Date.now() says it; extra: what else is known of the run. */
export function writeCtrf(file: string, { tool, tests, start, extra }: Run): void {
  const report = new ReportBuilder()
    .tool({ name: tool })
    .generatedBy("dxtensor")
    .environment({ extra })
    .addTests(tests)
    .summaryOverrides({ start, stop: Date.now() })
    .build();
  validateStrict(report);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(report, null, 1)}\n`);
}
