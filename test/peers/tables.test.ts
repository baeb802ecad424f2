/** Parquet and Arrow files: the same tables, written by pyarrow, through the same interface. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { arrow } from "../../src/peers/arrow/index.ts";
import { parquet, type ColumnsOptions, type Table, type TableOptions } from "../../src/peers/parquet/index.ts";

const recorded = (name: string): URL => new URL(`tables/${name}`, import.meta.url);
const formats = {
  parquet: { open: parquet, ending: "parquet" },
  "arrow file": { open: arrow, ending: "arrow" },
  "arrow stream": { open: arrow, ending: "arrows" },
} as const;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-tables-"));
});
afterAll(() => rm(folder, { recursive: true }));

const rowsOf = async <T>(table: AsyncIterable<T>): Promise<T[]> => {
  const rows: T[] = [];
  for await (const row of table) rows.push(row);
  return rows;
};
const errorOf = async (promise: Promise<unknown>): Promise<dx.FormatError> => (await promise.catch((e: unknown) => e)) as dx.FormatError;
const count = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

describe.each(Object.entries(formats))("%s", (_, { open, ending }) => {
  const table = <const C extends ColumnsOptions = ColumnsOptions>(name: string, options: TableOptions<C> = {}): Table<C> =>
    (open as typeof arrow)(recorded(`${name}.${ending}`), options);

  it("has the types and values of all columns", async () => {
    const all = table("numbers");
    expect(await all.types()).toEqual({
      i8: "int8",
      u16: "uint16",
      i32: "int32",
      i64: "int64",
      u64: "uint64",
      f32: "float32",
      f64: "float64",
      flag: "bool",
      name: "string",
      kind: "string",
      bytes: "binary",
      time: "int64",
      day: "int32",
    });
    for (let pass = 0; pass < 3; pass++) {
      const rows = await rowsOf(all);
      expect(rows).toHaveLength(10);
      expect(rows[0]).toEqual({
        i8: -5,
        u16: 65526,
        i32: 0,
        i64: 2n ** 53n + 1n,
        u64: 2n ** 64n - 1n,
        f32: 0,
        f64: 0,
        flag: true,
        name: "näme 0",
        kind: "a",
        bytes: Uint8Array.of(0, 255),
        time: BigInt(Date.UTC(2026, 0, 1)) * 1000n,
        day: 0,
      });
      expect(rows[9]).toMatchObject({ i8: 4, i64: 7n, f32: 2.25, f64: 3, flag: true, name: "näme 9", kind: "a", day: 9 });
    }
  });

  it("gives batches across groups, and resumes inside a pass", async () => {
    const options = { columns: { i64: "int64", f64: "float32", flag: "bool", name: "string" } } as const;
    const loader = table("numbers", options).batches({ batchSize: 3, device: "cpu" });
    const shapes: unknown[] = [];
    let state: dx.data.LoaderState | undefined;
    for await (const { i64, f64, flag, name } of loader) {
      shapes.push([i64.dtype, f64.dtype, flag.dtype, i64.shape[0], name.length]);
      if (shapes.length === 1) expect([await i64.toArray(), name[2]]).toEqual([[2n ** 53n + 1n, -(2n ** 63n), 0n], "näme 2"]);
      if (shapes.length === 2) state = loader.stateDict();
    }
    expect(shapes).toEqual([3, 3, 3, 1].map((n) => ["int64", "float32", "bool", n, n]));
    const resumed = table("numbers", options).batches({ batchSize: 3, dropLast: true, device: "cpu" });
    resumed.loadStateDict(state!);
    const left = await rowsOf(resumed);
    expect(left.map(({ name }) => name)).toEqual([["näme 6", "näme 7", "näme 8"]]);
  });

  it("reads ranges of rows and parts of groups", async () => {
    const values = async (options: TableOptions): Promise<unknown[]> =>
      (await rowsOf(table("numbers", { columns: { i32: "int32" }, ...options } as never) as AsyncIterable<{ i32: number }>)).map(
        (r) => r.i32,
      );
    expect(await values({ rows: [3, 9] })).toEqual([3, 4, 5, 6, 7, 8]);
    expect(await values({ rows: [9, Infinity] })).toEqual([9]);
    expect(await values({ rows: [4, 4] })).toEqual([]);
    expect(await values({ rows: [20, 30] })).toEqual([]);
    expect(await values({ part: { index: 0, count: 2 } })).toEqual([0, 1, 2, 3, 8, 9]);
    expect(await values({ part: { index: 1, count: 2 } })).toEqual([4, 5, 6, 7]);
  });

  it("names the column and row of a missing value, or fills it", async () => {
    const message = (await errorOf(rowsOf(table("nulls")))).message;
    expect(message).toContain(
      `nulls.${ending} must be values of int32 in column "i32"; received a missing value in row 1. State what it becomes`,
    );
    const filled = table("nulls", {
      columns: {
        i32: { type: "int32", fill: -1 },
        i64: { fill: 7n },
        f32: { type: "float32", fill: NaN },
        flag: { fill: false },
        name: "string",
      },
    });
    expect(await rowsOf(filled)).toEqual([
      { i32: 1, i64: 7n, f32: 0.5, flag: true, name: "a" },
      { i32: -1, i64: 2n, f32: NaN, flag: false, name: null },
      { i32: 3, i64: 3n, f32: 2.5, flag: false, name: "c" },
    ]);
    expect(await rowsOf(table("nulls", { columns: { name: { type: "string", fill: "" } } }))).toContainEqual({ name: "" });
  });

  it("refuses nested columns by name, and values that a type cannot represent", async () => {
    for (const name of ["list", "struct", "huge"]) {
      const message = (await errorOf(table("odd", { columns: { [name]: {} } }).types())).message;
      expect(message).toContain(`odd.${ending} must be a file with numbers, texts or bytes in column "${name}"; received `);
    }
    expect(await rowsOf(table("odd", { columns: { x: "float64" } }))).toEqual([{ x: 1 }, { x: 2 }]);
    if (ending === "parquet")
      expect(await rowsOf(table("odd", { columns: { price: "float64" } }))).toEqual([{ price: 1.25 }, { price: -2.5 }]);
    expect((await errorOf(rowsOf(table("numbers", { columns: { i64: "int32" } })))).message).toContain(
      'values of int32 in column "i64"; received 9007199254740993 in row 0',
    );
    for (const type of ["float64", "float32"] as const)
      expect((await errorOf(rowsOf(table("numbers", { columns: { i64: type } })))).message).toContain(
        `values of ${type} in column "i64"; received 9007199254740993 in row 0`,
      );
    expect(await rowsOf(table("nulls", { columns: { i64: { type: "float32", fill: NaN } } }))).toEqual([
      { i64: NaN },
      { i64: 2 },
      { i64: 3 },
    ]);
    expect((await errorOf(rowsOf(table("numbers", { columns: { i8: "uint8" } })))).message).toContain("received -5 in row 0");
    expect((await errorOf(rowsOf(table("numbers", { columns: { name: "int32" } })))).message).toContain(
      'a file with int32 in column "name"; received string',
    );
    expect((await errorOf(rowsOf(table("numbers", { columns: { other: {} } })))).message).toContain(
      'a file with a column "other"; received i8,',
    );
  });

  it("reads tables without rows", async () => {
    expect(await rowsOf(table("empty"))).toEqual([]);
    expect(await table("empty").types()).toEqual({ i32: "int32", name: "string" });
    expect(await rowsOf(table("empty").batches({ batchSize: 3 }))).toEqual([]);
  });

  it("names files that are cut off, of another format, or not there", async () => {
    const bytes = await readFile(recorded(`numbers.${ending}`));
    const path = join(folder, `cut.${ending}`);
    for (const part of [bytes.subarray(0, bytes.length - 100), Buffer.from("no table at all")]) {
      await writeFile(path, part);
      const error = await errorOf(rowsOf((open as typeof arrow)(path)));
      expect(error).toBeInstanceOf(dx.FormatError);
      expect(error.message).toContain(`${path} must be `);
    }
    expect((await errorOf(rowsOf((open as typeof arrow)(join(folder, "none"))))).message).toContain(
      "a file that can be read; received ENOENT",
    );
    expect(await errorOf(rowsOf((open as typeof arrow)(folder)))).toBeInstanceOf(dx.FormatError);
  });

  it("refuses wrong options, and ends with its signal", async () => {
    const wrong: [TableOptions, RegExp][] = [
      [{ columns: {} }, /columns must be at least one column/],
      [{ columns: { i32: "float16" as never } }, /columns\.i32 must be one of bool, int8/],
      [{ rows: [3, 1] }, /rows must be \[from, to\]/],
      [{ part: { index: 2, count: 2 } }, /part must be/],
    ];
    for (const [options, text] of wrong) expect(() => table("numbers", options)).toThrow(text);
    expect(() => table("numbers").batches({ batchSize: 0 })).toThrow(dx.ValueError);
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      for await (const _row of table("numbers", { signal: controller.signal })) controller.abort();
    };
    expect((await errorOf(read())).name).toBe("AbortError");
    await expect(rowsOf(table("numbers", { signal: AbortSignal.abort() }))).rejects.toThrow(/abort/);
  });
});

describe("parquet", () => {
  it("takes no row groups, and other compressions", async () => {
    expect(await rowsOf(parquet(recorded("groupless.parquet")))).toEqual([]);
    for (const codec of ["none", "gzip", "brotli"]) {
      const rows = await rowsOf(parquet(recorded(`${codec}.parquet`), { columns: { i32: "int32", name: "string" } }));
      expect(rows).toEqual(count(10).map((i) => ({ i32: i, name: `näme ${i}` })));
    }
    const packed = { ZSTD: () => { throw new RangeError("no zstd here"); } }; // prettier-ignore
    const error = await errorOf(rowsOf(parquet(recorded("zstd.parquet"), { compressors: packed })));
    expect([error.name, (error.cause as Error).message]).toEqual(["FormatError", "no zstd here"]);
  });
});

it("workers read the groups of their part", async () => {
  const path = join(folder, "numbers.parquet");
  await cp(recorded("numbers.parquet"), path);
  const module = join(folder, "dataset.mjs");
  const bundle = fileURLToPath(new URL("../../dist/bundle/parquet.js", import.meta.url));
  await writeFile(
    module,
    `import { parquet } from ${JSON.stringify(bundle)};\nexport default (path) => parquet(path, { columns: { i32: "int32" } });\n`,
  );
  interface Module {
    default(path: string): AsyncIterable<{ i32: number }>;
  }
  const set = await dx.data.workerDataset<Module>(module, path);
  const batches = await rowsOf(dx.data.streamLoader(set, { batchSize: 4, numWorkers: 2, device: "cpu" }));
  expect(await Promise.all(batches.map(({ i32 }) => i32.toArray()))).toEqual([[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]); // prettier-ignore
});
