// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $modelsFromPretrained from "../models/from-pretrained.ts";
import * as $modelsGenerate from "../models/generate.ts";
export type { Bert } from "../models/bert.ts";
export type { BertCall } from "../models/bert.ts";
export type { SentenceOptions } from "../models/bert.ts";
export type { Gpt2 } from "../models/gpt2.ts";
export type { ImageModel } from "../models/image-model.ts";
export type { Llama } from "../models/llama.ts";
export type { MobileNetV2 } from "../models/mobilenet-v2.ts";
export type { MobileNetV3 } from "../models/mobilenet-v3.ts";
export type { ResNet } from "../models/resnet.ts";
export type { TranscribeOptions } from "../models/whisper.ts";
export type { Whisper } from "../models/whisper.ts";
export type { FromConfigOptions } from "../models/options.ts";
export type { FromPretrainedOptions } from "../models/options.ts";
export type { LanguageModel } from "../models/options.ts";
export type { LanguageModelCall } from "../models/options.ts";
export type { ModelConfig } from "../models/options.ts";
export type { ModelFamilies } from "../models/options.ts";
export type { ModelFamily } from "../models/options.ts";
export type { GenerateOptions } from "../models/generation/options.ts";
export type { GeneratedText } from "../models/generation/options.ts";
export type { GeneratedToken } from "../models/generation/options.ts";
export type { GenerationEnd } from "../models/generation/options.ts";
export type { PromptTokens } from "../models/generation/options.ts";
export type { TokenDecoder } from "../models/generation/options.ts";
/**
 * A model with random weights, of a config as transformers' config.json has it. `model_type` chooses the family. The model is in eval mode.
 *
 * Throws ValueError for values that are missing, out of their range, or ask for what the family lacks. Reference: transformers.AutoModelForCausalLM.from_config.
 */
export const fromConfig = guardedAsync($modelsFromPretrained.fromConfig, "models.fromConfig", "config:anything options:family_9ac29e?");
/**
 * Reads a model with its weights: a folder as Hugging Face has it (config.json with safetensors), a file of weights (safetensors, or torch.save()'s state dict) with
 * `config`, or a GGUF file of llama.cpp, whose metadata give the config and whose packed weights become floats. The model is in eval mode. Nothing is downloaded, and no code of the file is run.
 *
 * path: text or a file: URL. Throws FormatError for damaged files and for those without a config, ValueError for an unknown `model_type`, and for weights
 * that are missing or have other shapes. Reference: transformers.AutoModelForCausalLM.from_pretrained.
 */
export const fromPretrained = guardedAsync($modelsFromPretrained.fromPretrained, "models.fromPretrained", "path:anything options:onProgress_9d7d33?");
/**
 * Continues texts, token by token. tokens: one text (numbers, or a tensor [L]), or a batch: several texts of any lengths, or a tensor [B, L]. Result: a
 * text for each.
 *
 * Keys and values are in a cache of fixed size, which stays with the model: a later call whose texts begin with the same tokens continues from there, and
 * finds its programs. A prompt is read in parts of 1, 2, 4, … 512 tokens, of which each has one program. `releaseGeneration(model)` frees both.
 *
 * Throws ValueError for options out of their range, IndexError for tokens that the vocabulary lacks and for texts longer than the model's positions; rejects
 * with the signal's reason. Reference: transformers.GenerationMixin.generate.
 */
export const generate = guardedAsync($modelsGenerate.generate, "models.generate", "model:module tokens:anything options:GenerateOptions?");
/** Frees the caches and programs that generate() and stream() have left with a model, except those in use. */
export const releaseGeneration = guardedAsync($modelsGenerate.releaseGeneration, "models.releaseGeneration", "model:module");
/**
 * generate() as an async iterable: each token when it is known. The texts of a batch advance together. Ending the iteration (`break`) ends the generation.
 * Throws as generate() does, with the first token. Reference: transformers.TextIteratorStreamer.
 */
export const stream = guarded($modelsGenerate.stream, "models.stream", "model:module tokens:anything options:GenerateOptions?");
