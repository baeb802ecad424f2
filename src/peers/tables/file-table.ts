/** Tables in files: rows as a stream, and batches of columns, from one group of rows of the file after the other. */
import { FormatError, ValueError, data, scope, tensor, type DType, type Tensor } from "../../index.ts";
import type { TypedArray } from "../../core/dtype.ts";
import { dataWorker } from "../../host/data-worker.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { peerError } from "../peer.ts";
import {
  COLUMN_TYPES,
  cellOf,
  columnIn,
  type ColumnOptions,
  type ColumnType,
  type ColumnsOptions,
  type HostColumn,
  type RawColumn,
  type TableBatch,
  type TableRow,
} from "./types.ts";

/** Options of tables in files. */
export interface TableOptions<C extends ColumnsOptions = ColumnsOptions> {
  /** The columns that are read, with their types or { type, fill }. Default: all, with the file's types. */
  readonly columns?: C | undefined;
  /** The rows that are read, from the first to before the last: [from, to]. Default: all. */
  readonly rows?: readonly [from: number, to: number] | undefined;
  /** Every count-th group of rows of the file, from `index` on. Default: in a worker of a loader those of its part (getWorkerInfo), else all. */
  readonly part?: { readonly index: number; readonly count: number } | undefined;
  /** Ends a pass: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of batches(): those of streamLoader() that have no say in how a batch is made. */
export interface TableBatchOptions extends Pick<data.StreamLoaderOptions<unknown, unknown>, "dropLast" | "prefetch" | "device"> {
  /** Rows in a batch. Default: 1. */
  readonly batchSize?: number | undefined;
}

/** @internal Rows of a file that lie together. */
export interface RawGroup {
  /** The first row's index in the file. */
  readonly start: number;
  readonly rows: number;
  /** In the order of the names that were asked for. */
  readonly columns: readonly RawColumn[];
}

/** @internal A file that is open. */
export interface OpenTable {
  /** The type of each column, or why it cannot be read. */
  readonly columns: ReadonlyMap<string, ColumnType | { readonly refused: string }>;
  /** Groups that have rows in the range. */
  groups(names: readonly string[], range: readonly [number, number], isMine: (group: number) => boolean): AsyncIterable<RawGroup>;
  close(): Promise<void>;
}

/** @internal What tells formats apart. */
export interface TableFormat {
  readonly operation: string;
  /** What reads after "must be". */
  readonly expected: string;
  open(path: string, signal: AbortSignal | undefined): Promise<OpenTable>;
}

interface Field {
  readonly name: string;
  readonly type: ColumnType;
  readonly fill: ColumnOptions["fill"];
  /** Whether the file has integers in it. */
  readonly isInteger: boolean;
}
interface HostGroup {
  readonly rows: number;
  readonly columns: readonly HostColumn[];
}

const partsOf = (column: ColumnType | ColumnOptions): ColumnOptions => (typeof column === "object" ? column : { type: column });
const isCount = (value: unknown, least: number): boolean => Number.isInteger(value) && (value as number) >= least;

/** Parts of a column one after the other. */
function joined(parts: readonly HostColumn[]): HostColumn {
  const first = parts[0]!;
  if (parts.length === 1) return first;
  if (Array.isArray(first)) return (parts as readonly (readonly string[])[]).flat();
  const arrays = parts as readonly TypedArray[];
  const all = new (first.constructor as new (length: number) => TypedArray)(arrays.reduce((n, a) => n + a.length, 0));
  let at = 0;
  for (const array of arrays) {
    all.set(array as never, at);
    at += array.length;
  }
  return all;
}

const cut = (column: HostColumn, from: number, to: number): HostColumn =>
  Array.isArray(column) ? column.slice(from, to) : (column as TypedArray).subarray(from, to);

/** A table in a file: its rows as a stream, each pass over which reads the file again, group by group. */
export class Table<const C extends ColumnsOptions = ColumnsOptions> implements AsyncIterable<TableRow<C>> {
  /** The file. */
  readonly path: string;
  readonly #format: TableFormat;
  readonly #options: TableOptions<C>;

  /** @internal */
  constructor(format: TableFormat, path: FilePath, options: TableOptions<C>) {
    const { operation } = format;
    const { columns, rows, part } = options;
    if (columns !== undefined && Object.keys(columns).length === 0)
      throw new ValueError(operation, "columns", "at least one column", columns);
    for (const [name, column] of Object.entries(columns ?? {})) {
      const { type } = partsOf(column);
      if (type !== undefined && !COLUMN_TYPES.includes(type))
        throw new ValueError(operation, `columns.${name}`, `one of ${COLUMN_TYPES.join(", ")}`, type);
    }
    if (rows !== undefined && !(rows.length === 2 && isCount(rows[0], 0) && (rows[1] === Infinity || isCount(rows[1], rows[0]))))
      throw new ValueError(operation, "rows", "[from, to] with from at most to", rows);
    if (part !== undefined && !(isCount(part.count, 1) && isCount(part.index, 0) && part.index < part.count))
      throw new ValueError(operation, "part", "an index below a count of at least 1", part);
    this.path = pathOf(operation, "path", path);
    this.#format = format;
    this.#options = options;
  }

  /** The columns' types, as stated or as the file has them. Throws as a pass does. */
  async types(): Promise<{ readonly [Name in keyof C & string]: ColumnType }> {
    return this.#whileOpen((table) => Object.fromEntries(this.#fieldsOf(table).map(({ name, type }) => [name, type])) as never);
  }

