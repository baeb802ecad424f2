/** Blocks of GGUF files as packed weights, compared with what the reader of GGUF makes of the same bytes. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { BLOCKS } from "../../src/io/gguf/dequantize.ts";
import type { OpenGguf } from "../../src/io/gguf/read.ts";
import { typeByName, type GgufType } from "../../src/io/gguf/types.ts";
import { CODES } from "../../src/models/gguf-codes.ts";
import { PackedReader, staysPacked } from "../../src/models/gguf-packed.ts";
import { reclaim } from "../../src/runtime/buffers.ts";
import { numbers } from "../device.ts";

/** A file of one matrix, which is given in two pieces. */
function fileOf(type: GgufType, shape: readonly [number, number], data: Uint8Array): Pick<OpenGguf, "tensors" | "pieces"> {
  return {
    tensors: new Map([["w", { name: "w", type, shape, sizeInBytes: data.length }]]),
    async pieces(_operation, _name, { size, write }) {
      expect(size % (data.length / shape[0])).toBe(0);
      const half = ((data.length / shape[0]) * shape[0]) / 2;
      await write(0, data.subarray(0, half));
      await write(half, data.subarray(half));
    },
  };
}

/** Blocks of a type for so many elements, with halves of moderate size wherever it has its scale and its minimum. */
function blocksOf(type: GgufType, elements: number): Uint8Array {
  const { blockSize, blockBytes } = typeByName.get(type)!;
  const data = Uint8Array.from({ length: (elements / blockSize) * blockBytes }, (_, i) => (i * 73 + (i >> 3) * 19) & 255);
  const ends: Partial<Record<GgufType, readonly number[]>> = { Q2_K: [81, 83], Q3_K: [109], Q6_K: [209], TQ1_0: [53], TQ2_0: [65] };
  for (let at = 0; at < data.length; at += blockBytes)
    for (const high of ends[type] ?? (CODES[type]!.hasMinima ? [1, 3] : [1])) data[at + high] = 0x14 + (at % 7) + (at & 128);
  return data;
}

test.each(Object.keys(CODES) as GgufType[])("%s", async (type) => {
  const { blockSize, blockBytes } = typeByName.get(type)!;
  const [rows, width] = [8, 512];
  const data = blocksOf(type, rows * width);
  const expected = new Float32Array(rows * width);
  for (let at = 0, to = 0; at < data.length; at += blockBytes, to += blockSize) BLOCKS[type]!(data, at, expected, to);
  const reader = new PackedReader("test", fileOf(type, [rows, width], data), dx.device("cpu"));
  const layer = new dx.nn.QuantizedLinear(await reader.read("w", null, undefined));
  const got = numbers(layer.dequantize());
  const largest = Math.max(...expected.map(Math.abs));
  const furthest = (values: readonly number[], wanted: (i: number) => number): number =>
    values.reduce((most, v, i) => Math.max(most, Math.abs(v - wanted(i))), 0);
  expect(furthest(got, (i) => expected[i]!)).toBeLessThanOrEqual(2e-6 * largest);
  const eye = numbers(layer(dx.eye(width, width, { device: "cpu" })));
  expect(furthest(eye, (i) => expected[(i % rows) * width + Math.floor(i / rows)]!)).toBeLessThanOrEqual(4e-6 * largest);
  // Two heads: neighbours of a head's rows come half a head apart.
  const apart = new dx.nn.QuantizedLinear(await reader.read("w", 2, undefined));
  const order = [0, 2, 1, 3, 4, 6, 5, 7];
  expect(furthest(numbers(apart.dequantize()), (i) => expected[order[Math.floor(i / width)]! * width + (i % width)]!)).toBeLessThanOrEqual(
    2e-6 * largest,
  );
});

/** A row of Q4_1 with one block of each pair of scale and minimum, as words of float16. */
function rowOf(blocks: readonly (readonly [d: number, m: number])[]): Uint8Array {
  const data = Uint8Array.from({ length: blocks.length * 20 }, (_, i) => (i * 37) & 255);
  for (const [i, words] of blocks.entries()) new Uint16Array(data.buffer, i * 20, 2).set(words);
  return data;
}

test.each([
  // 1 - 8; 2^-24 - 8 * 2^-24; the largest, and nothing.
  ["float16", [[0x3c00, 0xc800], [0x0001, 0x8001], [0x0000, 0x7bff]]], // prettier-ignore
  // 8.0078125 + 2 ** -10 has 14 digits.
  ["float32", [[0x3c00, 0xc800], [0x3c01, 0x1400]]], // prettier-ignore
] as const)("scales and minima of Q4_1 are %s where that holds all of them", async (dtype, blocks) => {
  const data = rowOf([...blocks, ...blocks]);
  const shape = [2, blocks.length * 32] as const;
  const expected = new Float32Array(shape[0] * shape[1]);
  for (let at = 0, to = 0; at < data.length; at += 20, to += 32) BLOCKS.Q4_1!(data, at, expected, to);
  const reader = new PackedReader("test", fileOf("Q4_1", shape, data), dx.device("cpu"));
  const live = dx.memoryStatistics(dx.device("cpu")).liveBuffers;
  const weight = await reader.read("w", null, undefined);
  expect(dx.memoryStatistics(dx.device("cpu")).liveBuffers).toBe(live + 3);
  expect([weight.scales.dtype, weight.minima?.dtype]).toEqual([dtype, dtype]);
  expect(numbers(new dx.nn.QuantizedLinear(weight).dequantize())).toEqual([...expected]);
});

