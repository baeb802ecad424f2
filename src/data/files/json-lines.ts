/** JSON Lines: a file with one JSON value in each line. https://jsonlines.org */
import { FormatError, ValueError } from "../../core/errors.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { hasManyDigits, makeBigInts, parseJson } from "./json-integers.ts";
import { partOf, textBytes, type TextFileOptions } from "./sequential-file.ts";

/** Options of jsonLines(). */
export interface JsonLinesOptions<T> extends TextFileOptions {
  /** Checks or changes each value, and gives the rows their type: for example a schema's parse. What it throws is the cause of a FormatError that names the line. */
  readonly parse?: ((value: unknown, line: number) => T) | undefined;
  /**
   * Members of the rows whose integers are BigInts in every row, also those in lists and objects: batches of them are int64. Default: none, so that only
   * integers that a number would round are BigInts.
   */
  readonly bigints?: readonly string[] | undefined;
  /** Characters of the longest line. Default: 2^26. */
  readonly maxLineLength?: number | undefined;
}

const operation = "jsonLines";

interface Line {
  readonly text: string;
  /** Its number, from 1 on. */
  readonly line: number;
  /** Its bytes may have an integer that a number would round. */
  readonly mayRound: boolean;
}

/** The rows of a JSON Lines file: a stream, each pass over which reads the file again. */
export class JsonLines<T> implements AsyncIterable<T> {
  /** The file. */
  readonly path: string;
  readonly #options: JsonLinesOptions<T>;

  /** Throws ValueError for options out of their range; the file is opened when it is read. */
  constructor(path: FilePath, options: JsonLinesOptions<T> = {}) {
    const { maxLineLength = 1, bigints = [] } = options;
    if (!Number.isInteger(maxLineLength) || maxLineLength < 1)
      throw new ValueError(operation, "maxLineLength", "an integer of at least 1", maxLineLength);
    if (!Array.isArray(bigints) || !bigints.every((name) => typeof name === "string"))
      throw new ValueError(operation, "bigints", "a list of members' names", bigints);
    partOf(operation, options);
    this.path = pathOf(operation, "path", path);
    this.#options = options;
  }

  /** The values, line by line. Throws FormatError with the line that is no JSON, for text that is no UTF-8, and for a file that cannot be read. */
  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    const isMine = partOf(operation, this.#options);
    let row = 0;
    for await (const line of this.#lines()) {
      if (/^\s*$/.test(line.text) || !isMine(row++)) continue;
      yield this.#valueOf(line);
    }
  }

  async *#lines(): AsyncGenerator<Line, void, undefined> {
    const { maxLineLength = 2 ** 26 } = this.#options;
    const decoder = new TextDecoder();
    let rest = "";
    let line = 0;
    let previous: Uint8Array | null = null;
    /** Of this piece, and of those that the rest is from. */
    let mayRound = false;
    const requireShort = (text: string): void => {
      if (text.length > maxLineLength)
        throw new FormatError(
          operation,
          this.path,
          `of at most ${maxLineLength} characters`,
          "more",
          "Each value has a line of its own; maxLineLength allows longer ones.",
          line + 1,
        );
    };
    for await (const bytes of textBytes(operation, this.path, this.#options)) {
      const lines = decoder.decode(bytes, { stream: true }).split("\n");
      const hasMany = hasManyDigits(bytes, previous);
      mayRound ||= hasMany;
      previous = bytes;
      lines[0] = rest + lines[0]!;
      rest = lines.pop()!;
      for (const text of lines) {
        requireShort(text);
        yield { text, line: ++line, mayRound };
      }
      if (lines.length > 0) mayRound = hasMany;
      requireShort(rest);
    }
    if (rest !== "") yield { text: rest, line: ++line, mayRound };
  }

  #valueOf({ text, line, mayRound }: Line): T {
    let expected = "a JSON value";
    try {
      const value = parseJson(text, mayRound);
      if (this.#options.bigints !== undefined) makeBigInts(value, this.#options.bigints);
      expected = "a value that parse() takes";
      return this.#options.parse === undefined ? (value as T) : this.#options.parse(value, line);
    } catch (error) {
      const wrong = new FormatError(
        operation,
        this.path,
        expected,
        error instanceof Error ? error.message : String(error),
        undefined,
        line,
      );
      wrong.cause = error;
      throw wrong;
    }
  }
}

/**
 * The rows of a JSON Lines file (also of a .gz file) as a stream for streamLoader(): `for await (const row of jsonLines<Row>(path))`. Empty lines are left
 * out. In workers of a loader each reads the rows of its part. Numbers are those of JSON.parse(), but an integer that a number would round (beyond 2^53) is a
 * BigInt; `bigints` makes all integers of a member BigInts, so that its rows are alike.
 *
 * path: text or a file: URL, of a file or a pipe. T: the rows' type, which the file is not checked for without `parse`. Throws ValueError for options out
 * of their range; a pass throws FormatError, whose `line` says where.
 */
export const jsonLines = <T = unknown>(path: FilePath, options: JsonLinesOptions<T> = {}): JsonLines<T> => new JsonLines<T>(path, options);
