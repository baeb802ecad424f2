/** npm run onnx: ONNX's own node tests on a device, as a command. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { isMicrosoft } from "../device.ts";
import { readCases } from "./cases.ts";
import { differences } from "./differences.ts";
import { judgeExports } from "./judge/main.ts";
import type { Outcome } from "./run.ts";
import { reportOf, runCases, type Report } from "./report.ts";

const help = `npm run onnx -- [OPTIONS]

Runs ONNX's recorded node tests through the importer and tells which pass. With --export, ONNX Runtime runs what the library exports.

  --device NAME    cpu (default), dml:0, …
  --cases FILE     an archive that test/onnx/record.py wrote (default: test/onnx/cases.jsonl.gz)
  --compiled       by the third call of a compiled function
  --json FILE      writes {passed, failed, missing, outOfScope, failures, …} there
  --export         every layer, networks and operations as ONNX files, by onnxruntime-node: from npm's registry, or of the folder
                   DXTENSOR_ONNXRUNTIME
  --only PATTERN   only the cases whose name matches this regular expression
  --verbose        each case as it ends, with its milliseconds
  --missing        lists what the importer does not know, and what is out of scope
  --help           this text

Exit status 0 when nothing failed but what differences.ts lists, 1 otherwise.`;

function print(report: Report, listMissing: boolean): void {
  for (const { id, reason } of report.failures) console.log(`failed ${id}: ${reason.split("\n")[0]}`);
  const list = (what: string, counts: Readonly<Record<string, number>>): void => {
    for (const [reason, n] of Object.entries(counts).toSorted(([, a], [, b]) => b - a)) console.log(`${what} ${n}: ${reason}`);
  };
  if (listMissing) list("missing", report.missingByReason);
  if (listMissing) list("out of scope", report.outOfScopeByReason);
  const ways = Object.entries(report.ways).map(([way, n]) => `${n} ${way}`);
  console.log(`onnx on ${report.device}: ${(100 * report.share).toFixed(2)} % of what is in scope; ways: ${ways.join(", ")}`);
  console.log(`${report.passed} passed, ${report.failed} failed, ${report.missing} missing, ${report.outOfScope} out of scope`);
}

const say = (_: unknown, { id, result, reason }: Outcome, ms: number): void =>
  console.log(`${ms.toFixed(0)} ms ${result} ${id}${reason === undefined ? "" : `: ${reason}`}`);

const readOptions = () =>
  parseArgs({
    options: {
      device: { type: "string", default: "cpu" },
      cases: { type: "string", default: "test/onnx/cases.jsonl.gz" },
      export: { type: "boolean", default: false },
      compiled: { type: "boolean", default: false },
      json: { type: "string" },
      only: { type: "string" },
      verbose: { type: "boolean", default: false },
      missing: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });

function optionsOrExit(): ReturnType<typeof readOptions>["values"] {
  try {
    return readOptions().values;
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${help}`);
    process.exit(1);
  }
}

const options = optionsOrExit();
const pattern = new RegExp(options.only ?? "");
if (options.help) console.log(help);
else if (options.export) {
  if ((await judgeExports(options.device, pattern, console.log)) > 0) process.exitCode = 1;
} else {
  const cases = readCases(resolve(options.cases)).filter((c) => pattern.test(c.name));
  const report = reportOf(runCases(cases, options.device, options.compiled, options.verbose ? say : undefined), options.device);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, null, 1)}\n`);
  print(report, options.missing);
  const known = new Set(differences.filter((d) => d.microsoft !== true || isMicrosoft(options.device)).flatMap((d) => d.ids));
  if (report.failures.some((f) => !known.has(f.id))) process.exitCode = 1;
}
