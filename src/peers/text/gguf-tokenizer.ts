/** The tokenizer in a GGUF file's metadata, as tokenizer.json and tokenizer_config.json of Hugging Face describe it. */
import { FormatError, UnsupportedError, type io } from "../../index.ts";

/** What tokenizer.json and tokenizer_config.json say. */
export interface TokenizerFiles {
  readonly tokenizer: object;
  readonly config: Readonly<Record<string, unknown>>;
}

/** Words and their endings, numbers of some digits, signs, and spaces: Llama 3's regular expression. */
const words = (numbers: string): string =>
  `(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|${numbers}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;

const byteLevel = (useRegex: boolean): object => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: useRegex });
const split = (regex: string): object => ({ type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false });
const sequence = (...parts: readonly object[]): object => ({ type: "Sequence", pretokenizers: parts });

const gpt2 = byteLevel(true);
const digits = sequence(split("\\p{N}"), byteLevel(true));
const llama3 = sequence(split(words("\\p{N}{1,3}")), byteLevel(false));
const qwen2 = sequence(split(words("\\p{N}")), byteLevel(false));

/** How text is cut before byte pairs are merged, by the file's name of it. */
const PRE_TOKENIZERS: Readonly<Record<string, object>> = {
  "gpt-2": gpt2,
  mpt: gpt2,
  olmo: gpt2,
  "phi-2": gpt2,
  smollm: digits,
  starcoder: digits,
  refact: digits,
  "command-r": digits,
  codeshell: digits,
  exaone: digits,
  "llama-bpe": llama3,
  "llama-v3": llama3,
  llama3,
  falcon3: llama3,
  pixtral: llama3,
  dbrx: llama3,
  smaug: llama3,
  qwen2,
  stablelm2: qwen2,
  "deepseek-r1-qwen": qwen2,
  hunyuan: qwen2,
};

/** Whose files begin with a token without saying so. */
const BEGINS: ReadonlySet<string> = new Set(["llama-bpe", "llama-v3", "llama3", "falcon3", "pixtral"]);

const [CONTROL, USER_DEFINED] = [3, 4];
const SPACE = "\u2581";

type Merge = readonly [left: string, right: string];

/** Merges of the pieces of a SentencePiece model: those that make a piece of a higher score come first. */
function mergesByScore(vocabulary: ReadonlyMap<string, number>, scores: Float32Array): Merge[] {
  const found: { readonly merge: Merge; readonly score: number; readonly left: number; readonly right: number }[] = [];
  for (const [piece, id] of vocabulary) {
    const symbols = Array.from(piece);
    let left = "";
    for (let i = 0; i + 1 < symbols.length; i++) {
      left += symbols[i]!;
      const right = piece.slice(left.length);
      const [l, r] = [vocabulary.get(left), vocabulary.get(right)];
      if (l !== undefined && r !== undefined) found.push({ merge: [left, right], score: scores[id]!, left: l, right: r });
    }
  }
  return found.sort((a, b) => b.score - a.score || a.left - b.left || a.right - b.right).map(({ merge }) => merge);
}

/** Puts the tokens at the begin and at the end around a text. */
function around(begin: string | null, end: string | null, idOf: ReadonlyMap<string, number>): object | null {
  if (begin === null && end === null) return null;
  const special = (token: string): object => ({ SpecialToken: { id: token, type_id: 0 } });
  const both = (of: readonly ("A" | "B")[]): object[] =>
    of.flatMap((id) => [
      ...(begin === null ? [] : [special(begin)]),
      { Sequence: { id, type_id: 0 } },
      ...(end === null ? [] : [special(end)]),
    ]);
  const tokens = [begin, end].filter((t) => t !== null);
  return {
    type: "TemplateProcessing",
    single: both(["A"]),
    pair: both(["A", "B"]),
    special_tokens: Object.fromEntries(tokens.map((token) => [token, { id: token, ids: [idOf.get(token)!], tokens: [token] }])),
  };
}

/** Byte pairs by bytes, as GPT-2 has them. */
function byBytes(operation: string, path: string, pre: string, ignoresMerges: boolean): object {
  if (!Object.hasOwn(PRE_TOKENIZERS, pre))
    throw new UnsupportedError({
      operation,
      argument: "path",
      expected: `of a file whose tokenizer.ggml.pre is one of ${Object.keys(PRE_TOKENIZERS).join(", ")}`,
      received: `${pre} in ${path}`,
      hint: "A tokenizer.json of the model works too.",
    });
  return {
    normalizer: pre === "qwen2" || pre === "deepseek-r1-qwen" ? { type: "NFC" } : null,
    pre_tokenizer: PRE_TOKENIZERS[pre],
    decoder: byteLevel(true),
    model: { type: "BPE", ignore_merges: ignoresMerges },
  };
}

/** Pieces with scores, as SentencePiece has them: a piece that is not there becomes its bytes. */
function byPieces(unknown: string | undefined, addsSpace: boolean): object {
  const replace = (from: string, to: string): object => ({ type: "Replace", pattern: { String: from }, content: to });
  return {
    normalizer: {
      type: "Sequence",
      normalizers: [...(addsSpace ? [{ type: "Prepend", prepend: SPACE }] : []), replace(" ", SPACE)],
    },
    pre_tokenizer: null,
    decoder: {
      type: "Sequence",
      decoders: [
        replace(SPACE, " "),
        { type: "ByteFallback" },
        { type: "Fuse" },
        ...(addsSpace ? [{ type: "Strip", content: " ", start: 1, stop: 0 }] : []),
      ],
    },
    model: { type: "BPE", unk_token: unknown, fuse_unk: true, byte_fallback: true },
  };
}

/**
 * What Hugging Face's files say of the tokenizer in a GGUF file: byte pairs of bytes ("gpt2": GPT-2, Llama 3, SmolLM2, Qwen) or pieces with scores ("llama").
 * Throws FormatError for a file without tokens, UnsupportedError for other kinds. Reference: llama.cpp's llama-vocab.cpp.
 */
export function ggufTokenizer(operation: string, path: string, { metadata, vocabulary }: io.gguf.GgufFile): TokenizerFiles {
  if (vocabulary === null) throw new FormatError(operation, path, "a file with tokens (tokenizer.ggml.tokens)", "one without");
  const { model: kind, tokens, types, scores, special } = vocabulary;
  if (kind !== "gpt2" && kind !== "llama")
    throw new UnsupportedError({
      operation,
      argument: "path",
      expected: "of a file whose tokenizer.ggml.model is gpt2 or llama",
      received: kind,
    });
  if (kind === "llama" && scores === null)
    throw new FormatError(operation, path, "a file with scores (tokenizer.ggml.scores)", "one without");
  const get = (key: string): io.gguf.GgufValue | undefined => metadata[`tokenizer.ggml.${key}`];
  const pre = get("pre") === undefined ? "gpt-2" : String(get("pre"));
  const idOf = new Map(tokens.map((token, id) => [token, id]));
  const nameOf = (name: string): string | undefined => (special[name] === undefined ? undefined : tokens[special[name]]);
  const addsBegin = get("add_bos_token") ?? (kind === "llama" || BEGINS.has(pre));
  const isBegun = addsBegin === true && nameOf("bos") !== undefined;
  const isEnded = get("add_eos_token") === true && nameOf("eos") !== undefined;
  const kindOf =
    kind === "gpt2" ? byBytes(operation, path, pre, BEGINS.has(pre)) : byPieces(nameOf("unknown"), get("add_space_prefix") !== false);
  const { model, ...rest } = kindOf as { readonly model: object };
  const vocab: Record<string, number> = Object.create(null) as Record<string, number>;
  for (const [token, id] of idOf) vocab[token] = id;
  const merges = kind === "gpt2" ? vocabulary.merges.map((merge) => cut(operation, path, merge)) : mergesByScore(idOf, scores!);
  const added = tokens.flatMap((content, id) =>
    types?.[id] === CONTROL || types?.[id] === USER_DEFINED
      ? [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: types[id] === CONTROL }]
      : [],
  );
  return {
    tokenizer: {
      version: "1.0",
      added_tokens: added,
      ...rest,
      post_processor: around(isBegun ? nameOf("bos")! : null, isEnded ? nameOf("eos")! : null, idOf),
      model: { ...model, vocab, merges },
    },
    config: {
      bos_token: nameOf("bos"),
      eos_token: nameOf("eos"),
      unk_token: nameOf("unknown"),
      pad_token: nameOf("padding"),
      clean_up_tokenization_spaces: false,
      chat_template: metadata["tokenizer.chat_template"],
    },
  };
}

/** The two halves of a merge, which a space parts: the second one never begins with it. */
function cut(operation: string, path: string, merge: string): Merge {
  const at = merge.indexOf(" ", 1);
  if (at < 1) throw new FormatError(operation, path, "merges of two texts with a space between", merge);
  return [merge.slice(0, at), merge.slice(at + 1)];
}
