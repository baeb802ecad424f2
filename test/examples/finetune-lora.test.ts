import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

interface Result {
  readonly layers: number;
  readonly learned: number;
  readonly parameters: number;
  readonly firstLoss: number;
  readonly lastLoss: number;
  readonly before: string;
  readonly after: string;
  readonly difference: number;
}

it("adapters learn the text, and are the same when they are read again", async () => {
  const out = await mkdtemp(join(tmpdir(), "dxtensor-finetune-"));
  try {
    const result = await run<Result>("finetune-lora", [
      "--pretrain",
      "100",
      "--steps",
      "100",
      "--rate",
      "0.01",
      "--window",
      "32",
      "--length",
      "24",
      "--out",
      out,
    ]);
    expect(result.layers).toBe(14);
    expect(result.learned).toBeLessThan(result.parameters / 3);
    expect(result.lastLoss).toBeLessThan(result.firstLoss - 0.5);
    expect(result.after).not.toBe(result.before);
    expect(result.difference).toBe(0);
    expect((await readdir(out)).sort()).toEqual(["adapter_config.json", "adapter_model.safetensors"]);
  } finally {
    await rm(out, { recursive: true });
  }
});

it.each([
  [["--model", "model.gguf"], /The tokenizer can't be read: .*model\.gguf/],
  [
    ["--model", "model.onnx"],
    "--model takes a GGUF file or a folder with config.json, safetensors and tokenizer.json; model.onnx is neither.",
  ],
  [["--text", "nowhere.txt"], "The text can't be read: ENOENT: no such file or directory, open 'nowhere.txt'"],
  [["--window", "100000"], /must have more than 100000 tokens; it has \d+\.$/],
])("%s is refused in words", async (args, message) => {
  const { exitCode, stderr } = await raw("finetune-lora", ["--device", "cpu", ...args]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(message);
});
