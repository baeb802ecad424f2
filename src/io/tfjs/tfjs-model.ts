/** From a model.json to a model: the first tfjs.load() imports this file. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { FormatError, ValueError } from "../../core/errors.ts";
import { readWhole } from "../../host/source.ts";
import type { OnnxModel, OnnxOptions } from "../../onnx/model.ts";
import { modelOf } from "../../onnx/read-model.ts";
import { graphModel } from "./graph-model.ts";
import { isRecord, listOf, type Json } from "./json.ts";
import { layersModel } from "./layers-model.ts";
import type { TfjsArtifacts } from "./options.ts";
import { readWeights, weightsOf } from "./weight-files.ts";
import type { Weight } from "./graph-builder.ts";

const OPERATION = "tfjs.load";
/** Of a model.json: a topology without weights. */
const MAX_BYTES = 2 ** 28;

type Options = OnnxOptions;

function made(source: string, json: Json, weights: ReadonlyMap<string, Weight>, options: Options): OnnxModel {
  const { outputs, ...others } = options;
  if (outputs !== undefined && (!Array.isArray(outputs) || outputs.length === 0 || new Set(outputs).size !== outputs.length))
    throw new ValueError(OPERATION, "outputs", "names of layers or values, each once", outputs);
  const { modelTopology: topology } = json;
  if (topology === undefined || topology === null)
    throw new FormatError(
      OPERATION,
      source,
      "a model.json of TensorFlow.js, with modelTopology",
      `keys ${Object.keys(json).slice(0, 5).join(", ") || "none"}`,
    );
  const isGraph = json["format"] === "graph-model" || (isRecord(topology) && Array.isArray(topology["node"]));
  const { userDefinedMetadata: user } = json;
  const signature = json["signature"] ?? (isRecord(user) ? user["signature"] : undefined);
  const message = isGraph ? graphModel(source, topology, signature, weights, outputs) : layersModel(source, topology, weights, outputs);
  return modelOf(message, others, null);
}

async function parsed(path: string): Promise<Json> {
  const bytes = await readWhole(OPERATION, path, MAX_BYTES, "Name the model.json.");
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    throw new FormatError(OPERATION, path, "a model.json of TensorFlow.js", error instanceof Error ? error.message : String(error));
  }
  if (!isRecord(value)) throw new FormatError(OPERATION, path, "a model.json of TensorFlow.js", "another JSON value");
  return value;
}

/** A model of a file or of a folder with a model.json. */
export async function readFile(path: string, options: Options): Promise<OnnxModel> {
  const isFolder = (await stat(path).catch(() => null))?.isDirectory() ?? false;
  const file = isFolder ? join(path, "model.json") : path;
  const json = await parsed(file);
  const weights = await readWeights(OPERATION, file, json["weightsManifest"] ?? []);
  return made(file, json, weights, options);
}

/** A model of what TensorFlow.js calls its artifacts. */
export function fromArtifacts(artifacts: TfjsArtifacts, options: Options): OnnxModel {
  const source = "artifacts";
  const { weightData = [], weightSpecs } = artifacts;
  const list = Array.isArray(weightData) ? (weightData as readonly unknown[]) : [weightData];
  const parts = list.map((part) => {
    if (part instanceof ArrayBuffer) return new Uint8Array(part);
    if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
    throw new ValueError(OPERATION, "weightData", "bytes", part);
  });
  const groups = artifacts.weightsManifest?.flatMap((group) =>
    listOf(OPERATION, source, "weights", (group as { readonly weights?: unknown }).weights),
  );
  const specs = weightSpecs ?? groups ?? [];
  const weights = weightsOf(OPERATION, source, specs, parts.length === 1 ? parts[0]! : new Uint8Array(Buffer.concat(parts)));
  return made(source, artifacts as unknown as Json, weights, options);
}
