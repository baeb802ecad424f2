/** The example "search" on a small model with BERT's inputs. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { wordTokenizer } from "../../examples/text/reviews.ts";
import * as dx from "../../src/index.ts";
import { raw, run } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-search-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Result {
  readonly lines: number;
  readonly width: number;
  readonly results: readonly { readonly query: string; readonly hits: readonly { readonly score: number; readonly line: string; readonly number: number }[] }[]; // prettier-ignore
}

it("finds the lines with most words of the question, whatever their lengths", async () => {
  const lines = ["red green", "blue", "red blue red green green blue", "black white black white", "green green green yellow"];
  const [text, tokenizer, model] = ["text.txt", "tokenizer.json", "model.onnx"].map((name) => join(folder, name)) as [string, string, string]; // prettier-ignore
  writeFileSync(text, `${lines.slice(0, 2).join("\n")}\n\n${lines.slice(2).join("\r\n")}\n`);
  writeFileSync(tokenizer, wordTokenizer(lines));
  // A vector of its own for each word: the cosine of texts is that of their counts of words.
  const words = dx.eye(16, 16, { device: "cpu" });
  const f = (ids: dx.Tensor, mask: dx.Tensor): dx.Tensor => dx.nn.functional.embedding(ids, words).mul(mask.to("float32").unsqueeze(2));
  const tokens = dx.ones([2, 3], { dtype: "int64", device: "cpu" });
  await dx.io.onnx.export(f, [tokens, tokens], model, {
    names: { inputs: ["input_ids", "attention_mask"], outputs: ["hidden"] },
    dynamicAxes: { input_ids: { 0: "n", 1: "l" }, attention_mask: { 0: "n", 1: "l" } },
  });
  const args = ["--model", model, "--tokenizer", tokenizer, "--text", text];
  const found = await run<Result>("search", [...args, "--query", "blue red", "--query", "yellow", "--top", "2", "--batch", "2"]);
  expect([found.lines, found.width]).toEqual([5, 16]);
  expect(found.results.map(({ query, hits }) => [query, hits.map((h) => [h.line, h.number])])).toEqual([
    ["blue red", [[lines[2], 4], [lines[1], 2]]], // prettier-ignore
    ["yellow", [[lines[4], 6], expect.anything()]], // prettier-ignore
  ]);
  expect(found.results[0]!.hits[0]!.score).toBeCloseTo(4 / Math.sqrt(2 * 12), 5);
  expect(found.results[1]!.hits[0]!.score).toBeCloseTo(1 / Math.sqrt(10), 5);
  const { exitCode, stderr } = await raw("search", [
    "--device",
    "cpu",
    ...args.slice(0, 4),
    "--text",
    join(folder, "none"),
    "--query",
    "x",
  ]);
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/The text .*none can't be read/)]);
});
