/** JSON Lines files: rows, what is refused, and workers. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { describe, expect, expectTypeOf, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { listOf, temporaryFiles } from "./temporary-files.ts";

const { jsonLines, streamLoader } = dx.data;

const { folder, fileOf } = temporaryFiles(".jsonl");
const rowsOf = async (content: string | Uint8Array, options: dx.data.JsonLinesOptions<unknown> = {}) =>
  listOf(jsonLines(await fileOf(content), options));

describe("rows", () => {
  test("values of any kind, line ends, empty lines, a BOM, gzip; three passes", async () => {
    const text = '\ufeff{"a":1,"b":"é"}\r\n\n  \n[1,2]\nnull\n"x\\ny"\n1e999\n{"__proto__":{"a":1}}';
    const rows = [{ a: 1, b: "é" }, [1, 2], null, "x\ny", Infinity, JSON.parse('{"__proto__":{"a":1}}')];
    const set = jsonLines(await fileOf(text));
    for (let i = 0; i < 3; i++) expect(await listOf(set)).toEqual(rows);
    expect(await rowsOf(gzipSync(`${text}\n`))).toEqual(rows);
    expect(await rowsOf("")).toEqual([]);
    expect(await rowsOf("1")).toEqual([1]);
    expect(await listOf(jsonLines(pathToFileURL(await fileOf("2\n"))))).toEqual([2]);
  });

  test("characters and lines across pieces, progress", async () => {
    const rows = Array.from({ length: 9000 }, (_, i) => ({ i, text: `😀é${"€".repeat(i % 37)}` }));
    const seen: number[] = [];
    const text = rows.map((row) => JSON.stringify(row)).join("\n");
    expect(await rowsOf(text, { onProgress: ({ bytes, totalBytes }) => seen.push(bytes / totalBytes!) })).toEqual(rows);
    expect(seen.length).toBeGreaterThan(2);
    expect(seen.at(-1)).toBe(1);
  });

  test("types: stated, or those of parse", async () => {
    const path = await fileOf('{"x":1}\n{"x":2}\n');
    expectTypeOf(await listOf(jsonLines<{ x: number }>(path))).toEqualTypeOf<{ x: number }[]>();
    expectTypeOf(await listOf(jsonLines(path))).toEqualTypeOf<unknown[]>();
    const parsed = await listOf(jsonLines(path, { parse: (value, line) => (value as { x: number }).x * line }));
    expectTypeOf(parsed).toEqualTypeOf<number[]>();
    expect(parsed).toEqual([1, 4]);
  });

  test("batches of a streamLoader, which resume", async () => {
    const set = jsonLines<{ x: number }>(await fileOf('{"x":1}\n{"x":2}\n{"x":3}\n'));
    const loader = streamLoader(set, { batchSize: 2 });
    for await (const { x } of loader) {
      expect(await x.toArray()).toEqual([1, 2]);
      break;
    }
    const resumed = streamLoader(set, { batchSize: 2 });
    resumed.loadStateDict(loader.stateDict());
    for await (const { x } of resumed) expect(await x.toArray()).toEqual([3]);
  });

  test("workers share the rows", async () => {
    const module = join(folder(), "dataset.mjs");
    // The file that the bundled tests have too.
    const library = new URL("../../../dist/index.js", import.meta.url).href;
    await writeFile(module, `import { data } from ${JSON.stringify(library)};\nexport default data.jsonLines;`);
    const numbers = Array.from({ length: 11 }, (_, i) => i);
    const path = await fileOf(numbers.map((x) => JSON.stringify({ x })).join("\n"));
    const set = await dx.data.workerDataset<{ default(path: string): AsyncIterable<{ x: number }> }>(module, path);
    const all: number[] = [];
    for await (const { x } of streamLoader(set, { batchSize: 2, numWorkers: 2 })) all.push(...((await x.toArray()) as number[]));
    expect(all.sort((a, b) => a - b)).toEqual(numbers);
  });
});

describe("integers beyond 2^53", () => {
  const wide = "9007199254740993";
  test.each<[string, string, unknown]>([
    [
      "that a number would round are BigInts",
      `{"a":${wide},"b":[-${wide}, 18446744073709551615],"c":1}`,
      { a: 9007199254740993n, b: [-9007199254740993n, 2n ** 64n - 1n], c: 1 },
    ],
    ["a value of its own", wide, 9007199254740993n],
    ["of more digits than a number has", `[${"9".repeat(400)}]`, [10n ** 400n - 1n]],
    [
      "that a number has stay numbers",
      "[9007199254740992,10000000000000000000000,-9007199254740994,1700000000000000]",
      [2 ** 53, 1e22, -(2 ** 53) - 2, 1.7e15],
    ],
    [
      "in texts, names, fractions and exponents stay",
      `{"${wide}":", ${wide}","a\\\\":"\\"[${wide}","b":[0.${wide},1.0e-0000000000000000017,${wide}.0,${wide}e1]}`,
      { [wide]: `, ${wide}`, "a\\": `"[${wide}`, b: [0.9007199254740993, 1e-17, 2 ** 53, Number(`${wide}e1`)] },
    ],
    ["next to texts with NULs", `["\\u0000${wide}","\\u0000\\u0000",${wide}]`, [`\0${wide}`, "\0\0", 9007199254740993n]],
    ["next to __proto__", `{"__proto__":${wide}}`, JSON.parse('{"__proto__":1}', (_, v) => (v === 1 ? 9007199254740993n : v))],
  ])("%s", async (_, line, value) => {
    expect(await rowsOf(`${line}\n 1\n`)).toStrictEqual([value, 1]);
  });

  test("bigints makes integers of named members alike; without it a mixed batch is refused", async () => {
    const lines = `{"id":1,"n":1}\n{"id":${wide},"n":2}\n{"n":3}`;
    expect(await rowsOf(lines, { bigints: ["id"] })).toEqual([{ id: 1n, n: 1 }, { id: 9007199254740993n, n: 2 }, { n: 3 }]);
    expect(await rowsOf('{"a":[1,{"b":2,"c":0.5,"d":null}]}\n[1]\nnull', { bigints: ["a"] })).toEqual([
      { a: [1n, { b: 2n, c: 0.5, d: null }] },
      [1],
      null,
    ]);
    const path = await fileOf(lines.slice(0, lines.lastIndexOf("\n")));
    const batches = (options: object) => listOf(streamLoader(jsonLines<{ id: bigint; n: number }>(path, options), { batchSize: 2 }));
    const [batch] = await batches({ bigints: ["id"] });
    expect([await batch!.id.toArray(), await batch!.n.toArray()]).toEqual([
      [1n, 9007199254740993n],
      [1, 2],
    ]);
    await expect(batches({})).rejects.toThrow(/all alike \(a number\); received "?bigint/);
    expect(() => jsonLines(path, { bigints: "id" as never })).toThrow(dx.ValueError);
  });

  test("across the pieces of a file, at each byte", async () => {
    const size = 2 ** 18;
    for (let before = size - 24; before <= size + 1; before++) {
      const text = `{"s":"${"x".repeat(before - 7)}","id":${wide}}`;
      expect(((await rowsOf(`${text}\n{"id":1}`)) as { id: unknown }[]).map(({ id }) => id)).toEqual([9007199254740993n, 1]);
    }
    const long = `{"id":${wide},"s":"${"x".repeat(3 * size)}"}`;
    expect(await rowsOf(long)).toMatchObject([{ id: 9007199254740993n }]);
  });

  test("a batch of BigInts that int64 lacks is refused", () => {
    expect(() => dx.data.collate([1n, 2n ** 63n])).toThrow(/integers that int64 can represent/);
  });
});

describe("what is refused", () => {
  test.each<[string, string, number, RegExp]>([
    ["no JSON", '{"a":1}\n\nhello\n', 3, /a JSON value/],
    ["a cut value", '{"a":1}\n{"a":', 2, /a JSON value/],
    ["two values in a line", "1\n2 3\n", 2, /a JSON value/],
    ["CR alone between values", "1\r2\r", 1, /a JSON value/],
    ["NaN", "NaN\n", 1, /a JSON value/],
    ["NUL bytes", "1\n\0\n", 2, /a JSON value/],
    ["an array over several lines", "[\n1\n]\n", 1, /a JSON value/],
  ])("%s", async (_, text, line, message) => {
    for (const content of [text, gzipSync(text)]) {
      const error: unknown = await rowsOf(content).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(dx.io.FormatError);
      expect((error as dx.io.FormatError).message).toMatch(message);
      expect((error as dx.io.FormatError).line).toBe(line);
    }
  });

  test("what parse throws is the cause", async () => {
    const cause = new TypeError("no x");
    const parse = (value: unknown): number => {
      if (value === 2) throw cause;
      return 1;
    };
    await expect(rowsOf("1\n2\n", { parse })).rejects.toMatchObject({ line: 2, cause, message: expect.stringMatching(/no x/) });
  });

  test("long lines, other bytes than UTF-8, damaged gzip files, folders, arguments, signals", async () => {
    await expect(rowsOf(`1\n"${"x".repeat(100)}"\n`, { maxLineLength: 50 })).rejects.toMatchObject({ line: 2 });
    await expect(rowsOf(`1\n"${"x".repeat(100)}"`, { maxLineLength: 50 })).rejects.toThrow(/at most 50 characters/);
    await expect(rowsOf(Buffer.from('"é"', "latin1"))).rejects.toThrow(/UTF-8/);
    await expect(rowsOf(gzipSync("1\n2\n").subarray(0, 20))).rejects.toThrow(/a whole gzip file/);
    await expect(listOf(jsonLines(folder()))).rejects.toThrow(/a folder/);
    await expect(listOf(jsonLines(join(folder(), "none")))).rejects.toThrow(dx.io.FormatError);
    expect(() => jsonLines("x", { maxLineLength: 0 })).toThrow(dx.ValueError);
    expect(() => jsonLines("x", { part: { index: -1, count: 2 } })).toThrow(dx.ValueError);
    expect(() => jsonLines({} as never)).toThrow(dx.DTypeError);
    await expect(rowsOf("1\n", { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
  });
});
