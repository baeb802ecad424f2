/** `dxtensor verify`: differential conformance of two devices. See docs/verify.md. */
import { mkdirSync, writeFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { InvalidArgumentError, type Command } from "commander";
import type { Case, Context } from "../verify/case.ts";
import { matcher, allCases } from "../verify/cases/suite.ts";
import { count, ctrfReport, failures, jsonReport, repro, summaryText, type Setting } from "../verify/report.ts";
import { run, type Report, type Summary } from "../verify/run-cases.ts";
import { openSides } from "../verify/sides.ts";
import { version } from "./version.ts";

interface Shard {
  readonly number: number;
  readonly count: number;
}

interface Options {
  readonly device: string;
  readonly reference: string;
  readonly filter?: string;
  readonly shard?: Shard;
  readonly seed: number;
  readonly quick: boolean;
  readonly strict: boolean;
  readonly list: boolean;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly ctrf?: string;
}

function integer(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) throw new InvalidArgumentError("expected a 32-bit integer.");
  return value;
}

function checkFilter(text: string): string {
  try {
    matcher(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
  return text;
}

function readShard(text: string): Shard {
  const [number, count] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).slice(1).map(Number);
  if (number === undefined || count === undefined || number < 1 || number > count)
    throw new InvalidArgumentError('expected NUMBER/COUNT, such as "2/4" for the second of four parts.');
  return { number, count };
}

/** The cases that are asked for, in their order. */
function* select(cases: Iterable<Case>, { filter, shard = { number: 1, count: 1 } }: Options): Generator<Case> {
  const wanted = matcher(filter ?? "");
  let index = 0;
  for (const one of cases) if (wanted(one.id) && index++ % shard.count === shard.number - 1) yield one;
}

/** One line that is written over where stderr is a terminal; nothing elsewhere. */
function progress(done: number, failed: number, id: string): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r\u001b[K${done} done, ${failed} failed  ${id}`.slice(0, process.stderr.columns));
}
const clearProgress = (): void => {
  if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
};

function settingOf(options: Options, { device, peer }: Context): Setting {
  const { seed, quick, strict } = options;
  return {
    version: version(),
    device: device.name,
    deviceName: device.describe(),
    reference: options.reference,
    referenceName: peer.describe(),
    seed,
    quick,
    strict,
  };
}

/** A reader that goes away, such as head, ends the program quietly. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
  process.exit();
}

async function verify(options: Options): Promise<void> {
  process.stdout.on("error", endWithReader);
  const { context, facts } = openSides(options);
  const setting = settingOf(options, context);
  const cases = select(allCases({ featureLevel: context.device.featureLevel, quick: options.quick }), options);
  if (options.list) {
    const ids = [...cases].map((c) => c.id);
    process.stdout.write(options.json ? `${JSON.stringify(ids)}\n` : `${ids.join("\n")}\n`);
    return;
  }
  const stop = new AbortController();
  const interrupt = (): void => stop.abort();
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  const say = (text: string): void => {
    if (!options.json) process.stdout.write(`${text}\n`);
  };
  say(`device     ${setting.device}: ${setting.deviceName}`);
  say(`reference  ${setting.reference}: ${setting.referenceName}`);
  const start = Date.now();
  let failed = 0;
  const onReport = (report: Report, done: number): void => {
    if (report.status === "failed") {
      failed++;
      clearProgress();
      say(`FAILED ${report.id}`);
      for (const message of report.messages.slice(0, 8)) say(`  ${message}`);
      if (report.messages.length > 8) say(`  and ${report.messages.length - 8} more`);
      say(`  ${repro(report.id, setting)}`);
    }
    progress(done, failed, report.id);
  };
  const isWhole = !options.quick && options.filter === undefined && options.shard === undefined;
  const trace = options.verbose ? (text: string): void => void writeSync(2, `${text}\n`) : undefined;
  const summary = await run(cases, { ...context, trace }, { facts, isWhole, signal: stop.signal, onReport });
  process.removeListener("SIGINT", interrupt);
  process.removeListener("SIGTERM", interrupt);
  clearProgress();
  writeReports(options, summary, setting, start);
  process.exitCode = exitCode(summary, setting);
}

function writeReports({ json, ctrf }: Options, summary: Summary, setting: Setting, start: number): void {
  if (ctrf !== undefined) {
    mkdirSync(dirname(ctrf), { recursive: true });
    writeFileSync(ctrf, `${JSON.stringify(ctrfReport(summary, setting, start, Date.now()), null, 1)}\n`);
  }
  process.stdout.write(json ? `${JSON.stringify(jsonReport(summary, setting))}\n` : `${summaryText(summary, setting)}\n`);
}

/** 130 for a run that was stopped, as a shell has it; a filter that matches nothing has checked nothing. */
function exitCode(summary: Summary, { strict }: Setting): number {
  if (summary.stopped) return 130;
  if (summary.reports.length === count(summary.reports, "skipped")) {
    process.stderr.write("dxtensor: no case was compared\n");
    return 1;
  }
  return failures(summary, strict) > 0 ? 1 : 0;
}

export function addVerify(program: Command): void {
  program
    .command("verify")
    .description("compare a device's results with the software adapter's: operators, refusals, lowerings, training")
    .option("--device <name>", "the device to check", "dml:0")
    .option("--reference <name>", "the device to compare it with", "cpu")
    .option("--filter <text>", "cases whose id has all these words, or matches this /regular expression/", checkFilter)
    .option("--shard <number/count>", "only part NUMBER of COUNT, for parallel processes", readShard)
    .option("--seed <number>", "seed of the inputs", integer, 1)
    .option("--quick", "one layout and fewer data types for each row: under a minute", false)
    .option("--strict", "also fail for a listed difference that no longer occurs (in a whole run)", false)
    .option("--list", "write the cases' ids and run nothing", false)
    .option("--json", "write one JSON object instead of text", false)
    .option("--verbose", "name each case on stderr before it runs: the last one named crashed the process", false)
    .option("--ctrf <file>", "also write a report in the Common Test Report Format")
    .addHelpText("after", "\nExit status: 0 all agree, 1 something differs, 2 it could not be run, 130 stopped.")
    .action(verify);
}
