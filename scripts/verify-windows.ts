// npm run verify:windows: Microsoft's DirectML.dll as the judge of the library as Windows has it, in the Wine cell.
import { copyFileSync, cpSync, mkdirSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildForWindows } from "./build-windows.ts";
import { bundleTests } from "./bundle-tests.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { buildTypeScript } from "./build.ts";
import { close, readCounts, sum, type Counts } from "./tools/counts.ts";
import { prebuiltWindows } from "./lib/windows-files.ts";
import { buildTestBackends } from "./cells/wine/backends.ts";
import { writeReport, type StepResult } from "./cells/wine/report.ts";
import { stepsOf, type Step } from "./cells/wine/steps.ts";
import { cellVersions, makeCell } from "./cells/wine/cell.ts";
import { recipe } from "./cells/wine/recipe.ts";
import { runInCell, statusOf } from "./cells/wine/run.ts";

const help = `npm run verify:windows [-- OPTIONS]

Makes what is missing (the build for Windows, the Wine cell), then runs in the cell, on Microsoft's DirectML.dll and on our software adapter's DLL:
the ABI suite and the kernels' tests, the tests in TypeScript under Windows' node.exe 20, 22 and 24, training compared with cpu, and dxtensor verify.
Needs root (the cell is a chroot). The last line is "N passed, M failed".

  --quick        the set that CI runs: one node.exe, the shorter tests
  --node MAJOR   only this node.exe: 20, 22 or 24
  --only TEXT    only the steps whose name contains it; may be repeated
  --list         lists the steps
  --json         one line of JSON on stdout: {ok, passed, failed, skipped, report, versions, steps}; the rest goes to stderr
  --help         this text

The report is test-results/verify-windows.json, in the Common Test Report Format. Exit status 1 when something failed.`;

/** What the cell shows as Z:\\work: bundled tests, the command, the programs, the libraries. */
const stage = at("build", "windows-cell");

async function prepare() {
  await ensureSetup();
  const { programs } = await buildForWindows();
  await buildTypeScript(["src"]);
  await makeCell();
  say("verify:windows: bundling the tests");
  const manifest = await bundleTests(stage, { native: prebuiltWindows("x64"), platform: "win32-x64" });
  await buildTestBackends(stage);
  cpSync(at("dist", "bundle"), join(stage, "dist", "bundle"), { recursive: true });
  for (const program of programs) copyFileSync(program, join(stage, program.split(/[\\/]/).at(-1)!));
  mkdirSync(join(stage, "reports"), { recursive: true });
  return manifest;
}

let current: ReturnType<typeof runInCell> | null = null;
let isStopping = false;
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    isStopping = true;
    current?.kill("SIGKILL");
  });
}

/** Runs a step; its last line "N passed, N failed" counts, or itself as one. */
async function runStep(step: Step, isQuiet: boolean): Promise<StepResult> {
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
  let counts: Counts | null = null;
  let last = "";
  for await (const line of createInterface({ input: current.stdout! })) {
    const text = line.trimEnd();
    (isQuiet ? process.stderr : process.stdout).write(`${text}\n`);
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
      node: { type: "string" },
      only: { type: "string", multiple: true, default: [] },
      list: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  if (values.node !== undefined && !Object.hasOwn(recipe.nodes, values.node))
    throw new ScriptError("USAGE", `There is no node.exe ${values.node}: ${Object.keys(recipe.nodes).join(", ")}.`);
  const steps = stepsOf({ isQuick: values.quick, node: values.node === undefined ? null : Number(values.node) }).filter(
    ({ name }) => values.only.length === 0 || values.only.some((text) => name.includes(text)),
  );
  if (values.list) {
    console.log(steps.map(({ name }) => name).join("\n"));
    return 0;
  }
  const start = performance.now();
  const began = Date.now();
  const { leftOut } = await prepare();
  const versions = { ...cellVersions(), ...(values.node === undefined ? {} : { node: [recipe.nodes[values.node]!] }) };
  say(
    `verify:windows: DirectML.dll ${versions["DirectML.dll"]}, Wine ${versions.wine64}, node.exe ${versions.node.join(", ")}, ready after ${((performance.now() - start) / 1000).toFixed(0)} s`,
  );
  const results: StepResult[] = [];
  if (!versions.isDirectmlRight)
    results.push({ name: "DirectML.dll's digest", passed: 0, failed: 1, skipped: 0, seconds: 0, problem: versions["DirectML.dll sha256"] });
  for (const step of steps) {
    if (isStopping) break;
    results.push(await runStep(step, values.json));
  }
  if (isStopping) {
    say("stopped");
    return 130;
  }
  const file = at("test-results", "verify-windows.json");
  const reports = new Map(
    steps.filter(({ report }) => report !== undefined).map(({ name, report }) => [name, join(stage, report!)] as const),
  );
  writeReport(file, { results, reports, start: began, versions, leftOut, isQuick: values.quick });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  say(
    `\nverify:windows: ${seconds} s; report in ${file}; left out, since they test the repository: ${leftOut.map((one) => one.file).join(", ")}`,
  );
  if (values.json) {
    const { passed, failed, skipped } = sum(results);
    const isGood = failed === 0 && passed > 0;
    console.log(JSON.stringify({ ok: isGood, passed, failed, skipped, report: file, versions, steps: results }));
    return isGood ? 0 : 1;
  }
  return close(results);
}, help);
