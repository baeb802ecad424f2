/** What the site makes of the sources: errors by their text, and the tables of names. */
import { readFileSync } from "node:fs";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { typescript } from "./scripts.ts";

const evaluate = async <T>(code: string): Promise<T> => {
  const { stdout } = await execa(process.execPath, [
    ...typescript,
    "--input-type=module",
    "-e",
    `${code}; console.log(JSON.stringify(result))`,
  ]);
  return JSON.parse(stdout) as T;
};
const rowOf = (page: string, name: string): string | undefined => page.split("\n").find((line) => line.startsWith(`| \`${name}\` |`));

describe("errors", () => {
  it("are listed by class and text, with what is not known left open", async () => {
    const list = await evaluate<{ name: string; text: string; file: string }[]>(
      'import { errors } from "./scripts/site/errors.ts"; const result = errors()',
    );
    expect(list).toContainEqual({
      name: "ValueError",
      text: "randperm: n must be a whole number from 0 to …; received ….",
      file: expect.stringMatching(/^ops\//) as unknown,
    });
    // Those whose function is known stand before those that several share.
    const shared = list.findIndex((e) => e.text.startsWith("…"));
    expect(list.slice(shared).every((e) => e.text.startsWith("…"))).toBe(true);
    expect(new Set(list.map((e) => `${e.name} ${e.text}`)).size).toBe(list.length);
    for (const { file } of list) expect(readFileSync(`src/${file}`, "utf8")).toContain("Error");
  });
});

describe("names", () => {
  it("PyTorch's functions, layers and optimizers", async () => {
    const page = await evaluate<string>('import { pytorchPage } from "./scripts/site/names.ts"; const result = await pytorchPage()');
    expect(rowOf(page, "torch.matmul")).toContain("`dx.matmul`");
    expect(rowOf(page, "torch.nn.functional.relu")).toContain("`dx.relu`");
    expect(rowOf(page, "torch.nn.LSTM")).toContain("`dx.nn.lstm(…)`");
    expect(rowOf(page, "torch.optim.AdamW")).toContain("`dx.optim.adamW(…)`");
    expect(page).toContain("| `aten::record_stream` |");
  });

  it("TensorFlow.js's, each of which the package has", async () => {
    const page = await evaluate<string>('import { tfjsPage } from "./scripts/site/names.ts"; const result = await tfjsPage()');
    expect(rowOf(page, "tf.matMul")).toContain("`dx.matmul`");
    expect(rowOf(page, "tf.relu")).toContain("`dx.relu`");
    expect(rowOf(page, "tf.train.adam")).toContain("`dx.optim.adam`");
    expect(rowOf(page, "tf.sparseToDense")).toContain("–");
  });
});

it("every page of docs is in the sidebar, or reached from one that is", () => {
  const config = readFileSync("scripts/site/config.mjs", "utf8");
  for (const page of [
    "install",
    "tour",
    "autograd",
    "compile",
    "memory",
    "data",
    "saving",
    "devices",
    "kernels",
    "deploying",
    "performance",
  ])
    expect(config).toContain(`"${page}")`);
});
