/** What is in a file of tensors or of a model, by headers alone. */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { device } from "../core/device.ts";
import { DTYPES } from "../core/dtype.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import { FormatError } from "../core/errors.ts";
import { sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { readJsonObject } from "../host/json-object.ts";
import { openSource, readAt } from "../host/source.ts";
import { lastIn } from "../io/checkpoint/folder.ts";
import { MANIFEST } from "../io/checkpoint/format.ts";
import { openCheckpoint } from "../io/checkpoint/open.ts";
import { OpenGguf, openParts } from "../io/gguf/read.ts";
import { isGguf } from "../io/gguf/header.ts";
import { load as loadNpy } from "../io/npy/index.ts";
import { loadFile as loadNpz } from "../io/npz/read.ts";
import { loadFile as loadPytorch } from "../io/pytorch/load.ts";
import { openAll } from "../io/safetensors-shards.ts";
import { openTensorFile } from "../io/tensor-file.ts";
import { storedWeights, weightFiles } from "../io/tfjs/weight-files.ts";
import { ZipFile } from "../io/zip-file.ts";
import { inspectOnnx, type OnProgress } from "./onnx.ts";
import type { FileReport, TensorRow } from "./report.ts";

const OPERATION = "inspect";

const fileOf = async (path: string): Promise<FileReport["files"][number]> => ({ path, sizeInBytes: (await stat(path)).size });

const bytesOf = (t: Tensor): number => sizeOf(t.shape) * DTYPES[t.dtype].sizeInBytes;

async function inspectGguf(path: string): Promise<FileReport> {
  await using file = new OpenGguf(await openParts(OPERATION, path));
  const { version, byteOrder, metadata, paths } = file;
  return {
    format: "gguf",
    files: await Promise.all(paths.map(fileOf)),
    metadata: { version, ...(byteOrder === "big" ? { byteOrder } : {}), ...metadata },
    tensors: [...file.tensors.values()].map(({ name, type, shape, sizeInBytes }) => ({ name, dtype: type, shape, sizeInBytes })),
    graph: null,
  };
}

/** A file, an index or a folder of safetensors; of a checkpoint its shards too. */
async function inspectSafetensors(path: string): Promise<FileReport> {
  const isSingle = (await stat(path)).isFile() && !path.endsWith(".json");
  if (isSingle) {
    const { file, header } = await openTensorFile(OPERATION, path);
    await file.close();
    if (Object.hasOwn(header.metadata, MANIFEST)) return inspectCheckpoint(path);
  }
  await using file = await openAll(OPERATION, path);
  return {
    format: "safetensors",
    files: await Promise.all(file.paths.map(fileOf)),
    metadata: file.metadata,
    tensors: [...file.tensors.values()],
    graph: null,
  };
}

async function inspectCheckpoint(path: string): Promise<FileReport> {
  const checkpoint = await openCheckpoint(path);
  try {
    const found = [...checkpoint.entries.values()];
    const files = new Map([
      [path, (await stat(path)).size],
      ...found.flatMap(({ spans }) => spans.map(({ file }) => [file.path, file.sizeInBytes] as const)),
    ]);
    return {
      format: "checkpoint",
      files: [...files].map(([name, sizeInBytes]) => ({ path: name, sizeInBytes })),
      metadata: { state: checkpoint.state },
      tensors: found.map(({ name, dtype, shape, sizeInBytes }) => ({ name, dtype, shape, sizeInBytes })),
      graph: null,
    };
  } finally {
    await checkpoint.close();
  }
}

/** The tensors in a value of a pickle by their paths, and its other values. */
function visit(value: unknown, path: string, tensors: TensorRow[], metadata: Record<string, unknown>): void {
  const inner = (key: string): string => (path === "" ? key : `${path}.${key}`);
  if (value instanceof Tensor) tensors.push({ name: path, dtype: value.dtype, shape: value.shape, sizeInBytes: bytesOf(value) });
  else if (value instanceof ComplexTensor)
    tensors.push({
      name: path,
      dtype: value.dtype,
      shape: value.shape,
      sizeInBytes: sizeOf(value.shape) * (value.dtype === "complex64" ? 8 : 4),
    });
  else if (value instanceof Map) for (const [key, item] of value) visit(item, inner(String(key)), tensors, metadata);
  else if (value instanceof Set || value instanceof Uint8Array) metadata[path] = [...value];
  else if (typeof value === "object" && value !== null)
    for (const [key, item] of Object.entries(value)) visit(item, inner(key), tensors, metadata);
  else metadata[path] = value;
}

async function inspectTorch(path: string): Promise<FileReport> {
  const tensors: TensorRow[] = [];
  const metadata: Record<string, unknown> = {};
  visit(await loadPytorch(path, device("meta"), {}), "", tensors, metadata);
  return { format: "pytorch", files: [await fileOf(path)], metadata, tensors, graph: null };
}

async function inspectArrays(format: "npy" | "npz", path: string): Promise<FileReport> {
  const meta = device("meta");
  const loaded = format === "npy" ? { "": await loadNpy(path, { device: meta }) } : await loadNpz(OPERATION, path, meta, {});
  const tensors = Object.entries(loaded).map(([name, t]) => ({ name, dtype: t.dtype, shape: t.shape, sizeInBytes: bytesOf(t) }));
  return { format, files: [await fileOf(path)], metadata: {}, tensors, graph: null };
}

/** The last checkpoint of a folder, where it has no model's files. */
async function inspectFolder(path: string): Promise<FileReport> {
  const last = await lastIn(path);
  if (last !== null) return inspectCheckpoint(last);
  const names = await readdir(path);
  if (names.includes("model.json")) return inspectJson(join(path, "model.json"));
  const others = names.filter((name) => /\.(?:gguf|onnx|npz|npy|pt|pth)$/.test(name)).toSorted();
  if (others.length > 0 && !names.some((name) => name.includes(".safetensors")))
    throw new FormatError(
      OPERATION,
      path,
      "a file, or a folder of safetensors",
      `a folder with ${others.slice(0, 5).join(", ")}`,
      "Name the file.",
    );
  return inspectSafetensors(path);
}

/** The weights that a model.json of TensorFlow.js lists, as they are in its files. */
async function inspectTfjs(path: string, json: Awaited<ReturnType<typeof readJsonObject>>): Promise<FileReport> {
  const { format, generatedBy, convertedBy, modelTopology } = json;
  const stored = storedWeights(OPERATION, path, json["weightsManifest"] ?? []);
  const kind = format ?? (Array.isArray((modelTopology as { readonly node?: unknown }).node) ? "graph-model" : "layers-model");
  const facts = Object.entries({ format: kind, generatedBy, convertedBy }).filter(([, value]) => value !== undefined && value !== null);
  return {
    format: "tfjs",
    files: await Promise.all([path, ...(await weightFiles(OPERATION, path, json["weightsManifest"] ?? []))].map(fileOf)),
    metadata: Object.fromEntries(facts),
    tensors: stored.map(({ name, dtype, shape, quantization, sizeInBytes }) => ({
      name,
      dtype: quantization === null ? dtype : quantization.dtype,
      shape,
      sizeInBytes,
    })),
    graph: null,
  };
}

/** A model of TensorFlow.js, or an index of safetensors. */
async function inspectJson(path: string): Promise<FileReport> {
  const json = await readJsonObject(OPERATION, path, 2 ** 28);
  return Object.hasOwn(json, "modelTopology") ? inspectTfjs(path, json) : inspectSafetensors(path);
}

/** Whether a zip file has a pickle of torch.save(). */
async function hasPickle(path: string): Promise<boolean> {
  const { file, size } = await openSource(OPERATION, path);
  try {
    // Nothing is inflated here: the readers have their own limits.
    const format = { operation: OPERATION, source: path, writer: "a program", maxInflated: () => Infinity, hints: {} };
    const { entries } = await ZipFile.open(file, format, size ?? 0);
    return [...entries.keys()].some((name) => name.endsWith("/data.pkl"));
  } finally {
    await file.close();
  }
}

/** Reads what a file says of itself, and none of its weights. Throws FormatError for a file of no known format. */
export async function inspect(path: string, onProgress: OnProgress = () => {}): Promise<FileReport> {
  if ((await stat(path).catch(() => null))?.isDirectory() === true) return inspectFolder(path);
  if (path.endsWith(".json")) return inspectJson(path);
  const { file, size } = await openSource(OPERATION, path);
  let first: Buffer;
  try {
    if (size === null) throw new FormatError(OPERATION, path, "a file", "a pipe", "Headers are read by their offsets: save it as a file.");
    first = Buffer.from(await readAt(file, new Uint8Array(Math.min(size, 16)), 0));
  } finally {
    await file.close();
  }
  if (isGguf(first)) return inspectGguf(path);
  if (first.toString("latin1", 0, 6) === "\x93NUMPY") return inspectArrays("npy", path);
  if (first.toString("latin1", 0, 2) === "PK") return (await hasPickle(path)) ? inspectTorch(path) : inspectArrays("npz", path);
  if (first[0] === 0x80) return inspectTorch(path);
  if (first[8] === 0x7b || path.endsWith(".safetensors")) return inspectSafetensors(path);
  return inspectOnnx(OPERATION, path, onProgress);
}
