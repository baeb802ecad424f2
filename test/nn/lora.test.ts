/** LoRA compared with PEFT (recorded/lora.py): losses of training, files in both directions, and what adapters leave alone. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fill, hashed } from "../models/recorded/fill.ts";

interface Recorded {
  readonly config: dx.models.ModelConfig | null;
  readonly losses: readonly number[];
  readonly before: readonly number[];
  readonly after: readonly number[];
}
const { steps, cases } = JSON.parse(readFileSync(new URL("recorded/lora.json", import.meta.url), "utf8")) as {
  readonly steps: number;
  readonly cases: Readonly<Record<"llama" | "gpt2" | "net", Recorded>>;
};
type Name = keyof typeof cases;
const peftFolder = (name: Name): string => fileURLToPath(new URL(`recorded/lora-${name}`, import.meta.url));

const folder = await mkdtemp(join(tmpdir(), "dxtensor-lora-"));
afterAll(() => rm(folder, { recursive: true }));

class Net extends dx.nn.Module {
  first: dx.nn.Conv2d;
  second: dx.nn.Conv2d;
  mix: dx.nn.Conv1d;
  inner: dx.nn.Linear;
  head: dx.nn.Linear;

  constructor(device: string) {
    super();
    this.first = dx.nn.conv2d(2, 4, 3, { padding: 1, device });
    this.second = dx.nn.conv2d(4, 6, 3, { stride: 2, groups: 2, device });
    this.mix = dx.nn.conv1d(6, 5, 2, { device });
    this.inner = dx.nn.linear(20, 4, { device });
    this.head = dx.nn.linear(4, 3, { device });
  }

  forward(x: dx.Tensor): dx.Tensor {
    const features = this.second(this.first(x).relu()).relu().flatten(2).narrow(2, 0, 5);
    return this.head(this.inner(this.mix(features).flatten(1)).relu());
  }
}

const options: Readonly<Record<Name, dx.nn.LoraOptions>> = {
  llama: { rank: 2, alpha: 6, target: ["q_proj", "v_proj", "down_proj", "embed_tokens"] },
  gpt2: { rank: 2, alpha: 4, bias: "lora_only" },
  net: {
    rank: 4,
    alpha: 8,
    target: ["first", "second", "mix", "inner"],
    rankStabilized: true,
    loraBias: true,
    bias: "all",
    rankPattern: { inner: 2 },
    alphaPattern: { "mix|inner": 3 },
    modulesToSave: ["head"],
  },
};

/** The module of a case, and what makes logits and loss of it. */
async function caseOf(name: Name, device: string) {
  const { config } = cases[name];
  if (config === null) {
    const module = new Net(device);
    const x = dx.tensor(hashed(7, 294), { shape: [3, 2, 7, 7], device });
    const labels = dx.tensor([0, 2, 1], { dtype: "int32", device });
    const logits = (): dx.Tensor => module(x);
    return { module, logits, loss: () => dx.nn.functional.crossEntropy(logits(), labels) };
  }
  const module = await dx.models.fromConfig(config, { device });
  const text = [3, 1, 4, 1, 5, 9, 2, 6];
  const tokens = dx.tensor([text, text.toReversed()], { dtype: "int32", device });
  const labels = tokens.narrow(1, 1, 7).reshape([14]);
  const logits = (): dx.Tensor => (module as dx.models.LanguageModel)(tokens);
  const loss = (): dx.Tensor => dx.nn.functional.crossEntropy(logits().narrow(1, 0, 7).reshape([14, -1]), labels);
  return { module: module as dx.nn.Module, logits, loss };
}

/** How far the results are from what PEFT gave. */
async function worst(t: dx.Tensor, want: readonly number[]): Promise<number> {
  const got = await dx.noGrad(() => t).data();
  expect(got).toHaveLength(want.length);
  return want.reduce((most, w, i) => Math.max(most, Math.abs(Number(got[i]) - w)), 0);
}

