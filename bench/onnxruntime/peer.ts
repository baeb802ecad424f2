/**
 * `node peer.js DEVICE SECONDS`: ONNX Runtime's DirectML provider and dxtensor on the same device, from an array in JavaScript to an array
 * in JavaScript. One line of JSON on stdout. DXTENSOR_ONNXRUNTIME is the folder that holds node_modules/onnxruntime-node.
 */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { cases, chains, noise, type Case } from "./cases.ts";
import { encodeModel } from "./onnx.ts";
import { loadOrt, ortVersion, type Ort } from "./runtime.ts";

export interface Row {
  readonly name: string;
  /** Milliseconds, the least of the runs. */
  readonly onnxruntime: number;
  readonly eager: number;
  readonly compiled: number;
  readonly runs: number;
  /** The largest difference between the two libraries' results, relative to the largest result. */
  readonly difference: number;
}

export interface Result {
  readonly rows: readonly Row[];
  /** Microseconds for one operation more in a chain. */
  readonly perOperation: { readonly onnxruntime: number; readonly eager: number; readonly compiled: number };
  readonly device: string;
  readonly versions: Readonly<Record<string, string>>;
}

/** Runs the ways in turns, so that a machine whose speed drifts is the same for all. Gives the least times in
 * milliseconds: other work only ever adds to a time. */
async function timeAlternately(ways: readonly (() => Promise<unknown>)[], seconds: number): Promise<{ min: number[]; runs: number }> {
  // Twice: the first call compiles, the second may still fill caches.
  for (let i = 0; i < 2; i++) for (const way of ways) await way();
  const times: number[][] = ways.map(() => []);
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end || times[0]!.length < 11) {
    for (const [i, way] of ways.entries()) {
      const start = performance.now();
      await way();
      times[i]!.push(performance.now() - start);
    }
  }
  return { min: times.map((values) => Math.min(...values)), runs: times[0]!.length };
}

function difference(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) throw new Error(`${a.length} results instead of ${b.length}`);
  let max = 0;
  let size = 0;
  for (const [i, v] of a.entries()) {
    max = Math.max(max, Math.abs(v - b[i]!));
    size = Math.max(size, Math.abs(b[i]!));
  }
  return max / size;
}

async function measure(ort: Ort, one: Case, device: string, seconds: number): Promise<Row> {
  const data = noise(
    one.shape.reduce((a, b) => a * b, 1),
    1,
  );
  const session = await ort.InferenceSession.create(encodeModel(one.model), {
    executionProviders: [{ name: "dml", deviceId: 0 }],
    enableMemPattern: false,
    executionMode: "sequential",
    logSeverityLevel: 3,
  });
  const forward = one.make(device);
  const compiled = dx.compile(forward);
  const asTensors = (call: (x: dx.Tensor) => dx.Tensor) => async (): Promise<Float32Array> =>
    (await dx.scope(async () => {
      using y = dx.keep(dx.noGrad(() => call(dx.tensor(data, { shape: one.shape, device }))));
      return y.data();
    })) as Float32Array;
  const byOrt = async (): Promise<Float32Array> => (await session.run({ x: new ort.Tensor("float32", data, one.shape) }))["y"]!.data;
  const eager = asTensors(forward);
  const replayed = asTensors(compiled);
  const want = Float32Array.from(await byOrt());
  const differences = [difference(await eager(), want), difference(await replayed(), want)];
  const { min, runs } = await timeAlternately([byOrt, eager, replayed], seconds);
  compiled.dispose();
  await session.release();
  return {
    name: one.name,
    onnxruntime: min[0]!,
    eager: min[1]!,
    compiled: min[2]!,
    runs,
    difference: Math.max(...differences),
  };
}

const [device = "dml:0", seconds = "3"] = process.argv.slice(2);
const ort = loadOrt();
const rows: Row[] = [];
for (const one of cases) {
  const row = await measure(ort, one, device, Number(seconds));
  process.stderr.write(
    `${row.name}: ONNX Runtime ${row.onnxruntime.toFixed(3)} ms, eager ${row.eager.toFixed(3)}, compiled ${row.compiled.toFixed(3)}\n`,
  );
  rows.push(row);
}
const [few, many] = rows.slice(-2) as [Row, Row];
const more = (way: "onnxruntime" | "eager" | "compiled"): number => ((many[way] - few[way]) / (chains.many - chains.few)) * 1000;
const result: Result = {
  rows,
  perOperation: { onnxruntime: more("onnxruntime"), eager: more("eager"), compiled: more("compiled") },
  device: device.startsWith("dml:") ? dx.dml.deviceName(Number(device.slice(4))) : device,
  versions: { node: process.version, "onnxruntime-node": ortVersion() ?? "unknown" },
};
process.stdout.write(`${JSON.stringify(result)}\n`);
// Sessions leave threads behind that keep the process.
process.exit(0);
