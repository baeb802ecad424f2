/** Every block type, bit for bit as llama.cpp's own Python package has it (record.py). */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { converter } from "../../../src/io/gguf/convert.ts";
import { BLOCKS } from "../../../src/io/gguf/dequantize.ts";
import { GRID_BLOCKS } from "../../../src/io/gguf/grids.ts";
import { quantize } from "../../../src/io/gguf/quantize.ts";
import { TYPES, typeByName } from "../../../src/io/gguf/types.ts";

interface Recorded {
  readonly dequantize: Readonly<Record<string, { readonly blocks: string; readonly values: string }>>;
  readonly rows: string;
  readonly quantize: Readonly<Record<string, string>>;
}
const recorded = JSON.parse(readFileSync(fileURLToPath(new URL("blocks.json", import.meta.url)), "utf8")) as Recorded;
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"));
const floats = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer);

test("all packed types are recorded", () => {
  const packed = TYPES.filter(({ dtype }) => dtype === null).map(({ name }) => name);
  expect(Object.keys(recorded.dequantize).toSorted()).toEqual(packed.toSorted());
  expect([...Object.keys(BLOCKS), ...Object.keys(GRID_BLOCKS)].toSorted()).toEqual(packed.toSorted());
});

test.each(Object.keys(recorded.dequantize))("%s as float32 and float16", (name) => {
  const blocks = bytesOf(recorded.dequantize[name]!.blocks);
  const expected = floats(bytesOf(recorded.dequantize[name]!.values));
  const info = typeByName.get(name)!;
  expect((blocks.length / info.blockBytes) * info.blockSize).toBe(expected.length);
  const made = new Float32Array(expected.length);
  const convert = converter(info, "float32")!;
  convert(0, blocks, (offset, bytes) => made.set(floats(bytes), offset / 4));
  expect(made).toEqual(expected);
  // From the second block on, into its own elements.
  const half = new Uint16Array(expected.length);
  const toHalf = converter(info, "float16")!;
  toHalf(info.blockBytes, blocks.subarray(info.blockBytes), (offset, bytes) => half.set(new Uint16Array(bytes.slice().buffer), offset / 2));
  const rounded = new Uint16Array(expected.length);
  const step = converter(typeByName.get("F32")!, "float16")!;
  step(0, new Uint8Array(expected.buffer), (offset, bytes) => rounded.set(new Uint16Array(bytes.slice().buffer), offset / 2));
  expect(half.subarray(info.blockSize)).toEqual(rounded.subarray(info.blockSize));
});

test.each(["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"] as const)("%s is packed with the same bytes", (name) => {
  const made = quantize(name, typeByName.get(name)!.blockBytes, floats(bytesOf(recorded.rows)));
  expect(Buffer.from(made).toString("hex")).toBe(Buffer.from(bytesOf(recorded.quantize[name]!)).toString("hex"));
});

test.each(["float16", "bfloat16"] as const)("float32 as %s", (dtype) => {
  const made: string[] = [];
  const convert = converter(typeByName.get("F32")!, dtype)!;
  convert(0, bytesOf(recorded.rows), (_, bytes) => void made.push(Buffer.from(bytes).toString("base64")));
  expect(made).toEqual([recorded.quantize[dtype === "float16" ? "F16" : "BF16"]]);
});

test("a long row goes in steps", () => {
  const count = 2 ** 16 * 2 + 64;
  const values = Float32Array.from({ length: count }, (_, i) => ((i * 37) % 255) - 127);
  const info = typeByName.get("Q8_0")!;
  const made = new Float32Array(count);
  const convert = converter(info, "float32")!;
  convert(0, quantize("Q8_0", info.blockBytes, values), (offset, bytes) => made.set(floats(bytes), offset / 4));
  expect(made.every((x, i) => Math.abs(x - values[i]!) <= 0.6)).toBe(true);
});
