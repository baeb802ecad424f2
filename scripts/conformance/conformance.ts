// node conformance.mjs --device NAME: the library's device-generic tests on one device, with nothing but Node. Made by scripts/bundle-tests.ts.
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { CTRFReport, Test } from "ctrf";
import { readManifest, root, runFile, testsOf, type FileResult } from "../bundled-tests/test-file.ts";
import { conformanceHelp } from "../../src/cli/conformance-help.ts";
import { reportOf as ctrfOf } from "../tools/ctrf.ts";
import { conformanceBlock } from "./block.ts";
import { levelOf } from "./criteria.ts";
import type { DeviceFacts } from "./device.ts";
import { readFacts } from "./facts.ts";
import { withoutFolders } from "./portable.ts";
import { partOf, type Conformance } from "./schema.ts";
import { checkReport, ReportError } from "./report-check.ts";
import { SETS, filesOf, type TestSet } from "./sets.ts";

const say = (text: string): boolean => process.stderr.write(`${text}\n`);

/** Nothing was run, and this is why. */
class UsageError extends Error {}

const stopping = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stopping.abort());

interface Asked {
  readonly device: string;
  readonly sets: readonly TestSet[];
  /** Parts of the files' paths; none: all. */
  readonly files: readonly string[];
  readonly only: string | null;
  /** Where the report is written. */
  readonly report: string | null;
  readonly earlier: CTRFReport | null;
  readonly isJson: boolean;
  readonly timeoutMs: number;
  readonly jobs: number;
}

/** What a file gave: in this run, or in the one that is resumed. */
interface Done extends Omit<FileResult, "ms"> {
  readonly seconds: number;
}

const manifest = readManifest();

/** Failed tests that are named again at the end. */
const MAX_FAILURES = 20;

async function factsOf(device: string): Promise<DeviceFacts> {
  const facts = await readFacts([join(root, "device.mjs"), device], { signal: stopping.signal });
  if (typeof facts === "string") throw new UsageError(`${device} does not compute: ${facts}`);
  return facts;
}

/** Why a run cannot continue with a report: results of two devices, drivers or versions would be one report. Null: it can. */
function differenceOf(part: Conformance, facts: DeviceFacts, only: string | null): string | null {
  const { device, system } = facts;
  const pairs: readonly (readonly [what: string, was: string | null, is: string | null])[] = [
    ["", part.device.name, device.name],
    ["the device ", part.device.description, device.description],
    ["driver ", part.device.version, device.version],
    ["feature level ", part.device.featureLevel, device.featureLevel],
    ["dxtensor ", part.versions.dxtensor, manifest.version],
    ["DirectML ", part.versions.directml, facts.directml],
    ["Node ", part.versions.node, process.version],
    ["system ", `${part.system.platform}-${part.system.arch}`, `${system.platform}-${system.arch}`],
  ];
  const found = pairs.find(([, was, is]) => was !== is);
  if (found !== undefined) return `the report is of ${found[0]}${found[1] ?? "unknown"}, not of ${found[2] ?? "unknown"}`;
  return part.only === only ? null : `the report has --only ${String(part.only)}`;
}

/** The files that an earlier report has whole, with their tests. Throws UsageError where device, driver or versions differ. */
function doneIn(report: CTRFReport, facts: DeviceFacts, only: string | null): Done[] {
  const difference = differenceOf(partOf(report) as Conformance, facts, only);
  if (difference !== null) throw new UsageError(`--resume: ${difference}; without --resume a new run begins`);
  const files = new Map<string, Test[]>();
  for (const test of report.results.tests) files.set(test.filePath!, [...(files.get(test.filePath!) ?? []), test]);
  return [...files].map(([name, tests]) => ({
    name,
    seconds: tests.reduce((n, test) => n + test.duration / 1000, 0),
    tests: tests.map(({ name: test, status, suite, duration, message, trace }) => ({
      name: test,
      suites: (suite ?? []).slice(1),
      status,
      duration,
      ...(message === undefined ? {} : { message }),
      ...(trace === undefined ? {} : { trace }),
    })),
    broken: [],
  }));
}

