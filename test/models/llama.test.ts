/** Models of the Llama family compared with transformers (recorded/llama.py): logits, greedy tokens, and the files they are read from. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices } from "../device.ts";
import { fill } from "./recorded/fill.ts";

interface Recorded {
  readonly config: Record<string, unknown> & { readonly num_attention_heads: number; readonly num_key_value_heads: number };
  readonly names: readonly string[];
  readonly logits: readonly number[];
  readonly greedy: readonly (readonly number[])[];
}
const { prompts, cases } = JSON.parse(readFileSync(new URL("recorded/llama.json", import.meta.url), "utf8")) as {
  readonly prompts: readonly (readonly number[])[];
  readonly cases: Readonly<Record<string, Recorded>>;
};

const folder = await mkdtemp(join(tmpdir(), "dxtensor-llama-"));
afterAll(() => rm(folder, { recursive: true }));

const tokensOf = (device: string): dx.Tensor => dx.tensor([prompts[0]!, prompts[0]!.toReversed()], { dtype: "int32", device });

async function expectLogits(model: dx.models.Llama, { logits }: Recorded, device: string): Promise<void> {
  const got = await dx.noGrad(() => model(tokensOf(device))).data();
  expect(got).toHaveLength(logits.length);
  // Recorded with 6 digits behind the point.
  const worst = logits.reduce((most, want, i) => Math.max(most, Math.abs(Number(got[i]) - want)), 0);
  expect(worst).toBeLessThan(2e-5);
}

describe.each(devices)("%s", (device) => {
  it.each(Object.keys(cases))("%s", async (name) => {
    const recorded = cases[name]!;
    const model = await dx.models.fromConfig(recorded.config, { family: "llama", device });
    expect(Object.keys(model.stateDict()).toSorted()).toEqual([...recorded.names].sort());
    fill(model);
    await expectLogits(model, recorded, device);
    model.dispose();
  });

  it("padding on either side changes nothing for the other tokens", async () => {
    const model = await dx.models.fromConfig(cases["qwen3"]!.config, { family: "llama", device });
    fill(model);
    const plain = await model(dx.tensor([[3, 1, 4]], { dtype: "int32", device })).data();
    const mask = dx.tensor([[0, 0, 1, 1, 1]], { dtype: "int32", device });
    const positions = dx.tensor([[0, 0, 0, 1, 2]], { dtype: "int32", device });
    const left = dx.tensor([[7, 7, 3, 1, 4]], { dtype: "int32", device });
    const padded = await model(left, { attentionMask: mask, positions }).data();
    plain.forEach((want, i) => expect(Math.abs(Number(padded[2 * 37 + i]) - Number(want))).toBeLessThan(1e-5));
    model.dispose();
  });

  it("gradients of tied weights are those of both uses", async () => {
    const model = await dx.models.fromConfig(cases["llama"]!.config, { family: "llama", device });
    fill(model);
    const [tokens, labels] = [dx.tensor([[3, 1, 4]], { dtype: "int32", device }), dx.tensor([1, 4, 1], { dtype: "int32", device })];
    const loss = (): dx.Tensor => dx.nn.functional.crossEntropy(model(tokens).reshape([3, 37]), labels);
    loss().backward();
    const { weight } = model.lm_head as dx.nn.Linear;
    const slope = Number((await weight.grad!.data())[4 * 32]);
    const at = (by: number): Promise<number | bigint | boolean> =>
      dx.noGrad(() => {
        weight.select(0, 4).select(0, 0).add_(by);
        return loss().item();
      });
    const [above, below] = [Number(await at(0.05)), Number(await at(-0.1))];
    expect(Math.abs((above - below) / 0.1 - slope)).toBeLessThan(5e-3);
    model.dispose();
  });
});

it("a Hugging Face folder gives model and end tokens", async () => {
  const recorded = cases["llama"]!;
  const made = await dx.models.fromConfig(recorded.config, { family: "llama", device: "cpu" });
  fill(made);
  // As transformers saves tied weights: once. Half precision is read as float32.
  const { "lm_head.weight": _, ...state } = made.stateDict();
  await dx.io.safetensors.save(join(folder, "model.safetensors"), state);
  await writeFile(join(folder, "config.json"), JSON.stringify(recorded.config));
  await writeFile(join(folder, "generation_config.json"), JSON.stringify({ eos_token_id: [2, 5] }));
  const parts: string[] = [];
  const model = await dx.models.fromPretrained(folder, { family: "llama", device: "cpu", onProgress: ({ name }) => void parts.push(name) });
  expect(model.eosTokens).toEqual([2, 5]);
  expect(model.training).toBe(false);
  expect(parts).toHaveLength(Object.keys(state).length);
  await expectLogits(model, recorded, "cpu");
  const half = await dx.models.fromPretrained(folder, { device: "cpu", dtype: "float16" });
  expect(new Set(half.parameters().map((p) => p.dtype))).toEqual(new Set(["float16"]));
  const meta = await dx.models.fromPretrained(folder, { device: "meta" });
  expect(meta.parameters()[0]!.device.hasElements).toBe(false);
});

it("errors name what a folder lacks", async () => {
  const { config } = cases["llama"]!;
  const without = (change: Record<string, unknown>): Promise<unknown> => dx.models.fromConfig({ ...config, ...change }, { device: "meta" });
  await expect(without({ hidden_size: undefined })).rejects.toThrow("config.hidden_size must be an integer of at least 1");
  await expect(without({ model_type: "mamba" })).rejects.toThrow("config.model_type must be one of llama, mistral");
  await expect(without({ num_key_value_heads: 3 })).rejects.toThrow("a divisor of 4 heads");
  await expect(without({ model_type: "mistral", sliding_window: 16 })).rejects.toThrow("sliding_window");
  await expect(without({ rope_scaling: { rope_type: "dynamic", factor: 2 } })).rejects.toThrow(
    "config.rope_scaling.rope_type must be one of",
  );
  await expect(dx.models.fromPretrained(join(folder, "none"))).rejects.toThrow(dx.FormatError);
  await expect(dx.models.fromPretrained(join(folder, "config.json"))).rejects.toThrow(dx.FormatError);
  await expect(dx.models.fromPretrained(join(folder, "model.onnx"))).rejects.toThrow("received an ONNX file. dx.io.onnx.load() runs it.");
  const other = await mkdtemp(join(folder, "other-"));
  await writeFile(join(other, "config.json"), JSON.stringify(config));
  await dx.io.safetensors.save(join(other, "model.safetensors"), { "model.norm.weight": dx.ones([32], { device: "cpu" }) });
  await expect(dx.models.fromPretrained(other, { device: "cpu" })).rejects.toThrow("It lacks model.embed_tokens.weight");
  const signal = AbortSignal.abort(new Error("enough"));
  await expect(dx.models.fromPretrained(folder, { signal })).rejects.toThrow("enough");
});

it("a GGUF file gives config, names and the order of rows", async () => {
  const { config } = cases["llama"]!;
  const made = await dx.models.fromConfig(config, { family: "llama", device: "cpu" });
  fill(made);
  const names: Readonly<Record<string, string>> = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
    input_layernorm: "attn_norm", post_attention_layernorm: "ffn_norm",
  }; // prettier-ignore
  const tensors: Record<string, dx.Tensor> = {};
  for (const [name, t] of Object.entries(made.stateDict())) {
    const [, index, part] = /^model\.layers\.(\d+)\.(.+)\.weight$/.exec(name) ?? [];
    if (name === "model.embed_tokens.weight") tensors["token_embd.weight"] = t;
    else if (name === "model.norm.weight") tensors["output_norm.weight"] = t;
    else if (part !== undefined) {
      const heads = part.endsWith("q_proj") ? 4 : part.endsWith("k_proj") ? 2 : 0;
      const neighbours = heads === 0 ? t : t.reshape([heads, 2, 4, 32]).transpose(1, 2).contiguous().reshape(t.shape);
      tensors[`blk.${index}.${names[part]!}.weight`] = neighbours;
    }
  }
  const path = join(folder, "small.gguf");
  const metadata = {
    "general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 64, "llama.embedding_length": 32,
    "llama.feed_forward_length": 48, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
    "llama.attention.layer_norm_rms_epsilon": new Float32Array([1e-5])[0]!, "llama.rope.freq_base": 10000, "llama.rope.dimension_count": 8,
    "tokenizer.ggml.eos_token_id": 2,
  }; // prettier-ignore
  await dx.io.gguf.save(path, { tensors, metadata });
  const model = await dx.models.fromPretrained(path, { family: "llama", device: "cpu" });
  expect(model.eosTokens).toEqual([2]);
  expect(model.isTied).toBe(true);
  await expectLogits(model, cases["llama"]!, "cpu");
  await dx.io.gguf.save(path, { tensors, metadata: { ...metadata, "general.architecture": "rwkv" } });
  await expect(dx.models.fromPretrained(path)).rejects.toThrow(dx.UnsupportedError);
});
