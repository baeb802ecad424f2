/** Arrow's IPC files and streams by the package apache-arrow. The entry point `dxtensor/arrow`. */
import { openSource, type FilePath } from "../../host/source.ts";
import { FormatError } from "../../index.ts";
import { loadPeer } from "../peer.ts";
import { Table, type OpenTable, type RawGroup, type TableFormat, type TableOptions } from "../tables/file-table.ts";
import type { ColumnsOptions } from "../tables/types.ts";
import { rawColumn, typeOf, type ArrowType, type Vector } from "./vectors.ts";

export { Table, type TableBatchOptions, type TableOptions } from "../tables/file-table.ts";
export type { Cell, ColumnOptions, ColumnType, ColumnsOptions, TableBatch, TableRow } from "../tables/types.ts";

interface Schema {
  readonly fields: readonly { readonly name: string; readonly type: ArrowType }[];
}
interface RecordBatch {
  readonly numRows: number;
  getChild(name: string): Vector | null;
}
interface Reader extends AsyncIterable<RecordBatch> {
  readonly schema: Schema | undefined;
  open(): Promise<unknown>;
  cancel(): Promise<void>;
}
interface ArrowModule {
  readonly RecordBatchReader: { from(source: unknown): Promise<Reader> };
}

async function open(path: string): Promise<OpenTable> {
  const { RecordBatchReader } = await loadPeer<ArrowModule>("arrow", path, "apache-arrow", () => import("apache-arrow" as string));
  const { file, size } = await openSource("arrow", path);
  // The reader may have closed it.
  const close = (): Promise<void> => file.close().catch(() => {});
  try {
    const reader = await RecordBatchReader.from(size === null ? file.createReadStream() : file);
    await reader.open();
    const { schema } = reader;
    if (schema === undefined) throw new FormatError("arrow", path, "an Arrow file or stream with a schema", `${size ?? "a pipe of"} bytes`);
    return {
      columns: new Map(schema.fields.map(({ name, type }) => [name, typeOf(type)])),
      async *groups(names, [from, to], isMine): AsyncGenerator<RawGroup, void, undefined> {
        let next = 0;
        let group = 0;
        for await (const batch of reader) {
          const [start, end] = [Math.max(next, from), Math.min(next + batch.numRows, to)];
          if (start < end && isMine(group))
            yield { start, rows: end - start, columns: names.map((name) => rawColumn(batch.getChild(name)!, start - next, end - next)) };
          next += batch.numRows;
          group++;
          if (next >= to) return;
        }
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const format: TableFormat = { operation: "arrow", expected: "an Arrow file or stream that the package apache-arrow reads", open };

/**
 * The rows of an Arrow IPC file or stream (Feather 2 too) as a stream for streamLoader(), and by batches() as columns. The file is read record batch by
 * record batch; numbers without missing values go to the device from the file's own bytes. Integers, floats and bools become tensors of their dtype (int64
 * exactly); float16 becomes float32; dates, times and timestamps int32 or int64, in the file's unit; text and dictionaries of it a list. Nested columns
 * and decimals are refused by name.
 *
 * path: text or a file: URL, of a file or of a pipe. Throws ValueError for options out of their range; a pass throws FormatError, and MissingPackageError
 * without the package apache-arrow. pyarrow's names: ipc.open_file, ipc.open_stream.
 */
export const arrow = <const C extends ColumnsOptions = ColumnsOptions>(path: FilePath, options: TableOptions<C> = {}): Table<C> =>
  new Table<C>(format, path, options);
