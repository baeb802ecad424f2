/** The examples of the pages for users, run as they stand: a page's blocks share their names, as one program. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import * as dx from "../src/index.ts";

const pages = ["autograd.md", "compile.md", "fft.md", "linalg.md", "memory.md", "optimizers.md"];

const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (...args: unknown[]) => Promise<void>;

function codeOf(page: string): string {
  const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1]!.replaceAll(/^import .*$/gm, "")).join("\n");
}

describe("examples of the documents", () => {
  it.each(pages)("%s", async (page) => {
    const code = codeOf(page);
    assert(code.includes("assert"), "an example that asserts nothing is no test");
    await new AsyncFunction("dx", "assert", code)(dx, assert);
  });
});
