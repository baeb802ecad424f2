// The steps of the Linux cell. Each takes the report and the cell's environment.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CellReport } from "./report.ts";
import { ensureNode, libraries } from "./cell.ts";
import { at, buildNative } from "../../tools/project.ts";
import { vulkanProgram } from "../../vulkan/build.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface Options {
  readonly quick: boolean;
}

// Limits are for what hangs: a machine that is busy with other things takes ten times as long as an idle one.
const minutes = (n: number) => n * 60_000;
const device = "dml:0";
const program = (name: string) => at("test", "vulkan", "programs", name);

/** What is wrong when a process left objects of Direct3D behind, by libd3d12.so's own count at its exit. */
function leaksIn(output: string): string | null {
  const found = [...output.matchAll(/^dxtensor vulkan: (\d+) live objects$/gm)];
  if (found.length === 0) return "libd3d12.so did not say how many objects are alive at exit";
  const left = output.split("\n").filter((line: string) => line.startsWith("dxtensor vulkan: live: "));
  return found.every((match) => match[1] === "0") ? null : `objects of Direct3D are alive at exit:\n${left.join("\n")}`;
}
const noLeaks = { DXTENSOR_VULKAN_LEAKS: "1" };

/** The Vulkan runtime by itself, the ABI suite on Microsoft's library, and the shaders that the suite made Microsoft's library write. */
export async function runtimeSteps(report: CellReport, env: Environment) {
  const shaders = mkdtempSync(join(tmpdir(), "dxtensor-shaders-"));
  try {
    const own = [libraries.dxcore, libraries.d3d12];
    await report.program("Vulkan runtime", vulkanProgram("vulkan_test"), own, { env: { ...env, ...noLeaks }, verify: leaksIn });
    const two = { ...env, ...noLeaks, DXTENSOR_VULKAN_ADAPTERS: "0=Radeon,0=GeForce" };
    await report.program("Vulkan runtime, one device as two adapters", vulkanProgram("vulkan_test"), [...own, "--only", "adapter"], {
      env: two,
    });
    const suite = Object.entries(libraries).flatMap(([name, path]) => [`--${name}`, path]);
    await report.program("ABI suite on Microsoft's library", join(buildNative, "native", "test", "abi_suite"), suite, {
      env: { ...env, ...noLeaks, DXTENSOR_VULKAN_SHADERS: shaders },
      timeoutMs: minutes(20),
      verify: leaksIn,
    });
    await report.program("rewriting of its shaders", vulkanProgram("rewriting_test"), [shaders], { env });
  } finally {
    rmSync(shaders, { recursive: true });
  }
}

const vitestEnv = (env: Environment) => ({ ...env, DXTENSOR_TEST_DEVICES: device });

/** The runtime's tests in TypeScript. */
export async function testsOfRuntime(report: CellReport, env: Environment) {
  await report.vitest("tests of the runtime", process.execPath, ["test/vulkan"], {
    env: vitestEnv(env),
    file: at("test-results", "ctrf-vulkan.json"),
    timeoutMs: minutes(20),
  });
}

/** The test files that take a device; the others are about the machine, the package or the scripts, and Microsoft's library changes nothing for them. */
function deviceTests() {
  const files = readdirSync(at("test"), { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".test.ts"));
  const takesDevice = (name: string) => /from "[./]+\/device\.ts"/.test(readFileSync(at("test", name), "utf8"));
  return files.filter((name) => /^(runtime|vulkan)\//.test(name) || takesDevice(name)).map((name) => `test/${name}`);
}

/**
 * Tests in TypeScript on Microsoft's library. Quick: those of the runtime, of gradients and of compiled functions, on the running Node; whole: all that
 * take a device, on every Node that is supported.
 */
export const quickTests = [
  "test/vulkan",
  "test/runtime",
  "test/windows/runtime",
  "test/autograd",
  "test/compile/compile",
  "test/native/shader",
  "test/shader/dxbc/shader-program",
  "test/shader/kernels/device",
  "test/shader/kernels/select",
  "test/shader/worker",
  "test/core/tensor",
  "test/core/scope",
];
const nodes = [20, 22, 24, 26];

export async function libraryTests(report: CellReport, env: Environment, { quick }: Options) {
  if (quick) {
    await report.vitest(`tests on Microsoft's library, Node ${process.versions.node}`, process.execPath, quickTests, {
      env: vitestEnv(env),
      file: at("test-results", "ctrf-dml.json"),
      timeoutMs: minutes(15),
    });
    return;
  }
  for (const version of nodes) {
    await report.vitest(`tests on Microsoft's library, Node ${version}`, await ensureNode(version), deviceTests(), {
      env: vitestEnv(env),
      file: at("test-results", `ctrf-dml-${version}.json`),
      timeoutMs: minutes(45),
    });
  }
}

/** Regions with fusion wherever it can be, and guard areas around all memory; whole: recorded programs and golden cases too, without guard areas. */
export async function fusionTests(report: CellReport, env: Environment, { quick }: Options) {
  const fused = { ...vitestEnv(env), DXTENSOR_FUSE: "always" };
  await report.vitest("tests of fusion with guard areas", process.execPath, ["test/graph/passes/fuse/", "test/runtime/guards"], {
    env: { ...fused, DXTENSOR_GUARD: "1" },
    file: at("test-results", "ctrf-fusion.json"),
    timeoutMs: minutes(20),
  });
  if (quick) return;
  await report.vitest("programs and golden cases with fusion", process.execPath, ["test/programs", "test/golden"], {
    env: fused,
    file: at("test-results", "ctrf-fused-programs.json"),
    timeoutMs: minutes(45),
  });
}

/** The quickstart's training on cpu and on Microsoft's library, and thousands of steps of a small one. */
export async function trainingSteps(report: CellReport, env: Environment, { quick }: Options) {
  const options = { env: { ...env, ...noLeaks }, verify: leaksIn };
  await report.program("training", process.execPath, [program("training.mjs"), device, "50", quick ? "8" : "32"], {
    ...options,
    timeoutMs: minutes(20),
  });
  const steps = quick ? "1000" : "10000";
  await report.program(`memory over ${steps} steps`, process.execPath, ["--expose-gc", program("leaks.mjs"), device, steps], {
    ...options,
    timeoutMs: minutes(20),
  });
}

/** Every operator and graph of the project, compared with the software adapter. */
export async function conformance(report: CellReport, env: Environment, { quick }: Options) {
  const args = [at("dist", "bundle", "cli.js"), "verify", "--device", device, "--reference", "cpu", ...(quick ? ["--quick"] : [])];
  await report.program("dxtensor verify", process.execPath, args, { env, timeoutMs: minutes(quick ? 15 : 45) });
}