describe.each(devices)("%s", (device) => {
  it.each(["llama", "gpt2", "net"] as const)("%s: losses, results and files are PEFT's", async (name) => {
    const { losses, before, after } = cases[name];
    const { module, logits, loss } = await caseOf(name, device);
    fill(module);
    const plain = Object.keys(module.stateDict());
    const adapters = dx.nn.lora(module, options[name]);
    expect(Object.keys(module.stateDict())).toEqual(expect.arrayContaining(plain));
    fill(module);
    const learned = module.parameters().filter((p) => p.requiresGrad);
    expect(new Set(adapters.parameters())).toEqual(new Set(learned));
    const optimizer = dx.optim.adamW(adapters.parameters(), { lr: 1e-2 });
    const step = dx.compile((): dx.Tensor => {
      const value = loss();
      value.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return value;
    });
    // Two steps eagerly, the others compiled.
    const got: number[] = [];
    for (let i = 0; i < steps; i++) {
      const value = i < 2 ? loss() : step();
      if (i < 2) {
        value.backward();
        optimizer.step();
        optimizer.zeroGrad();
      }
      got.push(Number(await value.item()));
    }
    losses.forEach((want, i) => expect(Math.abs(got[i]! - want), `step ${i}`).toBeLessThan(2e-4));
    expect(await worst(logits(), after)).toBeLessThan(2e-3);

    // What PEFT wrote, read into another module; and written again.
    const other = await caseOf(name, device);
    fill(other.module);
    const read = await dx.io.peft.load(other.module, peftFolder(name));
    expect(await worst(other.logits(), after)).toBeLessThan(3e-5);
    const path = join(folder, name);
    await dx.io.peft.save(path, read, { taskType: "CAUSAL_LM" });
    const files = await Promise.all(
      [path, peftFolder(name)].map((f) => dx.io.safetensors.load(join(f, "adapter_model.safetensors"), { device })),
    );
    const shapesOf = ({ tensors }: dx.io.Loaded): readonly string[] =>
      Object.entries(tensors)
        .flatMap(([n, t]) =>
          /embed_tokens\.base_layer\.weight$|\.original_module\.|\.modules_to_save\./.test(n) ? [] : [`${n} ${t.describe()}`],
        )
        .sort();
    expect(shapesOf(files[0]!)).toEqual(shapesOf(files[1]!));
    const configs = await Promise.all(
      [path, peftFolder(name)].map(
        async (f) => JSON.parse(await readFile(join(f, "adapter_config.json"), "utf8")) as Record<string, unknown>,
      ),
    );
    for (const key of [
      "r",
      "lora_alpha",
      "use_rslora",
      "bias",
      "lora_bias",
      "fan_in_fan_out",
      "modules_to_save",
      "rank_pattern",
      "peft_type",
    ])
      expect([key, configs[0]![key]]).toEqual([key, configs[1]![key]]);

    if (name === "net") {
      // The second convolution has groups: nothing is merged.
      const weight = (other.module as Net).first.weight.dataSync().slice();
      expect(() => read.merge()).toThrow(dx.UnsupportedError);
      expect((other.module as Net).first.weight.dataSync()).toEqual(weight);
      return;
    }
    const merged = other.module.clone();
    dx.nn.loraOf(merged).merge();
    read.merge();
    expect(await worst(other.logits(), after)).toBeLessThan(5e-5);
    read.unmerge();
    expect(await worst(other.logits(), after)).toBeLessThan(5e-5);
    read.disable();
    if (name === "llama") expect(await worst(other.logits(), before)).toBeLessThan(5e-5);
    read.enable();
    read.remove();
    expect(Object.keys(other.module.stateDict())).toEqual(plain);
    expect(other.module.toString()).not.toContain("Lora");
    module.dispose();
    other.module.dispose();
    merged.dispose();
  });

  it("compiled functions follow adapters that are added, disabled and merged", async () => {
    const layer = dx.nn.linear(3, 2, { device });
    const x = dx.tensor([[1, 2, 3]], { device });
    const run = dx.compile((y: dx.Tensor) => layer(y));
    const value = async (): Promise<number[]> => Array.from((await dx.noGrad(() => run(x)).data()) as Float32Array);
    const plain = await value();
    const adapters = dx.nn.lora(layer, { rank: 1 });
    expect(await value()).toEqual(plain);
    fill(layer);
    const adapted = await value();
    expect(adapted).not.toEqual(plain);
    adapters.disable();
    const base = await value();
    expect(base).not.toEqual(adapted);
    adapters.enable();
    expect(await value()).toEqual(adapted);
    adapters.merge();
    (await value()).forEach((v, i) => expect(v).toBeCloseTo(adapted[i]!, 5));
    adapters.unmerge();
    // A second adapter's product is added to the first one's.
    const second = dx.nn.lora(layer, { rank: 2, name: "second" });
    expect(await value()).toEqual(adapted);
    fill(layer);
    expect(second.parameters().every((p) => p.requiresGrad)).toBe(true);
    second.disable();
    (await value()).forEach((v, i) => expect(v).toBeCloseTo(adapted[i]!, 5));
    second.remove();
    adapters.disable();
    (await value()).forEach((v, i) => expect(v).toBeCloseTo(base[i]!, 5));
    expect(() => dx.compile(() => void adapters.merge())()).toThrow(dx.TraceError);
  });

  it("packed weights stay as they are, and their adapters learn", async () => {
    const model = await dx.models.fromConfig(
      { ...cases.llama.config, hidden_size: 32, intermediate_size: 32 },
      { family: "llama", device },
    );
    fill(model);
    dx.nn.quantize(model, { filter: (name) => name.includes("layers") });
    const names = Object.keys(model.stateDict());
    const packed = model.stateDict()["model.layers.0.mlp.up_proj.codes"]!.dataSync().slice();
    const adapters = dx.nn.lora(model, { rank: 2, alpha: 8, generator: new dx.Generator(1) });
    expect(adapters.layers).toHaveLength(7);
    expect(new Set(model.parameters().filter((p) => p.requiresGrad))).toEqual(new Set(adapters.parameters()));
    const tokens = dx.tensor([[3, 1, 4, 1, 5, 9, 2, 6]], { dtype: "int32", device });
    const labels = tokens.narrow(1, 1, 7).reshape([7]);
    const loss = (): dx.Tensor => dx.nn.functional.crossEntropy(model(tokens).narrow(1, 0, 7).reshape([7, -1]), labels);
    const optimizer = dx.optim.adamW(adapters.parameters(), { lr: 2e-2 });
    const step = dx.compile(() => {
      const value = loss();
      value.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return value;
    });
    const losses: number[] = [];
    for (let i = 0; i < 12; i++) losses.push(Number(await step().item()));
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.3);
    expect(model.stateDict()["model.layers.0.mlp.up_proj.codes"]!.dataSync()).toEqual(packed);
    expect(() => adapters.merge()).toThrow("one whose weight is a float; received packed weights");
    // The adapters of packed layers are those of the float layers.
    const path = join(folder, "packed");
    await dx.io.peft.save(path, adapters);
    const floats = await dx.models.fromConfig(
      { ...cases.llama.config, hidden_size: 32, intermediate_size: 32 },
      { family: "llama", device },
    );
    fill(floats);
    const read = await dx.io.peft.load(floats, path);
    const valuesOf = (of: dx.nn.Lora): unknown => Object.fromEntries([...of.namedParameters()].map(([name, p]) => [name, p.dataSync()]));
    expect(valuesOf(read)).toEqual(valuesOf(adapters));
    adapters.remove();
    expect(Object.keys(model.stateDict())).toEqual(names);
    model.dispose();
    floats.dispose();
  });

  it("half weights have adapters in float32, in and outside of autocast, with dropout and checkpoints", async () => {
    const model = dx.nn.sequential(
      dx.nn.linear(4, 8, { device, dtype: "float16" }),
      dx.nn.relu(),
      dx.nn.linear(8, 2, { device, dtype: "float16" }),
    );
    const adapters = dx.nn.lora(model, { rank: 2, dropout: 0.5, generator: new dx.Generator(3) });
    expect(new Set(adapters.parameters().map((p) => p.dtype))).toEqual(new Set(["float32"]));
    const x = dx.tensor(hashed(1, 12), { shape: [3, 4], device }).to("float16");
    const loss = (): dx.Tensor =>
      dx
        .checkpoint((y: dx.Tensor) => model(y), x)
        .to("float32")
        .square()
        .sum();
    for (const run of [loss, () => dx.autocast("float16", loss)]) {
      const value = run();
      value.backward();
      expect(Number.isFinite(Number(await value.item()))).toBe(true);
      for (const p of adapters.parameters()) expect(p.grad).not.toBe(null);
      expect((model.at(0) as dx.nn.Linear).weight.grad).toBe(null);
      model.zeroGrad();
    }
    model.eval();
    expect(model(x).dtype).toBe("float16");
  });
});

