// npm run verify:windows: Microsoft's DirectML.dll as the judge of the library as Windows has it, in the Wine cell.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { at, main, say } from "./lib/project.mjs";
import { buildForWindows } from "./build-windows.mjs";
import { bundleTests, bundleProgram } from "./bundle-tests.mjs";
import { ensureSetup } from "./lib/ensure.mjs";
import { buildTypeScript } from "./build.mjs";
import { close, readCounts, sum } from "./lib/counts.mjs";
import { prebuiltWindows } from "./lib/windows-files.mjs";
import { stepsOf } from "./lib/windows-steps.mjs";
import { cellVersions, makeCell } from "./lib/wine-cell.mjs";
import { runInCell, statusOf } from "./lib/wine-run.mjs";

const help = `npm run verify:windows [-- OPTIONS]

Makes what is missing (the build for Windows, the Wine cell), then runs in the cell, on Microsoft's DirectML.dll and on our software adapter's DLL:
the ABI suite and the kernels' tests, the tests in TypeScript under Windows' node.exe 20, 22 and 24, training beside cpu, and dxtensor verify.
Needs root (the cell is a chroot). The last line is "N passed, M failed".

  --quick        the set that CI runs: one node.exe, the shorter tests
  --only TEXT    only the steps whose name contains it; may be given more than once
  --list         names the steps
  --report FILE  writes {versions, steps} as JSON (default test-results/windows.json)
  --json         the same on stdout, nothing else
  --help         this text`;

/** What the cell shows as Z:\\work: bundled tests, the command, the programs, the libraries. */
const stage = at("build", "windows-cell");

async function prepare() {
  await ensureSetup();
  const { programs } = await buildForWindows();
  await buildTypeScript(["src"]);
  await makeCell();
  say("verify:windows: bundling the tests");
  const manifest = await bundleTests(stage, { native: prebuiltWindows, platform: "win32-x64" });
  await bundleProgram(at("src", "cli", "main.ts"), join(stage, "dxtensor.mjs"));
  for (const program of programs) copyFileSync(program, join(stage, program.split(/[\\/]/).at(-1)));
  mkdirSync(join(stage, "reports"), { recursive: true });
  return manifest;
}

let current = null;
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    isStopping = true;
    current?.kill("SIGKILL");
  });
}

/** Runs a step; its last line "N passed, N failed" counts, or itself as one. */
async function runStep(step, isQuiet) {
  const start = performance.now();
  say(`\n== ${step.name}`);
  current = runInCell(step.command, {
    mount: stage,
    node: step.node ?? 24,
    timeoutMs: step.timeoutMs,
    env: step.env ?? {},
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    buffer: false,
  });
  let counts = null;
  let last = "";
  for await (const line of createInterface({ input: current.stdout })) {
    const text = line.trimEnd();
    if (!isQuiet) process.stdout.write(`${text}\n`);
    counts = readCounts(text) ?? counts;
    if (text !== "") last = text;
  }
  const done = await current;
  current = null;
  const status = statusOf(done);
  const problem = step.check?.(last, status) ?? (status === 0 ? null : `ended with status ${status}`);
  counts ??= { passed: problem === null ? 1 : 0, failed: 0, skipped: 0 };
  if (problem !== null) {
    say(`== ${step.name}: ${problem}`);
    if (counts.failed === 0) counts = { ...counts, failed: 1 };
  }
  const seconds = Math.round((performance.now() - start) / 100) / 10;
  say(`== ${step.name}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped (${seconds} s)`);
  return { name: step.name, ...counts, seconds, ...(problem === null ? {} : { problem }) };
}

await main(async () => {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      list: { type: "boolean", default: false },
      report: { type: "string", default: at("test-results", "windows.json") },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(help);
    return 0;
  }
  const steps = stepsOf({ isQuick: values.quick }).filter(
    ({ name }) => values.only.length === 0 || values.only.some((text) => name.includes(text)),
  );
  if (values.list) {
    console.log(steps.map(({ name }) => name).join("\n"));
    return 0;
  }
  const start = performance.now();
  const { leftOut } = await prepare();
  const versions = cellVersions();
  say(
    `verify:windows: DirectML.dll ${versions["DirectML.dll"]}, Wine ${versions.wine64}, node.exe ${versions.node.join(", ")}, ready after ${((performance.now() - start) / 1000).toFixed(0)} s`,
  );
  const results = [];
  if (!versions.isDirectmlRight)
    results.push({ name: "DirectML.dll's digest", passed: 0, failed: 1, skipped: 0, seconds: 0, problem: versions["DirectML.dll sha256"] });
  for (const step of steps) {
    if (isStopping) break;
    results.push(await runStep(step, values.json));
  }
  const total = { seconds: Math.round((performance.now() - start) / 1000), ...sum(results) };
  const report = { versions, isQuick: values.quick, leftOut, steps: results, total };
  rmSync(values.report, { force: true });
  mkdirSync(join(values.report, ".."), { recursive: true });
  writeFileSync(values.report, `${JSON.stringify(report, null, 2)}\n`);
  if (isStopping) {
    say("stopped");
    return 130;
  }
  say(`\nverify:windows: ${total.seconds} s; left out, since they test the repository: ${leftOut.map(({ file }) => file).join(", ")}`);
  if (values.json) {
    console.log(JSON.stringify(JSON.parse(readFileSync(values.report, "utf8"))));
    return total.failed === 0 && total.passed > 0 ? 0 : 1;
  }
  return close(results);
});
