/** The site's generated pages: errors by their text, and the tables of names. */
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
      text: "randperm: n must be an integer from 0 to …; received ….",
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

describe("the home page", () => {
  const text = readFileSync("scripts/site/index.md", "utf8");

  it("says how to install", () => {
    expect(text).toContain("npm install dxtensor");
  });

  it("has a program that runs and learns", async () => {
    const program = /^```ts\n([\s\S]*?)^```$/m.exec(text)![1]!.replace('"dxtensor"', '"./src/index.ts"');
    const { stdout } = await execa(process.execPath, [...typescript, "--input-type=module", "-e", `${program};`]);
    const [loss, device] = stdout.split(" ");
    expect(Number(loss)).toBeLessThan(0.05);
    expect(device).toMatch(/^(cpu|dml:\d+)$/);
  });
});

/** Titles of the API's pages are what people search for. */
it("names each page of the API by a standard term", async () => {
  const titles = await evaluate<Record<string, string>>('import { apiTitles } from "./scripts/site/api.ts"; const result = apiTitles()');
  expect(titles).toMatchObject({
    "nn-dropout": "Dropout",
    "nn-embedding": "Embedding and EmbeddingBag",
    "nn-linear": "Linear, Bilinear, Identity",
    "nn-init": "init",
    "nn-parameter": "Parameter",
    "nn-recurrent": "LSTM, GRU, RNN and their cells",
    "optim-sgd": "SGD",
    "optim-adam": "Adam and AdamW",
    "data-loader": "DataLoader",
    interpolate: "Interpolate",
    matmul: "Matrix multiplication",
    softmax: "Softmax and log softmax",
  });
  const names = Object.values(titles);
  expect(names.filter((title) => title.length > 70)).toEqual([]);
  // Of two pages with one title nobody knows which to open; Dropout and Embedding are functions and layers, in groups of their own.
  const twice = names.filter((title, i) => names.indexOf(title) !== i);
  expect(twice).toEqual(["Dropout"]);
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
    "checkpoints",
    "saving",
    "devices",
    "kernels",
    "deploying",
    "performance",
  ])
    expect(config).toContain(`"${page}")`);
});