it("hooks, clones and state of adapted layers are those of any module", () => {
  const model = dx.nn.sequential(dx.nn.linear(2, 2, { device: "cpu" }), dx.nn.linear(2, 1, { device: "cpu" }));
  const calls: string[] = [];
  using _ = model.at(0).registerForwardHook(() => void calls.push("hook"));
  dx.nn.lora(model, { rank: 1 });
  fill(model);
  const x = dx.ones([1, 2], { device: "cpu" });
  const want = model(x).dataSync();
  const copy = model.clone();
  expect(copy(x).dataSync()).toEqual(want);
  expect(calls).toHaveLength(2);
  dx.nn.loraOf(copy).disable();
  expect(model(x).dataSync()).toEqual(want);
  expect(copy(x).dataSync()).not.toEqual(want);
  const another = dx.nn.sequential(dx.nn.linear(2, 2, { device: "cpu" }), dx.nn.linear(2, 1, { device: "cpu" }));
  dx.nn.lora(another, { rank: 1 });
  another.loadStateDict(model.stateDict());
  expect(another(x).dataSync()).toEqual(want);
  expect(dx.nn.functionalCall(model, { "0.lora_B.default.weight": dx.zeros([2, 1], { device: "cpu" }) }, x).dataSync()).not.toEqual(want);
});

