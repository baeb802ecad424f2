/** Blocks of GGUF files as packed weights, compared with what the reader of GGUF makes of the same bytes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { BLOCKS } from "../../src/io/gguf/dequantize.ts";
import { typeByName } from "../../src/io/gguf/types.ts";
import { packedWeight, staysPacked } from "../../src/models/gguf-packed.ts";
import { numbers } from "../device.ts";

test.each(["Q4_0", "Q4_1", "Q8_0", "Q4_K"] as const)("%s", (type) => {
  const { blockSize, blockBytes } = typeByName.get(type)!;
  const [rows, width] = [3, 512];
  const data = Uint8Array.from({ length: ((rows * width) / blockSize) * blockBytes }, (_, i) => (i * 73 + (i >> 3) * 19) & 255);
  // Scales and minima of moderate size.
  for (let at = 0; at < data.length; at += blockBytes) for (const high of [1, 3]) data[at + high] = 0x20 + (at % 11);
  const expected = new Float32Array(rows * width);
  for (let at = 0, to = 0; at < data.length; at += blockBytes, to += blockSize) BLOCKS[type]!(data, at, expected, to);
  const layer = new dx.nn.QuantizedLinear(packedWeight({ type, shape: [rows, width], data }, dx.device("cpu")));
  const got = numbers(layer.dequantize());
  const largest = Math.max(...expected.map(Math.abs));
  got.forEach((v, i) => {
    expect(Math.abs(v - expected[i]!)).toBeLessThanOrEqual(2e-6 * largest);
  });
  const eye = numbers(layer(dx.eye(width)));
  eye.forEach((v, i) => {
    expect(Math.abs(v - expected[(i % rows) * width + Math.floor(i / rows)]!)).toBeLessThanOrEqual(4e-6 * largest);
  });
});

test("other types become floats", () => {
  expect(["F32", "F16", "Q6_K", "Q5_0"].some((type) => staysPacked(type as "F32"))).toBe(false);
});

test("a model takes no floats for packed weights, and frees all", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-packed-"));
  const [vocabulary, width, inner] = [96, 64, 128];
  const path = join(folder, "small.gguf");
  const shapes: Record<string, readonly [number, number]> = {
    "token_embd.weight": [vocabulary, width],
    "blk.0.attn_q.weight": [width, width],
    "blk.0.attn_k.weight": [width, width],
    "blk.0.attn_v.weight": [width, width],
    "blk.0.attn_output.weight": [width, width],
    "blk.0.ffn_gate.weight": [inner, width],
    "blk.0.ffn_up.weight": [inner, width],
    "blk.0.ffn_down.weight": [width, inner],
  };
  const norms = ["output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"];
  const metadata = {
    "general.architecture": "llama",
    "llama.embedding_length": width,
    "llama.feed_forward_length": inner,
    "llama.block_count": 1,
    "llama.attention.head_count": 2,
    "llama.context_length": 64,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
  };
  try {
    const made = Object.entries(shapes).map(
      ([name, shape], i) => [name, dx.randn(shape, { generator: new dx.Generator(i), device: "cpu" })] as const,
    );
    const tensors = Object.fromEntries([...made, ...norms.map((name) => [name, dx.ones([width], { device: "cpu" })] as const)]);
    await dx.io.gguf.save(path, { tensors, metadata, quantize: "Q4_0" });
    for (const t of Object.values(tensors)) t.dispose();
    const before = dx.memoryStatistics("cpu");
    const model = await dx.models.fromPretrained(path, { family: "llama", device: "cpu" });
    expect(dx.memoryStatistics("cpu").weightsInBytes - before.weightsInBytes).toBe(norms.length * width * 4);
    model.dispose();
    expect(dx.memoryStatistics("cpu").liveBuffers).toBe(before.liveBuffers);
    const packed = await dx.models.fromPretrained(path, { family: "llama", device: "cpu" });
    const floats = await dx.models.fromPretrained(path, { family: "llama", device: "cpu", dequantize: true });
    const tokens = dx.tensor([[3, 1, 4]], { dtype: "int32", device: "cpu" });
    const [got, wanted] = dx.scope(() => dx.noGrad(() => [numbers(packed(tokens)), numbers(floats(tokens))] as const));
    got.forEach((v, i) => {
      expect(Math.abs(v - wanted[i]!)).toBeLessThan(1e-4);
    });
    for (const t of [tokens, packed, floats]) t.dispose();
  } finally {
    await rm(folder, { recursive: true });
  }
});
