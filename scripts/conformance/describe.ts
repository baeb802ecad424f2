// node --import ./scripts/typescript.mjs scripts/conformance/describe.ts --device NAME --report FILE [--fallbacks FOLDER]: adds to a report of vitest's what
// `dxtensor conformance` says of a device. Run with the variables that choose the device. FOLDER: where test/fallbacks.ts wrote what fell back.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { parse } from "ctrf";
import { bundledFiles } from "../lib/bundled-files.ts";
import { at } from "../tools/project.ts";
import { byFile, conformanceBlock, type Fallback } from "./block.ts";
import { readFacts } from "./facts.ts";
import { setOf } from "./sets.ts";

const { values } = parseArgs({ options: { device: { type: "string" }, report: { type: "string" }, fallbacks: { type: "string" } } });
if (values.device === undefined || values.report === undefined) throw new Error("--device and --report are required");
const facts = await readFacts(["--import", at("scripts", "typescript.mjs"), at("scripts", "conformance", "device.ts"), values.device]);
if (typeof facts === "string") {
  process.stderr.write(`${values.device} does not compute: ${facts}\n`);
  process.exitCode = 1;
} else {
  const folder = values.fallbacks;
  const lists =
    folder === undefined || !existsSync(folder) ? [] : readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
  const report = parse(readFileSync(values.report, "utf8"));
  const { version } = JSON.parse(readFileSync(at("package.json"), "utf8")) as { readonly version: string };
  const conformance = conformanceBlock({
    date: new Date(report.results.summary.start).toISOString(),
    version,
    facts,
    done: byFile(report.results.tests),
    files: bundledFiles().files.filter((file) => setOf(file) !== undefined),
    only: null,
    fellBack: lists.flatMap((text) => JSON.parse(text) as Fallback[]),
  });
  report.results.extra = { ...report.results.extra, conformance };
  writeFileSync(values.report, `${JSON.stringify(report, null, 1)}\n`);
}