it("fit() trains adapters, and its checkpoints hold them", async () => {
  const begin = () => {
    const model = dx.nn.sequential(dx.nn.linear(2, 8), dx.nn.relu(), dx.nn.linear(8, 2));
    fill(model);
    const adapters = dx.nn.lora(model, { rank: 2, generator: new dx.Generator(1) });
    return { model, adapters, optimizer: dx.optim.adamW(adapters.parameters(), { lr: 0.05 }) };
  };
  const points = Array.from(
    { length: 32 },
    (_, i) => [Float32Array.of(Math.cos(i), Math.sin(3 * i)), Math.cos(i) > Math.sin(3 * i) ? 1 : 0] as const,
  );
  const loader = dx.data.dataLoader(points, { batchSize: 16 });
  const { model, adapters, optimizer } = begin();
  const frozen = (model.at(0) as dx.nn.Linear).weight.dataSync().slice();
  const path = join(folder, "fit");
  const result = await dx.train.fit(loader, {
    model,
    optimizer,
    loss: ([x, y]) => dx.nn.functional.crossEntropy(model.forward(x), y),
    epochs: 20,
    quiet: true,
    checkpoint: { folder: path },
  });
  expect(result.history.at(-1)!.loss).toBeLessThan(result.history[0]!.loss);
  expect((model.at(0) as dx.nn.Linear).weight.dataSync()).toEqual(frozen);
  const file = join(folder, "state.safetensors");
  await dx.save(file, { model, optimizer });
  const other = begin();
  await dx.load(file, { into: { model: other.model, optimizer: other.optimizer } });
  expect(other.adapters.parameters().map((p) => p.dataSync())).toEqual(adapters.parameters().map((p) => p.dataSync()));
});

