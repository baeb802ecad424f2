/** CSV files (RFC 4180): streams of typed rows, and batches of columns. */
import { FormatError, ValueError } from "../../core/errors.ts";
import { scope } from "../../core/scope.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { streamLoader, type StreamLoader, type StreamLoaderOptions } from "../stream.ts";
import type { CsvDialect, CsvRecord } from "./csv-parser.ts";
import {
  CSV_TYPES,
  columnOf,
  inferType,
  isRounded,
  valueOf,
  type CsvBatch,
  type CsvColumns,
  type CsvRow,
  type CsvType,
  type Value,
} from "./csv-types.ts";
import { partOf, textBytes, type TextFileOptions } from "./sequential-file.ts";

/** Options of csv(). */
export interface CsvOptions<C extends CsvColumns = CsvColumns> extends TextFileOptions {
  /**
   * The columns that are read, with their types: `{ name: "string", age: "int32" }`; others are left out. Without a header, all columns in their order.
   * Default: all columns, with types from the first rows.
   */
  readonly columns?: C | undefined;
  /** Whether the first record has the names, or the names of a file that has none. Default: true. Without any, columns are column0, column1, … */
  readonly header?: boolean | readonly string[] | undefined;
  /** Between two fields. Default: ",". */
  readonly delimiter?: string | undefined;
  /** Around a field with delimiters or line ends in it; null for none. Default: '"'. */
  readonly quote?: string | null | undefined;
  /** Lines that begin so are left out. Default: none. */
  readonly comment?: string | undefined;
  /** Texts of a missing value. Default: [""]. */
  readonly missing?: readonly string[] | undefined;
  /** Rows from which types are inferred. Default: 1000. */
  readonly inferRows?: number | undefined;
  /** Bytes of the longest record, so that a quote that is not closed does not read the whole file. Default: 2^24. */
  readonly maxRecordBytes?: number | undefined;
}

/** Options of batches(): those of streamLoader() that have no say in how a batch is made. */
export type CsvBatchOptions = Pick<StreamLoaderOptions<unknown, unknown>, "batchSize" | "dropLast" | "prefetch" | "device" | "generator">;

/** A column of a file: where it is, and what its values become. */
interface Field {
  readonly name: string;
  readonly index: number;
  readonly type: CsvType;
  readonly fill: Value | undefined;
  readonly isInferred: boolean;
}

const operation = "csv";

const requireText = (argument: string, value: string, expected: string, holds: boolean): void => {
  if (!holds) throw new ValueError(operation, argument, expected, value);
};

const requireCount = (argument: string, value: number): void => {
  if (!Number.isInteger(value) || value < 1) throw new ValueError(operation, argument, "an integer of at least 1", value);
};

/** The rows of a CSV file: a stream, each pass over which reads the file again. */
export class CsvDataset<const C extends CsvColumns = CsvColumns> implements AsyncIterable<CsvRow<C>> {
  /** The file. */
  readonly path: string;
  readonly #options: CsvOptions<C>;
  readonly #dialect: CsvDialect;
  readonly #isMissing: (text: string) => boolean;
  #fields: readonly Field[] | null = null;