function reportOf(asked: Asked, facts: DeviceFacts, done: readonly Done[], start: number): CTRFReport {
  const before = asked.earlier === null ? null : (partOf(asked.earlier) as Conformance);
  const part = conformanceBlock({
    date: before?.date ?? new Date(start).toISOString(),
    version: manifest.version,
    facts,
    done: done.map((file) => ({ ...file, tests: testsOf(file) })),
    files: manifest.files,
    only: asked.only,
    fellBack: before?.fellBack ?? [],
  });
  const names = { [root]: "@dxtensor/conformance/dist", [process.cwd()]: "." };
  const tests = done.flatMap(testsOf).map((test) => withoutFolders(test, names));
  const report = ctrfOf({ tool: "dxtensor-conformance", tests, start });
  report.results.extra = { ...report.results.extra, conformance: part };
  return report;
}

/** The file is the old report or the new one, whenever this ends. */
function writeReport(file: string, report: CTRFReport): void {
  writeFileSync(`${file}.new`, `${JSON.stringify(report, null, 1)}\n`);
  renameSync(`${file}.new`, file);
}

function showFile({ name, tests, broken, seconds }: Done, index: number, of: number): void {
  const count = (status: string): number => tests.filter((test) => test.status === status).length;
  const failed = count("failed") + broken.length;
  const where = `${String(index).padStart(String(of).length)}/${of}`;
  say(`${where} ${failed > 0 ? "FAIL" : "ok  "} ${name}: ${count("passed")} passed, ${failed} failed (${seconds.toFixed(1)} s)`);
  for (const test of tests.filter(({ status }) => status === "failed"))
    say(`       ${[...test.suites, test.name].join(" > ")}\n         ${(test.message ?? "").split("\n").slice(0, 6).join("\n         ")}`);
  for (const problem of broken) say(`       ${problem.replaceAll("\n", "\n         ")}`);
}

function showSets({ sets, device }: Conformance): void {
  const width = Math.max(...sets.map(({ name }) => name.length));
  console.log(`${device.name}, ${device.description}:`);
  for (const { name, passed, failed, skipped, files, ofFiles } of sets) {
    const share = passed + failed === 0 ? "" : ` ${((100 * passed) / (passed + failed)).toFixed(2)} %`;
    const part = files < ofFiles ? ` (${files} of ${ofFiles} files)` : "";
    console.log(
      `  ${name.padEnd(width)} ${share.padStart(9)}  ${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}${part}`,
    );
  }
  console.log(`  level: ${levelOf({ sets }) ?? "none"}`);
}

/** The last lines of a long run, by which it is judged, name what failed. */
function showFailures(tests: readonly Test[]): void {
  const failed = tests.filter(({ status }) => status === "failed");
  for (const { filePath, name } of failed.slice(0, MAX_FAILURES)) console.log(`  failed: ${filePath} > ${name}`);
  if (failed.length > MAX_FAILURES) console.log(`  and ${failed.length - MAX_FAILURES} more`);
}

function list(isJson: boolean): void {
  const sets = SETS.map((set) => ({ name: set.name, about: set.about, files: filesOf(set, manifest.files) }));
  if (isJson) console.log(JSON.stringify(sets));
  else for (const { name, about, files } of sets) console.log([`${name}: ${about}`, ...files.map((file) => `  ${file}`)].join("\n"));
}

