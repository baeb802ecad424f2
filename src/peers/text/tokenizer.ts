/** Tokenizers of Hugging Face's models, and batches of tokens. */
import { join } from "node:path";
import { FormatError, ValueError, io, tensor, type Tensor } from "../../index.ts";
import { pathOf, readWhole, type FilePath } from "../../host/source.ts";
import { loadPeer, peerError } from "../peer.ts";
import { chatText, type ChatMessage, type ChatOptions, type NamedTokens } from "./chat-template.ts";
import { ggufTokenizer, type TokenizerFiles } from "./gguf-tokenizer.ts";

/** @internal What is used of the package's class. */
interface PeerTokenizer {
  encode(text: string, options: { readonly add_special_tokens: boolean }): { readonly ids: readonly number[] };
  decode(ids: readonly number[], options: { readonly skip_special_tokens: boolean }): string;
  token_to_id(token: string): number | undefined;
}
interface TokenizersModule {
  readonly Tokenizer: new (tokenizer: object, config: object) => PeerTokenizer;
}

/** Options of loadTokenizer(). */
export interface TokenizerOptions {
  /** The file with the tokenizer's settings. Default: tokenizer_config.json next to the other, if it is there. */
  readonly config?: FilePath | undefined;
}

/** How text becomes tokens. */
export interface EncodeOptions {
  /** The most tokens: text is cut at its end, and the special tokens around it are kept. Default: no limit. */
  readonly maxLength?: number | undefined;
  /** Whether the model's special tokens, such as [CLS] and [SEP], are added. Default: true. */
  readonly specialTokens?: boolean | undefined;
}

/** A batch of tokens. */
export interface TokenBatch {
  /** int32 [N, L]: each row filled up to the longest. */
  readonly inputIds: Tensor;
  /** int32 [N, L]: 1 for a token, 0 for what was filled up. */
  readonly attentionMask: Tensor;
}

/** Throws ValueError for options that are none. */
export function requireEncodeOptions(operation: string, { maxLength }: EncodeOptions): void {
  if (maxLength !== undefined && !(Number.isInteger(maxLength) && maxLength >= 1))
    throw new ValueError(operation, "maxLength", "an integer above 0", maxLength);
}

/** A tokenizer: loadTokenizer() makes it. Reference: transformers.PreTrainedTokenizerFast. */
export class Tokenizer {
  readonly #peer: PeerTokenizer;
  /** The token that fills up rows: the model's pad token; 0 where it has none. */
  readonly padId: number;
  /** The template of conversations, in Jinja; null where the model has none. */
  readonly chatTemplate: string | null;
  readonly #source: string;
  readonly #named: NamedTokens;

  /** @internal */
  constructor(peer: PeerTokenizer, source: string, config: Readonly<Record<string, unknown>>) {
    this.#peer = peer;
    this.#source = source;
    this.#named = namedTokens(config);
    const pad = this.#named["pad_token"];
    this.padId = pad === undefined ? 0 : (peer.token_to_id(pad) ?? 0);
    this.chatTemplate = templateOf(config["chat_template"]);
  }

  /** The tokens of a text. Throws ValueError for a maxLength that is too small for the special tokens. */
  encode(text: string, options: EncodeOptions = {}): Int32Array {
    requireEncodeOptions("Tokenizer.encode", options);
    if (typeof text !== "string") throw new ValueError("Tokenizer.encode", "text", "a text", text);
    const { maxLength = Infinity, specialTokens = true } = options;
    const { ids } = this.#peer.encode(text, { add_special_tokens: specialTokens });
    if (ids.length <= maxLength) return Int32Array.from(ids);
    if (!specialTokens) return Int32Array.from(ids.slice(0, maxLength));
    const own = this.#peer.encode(text, { add_special_tokens: false }).ids;
    const special = ids.length - own.length;
    if (special > maxLength)
      throw new ValueError("Tokenizer.encode", "maxLength", `at least ${special}, for the special tokens`, maxLength);
    const before = Array.from({ length: special + 1 }, (_, i) => i).find((i) => own.every((id, k) => ids[i + k] === id)) ?? 0;
    return Int32Array.from([...ids.slice(0, before), ...own.slice(0, maxLength - special), ...ids.slice(before + own.length)]);
  }

  /** The text of tokens. skipSpecialTokens: whether special tokens are left out, by default they are. */
  decode(ids: ArrayLike<number>, { skipSpecialTokens = true }: { readonly skipSpecialTokens?: boolean | undefined } = {}): string {
    // The package takes no empty list.
    return ids.length === 0 ? "" : this.#peer.decode(Array.from(ids), { skip_special_tokens: skipSpecialTokens });
  }

