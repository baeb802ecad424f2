/** Files of other formats, given where an ONNX file is expected. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { graph, model, node, value } from "./write.ts";

const files: readonly (readonly [name: string, bytes: () => Promise<Uint8Array>, says: RegExp])[] = [
  ["a.gguf", async () => Buffer.from("GGUF\u0003\0\0\0rest", "latin1"), /a GGUF file.*dx\.models\.fromPretrained.*dx\.io\.gguf\.open/],
  ["b.safetensors", () => dx.io.safetensors.serialize({ w: dx.ones([3]) }), /a safetensors file.*dx\.io\.safetensors\.load/],
  ["c.npz", () => dx.io.npz.serialize({ w: dx.ones([3]) }), /a ZIP archive.*dx\.io\.pytorch\.load.*dx\.io\.npz\.load/],
  ["d.npy", () => dx.io.npy.serialize(dx.ones([3])), /a file of NumPy's.*dx\.io\.npy\.load/],
  ["e.json", async () => Buffer.from('{"format": "layers-model"}'), /JSON text.*dx\.io\.tfjs\.load/],
];

test.each(files)("%s is named, with what opens it", async (name, bytesOf, says) => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-"));
  try {
    const bytes = await bytesOf();
    const path = join(folder, name);
    writeFileSync(path, bytes);
    await expect(dx.io.onnx.load(bytes)).rejects.toThrow(says);
    const error: unknown = await dx.io.onnx.load(path).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.io.FormatError);
    expect(error).toMatchObject({ operation: "onnx.load", argument: path, expected: "an ONNX file" });
    expect(String(error)).toMatch(says);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an ONNX file is taken, and fewer bytes than a beginning are none of these", async () => {
  const made = model({
    opset: 18,
    graph: graph({ inputs: [value("x", 1, [1])], outputs: [value("y", 1, [1])], initializers: [], nodes: [node("Relu", ["x"], ["y"])] }),
  });
  using loaded = await dx.io.onnx.load(made);
  expect(loaded.inputs.map(({ name }) => name)).toEqual(["x"]);
  for (const length of [0, 1, 3]) await expect(dx.io.onnx.load(Buffer.from("GGU").subarray(0, length))).rejects.not.toThrow("GGUF");
});
