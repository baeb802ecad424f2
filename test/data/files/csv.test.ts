/** CSV files: rows, columns, types, and files that are refused. */
import { execFileSync } from "node:child_process";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice } from "../../device.ts";
import { listOf, temporaryFiles } from "./temporary-files.ts";

const { csv, streamLoader } = dx.data;

const { folder, fileOf } = temporaryFiles(".csv");
const rowsOf = async (content: string | Uint8Array, options: dx.data.CsvOptions = {}) => listOf(csv(await fileOf(content), options));
const errorOf = async (content: string | Uint8Array, options: dx.data.CsvOptions = {}): Promise<dx.io.FormatError> => {
  const error = await rowsOf(content, options).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(dx.io.FormatError);
  return error as dx.io.FormatError;
};

describe("rows", () => {
  test("types of the first rows; three passes", async () => {
    const set = csv(await fileOf("n,x,ok,name,big,zip\n1,2.5,true,a,9007199254740993,007\n-2,nan,FALSE,,1,123\n"));
    const rows = [
      { n: 1, x: 2.5, ok: true, name: "a", big: 9007199254740993n, zip: "007" },
      { n: -2, x: Number.NaN, ok: false, name: "", big: 1n, zip: "123" },
    ];
    for (let i = 0; i < 3; i++) expect(await listOf(set)).toEqual(rows);
    expect(await set.types()).toEqual({ n: "int32", x: "float32", ok: "bool", name: "string", big: "int64", zip: "string" });
  });

  test("columns state types, and give them to the rows", async () => {
    const path = await fileOf("name,age,score,id\nAda,36,1e3,18446744073709551615\nBob,,,0\n");
    const set = csv(pathToFileURL(path), {
      columns: { age: { type: "uint8", fill: 255 }, name: "string", score: "float64", id: "uint64" },
    });
    const rows = await listOf(set);
    expectTypeOf(rows).toEqualTypeOf<{ age: number; name: string; score: number; id: bigint }[]>();
    expect(rows).toEqual([
      { age: 36, name: "Ada", score: 1000, id: 18446744073709551615n },
      { age: 255, name: "Bob", score: Number.NaN, id: 0n },
    ]);
    expectTypeOf(await listOf(csv(path))).toEqualTypeOf<{ [name: string]: string | number | bigint | boolean }[]>();
  });

  test.each([
    ["LF", "\n"],
    ["CRLF", "\r\n"],
    ["CR", "\r"],
  ])("quotes and line ends: %s", async (_, end) => {
    const text = ["\ufeffa,b", '"1, 2","say ""hi"""', "", `"two${end}lines",é`].join(end);
    const rows = [{ a: "1, 2", b: 'say "hi"' }, { a: `two${end}lines`, b: "é" }]; // prettier-ignore
    expect(await rowsOf(text)).toEqual(rows);
    expect(await rowsOf(text + end)).toEqual(rows);
    expect(await rowsOf(gzipSync(text))).toEqual(rows);
    // Two members, as cat makes them.
    expect(await rowsOf(Buffer.concat([gzipSync(text.slice(0, 9)), gzipSync(text.slice(9))]))).toEqual(rows);
  });

  test("delimiter, quote, comment, header, missing", async () => {
    expect(await rowsOf("# made\na;'b;c'\n#no\n1;NA\n2;3\n", { delimiter: ";", quote: "'", comment: "#", missing: ["NA"] })).toEqual([
      { a: 1, "b;c": Number.NaN },
      { a: 2, "b;c": 3 },
    ]);
    expect(await rowsOf('1\t"2\n', { delimiter: "\t", quote: null, header: false })).toEqual([{ column0: 1, column1: '"2' }]);
    expect(await rowsOf("1,2\n", { header: ["x", "y"] })).toEqual([{ x: 1, y: 2 }]);
    expect(await rowsOf("1,2\n", { header: false, columns: { x: "float32", y: "string" } })).toEqual([{ x: 1, y: "2" }]);
    expect(await rowsOf("x,y\n1,2\n", { columns: { y: "string" } })).toEqual([{ y: "2" }]);
  });

  test("integers that a float would round stay what they are, or are errors", async () => {
    const typeOf = async (text: string): Promise<unknown> => (await csv(await fileOf(text)).types()) as unknown;
    expect(await typeOf("a,b\n9007199254740993,1\n1,2\n")).toEqual({ a: "int64", b: "int32" });
    expect(await typeOf("a\n18446744073709551615\n1\n")).toEqual({ a: "uint64" });
    expect(await typeOf("a\n99999999999999999999999\n")).toEqual({ a: "string" });
    expect(await typeOf("a,b\n,1\n16777217,2\n")).toEqual({ a: "float64", b: "int32" }); // float64 has them all
    const gap = "a,b\n9007199254740993,1\n,2\n";
    expect(await typeOf(gap)).toEqual({ a: "int64", b: "int32" });
    expect((await errorOf(gap)).line).toBe(3); // a missing integer
    expect((await errorOf("a\n0.5\n16777217\n", { inferRows: 1 })).line).toBe(3);
    expect((await errorOf("a\n0.5\n9007199254740993\n")).received).toMatch(/9007199254740993/);
    const stated = csv(await fileOf("a\n16777217\n"), { columns: { a: "float32" } });
    for await (const { a } of stated.batches({ batchSize: 1 })) expect(await a.toArray()).toEqual([16777216]);
  });

  test("no rows, one row, one column, NUL bytes, rows beyond those that types are inferred from", async () => {
    expect(await rowsOf("a,b\n")).toEqual([]);
    expect(await rowsOf("", { header: ["a"] })).toEqual([]);
    expect(await rowsOf("a\n1")).toEqual([{ a: 1 }]);
    expect(await rowsOf("a\nx\0y\n")).toEqual([{ a: "x\0y" }]);
    expect((await rowsOf(`a\n${"1\n".repeat(2500)}`)).length).toBe(2500);
    expect((await errorOf(`a\n${"1\n".repeat(3)}x\n`, { inferRows: 3 })).hint).toMatch(/raise inferRows/);
  });

  test("missing integers make a float column, wide ones float64", async () => {
    const typesOf = async (text: string) => csv(await fileOf(text)).types();
    expect(await typesOf("a,b,c,d,e\n1,20000000,true,,1e39\n,,,,\n")).toEqual({
      a: "float32",
      b: "float64",
      c: "string",
      d: "float32",
      e: "float64",
    });
    expect(await typesOf("a\n99999999999999999999\n")).toEqual({ a: "string" });
  });

  test("UTF-8 and CRLF across pieces", async () => {
    const rows = Array.from({ length: 12_000 }, (_, i) => ({ a: i, b: `größe€😀${"é".repeat(i % 23)}` }));
    const text = `a,b\r\n${rows.map(({ a, b }) => `${a},${b}\r\n`).join("")}`;
    const seen: number[] = [];
    const path = await fileOf(text);
    expect(await listOf(csv(path, { onProgress: ({ bytes, totalBytes }) => seen.push(bytes / totalBytes!) }))).toEqual(rows);
    expect(seen.length).toBeGreaterThan(1);
    expect(seen.at(-1)).toBe(1);
  });

  test.skipIf(process.platform === "win32")("a pipe that gives byte by byte", async () => {
    const path = join(folder(), "pipe");
    execFileSync("mkfifo", [path]);
    const writer = createWriteStream(path);
    const rows = listOf(csv(path));
    for (const byte of gzipSync("a,b\n1,é\n")) writer.write(Buffer.of(byte));
    writer.end();
    expect(await rows).toEqual([{ a: 1, b: "é" }]);
  });

  test("parts share the rows", async () => {
    const path = await fileOf(`a\n${Array.from({ length: 7 }, (_, i) => `${i}\n`).join("")}`);
    const parts = await Promise.all([0, 1, 2].map((index) => listOf(csv(path, { part: { index, count: 3 } }))));
    expect(parts.map((rows) => rows.map(({ a }) => a))).toEqual([[0, 3, 6], [1, 4], [2, 5]]); // prettier-ignore
  });

  test("a pass that ends early, and a signal", async () => {
    const path = await fileOf(`a\n${"1\n".repeat(40_000)}`);
    for await (const row of csv(path)) {
      expect(row).toEqual({ a: 1 });
      break;
    }
    const stop = new AbortController();
    const reading = listOf(csv(path, { signal: stop.signal, onProgress: () => stop.abort(new Error("enough")) }));
    await expect(reading).rejects.toThrow("enough");
    await expect(listOf(csv(path, { signal: AbortSignal.abort(new Error("before")) }))).rejects.toThrow("before");
  });
});

