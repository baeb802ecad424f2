/** Parquet files by the package hyparquet. The entry point `dxtensor/parquet`. */
import { FormatError, ValueError } from "../../index.ts";
import { openSource, readAt, type FilePath } from "../../host/source.ts";
import { loadPeer } from "../peer.ts";
import { Table, type OpenTable, type RawGroup, type TableFormat, type TableOptions } from "../tables/file-table.ts";
import type { ColumnsOptions } from "../tables/types.ts";
import { codecs, type Compressors } from "./codecs.ts";
import { typeOf, type SchemaElement } from "./parquet-schema.ts";

export { Table, type TableBatchOptions, type TableOptions } from "../tables/file-table.ts";
export type { Cell, ColumnOptions, ColumnType, ColumnsOptions, TableBatch, TableRow } from "../tables/types.ts";
export type { Compressors } from "./codecs.ts";

/** Options of parquet(). */
export interface ParquetOptions<C extends ColumnsOptions = ColumnsOptions> extends TableOptions<C> {
  /** Decompressors by codec, as the package hyparquet-compressors has them. Default: those of Node for gzip, brotli and zstd (Node 22.15); snappy is there. */
  readonly compressors?: Compressors | undefined;
}

interface Metadata {
  readonly row_groups: readonly { readonly num_rows: bigint }[];
}
interface Input {
  readonly byteLength: number;
  slice(start: number, end?: number): Promise<ArrayBuffer>;
}
interface Hyparquet {
  parquetMetadataAsync(file: Input, options: object): Promise<Metadata>;
  parquetSchema(metadata: Metadata): { readonly children: readonly { readonly element: SchemaElement }[] };
  parquetScan(options: object): Promise<{
    readColumn(options: { readonly column: string; readonly rowStart: number; readonly rowEnd: number }): Promise<ArrayLike<unknown>>;
  }>;
}

/** Timestamps and dates stay the numbers that the file has, JSON stays text. */
const same = (value: unknown): unknown => value;
const parsers = {
  timestampFromMilliseconds: same,
  timestampFromMicroseconds: same,
  timestampFromNanoseconds: same,
  dateFromDays: same,
  jsonFromBytes: same,
};

async function open(path: string, compressors: Compressors, signal: AbortSignal | undefined): Promise<OpenTable> {
  const hyparquet = await loadPeer<Hyparquet>("parquet", path, "hyparquet", () => import("hyparquet" as string));
  const { file, size } = await openSource("parquet", path);
  try {
    if (size === null) throw new FormatError("parquet", path, "a file", "a pipe", "A Parquet file is read from its end.");
    const input: Input = {
      byteLength: size,
      async slice(start, end = size) {
        signal?.throwIfAborted();
        const bytes = await readAt(file, new Uint8Array(Math.max(0, end - start)), start);
        if (bytes.byteLength < end - start)
          throw new FormatError("parquet", path, `of at least ${end} bytes`, `${size} bytes: it is cut off`);
        return bytes.buffer as ArrayBuffer;
      },
    };
    const common = { file: input, parsers, utf8: false, geoparquet: false, compressors };
    const metadata = await hyparquet.parquetMetadataAsync(input, { parsers, geoparquet: false });
    const { children } = hyparquet.parquetSchema(metadata);
    return {
      columns: new Map(children.map(({ element }) => [element.name, typeOf(element)])),
      async *groups(names, [from, to], isMine): AsyncGenerator<RawGroup, void, undefined> {
        let next = 0;
        for (const [group, { num_rows: count }] of metadata.row_groups.entries()) {
          const [rowStart, rowEnd] = [Math.max(next, from), Math.min(next + Number(count), to)];
          next += Number(count);
          if (rowStart >= rowEnd || !isMine(group)) continue;
          const scan = await hyparquet.parquetScan({ ...common, metadata, columns: names, rowStart, rowEnd });
          const columns = await Promise.all(names.map((column) => scan.readColumn({ column, rowStart, rowEnd })));
          const rows = rowEnd - rowStart;
          const short = columns.findIndex((values) => values.length !== rows);
          if (short >= 0)
            throw new FormatError("parquet", path, `${rows} values in column "${names[short]!}"`, String(columns[short]!.length));
          yield {
            start: rowStart,
            rows,
            columns: columns.map((values) => ({
              values,
              isNull: ArrayBuffer.isView(values) ? null : (row) => values[row] === null || values[row] === undefined,
            })),
          };
        }
      },
      close: () => file.close(),
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * The rows of a Parquet file as a stream for streamLoader(), and by batches() as columns. The file is read row group by row group; of it only the columns
 * that are asked for. Integers, floats and bools become tensors of their dtype (int64 exactly); float16 becomes float32; dates int32 and timestamps
 * int64, in the file's unit; decimals of up to 15 digits float64; text a list. Nested columns and longer decimals are refused by name.
 *
 * path: text or a file: URL. Throws ValueError for options out of their range; a pass throws FormatError, and MissingPackageError without the package
 * hyparquet. pandas' name: read_parquet.
 */
export function parquet<const C extends ColumnsOptions = ColumnsOptions>(path: FilePath, options: ParquetOptions<C> = {}): Table<C> {
  const { compressors = {}, ...rest } = options;
  if (typeof compressors !== "object" || compressors === null)
    throw new ValueError("parquet", "compressors", "an object of functions by codec", compressors);
  const all = { ...codecs(), ...compressors };
  const format: TableFormat = {
    operation: "parquet",
    expected: "a Parquet file that the package hyparquet reads",
    open: (file, signal) => open(file, all, signal),
  };
  return new Table<C>(format, path, rest);
}