it("generation forgets its cache when adapters change", async () => {
  const model = await dx.models.fromConfig(cases.llama.config!, { family: "llama", device: "cpu" });
  fill(model);
  const text = async (): Promise<number[]> => Array.from((await dx.models.generate(model, [3, 1, 4, 1], { maxNewTokens: 8 }))[0]!.tokens);
  const plain = await text();
  const adapters = dx.nn.lora(model, { rank: 4, alpha: 16 });
  expect(adapters.layers).not.toContain("lm_head");
  expect(await text()).toEqual(plain);
  fill(model);
  const adapted = await text();
  expect(adapted).not.toEqual(plain);
  adapters.disable();
  expect(await text()).toEqual(plain);
  adapters.enable();
  expect(await text()).toEqual(adapted);
  await dx.models.releaseGeneration(model);
});

it("errors say what was expected", async () => {
  const tied = await dx.models.fromConfig({ ...cases.llama.config, tie_word_embeddings: true }, { device: "cpu" });
  const adapters = dx.nn.lora(tied, { target: "embed_tokens" });
  expect(() => adapters.merge()).toThrow("embed_tokens must be a layer with a weight of its own");
  expect(() => dx.nn.lora(tied, { target: "q_proj" })).toThrow("name must be one that the module has no adapters of; received default");
  adapters.remove();
  expect(() => adapters.enable()).toThrow("which model.embed_tokens has no more");
  expect(() => dx.nn.loraOf(tied)).toThrow(dx.ValueError);
  expect(() => dx.nn.lora(tied, { target: "qproj" })).toThrow("target must be one that chooses a layer: model.embed_tokens");
  expect(() => dx.nn.lora(tied, { target: "norm" })).toThrow(dx.UnsupportedError);
  expect(dx.nn.lora(tied, { target: /attn\.[qk]/, exclude: "k_proj" }).layers).toEqual(["model.layers.0.self_attn.q_proj"]);
  const layer = dx.nn.linear(2, 2, { device: "cpu" });
  expect(() => dx.nn.lora(layer, { rank: 0 })).toThrow("rank must be an integer of at least 1");
  expect(() => dx.nn.lora(layer, { dropout: 1 })).toThrow("dropout must be in [0, 1)");
  expect(() => dx.nn.lora(dx.nn.multiheadAttention(4, 2, { device: "cpu" }), { target: "out_proj" })).toThrow(dx.UnsupportedError);
  expect(() => dx.nn.lora(dx.nn.lazyLinear(2, { device: "cpu" }), {})).toThrow("lazy layer");
  expect(layer.parameters().every((p) => p.requiresGrad)).toBe(true);

  const { module } = await caseOf("llama", "cpu");
  const broken = await mkdtemp(join(folder, "broken-"));
  await expect(dx.io.peft.load(module, broken)).rejects.toThrow(dx.FormatError);
  const config = JSON.parse(await readFile(join(peftFolder("llama"), "adapter_config.json"), "utf8")) as Record<string, unknown>;
  const write = (change: Record<string, unknown>): Promise<void> =>
    writeFile(join(broken, "adapter_config.json"), JSON.stringify({ ...config, ...change }));
  await write({ use_dora: true });
  await expect(dx.io.peft.load(module, broken)).rejects.toThrow("use_dora must be left out");
  await write({ peft_type: "IA3" });
  await expect(dx.io.peft.load(module, broken)).rejects.toThrow('peft_type "LORA"');
  await write({});
  await expect(dx.io.peft.load(module, broken)).rejects.toThrow(dx.FormatError);
  await expect(dx.io.peft.load(layer, peftFolder("llama"))).rejects.toThrow("one without model.embed_tokens");
  const wider = await dx.models.fromConfig({ ...cases.llama.config, hidden_size: 32 }, { device: "cpu" });
  const names = Object.keys(wider.stateDict());
  await expect(dx.io.peft.load(wider, peftFolder("llama"))).rejects.toThrow(dx.DxError);
  expect(Object.keys(wider.stateDict())).toEqual(names);
  expect(wider.parameters().every((p) => p.requiresGrad)).toBe(true);
});
