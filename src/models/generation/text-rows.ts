/** The texts of a call while they are made. */
import type { GeneratedToken, GenerationEnd } from "./options.ts";
import type { Request } from "./prompts.ts";
import { numbersOf } from "./token-sampling.ts";
import { TextStream } from "./text-stream.ts";

/** What is known of one text. */
export interface Row {
  readonly index: number;
  /** Prompt and new tokens. */
  readonly tokens: number[];
  readonly prompt: number;
  readonly stream: TextStream;
  readonly next: () => number;
  /** The most tokens. */
  readonly most: number;
  end: GenerationEnd | null;
}

export function rowsOf({ texts, seed, options, maxNewTokens, model }: Request): Row[] {
  return texts.map((text, index) => ({
    index,
    tokens: [...text],
    prompt: text.length,
    stream: new TextStream(options.tokenizer, options.stopStrings ?? []),
    next: numbersOf(seed + index),
    most: Math.min(text.length + maxNewTokens, model.causal.maxLength),
    end: null,
  }));
}

/** Takes a token: what of it is text, and whether it is the last. */
export function take(row: Row, token: number, stopTokens: ReadonlySet<number>): GeneratedToken {
  row.tokens.push(token);
  const isStop = stopTokens.has(token);
  // A stop token is no text.
  const { text, isStopped } = isStop ? { text: "", isStopped: false } : row.stream.add(token);
  if (isStop || isStopped) row.end = "stop";
  else if (row.tokens.length >= row.most) row.end = "length";
  return { row: row.index, token, text: row.end !== null && !isStopped ? text + row.stream.end() : text, end: row.end };
}
