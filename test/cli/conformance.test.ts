/** `dxtensor conformance` and `dxtensor report`, in an application's folder: src/cli/conformance.ts, scripts/conformance. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeApplication } from "../../scripts/conformance/application.ts";
import { conformance, type Conformance } from "../../scripts/conformance/schema.ts";
import { SETS } from "../../scripts/conformance/sets.ts";
import { isWhole, share } from "../share.ts";

let app: string;

interface Test {
  name: string;
  status: string;
  message?: string;
  filePath: string;
}
interface Report {
  results: { summary: Record<string, number>; tests: Test[]; extra: { conformance: Conformance } };
}

/** A backend that is openreg but for a kernel of its own for tanh, which does what `fault` says. */
function installFaulty(name: string, fault: string): void {
  const folder = join(app, "node_modules", name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ name, version: "3.2.1", dxtensor: { backends: { [name]: "./backend.cjs" } } }),
  );
  writeFileSync(
    join(folder, "backend.cjs"),
    `const { backend } = require("@dxtensor/openreg/package.json") && require(require("node:path").join(require.resolve("@dxtensor/openreg/package.json"), "..", "dist", "backend.cjs"));
exports.backend = { ...backend, name: "${name}", version: "3.2.1", open(index, options) {
  const device = backend.open(index, options);
  const prepare = device.prepare.bind(device);
  device.prepare = (call) => call.operator === "ELEMENT_WISE_TANH" ? { run() { ${fault} } } : prepare(call);
  return device;
} };`,
  );
}

const cli = (args: readonly string[], options: { readonly cwd?: string } = {}) =>
  execa(process.execPath, [resolve("dist/bundle/cli.js"), ...args], { cwd: app, reject: false, stdin: "ignore", ...options });
const read = (file: string): Report => JSON.parse(readFileSync(join(app, file), "utf8")) as Report;
const write = (file: string, report: unknown): void => writeFileSync(join(app, file), JSON.stringify(report));

beforeAll(async () => {
  app = realpathSync(mkdtempSync(join(tmpdir(), "dxtensor-conformance-")));
  await makeApplication(app);
  installFaulty("crashes", `require("node:fs").writeSync(2, "the fence of queue 7 never came\\n"); process.abort();`);
  installFaulty("hangs", "for (;;);");
  const manifest = JSON.parse(readFileSync(join(app, "package.json"), "utf8")) as { dependencies: Record<string, string> };
  write("package.json", { ...manifest, dependencies: { ...manifest.dependencies, crashes: "*", hangs: "*" } });
}, 120_000);
afterAll(() => rmSync(app, { recursive: true, force: true }));

