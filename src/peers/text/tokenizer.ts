/** Tokenizers of Hugging Face's models, and batches of tokens. */
import { join } from "node:path";
import { FormatError, ValueError, tensor, type Tensor } from "../../index.ts";
import { pathOf, readWhole, type FilePath } from "../../host/source.ts";
import { loadPeer, peerError } from "../peer.ts";

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

  /** @internal */
  constructor(peer: PeerTokenizer, padId: number) {
    this.#peer = peer;
    this.padId = padId;
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

/**
 * The tokenizer of a model. path: its tokenizer.json, as text or a file: URL. Throws FormatError for a file that is no tokenizer, MissingPackageError without
 * the package @huggingface/tokenizers. Reference: transformers.AutoTokenizer.from_pretrained.
 */
export async function loadTokenizer(path: FilePath, options: TokenizerOptions = {}): Promise<Tokenizer> {
  const file = pathOf("loadTokenizer", "path", path);
  const { Tokenizer: Peer } = await loadPeer<TokenizersModule>(
    "loadTokenizer",
    file,
    "@huggingface/tokenizers",
    () => import("@huggingface/tokenizers" as string),
  );
  const model = await readJson(file);
  const config =
    options.config === undefined
      ? await readJson(join(file, "..", "tokenizer_config.json")).catch((error: unknown) => {
          if (isAbsent(error)) return {};
          throw error;
        })
      : await readJson(pathOf("loadTokenizer", "config", options.config));
  try {
    const peer = new Peer(model, config);
    const { pad_token: pad } = config as { readonly pad_token?: string | { readonly content: string } | null };
    const token = typeof pad === "object" ? pad?.content : pad;
    return new Tokenizer(peer, token === undefined ? 0 : (peer.token_to_id(token) ?? 0));
  } catch (error) {
    throw peerError("loadTokenizer", file, "a tokenizer that the package @huggingface/tokenizers reads", error);
  }
}