  /** Throws ValueError for options out of their range; the file is opened when it is read. */
  constructor(path: FilePath, options: CsvOptions<C> = {}) {
    const { delimiter = ",", quote = '"', comment, missing = [""], inferRows = 1000, maxRecordBytes = 2 ** 24 } = options;
    requireText("delimiter", delimiter, "a text without quotes and line ends", /^[^"\r\n]+$/.test(delimiter) && delimiter !== quote);
    if (quote !== null) requireText("quote", quote, "one character, or null", /^[^\r\n]$/u.test(quote));
    if (comment !== undefined) requireText("comment", comment, "a text", /^[^\r\n]+$/.test(comment));
    requireCount("inferRows", inferRows);
    requireCount("maxRecordBytes", maxRecordBytes);
    for (const [name, column] of Object.entries(options.columns ?? {}))
      requireText(`columns.${name}`, String(column), `one of ${CSV_TYPES.join(", ")}`, CSV_TYPES.includes(partsOf(column).type));
    partOf(operation, options);
    const absent = new Set(missing);
    this.path = pathOf(operation, "path", path);
    this.#options = options;
    this.#dialect = { delimiter, quote: quote ?? false, comment: comment ?? null, maxRecordBytes };
    this.#isMissing = (text) => absent.has(text);
  }

  /** The columns' types, as stated or as the first rows have them. Of a pipe only once a pass over it has begun. Throws as a pass does. */
  async types(): Promise<{ readonly [Name in keyof C & string]: CsvType }> {
    if (this.#fields === null) await this.#pass({ ...this.#options, onProgress: undefined }).next();
    return Object.fromEntries(this.#fields!.map(({ name, type }) => [name, type])) as { [Name in keyof C & string]: CsvType };
  }

  /**
   * The rows in order. Throws FormatError, whose `line` says where: for a record with more or fewer fields than the first, a value that its column's type
   * cannot represent, a missing value in a column without `fill`, a quote that is not closed, text that is no UTF-8, and a column that is not there.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<CsvRow<C>, void, undefined> {
    const isMine = partOf(operation, this.#options);
    let row = 0;
    for await (const values of this.#pass(this.#options)) if (values !== null && isMine(row++)) yield values as CsvRow<C>;
  }

  /** The batch of rows: column tensors on the default device, lists of text. A collateFn for streamLoader(). */
  readonly collate = async (rows: readonly CsvRow<C>[]): Promise<CsvBatch<C>> => {
    const types = await this.types();
    return scope(() =>
      Object.fromEntries(
        Object.entries<CsvType>(types).map(([name, type]) => [
          name,
          columnOf(
            type,
            rows.map((row) => (row as { [name: string]: Value })[name]!),
          ),
        ]),
      ),
    ) as CsvBatch<C>;
  };

  /** A loader of batches of columns: a tensor [rows] of each column's dtype, a list for a column of text. It has all of a StreamLoader, its position too. */
  batches(options: CsvBatchOptions = {}): StreamLoader<CsvRow<C>, CsvBatch<C>> {
    return streamLoader<CsvRow<C>, CsvBatch<C>>(this, { ...options, collateFn: this.collate });
  }

  /** Rows as values; null once before the first of them, when the columns are known. */
  async *#pass(options: CsvOptions<C>): AsyncGenerator<{ [name: string]: Value } | null, void, undefined> {
    const { records, CsvSyntaxError } = await import("./csv-parser.ts");
    const input = textBytes(operation, this.path, options);
    let count = 0;
    try {
      const read = records(input, this.#dialect);
      const first = await read.next();
      const start = first.done === true ? null : first.value.fields;
      const names = this.#namesOf(start);
      const ahead: CsvRecord[] = start !== null && (options.header ?? true) !== true ? [first.value as CsvRecord] : [];
      const isHeaderRead = start !== null && ahead.length === 0;
      const limit = this.#fields === null && options.columns === undefined ? (options.inferRows ?? 1000) : 0;
      while (ahead.length < limit) {
        const next = await read.next();
        if (next.done === true) break;
        ahead.push(next.value);
      }
      count = isHeaderRead ? 1 : 0;
      for (const [i, { fields }] of ahead.entries())
        if (fields.length !== names.length) throw await this.#ragged(count + i, names.length, fields.length);
      this.#fields ??= this.#fieldsOf(names, ahead);
      const known = this.#fields;
      yield null;
      for (const { fields } of ahead) yield await this.#rowOf(known, names, fields, count++);
      for await (const { fields } of read) yield await this.#rowOf(known, names, fields, count++);
    } catch (error) {
      if (!(error instanceof CsvSyntaxError)) throw error;
      const hint = error.isTooLong ? "maxRecordBytes allows longer ones." : undefined;
      throw new FormatError(operation, this.path, "a CSV record", error.message, hint, error.line);
    } finally {
      await input.return();
    }
  }

  #namesOf(first: readonly string[] | null): readonly string[] {
    const { header = true, columns } = this.#options;
    if (header === true && first === null) throw new FormatError(operation, this.path, "a CSV file with a header", "an empty one");
    const own = typeof header === "object" ? header : columns === undefined ? null : Object.keys(columns);
    const names = header === true ? first! : (own ?? (first ?? []).map((_, i) => `column${i}`));
    const line = header === true ? 1 : null;
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (twice !== undefined)
      throw new FormatError(operation, this.path, "a file with each column once", `"${twice}" twice`, undefined, line);
    if (names.includes("__proto__"))
      throw new FormatError(operation, this.path, "a file with other columns than __proto__", "one", "Name the columns: header.", line);
    return names;
  }

  #fieldsOf(names: readonly string[], rows: readonly CsvRecord[]): readonly Field[] {
    const { columns } = this.#options;
    if (columns === undefined)
      return names.map((name, index) => {
        const texts = rows.map(({ fields }) => fields[index]!);
        return { name, index, type: inferType(texts, this.#isMissing), fill: undefined, isInferred: true };
      });
    return Object.entries(columns).map(([name, column]) => {
      const index = names.indexOf(name);
      if (index < 0) throw new FormatError(operation, this.path, `a file with a column "${name}"`, names.join(", ").slice(0, 200));
      return { name, index, ...partsOf(column), isInferred: false };
    });
  }

  /** The row of a record; with a promise only where it fails. */
  #rowOf(
    columns: readonly Field[],
    names: readonly string[],
    fields: readonly string[],
    record: number,
  ): { [name: string]: Value } | Promise<never> {
    if (fields.length !== names.length) return this.#ragged(record, names.length, fields.length).then(fail);
    const row: { [name: string]: Value } = {};
    for (const column of columns) {
      const { type } = column;
      const text = fields[column.index]!;
      const value = this.#isMissing(text) ? (column.fill ?? missingValue(type, text)) : valueOf(type, text);
      const isRoundedHere = column.isInferred && (type === "float32" || type === "float64") && isRounded(type, text);
      if (value === null || isRoundedHere) return this.#wrongValue(record, column, text).then(fail);
      row[column.name] = value;
    }
    return row;
  }

  async #ragged(record: number, expected: number, received: number): Promise<FormatError> {
    return new FormatError(operation, ...(await this.#where(record, `${expected} fields`, `${received}`)));
  }

  async #wrongValue(record: number, { name, type, isInferred }: Field, text: string): Promise<FormatError> {
    const isMissing = this.#isMissing(text);
    const hint = isInferred
      ? `The type is that of the first rows: state it, columns: { ${name}: "string" }, or raise inferRows.`
      : isMissing
        ? `State what a missing value becomes: columns: { ${name}: { type: "${type}", fill: … } }.`
        : undefined;
    const received = isMissing ? "a missing value" : `"${text.slice(0, 100)}"`;
    const [source, expected, got, , line] = await this.#where(record, `a value of ${type} in column "${name}"`, received);
    return new FormatError(operation, source, expected, got, hint, line);
  }

  /** Arguments of the error about a record: its line, for which a file is read again; of a pipe its number. */
  async #where(record: number, expected: string, received: string): Promise<[string, string, string, undefined, number | null]> {
    const { records } = await import("./csv-parser.ts");
    const { stat } = process.getBuiltinModule("node:fs/promises");
    if ((await stat(this.path)).isFile()) {
      const input = textBytes(operation, this.path, {});
      try {
        let at = 0;
        for await (const { line } of records(input, this.#dialect, true))
          if (at++ === record) return [this.path, expected, received, undefined, line];
      } finally {
        await input.return();
      }
    }
    return [this.path, expected, `${received} in record ${record + 1}`, undefined, null];
  }
}

const fail = (error: FormatError): never => {
  throw error;
};

const missingValue = (type: CsvType, text: string): Value | null =>
  type === "string" ? text : type === "float32" || type === "float64" ? Number.NaN : null;

const partsOf = (column: CsvColumns[string]): { readonly type: CsvType; readonly fill: Value | undefined } =>
  typeof column === "object" && column !== null ? { type: column.type, fill: column.fill } : { type: column, fill: undefined };

/**
 * The rows of a CSV file (also of a .gz file) as a stream for streamLoader(), and by batches() as columns. RFC 4180: quoted fields, line ends CRLF, LF or
 * CR, a BOM. `columns` states the types, and gives the rows theirs; without it types are those of the first rows (bool, int32, int64, float32, float64,
 * string). Empty lines are left out. In workers of a loader each reads the rows of its part.
 *
 * path: text or a file: URL, of a file or a pipe. Throws ValueError for options out of their range; a pass throws FormatError, whose `line` says where.
 * TensorFlow.js' name: tf.data.csv.
 */
export const csv = <const C extends CsvColumns = CsvColumns>(path: FilePath, options: CsvOptions<C> = {}): CsvDataset<C> =>
  new CsvDataset<C>(path, options);
