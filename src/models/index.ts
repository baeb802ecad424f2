/** Models with pretrained weights: made of a config, or read from a file, and text from them. Importing loads none of them. */
export { fromConfig, fromPretrained } from "./from-pretrained.ts";
export type { Bert, BertCall, SentenceOptions } from "./bert.ts";
export type { Gpt2 } from "./gpt2.ts";
export type { ImageModel } from "./image-model.ts";
export type { Llama } from "./llama.ts";
export type { MobileNetV2 } from "./mobilenet-v2.ts";
export type { MobileNetV3 } from "./mobilenet-v3.ts";
export type { ResNet } from "./resnet.ts";
export type { TranscribeOptions, Whisper } from "./whisper.ts";
export type {
  FromConfigOptions,
  FromPretrainedOptions,
  LanguageModel,
  LanguageModelCall,
  ModelConfig,
  ModelFamilies,
  ModelFamily,
} from "./options.ts";
export { generate, releaseGeneration, stream } from "./generate.ts";
export type { GenerateOptions, GeneratedText, GeneratedToken, GenerationEnd, PromptTokens, TokenDecoder } from "./generation/options.ts";
