// node run.mjs: runs the bundled tests in its folder, each file in a process of its own, with nothing but Node. Made by scripts/bundle-tests.ts.
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CTRFReport } from "ctrf";
import { conformanceBlock } from "../conformance/block.ts";
import { readFacts } from "../conformance/facts.ts";
import type { Conformance } from "../conformance/schema.ts";
import { reportOf as ctrfOf } from "../tools/ctrf.ts";
import type { TestResult } from "./report.ts";
import { readManifest, root, runFile, testsOf, type FileResult } from "./test-file.ts";

const help = `node run.mjs [OPTIONS]

Runs the tests of this folder, each file in a process of its own. The devices are those of DXTENSOR_TEST_DEVICES ("cpu,dml:0"), else all
that the machine has. The last line is "N passed, M failed".

  --filter TEXT      only files whose path contains it; may be repeated
  --test PATTERN     only tests whose full name matches this regular expression
  --except TEXT      no files whose path contains it; may be repeated
  --list             lists the files, and those that were left out with the reason
  --json             the report in the Common Test Report Format on stdout, nothing else
  --report FILE      writes that report
  --timeout SECONDS  for each file (default 600)
  --jobs N           files at a time (default 1)
  --help             this text`;

const manifest = readManifest();
const say = (text: string): boolean => process.stderr.write(`${text}\n`);

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stopping.abort());

function describe({ name, tests, broken, ms }: FileResult): void {
  const count = (status: TestResult["status"]): number => tests.filter((test) => test.status === status).length;
  const skipped = count("skipped") + count("pending");
  const failed = count("failed") + broken.length;
  say(
    `${failed > 0 ? "FAIL" : " ok "} ${name}: ${count("passed")} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""} (${(ms / 1000).toFixed(1)} s)`,
  );
  for (const test of tests.filter(({ status }) => status === "failed"))
    say(`     ${[...test.suites, test.name].join(" > ")}\n       ${(test.message ?? "").split("\n").slice(0, 12).join("\n       ")}`);
  for (const problem of broken) say(`     ${problem}`);
}

/** What the report says of the device, if there is one alone; null where it could not be asked. */
async function blockOf(results: readonly FileResult[], start: number, pattern: string | undefined): Promise<Conformance | null> {
  const device = process.env.DXTENSOR_TEST_DEVICES ?? "";
  if (device === "" || device.includes(",")) return null;
  const facts = await readFacts([join(root, "device.mjs"), device]);
  if (typeof facts === "string") {
    say(`The report does not describe ${device}: ${facts}`);
    return null;
  }
  const done = results.map((file) => ({ ...file, seconds: file.ms / 1000, tests: testsOf(file) }));
  const { version, files } = manifest;
  return conformanceBlock({ date: new Date(start).toISOString(), version, facts, done, files, only: pattern ?? null });
}

function reportOf(files: readonly FileResult[], start: number, conformance: Conformance | null): CTRFReport {
  const extra = {
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    devices: process.env.DXTENSOR_TEST_DEVICES ?? "all",
    leftOut: manifest.leftOut,
  };
  const report = ctrfOf({ tool: "dxtensor-bundled-tests", tests: files.flatMap(testsOf), start, environment: { extra } });
  if (conformance !== null) report.results.extra = { ...report.results.extra, conformance };
  return report;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      filter: { type: "string", multiple: true, default: [] },
      except: { type: "string", multiple: true, default: [] },
      test: { type: "string" },
      list: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      report: { type: "string" },
      timeout: { type: "string", default: "600" },
      jobs: { type: "string", default: "1" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return void console.log(help);
  const timeoutMs = Number(values.timeout) * 1000;
  const jobs = Number(values.jobs);
  if (!(timeoutMs > 0) || !Number.isInteger(jobs) || jobs < 1) throw new RangeError("--timeout and --jobs are positive numbers");
  const isWanted = (name: string): boolean =>
    (values.filter.length === 0 || values.filter.some((text) => name.includes(text))) && !values.except.some((text) => name.includes(text));
  const names = manifest.files.filter(isWanted);
  if (values.list) {
    if (values.json) console.log(JSON.stringify({ files: names, leftOut: manifest.leftOut }));
    else console.log([...names, ...manifest.leftOut.map(({ file, reason }) => `(left out: ${file}: ${reason})`)].join("\n"));
    return;
  }
  if (names.length === 0) throw new RangeError("no test file has such a name (--list names them)");

  const start = Date.now();
  const results: FileResult[] = [];
  const queue = names.values();
  const work = async () => {
    for (const name of queue) {
      if (stopping.signal.aborted) return;
      const result = await runFile(name, { timeoutMs, pattern: values.test, isQuiet: values.json, signal: stopping.signal });
      describe(result);
      results.push(result);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  if (stopping.signal.aborted) {
    say("stopped");
    process.exitCode = 130;
    return;
  }
  const isReported = values.json || values.report !== undefined;
  const report = reportOf(results, start, isReported ? await blockOf(results, start, values.test) : null);
  if (values.report !== undefined) writeFileSync(resolve(values.report), `${JSON.stringify(report, null, 2)}\n`);
  const { passed, failed, skipped } = report.results.summary;
  if (values.json) console.log(JSON.stringify(report));
  else console.log(`${skipped > 0 ? `${skipped} skipped\n` : ""}${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  const isUsage =
    error instanceof RangeError ||
    (error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("ERR_PARSE_ARGS"));
  if (isUsage) say(`${error.message} (--help lists the options)`);
  else say((error instanceof Error ? error.stack : undefined) ?? String(error));
  process.exitCode = 1;
}
