/** Streams of tokens from text files. */
import { FormatError, ValueError, data } from "../../index.ts";
import { partOf, textBytes, type TextFileOptions } from "../../data/files/sequential-file.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { requireEncodeOptions, type EncodeOptions, type Tokenizer } from "./tokenizer.ts";

/** Options of what reads tokens from files. */
export interface TokenFileOptions extends Pick<TextFileOptions, "signal" | "part"> {
  /** What makes tokens of the text. */
  readonly tokenizer: Tokenizer;
  /** The files are JSON Lines, and the text is this member of each value. Default: each line is a text; empty ones are left out. */
  readonly field?: string | undefined;
}

/** Options of tokenLines(). */
export interface TokenLinesOptions extends TokenFileOptions, EncodeOptions {}

/** Options of tokenBlocks(). */
export interface TokenBlocksOptions extends TokenFileOptions {
  /** Tokens in a block. */
  readonly blockSize: number;
  /** The token behind each line. Default: none. */
  readonly separator?: number | undefined;
}

/** The lines of a text file. */
async function* linesOf(operation: string, path: string, options: TokenFileOptions): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of textBytes(operation, path, { signal: options.signal })) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}

/** The texts of files that are of this part. */
async function* textsOf(operation: string, paths: readonly string[], options: TokenFileOptions): AsyncGenerator<string, void, undefined> {
  const isMine = partOf(operation, options);
  const { field, signal } = options;
  let row = 0;
  for (const path of paths) {
    if (field === undefined) {
      for await (const line of linesOf(operation, path, options)) if (line !== "" && isMine(row++)) yield line;
      continue;
    }
    for await (const value of data.jsonLines<{ readonly [name: string]: unknown } | null>(path, { signal, part: { index: 0, count: 1 } })) {
      const text = value?.[field];
      if (typeof text !== "string")
        throw new FormatError(operation, path, `values with a text in "${field}"`, `${typeof text} in value ${row}`);
      if (isMine(row++)) yield text;
    }
  }
}

function pathsOf(operation: string, paths: FilePath | readonly FilePath[], options: TokenFileOptions): readonly string[] {
  partOf(operation, options);
  return (Array.isArray(paths) ? (paths as readonly FilePath[]) : [paths as FilePath]).map((path) => pathOf(operation, "paths", path));
}

/**
 * The tokens of each line, or of each value's `field`, as a stream of Int32Arrays for streamLoader(): `tokenizer.collate` pads them. In workers of a loader
 * each reads the lines of its part. paths: one or several, text or file: URLs, also of .gz files. Throws ValueError for options out of their range; a pass
 * throws FormatError for a file that cannot be read.
 */
export function tokenLines(paths: FilePath | readonly FilePath[], options: TokenLinesOptions): AsyncIterable<Int32Array> {
  requireEncodeOptions("tokenLines", options);
  const files = pathsOf("tokenLines", paths, options);
  const { tokenizer, maxLength, specialTokens } = options;
  return {
    async *[Symbol.asyncIterator]() {
      for await (const text of textsOf("tokenLines", files, options)) yield tokenizer.encode(text, { maxLength, specialTokens });
    },
  };
}

/**
 * All texts' tokens, without special tokens, joined and cut into blocks of one length: a stream of Int32Arrays for streamLoader(). What is left at the end is
 * left out. paths and errors as tokenLines(). Reference: group_texts in transformers' run_clm.py.
 */
export function tokenBlocks(paths: FilePath | readonly FilePath[], options: TokenBlocksOptions): AsyncIterable<Int32Array> {
  const { tokenizer, blockSize, separator } = options;
  if (!Number.isInteger(blockSize) || blockSize < 1) throw new ValueError("tokenBlocks", "blockSize", "an integer above 0", blockSize);
  if (separator !== undefined && !Number.isInteger(separator))
    throw new ValueError("tokenBlocks", "separator", "a token's number", separator);
  const files = pathsOf("tokenBlocks", paths, options);
  return {
    async *[Symbol.asyncIterator]() {
      let block = new Int32Array(blockSize);
      let filled = 0;
      for await (const text of textsOf("tokenBlocks", files, options)) {
        const own = tokenizer.encode(text, { specialTokens: false });
        const ids = separator === undefined ? own : Int32Array.of(...own, separator);
        for (let at = 0; at < ids.length;) {
          const take = Math.min(blockSize - filled, ids.length - at);
          block.set(ids.subarray(at, at + take), filled);
          at += take;
          filled += take;
          if (filled < blockSize) continue;
          yield block;
          block = new Int32Array(blockSize);
          filled = 0;
        }
      }
    },
  };
}
