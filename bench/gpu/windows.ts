// The part "windows": Microsoft's DirectML.dll and Windows' node.exe in the Wine cell, on this machine's GPU through its Vulkan driver.
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { enterCommand } from "../../scripts/cells/wine/enter.ts";
import { addonStep, directmlSuite, quickFiles, testsStep, verifyStep, type Step } from "../../scripts/cells/wine/steps.ts";
import { runProgram } from "../../scripts/tools/program.ts";
import { recipe } from "../../scripts/cells/wine/recipe.ts";
import { at, counts, failuresOf, isStopped, json, lastJson, program, type Done } from "./program.ts";

import type { Figures, Options, Summary, Versions, WindowsPart, WindowsStep } from "./results.ts";

interface CellOptions extends Options {
  /** node.exe's major version. */
  readonly node: number;
}

interface Limit {
  readonly limitMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

type StepDone = Omit<WindowsStep, "key"> & Done;
/** end: the last of what a failed one said. */
type StoppedStep = WindowsStep & { readonly end: string };

const root = at("windows", "root");
const inRoot = (...parts: string[]) => join(root, ...parts);
const script = at("scripts", "cells", "wine", "root", "enter.sh");

/** Z:\work is the folder that everything was unpacked into. */
const paths = {
  tests: "tests",
  cli: "app/dist/bundle/cli.js",
  native: "app/prebuilds/win32-x64",
  programs: "windows",
  reports: "windows/reports",
};

/** Of NVIDIA's folder, what Vulkan needs: whatever else is there, a C library say, stays outside. */
const ofNvidia = /^lib(nvidia-.*|GLX_nvidia|EGL_nvidia|GLESv2_nvidia|cuda)\.so/;

/** Seconds that a program in the cell gets less than its cell, to tell of its own end. */
const grace = 5;

const nodeVersion = () =>
  Object.keys(recipe.nodes)
    .map(Number)
    .find((major) => existsSync(inRoot("opt", "dxtensor", `node${major}`, "node.exe")));

/** Why the part cannot run here, or null. */
async function obstacle(): Promise<string | null> {
  if (!existsSync(inRoot("opt", "dxtensor", "launch.exe"))) return "windows.tar.xz is not there";
  if (nodeVersion() === undefined) return "windows-node.tar.xz is not there";
  if (process.getuid?.() !== 0) return "a chroot needs root";
  const driver = process.env.DXTENSOR_GPU_DRIVER ?? "";
  if (driver === "") return "no folder with a Vulkan driver was found: name it, DXTENSOR_GPU_DRIVER=FOLDER";
  const probe = await runProgram("unshare", ["--mount", "--pid", "--fork", "--propagation", "private", "true"]);
  if (probe.code !== 0) return `no namespaces for mounts and processes: ${(probe.error ?? probe.text).trim()}`;
  return null;
}

/** The machine's driver inside the root, with a file that names it to Vulkan's loader. */
function takeDriver() {
  const folder = process.env.DXTENSOR_GPU_DRIVER!;
  const to = inRoot("driver", "lib");
  rmSync(inRoot("driver"), { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  const names = readdirSync(folder);
  const named = names.find((name) => name.endsWith("icd.json"));
  const wanted = named === undefined ? ofNvidia : /\.so(\.|$)/;
  for (const name of names.filter((file) => wanted.test(file))) cpSync(join(folder, name), join(to, name), { verbatimSymlinks: true });
  cpSync(process.env.VK_DRIVER_FILES!, inRoot("driver", "icd.json"));
}

function versions(node: number): Versions {
  const packages = Object.fromEntries<string>(
    readFileSync(inRoot("opt", "dxtensor", "versions"), "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split("\t") as [string, string]),
  );
  const sha256 = createHash("sha256")
    .update(readFileSync(inRoot("opt", "dxtensor", "bin", "DirectML.dll")))
    .digest("hex");
  return {
    directml: recipe.directml.version,
    sha256,
    isDirectmlRight: sha256 === recipe.directml.sha256,
    wine: packages.wine64,
    libvkd3d: packages["libvkd3d-dev"],
    node: recipe.nodes[node],
  };
}

/** What the cell's exit statuses say (enter.ts). */
const ends: Readonly<Record<number, string>> = {
  124: "stopped at its limit",
  127: "could not be started",
  134: "aborted",
  139: "access violation",
};

/** Runs a Windows program in the cell. */
async function inCell(o: CellOptions, name: string, command: readonly string[], { limitMs, env = {} }: Limit): Promise<Done> {
  const started = enterCommand(command, {
    script,
    root,
    mount: at(),
    node: o.node,
    timeoutMs: limitMs - grace * 1000,
    env: {
      LD_LIBRARY_PATH: "/driver/lib",
      DXTENSOR_CELL_VULKAN: "/driver/icd.json",
      VK_LOADER_LAYERS_DISABLE: "~all~",
      DXTENSOR_NATIVE: `Z:\\work\\${paths.native.replaceAll("/", "\\")}\\dxtensor.node`,
      ...env,
    },
  });
  const done = await program(`windows-${name}`, started.file, started.args, { out: o.out, limitMs, env: started.env, isAlone: true });
  return done.note === "" && done.code !== 0 ? { ...done, note: ends[done.code ?? 127] ?? `exit code ${done.code}` } : done;
}

/** A step that verify:windows has too, under another limit. */
async function judged(
  o: CellOptions,
  name: string,
  step: Step,
  limitMs: number,
  env: Readonly<Record<string, string>> = {},
): Promise<StepDone> {
  const done = await inCell(o, name, step.command, { limitMs, env: { ...step.env, ...env } });
  const last = done.text.trimEnd().split(/\r?\n/).at(-1) ?? "";
  const problem = step.check?.(last, done.code) ?? (done.code === 0 ? null : done.note);
  const failures = step.report === undefined ? [] : failuresOf(json(at(...step.report.split("/"))));
  const told = counts(done.text) ?? { passed: problem === null ? 1 : 0, failed: 0 };
  if (problem !== null && told.failed === 0) told.failed = 1;
  return {
    ...done,
    title: step.name,
    code: problem === null ? 0 : (done.code ?? 1) || 1,
    note: problem ?? done.note,
    counts: told,
    failures,
  };
}

/** What Vulkan's loader finds inside the root. */
async function vulkan(o: CellOptions, limitMs: number): Promise<StepDone> {
  const path = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LD_LIBRARY_PATH: "/driver/lib", XDG_RUNTIME_DIR: "/tmp" };
  const env = { ...path, VK_DRIVER_FILES: "/driver/icd.json", VK_LOADER_LAYERS_DISABLE: "~all~" };
  const args = [script, root, "", "/usr/bin/vulkaninfo", "--summary"];
  const done = await program("windows-vulkan", "sh", args, { out: o.out, limitMs, env, isAlone: true });
  const value = (name: string) => new RegExp(`^\\s*${name}\\s*= (.*)$`, "m").exec(done.text)?.[1]?.trim();
  const device = value("deviceName");
  const found = { passed: device === undefined ? 0 : 1, failed: device === undefined ? 1 : 0 };
  return { ...done, title: "Vulkan inside the root", counts: found, failures: [], device, driver: value("driverInfo") };
}

async function trained(o: CellOptions, limitMs: number): Promise<StepDone> {
  const args = ["node.exe", "app/build/examples/quickstart.js", "--device", o.device, "--out", "windows/quickstart", "--json"];
  const done = await inCell(o, "quickstart", args, { limitMs });
  const failed = done.code === 0 ? 0 : 1;
  return {
    ...done,
    title: "quickstart",
    counts: { passed: 1 - failed, failed },
    failures: [],
    summary: lastJson(done.text) as Summary | null,
  };
}

async function benched(o: CellOptions, limitMs: number): Promise<StepDone> {
  const args = ["--device", o.device, "--filter", "kernels", "--json", "windows/reports/bench.json"];
  const command = ["node.exe", "--expose-gc", "app/build/bench/device/index.js", ...args, ...(o.small ? ["--small"] : [])];
  const done = await inCell(o, "bench", command, { limitMs });
  const failed = done.code === 0 ? 0 : 1;
  const figures = json(at("windows", "reports", "bench.json")) as Figures | null;
  return { ...done, title: "bench: operations", counts: { passed: 1 - failed, failed }, failures: [], figures };
}

/** Processes for the tests and for verify, in parallel if there are CPUs for both, and threads of each one's software adapter. */
function spread() {
  const cores = availableParallelism();
  const processes = Math.max(1, Math.min(6, Math.floor(cores / 3)));
  return { isParallel: cores >= 8, processes, threads: Math.max(1, Math.round(cores / processes / 2)) };
}

async function all(o: CellOptions): Promise<StoppedStep[]> {
  const limit = (seconds: number) => seconds * 1000 * o.patience;
  const steps: StoppedStep[] = [];
  const add = (...done: StepDone[]) => {
    for (const { text, name, ...step } of done) {
      steps.push({ ...step, key: name.slice("windows-".length), end: step.code === 0 ? "" : text.split("\n").slice(-12).join("\n") });
      console.log(
        `  ${step.title}: ${step.counts.passed} passed, ${step.counts.failed} failed, ${step.seconds.toFixed(1)} s ${step.note}`.trimEnd(),
      );
    }
  };
  /** What an interrupted run has not begun is not in its report. */
  const run = async (begin: () => Promise<StepDone | StepDone[]>) => {
    if (!isStopped()) add(...[await begin()].flat());
  };
  await run(() => vulkan(o, limit(20)));
  await run(() => judged(o, "addon", addonStep(o.node, paths), limit(25)));
  await run(() => judged(o, "abi", directmlSuite(paths), limit(60)));
  const { isParallel, processes, threads } = spread();
  const env = { DXTENSOR_THREADS: String(threads) };
  const tests = testsStep(
    "on DirectML.dll",
    o.node,
    { devices: o.device, files: o.quick ? quickFiles : [], limit: 2 * o.patience, jobs: processes },
    paths,
  );
  const parts = Array.from({ length: processes }, (_, i) => `${i + 1}/${processes}`);
  const verify = (shard: string) => {
    const step = verifyStep({ isQuick: o.quick, device: o.device, shard }, paths);
    // Its log then ends with the case that ended the process, should one do that.
    return { ...step, command: [...step.command, "--verbose"] };
  };
  const verifying = () => Promise.all(parts.map((shard, i) => judged(o, `verify-${i + 1}`, verify(shard), limit(165), env)));
  const testing = () => judged(o, "tests", tests, limit(165), env);
  if (isParallel) await run(async () => (await Promise.all([testing(), verifying()])).flat());
  else {
    await run(testing);
    await run(verifying);
  }
  await run(() => trained(o, limit(40)));
  await run(() => benched(o, limit(45)));
  return steps;
}

/** The part; its result is what report-windows.ts shows. */
export async function windows(options: Options): Promise<WindowsPart & { readonly text: string }> {
  const start = performance.now();
  const problem = await obstacle();
  if (problem !== null) return { code: null, notRun: problem, seconds: 0, note: problem, text: "" };
  const o = { ...options, node: nodeVersion()! };
  rmSync(at("windows", "reports"), { recursive: true, force: true });
  mkdirSync(at("windows", "reports"), { recursive: true });
  takeDriver();
  const found = versions(o.node);
  const steps = await all(o);
  const sum = (key: "passed" | "failed") => steps.reduce((n, step) => n + step.counts[key], 0);
  const failed = sum("failed") + (found.isDirectmlRight ? 0 : 1);
  return {
    code: failed === 0 && !isStopped() ? 0 : 1,
    seconds: (performance.now() - start) / 1000,
    note: isStopped() ? "interrupted" : "",
    text: steps
      .map(({ end }) => end)
      .filter((end) => end !== "")
      .join("\n"),
    counts: { passed: sum("passed"), failed },
    versions: found,
    steps,
  };
}
