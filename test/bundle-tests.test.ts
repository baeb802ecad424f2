/** scripts/bundle-tests.ts: the tests as plain programs, run from a folder without the repository around it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkReports } from "../scripts/conformance/report-check.ts";
import { isWhole } from "./share.ts";

interface Manifest {
  readonly ok: boolean;
  readonly files: readonly string[];
  readonly leftOut: readonly { readonly file: string; readonly reason: string }[];
}
interface Report {
  readonly results: {
    readonly summary: { readonly passed: number; readonly failed: number };
    readonly tests: readonly { readonly name: string; readonly status: string; readonly message?: string }[];
  };
}

// test/cli/conformance.test.ts bundles them too.
describe.runIf(isWhole)("bundled tests", () => {
  let folder: string;
  let manifest: Manifest;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "dxtensor-bundle-"));
    const done = await execa(process.execPath, ["scripts/run.mjs", "bundle-tests", "--out", folder, "--own-native", "--json"]);
    manifest = JSON.parse(done.stdout) as Manifest;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    execa(process.execPath, [join(folder, "run.mjs"), ...args], {
      cwd: tmpdir(),
      reject: false,
      env: { DXTENSOR_TEST_DEVICES: "cpu", ...env },
    });

  it("hold what tests the library, and name what tests the repository", () => {
    expect(manifest.files).toContain("test/golden/eager-1.test.mjs");
    expect(manifest.leftOut).toContainEqual({ file: "test/bundle-tests.test.ts", reason: "reads scripts/run.mjs" });
    expect(manifest.leftOut).toContainEqual({ file: "test/peers/images.test.ts", reason: "needs sharp, which is machine code" });
    expect(manifest.leftOut).toContainEqual({ file: "test/telemetry/message.test.ts", reason: "reads docs" });
    expect(manifest.leftOut).toContainEqual({ file: "test/telemetry/resolve.test.ts", reason: "reads dist/telemetry/resolve.js" });
    expect(manifest.leftOut.map(({ file }) => file)).not.toContain("test/core/tensor.test.ts");
  });

  it("pass by themselves, with a report", async () => {
    const done = await run(["--filter", "test/core/print", "--json"]);
    const { summary } = (JSON.parse(done.stdout) as Report).results;
    expect(done.exitCode).toBe(0);
    expect(summary.passed).toBeGreaterThan(0);
    expect(summary.failed).toBe(0);
    // The device is described as `dxtensor conformance` does; no set has this file.
    const part = checkReports(done.stdout, "stdout").parts[""]!;
    expect(part).toMatchObject({ device: { name: "cpu" }, versions: { node: process.version }, sets: [], only: null });
    expect(part.outside).toMatchObject({ files: ["test/core/print.test.mjs"], passed: summary.passed, failed: 0 });
  });

  it("compile every shader, as npm test does: shaders of the cache come without their source", async () => {
    for (const _ of [1, 2]) {
      const done = await run(["--filter", "test/graph/passes/fuse/row-code"], { XDG_CACHE_HOME: join(folder, "cache") });
      expect([done.exitCode, done.stdout]).toEqual([0, expect.stringMatching(/^[1-9]\d* passed, 0 failed$/m)]);
    }
  });

  // Those that open files, or start threads and processes.
  it("pass without the repository around them", { timeout: 600_000 }, async () => {
    const folders = ["data", "distributed", "native", "peers", "telemetry", "windows"].flatMap((name) => ["--filter", `test/${name}/`]);
    const done = await run([...folders, "--jobs", "2", "--json"]);
    const { summary, tests } = (JSON.parse(done.stdout) as Report).results;
    expect(tests.filter(({ status }) => status === "failed").map(({ name, message }) => `${name}: ${message}`)).toEqual([]);
    expect(summary.passed).toBeGreaterThan(300);
  });

  it("end with the counts and status 1 where tests fail, and say why", async () => {
    const done = await run(["--filter", "test/core/print"], { DXTENSOR_NATIVE: join(folder, "absent.node") });
    expect(done.exitCode).toBe(1);
    expect(done.stdout.trim().split("\n").at(-1)).toMatch(/^0 passed, [1-9]\d* failed$/);
    expect(done.stderr).toContain("absent.node (no such file)");
  });

  it("count a file that takes too long, and one that ends early, as failed", async () => {
    const late = await run(["--filter", "test/golden/eager-1.test", "--timeout", "0.5", "--json"]);
    expect(late.exitCode).toBe(1);
    expect((JSON.parse(late.stdout) as Report).results.tests.at(-1)?.message).toContain("stopped after 0.5 s");
    const early = await run(["--filter", "test/core/print", "--json"], { NODE_OPTIONS: "--stack-size=invalid" });
    expect(early.exitCode).not.toBe(0);
  });

  it("refuse a filter that fits nothing, and a pattern that leaves no test", async () => {
    expect((await run(["--filter", "no such file"])).exitCode).toBe(1);
    const none = await run(["--filter", "test/core/print", "--test", "no such test"]);
    expect(none.exitCode).toBe(1);
    expect(none.stdout.trim().split("\n").at(-1)).toBe("0 passed, 0 failed");
  });
});
