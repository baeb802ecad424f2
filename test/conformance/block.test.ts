/** What reports of other programs say of a device, and how they are checked: scripts/conformance/block.ts, describe.ts, report-check.ts. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { TestBuilder, type CTRFReport, type Test } from "ctrf";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byFile, conformanceBlock } from "../../scripts/conformance/block.ts";
import type { DeviceFacts } from "../../scripts/conformance/device.ts";
import { withoutFolders } from "../../scripts/conformance/portable.ts";
import { checkReport, checkReports } from "../../scripts/conformance/report-check.ts";
import type { Conformance } from "../../scripts/conformance/schema.ts";
import { writeCtrf, reportOf } from "../../scripts/tools/ctrf.ts";
import { mergedReport, stepName } from "../../matrix/report/ctrf.ts";
import { CellReport } from "../../scripts/cells/linux/report.ts";
import { writeReport } from "../../scripts/cells/wine/report.ts";
import type { RunRecord } from "../../matrix/run/store.ts";
import { isWhole } from "../share.ts";

const facts: DeviceFacts = {
  device: { name: "dml:0", description: "a card", backend: "dml", version: "1.2", isHardware: true, memoryInBytes: 1, featureLevel: "6.4" },
  directml: "1.15.4",
  system: { platform: "linux", arch: "x64", name: "Linux 6" },
};
const test = (file: string, name: string, status: Test["status"] = "passed"): Test =>
  new TestBuilder().name(name).status(status).duration(1500).suite([file]).filePath(file).build();

/** Two sets in part, and what is in none: a native program, and a file that must-pass excepts. */
const tests = [
  test("test/core/scope.test.ts", "a"),
  test("test/core/scope.test.ts", "b", "failed"),
  test("test/optim/traces.test.ts", "c", "skipped"),
  test("test/runtime/devices.test.ts", "d"),
  test("native", "kernel_test", "failed"),
];
const files = ["test/core/scope.test.ts", "test/core/tensor.test.ts", "test/optim/traces.test.ts", "test/runtime/devices.test.ts"];
const block = (own: readonly Test[] = tests): Conformance =>
  conformanceBlock({
    date: "2026-01-02T03:04:05.000Z",
    version: "0.1.0",
    facts,
    done: byFile(own),
    files,
    only: null,
    fellBack: [
      { operation: "conv", reason: "no kernel", calls: 2 },
      { operation: "conv", reason: "no kernel", calls: 3 },
    ],
  });
const report = (extra: Record<string, unknown>, own: readonly Test[] = tests): CTRFReport => {
  const made = reportOf({ tool: "vitest", tests: own, start: 1 });
  made.results.extra = { ...made.results.extra, ...extra };
  return structuredClone(made);
};
const checked = (made: unknown) => checkReports(JSON.stringify(made), "r.json");

describe("the block", () => {
  it("counts sets, how much of them was run, and what is in none", () => {
    const part = block();
    expect(part.sets).toEqual([
      { name: "must-pass", files: 1, ofFiles: 2, passed: 1, failed: 1, skipped: 0, seconds: 3, isComplete: false },
      { name: "models", files: 1, ofFiles: 1, passed: 0, failed: 0, skipped: 1, seconds: 1.5, isComplete: true },
    ]);
    expect(part.outside).toEqual({ files: ["native", "test/runtime/devices.test.ts"], passed: 1, failed: 1, skipped: 0, seconds: 3 });
    expect(part.fellBack).toEqual([{ operation: "conv", reason: "no kernel", calls: 5 }]);
    expect(block(tests.slice(0, 3)).outside).toBeUndefined();
  });

  it("is checked with its tests", () => {
    const made = report({ conformance: block() });
    expect(checked(made).parts[""]).toEqual(block());
    const refused = (change: (part: Conformance) => void): string => {
      const part = block();
      change(part);
      try {
        checked(report({ conformance: part }));
      } catch (error) {
        return (error as Error).message;
      }
      return "accepted";
    };
    expect(refused((part) => part.outside!.passed++)).toMatch(/conformance\.outside\.passed is 2, the report has 1/);
    expect(refused((part) => part.outside!.files.pop())).toMatch(/outside\.passed is 1, the report has 0/);
    // Failures cannot be hidden in files outside the sets: their counts are compared too.
    expect(refused((part) => part.outside!.files.push("test/core/scope.test.ts"))).toMatch(/outside\.passed is 1, the report has 2/);
    expect(refused((part) => delete part.outside)).toMatch(/belongs to no set/);
    expect(() => checked(report({}))).toThrow(
      /conformance is missing: it is no report of `dxtensor conformance`, of the matrix, of pack:gpu or of verify/,
    );
  });
});

