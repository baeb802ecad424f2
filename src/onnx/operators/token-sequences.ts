/** Operators on sequences of tokens, which are integers. */
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";
import { family } from "./operator.ts";

/** Counts of n-grams of a pool; up to max_skip_count tokens may lie between neighbours, as many between all of them. */
function tfIdf(c: Call): Constant {
  const pool = c.ints("pool_int64s");
  if (pool === null) throw c.unsupported("a pool of texts");
  const mode = c.oneOf("mode", "TF", ["TF", "IDF", "TFIDF"]);
  const [minLength, maxLength, skips] = [c.int("min_gram_length", 1), c.int("max_gram_length", 1), c.int("max_skip_count", 0)];
  const columns = c.ints("ngram_indexes") ?? [];
  const starts = c.ints("ngram_counts") ?? [];
  const weights = c.floats("weights");
  if (starts.some((from, i) => !(from >= (starts[i - 1] ?? 0) && from <= pool.length)))
    throw c.invalid("attribute ngram_counts", `ascending indices in [0, ${pool.length}]`, starts);
  // The n-gram of each length's part of the pool, with its number among all.
  const grams = new Map<string, number>();
  let number = 0;
  starts.forEach((from, i) => {
    const n = i + 1;
    const end = starts[i + 1] ?? pool.length;
    for (let at = from; at + n <= end; at += n) grams.set(pool.slice(at, at + n).join(), number++);
  });
  const { shape } = c.numeric(0);
  const tokens = c.numbers(0);
  const [rows, length] = shape.length === 2 ? [shape[0]!, shape[1]!] : [1, tokens.length];
  const width = Math.max(-1, ...columns) + 1;
  if (columns.some((p) => !(p >= 0))) throw c.invalid("attribute ngram_indexes", "numbers of at least 0", columns);
  const counts = new Float32Array(c.hosted(rows * width, "attribute ngram_indexes"));
  for (let row = 0; row < rows; row++) {
    const rowTokens = tokens.slice(row * length, (row + 1) * length);
    for (let n = Math.max(1, minLength); n <= Math.min(maxLength, length); n++)
      // A single token has no neighbours to skip to.
      for (let step = 1; step <= (n === 1 ? 1 : Math.min(skips + 1, length)); step++)
        for (let at = 0; at + (n - 1) * step < length; at++) {
          const found = grams.get(Array.from({ length: n }, (_, k) => rowTokens[at + k * step]!).join());
          if (found === undefined) continue;
          const to = row * width + columns[found]!;
          const weight = weights?.[found] ?? 1;
          if (mode === "IDF") counts[to] = weight;
          else counts[to]! += mode === "TF" ? 1 : weight;
        }
  }
  return new Constant("float32", shape.length === 2 ? [rows, width] : [width], counts);
}

export const text = family({ TfIdfVectorizer: tfIdf });
