/** Models of a config or a file. */
import { defaultDevice, device as deviceOf } from "../core/device.ts";
import { pathOf, type FilePath } from "../host/source.ts";
import { holdYoungGeneration } from "../host/young-generation.ts";
import type { FromConfigOptions, FromPretrainedOptions, ModelConfig, ModelFamilies, ModelFamily } from "./options.ts";

/** Loaded with the first call: importing the library takes no time for it. */
const loader = () => import("./load.ts");

/**
 * A model with random weights, of a config as transformers' config.json has it. `model_type` chooses the family. The model is in eval mode.
 *
 * Throws ValueError for values that are missing, out of their range, or ask for what the family lacks. Reference: transformers.AutoModelForCausalLM.from_config.
 */
export async function fromConfig<F extends ModelFamily = ModelFamily>(
  config: ModelConfig,
  options: FromConfigOptions<F> = {},
): Promise<ModelFamilies[F]> {
  // The default device is that of the call.
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  const { makeModel } = await loader();
  return makeModel("models.fromConfig", config, { ...options, device });
}

/**
 * Reads a model with its weights: a folder as Hugging Face has it (config.json with safetensors), a file of weights (safetensors, or torch.save()'s state dict) with
 * `config`, or a GGUF file of llama.cpp, whose metadata give the config and whose packed weights become floats. The model is in eval mode. Nothing is downloaded, and no code of the file is run.
 *
 * path: text or a file: URL. Throws FormatError for damaged files and for those without a config, ValueError for an unknown `model_type`, and for weights
 * that are missing or have other shapes. Reference: transformers.AutoModelForCausalLM.from_pretrained.
 */
export async function fromPretrained<F extends ModelFamily = ModelFamily>(
  path: FilePath,
  options: FromPretrainedOptions<F> = {},
): Promise<ModelFamilies[F]> {
  options.signal?.throwIfAborted();
  const source = pathOf("models.fromPretrained", "path", path);
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  // Before V8's flags change: it takes no bytecode then that was kept under the usual ones.
  const { loadModel } = await loader();
  const release = holdYoungGeneration();
  try {
    return await loadModel("models.fromPretrained", source, { ...options, device });
  } finally {
    release();
  }
}
