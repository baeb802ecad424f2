/** GPT-2 compared with transformers (recorded/gpt2.py): logits, greedy tokens, and files without the names' first part. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fill } from "./recorded/fill.ts";

interface Recorded {
  readonly config: dx.models.ModelConfig;
  readonly names: readonly string[];
  readonly logits: readonly number[];
  readonly greedy: readonly (readonly number[])[];
}
const { prompts, cases } = JSON.parse(readFileSync(new URL("recorded/gpt2.json", import.meta.url), "utf8")) as {
  readonly prompts: readonly (readonly number[])[];
  readonly cases: { readonly gpt2: Recorded };
};
const { config, names, logits, greedy } = cases.gpt2;

const folder = await mkdtemp(join(tmpdir(), "dxtensor-gpt2-"));
afterAll(() => rm(folder, { recursive: true }));

async function expectLogits(model: dx.models.Gpt2, device: string): Promise<void> {
  const tokens = dx.tensor([prompts[0]!, prompts[0]!.toReversed()], { dtype: "int32", device });
  const got = await dx.noGrad(() => model(tokens)).data();
  expect(got).toHaveLength(logits.length);
  const worst = logits.reduce((most, want, i) => Math.max(most, Math.abs(Number(got[i]) - want)), 0);
  expect(worst).toBeLessThan(2e-5);
}

describe.each(devices)("%s", (device) => {
  it("logits and greedy tokens are transformers', alone, in a batch and up to the last position", async () => {
    const model = await dx.models.fromConfig(config, { family: "gpt2", device });
    expect(Object.keys(model.stateDict()).toSorted()).toEqual([...names].sort());
    fill(model);
    await expectLogits(model, device);
    const both = await dx.models.generate(model, prompts, { maxNewTokens: 20 });
    expect(both.map(({ tokens }) => [...tokens])).toEqual(greedy);
    const [all] = await dx.models.generate(model, prompts[0]!, { maxNewTokens: 100 });
    expect(Array.from(all!.tokens).slice(0, 20)).toEqual(greedy[0]);
    expect(all!.tokens).toHaveLength(40 - prompts[0]!.length);
    await dx.models.releaseGeneration(model);
    model.dispose();
  });
});

it("a file of the layers alone is read", async () => {
  const made = await dx.models.fromConfig(config, { family: "gpt2", device: "cpu" });
  fill(made);
  const state: Record<string, dx.Tensor> = {};
  for (const [name, t] of Object.entries(made.stateDict()))
    if (name.startsWith("transformer.")) state[name.slice("transformer.".length)] = t;
  await dx.io.safetensors.save(join(folder, "model.safetensors"), state);
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  await expectLogits(await dx.models.fromPretrained(folder, { family: "gpt2", device: "cpu" }), "cpu");
  await expect(dx.models.fromPretrained(folder, { family: "llama", device: "cpu" })).rejects.toThrow("of the family llama");
  await expect(dx.models.fromConfig({ ...config, n_head: 5 }, { device: "meta" })).rejects.toThrow("a divisor of 32");
});
