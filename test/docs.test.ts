/** The examples of the pages for users, run as they stand: a page's blocks share their names, as one program. */
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as dx from "../src/index.ts";

const pages = "autograd compile data deploying devices fft install kernels linalg memory onnx optimizers performance saving shaders tour"
  .split(" ")
  .map((name) => `docs/${name}.md`)
  .concat("README.md");

const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (...args: unknown[]) => Promise<void>;

const textOf = (page: string): string => {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1]!).join("\n");
};

/** What a page imports, by name: nothing else is there when it runs. */
async function importsOf(text: string): Promise<Record<string, unknown>> {
  const names: Record<string, unknown> = {};
  for (const [line, what, from] of text.matchAll(/^import (.+) from "([^"]+)";$/gm)) {
    const module = (from === "dxtensor" ? dx : await import(from!)) as Record<string, unknown>;
    const whole = /^\* as (\w+)$/.exec(what!);
    const list = /^\{ ([\w, ]+) \}$/.exec(what!);
    if (whole !== null) names[whole[1]!] = module;
    else if (list !== null) for (const name of list[1]!.split(", ")) names[name] = module[name];
    else if (/^\w+$/.test(what!)) names[what!] = module.default;
    else throw new Error(`docs.test.ts does not read: ${line}`);
  }
  return names;
}

describe("examples of the documents", () => {
  it.each(pages)("%s", async (page) => {
    const text = textOf(page);
    const names = await importsOf(text);
    const code = text.replaceAll(/^import .*$/gm, "");
    // The README's program ends by what it tells.
    const claim = page === "README.md" ? "\nif (!(right > 0.99)) throw new Error(`only ${right} are right`);" : "";
    assert(claim !== "" || code.includes("assert"), "an example that asserts nothing is no test");
    const before = dx.defaultDevice();
    try {
      await new AsyncFunction(...Object.keys(names), code + claim)(...Object.values(names));
    } finally {
      dx.setDefaultDevice(before);
    }
  });
});

it("every page with an example in TypeScript is among them", () => {
  const written = readdirSync("docs")
    .toSorted()
    .map((name) => `docs/${name}`)
    .filter((name) => name.endsWith(".md") && textOf(name) !== "");
  expect(written).toEqual(pages.filter((name) => name.startsWith("docs/")));
});