eachDevice("batches of columns", (device) => {
  const text = "x,id,ok,name\n1.5,1,true,a\n2.5,2,false,b\n3.5,3,true,c\n";

  test("tensors of the columns' dtypes, and lists of text", () =>
    clean(device, async () => {
      const set = csv(await fileOf(text), { columns: { x: "float32", id: "int64", ok: "bool", name: "string" } });
      const batches = await listOf(set.batches({ batchSize: 2 }));
      expectTypeOf(batches).toEqualTypeOf<{ x: dx.Tensor; id: dx.Tensor; ok: dx.Tensor; name: string[] }[]>();
      expect(batches.map(({ x, id, ok, name }) => [x.toArraySync(), id.toArraySync(), ok.toArraySync(), name])).toEqual([
        [
          [1.5, 2.5],
          [1n, 2n],
          [true, false],
          ["a", "b"],
        ],
        [[3.5], [3n], [true], ["c"]],
      ]);
      expect(batches[0]!.id.dtype).toBe("int64");
      for (const { x, id, ok } of batches) for (const t of [x, id, ok]) t.dispose();
    }));

  test("a loader resumes where it was", () =>
    clean(device, async () => {
      const set = csv(await fileOf(text));
      const loader = set.batches({ batchSize: 1 });
      const names: unknown[] = [];
      for await (const { name, x, id, ok } of loader) {
        names.push(name);
        for (const t of [x, id, ok]) (t as dx.Tensor).dispose();
        break;
      }
      const resumed = set.batches({ batchSize: 1, dropLast: true });
      resumed.loadStateDict(loader.stateDict());
      for await (const { name, x, id, ok } of resumed) {
        names.push(name);
        for (const t of [x, id, ok]) (t as dx.Tensor).dispose();
      }
      expect(names).toEqual([["a"], ["b"], ["c"]]);
    }));

  test("rows of numbers as batches of a streamLoader", () =>
    clean(device, async () => {
      const set = csv(await fileOf(text), { columns: { x: "float32", id: "int32" } });
      for await (const { x, id } of streamLoader(set, { batchSize: 3 })) {
        expect([x.dtype, id.dtype, x.toArraySync(), id.toArraySync()]).toEqual(["float32", "int32", [1.5, 2.5, 3.5], [1, 2, 3]]);
        x.dispose();
        id.dispose();
      }
    }));
});