  /**
   * The rows in order. Throws FormatError, with the column and the row, for a missing value of a number without `fill` and for a value that its type cannot
   * represent; for a nested column, by its name; for a file that is damaged or cut off; MissingPackageError without the package.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TableRow<C>, void, undefined> {
    for await (const { rows, columns, fields } of this.#groups())
      for (let row = 0; row < rows; row++)
        yield Object.fromEntries(fields.map(({ name, type }, i) => [name, cellOf(type, columns[i]!, row)])) as TableRow<C>;
  }

  /**
   * A loader of batches of columns: a tensor [rows] of each column of numbers, a list of each of texts or bytes. It has all of a StreamLoader; it counts
   * batches, so that its own batchSize is 1.
   */
  batches(options: TableBatchOptions = {}): data.StreamLoader<TableBatch<C>, TableBatch<C>> {
    const { batchSize = 1, dropLast = false, ...rest } = options;
    if (!isCount(batchSize, 1)) throw new ValueError(this.#format.operation, "batchSize", "an integer of at least 1", batchSize);
    const stream = { [Symbol.asyncIterator]: () => this.#hostBatches(batchSize, dropLast) };
    const collateFn = ([batch]: readonly HostBatch[]): TableBatch<C> => scope(() => tensorsOf(batch!) as TableBatch<C>);
    return data.streamLoader<HostBatch, TableBatch<C>>(stream, { ...rest, collateFn }) as never;
  }

  async *#hostBatches(size: number, dropLast: boolean): AsyncGenerator<HostBatch, void, undefined> {
    let fields: readonly Field[] = [];
    let waiting: (readonly HostColumn[])[] = [];
    let rows = 0;
    const made = (): HostBatch => ({ fields, columns: fields.map((_, i) => joined(waiting.map((columns) => columns[i]!))) });
    for await (const group of this.#groups()) {
      fields = group.fields;
      for (let at = 0; at < group.rows;) {
        const take = Math.min(size - rows, group.rows - at);
        waiting.push(group.columns.map((column) => cut(column, at, at + take)));
        at += take;
        rows += take;
        if (rows < size) continue;
        yield made();
        waiting = [];
        rows = 0;
      }
    }
    if (rows > 0 && !dropLast) yield made();
  }

  async #whileOpen<T>(use: (table: OpenTable) => T): Promise<T> {
    const table = await this.#open();
    try {
      return use(table);
    } finally {
      await table.close();
    }
  }

  async #open(): Promise<OpenTable> {
    const { operation, expected } = this.#format;
    const { signal } = this.#options;
    signal?.throwIfAborted();
    try {
      return await this.#format.open(this.path, signal);
    } catch (error) {
      throw signal?.aborted === true ? error : peerError(operation, this.path, expected, error);
    }
  }

  #fieldsOf({ columns }: OpenTable): readonly Field[] {
    const { operation } = this.#format;
    const wanted: ColumnsOptions = this.#options.columns ?? Object.fromEntries([...columns.keys()].map((name) => [name, {}]));
    return Object.entries(wanted).map(([name, column]) => {
      const { type, fill } = partsOf(column);
      const own = columns.get(name);
      if (own === undefined)
        throw new FormatError(operation, this.path, `a file with a column "${name}"`, [...columns.keys()].join(", ").slice(0, 200));
      if (typeof own === "object")
        throw new FormatError(
          operation,
          this.path,
          `a file with numbers, texts or bytes in column "${name}"`,
          own.refused,
          "Name the columns to read: columns.",
        );
      const isList = (t: ColumnType): boolean => t === "string" || t === "binary";
      if (type !== undefined && type !== own && (isList(type) || isList(own)))
        throw new FormatError(operation, this.path, `a file with ${type} in column "${name}"`, own);
      return { name, type: type ?? own, fill, isInteger: /^u?int/.test(own) };
    });
  }

  async *#groups(): AsyncGenerator<HostGroup & { readonly fields: readonly Field[] }, void, undefined> {
    const { operation, expected } = this.#format;
    const { rows: range = [0, Infinity], signal } = this.#options;
    const worker = dataWorker();
    const { index, count } = this.#options.part ?? { index: worker?.id ?? 0, count: worker?.numWorkers ?? 1 };
    const table = await this.#open();
    try {
      const fields = this.#fieldsOf(table);
      const names = fields.map(({ name }) => name);
      for await (const { start, rows, columns } of table.groups(names, range, (group) => group % count === index)) {
        signal?.throwIfAborted();
        const site = { operation, path: this.path, start };
        yield {
          fields,
          rows,
          columns: fields.map(({ name, type, fill, isInteger }, i) => columnIn(type, columns[i]!, fill, { ...site, name }, isInteger)),
        };
      }
    } catch (error) {
      throw signal?.aborted === true ? error : peerError(operation, this.path, expected, error);
    } finally {
      await table.close();
    }
  }
}

interface HostBatch {
  readonly fields: readonly Field[];
  readonly columns: readonly HostColumn[];
}

const tensorsOf = ({ fields, columns }: HostBatch): { [name: string]: Tensor | HostColumn } =>
  Object.fromEntries(
    fields.map(({ name, type }, i) => {
      const column = columns[i]!;
      return [name, Array.isArray(column) ? column : tensor(column as TypedArray, { dtype: type as DType })];
    }),
  );
