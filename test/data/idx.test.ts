import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { expectClose } from "../tolerance.ts";

const { data, io } = dx;

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
  await expect(data.readIdx(join(tmpdir(), "dxtensor-missing"))).rejects.toThrow(/ENOENT/);
});

test("gzip files: read, and never more than the header says", async () => {
  const folder = await mkdtemp(join(tmpdir(), "dxtensor-idx-"));
  try {
    const path = join(folder, "a.gz");
    const good = idx(0x0b, [2], [1, 2, 3, 4]);
    await writeFile(path, gzipSync(good));
    expect((await data.readIdx(path)).data).toEqual(Int16Array.of(0x102, 0x304));
    for (const bytes of [
      gzipSync(good).subarray(0, 20),
      gzipSync(good.subarray(0, 7)),
      gzipSync(""),
      gzipSync(Buffer.concat([good, Buffer.alloc(2 ** 23)])),
    ]) {
      await writeFile(path, bytes);
      await expect(data.readIdx(path)).rejects.toThrow(io.FormatError);
    }
    await writeFile(
      join(folder, "t10k-images-idx3-ubyte.gz"),
      gzipSync(
        idx(
          0x08,
          [1, 28, 28],
          Array.from({ length: 784 }, () => 255),
        ),
      ),
    );
    await writeFile(join(folder, "t10k-labels-idx1-ubyte.gz"), gzipSync(idx(0x08, [1], [7])));
    const [image, label] = (await data.mnist(folder, { train: false })).tensors;
    expect([image.shape, await label.toArray()]).toEqual([[1, 1, 28, 28], [7]]);
    // Direct3D's division may miss the last bit: 255 / 255 is not 1 on each GPU.
    expectClose(image, new Array<number>(784).fill(1));
    await expect(data.mnist(folder)).rejects.toThrow(/train-images-idx3-ubyte/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
