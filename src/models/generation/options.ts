/** Types of generate() and stream(). */
import type { Tensor } from "../../core/tensor.ts";
import type { LanguageModel } from "../options.ts";

/** Tokens to be continued: one text, several of any lengths, or a tensor [L] or [B, L] of int32 or int64. */
export type PromptTokens = Tensor | ArrayLike<number> | readonly ArrayLike<number>[];

/** What makes text of tokens: the Tokenizer of dxtensor/text, or any object with a decode(). @open */
export interface TokenDecoder {
  /** The text of tokens. */
  decode(tokens: readonly number[]): string;
}

/** Options of generate() and stream(). */
export interface GenerateOptions {
  /** The most tokens that are made for each text. Default: 256, or as many as the model has positions for. */
  readonly maxNewTokens?: number | undefined;
  /** Divides the logits before a token is drawn. Default: 0, which takes the most probable token. */
  readonly temperature?: number | undefined;
  /** Draws among so many of the most probable tokens. Default: all. */
  readonly topK?: number | undefined;
  /** Draws among the most probable tokens whose probabilities sum up to this, in (0, 1]. Default: 1. */
  readonly topP?: number | undefined;
  /** Draws among tokens whose probability is at least this share of the largest, in [0, 1]. Default: 0. */
  readonly minP?: number | undefined;
  /** Logits of tokens that the text has are divided by this where they are positive, else multiplied. Default: 1. */
  readonly repetitionPenalty?: number | undefined;
  /** Of the drawing: equal seeds give equal texts on every device whose logits are equal. Default: another one in each call. */
  readonly seed?: number | undefined;
  /** Tokens that end a text; they are part of the result. Default: the model's `eosTokens`. */
  readonly stopTokens?: readonly number[] | undefined;
  /** Ends a text where one of these appears; the text is cut before it. Needs a tokenizer. */
  readonly stopStrings?: readonly string[] | undefined;
  /** Makes the result's text. Default: none, and texts are "". */
  readonly tokenizer?: TokenDecoder | undefined;
  /** [B, L], 0 for tokens of a tensor that are padding, on either side. Default: all count. */
  readonly attentionMask?: Tensor | undefined;
  /** Whether keys and values of the last call's tokens are used again, as far as the text begins with them. Default: true. */
  readonly reuse?: boolean | undefined;
  /** A smaller model of the same vocabulary that proposes tokens, which the model then checks at once. For one text. */
  readonly draft?: LanguageModel | undefined;
  /** Tokens that it proposes at a time, 1 to 31. Default: 3. */
  readonly draftTokens?: number | undefined;
  /** Ends the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Why a text ended: a stop token or string, or as many tokens as were asked for or as the model has positions for. */
export type GenerationEnd = "stop" | "length";

/** A token of stream(). */
export interface GeneratedToken {
  /** The text that it belongs to: its index in the batch. */
  readonly row: number;
  /** The token. */
  readonly token: number;
  /** What is known of the text since the token before: "" without a tokenizer, and where a character or a stop string may continue. */
  readonly text: string;
  /** Why this is the text's last token; null if it is not. */
  readonly end: GenerationEnd | null;
}

/** A text that generate() has made. */
export interface GeneratedText {
  /** The new tokens. */
  readonly tokens: Int32Array;
  /** Their text; "" without a tokenizer. */
  readonly text: string;
  /** Why it ended. */
  readonly end: GenerationEnd;
}
