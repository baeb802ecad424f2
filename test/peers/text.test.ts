/** Tokens as Python's tokenizers package makes them, padded batches, and blocks. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { loadTokenizer, tokenBlocks, tokenLines, type Tokenizer } from "../../src/peers/text/index.ts";

const recorded = (name: string): URL => new URL(`text/${name}`, import.meta.url);
interface Case {
  readonly text: string;
  readonly plain: number[];
  readonly whole: number[];
  readonly cut: number[];
}
const cases = JSON.parse(await readFile(recorded("expected.json"), "utf8")) as Case[];

let folder: string;
let tokenizer: Tokenizer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-text-"));
  tokenizer = await loadTokenizer(recorded("tokenizer.json"));
});
afterAll(() => rm(folder, { recursive: true }));

const all = async <T>(stream: AsyncIterable<T>): Promise<T[]> => {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
};
const file = async (name: string, content: string | Uint8Array): Promise<string> => {
  await writeFile(join(folder, name), content);
  return join(folder, name);
};

it.each(cases)("encodes $text as Python does", ({ text, plain, whole, cut }) => {
  for (let call = 0; call < 3; call++) expect([...tokenizer.encode(text)]).toEqual(whole);
  expect([...tokenizer.encode(text, { specialTokens: false })]).toEqual(plain);
  expect([...tokenizer.encode(text, { maxLength: 5 })]).toEqual(cut);
  expect(tokenizer.decode(whole)).toBe(text);
});

it("names generated tokens as one decode does, and no tokens as no text", async () => {
  expect(tokenizer.decode([])).toBe("");
  const model = await dx.models.fromConfig(
    {
      model_type: "llama",
      vocab_size: 20,
      hidden_size: 8,
      intermediate_size: 12,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 1,
    },
    { family: "llama", device: "cpu", generator: new dx.Generator(3) },
  );
  const options = {
    maxNewTokens: 6,
    temperature: 1,
    seed: 5,
    stopTokens: [],
    tokenizer: { decode: (ids: readonly number[]) => tokenizer.decode(ids) },
  };
  const [made] = await dx.models.generate(model, [1, 2], options);
  expect(made!.tokens.length).toBe(6);
  expect(made!.text).toBe(tokenizer.decode(made!.tokens));
  expect((await dx.models.generate(model, [1, 2], { ...options, tokenizer }))[0]!.text).toBe(made!.text);
  await dx.models.releaseGeneration(model);
});

describe("streams", () => {
  it("pads the lines of files, also packed ones and fields of JSON", async () => {
    const text = await file("a.txt", "the cat\r\n\nthe hat sat\n");
    const packed = await file("b.txt.gz", gzipSync("a mat"));
    const rows = ["the cat", "the hat sat", "a mat"].map((line) => tokenizer.encode(line));
    expect(await all(tokenLines([text, packed], { tokenizer }))).toEqual(rows);
    expect(await all(tokenLines([text, packed], { tokenizer, part: { index: 1, count: 2 } }))).toEqual([rows[1]]);
    const json = await file("c.jsonl", rows.map((_, i) => JSON.stringify({ text: ["the cat", "the hat sat", "a mat"][i] })).join("\n"));
    const stream = tokenLines(json, { tokenizer, field: "text" });
    const loader = dx.data.streamLoader(stream, { batchSize: 3, collateFn: tokenizer.collate, device: "cpu" });
    for await (const { inputIds, attentionMask } of loader) {
      const longest = Math.max(...rows.map((row) => row.length));
      const padded = rows.map((row) => [...row, ...Array.from({ length: longest - row.length }, () => tokenizer.padId)]);
      expect([inputIds.dtype, await inputIds.toArray()]).toEqual(["int32", padded]);
      expect(await attentionMask.toArray()).toEqual(rows.map((row) => Array.from({ length: longest }, (_, i) => (i < row.length ? 1 : 0))));
    }
  });

  it("joins lines and cuts them into blocks", async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `the cat ${i}`);
    const path = await file("blocks.txt", lines.join("\n"));
    const separator = tokenizer.tokenId("[SEP]");
    const joined = lines.flatMap((line) => [...tokenizer.encode(line, { specialTokens: false }), separator]);
    const blocks = await all(tokenBlocks(path, { tokenizer, blockSize: 16, separator }));
    expect(blocks).toHaveLength(Math.floor(joined.length / 16));
    expect(blocks.flatMap((block) => [...block])).toEqual(joined.slice(0, blocks.length * 16));
    const stream = tokenBlocks(path, { tokenizer, blockSize: 16, separator });
    for await (const ids of dx.data.streamLoader(stream, { batchSize: 2, dropLast: true, device: "cpu" }))
      expect(ids.shape).toEqual([2, 16]);
    expect(await all(tokenBlocks(await file("empty.txt", ""), { tokenizer, blockSize: 4 }))).toEqual([]);
  });

  it("names files that are wrong, and refuses wrong options", async () => {
    const json = await file("wrong.jsonl", '{"text":"a"}\n{"text":3}\n');
    await expect(all(tokenLines(json, { tokenizer, field: "text" }))).rejects.toThrow(
      /wrong\.jsonl must be values with a text in "text"; received number in value 1/,
    );
    await expect(all(tokenLines(join(folder, "none"), { tokenizer }))).rejects.toThrow(/a file that can be read; received ENOENT/);
    await expect(loadTokenizer(json)).rejects.toThrow(/wrong\.jsonl must be a JSON object/);
    await expect(loadTokenizer(await file("other.json", "{}"))).rejects.toThrow(dx.FormatError);
    await expect(loadTokenizer(await file("list.json", "3"))).rejects.toThrow(dx.FormatError);
    await expect(loadTokenizer(recorded("tokenizer.json"), { config: join(folder, "none") })).rejects.toThrow(/ENOENT/);
    expect(() => tokenLines(json, { tokenizer, maxLength: 0 })).toThrow(/maxLength must be an integer above 0/);
    expect(() => tokenBlocks(json, { tokenizer, blockSize: 0 })).toThrow(/blockSize must be/);
    expect(() => tokenBlocks(json, { tokenizer, blockSize: 2, separator: 0.5 })).toThrow(/separator must be/);
    expect(() => tokenLines(json, { tokenizer, part: { index: 2, count: 2 } })).toThrow(dx.ValueError);
    expect(() => tokenizer.encode("the cat", { maxLength: 1 })).toThrow(/at least 2, for the special tokens/);
    expect(() => tokenizer.tokenId("[MASK]")).toThrow(/one of the vocabulary; received \[MASK\]/);
    await expect(all(tokenLines(json, { tokenizer, signal: AbortSignal.abort() }))).rejects.toThrow(/abort/);
  });
});
