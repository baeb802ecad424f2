/**
 * npm run bench: what one run of this machine says, as ratios. Options: --device NAME, --filter TEXT, --json [FILE], --help.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as dx from "dxtensor";
import { eagerChain, tfjsChain } from "./eager.ts";
import { convolution, gemm } from "./kernels.ts";
import { trainingStep } from "./training.ts";

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it is compared with in the same run. */
  readonly beside?: { readonly name: string; readonly value: number } | undefined;
  readonly ratio?: number | undefined;
  readonly note?: string | undefined;
}

const help = `npm run bench [-- OPTIONS]

  --device NAME   device to measure (default: cpu, the software adapter)
  --filter TEXT   only the measurements whose name contains TEXT
  --json [FILE]   write the results as JSON (default: standard output, and no table)
  --help          this text

All figures of a run belong together: compare ratios, not single times of different runs.`;

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** The machine's fused-multiply-add peak and our kernels without JavaScript around them, from the native program. */
function nativeFigures(): {
  readonly peak: number | null;
  readonly rows: readonly { name: string; gflops?: number }[];
  readonly text: string;
} {
  const program = join(root, "build", "native", "native", "test", "kernel_bench");
  if (!existsSync(program)) return { peak: null, rows: [], text: "kernel_bench is not built" };
  const done = spawnSync(program, ["--json", "--peak"], { encoding: "utf8" });
  if (done.status !== 0) return { peak: null, rows: [], text: `kernel_bench: ${done.stderr}` };
  const parsed = JSON.parse(done.stdout) as { peak_gflops: number; results?: { name: string; gflops?: number }[] };
  return { peak: parsed.peak_gflops, rows: parsed.results ?? [], text: "" };
}

/** oneDNN's products in GFLOP/s by size; empty where libdnnl-dev is not installed. */
function oneDnn(sizes: readonly number[]): ReadonlyMap<number, number> {
  const program = join(root, "build", "native", "native", "test", "onednn_bench");
  if (!existsSync(program)) return new Map();
  const done = spawnSync(program, sizes.map(String), { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`onednn_bench ended with status ${done.status}: ${done.stderr}`);
  const { gflops } = JSON.parse(done.stdout) as { gflops: Record<string, number> };
  return new Map(Object.entries(gflops).map(([n, value]) => [Number(n), value]));
}

/** Milliseconds of an import and of the first operation after it, each the least of three fresh processes. */
function startUp(): { readonly imported: number; readonly first: number } {
  const program = `
    const start = performance.now();
    const dx = await import(${JSON.stringify(pathToFileURL(join(root, "dist", "bundle", "dxtensor.js")).href)});
    const imported = performance.now() - start;
    const sum = dx.add(dx.tensor([1, 2], { device: "cpu" }), 1).dataSync();
    console.log(JSON.stringify({ imported, first: performance.now() - start - imported, sum: [...sum] }));`;
  const runs = Array.from({ length: 3 }, () => {
    const done = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" });
    if (done.status !== 0) throw new Error(`importing the package failed: ${done.stderr}`);
    return JSON.parse(done.stdout) as { imported: number; first: number };
  });
  return { imported: Math.min(...runs.map((r) => r.imported)), first: Math.min(...runs.map((r) => r.first)) };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      device: { type: "string", default: "cpu" },
      filter: { type: "string", default: "" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
    args: process.argv
      .slice(2)
      .map((a, i, all) => (a === "--json" && (all[i + 1] === undefined || all[i + 1]!.startsWith("--")) ? "--json=-" : a)),
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const device = dx.device(values.device);
  const wants = (name: string): boolean => name.includes(values.filter);
  const rows: Row[] = [];
  const add = (row: Row): void => {
    rows.push({ ...row, ratio: row.beside === undefined ? undefined : row.value / row.beside.value });
    if (values.json !== "-") console.error(`  ${row.name}: ${row.value.toPrecision(3)} ${row.unit}`);
  };
  const native = nativeFigures();
  if (native.peak === null && values.json !== "-") console.error(`no peak to compare with: ${native.text}`);
  const peak = native.peak === null ? undefined : { name: "FMA peak, all cores", value: native.peak };

  if (wants("eager add")) {
    const tfjs = await tfjsChain();
    add({
      name: "eager add of 16 elements, dependent chain, disposed",
      value: eagerChain(device, true) * 1e6,
      unit: "us per call",
      beside: { name: "TensorFlow.js cpu", value: tfjs * 1e6 },
    });
    add({
      name: "eager add of 16 elements, dependent chain, nothing disposed",
      value: eagerChain(device, false) * 1e6,
      unit: "us per call",
      beside: { name: "TensorFlow.js cpu", value: tfjs * 1e6 },
    });
  }
  for (const n of [256, 1024, 2048])
    if (wants(`gemm ${n}`)) add({ name: `gemm ${n} float32`, value: gemm(device, n), unit: "GFLOP/s", beside: peak });
  for (const [n, value] of wants("onednn") ? oneDnn([256, 1024, 2048]) : [])
    add({ name: `onednn gemm ${n} float32, the yardstick`, value, unit: "GFLOP/s", beside: peak });
  if (wants("conv")) add({ name: "conv2d 3x3, 8x64x56x56 to 64, float32", value: convolution(device), unit: "GFLOP/s", beside: peak });
  if (wants("training")) {
    const { eager, compiled } = await trainingStep(device);
    add({
      name: "training step of the quickstart's network, batch 64, compiled",
      value: compiled * 1e3,
      unit: "ms",
      beside: { name: "eager", value: eager * 1e3 },
    });
  }
  if (wants("import")) {
    const { imported, first } = startUp();
    add({ name: "import of the package, a fresh process", value: imported, unit: "ms", beside: { name: "the goal", value: 150 } });
    add({ name: "first operation after it, on cpu", value: first, unit: "ms", beside: { name: "the goal", value: 1000 } });
  }
  if (wants("memory")) add({ name: "memory: resident set after all of this", value: process.memoryUsage.rss() / 2 ** 20, unit: "MiB" });

  const report = {
    date: new Date().toISOString(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    device: values.device,
    package: (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version,
    peakGflops: native.peak,
    results: rows,
  };
  if (values.json === "-") console.log(JSON.stringify(report, null, 2));
  else {
    if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report, null, 2));
    console.log(`${report.processor}, ${report.cores} cores, Node ${report.node}, device ${report.device}`);
    console.table(
      rows.map((r) => ({
        measurement: r.name,
        value: Number(r.value.toPrecision(4)),
        unit: r.unit,
        beside: r.beside?.name ?? "",
        "its value": r.beside === undefined ? "" : Number(r.beside.value.toPrecision(4)),
        ratio: r.ratio === undefined ? "" : Number(r.ratio.toPrecision(3)),
      })),
    );
  }
}

await main();
