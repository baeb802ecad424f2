/** CIFAR-10 and CIFAR-100 from files of their binary versions. */
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

const { cifar10, cifar100, dataLoader } = dx.data;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-cifar-"));
  // Image i of file f: red is i, green 10 f, blue 255.
  const image = (i: number, f: number): Buffer =>
    Buffer.concat([Buffer.alloc(1024, i), Buffer.alloc(1024, 10 * f), Buffer.alloc(1024, 255)]);
  for (let f = 1; f <= 5; f++)
    await writeFile(
      join(folder, `data_batch_${f}.bin`),
      Buffer.concat([0, 1, 2].flatMap((i) => [Buffer.of((3 * f + i) % 10), image(i, f)])),
    );
  await writeFile(join(folder, "test_batch.bin"), Buffer.concat([Buffer.of(9), image(7, 0)]));
  await writeFile(join(folder, "batches.meta.txt"), "airplane\r\nautomobile\r\n\r\n");
  await writeFile(join(folder, "train.bin"), Buffer.concat([Buffer.of(19, 99), image(1, 1), Buffer.of(3, 42), image(2, 2)]));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("images of all files, scaled, with their labels", async () => {
  const set = await cifar10(folder);
  expect([set.length, set.classes]).toEqual([15, ["airplane", "automobile"]]);
  const [image, label] = await set.get(7);
  expect([image.shape, label, image.data[0], image.data[1024], image.data[3071]]).toEqual([
    [3, 32, 32],
    0,
    Math.fround(1 / 255),
    Math.fround(30 / 255),
    1,
  ]);
  const tests = await cifar10(pathToFileURL(folder), { train: false });
  expect([tests.length, (await tests.get(0))[1]]).toEqual([1, 9]);
});

test("CIFAR-100 has two labels", async () => {
  const [fine, coarse] = [await cifar100(folder), await cifar100(folder, { labels: "coarse" })];
  expect([(await fine.get(0))[1], (await fine.get(1))[1], (await coarse.get(0))[1], (await coarse.get(1))[1]]).toEqual([99, 42, 19, 3]);
  expect((await fine.get(1))[0].data[0]).toBe(Math.fround(2 / 255));
});

eachDevice("batches", (device) => {
  test("of a shuffled part, three passes, as types say", () =>
    clean(device, async () => {
      const part = dx.data.subset(await cifar10(folder), [3, 4, 5, 14]);
      const loader = dataLoader(part, { batchSize: 4, shuffle: true, generator: new dx.Generator(1) });
      for (let i = 0; i < 3; i++)
        for await (const [images, labels] of loader) {
          expectTypeOf(images).toEqualTypeOf<dx.Tensor>();
          expect([images.shape, images.dtype, labels.dtype]).toEqual([[4, 3, 32, 32], "float32", "int32"]);
          expect((labels.toArraySync() as number[]).toSorted((a, b) => a - b)).toEqual([6, 7, 7, 8]);
          images.dispose();
          labels.dispose();
        }
    }));
});

test("workers make one too", async () => {
  const module = join(folder, "dataset.mjs");
  // The file that the bundled tests have too.
  const library = new URL("../../dist/index.js", import.meta.url).href;
  await writeFile(module, `import { data } from ${JSON.stringify(library)};\nexport default data.cifar10;`);
  const set = await dx.data.workerDataset<{ default(path: string): Promise<dx.data.CifarDataset> }>(module, folder);
  const labels: number[] = [];
  for await (const [, y] of dataLoader(set, { batchSize: 4, numWorkers: 2 })) labels.push(...((await y.toArray()) as number[]));
  expect(labels).toEqual(Array.from({ length: 15 }, (_, i) => (3 + i) % 10));
});

test("what is refused", async () => {
  const set = await cifar10(folder);
  for (const index of [-1, 15, 0.5, Number.NaN]) await expect(set.get(index)).rejects.toThrow(dx.ValueError);
  await expect(cifar100(folder, { train: false })).rejects.toThrow(/test\.bin/);
  await expect(cifar100(folder, { labels: "both" as never })).rejects.toThrow(dx.DxError);
  const other = await mkdtemp(join(folder, "other-"));
  await expect(cifar10(other)).rejects.toThrow(/cifar-10-binary\.tar\.gz/);
  await writeFile(join(other, "test_batch"), "pickle");
  const error: unknown = await cifar10(other, { train: false }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(dx.UnsupportedError);
  expect(String(error)).toMatch(/pickle of the Python version/);
  for (const size of [0, 1, 3072, 3074]) {
    await writeFile(join(other, "test_batch.bin"), Buffer.alloc(size));
    await expect(cifar10(other, { train: false })).rejects.toThrow(/images of 3073 bytes/);
  }
  await writeFile(join(other, "test_batch.bin"), Buffer.alloc(3073, 10));
  const wrong = await cifar10(other, { train: false });
  await expect(wrong.get(0)).rejects.toThrow(/labels below 10; received 10 at offset 0/);
  await truncate(join(other, "test_batch.bin"), 100);
  await expect(wrong.get(0)).rejects.toThrow(dx.io.FormatError);
});
