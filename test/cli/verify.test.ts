/** `dxtensor verify` as a program, between the software adapter and a simulated device of it. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { validateStrict } from "ctrf";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const program = "dist/bundle/cli.js";
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-verify-"));
  await execa("npm", ["run", "build:ts"]);
}, 300_000);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Microsoft's libraries are out of the way, so that dml:0 is the simulated device. */
const env = (simulate: string): Record<string, string> => ({
  DXTENSOR_SIMULATE: simulate,
  DXTENSOR_DXCORE: join(folder, "none"),
  DXTENSOR_CPU_ADAPTERS: "0",
});
const verify = (args: readonly string[], simulate = "uhd-630@6.2") =>
  execa(process.execPath, [program, "verify", ...args], { reject: false, env: env(simulate) });

describe("dxtensor verify", () => {
  it("passes where both devices agree, and ends with the counts", async () => {
    const { stdout, exitCode } = await verify(["--quick", "--filter", "GEMM"]);
    expect(stdout).toMatch(/^device {5}dml:0: Intel\(R\) UHD Graphics 630 \(simulated\), feature level 6\.2$/m);
    expect(String(stdout).split("\n").at(-1)).toMatch(/^\d\d+ passed, 0 failed$/);
    expect(exitCode).toBe(0);
  });

  it("fails with the difference and a line that repeats it", async () => {
    const { stdout, exitCode } = await verify(["--quick", "--filter", "operator/GEMM/1/f32"], "uhd-630@6.2-GEMM");
    expect(stdout).toMatch(
      /FAILED operator\/GEMM\/1\/f32\/\w+\n {2}refused: GEMM: IDMLDevice::CreateOperator failed: DXGI_ERROR_UNSUPPORTED/,
    );
    expect(stdout).toMatch(/dxtensor verify --device dml:0 --reference cpu --seed 1 --filter 'operator\/GEMM\/1\/f32\/\w+'/);
    expect(String(stdout).split("\n").at(-1)).toBe("0 passed, 1 failed");
    expect(exitCode).toBe(1);
  });

  it("lists cases without running them", async () => {
    const { stdout, exitCode } = await verify(["--list", "--json", "--filter", "refusal/GEMM"]);
    expect(JSON.parse(String(stdout))).toEqual(["refusal/GEMM/1", "refusal/GEMM/2", "refusal/GEMM/3"]);
    expect(exitCode).toBe(0);
  });

  it("splits the cases into shards, each case in one of them", async () => {
    const list = async (...args: string[]): Promise<string[]> =>
      JSON.parse(String((await verify(["--list", "--json", "--quick", "--filter", "GEMM", ...args])).stdout)) as string[];
    const [whole, ...shards] = await Promise.all([list(), ...[1, 2, 3].map((n) => list("--shard", `${n}/3`))]);
    const sizes = shards.map((ids) => ids.length);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(2);
    expect(shards.flat().toSorted()).toEqual(whole!.toSorted());
    const { stderr, exitCode } = await verify(["--shard", "4/3"]);
    expect(stderr).toContain('such as "2/4" for the second');
    expect(exitCode).toBe(2);
  });

  it("writes JSON and CTRF", async () => {
    const file = join(folder, "reports", "ctrf.json");
    const { stdout } = await verify(["--json", "--ctrf", file, "--seed", "5", "--filter", "training/in place"]);
    expect(JSON.parse(String(stdout))).toMatchObject({
      passed: 2,
      failed: 0,
      seed: 5,
      cases: [
        { id: "training/in place", status: "passed" },
        { id: "shader/training/in place", status: "passed" },
      ],
    });
    const report = JSON.parse(readFileSync(file, "utf8")) as { results: { summary: object } };
    validateStrict(report as never);
    expect(report.results.summary).toMatchObject({ tests: 2, passed: 2, failed: 0 });
  });

  it("says what is wrong with its arguments, with another exit status", async () => {
    for (const [args, message] of [
      [["--seed", "x"], /--seed <number>' argument 'x' is invalid/],
      [["--filter", "/(/"], /Invalid regular expression/],
      [["--device", "dml:1"], /ValueError: verify: device must be a device that is there \(1 of dml, and cpu\); received dml:1/],
      [["--device", "dml:99"], /ValueError: verify: device must be a device that is there \(1 of dml, and cpu\); received dml:99/],
      [["--reference", "dml:0"], /a device other than the tested one/],
    ] as const) {
      const { stderr, exitCode } = await verify(args);
      expect(stderr).toMatch(message);
      expect(exitCode).toBe(2);
    }
    const nothing = await verify(["--filter", "no such case"]);
    expect([nothing.exitCode, nothing.stderr]).toEqual([1, "dxtensor: no case was compared"]);
  });

  it.skipIf(process.platform === "win32")("stops at Ctrl-C with the counts so far (not on Windows, which has no such signal)", async () => {
    const running = execa(process.execPath, [program, "verify"], { reject: false, env: env("uhd-630@6.2") });
    running.stdout.once("data", () => running.kill("SIGINT"));
    const { stdout, exitCode } = await running;
    expect(stdout).toContain("stopped before the end");
    expect(stdout).toMatch(/\d+ passed, 0 failed$/);
    expect(exitCode).toBe(130);
  });
});
