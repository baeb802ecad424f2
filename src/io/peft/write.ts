/** How adapters are written: the first call of peft.save() imports this file. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Lora } from "../../nn/lora.ts";
import { linearSiteOf } from "../../nn/lora-kinds.ts";
import { isNamed, ownModules } from "../../nn/lora-targets.ts";
import { save as saveTensors } from "../safetensors.ts";
import { writeWhole } from "../whole-file.ts";
import { CONFIG_FILE, MODEL_FILE, PREFIX } from "./peft-names.ts";
import type { PeftSaveOptions } from "./options.ts";

export async function writeAdapters(operation: string, folder: string, adapters: Lora, options: PeftSaveOptions): Promise<void> {
  const tensors: Record<string, Tensor> = {};
  for (const [name, t] of Object.entries(adapters.stateDict())) tensors[`${PREFIX}${name}`] = t;
  const config = configText(adapters, options);
  await mkdir(folder, { recursive: true }).catch((error: unknown) => {
    throw new ValueError(operation, "path", "a folder that can be made", folder, error instanceof Error ? error.message : String(error));
  });
  await saveTensors(join(folder, MODEL_FILE), tensors, { format: "pt" }, options);
  await writeWhole(operation, join(folder, CONFIG_FILE), (file) => file.writeFile(config));
}

/** The config, with all values that PEFT writes for plain LoRA. */
function configText(adapters: Lora, { baseModel, taskType }: PeftSaveOptions): string {
  const { settings } = adapters;
  const [ranks, alphas] = [new Map<string, number>(), new Map<string, number>()];
  for (const [name, { rank, alpha }] of adapters.adapters()) {
    if (rank !== settings.rank) ranks.set(escaped(name), rank);
    if (alpha !== settings.alpha) alphas.set(escaped(name), alpha);
  }
  const config = {
    alpha_pattern: Object.fromEntries(alphas),
    auto_mapping: null,
    base_model_name_or_path: baseModel ?? null,
    bias: settings.bias,
    fan_in_fan_out: [...adapters.adaptedLayers().values()].some((layer) => linearSiteOf(layer)?.isTransposed === true),
    inference_mode: true,
    init_lora_weights: settings.init === "gaussian" ? "gaussian" : true,
    lora_alpha: settings.alpha,
    lora_bias: settings.loraBias,
    lora_dropout: settings.dropout,
    modules_to_save: settings.modulesToSave.length === 0 ? null : settings.modulesToSave,
    peft_type: "LORA",
    r: settings.rank,
    rank_pattern: Object.fromEntries(ranks),
    revision: null,
    target_modules: targetsOf(adapters),
    task_type: taskType ?? null,
    use_dora: false,
    use_rslora: settings.rankStabilized,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

const escaped = (name: string): string => name.replaceAll(/[.+*?^${}()|[\]\\]/g, String.raw`\$&`);

/** The last parts of the names where they choose the same layers, else the names, else an expression of them. */
function targetsOf(adapters: Lora): readonly string[] | string {
  const own = new Set(adapters.layers);
  const all = [...ownModules(adapters.module).keys()];
  const chooseOwn = (targets: readonly string[]): boolean =>
    all.every((name) => targets.some((target) => isNamed(name, target)) === own.has(name));
  const lasts = [...new Set(adapters.layers.map((name) => name.slice(name.lastIndexOf(".") + 1)))].sort();
  if (chooseOwn(lasts)) return lasts;
  const names = [...own].sort();
  return chooseOwn(names) ? names : names.map(escaped).join("|");
}
