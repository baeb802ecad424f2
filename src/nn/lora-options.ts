/** Options of lora(). */
import { DTypeError, ValueError } from "../core/errors.ts";
import type { Generator } from "../ops/random/random.ts";
import type { Module } from "./module.ts";

/**
 * Which layers are adapted. Text: the dotted name of a layer, or its end ("q_proj" is that of each layer of a decoder); "all-linear" is each linear layer but a language
 * model's last one. A regular expression or a function chooses among the layers that can be adapted. A list: what any of its members chooses.
 */
export type LoraTarget = string | RegExp | ((name: string, layer: Module) => boolean) | readonly LoraTarget[];

/** Options of lora(). Reference: peft.LoraConfig. */
export interface LoraOptions {
  /** Which layers are adapted: Linear, Conv1d to Conv3d, Embedding, the linear layers of GPT-2 and those with packed weights. Default: "all-linear". */
  readonly target?: LoraTarget | undefined;
  /** Layers that `target` chooses and that are not adapted. Default: none. */
  readonly exclude?: LoraTarget | undefined;
  /** Rank of the product that is added to a weight. Default: 8. */
  readonly rank?: number | undefined;
  /** The product is multiplied by alpha / rank. Default: rank. */
  readonly alpha?: number | undefined;
  /** Multiplies by alpha / sqrt(rank) instead. Default: false. */
  readonly rankStabilized?: boolean | undefined;
  /** Other ranks of some layers, by the end of their names, a regular expression: `{ "layers.0.*q_proj": 16 }`. Default: none. */
  readonly rankPattern?: Readonly<Record<string, number>> | undefined;
  /** Other alphas of some layers, in the same way. Default: none. */
  readonly alphaPattern?: Readonly<Record<string, number>> | undefined;
  /** Probability of an element of an adapter's input to be zeroed in training; embeddings have none. Default: 0. */
  readonly dropout?: number | undefined;
  /** Biases of the module that learn too: none, all, or those of the adapted layers. Default: "none". */
  readonly bias?: "none" | "all" | "lora_only" | undefined;
  /** Whether adapters have a bias of their own. Default: false. */
  readonly loraBias?: boolean | undefined;
  /** How A starts: uniform as a linear layer, or normal with a deviation of 1 / rank. B starts at zero. Default: "uniform". */
  readonly init?: "uniform" | "gaussian" | undefined;
  /** Modules that learn as a whole, by their names or the ends of these, such as a new head. Default: none. */
  readonly modulesToSave?: readonly string[] | undefined;
  /** The adapter's name: a module may have several. Default: "default". */
  readonly name?: string | undefined;
  /** The dtype of adapters. Default: the layer's, and float32 where that has fewer bits. */
  readonly dtype?: "float32" | "float16" | "bfloat16" | undefined;
  /** Draws the starting values, and what dropout zeroes. Default: the device's own generator. */
  readonly generator?: Generator | undefined;
}

/** Options with their defaults, checked. */
export interface LoraSettings {
  readonly rank: number;
  readonly alpha: number;
  readonly rankStabilized: boolean;
  readonly rankPattern: Readonly<Record<string, number>>;
  readonly alphaPattern: Readonly<Record<string, number>>;
  readonly dropout: number;
  readonly bias: "none" | "all" | "lora_only";
  readonly loraBias: boolean;
  readonly init: "uniform" | "gaussian";
  readonly modulesToSave: readonly string[];
  readonly name: string;
  readonly dtype: "float32" | "float16" | "bfloat16" | undefined;
  readonly generator: Generator | undefined;
}

/** An integer of at least 1. */
export function requireRank(operation: string, argument: string, rank: unknown): number {
  if (typeof rank !== "number" || !Number.isSafeInteger(rank) || rank < 1)
    throw new ValueError(operation, argument, "an integer of at least 1", rank);
  return rank;
}

function requireAlpha(operation: string, argument: string, alpha: unknown): number {
  if (typeof alpha !== "number" || !Number.isFinite(alpha)) throw new ValueError(operation, argument, "a finite number", alpha);
  return alpha;
}

/** Throws ValueError for options out of their range. */
export function settingsOf(operation: string, options: LoraOptions): LoraSettings {
  const { rank = 8, dropout = 0, bias = "none", init = "uniform", name = "default", modulesToSave = [] } = options;
  requireRank(operation, "rank", rank);
  if (!(dropout >= 0 && dropout < 1)) throw new ValueError(operation, "dropout", "in [0, 1)", dropout);
  if (!["none", "all", "lora_only"].includes(bias)) throw new ValueError(operation, "bias", '"none", "all" or "lora_only"', bias);
  if (init !== "uniform" && init !== "gaussian") throw new ValueError(operation, "init", '"uniform" or "gaussian"', init);
  if (typeof name !== "string" || name === "" || name.includes("."))
    throw new ValueError(operation, "name", "not empty and without a dot", name);
  if (!Array.isArray(modulesToSave) || !modulesToSave.every((each) => typeof each === "string"))
    throw new DTypeError(operation, "modulesToSave", "a list of names", modulesToSave);
  const { rankPattern = {}, alphaPattern = {} } = options;
  for (const [pattern, value] of Object.entries(rankPattern)) requireRank(operation, `rankPattern.${pattern}`, value);
  for (const [pattern, value] of Object.entries(alphaPattern)) requireAlpha(operation, `alphaPattern.${pattern}`, value);
  return {
    rank,
    alpha: requireAlpha(operation, "alpha", options.alpha ?? rank),
    rankStabilized: options.rankStabilized ?? false,
    rankPattern,
    alphaPattern,
    dropout,
    bias,
    loraBias: options.loraBias ?? false,
    init,
    modulesToSave: [...modulesToSave],
    name,
    dtype: options.dtype,
    generator: options.generator,
  };
}

/** The value of the first pattern that the end of a name matches. Reference: peft.utils.get_pattern_key. */
export function byPattern(operation: string, patterns: Readonly<Record<string, number>>, name: string, otherwise: number): number {
  for (const [pattern, value] of Object.entries(patterns)) {
    let expression: RegExp;
    try {
      expression = new RegExp(String.raw`^(.*\.)?(${pattern})$`, "s");
    } catch {
      throw new ValueError(operation, "pattern", "a regular expression", pattern);
    }
    if (expression.test(name)) return value;
  }
  return otherwise;
}
