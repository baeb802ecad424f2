/** The rules of Whisper's timestamps. Reference: transformers.WhisperTimeStampLogitsProcessor. */
import type { LogitsRule } from "./generation/prompts.ts";

/** Tokens of a vocabulary with timestamps: those from `first` on. */
export interface TimestampTokens {
  readonly first: number;
  /** The first token that ends a text; text tokens are below it. */
  readonly end: number;
  /** The latest timestamp, counted from the first, that a text may begin with; null for all. */
  readonly maxInitial: number | null;
}

const forbid = (logits: Float32Array, from: number, to = logits.length): void => void logits.fill(-Infinity, from, Math.max(from, to));

/** Whether all timestamps together are more probable than each other token. */
function isLikely(logits: Float32Array, first: number): boolean {
  let largest = -Infinity;
  for (const value of logits) if (value > largest) largest = value;
  let text = 0;
  for (let i = 0; i < first; i++) text = Math.max(text, Math.exp(logits[i]! - largest) || 0);
  let times = 0;
  for (let i = first; i < logits.length; i++) times += Math.exp(logits[i]! - largest) || 0;
  return times > text;
}

/**
 * Timestamps come in pairs, but for the last one before the end; they begin a text, and do not decrease. Where all of them together are more probable than
 * each other token, the next token is one.
 */
export function timestampRule({ first, end, maxInitial }: TimestampTokens): LogitsRule {
  const isTime = (token: number | undefined): boolean => token !== undefined && token >= first;
  return (logits, made) => {
    // The token that says that there are none.
    forbid(logits, first - 1, first);
    const isBehindTime = isTime(made.at(-1));
    const isBehindPair = isBehindTime && (made.length < 2 || isTime(made.at(-2)));
    if (isBehindPair) forbid(logits, first);
    else if (isBehindTime) forbid(logits, 0, end);
    const latest = made.findLast(isTime);
    // What closes a piece of text may be followed by the same time, which opens the next.
    if (latest !== undefined) forbid(logits, first, isBehindTime && !isBehindPair ? latest : latest + 1);
    if (made.length === 0) {
      forbid(logits, 0, first);
      if (maxInitial !== null) forbid(logits, first + maxInitial + 1);
    }
    if (isLikely(logits, first)) forbid(logits, 0, first);
  };
}
