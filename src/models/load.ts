/** How models are made and filled: the first call of dx.models imports this file. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Device } from "../core/device.ts";
import { DTYPES, isFloat } from "../core/dtype.ts";
import { FormatError, ValueError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { readJsonObject } from "../host/json-object.ts";
import * as safetensors from "../io/safetensors.ts";
import { Embedding } from "../nn/embedding.ts";
import { Linear } from "../nn/linear.ts";
import type { Module } from "../nn/module.ts";
import { zeros } from "../ops/creation/creation.ts";
import { QuantizedEmbedding, QuantizedLinear, replaceIn, type QuantizedWeight } from "../nn/quantized.ts";
import { toDType } from "../ops/data/conversion.ts";
import { reclaimSmallHeap, settleUploads } from "../runtime/buffers.ts";
import { nativeDevice } from "../runtime/devices.ts";
import { ConfigValues } from "./config-values.ts";
import { modelOf } from "./families.ts";
import { asHalves, configOf, tensorOf } from "./gguf-names.ts";
import { PackedReader, staysPacked } from "./gguf-packed.ts";
import { CausalModel } from "./causal-model.ts";
import type { FromConfigOptions, FromPretrainedOptions, ModelConfig, ModelFamilies, ModelFamily } from "./options.ts";

/** fromConfig(). */
export async function makeModel<F extends ModelFamily>(
  operation: string,
  config: ModelConfig,
  { family, device, dtype, generator }: FromConfigOptions<F>,
): Promise<ModelFamilies[F]> {
  return modelOf(new ConfigValues(operation, config), family, { device, dtype, generator });
}

type LoadOptions<F extends ModelFamily> = FromPretrainedOptions<F> & { readonly device: Device };

/** fromPretrained(). */
export async function loadModel<F extends ModelFamily>(
  operation: string,
  path: string,
  options: LoadOptions<F>,
): Promise<ModelFamilies[F]> {
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
  if (!isFolder && /\.(?:safetensors|safetensors\.index\.json|pth|pt|bin)$/.test(path)) return fromFile(operation, path, options);
  if (!isFolder && path.endsWith(".onnx")) {
    const expected = "a folder with config.json, a GGUF file, or weights (.safetensors, .pth, .pt, .bin)";
    throw new FormatError(operation, path, expected, "an ONNX file", "dx.io.onnx.load() runs it.");
  }
  return isFolder ? fromFolder(operation, path, options) : fromGguf(operation, path, options);
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => null))?.isFile() ?? false;

/** A folder as Hugging Face has it. */
async function fromFolder<F extends ModelFamily>(operation: string, path: string, options: LoadOptions<F>): Promise<ModelFamilies[F]> {
  const config = options.config ?? (await readJsonObject(operation, join(path, "config.json")));
  const model = await modelOf(new ConfigValues(operation, config), options.family, { device: "meta", dtype: options.dtype });
  await fillFrom(operation, path, model, options);
  await readGeneration(operation, path, model);
  return model;
}

/** What a folder says of generation. */
async function readGeneration(operation: string, folder: string, model: Module): Promise<void> {
  const path = join(folder, "generation_config.json");
  if ((!(model instanceof CausalModel) && !("suppressTokens" in model)) || !(await isFile(path))) return;
  const values = new ConfigValues(operation, await readJsonObject(operation, path), "generation_config");
  const fields: readonly (readonly [field: string, name: string])[] = [
    ["eosTokens", "eos_token_id"],
    ["suppressTokens", "suppress_tokens"],
    ["beginSuppressTokens", "begin_suppress_tokens"],
  ];
  for (const [field, name] of fields) {
    const tokens = values.tokens(name);
    if (field in model && tokens.length > 0) (model as unknown as Record<string, readonly number[]>)[field] = tokens;
  }
}

/** A file of weights, with the config that the caller names. */
async function fromFile<F extends ModelFamily>(operation: string, path: string, options: LoadOptions<F>): Promise<ModelFamilies[F]> {
  if (options.config === undefined)
    throw new ValueError(operation, "config", "given for a file of weights alone", undefined, 'As { model_type: "resnet", depth: 18 }.');
  const model = await modelOf(new ConfigValues(operation, options.config), options.family, { device: "meta", dtype: options.dtype });
  await fillFrom(operation, path, model, options);
  return model;
}

