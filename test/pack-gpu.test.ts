/** npm run pack:gpu and the program that it packs: their errors for missing files, and the page of a run's results. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { typescript } from "./scripts.ts";

const evaluate = async (code: string): Promise<unknown> => {
  const program = `${code}; console.log(JSON.stringify(result));`;
  return JSON.parse((await execa(process.execPath, [...typescript, "--input-type=module", "-e", program])).stdout) as unknown;
};

describe.skipIf(process.platform !== "linux")("a run on a GPU machine (which is Linux)", () => {
  let folder: string;

  /** A folder as start.sh has it after unpacking, without what the parts need. */
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "dxtensor-gpu-"));
    await evaluate(
      `import { packRunner } from "./scripts/lib/gpu-runner.ts"; await packRunner(${JSON.stringify(join(folder, "root"))}); const result = null`,
    );
    writeFileSync(join(folder, "root", "bench", "gpu", "commit"), "abc1234\n");
    mkdirSync(join(folder, "root", "bin"));
    symlinkSync(process.execPath, join(folder, "root", "bin", "node"));
    mkdirSync(join(folder, "packed"));
    cpSync("bench/gpu/start.sh", join(folder, "packed", "start.sh"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const start = (args: readonly string[], root = "root") =>
    execa("sh", [join(folder, "packed", "start.sh"), ...args], {
      reject: false,
      env: { DXTENSOR_GPU_ROOT: join(folder, root), DXTENSOR_GPU_DRIVER: "" },
    });

  it("needs the archives", async () => {
    const { exitCode, stderr } = await start([], "empty");
    expect(exitCode).toBe(2);
    expect(stderr).toBe("start.sh: core.tar.xz and node.tar.xz must be next to this file");
  });

  it("says why Windows' part was not run, in the report too, and fails where that part was asked for", async () => {
    const out = join(folder, "out");
    const { exitCode, stdout } = await start(["--only", "windows", "--out", out]);
    expect(stdout).toContain("windows: not run: windows.tar.xz is not there");
    expect(exitCode).toBe(1);
    expect(readFileSync(join(out, "report.md"), "utf8")).toContain("| DirectML.dll under Wine | not run: windows.tar.xz is not there |");
    expect(JSON.parse(readFileSync(join(out, "report.json"), "utf8"))).toMatchObject({
      commit: "abc1234",
      parts: { windows: { notRun: "windows.tar.xz is not there" } },
    });
  });

  it("knows its parts", async () => {
    const { exitCode, stderr } = await start(["--only", "window", "--out", join(folder, "out")]);
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/There is no part "window": runtime, .*, windows\./);
  });

  it("makes a section of Windows' steps, with verify's processes as one", async () => {
    const step = (key: string, passed: number, failures: readonly object[] = []) => ({
      key,
      title: key,
      code: failures.length > 0 ? 1 : 0,
      counts: { passed, failed: failures.length },
      seconds: passed,
      note: "",
      failures,
    });
    const part = {
      versions: { directml: "1.2.3", sha256: "0123456789abcdef0123", isDirectmlRight: true, wine: "10", libvkd3d: "2.1", node: "22.1.0" },
      steps: [
        { ...step("vulkan", 1), device: "A GPU", driver: "5.6" },
        step("verify-1", 20),
        step("verify-2", 30, [{ name: "operator/GEMM/1", message: "output differs\nmore" }]),
        { ...step("bench", 1), figures: { kernels: [{ name: "gemm float32 512", unit: "TFLOP/s", value: 7.25 }] } },
      ],
      counts: { passed: 52, failed: 1 },
      seconds: 60,
    };
    const code = `import { windowsSection } from "./bench/gpu/report-windows.ts";
      console.log(windowsSection(${JSON.stringify(part)}, { kernels: [{ name: "gemm float32 512", value: 8 }] }));`;
    const { stdout } = await execa(process.execPath, [...typescript, "--input-type=module", "-e", code]);
    expect(stdout).toContain("## DirectML.dll 1.2.3 under Wine on this GPU");
    expect(stdout).toContain("this machine's Vulkan driver: A GPU, driver 5.6. 52 passed, 1 failed, 60 s.");
    expect(stdout).toContain("| `dxtensor verify` against the software adapter, in 2 processes | **failed**: 50 passed, 1 failed, 30 s |");
    expect(stdout).toContain("- verify-2, failed: operator/GEMM/1: output differs\n");
    expect(stdout).toContain("| gemm float32 512 | TFLOP/s | 7.25 | 8 |");
  });
});

/** The programs of bench/peers/directml, on the software adapter: what travels to a GPU machine, and what the report reads of them. */
describe.skipIf(process.platform !== "linux")("DirectML by itself (its programs are for Linux)", () => {
  const networks = ["mlp", "lenet", "resnet", "encoder"];
  let operators: string;
  let steps: string;

  beforeAll(async () => {
    const programs = (await evaluate('import { buildPeers } from "./scripts/lib/peers.ts"; const result = await buildPeers()')) as Record<
      string,
      string
    >;
    const software = ["--software", "build/native/Release/libdxtensor_software.so", "--small"];
    operators = (await execa(programs.operators!, software)).stdout;
    steps = (await execa(programs.steps!, software)).stdout;
  }, 300_000);

  it("has three forms of each training step agree, with gradients that the loss follows", () => {
    for (const name of networks) expect(steps).toMatch(new RegExp(`^${name}: \\d+ nodes`, "m"));
    expect(steps.match(/: right$/gm)).toHaveLength(networks.length);
    expect(steps).not.toContain("WRONG");
  });

  it("is what the report reads", async () => {
    const figures = (await evaluate(
      `import { rawFigures, replayedForms } from "./bench/gpu/report.ts";
       const steps = ${JSON.stringify(steps)}.split(/^(?=\\w+: \\d+ nodes)/m);
       const result = { forms: steps.map(replayedForms), raw: [...rawFigures(${JSON.stringify(operators)}).keys()] }`,
    )) as { forms: Record<string, number | null>[]; raw: string[] };
    expect(figures.forms).toHaveLength(networks.length);
    for (const forms of figures.forms)
      expect(forms).toEqual({ list: expect.any(Number), groups: expect.any(Number), graph: expect.any(Number) });
    expect(figures.raw).toEqual([
      "gemm float32 64",
      "gemm float32 256",
      "conv2d float32 8x64x14x14 3x3",
      "conv2d float32 8x256x14x14 1x1",
      "relu float32 262144",
      "clone float32 262144",
      "sum float32 262144",
      "add float32 262144",
      "add of 16, compiled chain of 200, replayed",
    ]);
  });
});

it("npm run pack:gpu names its options, and asks for a folder", async () => {
  const run = (...args: string[]) => execa(process.execPath, ["scripts/run.mjs", "pack-gpu", ...args], { reject: false });
  expect((await run("--help")).stdout).toContain("--windows");
  const { exitCode, stderr } = await run();
  expect(exitCode).toBe(1);
  expect(stderr).toContain("No folder was named.");
});