/** Runs what is asked for; gives the exit status. */
async function run(asked: Asked): Promise<number> {
  const start = Date.now();
  const facts = await factsOf(asked.device);
  const done = asked.earlier === null ? [] : doneIn(asked.earlier, facts, asked.only);
  const known = new Set(done.map(({ name }) => name));
  const isWanted = (name: string): boolean => asked.files.length === 0 || asked.files.some((text) => name.includes(text));
  const wanted = asked.sets.flatMap((set) => filesOf(set, manifest.files)).filter(isWanted);
  if (wanted.length === 0) throw new UsageError("--file: no file of these sets has such a path");
  const names = wanted.filter((name) => !known.has(name));
  if (known.size > 0) say(`${known.size} files are in the report already`);
  // Some test files make tensors while they are loaded.
  const env = { DXTENSOR_TEST_DEVICES: asked.device, DXTENSOR_DEVICE: asked.device, NODE_NO_WARNINGS: "1" };
  const queue = names.values();
  let count = 0;
  const work = async (): Promise<void> => {
    for (const name of queue) {
      if (stopping.signal.aborted) return;
      const options = {
        timeoutMs: asked.timeoutMs,
        pattern: asked.only ?? undefined,
        isQuiet: true,
        isSilent: true,
        signal: stopping.signal,
      };
      const { ms, ...result } = await runFile(name, { ...options, cwd: process.cwd(), env });
      // What was stopped in the middle is run again by --resume.
      if (stopping.signal.aborted) return;
      const one = { ...result, seconds: ms / 1000 };
      done.push(one);
      showFile(one, ++count, names.length);
      if (asked.report !== null) writeReport(asked.report, reportOf(asked, facts, done, start));
    }
  };
  await Promise.all(Array.from({ length: asked.jobs }, work));
  const report = reportOf(asked, facts, done, start);
  if (asked.report !== null) writeReport(asked.report, report);
  if (asked.isJson) console.log(JSON.stringify(report));
  else {
    showSets(partOf(report) as Conformance);
    showFailures(report.results.tests);
  }
  if (stopping.signal.aborted) {
    say(asked.report === null ? "stopped" : `stopped; continue with --resume ${asked.report}`);
    return 130;
  }
  const { passed, failed } = report.results.summary;
  if (passed + failed === 0) throw new UsageError("--only: no test has such a name");
  return failed === 0 ? 0 : 1;
}

function earlierReport(file: string): CTRFReport {
  if (!existsSync(file)) throw new UsageError(`--resume: there is no ${file}`);
  const text = readFileSync(file, "utf8");
  return checkReport(text, file, manifest);
}

function requirePattern(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new UsageError(`--only: ${(error as Error).message}`);
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      device: { type: "string" },
      set: { type: "string", multiple: true, default: [] },
      file: { type: "string", multiple: true, default: [] },
      only: { type: "string" },
      list: { type: "boolean", default: false },
      ctrf: { type: "string" },
      resume: { type: "string" },
      json: { type: "boolean", default: false },
      timeout: { type: "string", default: "900" },
      jobs: { type: "string", default: "1" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(conformanceHelp);
    return 0;
  }
  if (values.list) {
    list(values.json);
    return 0;
  }
  if (values.device === undefined) throw new UsageError("--device is required");
  const unknown = values.set.find((name) => SETS.every((set) => set.name !== name));
  if (unknown !== undefined) throw new UsageError(`--set: there is no ${unknown}; the sets are ${SETS.map(({ name }) => name).join(", ")}`);
  if (values.only !== undefined) requirePattern(values.only);
  const timeoutMs = Number(values.timeout) * 1000;
  const jobs = Number(values.jobs);
  if (!(timeoutMs > 0) || !Number.isInteger(jobs) || jobs < 1) throw new UsageError("--timeout and --jobs are positive numbers");
  const resumed = values.resume === undefined ? null : resolve(values.resume);
  return run({
    device: values.device,
    sets: values.set.length === 0 ? SETS : SETS.filter(({ name }) => values.set.includes(name)),
    files: values.file,
    only: values.only ?? null,
    report: values.ctrf === undefined ? resumed : resolve(values.ctrf),
    earlier: resumed === null ? null : earlierReport(resumed),
    isJson: values.json,
    timeoutMs,
    jobs,
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  const isParse = error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS");
  if (error instanceof UsageError || error instanceof ReportError || isParse)
    say(`conformance: ${error.message}${isParse || error.message.startsWith("--") ? " (--help lists the options)" : ""}`);
  else say(`conformance: ${(error instanceof Error ? error.stack : undefined) ?? String(error)}`);
  process.exitCode = stopping.signal.aborted ? 130 : 2;
}
