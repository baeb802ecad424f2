/** Which token comes next: distributions of logits with their limits, and draws from them. Reference: the logits processors of transformers. */
import { ValueError } from "../../core/errors.ts";
import type { GenerateOptions } from "./options.ts";

/** Tokens with their probabilities, which sum up to 1. */
export interface Distribution {
  readonly tokens: Int32Array;
  readonly probabilities: Float64Array;
}

/** The limits of a distribution. */
export interface Limits {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly penalty: number;
}

/** Throws ValueError for options out of their range. */
export function limitsOf(operation: string, options: GenerateOptions): Limits {
  const within = (name: keyof GenerateOptions, absent: number, isRight: (x: number) => boolean, expected: string): number => {
    const value = (options[name] ?? absent) as unknown;
    if (typeof value !== "number" || !isRight(value)) throw new ValueError(operation, name, expected, value);
    return value;
  };
  return {
    temperature: within("temperature", 0, (x) => x >= 0 && Number.isFinite(x), "a number of at least 0"),
    topK: within("topK", Infinity, (x) => x === Infinity || (Number.isInteger(x) && x >= 1), "an integer of at least 1"),
    topP: within("topP", 1, (x) => x > 0 && x <= 1, "a number in (0, 1]"),
    minP: within("minP", 0, (x) => x >= 0 && x <= 1, "a number in [0, 1]"),
    penalty: within("repetitionPenalty", 1, (x) => x > 0 && Number.isFinite(x), "a number above 0"),
  };
}

/** Applies the penalty for tokens that the text has, in place. */
export function penalize(logits: Float32Array, seen: Iterable<number>, penalty: number): void {
  if (penalty === 1) return;
  for (const token of new Set(seen)) {
    const value = logits[token]!;
    logits[token] = value < 0 ? value * penalty : value / penalty;
  }
}

/** The most probable token; the first of equal ones. NaN counts as the least. */
export function mostProbable(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[best]! || Number.isNaN(logits[best])) best = i;
  return best;
}

/** The k-th largest value. */
function thresholdOf(values: Float32Array, k: number): number {
  if (k >= values.length) return -Infinity;
  return values.toSorted()[values.length - k]!;
}

/** The distribution of logits within the limits, the most probable token first where limits cut it. Throws ValueError where no logit is a number. */
export function distributionOf(logits: Float32Array, { temperature, topK, topP, minP }: Limits): Distribution {
  let largest = -Infinity;
  for (const value of logits) if (value > largest) largest = value;
  const threshold = thresholdOf(logits, topK);
  let tokens: number[] = [];
  let weights = new Float64Array(logits.length);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    if (logits[i]! < threshold) continue;
    const weight = Math.exp((logits[i]! - largest) / temperature);
    // NaN is no weight.
    if (!(weight > 0)) continue;
    weights[i] = weight;
    sum += weight;
    tokens.push(i);
  }
  if (tokens.length === 0)
    throw new ValueError("models.generate", "model", "one whose logits are numbers", "NaN or -Infinity for all tokens");
  if (topP < 1) {
    // Those below it sum up to less than what may be left out.
    const least = ((1 - topP) * sum) / logits.length;
    const sorted = tokens.filter((token) => weights[token]! >= least).sort((a, b) => weights[b]! - weights[a]!);
    let before = 0;
    const count = sorted.findIndex((token) => {
      const isBehind = before >= topP * sum;
      before += weights[token]!;
      return isBehind;
    });
    tokens = count < 0 ? sorted : sorted.slice(0, Math.max(1, count));
  }
  // The largest weight is 1.
  if (minP > 0) tokens = tokens.filter((token) => weights[token]! >= minP);
  sum = tokens.reduce((n, token) => n + weights[token]!, 0);
  weights = Float64Array.from(tokens, (token) => weights[token]! / sum);
  return { tokens: Int32Array.from(tokens), probabilities: weights };
}

/** The token at a number in [0, 1) of a distribution. */
export function drawFrom({ tokens, probabilities }: Distribution, at: number): number {
  let sum = 0;
  for (let i = 0; i < tokens.length; i++) {
    sum += probabilities[i]!;
    if (at < sum) return tokens[i]!;
  }
  return tokens.at(-1)!;
}

export const probabilityOf = ({ tokens, probabilities }: Distribution, token: number): number => {
  const at = tokens.indexOf(token);
  return at < 0 ? 0 : probabilities[at]!;
};

/** What of a distribution is above another one, as a distribution. */
export function differenceOf(p: Distribution, q: Distribution): Distribution {
  const other = new Map(Array.from(q.tokens, (token, i) => [token, q.probabilities[i]!]));
  const rest = p.probabilities.map((x, i) => Math.max(0, x - (other.get(p.tokens[i]!) ?? 0)));
  const sum = rest.reduce((a, b) => a + b, 0);
  return sum > 0 ? { tokens: p.tokens, probabilities: rest.map((x) => x / sum) } : p;
}

/** Numbers in [0, 1) of a seed: the generator sfc32. */
export function numbersOf(seed: number): () => number {
  let [a, b, c, d] = [seed | 0, Math.floor(seed / 2 ** 32) | 0, 0x9e3779b9 | 0, 1];
  const next = (): number => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 15; i++) next();
  return next;
}
