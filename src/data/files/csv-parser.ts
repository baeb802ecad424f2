/** Records of CSV files: csv-parse behind one function, loaded when the first file is read. */
import { parse } from "csv-parse";

/** How the text is divided into fields. */
export interface CsvDialect {
  readonly delimiter: string;
  readonly quote: string | false;
  readonly comment: string | null;
  readonly maxRecordBytes: number;
}

/** A record, and the line that it ends in if that was asked for. */
export interface CsvRecord {
  readonly fields: readonly string[];
  readonly line: number | null;
}

/** A text that is no CSV: csv-parse's words, without its line. */
export class CsvSyntaxError extends Error {
  readonly line: number;
  readonly isTooLong: boolean;
  constructor(problem: string, line: number, isTooLong: boolean) {
    super(problem);
    this.line = line;
    this.isTooLong = isTooLong;
  }
}

const problems: { readonly [code: string]: string } = {
  CSV_QUOTE_NOT_CLOSED: "a quote that is not closed",
  CSV_INVALID_CLOSING_QUOTE: "text behind a closing quote",
  INVALID_OPENING_QUOTE: "a quote inside of a field without quotes",
  CSV_MAX_RECORD_SIZE: "a record that is too long",
};

/** The records of a text, without empty lines. hasLines: says the line of each, which takes three times as long. */
export async function* records(
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, quote, comment, maxRecordBytes }: CsvDialect,
  hasLines = false,
): AsyncGenerator<CsvRecord, void, undefined> {
  const parser = parse({
    bom: true,
    delimiter,
    quote,
    info: hasLines,
    record_delimiter: ["\r\n", "\n", "\r"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordBytes,
    ...(comment === null ? {} : { comment, comment_no_infix: true }),
  });
  // What fails is thrown where the records are read.
  process.getBuiltinModule("node:stream").pipeline(bytes, parser, () => {});
  try {
    for await (const record of parser as AsyncIterable<unknown>) {
      if (!hasLines) yield { fields: record as string[], line: null };
      else {
        const { record: fields, info } = record as { record: string[]; info: { lines: number } };
        yield { fields, line: info.lines };
      }
    }
  } catch (error) {
    const { code, lines } = error as { code?: string; lines?: number };
    if (code === undefined || !Object.hasOwn(problems, code)) throw error;
    throw new CsvSyntaxError(problems[code]!, lines ?? 1, code === "CSV_MAX_RECORD_SIZE");
  }
}
