/** Blocks of GGUF files as packed weights, compared with what the reader of GGUF makes of the same bytes. */
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