it("a test's texts name no folder of the machine", () => {
  const made: Test = { ...test("a.mjs", "a", "failed"), message: "in /home/me/app/data", trace: "at file:///home/me/app/tests/a.mjs:1 (/home/me/app/tests/b.mjs:2)" }; // prettier-ignore
  const names = { "/home/me/app/tests": "tests", "/home/me/app": "." };
  expect(withoutFolders(made, names)).toEqual({ ...made, message: "in ./data", trace: "at tests/a.mjs:1 (tests/b.mjs:2)" });
  expect(withoutFolders(test("a.mjs", "a"), names)).toEqual(test("a.mjs", "a"));
});

describe("reports of several runs", () => {
  const cells = ["linux/node-20/gpu", "linux/node-22/gpu"];
  const record = {
    owner: { run: "r" },
    sources: { what: "commit" },
    results: cells.map((id) => ({ id, status: "passed", reason: null, startedAt: 1, endedAt: 2, facts: {}, counts: {}, where: "here" })),
    plan: {
      suite: "device",
      runs: cells.map((id) => ({ id, device: { kind: "software" } })),
      cells: cells.map((id) => ({
        id,
        platform: "linux",
        node: id.slice(11, 13),
        evidence: "software",
        mustPass: true,
        run: id,
        reason: null,
      })),
    },
  } as unknown as RunRecord;

  it("have the block of each run, and its tests", () => {
    const parts = new Map(cells.map((id) => [id, block()]));
    const merged = mergedReport(record, new Map(cells.map((id) => [id, tests])), parts);
    expect(Object.keys(checked(merged).parts)).toEqual(cells);
    expect(() => checkReport(JSON.stringify(merged), "r.json")).toThrow(/it is a report of several runs/);
    const other = mergedReport(record, new Map([[cells[0]!, tests.slice(1)], [cells[1]!, tests]]), parts); // prettier-ignore
    expect(() => checked(other)).toThrow(/conformanceRuns\.linux\/node-20\/gpu\.sets\.must-pass\.passed is 1, the report has 0/);
  });

  it("have the block of each step of a command's run, which describes its devices by itself", () => {
    const [id] = cells as [string];
    const steps = ["tests, Node 20", "tests, Node 22"];
    const own = steps.flatMap((step) => tests.map((one) => ({ ...one, suite: [step, ...(one.suite ?? [])] })));
    const program = { ...test("native", "abi_suite"), suite: ["ABI suite"] };
    const named = steps.map((step) => stepName(id, step));
    const merged = mergedReport(record, new Map([[id, [...own, program]]]), new Map(named.map((name) => [name, block()])));
    expect(Object.keys(checked(merged).parts)).toEqual(named);
    expect(merged.results.tests.findLast(({ name }) => name === "abi_suite")!.suite).toEqual([id, "ABI suite"]);
    const fewer = mergedReport(record, new Map([[id, own.slice(1)]]), new Map(named.map((name) => [name, block()])));
    expect(() => checked(fewer)).toThrow(/tests, Node 20\.sets\.must-pass\.passed is 1, the report has 0/);
  });

  it("have none where no run describes its device", () => {
    const merged = mergedReport(record, new Map(cells.map((id) => [id, tests])));
    expect(() => checked(merged)).toThrow(/conformance is missing/);
  });
});

