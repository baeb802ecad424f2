/**
 * npm run bench: measures this machine, as ratios. Options: --device NAME, --filter TEXT, --json [FILE], --help.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import * as dx from "dxtensor";
import { ask } from "../scripts/tools/program.ts";
import { distributedFigures } from "./distributed/figures.ts";
import { eagerChain, tfjsChain } from "./eager.ts";
import { convolution, gemm, middle, type Round } from "./kernels.ts";
import { loaderGrowth, loaderRates } from "./loader.ts";
import { modelTimes } from "./model-files.ts";
import { textModelFigures } from "./text-model.ts";
import { trainingStep } from "./training.ts";

export interface Row {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What it is compared with in the same run. */
  readonly reference?: { readonly name: string; readonly value: number } | undefined;
  readonly ratio?: number | undefined;
  readonly note?: string | undefined;
}

const help = `npm run bench [-- OPTIONS]

  --device NAME   device to measure (default: cpu, the software adapter)
  --filter TEXT   only the measurements whose name contains TEXT
  --json [FILE]   write the results as JSON (default: standard output, and no table)
  --help          this text

All figures of a run belong together: compare ratios, not single times of different runs.`;

/** Of ONNX Runtime; the software adapter's are DXTENSOR_THREADS. */
const THREADS = Number(process.env["DXTENSOR_THREADS"] ?? 2);

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

/** What a program says as JSON. */
function answer(program: string, args: readonly string[]): unknown {
  const text = ask(program, args, { limitMs: 10 * 60_000, isShown: true });
  if (text === null) throw new Error(`${program} failed`);
  return JSON.parse(text);
}

/** The machine's fused-multiply-add peak just now, on all cores, in GFLOP/s; null where the native program is not built. */
function peakNow(): number | null {
  const program = join(root, "build", "native", "native", "test", "kernel_bench");
  if (!existsSync(program)) return null;
  return (answer(program, ["--json", "--peak"]) as { peak_gflops: number }).peak_gflops;
}

/** oneDNN's product in GFLOP/s; null where libdnnl-dev is not installed. */
function oneDnn(n: number): number | null {
  const program = join(root, "build", "native", "native", "test", "onednn_bench");
  if (!existsSync(program)) return null;
  return (answer(program, [String(n)]) as { gflops: Record<string, number> }).gflops[String(n)] ?? null;
}