describe("dxtensor conformance", () => {
  it("lists its sets: every file in one of them", async () => {
    const { stdout, exitCode } = await cli(["conformance", "--list", "--json"]);
    expect(exitCode).toBe(0);
    const sets = JSON.parse(stdout) as { name: string; about: string; files: string[] }[];
    expect(sets.map(({ name }) => name)).toEqual(["must-pass", "operators", "models", "stress"]);
    const files = sets.flatMap((set) => set.files);
    expect(new Set(files).size).toBe(files.length);
    expect(files).toEqual(
      expect.arrayContaining(["test/core/tensor.test.mjs", "test/golden/eager-1.test.mjs", "test/optim/traces.test.mjs"]),
    );
    for (const { files: own } of sets) expect(own.length).toBeGreaterThan(0);
    // A rule that leaves nothing out is out of date.
    for (const { except = {} } of SETS)
      for (const start of Object.keys(except))
        expect([start, files.some((file) => file.startsWith(start))]).toEqual([
          start,
          start.includes("random-writes") || start.includes("gradgradcheck") || start.includes("stateful") || start.includes("histories"),
        ]);
  });

  it("runs a set on an installed backend, and reports", async () => {
    const { stdout, stderr, exitCode } = await cli(["conformance", "--device", "openreg:0", "--set", "models", "--ctrf", "models.json"]);
    expect([stderr, exitCode]).toEqual([expect.stringMatching(/^1\/1 ok {3}test\/optim\/traces.test.mjs: \d+ passed, 0 failed/), 0]);
    expect(stdout).toMatch(/^openreg:0, openreg simulator 0:\n {2}models +100\.00 % +\d+ passed, 0 failed\n {2}level: none$/);
    const { results } = read("models.json");
    const part = conformance.parse(results.extra.conformance);
    expect(part.device).toMatchObject({ name: "openreg:0", backend: "openreg", version: "0.1.0", isHardware: false, featureLevel: null });
    expect(part.sets).toMatchObject([{ name: "models", files: 1, ofFiles: 1, failed: 0, isComplete: true }]);
    expect(part.sets[0]!.passed).toBe(results.summary["passed"]);
    expect(part.fellBack.map(({ operation }) => operation)).toContain("conv");
    const checked = await cli(["report", "check", "models.json"]);
    expect([checked.exitCode, checked.stdout]).toEqual([
      0,
      expect.stringMatching(/^models.json: openreg:0.*\n {2}models: \d+ of \d+ pass\n {2}level: none\n/),
    ]);
  }, 240_000);

  it.runIf(isWhole)("continues when the device ends the process, and names the test", async () => {
    const { exitCode, stdout, stderr } = await cli([
      "conformance",
      "--device",
      "crashes:0",
      "--file",
      "autograd/slopes",
      "--file",
      "core/scope",
      "--ctrf",
      "crashed.json",
    ]);
    expect(exitCode).toBe(1);
    const { results } = read("crashed.json");
    const failed = results.tests.filter(({ status }) => status === "failed");
    expect(stderr).toContain("the fence of queue 7 never came");
    // Tests behind the crash did not pass.
    const unreached = failed.filter(({ message }) => message === "not reached: the process ended before it");
    expect(unreached.length).toBeGreaterThan(10);
    const named = failed.slice(0, 20).map(({ filePath, name }) => `  failed: ${filePath} > ${name}`);
    expect(stdout.split("\n").slice(-21)).toEqual([...named, `  and ${failed.length - 20} more`]);
    expect(failed.at(-1)).toMatchObject({
      name: "test/autograd/slopes.test.mjs",
      message: expect.stringMatching(
        /process .*SIGABRT.*in or after the test "slopes at special values[\s\S]*last lines of its standard error:[\s\S]*the fence of queue 7 never came/,
      ) as string,
    });
    expect(new Set(failed.map(({ filePath }) => filePath))).toEqual(new Set(["test/autograd/slopes.test.mjs"]));
    expect(results.tests.filter(({ filePath, status }) => filePath === "test/core/scope.test.mjs" && status === "passed").length).toBe(6);
    expect(results.extra.conformance.device).toMatchObject({ name: "crashes:0", version: "3.2.1" });
    expect((await cli(["report", "check", "crashed.json"])).exitCode).toBe(0);
  });

  it.runIf(isWhole)("ends a file that hangs", async () => {
    const { exitCode, stderr } = await cli([
      "conformance",
      "--device",
      "hangs:1",
      "--file",
      "autograd/slopes",
      "--file",
      "core/scope",
      "--timeout",
      "4",
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/FAIL test\/autograd\/slopes.test.mjs: 0 passed, \d\d+ failed[\s\S]*stopped after 4 s/);
    expect(stderr).toMatch(/ok {3}test\/core\/scope.test.mjs: 6 passed, 0 failed/);
  });

  it.runIf(isWhole)("continues with a run that was stopped, and runs nothing twice", async () => {
    const args = ["conformance", "--device", "cpu", "--file", "test/core", "--file", "test/data", "--ctrf", "part.json"];
    const first = execa(process.execPath, [resolve("dist/bundle/cli.js"), ...args], { cwd: app, reject: false, stdin: "ignore" });
    for await (const line of first.iterable({ from: "stderr" })) if (line.trim().startsWith("2/")) first.kill("SIGTERM");
    const stopped = await first;
    expect([stopped.exitCode, stopped.stderr]).toEqual([130, expect.stringMatching(/continue with --resume .*part\.json/)]);
    expect((await cli(["report", "check", "part.json"])).exitCode).toBe(0);
    const before = read("part.json").results.tests.map(({ filePath }) => filePath);
    const rest = await cli(["conformance", "--device", "cpu", "--file", "test/core", "--file", "test/data", "--resume", "part.json"]);
    expect(rest.exitCode).toBe(0);
    expect(rest.stderr).toContain(`${new Set(before).size} files are in the report already`);
    for (const file of new Set(before)) expect(rest.stderr).not.toContain(`ok   ${file}`);
    const after = read("part.json");
    expect(after.results.tests.map(({ filePath }) => filePath).slice(0, before.length)).toEqual(before);
    expect(new Set(after.results.tests.map(({ filePath }) => filePath)).size).toBeGreaterThan(new Set(before).size);
    expect(after.results.summary["failed"]).toBe(0);
    expect((await cli(["report", "check", "part.json"])).exitCode).toBe(0);
    const other = await cli(["conformance", "--device", "openreg:0", "--resume", "part.json"]);
    expect([other.exitCode, other.stderr]).toEqual([2, expect.stringContaining("the report is of cpu, not of openreg:0")]);
  });

  const refused: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [["--device", "nope:0"], /nope:0 does not compute: DeviceError: .*received nope:0/],
    [[], /--device is required/],
    [["--device", "cpu", "--set", "all"], /there is no all; the sets are must-pass, operators, models, stress/],
    [["--device", "cpu", "--only", "("], /--only: Invalid regular expression/],
    [["--device", "cpu", "--file", "nowhere"], /--file: no file of these sets has such a path/],
    [["--device", "cpu", "--set", "models", "--only", "no such test"], /--only: no test has such a name/],
    [["--device", "cpu", "--jobs", "0"], /--timeout and --jobs are positive numbers/],
    [["--device", "cpu", "--resume", "absent.json"], /--resume: there is no .*absent.json/],
    [["--devise", "cpu"], /--devise/],
  ];
  // Each starts a program: three, unless all are asked for.
  it.each(share(refused, 4))("refuses %j", async (args, message) => {
    const { exitCode, stderr } = await cli(["conformance", ...args]);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it("has a help text, and says what to install", async () => {
    expect((await cli(["conformance", "--help"])).stdout).toContain("--resume FILE");
    const folder = join(app, "node_modules", "@dxtensor", "conformance");
    const manifest = join(folder, "package.json");
    const text = readFileSync(manifest, "utf8");
    writeFileSync(manifest, text.replace(/"version": "[^"]*"/, '"version": "0.0.1"'));
    const old = await cli(["conformance", "--list"]);
    expect([old.exitCode, old.stderr]).toEqual([
      2,
      expect.stringMatching(/is of version 0\.0\.1, dxtensor of .*\n {2}npm install --save-dev @dxtensor\/conformance@/),
    ]);
    writeFileSync(manifest, text);
    renameSync(folder, `${folder}-away`);
    const none = await cli(["report", "criteria"]);
    const helps = await Promise.all([cli(["conformance", "--help"]), cli(["report", "--help"])]);
    renameSync(`${folder}-away`, folder);
    expect([none.exitCode, none.stderr]).toEqual([
      2,
      expect.stringMatching(/not installed\.\n {2}npm install --save-dev @dxtensor\/conformance@/),
    ]);
    for (const [index, usage] of ["npx dxtensor conformance --device NAME", "npx dxtensor report check FILE"].entries()) {
      const { exitCode, stdout, stderr } = helps[index]!;
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(stdout.startsWith(usage)).toBe(true);
      expect(stdout).toMatch(/not installed\.\n {2}npm install --save-dev @dxtensor\/conformance@\d/);
    }
  });

  it.runIf(isWhole)("does not mix two devices, drivers or versions in one report", async () => {
    const args = ["conformance", "--device", "openreg:0", "--file", "core/scope"];
    expect((await cli([...args, "--ctrf", "begun.json"])).exitCode).toBe(0);
    const begun = read("begun.json");
    const refusal = async (change: (part: Conformance) => void): Promise<unknown[]> => {
      const report = structuredClone(begun);
      change(report.results.extra.conformance);
      write("other.json", report);
      const before = readFileSync(join(app, "other.json"), "utf8");
      const { exitCode, stderr } = await cli([...args, "--resume", "other.json"]);
      expect(readFileSync(join(app, "other.json"), "utf8")).toBe(before);
      return [exitCode, stderr];
    };
    const says = (text: string): unknown[] => [2, expect.stringContaining(`--resume: the report is of ${text}`)];
    const cases: readonly (readonly [change: (part: Conformance) => void, said: string])[] = [
      [({ device }) => { device.name = "openreg:1"; }, "openreg:1, not of openreg:0"], // prettier-ignore
      [({ device }) => { device.description = "another card"; }, "the device another card, not of openreg simulator 0"], // prettier-ignore
      [({ device }) => { device.version = "0.0.9"; }, "driver 0.0.9, not of 0.1.0"], // prettier-ignore
      [({ device }) => { device.version = null; }, "driver unknown, not of 0.1.0"], // prettier-ignore
      [({ device }) => { device.featureLevel = "5.0"; }, "feature level 5.0, not of unknown"], // prettier-ignore
      [({ versions }) => { versions.dxtensor = "0.0.1"; }, "dxtensor 0.0.1, not of "], // prettier-ignore
      [({ versions }) => { versions.directml = "1.8.0"; }, "DirectML 1.8.0, not of unknown"], // prettier-ignore
      [({ versions }) => { versions.node = "v18.0.0"; }, `Node v18.0.0, not of ${process.version}`], // prettier-ignore
      [({ system }) => { system.arch = "mips"; }, `system ${process.platform}-mips, not of `], // prettier-ignore
    ];
    // Two, unless all are asked for: each starts a program and opens the device.
    for (const [change, said] of share(cases, 8)) expect(await refusal(change)).toEqual(says(said));
    const same = await cli([...args, "--resume", "begun.json"]);
    expect([same.exitCode, same.stderr]).toEqual([0, expect.stringContaining("1 files are in the report already")]);
  });
});

describe("dxtensor report check", () => {
  /** What is said of the report after each change, of all by one program. */
  const altered = async (...changes: readonly ((report: Report) => void)[]): Promise<string[]> => {
    const files = changes.map((change, i) => {
      const report = read("models.json");
      change(report);
      write(`altered-${i}.json`, report);
      return `altered-${i}.json`;
    });
    const { exitCode, stdout } = await cli(["report", "check", ...files]);
    expect(exitCode).toBe(1);
    return stdout.split("\n");
  };

  it("refuses what is no report, or was changed by hand", async () => {
    writeFileSync(join(app, "altered.json"), "{");
    expect((await cli(["report", "check", "altered.json"])).stdout).toMatch(/NOT A REPORT: altered.json: it is no JSON/);
    write("altered.json", { results: {} });
    expect((await cli(["report", "check", "altered.json"])).exitCode).toBe(1);
    expect((await cli(["report", "check", "absent.json"])).stdout).toContain("it is not there");
    const cases: readonly (readonly [change: (report: Report) => void, said: string | RegExp])[] = [
      [({ results }) => { results.tests[0]!.status = "failed"; }, /results\.summary\.passed is \d+, the report has \d+ such tests/], // prettier-ignore
      [({ results }) => { results.extra.conformance.sets[0]!.passed++; }, /sets\.models\.passed is \d+, the report has/], // prettier-ignore
      [({ results }) => { delete (results as { extra?: unknown }).extra; }, "results.extra.conformance is missing"], // prettier-ignore
      [({ results }) => { results.extra.conformance.date = "yesterday"; }, "results.extra.conformance.date"], // prettier-ignore
      [({ results }) => { (results.extra.conformance.device as Record<string, unknown>)["price"] = 1; }, "results.extra.conformance.device"], // prettier-ignore
      [({ results }) => { results.tests[0]!.filePath = "test/elsewhere.test.mjs"; }, "there is no test file test/elsewhere.test.mjs"], // prettier-ignore
      [({ results }) => { results.extra.conformance.sets[0]!.ofFiles = 2; }, "ofFiles is 2, the set has 1 files"], // prettier-ignore
      [({ results }) => { results.summary["tests"] = 99; }, "results.summary.tests is 99"], // prettier-ignore
      [({ results }) => { results.extra.conformance.only = "x"; }, "isComplete is true"], // prettier-ignore
    ];
    const said = await altered(...cases.map(([change]) => change));
    const problems = said.filter((line) => line.startsWith("NOT A REPORT: "));
    expect(problems).toEqual(
      cases.map(([, text], i) =>
        expect.stringMatching(
          new RegExp(
            `^NOT A REPORT: altered-${i}\\.json: .*${typeof text === "string" ? text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&") : text.source}`,
            "s",
          ),
        ),
      ),
    );
  });

  it("gives criteria and the schema, which other programs read", async () => {
    const criteria = JSON.parse((await cli(["report", "criteria", "--json"])).stdout) as { level: string }[];
    expect(criteria.map(({ level }) => level)).toEqual(["stable", "preview", "listed"]);
    const schema = JSON.parse((await cli(["report", "schema"])).stdout) as { properties: object; required: string[] };
    expect(schema).toEqual(
      JSON.parse(readFileSync(join(app, "node_modules", "@dxtensor", "conformance", "dist", "report.schema.json"), "utf8")),
    );
    expect(schema.required).toContain("fellBack");
    expect((await cli(["report", "frobnicate"])).exitCode).toBe(2);
    const json = JSON.parse((await cli(["report", "check", "models.json", "--json"])).stdout) as {
      ok: boolean;
      level: null;
      lacks: { level: string }[];
    }[];
    expect(json).toMatchObject([{ ok: true, level: null, lacks: [{ level: "stable" }, { level: "preview" }, { level: "listed" }] }]);
  });
});
