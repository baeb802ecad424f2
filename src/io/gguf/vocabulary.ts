/** The tokens of a model in a GGUF file. */
import { FormatError } from "../../core/errors.ts";
import type { GgufValue, GgufVocabulary } from "./options.ts";

const PREFIX = "tokenizer.ggml.";
const SPECIAL = /^tokenizer\.ggml\.(?<name>\w+?)_token_id$/;

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((item) => typeof item === "string");

/** The vocabulary that metadata describe, or null. Throws FormatError for one that contradicts itself. */
export function vocabularyOf(source: string, metadata: Readonly<Record<string, GgufValue>>): GgufVocabulary | null {
  const get = (name: string): GgufValue | undefined => (Object.hasOwn(metadata, PREFIX + name) ? metadata[PREFIX + name] : undefined);
  const tokens = get("tokens");
  if (tokens === undefined) return null;
  const bad = (name: string, expected: string): FormatError =>
    new FormatError("gguf.vocabulary", source, `with ${expected} as ${PREFIX}${name}`, "another value");
  if (!isTexts(tokens)) throw bad("tokens", "texts");
  const [model, scores, types, merges] = [get("model"), get("scores"), get("token_type"), get("merges")];
  if (typeof model !== "string") throw bad("model", "text");
  if (scores !== undefined && !(scores instanceof Float32Array && scores.length === tokens.length))
    throw bad("scores", `${tokens.length} of float32`);
  if (types !== undefined && !(types instanceof Int32Array && types.length === tokens.length))
    throw bad("token_type", `${tokens.length} of int32`);
  if (merges !== undefined && !isTexts(merges)) throw bad("merges", "texts");
  const special = Object.fromEntries(
    Object.entries(metadata).flatMap(([key, value]) => {
      const name = SPECIAL.exec(key)?.groups?.["name"];
      return name !== undefined && typeof value === "number" ? [[name, value] as const] : [];
    }),
  );
  return { model, tokens, scores: scores ?? null, types: types ?? null, merges: merges ?? [], special };
}
