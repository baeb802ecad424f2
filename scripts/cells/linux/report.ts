// Runs the programs of a cell one after another, with their output shown, and writes their results in the Common Test Report Format.
import { readFileSync, existsSync, rmSync } from "node:fs";
import { TestBuilder, type CTRFReport, type Test } from "ctrf";
import { execa } from "execa";
import { readCounts, type Counts } from "../../tools/counts.ts";
import { writeCtrf } from "../../tools/ctrf.ts";
import { runProgram } from "../../tools/program.ts";
import { at, root, say } from "../../tools/project.ts";
import { partOf, type Conformance } from "../../conformance/schema.ts";

/** A driver on the processor is slow, and slower still when others use the processor too. */
const patience = ["--testTimeout=300000", "--hookTimeout=300000", "--teardownTimeout=120000"];

const seconds = (start: number) => ((performance.now() - start) / 1000).toFixed(1);

type Status = "passed" | "failed" | "skipped";

interface Detail {
  readonly durationMs?: number;
  readonly message?: string;
  readonly suite?: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

interface ProgramOptions {
  readonly env?: Environment;
  readonly timeoutMs?: number;
  readonly verify?: (output: string) => string | null;
}

/** How a program ended, on this machine or in a container. */
interface RunEnd {
  readonly code: number | null;
  readonly signal?: string | null;
  readonly isLate: boolean;
  readonly error?: string | null;
  readonly text: string;
}

interface RunOptions {
  readonly limitMs: number;
  readonly verify?: (output: string) => string | null;
}

interface RunHow {
  readonly limitMs: number;
  readonly onText: (text: string) => void;
}

interface VitestOptions {
  /** DXTENSOR_TEST_DEVICES names the device, which the report describes. */
  readonly env: Environment;
  readonly file: string;
  readonly timeoutMs: number;
}

/** The tests of a report of vitest's, and what it says of the device, as `dxtensor conformance` writes it; undefined where the device does not say. */
async function describedReport(
  node: string,
  { env, file, fallbacks }: { readonly env: Environment; readonly file: string; readonly fallbacks: string },
): Promise<{ readonly tests: readonly Test[]; readonly part: Conformance | undefined }> {
  const program = ["--import", "./scripts/typescript.mjs", at("scripts", "conformance", "describe.ts")];
  const options = ["--device", env["DXTENSOR_TEST_DEVICES"] ?? "", "--report", file, "--fallbacks", fallbacks];
  const done = await execa(node, [...program, ...options], { cwd: root, env, stdin: "ignore", reject: false, timeout: 5 * 60_000 });
  if (done.failed) say(`the report does not describe the device: ${done.stderr}`);
  const report = JSON.parse(readFileSync(file, "utf8")) as CTRFReport;
  return { tests: report.results.tests, part: partOf(report) as Conformance | undefined };
}

export class CellReport {
  readonly #tests: Test[] = [];
  readonly #parts: Record<string, Conformance> = {};
  readonly #start = Date.now();
  readonly #counts = { passed: 0, failed: 0, skipped: 0 };
  readonly #out: NodeJS.WritableStream;

  /** out: where the programs' output goes; stdout belongs to --json. */
  constructor(out: NodeJS.WritableStream) {
    this.#out = out;
  }

  get counts(): Counts {
    return this.#counts;
  }

  /** One result. */
  add(name: string, status: Status, { durationMs = 0, message, suite = [] }: Detail = {}): void {
    const builder = new TestBuilder().name(name).status(status).duration(Math.round(durationMs));
    if (suite.length > 0) builder.suite([...suite]);
    if (message !== undefined) builder.message(message);
    this.#tests.push(builder.build());
    this.#counts[status === "failed" ? "failed" : status === "passed" ? "passed" : "skipped"]++;
    if (status !== "passed") say(`${status}: ${name}${message === undefined ? "" : `: ${message}`}`);
  }

  /** A program of this machine, as `run` tells of it. */
  program(name: string, command: string, args: readonly string[], { env = {}, timeoutMs = 10 * 60_000, verify }: ProgramOptions = {}) {
    return this.run(name, { limitMs: timeoutMs, ...(verify === undefined ? {} : { verify }) }, ({ limitMs, onText }) =>
      runProgram(command, args, { cwd: root, env, limitMs, onText, isGroup: false }),
    );
  }