  /**
   * A conversation as the text that the model was trained on; encode it with `specialTokens: false`. Throws ValueError for a model without a template and
   * for messages that are none, FormatError for those that the template refuses, MissingPackageError without the package @huggingface/jinja.
   * Reference: transformers.PreTrainedTokenizerBase.apply_chat_template with tokenize=False.
   */
  async applyChatTemplate(messages: readonly ChatMessage[], options: ChatOptions = {}): Promise<string> {
    const template = options.template ?? this.chatTemplate;
    if (template === null)
      throw new ValueError("Tokenizer.applyChatTemplate", "template", "given, or one of the model", this.#source, "The model has none.");
    return chatText("Tokenizer.applyChatTemplate", this.#source, template, messages, this.#named, options);
  }

  /** The number of a token. Throws ValueError for one that the vocabulary lacks. */
  tokenId(token: string): number {
    const id = this.#peer.token_to_id(token);
    if (id === undefined) throw new ValueError("Tokenizer.tokenId", "token", "one of the vocabulary", token);
    return id;
  }

  /** The batch of rows of tokens, filled up to the longest by padId. A collateFn for streamLoader() and dataLoader(). */
  readonly collate = (rows: readonly Int32Array[]): TokenBatch => {
    const longest = Math.max(0, ...rows.map((row) => row.length));
    const ids = new Int32Array(rows.length * longest).fill(this.padId);
    const mask = new Int32Array(rows.length * longest);
    for (const [i, row] of rows.entries()) {
      ids.set(row, i * longest);
      mask.fill(1, i * longest, i * longest + row.length);
    }
    const shape = [rows.length, longest];
    return { inputIds: tensor(ids, { shape }), attentionMask: tensor(mask, { shape }) };
  };
}

const MAX_BYTES = 2 ** 29;

async function readJson(path: string): Promise<Readonly<Record<string, unknown>>> {
  const text = new TextDecoder().decode(await readWhole("loadTokenizer", path, MAX_BYTES));
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
  } catch (error) {
    throw peerError("loadTokenizer", path, "a JSON object", error);
  }
  throw new FormatError("loadTokenizer", path, "a JSON object", "another value");
}

const isAbsent = (error: unknown): boolean => ((error as Error).cause as { readonly code?: unknown } | undefined)?.code === "ENOENT";

/** The texts of the tokens that a config names. */
function namedTokens(config: Readonly<Record<string, unknown>>): NamedTokens {
  const named: Record<string, string> = {};
  for (const name of ["bos_token", "eos_token", "unk_token", "pad_token"]) {
    const token = config[name] as string | { readonly content?: unknown } | null | undefined;
    const text = typeof token === "object" ? token?.content : token;
    if (typeof text === "string") named[name] = text;
  }
  return named;
}

/** A template, or the default one of several. */
function templateOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return null;
  const list = value as readonly { readonly name?: unknown; readonly template?: unknown }[];
  const found = list.find(({ name }) => name === "default") ?? list[0];
  return typeof found?.template === "string" ? found.template : null;
}

/** A file next to another; null where there is none. */
async function nextTo<T>(file: string, name: string, read: (path: string) => Promise<T>): Promise<T | null> {
  return read(join(file, "..", name)).catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });
}

async function filesOf(file: string, options: TokenizerOptions): Promise<TokenizerFiles> {
  if (/\.gguf$/i.test(file)) {
    await using opened = await io.gguf.open(file);
    return ggufTokenizer("loadTokenizer", file, opened);
  }
  const tokenizer = await readJson(file);
  const config =
    options.config === undefined
      ? ((await nextTo(file, "tokenizer_config.json", readJson)) ?? {})
      : await readJson(pathOf("loadTokenizer", "config", options.config));
  if (config["chat_template"] !== undefined) return { tokenizer, config };
  const template = await nextTo(file, "chat_template.jinja", (path) => readWhole("loadTokenizer", path, MAX_BYTES));
  return { tokenizer, config: template === null ? config : { ...config, chat_template: new TextDecoder().decode(template) } };
}

/**
 * The tokenizer of a model. path: its tokenizer.json, or a GGUF file (.gguf), as text or a file: URL. Throws FormatError for a file that is no tokenizer,
 * UnsupportedError for a kind of GGUF's that is not known, MissingPackageError without the package @huggingface/tokenizers.
 * Reference: transformers.AutoTokenizer.from_pretrained.
 */
export async function loadTokenizer(path: FilePath, options: TokenizerOptions = {}): Promise<Tokenizer> {
  const file = pathOf("loadTokenizer", "path", path);
  const { Tokenizer: Peer } = await loadPeer<TokenizersModule>(
    "loadTokenizer",
    file,
    "@huggingface/tokenizers",
    () => import("@huggingface/tokenizers" as string),
  );
  const { tokenizer, config } = await filesOf(file, options);
  try {
    return new Tokenizer(new Peer(tokenizer, config), file, config);
  } catch (error) {
    throw peerError("loadTokenizer", file, "a tokenizer that the package @huggingface/tokenizers reads", error);
  }
}