/** Gives a model the weights of a folder, of safetensors files, or of a file of torch.save(). */
async function fillFrom<F extends ModelFamily>(operation: string, path: string, model: Module, options: LoadOptions<F>): Promise<void> {
  if (/\.(?:pth|pt|bin)$/.test(path)) {
    const { device, signal } = options;
    const { loadFile } = await import("../io/pytorch/load.ts");
    const state = await loadFile(path, device, { signal });
    const tensors = new Map(tensorsOf(state));
    if (tensors.size === 0) throw new FormatError(operation, path, "a state dict: tensors by name", "another value");
    const named = sourceNames(new Set(tensors.keys()));
    return fill(operation, path, model, options, {
      nameOf: named,
      sizeOf: (name) => tensors.get(name)!.size * DTYPES[tensors.get(name)!.dtype].sizeInBytes,
      read: async (name) => tensors.get(name)!,
    });
  }
  await using file = await safetensors.open(path);
  await fill(operation, path, model, options, {
    nameOf: sourceNames(new Set(file.tensors.keys())),
    sizeOf: (name) => file.tensors.get(name)!.sizeInBytes,
    read: (name, { device, signal }) => file.tensor(name, { device, signal }),
  });
}

/** The tensors of a state dict, or of the one that a training's file has. */
function* tensorsOf(state: unknown): Generator<[string, Tensor]> {
  if (typeof state !== "object" || state === null) return;
  const inner = (state as { readonly state_dict?: unknown }).state_dict;
  for (const [name, t] of Object.entries(typeof inner === "object" && inner !== null ? inner : state))
    if (t instanceof Tensor) yield [name, t];
}

/**
 * The name in a file of a name of the state. Files of a model without its head lack the first part of the names, those of one with a head have one more;
 * early ones of TensorFlow's models call weight and bias of norms gamma and beta.
 */
function sourceNames(names: ReadonlySet<string>): (name: string) => string | null {
  const prefixes = ["", "bert.", "model.", "module."];
  return (name) => {
    const [shorter, early] = [
      name.slice(name.indexOf(".") + 1),
      name.replace(/LayerNorm\.weight$/, "LayerNorm.gamma").replace(/LayerNorm\.bias$/, "LayerNorm.beta"),
    ];
    const all = [name, shorter, early].flatMap((each) => prefixes.map((prefix) => prefix + each));
    return all.find((each) => names.has(each)) ?? null;
  };
}

/** A GGUF file. */
async function fromGguf<F extends ModelFamily>(operation: string, path: string, options: LoadOptions<F>): Promise<ModelFamilies[F]> {
  const { OpenGguf, openParts } = await import("../io/gguf/file.ts");
  // No model needs the vocabulary: 100,000 texts that would make V8's heap grow.
  await using file = new OpenGguf(await openParts(operation, path, false));
  const factors = file.tensors.get("rope_freqs.weight")?.type === "F32" ? await file.packed("rope_freqs.weight") : null;
  const config = configOf(operation, file, factors === null ? null : new Float32Array(factors.data.buffer));
  const values = new ConfigValues(operation, config, "metadata");
  const model = await modelOf(values, options.family, { device: "meta", dtype: options.dtype });
  const reader = new PackedReader(operation, file, options.device);
  await fill(operation, path, model, options, {
    nameOf: (name) => tensorOf(file, name)?.name ?? null,
    sizeOf: (name) => file.tensors.get(name)!.sizeInBytes,
    read: async (name, { device, signal }, wanted) => {
      const { heads } = tensorOf(file, wanted)!;
      const made = await file.tensor(name, { device, signal });
      return heads === null ? made : asHalves(made, heads);
    },
    packed: async (name, { device, signal }, wanted) => {
      const { type, shape } = file.tensors.get(name)!;
      if (options.dequantize === true || !device.hasElements || !staysPacked(type) || shape.length !== 2) return null;
      return reader.read(name, tensorOf(file, wanted)!.heads, signal);
    },
  });
  return model;
}

