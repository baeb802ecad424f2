// The tests of DirectML.dll and of the library's Windows build in a cell: programs, their limits and their reports. Imports no packages, since it
// runs on machines with a GPU too.
import { posix } from "node:path";
import { recipe } from "./recipe.ts";

const minutes = (n: number) => n * 60_000;
const windowsPath = (...parts: string[]) => `Z:\\work\\${posix.join(...parts).replaceAll("/", "\\")}`;

/** Where things lie under Z:\work. */
export interface Paths {
  readonly tests: string;
  readonly cli: string;
  readonly native: string;
  readonly programs: string;
  readonly reports: string;
}

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly timeoutMs: number;
  readonly node?: number;
  readonly env?: Readonly<Record<string, string>>;
  /** A report in the Common Test Report Format that it writes. */
  readonly report?: string;
  /** What is wrong, by its last line and status; without it the status alone tells. */
  readonly check?: (last: string, status: number | null) => string | null;
}

export const paths: Paths = {
  tests: ".",
  cli: "dist/bundle/cli.js",
  native: "prebuilds/win32-x64",
  programs: ".",
  reports: "reports",
};

/** The test files that say something of Windows or of a device in a short time, by what their paths contain. */
export const quickFiles = [
  "test/windows/",
  "test/native/",
  "test/runtime/eager",
  "test/runtime/library-backend",
  "test/compile/compile",
  "test/data/",
  "test/io/",
  "test/core/errors",
  "test/core/scope",
  "test/core/tensor",
  "test/ops/elementwise/binary",
  "test/ops/index/gather",
  "test/ops/data/state",
  "test/ops/elementwise/unary",
  "test/optim/flat",
];

/** The tests of fused regions. */
export const fusedFiles = ["test/graph/passes/fuse/", "test/runtime/guards"];

export function addonStep(node: number, { native } = paths): Step {
  const version = recipe.nodes[node];
  return {
    name: `addon in node.exe ${version}`,
    node,
    command: ["node.exe", "-p", `require('./${native}/dxtensor.node').version + ' ' + process.version + ' ' + process.platform`],
    check: (last, status) =>
      status === 0 && /^\d+\.\d+\.\d+/.test(last) && last.endsWith(` v${version} win32`) ? null : `said "${last}" with status ${status}`,
    timeoutMs: minutes(1),
  };
}

const suiteProgram = ({ programs }: Paths) => windowsPath(programs, "abi_suite.exe");

export const softwareSuite = (where = paths): Step => ({
  name: "ABI suite on dxtensor_software.dll",
  command: [suiteProgram(where), "--software", windowsPath(where.native, "dxtensor_software.dll")],
  timeoutMs: minutes(10),
});

export function directmlSuite(where = paths): Step {
  const system = "C:\\windows\\system32";
  const libraries = { dxcore: `${system}\\dxcore.dll`, dxgi: `${system}\\dxgi.dll`, d3d12: `${system}\\d3d12.dll` };
  return {
    name: "ABI suite on DirectML.dll",
    command: [
      suiteProgram(where),
      ...Object.entries({ ...libraries, directml: "Z:\\opt\\dxtensor\\bin\\DirectML.dll" }).flatMap(([name, file]) => [`--${name}`, file]),
    ],
    timeoutMs: minutes(15),
  };
}

interface Tests {
  readonly devices: string;
  readonly files?: readonly string[];
  /** Minutes for each file. */
  readonly limit: number;
  readonly jobs?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export function testsStep(name: string, node: number, { devices, files = [], limit, jobs = 1, env = {} }: Tests, where = paths): Step {
  const settings = Object.entries(env).map(([variable, value]) => `-${variable}-${value}`.toLowerCase().replaceAll("_", "-"));
  const report = `${where.reports}/tests-${node}-${devices.replaceAll(/\W+/g, "-")}${settings.join("")}.json`;
  const options = ["--report", report, "--timeout", String(limit * 60), "--jobs", String(jobs)];
  return {
    name: `tests in TypeScript ${name}, node.exe ${recipe.nodes[node]}`,
    node,
    command: ["node.exe", `${where.tests}/run.mjs`, ...options, ...files.flatMap((file) => ["--filter", file])],
    report,
    // A first execution compiles shaders for the processor, which takes long for some.
    env: { DXTENSOR_TEST_DEVICES: devices, DXTENSOR_TEST_TIMEOUT_MS: String(minutes(5)), ...env },
    timeoutMs: minutes(limit * 3),
  };
}

interface Verify {
  readonly isQuick: boolean;
  readonly device?: string;
  readonly shard?: string;
}

/** shard: "2/4" for the second quarter of the cases. */
export function verifyStep({ isQuick, device = "dml:0", shard }: Verify, where = paths): Step {
  const report = `${where.reports}/verify${shard === undefined ? "" : `-${shard.replace("/", "-")}`}.json`;
  const options = [...(isQuick ? ["--quick"] : []), ...(shard === undefined ? [] : ["--shard", shard])];
  return {
    name: `dxtensor verify: DirectML.dll against the software adapter${shard === undefined ? "" : `, ${shard}`}`,
    command: ["node.exe", where.cli, "verify", "--device", device, "--reference", "cpu", "--ctrf", report, ...options],
    report,
    timeoutMs: minutes(isQuick ? 15 : 60),
  };
}

/** The steps of npm run verify:windows. node: only this node.exe; null: all of them. */
export function stepsOf({ isQuick, node = null }: { readonly isQuick: boolean; readonly node?: number | null }): Step[] {
  const newest = node ?? 24;
  const steps = [
    ...(node === null ? Object.keys(recipe.nodes) : [node]).map((major) => addonStep(Number(major))),
    softwareSuite(),
    directmlSuite(),
    { name: "kernels", command: ["kernel_test.exe"], timeoutMs: minutes(10) },
    testsStep("on DirectML.dll", newest, { devices: "dml:0", files: isQuick ? quickFiles : [], limit: isQuick ? 10 : 40 }),
    testsStep("with fusion and guard areas on DirectML.dll", newest, {
      devices: "dml:0",
      files: fusedFiles,
      limit: isQuick ? 10 : 40,
      env: { DXTENSOR_FUSE: "always", DXTENSOR_GUARD: "1" },
    }),
    { ...verifyStep({ isQuick }), node: newest },
  ];
  if (isQuick) return steps;
  const others = node === null ? [20, 22] : [];
  return [
    ...steps,
    testsStep("on the software adapter", newest, { devices: "cpu", limit: 20 }),
    ...others.map((major) => testsStep("on both", major, { devices: "cpu,dml:0", files: quickFiles, limit: 20 })),
  ];
}
