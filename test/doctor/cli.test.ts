/** The command itself, on this machine and with installations that are broken on purpose. */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const cli = "dist/bundle/cli.js";
const addon = "build/native/Release/dxtensor.node";
const software = "build/native/Release/libdxtensor_software.so";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-doctor-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly ok: boolean;
  readonly verdict: string;
  readonly problems: readonly { readonly code: string; readonly text: string; readonly mend: string }[];
  readonly facts: { readonly probe: { readonly devices: readonly { readonly device: string; readonly problem: string | null }[] } };
}

async function doctor(env: Record<string, string> = {}): Promise<{ status: number | undefined; answer: Answer; stderr: string }> {
  const done = await execa(process.execPath, [cli, "doctor", "--json"], { reject: false, env });
  return { status: done.exitCode, answer: JSON.parse(done.stdout) as Answer, stderr: done.stderr };
}

describe.runIf(process.platform === "linux")("dxtensor doctor", () => {
  it("finds the software adapter computing, on any machine with a build", async () => {
    const { answer, stderr } = await doctor({ DXTENSOR_DIRECTML: "", DXTENSOR_LIBRARY_FOLDER: "" });
    expect(answer.facts.probe.devices.find(({ device }) => device === "cpu")).toMatchObject({ problem: null, featureLevel: "6.4" });
    expect(["cpu", "gpu"]).toContain(answer.verdict);
    expect(stderr).toBe("");
  });

  it("is read by people, too", async () => {
    const done = await execa(process.execPath, [cli, "doctor"], { reject: false });
    expect(done.stdout).toMatch(/^Node +\d+\.\d+\.\d+, Node-API \d+$/m);
    expect(done.stdout).toMatch(/^cpu +dxtensor software adapter, .*computes$/m);
    expect(done.stdout).toMatch(/^(OK|NOT OK): /m);
    expect(done.stdout.split("\n").length).toBeLessThanOrEqual(40);
  });

  it("shows simulated profiles as simulated", async () => {
    const done = await execa(process.execPath, [cli, "doctor"], { reject: false, env: { DXTENSOR_SIMULATE: "rtx-3070@6.4" } });
    expect(done.stdout).toMatch(/^dml:\d+ .*simulated.*computes$/m);
  });

  it("without the addon", async () => {
    const { status, answer } = await doctor({ DXTENSOR_NATIVE: join(folder, "none.node") });
    expect(status).toBe(1);
    expect(answer).toMatchObject({ ok: false, verdict: "broken" });
    expect(answer.problems[0]).toMatchObject({ code: "addon.missing", mend: "correct or unset DXTENSOR_NATIVE" });
  });

  it("with an addon that was cut off", async () => {
    const path = join(folder, "cut.node");
    copyFileSync(addon, path);
    truncateSync(path, 4096);
    const { answer } = await doctor({ DXTENSOR_NATIVE: path });
    expect(answer.problems[0]).toMatchObject({
      code: "addon.wrong",
      text: expect.stringMatching(/it is cut off: 4096 bytes of at least \d+/),
    });
  });

  it("with an addon that ends the process", async () => {
    const source = join(folder, "crash.c");
    const path = join(folder, "crash.node");
    writeFileSync(
      source,
      "__attribute__((constructor)) static void start(void) { __builtin_trap(); }\nvoid *napi_register_module_v1(void *a, void *b) { return b; }\n",
    );
    await execa("cc", ["-shared", "-fPIC", "-o", path, source]);
    const { status, answer } = await doctor({ DXTENSOR_NATIVE: path, DXTENSOR_SOFTWARE: join(process.cwd(), software) });
    expect(status).toBe(1);
    expect(answer.verdict).toBe("broken");
    expect(answer.problems[0]).toMatchObject({ code: "addon.broken", text: expect.stringMatching(/SIGILL|SIGTRAP|SIGSEGV/) });
  });

  it("with a libdirectml.so that is a text, and one that is another library", async () => {
    const text = join(folder, "libdirectml.so");
    writeFileSync(text, "<html>404</html>");
    expect((await doctor({ DXTENSOR_DIRECTML: text, DXTENSOR_CPU_ADAPTERS: "1" })).answer.problems).toContainEqual({
      code: "directml.wrong",
      severity: "error",
      text: `${text} can't be used: it is no library.`,
      mend: "correct or unset DXTENSOR_DIRECTML",
    });
    const other = join(folder, "libother.so");
    writeFileSync(join(folder, "other.c"), "int answer(void) { return 42; }\n");
    await execa("cc", ["-shared", "-fPIC", "-o", other, join(folder, "other.c")]);
    const { answer } = await doctor({ DXTENSOR_DIRECTML: other, DXTENSOR_CPU_ADAPTERS: "1" });
    expect(answer.problems.map(({ text }) => text)).toContainEqual(expect.stringContaining("it has no DMLCreateDevice"));
  });

  it("without the software adapter", async () => {
    const { answer } = await doctor({ DXTENSOR_SOFTWARE: join(folder, "none.so") });
    expect(answer.problems.map(({ code }) => code)).toContain("software.missing");
    expect(answer.verdict).toBe("broken");
  });

  it("refuses an option that it does not have", async () => {
    const done = await execa(process.execPath, [cli, "doctor", "--jason"], { reject: false });
    expect(done.exitCode).toBe(2);
    expect(done.stderr).toMatch(/--json/);
  });

  it("does not need the addon to be read", () => {
    expect(readFileSync("src/doctor/facts.ts", "utf8")).not.toMatch(/native\/load|loadBinding/);
  });
});