describe("reports of the cells of Microsoft's library", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "dxtensor-cells-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("under Wine have the block of each step that tested one device", () => {
    const file = join(folder, "verify-windows.json");
    const names = ["tests on DirectML.dll", "tests on both", "a crash", "ABI suite"];
    const own = [report({ conformance: block() }), report({}), report({ conformance: block() })];
    own.forEach((made, i) => writeFileSync(join(folder, `${i}.json`), JSON.stringify(made)));
    const counts = { passed: 2, failed: 2, skipped: 1, seconds: 1 };
    writeReport(file, {
      // The third step counted more failures than its report has: it is no report of the step.
      results: names.map((name) => ({ name, ...counts, ...(name === "a crash" ? { failed: 9, problem: "it ended" } : {}) })),
      reports: new Map(own.map((_, i) => [names[i]!, join(folder, `${i}.json`)])),
      start: 1,
      versions: {},
      leftOut: [],
      isQuick: true,
    });
    const { parts, report: made } = checkReports(readFileSync(file, "utf8"), file);
    expect(parts).toEqual({ [names[0]!]: block() });
    expect(made.results.summary.failed).toBe(2 + 2 + 9 + 2);
  });

  it.runIf(isWhole)(
    "on Linux have the block of each run of vitest",
    async () => {
      const file = join(folder, "verify-linux.json");
      const output = new Writable({ write: (_chunk, _encoding, done) => done() });
      const cell = new CellReport(output);
      const env = { DXTENSOR_TEST_DEVICES: "cpu" };
      await cell.vitest("tests", process.execPath, ["test/core/scope.test.ts"], {
        env,
        file: join(folder, "vitest.json"),
        timeoutMs: 60_000,
      });
      await cell.program("a program", process.execPath, ["-e", "console.log('3 passed, 0 failed')"]);
      const counts = cell.write(file, "dxtensor verify:linux", { node: "20" });
      const { parts } = checkReports(readFileSync(file, "utf8"), file);
      expect(Object.keys(parts)).toEqual(["tests"]);
      expect(parts["tests"]!.device.name).toBe("cpu");
      const [set] = parts["tests"]!.sets;
      expect(set).toMatchObject({ name: "must-pass", files: 1, passed: counts.passed - 3, failed: 0 });
      expect(readdirSync(folder).toSorted()).toEqual(["verify-linux.json", "vitest.json"]);
    },
    60_000,
  );
});

it.runIf(isWhole)(
  "describe.ts adds the block of a device to a report of vitest's, with what fell back",
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-describe-"));
    const program = (...args: string[]) =>
      execa(process.execPath, ["--import", "./scripts/typescript.mjs", "scripts/conformance/describe.ts", ...args], { reject: false });
    try {
      const file = join(folder, "ctrf.json");
      writeCtrf(file, { tool: "vitest", tests, start: 1 });
      mkdirSync(join(folder, "fallbacks"));
      const fellBack = [{ operation: "conv", reason: "no kernel", calls: 2 }];
      for (const name of ["a.json", "b.json"]) writeFileSync(join(folder, "fallbacks", name), JSON.stringify(fellBack));
      const done = await program("--device", "cpu", "--report", file, "--fallbacks", join(folder, "fallbacks"));
      expect([done.exitCode, done.stderr]).toEqual([0, ""]);
      const { parts } = checkReports(readFileSync(file, "utf8"), file);
      const part = parts[""]!;
      expect(part.device).toMatchObject({ name: "cpu", backend: "cpu", isHardware: false, featureLevel: "6.4" });
      expect(part.versions.node).toBe(process.version);
      expect(part.sets.map(({ name, files: own, isComplete }) => [name, own, isComplete])).toEqual([["must-pass", 1, false], ["models", 1, true]]); // prettier-ignore
      expect(part.sets[0]!.ofFiles).toBeGreaterThan(100);
      expect(part.outside!.files).toEqual(["native", "test/runtime/devices.test.ts"]);
      expect(part.fellBack).toEqual([{ operation: "conv", reason: "no kernel", calls: 4 }]);
      const before = readFileSync(file, "utf8");
      const none = await program("--device", "nope:0", "--report", file);
      expect([none.exitCode, none.stderr]).toEqual([1, expect.stringMatching(/nope:0 does not compute: .*nope/)]);
      expect(readFileSync(file, "utf8")).toBe(before);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  60_000,
);
