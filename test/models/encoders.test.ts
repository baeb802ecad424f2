/** Models of pictures and BERT compared with torchvision and transformers (recorded/encoders.py): names, results, gradients, and the files they are read from. */
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fillState, hashed } from "./recorded/fill.ts";

interface Names {
  readonly count: number;
  readonly sha256: string;
}
interface Pictures extends Names {
  readonly config: dx.models.ModelConfig;
  readonly logits: readonly number[];
}
const recorded = JSON.parse(readFileSync(new URL("recorded/encoders.json", import.meta.url), "utf8")) as {
  readonly images: Readonly<Record<string, Pictures>>;
  readonly names: Readonly<Record<string, Names>>;
  readonly bert: {
    readonly config: dx.models.ModelConfig;
    readonly names: readonly string[];
    readonly tokens: readonly (readonly number[])[];
    readonly mask: readonly (readonly number[])[];
    readonly types: readonly (readonly number[])[];
    readonly hidden: readonly number[];
    readonly pooled: readonly number[];
    readonly plain: readonly number[];
    readonly embedded: readonly number[];
  };
};

const folder = await mkdtemp(join(tmpdir(), "dxtensor-encoders-"));
afterAll(() => rm(folder, { recursive: true }));

function namesOf(model: dx.nn.Module): Names {
  const lines = Object.entries(model.stateDict()).map(([name, t]) => `${name} [${t.shape.join(", ")}]`);
  return { count: lines.length, sha256: createHash("sha256").update(lines.sort().join("\n")).digest("hex") };
}

async function expectNear(t: dx.Tensor, want: readonly number[], most = 2e-5): Promise<void> {
  const got = await dx.noGrad(() => t.to("float32")).data();
  expect(got).toHaveLength(want.length);
  expect(want.reduce((worst, w, i) => Math.max(worst, Math.abs(Number(got[i]) - w)), 0)).toBeLessThan(most);
}

const int = (values: unknown, device: string): dx.Tensor => dx.tensor(values as number[][], { dtype: "int32", device });
const pictures = (device: string): dx.Tensor => dx.tensor(hashed(7, 8880), { shape: [2, 3, 40, 37], device });

describe.each(devices)("%s", (device) => {
  it.each(Object.keys(recorded.images))("%s: names and logits are torchvision's, compiled too", async (name) => {
    const { config, logits, count, sha256 } = recorded.images[name]!;
    const model = (await dx.models.fromConfig(config, { device })) as dx.models.ResNet;
    expect(namesOf(model)).toEqual({ count, sha256 });
    fillState(model);
    const x = pictures(device);
    await expectNear(
      dx.noGrad(() => model(x)),
      logits,
    );
    const run = dx.compile((y: dx.Tensor) => model(y));
    for (let i = 0; i < 2; i++)
      await expectNear(
        dx.noGrad(() => run(x)),
        logits,
      );
    model.dispose();
  });

  it("a new head learns from features that stay", async () => {
    const model = await dx.models.fromConfig(
      { ...recorded.images["v2"]!.config, depth_multiplier: 0.1 },
      { family: "mobilenet_v2", device, generator: new dx.Generator(1) },
    );
    dx.nn.utils.freeze(model);
    const width = model.pooledFeatures(pictures(device)).shape[1]!;
    expect(width).toBe(1280);
    model.classifier = dx.nn.linear(width, 2, { device, generator: new dx.Generator(1) });
    const optimizer = dx.optim.adam(model.classifier.parameters(), { lr: 0.01 });
    const labels = dx.tensor([0, 1], { dtype: "int32", device });
    const losses: number[] = [];
    for (let i = 0; i < 5; i++) {
      const loss = dx.nn.functional.crossEntropy(model(pictures(device)), labels);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      losses.push(Number(await loss.item()));
    }
    expect(losses.at(-1)).toBeLessThan(losses[0]!);
    expect(model.parameters().filter((p) => p.requiresGrad)).toHaveLength(2);
    model.dispose();
  });

  it("BERT: names, hidden states and embeddings are transformers', with padding and in a compiled function", async () => {
    const { config, names, tokens, mask, types, hidden, pooled, plain, embedded } = recorded.bert;
    const model = await dx.models.fromConfig(config, { family: "bert", device });
    expect(Object.keys(model.stateDict()).toSorted()).toEqual([...names].sort());
    fillState(model);
    const [ids, attentionMask, tokenTypes] = [int(tokens, device), int(mask, device), int(types, device)];
    const run = dx.compile((...t: [dx.Tensor, dx.Tensor, dx.Tensor]) => model(t[0], { attentionMask: t[1], tokenTypes: t[2] }));
    for (const result of [model(ids, { attentionMask, tokenTypes }), run(ids, attentionMask, tokenTypes)]) {
      await expectNear(result, hidden);
      await expectNear(model.pooled(result), pooled);
    }
    await expectNear(model(int([tokens[0]!], device)), plain);
    await expectNear(model.embed(ids, { attentionMask, tokenTypes }), embedded);
    // In training, dropout draws; gradients reach all but the pooler.
    model.train();
    model.embed(ids, { attentionMask, normalize: false }).sum().backward();
    const without = [...model.namedParameters()].flatMap(([name, p]) => (p.grad === null ? [name] : []));
    expect(without).toEqual(["pooler.dense.weight", "pooler.dense.bias"]);
    model.dispose();
  });
});

