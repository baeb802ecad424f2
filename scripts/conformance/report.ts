// node report.mjs check FILE | criteria | schema: checks a report and prints its level. Made by scripts/bundle-tests.ts.
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { reportHelp } from "../../src/cli/conformance-help.ts";
import { readManifest } from "../bundled-tests/test-file.ts";
import { CRITERIA, levelOf, missing } from "./criteria.ts";
import { ReportError, checkReports } from "./report-check.ts";
import { jsonSchema, type Conformance } from "./schema.ts";

class UsageError extends Error {}

/** One run of a report with its level; the run's name is "" in a report of one. */
function judged(run: string, part: Conformance) {
  const { device, date, versions, sets, outside } = part;
  const level = levelOf(part);
  const better = CRITERIA.slice(0, level === null ? CRITERIA.length : CRITERIA.findIndex((one) => one.level === level));
  const lacks = better.map((one) => ({ level: one.level, missing: missing(one, part) }));
  return { ...(run === "" ? {} : { run }), device, date, versions, sets, ...(outside === undefined ? {} : { outside }), level, lacks };
}

function show(file: string, { run, device, date, versions, sets, outside, level, lacks }: ReturnType<typeof judged>): void {
  const where = run === undefined ? file : `${file}: ${run}`;
  console.log(`${where}: ${device.name}, ${device.description}, dxtensor ${versions.dxtensor}, ${date.slice(0, 10)}`);
  for (const { name, passed, failed, isComplete } of sets)
    console.log(`  ${name}: ${passed} of ${passed + failed} pass${isComplete ? "" : ", not run to its end"}`);
  if (outside !== undefined) console.log(`  in no set: ${outside.passed} of ${outside.passed + outside.failed} pass`);
  console.log(`  level: ${level ?? "none"}`);
  for (const { level: better, missing: reasons } of lacks) console.log(`  not ${better}: ${reasons.join("; ")}`);
}

function check(files: readonly string[], isJson: boolean): number {
  if (files.length === 0) throw new UsageError("check needs a file");
  const results = files.map((file) => {
    try {
      if (!existsSync(file)) throw new ReportError(`${file}: it is not there`);
      const { parts } = checkReports(readFileSync(file, "utf8"), file, readManifest());
      return { file, ok: true as const, runs: Object.entries(parts).map(([run, part]) => judged(run, part)) };
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      return { file, ok: false as const, message: error.message };
    }
  });
  // A report of one run is told as it is; one of several has a list of them.
  if (isJson)
    console.log(
      JSON.stringify(results.map((one) => (one.ok && one.runs[0]?.run === undefined ? { ...one, runs: undefined, ...one.runs[0] } : one))),
    );
  else
    for (const result of results)
      if (result.ok) for (const run of result.runs) show(result.file, run);
      else console.log(`NOT A REPORT: ${result.message}`);
  return results.every(({ ok }) => ok) ? 0 : 1;
}

function criteria(isJson: boolean): number {
  if (isJson) console.log(JSON.stringify(CRITERIA));
  else
    for (const { level, about, rates } of CRITERIA)
      console.log(
        `${level} (${about}): ${Object.entries(rates)
          .map(([name, rate]) => `${name} ${rate * 100} %`)
          .join(", ")}`,
      );
  return 0;
}

function main(): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean", default: false }, help: { type: "boolean", default: false } },
  });
  const [verb, ...files] = positionals;
  if (values.help) console.log(reportHelp);
  else if (verb === "check") return check(files, values.json);
  else if (verb === "criteria") return criteria(values.json);
  else if (verb === "schema") console.log(JSON.stringify(jsonSchema(), null, values.json ? 0 : 2));
  else throw new UsageError(verb === undefined ? "check, criteria or schema?" : `there is no verb ${verb}`);
  return 0;
}

try {
  process.exitCode = main();
} catch (error) {
  const isUsage =
    error instanceof UsageError || (error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS"));
  process.stderr.write(`report: ${isUsage ? `${error.message} (--help lists the verbs)` : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = 2;
}
