/** What generate() is asked for: its texts, and its options checked. */
import { DTypeError, IndexError, ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { CausalModel } from "../causal-model.ts";
import type { LanguageModel } from "../options.ts";
import type { GenerateOptions, PromptTokens } from "./options.ts";
import { limitsOf, type Limits } from "./token-sampling.ts";

/** A call that has been checked. */
export interface Request {
  readonly model: CausalModel;
  readonly texts: readonly (readonly number[])[];
  readonly limits: Limits;
  readonly maxNewTokens: number;
  readonly seed: number;
  readonly stopTokens: ReadonlySet<number>;
  readonly options: GenerateOptions;
  /** The model that proposes tokens; null for none. */
  readonly draft: CausalModel | null;
  readonly draftTokens: number;
  /** What a model's own rules do to the logits of a text's next token; null: nothing. */
  readonly rule: LogitsRule | null;
}

/** Changes the logits of the next token in place. made: the new tokens of the text. */
export type LogitsRule = (logits: Float32Array, made: readonly number[]) => void;

const DEFAULT_NEW = 256;
const MAX_DRAFT = 31;

/** Throws for a model, tokens and options that do not fit each other. */
export async function requestOf(
  operation: string,
  model: LanguageModel,
  tokens: PromptTokens,
  options: GenerateOptions,
  rule: LogitsRule | null = null,
): Promise<Request> {
  if (!(model instanceof CausalModel)) throw new DTypeError(operation, "model", "a language model of dx.models", model);
  options.signal?.throwIfAborted();
  const { vocabulary, maxLength } = model.causal;
  const texts = await textsOf(operation, tokens, options.attentionMask);
  for (const text of texts) {
    if (text.length === 0) throw new ShapeError(operation, "tokens", "at least one token in each text", "none");
    if (text.length > maxLength) throw new IndexError(operation, "tokens", `at most ${maxLength}, the positions of the model`, text.length);
    const wrong = text.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabulary);
    if (wrong !== undefined) throw new IndexError(operation, "tokens", `integers from 0 to ${vocabulary - 1}`, wrong);
  }
  const limits = limitsOf(operation, options);
  const maxNewTokens = options.maxNewTokens ?? DEFAULT_NEW;
  if (!Number.isInteger(maxNewTokens) || maxNewTokens < 1)
    throw new ValueError(operation, "maxNewTokens", "an integer of at least 1", maxNewTokens);
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 32);
  if (!Number.isSafeInteger(seed) || seed < 0) throw new ValueError(operation, "seed", "an integer from 0 to 2^53 - 1", seed);
  const { stopStrings = [], tokenizer } = options;
  if (!Array.isArray(stopStrings) || !stopStrings.every((text) => typeof text === "string" && text !== ""))
    throw new ValueError(operation, "stopStrings", "texts", stopStrings);
  if (stopStrings.length > 0 && tokenizer === undefined) throw new ValueError(operation, "tokenizer", "given, for stopStrings", tokenizer);
  if (tokenizer !== undefined && typeof tokenizer.decode !== "function")
    throw new ValueError(operation, "tokenizer", "an object with a decode()", tokenizer);
  const { draft, draftTokens } = draftOf(operation, model, texts.length, options);
  return {
    model,
    texts,
    limits,
    maxNewTokens,
    seed,
    stopTokens: new Set(options.stopTokens ?? model.eosTokens),
    options,
    draft,
    draftTokens,
    rule,
  };
}

function draftOf(
  operation: string,
  model: CausalModel,
  batch: number,
  { draft, draftTokens = 3 }: GenerateOptions,
): Pick<Request, "draft" | "draftTokens"> {
  if (!Number.isInteger(draftTokens) || draftTokens < 1 || draftTokens > MAX_DRAFT)
    throw new ValueError(operation, "draftTokens", `an integer from 1 to ${MAX_DRAFT}`, draftTokens);
  if (draft === undefined) return { draft: null, draftTokens };
  if (!(draft instanceof CausalModel)) throw new DTypeError(operation, "draft", "a language model of dx.models", draft);
  if (draft === model) throw new ValueError(operation, "draft", "another model", "the model itself");
  if (draft.causal.vocabulary !== model.causal.vocabulary)
    throw new ValueError(operation, "draft", `of a vocabulary of ${model.causal.vocabulary} tokens`, draft.causal.vocabulary);
  if (batch !== 1) throw new ShapeError(operation, "tokens", "one text, for a draft", `${batch} texts`);
  return { draft, draftTokens };
}

async function textsOf(operation: string, tokens: PromptTokens, mask: Tensor | undefined): Promise<readonly number[][]> {
  if (!(tokens instanceof Tensor)) {
    if (mask !== undefined) throw new ValueError(operation, "attentionMask", "left out, unless tokens are a tensor", mask);
    const isList = (value: unknown): value is ArrayLike<number> => Array.isArray(value) || ArrayBuffer.isView(value);
    if (!isList(tokens)) throw new DTypeError(operation, "tokens", "tokens, a list of texts of tokens, or a tensor", tokens);
    const rows: readonly unknown[] = Array.from(tokens as ArrayLike<unknown>);
    const isBatch = rows.length > 0 && rows.every(isList);
    return (isBatch ? (rows as readonly ArrayLike<number>[]) : [rows as readonly number[]]).map((row) => Array.from(row, Number));
  }
  if (tokens.dtype !== "int32" && tokens.dtype !== "int64") throw new DTypeError(operation, "tokens", "int32 or int64", tokens.describe());
  if (tokens.rank !== 1 && tokens.rank !== 2) throw new ShapeError(operation, "tokens", "[L] or [B, L]", tokens.describe());
  if (mask !== undefined && (mask.rank !== tokens.rank || mask.shape.some((d, i) => d !== tokens.shape[i])))
    throw new ShapeError(operation, "attentionMask", "of tokens' shape", mask.describe());
  const length = tokens.shape.at(-1)!;
  const [ids, counts] = await Promise.all([tokens.data(), mask?.data()]);
  return Array.from({ length: tokens.size / Math.max(1, length) }, (_, row) =>
    Array.from({ length }, (__, i) => row * length + i)
      .filter((at) => counts === undefined || Number(counts[at]) !== 0)
      .map((at) => Number(ids[at])),
  );
}
