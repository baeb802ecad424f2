/** Made-up reviews, good and bad, as JSON Lines, and a tokenizer.json for their words. */
import type * as dx from "dxtensor";

const good = ["good", "great", "charming", "clever", "moving", "funny"];
const bad = ["bad", "dull", "tedious", "clumsy", "empty", "loud"];
const things = ["film", "plot", "cast", "music", "ending", "dialogue"];
const openings = ["", "i saw it twice and", "after all the talk", "to be fair", "on a rainy sunday"];
const endings = ["", "and that is all", "said my friend", "from start to finish", "in the end"];

/** Whoever reads only single words is misled: half of the reviews are negated. */
function review(isGood: boolean, generator: dx.Generator): string {
  const pick = (words: readonly string[]): string => words[generator.nextBelow(words.length)]!;
  const isNegated = generator.nextBelow(2) === 1;
  const word = pick(isGood === isNegated ? bad : good);
  const modifier = pick(isNegated ? ["not", "never", "anything but"] : ["", "really", "rather"]);
  return [pick(openings), "the", pick(things), "was", modifier, word, pick(endings)].filter((part) => part !== "").join(" ");
}

/** Lines {"text", "label"}; label 1 for a good review. */
export const reviewLines = (count: number, generator: dx.Generator): string =>
  Array.from({ length: count }, () => {
    const label = generator.nextBelow(2);
    return `${JSON.stringify({ text: review(label === 1, generator), label })}\n`;
  }).join("");

/** A tokenizer.json whose tokens are the words of these texts. A model that you download comes with such a file. */
export function wordTokenizer(texts: readonly string[]): string {
  const special = ["[PAD]", "[UNK]"];
  const words = new Set(texts.flatMap((text) => text.split(" ")));
  return JSON.stringify({
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: special.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: { type: "Lowercase" },
    pre_tokenizer: { type: "Whitespace" },
    post_processor: null,
    decoder: null,
    model: {
      type: "WordLevel",
      vocab: Object.fromEntries([...special, ...[...words].sort()].map((word, id) => [word, id])),
      unk_token: "[UNK]",
    },
  });
}
