/** Runs an ONNX model, or one of TensorFlow.js, once or several times, and says what it gives, how long it takes, and where the time goes. */
import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isFloat } from "../core/dtype.ts";
import { DxError, FormatError } from "../core/errors.ts";
import { openSource, readAt } from "../host/source.ts";
import { defaultDevice, device as deviceOf, io, profile, scope, synchronize, type Tensor } from "../index.ts";
import { isGguf } from "../io/gguf/header.ts";
import type { OnnxModel } from "../onnx/model.ts";
import { requireDevice } from "../runtime/devices.ts";
import { inputsFor } from "./call-inputs.ts";
import type { ModelRunOptions } from "./options.ts";

const OPERATION = "run";

/** An input, and where its elements come from. */
export interface InputRow {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly from: string;
}

/** An output. Least, greatest and mean are those of its elements that are no NaN; null where there is none. */
export interface OutputRow {
  readonly name: string;
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly nans: number;
  /** Where it was written. */
  readonly file: string | null;
}

/** A node's share of the time; on `cpu` a node may be part of another one's kernel, which counts for the last of them. */
export interface NodeTime {
  /** "NAME (OPERATOR)" */
  readonly node: string;
  readonly milliseconds: number;
}

/** What a run found. Times in milliseconds. */
export interface ModelRunReport {
  readonly file: string;
  readonly device: string;
  readonly nodes: number;
  readonly inputs: readonly InputRow[];
  readonly outputs: readonly OutputRow[];
  readonly times: {
    readonly load: number;
    readonly first: number;
    /** Of the calls after the first. */
    readonly calls: readonly number[];
  };
  readonly slowest: readonly NodeTime[] | null;
}

const refuse = (file: string, received: string, hint: string): never => {
  throw new FormatError(OPERATION, file, "an ONNX model", received, hint);
};

/** A model.json of TensorFlow.js, or the folder of one. */
const isTfjs = async (path: string): Promise<boolean> =>
  path.endsWith(".json") || ((await stat(path).catch(() => null))?.isDirectory() === true && (await isFile(join(path, "model.json"))));

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false;

/** Throws FormatError, with what to do, for files of weights alone. */
async function requireModel(path: string): Promise<void> {
  const { file } = await openSource(OPERATION, path);
  let first: Buffer;
  try {
    first = Buffer.from(await readAt(file, new Uint8Array(16), 0));
  } finally {
    await file.close();
  }
  const shown = `\`npx dxtensor inspect ${path}\` shows what is in it`;
  if (isGguf(first))
    refuse(path, "a GGUF file", `It has weights, but no graph: ${shown}, dx.models.fromPretrained() runs language models.`);
  if (first[8] === 0x7b && first.readUIntLE(0, 6) < 2 ** 40)
    refuse(path, "a safetensors file", `It has weights, but no graph: ${shown}, loadStateDict() of a module takes them.`);
  if (first.toString("latin1", 0, 2) === "PK" || first[0] === 0x80)
    refuse(path, "a file of PyTorch or NumPy", `It has weights, but no graph: ${shown}. PyTorch writes graphs by torch.onnx.export().`);
  if (first.toString("latin1", 0, 6) === "\x93NUMPY") refuse(path, "a .npy file", "Arrays are inputs: --input NAME=FILE.npy.");
}

async function outputRow(name: string, tensor: Tensor, file: string | null): Promise<OutputRow> {
  let [min, max, sum, count, nans] = [Infinity, -Infinity, 0, 0, 0];
  const read = isFloat(tensor.dtype) ? tensor.to("float32") : tensor;
  for (const v of (await read.data()) as Iterable<number | bigint>) {
    const value = Number(v);
    if (Number.isNaN(value)) nans++;
    else {
      min = Math.min(min, value);
      max = Math.max(max, value);
      sum += value;
      count++;
    }
  }
  const { dtype, shape } = tensor;
  const isNone = count === 0;
  return { name, dtype, shape, min: isNone ? null : min, max: isNone ? null : max, mean: isNone ? null : sum / count, nans, file };
}

