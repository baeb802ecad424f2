/** The examples of the pages for users, run as they stand: a page's blocks share their names, as one program. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import * as files from "node:fs/promises";
import * as os from "node:os";
import * as path from "node:path";
import { describe, expect, it } from "vitest";
import * as dx from "../src/index.ts";

const pages = "autograd compile data deploying devices fft install kernels linalg memory onnx optimizers performance saving shaders tour"
  .split(" ")
  .map((name) => `docs/${name}.md`)
  .concat("README.md");

/** What the examples import beside the library and assert. */
const tools = { mkdtemp: files.mkdtemp, rm: files.rm, tmpdir: os.tmpdir, join: path.join };

const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (...args: unknown[]) => Promise<void>;

function codeOf(page: string): string {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1]!.replaceAll(/^import .*$/gm, "")).join("\n");
}

describe("examples of the documents", () => {
  it.each(pages)("%s", async (page) => {
    const code = codeOf(page);
    // The README's program ends by what it tells.
    const claim = page === "README.md" ? "\nassert(right > 0.99);" : "";
    assert(`${code}${claim}`.includes("assert"), "an example that asserts nothing is no test");
    const before = dx.defaultDevice();
    try {
      await new AsyncFunction("dx", "assert", ...Object.keys(tools), code + claim)(dx, assert, ...Object.values(tools));
    } finally {
      dx.setDefaultDevice(before);
    }
  });
});

it("every page with an example in TypeScript is among them", () => {
  const written = readdirSync("docs")
    .toSorted()
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith(".md") && codeOf(name) !== "");
  expect(written).toEqual(pages.filter((name) => name.startsWith("docs/")));
});