/** Milliseconds of an import and of the first operation after it, each the least of three fresh processes. */
function startUp(): { readonly imported: number; readonly first: number } {
  const program = `
    const start = performance.now();
    const dx = await import(${JSON.stringify(pathToFileURL(join(root, "dist", "bundle", "dxtensor.js")).href)});
    const imported = performance.now() - start;
    const sum = dx.add(dx.tensor([1, 2], { device: "cpu" }), 1).dataSync();
    console.log(JSON.stringify({ imported, first: performance.now() - start - imported, sum: [...sum] }));`;
  const args = ["--input-type=module", "--eval", program];
  const runs = Array.from({ length: 3 }, () => answer(process.execPath, args) as { imported: number; first: number });
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
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const device = dx.device(values.device);
  // Throws where there is none, before anything is measured.
  dx.deviceInfo(device);
  const wants = (name: string): boolean => name.includes(values.filter);
  const rows: Row[] = [];
  const add = (row: Row): void => {
    rows.push({ ...row, ratio: row.reference === undefined ? undefined : row.value / row.reference.value });
    if (values.json !== "-") console.error(`  ${row.name}: ${row.value.toPrecision(3)} ${row.unit}`);
  };
  if (peakNow() === null && values.json !== "-") console.error("no peak to compare with: kernel_bench is not built");
  /** With the peak of the same seconds: a virtual machine's halves when its CPUs share a core. */
  const addKernel = (name: string, rounds: readonly Round[]): void => {
    const { value, peak } = middle(rounds);
    add({ name, value, unit: "GFLOP/s", reference: peak === null ? undefined : { name: "FMA peak, all cores", value: peak } });
  };

  if (wants("eager add")) {
    const tfjs = await tfjsChain();
    if (tfjs === null && values.json !== "-") console.error("no TensorFlow.js to compare with: npm ci installs it");
    const reference = tfjs === null ? undefined : { name: "TensorFlow.js cpu", value: tfjs * 1e6 };
    add({
      name: "eager add of 16 elements, dependent chain, disposed",
      value: eagerChain(device, true) * 1e6,
      unit: "us per call",
      reference,
    });
    add({
      name: "eager add of 16 elements, dependent chain, nothing disposed",
      value: eagerChain(device, false) * 1e6,
      unit: "us per call",
      reference,
    });
  }
  for (const n of [256, 1024, 2048]) if (wants(`gemm ${n}`)) addKernel(`gemm ${n} float32`, gemm(device, n, peakNow));
  for (const n of wants("onednn") ? [256, 1024, 2048] : []) {
    const rounds = Array.from({ length: 3 }, () => ({ peak: peakNow(), value: oneDnn(n) }));
    const known = rounds.flatMap(({ peak, value }) => (value === null ? [] : [{ peak, value }]));
    if (known.length > 0) addKernel(`onednn gemm ${n} float32, the yardstick`, known);
  }
  if (wants("conv")) addKernel("conv2d 3x3, 8x64x56x56 to 64, float32", convolution(device, peakNow));
  if (wants("training")) {
    const { eager, compiled } = await trainingStep(device);
    add({
      name: "training step of the quickstart's network, batch 64, compiled",
      value: compiled * 1e3,
      unit: "ms",
      reference: { name: "eager", value: eager * 1e3 },
    });
  }
  for await (const { name, processor, wall, first } of modelTimes(device, THREADS, (model) => wants(`model ${model}`)))
    for (const [what, { ours, onnxRuntime }, unit] of [
      ["a call", processor, "ms of processor time"],
      ["a call", wall, "ms"],
      ["load and first call", first, "ms"],
    ] as const)
      add({ name: `model ${name}, ${what}, ${THREADS} threads`, value: ours, unit, reference: { name: "ONNX Runtime", value: onnxRuntime } }); // prettier-ignore
  const text = wants("text model") ? await textModelFigures(device, THREADS) : null;
  if (text !== null) {
    const { packed, floats, llamaCpp, memory, peak, difference, largest } = text;
    const name = "text model SmolLM2-135M in Q4_1";
    for (const [way, unit] of [
      ["processor", "tokens/s of processor time"],
      ["wall", "tokens/s"],
    ] as const) {
      const others: readonly (readonly [string, number | undefined])[] = [
        ["floats", floats[way]],
        ["llama.cpp", llamaCpp?.[way]],
      ];
      for (const [other, value] of others)
        if (value !== undefined)
          add({ name: `${name}, packed, ${THREADS} threads`, value: packed[way], unit, reference: { name: other, value } });
    }
    add({ name: `${name}, memory on the device`, value: memory, unit: "of the file", reference: { name: "the goal", value: 1.3 } });
    if (peak !== null)
      add({ name: `${name}, peak of a process`, value: peak, unit: "of the file", reference: { name: "the goal", value: 1.3 } });
    add({ name: `${name}, logits`, value: difference, unit: "from float64", note: `of logits up to ${largest.toFixed(1)}` });
  }
  for (const [name, isPacked] of [
    ["copied images", false],
    ["inflated images", true],
  ] as const) {
    if (!wants(`loader, ${name}`)) continue;
    const { plain, loaders } = await loaderRates(device, { count: isPacked ? 8192 : 32768, isPacked });
    const reference = { name: "plain loop", value: plain };
    for (const { workers, rate } of loaders)
      add({ name: `loader, ${name} of 3 x 32 x 32, ${workers} workers`, value: rate, unit: "samples/s", reference });
  }
  for (const workers of wants("loader, memory") ? [0, 2] : [])
    add({ name: `loader, memory of pass 10 beyond pass 2, ${workers} workers`, value: await loaderGrowth(device, workers), unit: "MiB" });
  if (wants("distributed")) {
    if (dx.distributed.isAvailable()) for (const figure of await distributedFigures()) add(figure);
    else if (values.json !== "-") console.error("nothing distributed was measured: npm run distributed -- --build makes the engine");
  }
  if (wants("import")) {
    const { imported, first } = startUp();
    add({ name: "import of the package, a fresh process", value: imported, unit: "ms", reference: { name: "the goal", value: 150 } });
    add({ name: "first operation after it, on cpu", value: first, unit: "ms", reference: { name: "the goal", value: 1000 } });
  }
  if (wants("memory")) add({ name: "memory: resident set after all of this", value: process.memoryUsage.rss() / 2 ** 20, unit: "MiB" });

  if (rows.length === 0) {
    console.error(`bench: nothing was measured: no measurement that can run here has "${values.filter}" in its name`);
    process.exitCode = 1;
    return;
  }

  const report = {
    date: new Date().toISOString(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    device: values.device,
    package: (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version,
    peakGflops: peakNow(),
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
        reference: r.reference?.name ?? "",
        "its value": r.reference === undefined ? "" : Number(r.reference.value.toPrecision(4)),
        ratio: r.ratio === undefined ? "" : Number(r.ratio.toPrecision(3)),
      })),
    );
  }
}

try {
  await main();
} catch (error) {
  const isOption = error instanceof Error && "code" in error && `${error.code}`.startsWith("ERR_PARSE_ARGS");
  if (!isOption && !(error instanceof dx.DxError)) throw error;
  console.error(`bench: ${error.message}${isOption ? " (--help lists the options)" : ""}`);
  process.exitCode = 1;
}