/** A file name for an output: what is no letter, digit, dot, hyphen or underscore is an underscore. */
const fileNameOf = (name: string, at: number, names: readonly string[]): string => {
  const safe = (n: string): string => n.replaceAll(/[^\w.-]/g, "_").replace(/^\.+/, "_");
  const own = safe(name);
  return `${names.some((other, i) => i < at && safe(other).toLowerCase() === own.toLowerCase()) ? `${own}-${at}` : own}.npy`;
};

/** Errors of a call name the lengths that the user may have wanted to give. */
function withAssumed<T>(assumed: readonly string[], run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof DxError && assumed.length > 0)
      error.message += ` These lengths are 1, since nothing says them: ${assumed.join(", ")}. Give them by --dim NAME=N, or by --shape INPUT=1,3,224,224.`;
    throw error;
  }
}

/** The nodes that take the longest, of one call in a profile. */
function slowestNodes(model: OnnxModel, inputs: Readonly<Record<string, Tensor>>, eager: boolean, count: number): readonly NodeTime[] {
  const run = (): void => {
    for (const t of Object.values(model.call(inputs, { eager }))) t.dispose();
  };
  const { rows } = profile(run, { memory: false }).table({ by: "line" });
  const nodes = rows.filter(({ name }) => name.startsWith("node "));
  return nodes
    .map(({ name, deviceMs, selfMs }) => ({ node: name.slice("node ".length), milliseconds: deviceMs ?? selfMs }))
    .toSorted((a, b) => b.milliseconds - a.milliseconds)
    .slice(0, count);
}

/** Loads and runs the model. onCall is told of each timed call. Throws DxErrors for files, options and inputs that do not fit. */
export async function runModel(path: string, options: ModelRunOptions, onCall: (done: number) => void): Promise<ModelRunReport> {
  const isOfTfjs = await isTfjs(path);
  if (!isOfTfjs) await requireModel(path);
  const target = requireDevice(OPERATION, options.device === undefined ? defaultDevice() : deviceOf(options.device));
  const begin = performance.now();
  const model = await (isOfTfjs ? io.tfjs : io.onnx).load(path, { device: target, eager: options.eager });
  const load = performance.now() - begin;
  const run = async (): Promise<ModelRunReport> => {
    const { inputs: fed, assumed } = await inputsFor(model, options);
    const inputs = Object.fromEntries(fed.map(({ name, tensor }) => [name, tensor.to(target)]));
    await synchronize(target);
    const timed = async (): Promise<readonly [Record<string, Tensor>, number]> => {
      const start = performance.now();
      const outputs = withAssumed(assumed, () => model.call(inputs));
      await synchronize(target);
      return [outputs, performance.now() - start];
    };
    const [results, first] = await timed();
    const calls: number[] = [];
    for (let i = 0; i < options.repeat; i++) {
      const [outputs, time] = await timed();
      for (const t of Object.values(outputs)) t.dispose();
      calls.push(time);
      onCall(calls.length);
    }
    const slowest = options.profile === null ? null : slowestNodes(model, inputs, options.eager, options.profile);
    const names = Object.keys(results);
    const rows: OutputRow[] = [];
    if (options.output !== undefined) await mkdir(options.output, { recursive: true });
    for (const [at, name] of names.entries()) {
      const file = options.output === undefined ? null : join(options.output, fileNameOf(name, at, names));
      if (file !== null) await io.npy.save(file, results[name]!);
      rows.push(await outputRow(name, results[name]!, file));
    }
    return {
      file: path,
      device: String(target),
      nodes: model.nodes.length,
      inputs: fed.map(({ name, tensor, from }) => ({ name, dtype: tensor.dtype, shape: tensor.shape, from })),
      outputs: rows,
      times: { load, first, calls },
      slowest,
    };
  };
  try {
    return await scope(run);
  } finally {
    model.dispose();
  }
}
