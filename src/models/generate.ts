/** Text from language models. */
import type { LanguageModel } from "./options.ts";
import type { GenerateOptions, GeneratedText, GeneratedToken, PromptTokens } from "./generation/options.ts";

/** Loaded with the first call: importing the library takes no time for it. */
const loop = () => import("./generation/generate-loop.ts");

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
export async function generate(model: LanguageModel, tokens: PromptTokens, options: GenerateOptions = {}): Promise<GeneratedText[]> {
  return (await loop()).generateTexts("models.generate", model, tokens, options);
}

/**
 * generate() as an async iterable: each token when it is known. The texts of a batch advance together. Ending the iteration (`break`) ends the generation.
 * Throws as generate() does, with the first token. Reference: transformers.TextIteratorStreamer.
 */
export function stream(
  model: LanguageModel,
  tokens: PromptTokens,
  options: GenerateOptions = {},
): AsyncGenerator<GeneratedToken, void, undefined> {
  return streamed(model, tokens, options);
}

async function* streamed(...call: [LanguageModel, PromptTokens, GenerateOptions]): AsyncGenerator<GeneratedToken, void, undefined> {
  yield* (await loop()).streamTokens("models.stream", ...call);
}

/** Frees the caches and programs that generate() and stream() have left with a model, except those in use. */
export async function releaseGeneration(model: LanguageModel): Promise<void> {
  (await loop()).release("models.releaseGeneration", model);
}
