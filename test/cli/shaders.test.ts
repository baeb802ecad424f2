import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWhole } from "../share.ts";

const cli = "dist/bundle/cli.js";
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-shaders-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const run = (...args: string[]) =>
  execa(process.execPath, [cli, "shaders", ...args], {
    reject: false,
    env: { XDG_CACHE_HOME: folder, LOCALAPPDATA: folder, DXTENSOR_SHADERS: "" },
  });

describe("dxtensor shaders", () => {
  it("says what is chosen, and why", async () => {
    const { stdout, exitCode } = await run("--device", "cpu");
    expect(exitCode).toBe(0);
    expect(stdout).toBe(
      "cpu: dxtensor software adapter\nshaders: not measured, so none is taken\n\nNo shader is taken: DirectML's operators are.",
    );
    const answer = JSON.parse((await run("--device", "cpu", "--json")).stdout) as Record<string, unknown>;
    expect(answer).toMatchObject({ device: "cpu", problem: null, chosen: [], measurements: [] });
    expect(String(answer.path).startsWith(folder)).toBe(true);
  });

  it.runIf(isWhole)("measures small sizes without keeping them", { timeout: 300_000 }, async () => {
    const { stdout, stderr, exitCode } = await run("--device", "cpu", "--measure", "--quick");
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(/^softmax +float16 +compiled +64 .*[\d.]+x/m);
    expect(stdout).toMatch(/Small sizes decide nothing: the result was not saved\.$/);
    // The library's bytecode is kept.
    const kept = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (name) => !/^dxtensor(?:[\\/]code(?:[\\/].*)?)?$/.test(name),
    );
    expect(kept).toEqual([]);
    expect(JSON.parse((await run("--device", "cpu", "--forget", "--json")).stdout)).toMatchObject({ isForgotten: false });
  });

  it("refuses what makes no sense", async () => {
    const done = await Promise.all([run("--measure", "--forget"), run("--device", "dml:77"), run("--device", "gpu")]);
    expect(done.map((d) => d.exitCode)).toEqual([2, 2, 2]);
    expect(done[0]!.stderr).toContain("cannot be used with");
  });
});