test("types whose elements are rows of tables become floats", () => {
  expect(["F32", "F16", "IQ2_XS", "IQ1_M"].some((type) => staysPacked(type as GgufType))).toBe(false);
});

/** Of each matrix of a mix, as llama.cpp's Q4_K_M and others have it. */
const MIXES: Readonly<Record<string, (name: string) => GgufType>> = {
  Q4_K_M: (name) => (/token|v\.|down/.test(name) ? "Q6_K" : "Q4_K"),
  Q5_K_M: (name) => (/token|v\.|down/.test(name) ? "Q6_K" : "Q5_K"),
  Q3_K_M: (name) => (/token/.test(name) ? "Q6_K" : /v\.|down/.test(name) ? "Q5_K" : /gate/.test(name) ? "Q2_K" : "Q3_K"),
  Q5: (name) => (/token/.test(name) ? "Q8_0" : /v\.|down/.test(name) ? "Q5_1" : "Q5_0"),
};

test.each(["Q4_0", ...Object.keys(MIXES)])("a model of %s takes no floats for packed weights, and frees all", async (mix) => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-packed-"));
  const [vocabulary, width, inner] = mix === "Q4_0" ? [96, 64, 128] : [64, 256, 256];
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
    const typeOf = MIXES[mix];
    const made = Object.entries(shapes).map(([name, shape], i): [string, dx.Tensor | dx.io.gguf.GgufPacked] => {
      if (typeOf === undefined) return [name, dx.randn(shape, { generator: new dx.Generator(i), device: "cpu" })];
      return [name, { type: typeOf(name), shape, data: blocksOf(typeOf(name), shape[0] * shape[1]) }];
    });
    const tensors = Object.fromEntries([...made, ...norms.map((name) => [name, dx.ones([width], { device: "cpu" })] as const)]);
    await dx.io.gguf.save(path, { tensors, metadata, quantize: typeOf === undefined ? "Q4_0" : undefined });
    for (const t of Object.values(tensors)) if (t instanceof dx.Tensor) t.dispose();
    // What other tests have left is collected while a model is loaded.
    reclaim(true);
    const before = dx.memoryStatistics("cpu");
    const model = await dx.models.fromPretrained(path, { family: "llama", device: "cpu" });
    expect(dx.memoryStatistics("cpu").weightsInBytes - before.weightsInBytes).toBe(norms.length * width * 4);
    model.dispose();
    expect(dx.memoryStatistics("cpu").liveBuffers).toBe(before.liveBuffers);
    const packed = await dx.models.fromPretrained(path, { family: "llama", device: "cpu" });
    // What uploads needed is free again.
    expect(dx.memoryStatistics("cpu").stagingInBytes).toBe(0);
    const floats = await dx.models.fromPretrained(path, { family: "llama", device: "cpu", dequantize: true });
    const tokens = dx.tensor([[3, 1, 4]], { dtype: "int32", device: "cpu" });
    const [got, wanted] = dx.scope(() => dx.noGrad(() => [numbers(packed(tokens)), numbers(floats(tokens))] as const));
    const largest = Math.max(1, ...wanted.map(Math.abs));
    expect(got.reduce((most, v, i) => Math.max(most, Math.abs(v - wanted[i]!)), 0)).toBeLessThan(2e-5 * largest);
    for (const t of [tokens, packed, floats]) t.dispose();
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a model's vocabulary takes no memory while it is loaded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-vocabulary-"));
  const path = join(folder, "small.gguf");
  const [width, inner] = [32, 32];
  const ones = (...shape: number[]): dx.Tensor => dx.ones(shape, { device: "cpu" });
  const layer = { attn_q: width, attn_k: width, attn_v: width, attn_output: width, ffn_gate: inner, ffn_up: inner, ffn_down: width };
  const tensors = {
    "token_embd.weight": ones(64, width),
    "output_norm.weight": ones(width),
    "blk.0.attn_norm.weight": ones(width),
    "blk.0.ffn_norm.weight": ones(width),
    ...Object.fromEntries(Object.entries(layer).map(([name, rows]) => [`blk.0.${name}.weight`, ones(rows, width)])),
  };
  const metadata = {
    "general.architecture": "llama",
    "llama.embedding_length": width,
    "llama.feed_forward_length": inner,
    "llama.block_count": 1,
    "llama.attention.head_count": 1,
    "llama.context_length": 64,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.merges": Array.from({ length: 200_000 }, (_, i) => `a token ${i}`),
  };
  try {
    await dx.io.gguf.save(path, { tensors, metadata });
    const load = async (): Promise<void> => (await dx.models.fromPretrained(path, { family: "llama", device: "cpu" })).dispose();
    // What the first loads import and compile.
    await load();
    await load();
    const taken: number[] = [];
    for (let i = 0; i < 3; i++) {
      const before = process.memoryUsage().heapUsed;
      await load();
      taken.push(process.memoryUsage().heapUsed - before);
    }
    // Texts take 9 MB and more. A collection lessens a figure.
    expect(taken.toSorted((a, b) => a - b)[1]).toBeLessThan(4e6);
  } finally {
    for (const t of Object.values(tensors)) t.dispose();
    await rm(folder, { recursive: true });
  }
});