it.each(Object.keys(recorded.names))("names and shapes of %s are torchvision's", async (config) => {
  const model = await dx.models.fromConfig(JSON.parse(config) as dx.models.ModelConfig, { device: "meta" });
  expect(namesOf(model)).toEqual(recorded.names[config]);
});

it("folders and files give the same model", async () => {
  const { config, hidden, tokens, mask, types } = recorded.bert;
  const made = await dx.models.fromConfig(config, { family: "bert", device: "cpu" });
  fillState(made);
  // As files of a model with a head, and of early TensorFlow models, name them.
  const state: Record<string, dx.Tensor> = { "cls.bias": dx.zeros([2], { device: "cpu" }) };
  for (const [name, t] of Object.entries(made.stateDict()))
    state[`bert.${name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")}`] = t;
  await dx.io.safetensors.save(join(folder, "model.safetensors"), state);
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const [ids, attentionMask, tokenTypes] = [int(tokens, "cpu"), int(mask, "cpu"), int(types, "cpu")];
  const read = await dx.models.fromPretrained(folder, { family: "bert", device: "cpu" });
  await expectNear(read(ids, { attentionMask, tokenTypes }), hidden);
  const half = await dx.models.fromPretrained(folder, { family: "bert", device: "cpu", dtype: "float16" });
  await expectNear(half(ids, { attentionMask, tokenTypes }), hidden, 2e-2);

  // A file of torchvision's weights, of a time when norms did not count batches.
  const small = recorded.images["v3 small"]!;
  const network = await dx.models.fromConfig(small.config, { family: "mobilenet_v3", device: "cpu" });
  fillState(network);
  const weights = Object.fromEntries(Object.entries(network.stateDict()).filter(([name]) => !name.endsWith("num_batches_tracked")));
  const file = join(folder, "weights.safetensors");
  await dx.io.safetensors.save(file, weights);
  const again = await dx.models.fromPretrained(file, { config: small.config, family: "mobilenet_v3", device: "cpu" });
  await expectNear(again(pictures("cpu")), small.logits);
  expect(again.stateDict()["features.0.1.num_batches_tracked"]!.dtype).toBe("int64");
  expect(again.training).toBe(false);
  await expect(dx.models.fromPretrained(file, { device: "cpu" })).rejects.toThrow("config must be given for a file of weights alone");
  await expect(dx.models.fromPretrained(file, { config, device: "cpu" })).rejects.toThrow("It lacks embeddings.word_embeddings.weight");
});

it("errors say what was expected", async () => {
  const meta = { device: "meta" } as const;
  await expect(dx.models.fromConfig({ model_type: "resnet", depth: 20 }, meta)).rejects.toThrow("config.depth must be one of 18, 34");
  await expect(dx.models.fromConfig({ model_type: "resnet", depths: [1, 2] }, meta)).rejects.toThrow("four numbers of blocks");
  await expect(dx.models.fromConfig({ architecture: "resnet77" }, meta)).rejects.toThrow("config.architecture must be one of resnet18");
  await expect(dx.models.fromConfig({ model_type: "mobilenet_v3", variant: "tiny" }, meta)).rejects.toThrow("one of large, small");
  await expect(dx.models.fromConfig({ model_type: "bert", num_attention_heads: 7 }, meta)).rejects.toThrow("a divisor of 768");
  await expect(dx.models.fromConfig({ model_type: "bert" }, { ...meta, family: "resnet" })).rejects.toThrow("of the family resnet");
  const timm = await dx.models.fromConfig({ architecture: "resnet34", num_classes: 10 }, { ...meta, family: "resnet" });
  expect((timm.fc as dx.nn.Linear).outputs).toBe(10);
  expect(() => timm(dx.zeros([1, 1, 8, 8], meta))).toThrow(dx.ShapeError);
  expect(() => timm(dx.zeros([1, 3, 8, 8], { ...meta, dtype: "int32" }))).toThrow(dx.DTypeError);
  const bert = await dx.models.fromConfig(recorded.bert.config, { ...meta, family: "bert" });
  expect(() => bert(dx.zeros([1, 17], { ...meta, dtype: "int32" }))).toThrow(dx.IndexError);
  expect(() => bert(dx.zeros([1, 4], { ...meta, dtype: "int32" }), { attentionMask: dx.zeros([1, 5], meta) })).toThrow(dx.ShapeError);
});
