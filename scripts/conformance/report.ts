// node report.mjs check FILE | criteria | schema: checks a report and prints its level. Made by scripts/bundle-tests.ts.
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { reportHelp } from "../../src/cli/conformance-help.ts";
import { readManifest } from "../bundled-tests/test-file.ts";
import { CRITERIA, levelOf, missing } from "./criteria.ts";
import { checkReport, ReportError } from "./report-check.ts";
import { jsonSchema, partOf, type Conformance } from "./schema.ts";

class UsageError extends Error {}

function check(files: readonly string[], isJson: boolean): number {
  if (files.length === 0) throw new UsageError("check needs a file");
  const results = files.map((file) => {
    try {
      if (!existsSync(file)) throw new ReportError(`${file}: it is not there`);
      const part = partOf(checkReport(readFileSync(file, "utf8"), file, readManifest())) as Conformance;
      const level = levelOf(part);
      const better = CRITERIA.slice(0, level === null ? CRITERIA.length : CRITERIA.findIndex((one) => one.level === level));
      const lacks = better.map((one) => ({ level: one.level, missing: missing(one, part) }));
      return { file, ok: true as const, device: part.device, date: part.date, versions: part.versions, sets: part.sets, level, lacks };
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      return { file, ok: false as const, message: error.message };
    }
  });
  if (isJson) console.log(JSON.stringify(results));
  else
    for (const result of results) {
      if (!result.ok) {
        console.log(`NOT A REPORT: ${result.message}`);
        continue;
      }
      const { file, device, date, versions, sets, level, lacks } = result;
      console.log(`${file}: ${device.name}, ${device.description}, dxtensor ${versions.dxtensor}, ${date.slice(0, 10)}`);
      for (const { name, passed, failed, isComplete } of sets)
        console.log(`  ${name}: ${passed} of ${passed + failed} pass${isComplete ? "" : ", not run to its end"}`);
      console.log(`  level: ${level ?? "none"}`);
      for (const { level: better, missing: reasons } of lacks) console.log(`  not ${better}: ${reasons.join("; ")}`);
    }
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
