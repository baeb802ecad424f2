// The steps of npm run verify:windows: programs in the Wine cell, with Z:\work as build/windows-cell.
import { recipe } from "./wine-recipe.mjs";

const system = "C:\\windows\\system32";
const directml = "Z:\\opt\\dxtensor\\bin\\DirectML.dll";
const minutes = (n) => n * 60_000;

/** Test files that say something of Windows or of a device in a short time; those that are left out are long (golden, windows, losses). */
const quickFiles = [
  "test/windows/",
  "test/native/",
  "test/backends/",
  "test/runtime/eager",
  "test/graph/compile",
  "test/data/",
  "test/io/",
  "test/errors",
  "test/scope",
  "test/tensor",
  "test/ops/binary",
  "test/ops/gather",
  "test/ops/state",
  "test/ops/unary",
  "test/optim/flat",
];

function addon(node) {
  const version = recipe.nodes[node];
  return {
    name: `addon in node.exe ${version}`,
    node,
    command: ["node.exe", "-p", "require('./prebuilds/win32-x64/dxtensor.node').version + ' ' + process.version + ' ' + process.platform"],
    check: (last, status) =>
      status === 0 && /^\d+\.\d+\.\d+/.test(last) && last.endsWith(` v${version} win32`) ? null : `said "${last}" with status ${status}`,
    timeoutMs: minutes(1),
  };
}

const reportOf = (node, devices) => `reports/tests-${node}-${devices.replaceAll(/\W+/g, "-")}.json`;

const tests = (name, node, { devices, files = [], limit }) => ({
  name: `tests in TypeScript ${name}, node.exe ${recipe.nodes[node]}`,
  node,
  command: [
    "node.exe",
    "run.mjs",
    "--report",
    reportOf(node, devices),
    "--timeout",
    String(limit * 60),
    ...files.flatMap((file) => ["--filter", file]),
  ],
  report: reportOf(node, devices),
  // A first execution compiles shaders for the processor, which takes long for some.
  env: { DXTENSOR_TEST_DEVICES: devices, DXTENSOR_TEST_TIMEOUT_MS: String(minutes(5)) },
  timeoutMs: minutes(limit * 3),
});

const verify = (isQuick) => ({
  name: "dxtensor verify: DirectML.dll beside the software adapter",
  command: [
    "node.exe",
    "dist/cli.js",
    "verify",
    "--device",
    "dml:0",
    "--reference",
    "cpu",
    "--ctrf",
    "reports/verify.json",
    ...(isQuick ? ["--quick"] : []),
  ],
  report: "reports/verify.json",
  timeoutMs: minutes(isQuick ? 15 : 60),
});

export function stepsOf({ isQuick }) {
  const steps = [
    ...Object.keys(recipe.nodes).map((node) => addon(Number(node))),
    {
      name: "ABI suite on dxtensor_software.dll",
      command: ["abi_suite.exe", "--software", "Z:\\work\\prebuilds\\win32-x64\\dxtensor_software.dll"],
      timeoutMs: minutes(10),
    },
    {
      name: "ABI suite on DirectML.dll",
      command: [
        "abi_suite.exe",
        "--dxcore",
        `${system}\\dxcore.dll`,
        "--dxgi",
        `${system}\\dxgi.dll`,
        "--d3d12",
        `${system}\\d3d12.dll`,
        "--directml",
        directml,
      ],
      timeoutMs: minutes(15),
    },
    { name: "kernels", command: ["kernel_test.exe"], timeoutMs: minutes(10) },
    tests("on DirectML.dll", 24, { devices: "dml:0", files: isQuick ? quickFiles : [], limit: isQuick ? 10 : 40 }),
    verify(isQuick),
  ];
  if (isQuick) return steps;
  return [
    ...steps,
    tests("on the software adapter", 24, { devices: "cpu", limit: 20 }),
    tests("on both", 20, { devices: "cpu,dml:0", files: quickFiles, limit: 20 }),
    tests("on both", 22, { devices: "cpu,dml:0", files: quickFiles, limit: 20 }),
  ];
}
