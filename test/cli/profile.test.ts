/** `dxtensor profile`, on the build: the table, the trace, JSON, and scripts that fail or end the process. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-profile-command-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const index = pathToFileURL(resolve("dist", "index.js")).href;
const run = (code: string, ...args: string[]): { readonly status: number | null; readonly stdout: string; readonly stderr: string } => {
  const script = join(folder, "script.mjs");
  writeFileSync(script, `import * as dx from ${JSON.stringify(index)};\n${code}`);
  return spawnSync(process.execPath, [resolve("dist", "cli", "main.js"), "profile", script, ...args], { encoding: "utf8" });
};

it("prints a table, and writes a trace", () => {
  const trace = join(folder, "trace.json");
  const { status, stdout, stderr } = run(
    `dx.ones([4, 4], { device: "cpu" }).matmul(dx.ones([4, 4], { device: "cpu" })); setTimeout(() => console.log(process.argv[2]), 1);`,
    "--trace",
    trace,
    "--",
    "own",
  );
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(stdout).toMatch(/^own\nOperation/);
  expect(stdout).toMatch(/^matmul +forward +1 /m);
  expect((JSON.parse(readFileSync(trace, "utf8")) as { traceEvents: unknown[] }).traceEvents.length).toBeGreaterThan(3);
});

it("prints JSON, also where the script ends the process", () => {
  const { status, stdout } = run(`dx.ones([2], { device: "cpu" }).add(1); process.exit(3);`, "--json");
  expect(status).toBe(3);
  expect((JSON.parse(stdout) as { events: { name: string }[] }).events.some((e) => e.name === "add")).toBe(true);
});

it("tells of a script that fails", () => {
  const { status, stderr, stdout } = run(`dx.ones([2], { device: "cpu" }); throw new RangeError("mine");`, "--by", "line");
  expect(status).toBe(1);
  expect(stderr).toContain("RangeError: mine");
  expect(stdout).toMatch(/^Line/);
});

it.each(["profile", "launch"])("%s says that a script is not there", (verb) => {
  const { status, stderr } = spawnSync(process.execPath, [resolve("dist", "cli", "main.js"), verb, "absent.mjs"], { encoding: "utf8" });
  expect(stderr).toBe("error: command-argument value 'absent.mjs' is invalid for argument 'script'. There is no such file.\n");
  expect(status).toBe(2);
});