  /**
   * What ends with a line "N passed, N failed": one result each, its name with its number. What fails without a count is one failure.
   * verify: given the output it returns what is wrong, or null.
   */
  async run(name: string, { limitMs, verify }: RunOptions, start: (how: RunHow) => Promise<RunEnd>): Promise<void> {
    const begun = performance.now();
    say(`\n== ${name}`);
    const done = await start({ limitMs, onText: (text) => void this.#out.write(text) });
    const lines = done.text.split("\n");
    const counts = lines.map(readCounts).findLast((found) => found !== null) ?? { passed: 0, failed: 0, skipped: 0 };
    const durationMs = performance.now() - begun;
    const failures = lines.filter((line) => line.startsWith("FAILED "));
    for (let i = 0; i < counts.passed; i++) this.#quietly(`${name} ${i + 1}`, "passed", i === 0 ? durationMs : 0, name);
    for (let i = 0; i < counts.failed; i++) this.add(`${name}: ${failures[i] ?? "failed"}`, "failed", { suite: [name] });
    for (const line of lines.filter((text) => text.startsWith("skipped "))) this.#quietly(line, "skipped", 0, name);
    let problem = verify?.(done.text) ?? null;
    if (done.isLate) problem = `not done after ${limitMs / 1000} s`;
    else if (done.code !== 0 && counts.failed === 0) {
      const how = done.error ?? `ended with ${done.signal ?? `status ${done.code}`}`;
      problem = `${how}: ${lines.findLast((line) => line !== "") ?? ""}`;
    }
    if (problem !== null) this.add(name, "failed", { message: problem, suite: [name] });
    else if (counts.passed + counts.failed === 0) this.add(name, "passed", { durationMs, suite: [name] });
    say(`== ${name}: ${counts.passed} passed, ${counts.failed + (problem === null ? 0 : 1)} failed (${seconds(begun)} s)`);
  }

  #quietly(name: string, status: "passed" | "skipped", durationMs: number, suite: string): void {
    this.#tests.push(new TestBuilder().name(name).status(status).duration(Math.round(durationMs)).suite([suite]).build());
    this.#counts[status]++;
  }

  /** Tests of vitest; its own report's results are taken over with the suite's name before theirs. */
  async vitest(name: string, node: string, args: readonly string[], { env, file, timeoutMs }: VitestOptions): Promise<void> {
    const start = performance.now();
    say(`\n== ${name}`);
    const fallbacks = `${file}.fallbacks`;
    for (const old of [file, fallbacks]) rmSync(old, { recursive: true, force: true });
    const child = execa(node, ["node_modules/vitest/vitest.mjs", "run", ...patience, ...args], {
      cwd: root,
      env: { ...env, DXTENSOR_CTRF: file, DXTENSOR_FALLBACKS: fallbacks },
      stdin: "ignore",
      all: true,
      reject: false,
      timeout: timeoutMs,
    });
    child.all.pipe(this.#out, { end: false });
    const done = await child;
    const { tests, part } = existsSync(file) ? await describedReport(node, { env, file, fallbacks }) : { tests: [], part: undefined };
    rmSync(fallbacks, { recursive: true, force: true });
    if (part !== undefined) this.#parts[name] = part;
    for (const test of tests) {
      this.#tests.push({ ...test, suite: [name, ...(test.suite ?? [])] });
      this.#counts[test.status === "passed" || test.status === "failed" ? test.status : "skipped"]++;
    }
    const failed = tests.filter((test) => test.status === "failed").length;
    if (done.timedOut) this.add(name, "failed", { message: `not done after ${timeoutMs / 1000} s` });
    else if (tests.length === 0 || (done.failed && failed === 0))
      this.add(name, "failed", { message: `vitest ended with status ${done.exitCode}` });
    say(`== ${name}: ${tests.length - failed} passed or skipped, ${failed} failed (${seconds(start)} s)`);
  }

  /** Writes the report; returns {passed, failed, skipped}. versions: of what was tested, by name. */
  write(file: string, tool: string, versions?: object): Counts {
    const extra = Object.keys(this.#parts).length === 0 ? {} : { conformanceRuns: this.#parts };
    writeCtrf(file, { tool, tests: this.#tests, start: this.#start, environment: { extra: { versions } }, extra });
    return this.#counts;
  }
}
