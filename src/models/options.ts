/** Types of dx.models. */
import type { DeviceLike } from "../core/device.ts";
import type { Tensor } from "../core/tensor.ts";
import type { TransferOptions } from "../io/parts.ts";
import type { Module } from "../nn/module.ts";
import type { Generator } from "../ops/random/random.ts";
import type { Bert } from "./bert.ts";
import type { Gpt2 } from "./gpt2.ts";
import type { Llama } from "./llama.ts";
import type { MobileNetV2 } from "./mobilenet-v2.ts";
import type { MobileNetV3 } from "./mobilenet-v3.ts";
import type { ResNet } from "./resnet.ts";
import type { Whisper } from "./whisper.ts";

/** The values of a model's config.json, by their names there: `{ model_type: "llama", hidden_size: 576, … }`. */
export interface ModelConfig {
  readonly [name: string]: unknown;
}

/** A family of models. */
export type ModelFamily = "llama" | "gpt2" | "bert" | "resnet" | "mobilenet_v2" | "mobilenet_v3" | "whisper";

/** The class of each family. */
export interface ModelFamilies {
  /** Llama, Mistral, SmolLM2, Qwen2 and Qwen3. */
  readonly llama: Llama;
  /** GPT-2. */
  readonly gpt2: Gpt2;
  /** BERT, and models made like it, such as MiniLM. */
  readonly bert: Bert;
  /** ResNet, ResNeXt and wide ResNets. */
  readonly resnet: ResNet;
  /** MobileNetV2. */
  readonly mobilenet_v2: MobileNetV2;
  /** MobileNetV3, large and small. */
  readonly mobilenet_v3: MobileNetV3;
  /** Whisper. */
  readonly whisper: Whisper;
}

/** A model that predicts the next token of a text: what generate() takes. Those of dx.models are. */
export interface LanguageModel extends Module {
  /** Tokens that end a text: what the model's files say. */
  eosTokens: readonly number[];
  /** The logits [B, L, V] of the next token behind each of tokens [B, L]. */
  forward(tokens: Tensor, call?: LanguageModelCall): Tensor;
}

/** Options of fromConfig(). */
export interface FromConfigOptions<F extends ModelFamily = ModelFamily> {
  /** The family that the config must be of: the result has its class as type. Default: the config's `model_type` says it. */
  readonly family?: F | undefined;
  /** Where the weights are made; "meta" makes none. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** The dtype of the weights. Default: float32. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | undefined;
  /** Draws the starting weights. Default: the device's own generator. */
  readonly generator?: Generator | undefined;
}

/** Options of fromPretrained(). */
export interface FromPretrainedOptions<F extends ModelFamily = ModelFamily> extends TransferOptions {
  /** The family that the file must be of: the result has its class as type. Default: the file says it. */
  readonly family?: F | undefined;
  /** In place of the folder's config.json. Files of weights alone need it: `{ model_type: "resnet", depth: 18 }`. */
  readonly config?: ModelConfig | undefined;
  /** Where the weights go; "meta" reads none. Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** The dtype of the weights. Default: float32. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | undefined;
  /**
   * Whether the weights of a GGUF file become floats. Default: false, matrices of Q4_0, Q4_1, Q8_0 and Q4_K stay packed, in QuantizedLinear and
   * QuantizedEmbedding. Those of other types always become floats.
   */
  readonly dequantize?: boolean | undefined;
}

/** What a language model's forward() takes besides tokens. */
export interface LanguageModelCall {
  /** [B, L] int32: the position of each token. Default: 0 to L - 1. */
  readonly positions?: Tensor | undefined;
  /** [B, L], 0 for tokens that no other attends to, such as padding. Default: all count. */
  readonly attentionMask?: Tensor | undefined;
}