/** Where the weights of a model are. */
interface Source {
  /** The name in the source of a name of the state; null where it has none. */
  readonly nameOf: (name: string) => string | null;
  readonly sizeOf: (name: string) => number;
  readonly read: (
    name: string,
    options: { readonly device: Device; readonly signal?: AbortSignal | undefined },
    wanted: string,
  ) => Promise<Tensor>;
  /** The weight of a linear layer or an embedding that stays packed, else null. */
  readonly packed?: (
    name: string,
    options: { readonly device: Device; readonly signal?: AbortSignal | undefined },
    wanted: string,
  ) => Promise<QuantizedWeight | null>;
}

/** Layers of a model whose weights stay packed replace those of floats; shared weights are shared. */
function replaceLayers(model: Module, packed: ReadonlyMap<Tensor, QuantizedWeight>, dtype: "float32" | "float16" | "bfloat16"): void {
  const made = new Map<Module, Module>();
  for (const layer of model.modules()) {
    if (!(layer instanceof Linear || layer instanceof Embedding)) continue;
    const weight = packed.get(layer.weight);
    if (weight === undefined) continue;
    const next = layer instanceof Linear ? new QuantizedLinear(weight, { bias: layer.bias }) : new QuantizedEmbedding(weight, { dtype });
    made.set(layer, next.train(layer.training));
  }
  replaceIn(model, made);
}

/** Early files of PyTorch's lack the number of batches that a norm has seen. */
const isCounter = (name: string): boolean => name.endsWith("num_batches_tracked");

/** Bytes of weights from which on garbage is collected before they are read: that takes some 20 ms. */
const LARGE = 32 * 2 ** 20;

/** Gives a model that was made on meta its weights. What was read is freed if it fails. */
async function fill<F extends ModelFamily>(
  operation: string,
  path: string,
  model: Module,
  options: LoadOptions<F>,
  source: Source,
): Promise<void> {
  const { device, dtype = "float32", signal, onProgress } = options;
  // What is shared has its first name.
  const wanted = new Map<Tensor, string>();
  const lacking: string[] = [];
  for (const [name, t] of model.stateTensors()) if (!wanted.has(t)) wanted.set(t, name);
  const found = [...wanted].flatMap(([t, name]) => {
    const own = source.nameOf(name);
    if (own === null && !isCounter(name)) lacking.push(name);
    return own === null ? [] : [{ t, name, own }];
  });
  if (lacking.length > 0) {
    const names = lacking.slice(0, 5).join(", ");
    throw new ValueError(
      operation,
      "path",
      "of a file with all weights of the model",
      path,
      `It lacks ${names}${lacking.length > 5 ? ` and ${lacking.length - 5} more` : ""}.`,
    );
  }
  const totalBytes = found.reduce((n, { own }) => n + source.sizeOf(own), 0);
  const state: Record<string, Tensor> = {};
  const packed = new Map<Tensor, QuantizedWeight>();
  const matrices = new Set<Tensor>(model.modules().flatMap((m) => (m instanceof Linear || m instanceof Embedding ? [m.weight] : [])));
  let bytes = 0;
  // What the file's header and the model's making have left, before the weights need their memory.
  if (device.hasElements && totalBytes >= LARGE) reclaimSmallHeap();
  try {
    for (const { t, name, own } of found) {
      const kept = matrices.has(t) ? await source.packed?.(own, { device, signal }, name) : null;
      if (kept) {
        packed.set(t, kept);
        onProgress?.({ bytes: (bytes += source.sizeOf(own)), totalBytes, name });
        continue;
      }
      const read = await source.read(own, { device, signal }, name);
      // Counts stay integers.
      const cast = isFloat(read.dtype) && isFloat(t.dtype) ? toDType(read, dtype) : read;
      if (cast !== read) read.dispose();
      state[name] = cast;
      onProgress?.({ bytes: (bytes += source.sizeOf(own)), totalBytes, name });
    }
    // Counters that early files lack.
    for (const [t, name] of wanted)
      if (!packed.has(t) && !Object.hasOwn(state, name)) state[name] = zeros(t.shape, { dtype: t.dtype, device });
    model.loadStateDict(state, { strict: false, assign: true });
    replaceLayers(model, packed, dtype);
    if (device.hasElements) await settleUploads(nativeDevice(device, operation), operation);
  } catch (error) {
    for (const { codes, scales, minima } of packed.values()) for (const t of [codes, scales, minima]) t?.dispose();
    model.dispose();
    throw error;
  } finally {
    for (const t of Object.values(state)) t.dispose();
  }
}