describe("files that are refused, by line", () => {
  test.each<[string, string, number, RegExp, dx.data.CsvOptions?]>([
    ["a short record", "a,b\n1,2\n\n3\n", 4, /2 fields; received 1/],
    ["a long record", 'a,b\n"1\n2",2\n3,4,5\n', 4, /2 fields; received 3/],
    ["a short record among many", `a,b\n${"1,2\n".repeat(3000)}3\n`, 3002, /2 fields/],
    ["a quote that is not closed", 'a,b\n1,"2\n3,4\n', 3, /not closed/],
    ["text behind a quote", 'a,b\n1,"2"3\n', 2, /behind a closing quote/],
    ["a quote inside a field", 'a,b\n1,2"3"\n', 2, /a quote inside/],
    ["text in a column of integers", "a\n1\nx\n", 3, /int32 in column "a".*"x"/, { columns: { a: "int32" } }],
    ["a fraction in a column of integers", "a\n1.5\n", 2, /"1\.5"/, { columns: { a: "int32" } }],
    ["an integer out of range", "a\n256\n", 2, /uint8/, { columns: { a: "uint8" } }],
    ["a 64-bit integer out of range", "a\n9223372036854775808\n", 2, /int64/, { columns: { a: "int64" } }],
    ["very many digits", `a\n${"9".repeat(100_000)}\n`, 2, /int64/, { columns: { a: "int64" } }],
    ["a float out of range", "a\n1e39\n", 2, /float32/, { columns: { a: "float32" } }],
    ["a huge exponent", "a\n1e999\n", 2, /float64/, { columns: { a: "float64" } }],
    ["hexadecimal digits", "a\n0x10\n", 2, /"0x10"/, { columns: { a: "float32" } }],
    ["a name of Object's", "a\nconstructor\n", 2, /bool/, { columns: { a: "bool" } }],
    ["a missing integer", "a,b\n1,2\n,3\n", 3, /a missing value/, { columns: { a: "int32" } }],
    ["a column twice", "a,a\n1,2\n", 1, /"a" twice/],
    ["a column __proto__", "__proto__\n1\n", 1, /__proto__/],
    ["a record that is too long", `a\n${"x".repeat(2000)}\n`, 2, /too long/, { maxRecordBytes: 1000 }],
  ])("%s", async (_, text, line, message, options) => {
    for (const content of [text, gzipSync(text)]) {
      const error = await errorOf(content, options);
      expect(error.message).toMatch(message);
      expect(error.line).toBe(line);
      expect(error.message).toContain(`.csv:${line} `);
    }
  });

  test.each<[string, string | Uint8Array, RegExp, dx.data.CsvOptions?]>([
    ["nothing", "", /a header; received an empty one/],
    ["bytes that are no UTF-8", Buffer.from("a\n\xe9\n", "latin1"), /UTF-8 text/],
    ["half a character at the end", Buffer.from("a\né").subarray(0, 3), /inside of a character/],
    ["UTF-16", Buffer.from("\ufeffa,b\n1,2\n", "utf16le"), /UTF-8/],
    ["a cut gzip file", gzipSync("a\n1\n".repeat(100)).subarray(0, -9), /a whole gzip file/],
    ["a damaged gzip file", gzipSync("a\n1\n").fill(0xff, 10, 14), /a whole gzip file/],
    ["a column that is not there", "a,b\n1,2\n", /a column "c".*a, b/, { columns: { c: "string" } }],
  ])("%s", async (_, content, message, options) => {
    const error = await errorOf(content, options);
    expect(error.message).toMatch(message);
    expect(error.line).toBe(null);
  });

  test("folders, files that are not there, arguments", async () => {
    await expect(listOf(csv(folder()))).rejects.toThrow(/a folder/);
    await expect(listOf(csv(join(folder(), "none.csv")))).rejects.toThrow(dx.io.FormatError);
    for (const options of [
      { delimiter: "" },
      { delimiter: "\n" },
      { quote: "''" },
      { comment: "" },
      { inferRows: 0 },
      { maxRecordBytes: 1.5 },
      { part: { index: 1, count: 1 } },
      { part: { index: 0, count: 0 } },
      { columns: { a: "float16" } },
      { columns: { a: null } },
    ])
      expect(() => csv("x.csv", options as never)).toThrow(dx.DxError);
    expect(() => csv(1 as never)).toThrow(dx.DTypeError);
    expect(() => csv(new URL("http://example.com/a.csv"))).toThrow(dx.ValueError);
    // @ts-expect-error no such type
    expect(() => csv("x.csv", { columns: { a: "int" } })).toThrow(dx.ValueError);
  });
});
