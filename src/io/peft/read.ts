/** How adapters are read: the first call of peft.load() imports this file. */
import { join } from "node:path";
import { defaultDevice } from "../../core/device.ts";
import { FormatError, UnsupportedError, ValueError } from "../../core/errors.ts";
import { sameShape, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { readJsonObject } from "../../host/json-object.ts";
import { adapt, type Lora } from "../../nn/lora.ts";
import { kindOf } from "../../nn/lora-kinds.ts";
import { settingsOf, type LoraSettings } from "../../nn/lora-options.ts";
import { ownModules } from "../../nn/lora-targets.ts";
import type { Module } from "../../nn/module.ts";
import { copyInto } from "../../ops/data/copy.ts";
import { load as loadTensors } from "../safetensors.ts";
import { CONFIG_FILE, MODEL_FILE, PREFIX, VARIANTS } from "./peft-names.ts";
import type { PeftLoadOptions } from "./options.ts";

type Config = Readonly<Record<string, unknown>>;

const isSet = (value: unknown): boolean =>
  value !== undefined && value !== null && value !== false && !(Array.isArray(value) && value.length === 0);

/** The options that a config stands for. */
function settingsIn(operation: string, path: string, config: Config, name: string | undefined): LoraSettings {
  const get = (key: string): unknown => (Object.hasOwn(config, key) ? (config[key] ?? undefined) : undefined);
  if (get("peft_type") !== "LORA") throw new FormatError(operation, path, 'peft_type "LORA"', JSON.stringify(get("peft_type")));
  const refuse = (argument: string, expected: string): never => {
    throw new UnsupportedError({ operation, argument, expected, received: JSON.stringify(get(argument)) });
  };
  for (const variant of VARIANTS) if (isSet(get(variant))) refuse(variant, "left out: the library has plain LoRA");
  const init = get("init_lora_weights") ?? true;
  if (init !== true && init !== false && init !== "gaussian")
    refuse("init_lora_weights", 'true, false or "gaussian": others change the model\'s weights');
  const patternsIn = (key: string): Record<string, number> => (get(key) ?? {}) as Record<string, number>;
  const modules = get("modules_to_save");
  return settingsOf(operation, {
    rank: get("r") as number,
    alpha: get("lora_alpha") as number,
    rankStabilized: isSet(get("use_rslora")),
    rankPattern: patternsIn("rank_pattern"),
    alphaPattern: patternsIn("alpha_pattern"),
    dropout: get("lora_dropout") as number | undefined,
    bias: get("bias") as LoraSettings["bias"] | undefined,
    loraBias: isSet(get("lora_bias")),
    init: init === "gaussian" ? "gaussian" : "uniform",
    modulesToSave: modules as string[] | undefined,
    name,
  });
}

const FACTOR = /^(?:(?<layer>.+)\.)?(?:lora_(?<factor>[AB])\.(?:weight|bias)|lora_embedding_(?<table>[AB]))$/;
/** Of an embedding that is adapted PEFT writes the table too. */
const TABLE = /^(?:(?<layer>.+)\.)?base_layer\.weight$/;

/** The rank of each layer of a file, by the shape of A. */
function ranksIn(path: string, tensors: Readonly<Record<string, Tensor>>, operation: string): Map<string, number> {
  const ranks = new Map<string, number>();
  for (const [name, t] of Object.entries(tensors)) {
    const found = FACTOR.exec(name)?.groups;
    if (found === undefined || !name.match(/(?:lora_A\.weight|lora_embedding_A)$/)) continue;
    if (t.rank < 2 || t.shape[0]! < 1) throw new FormatError(operation, path, `a matrix named ${name}`, t.describe());
    ranks.set(found["layer"] ?? "", t.shape[0]!);
  }
  if (ranks.size === 0) throw new FormatError(operation, path, "tensors of LoRA", Object.keys(tensors).slice(0, 3).join(", ") || "none");
  return ranks;
}

export async function readAdapters(operation: string, module: Module, folder: string, options: PeftLoadOptions): Promise<Lora> {
  const configPath = join(folder, CONFIG_FILE);
  const settings = settingsIn(operation, configPath, await readJsonObject(operation, configPath), options.name);
  const path = join(folder, MODEL_FILE);
  const device = [...module.parameters(), ...module.buffers()][0]?.device ?? defaultDevice();
  const { tensors: read } = await loadTensors(path, { device, signal: options.signal, onProgress: options.onProgress });
  try {
    return give(operation, path, module, settings, read);
  } finally {
    for (const t of Object.values(read)) t.dispose();
  }
}

/** Gives a module the adapters, or leaves it as it was. */
function give(operation: string, path: string, module: Module, settings: LoraSettings, read: Readonly<Record<string, Tensor>>): Lora {
  const tensors: Record<string, Tensor> = {};
  for (const [name, t] of Object.entries(read)) {
    // With bias "all" PEFT writes the biases of saved modules twice more, under names of its wrapper.
    if (/\.(?:original_module|modules_to_save)\./.test(name)) continue;
    tensors[name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name] = t;
  }
  const ranks = ranksIn(path, tensors, operation);
  const modules = ownModules(module);
  const layers = new Map<string, Module>();
  const lacking = [...ranks.keys()].filter((name) => !modules.has(name));
  if (lacking.length > 0)
    throw new ValueError(
      operation,
      "module",
      "one with the layers of the file",
      `one without ${lacking.slice(0, 5).join(", ")}${lacking.length > 5 ? ` and ${lacking.length - 5} more` : ""}`,
    );
  for (const name of ranks.keys()) {
    const layer = modules.get(name)!;
    if (kindOf(layer) === null)
      throw new UnsupportedError({
        operation,
        argument: name,
        expected: "a layer that can be adapted",
        received: `a ${layer.constructor.name}`,
      });
    layers.set(name, layer);
  }
  const tables = takeTables(operation, tensors, modules);
  const learned = new Map([...module.namedParameters()].map(([, p]) => [p, p.requiresGrad]));
  const adapters = adapt(operation, module, layers, settings, ranks);
  try {
    adapters.loadStateDict(tensors);
  } catch (error) {
    adapters.remove();
    for (const [p, requires] of learned) p.leafRequiresGrad = requires;
    throw error;
  }
  for (const [weight, table] of tables) copyInto(operation, weight, table);
  return adapters;
}

/** Takes the tables of embeddings out of the tensors. */
function takeTables(operation: string, tensors: Record<string, Tensor>, modules: ReadonlyMap<string, Module>): Map<Tensor, Tensor> {
  const tables = new Map<Tensor, Tensor>();
  for (const [name, t] of Object.entries(tensors)) {
    const layer = TABLE.exec(name)?.groups;
    if (layer === undefined) continue;
    const { weight } = (modules.get(layer["layer"] ?? "") ?? {}) as { readonly weight?: Tensor };
    if (weight === undefined || !sameShape(weight.shape, t.shape))
      throw new ValueError(operation, "module", `one whose ${layer["layer"]} is ${showShape(t.shape)}`, weight?.describe() ?? "none");
    tables.set(weight, t);
    delete tensors[name];
  }
  return tables;
}
