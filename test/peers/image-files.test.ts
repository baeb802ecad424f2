/** Images that are written: PNG and other formats, and grids. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eachDevice } from "../device.ts";
import * as dx from "../../src/index.ts";
import { decodePixels, encodePng, makeGrid, saveImage } from "../../src/peers/images/index.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-image-files-"));
});
afterAll(() => rm(folder, { recursive: true }));

const bytes = (shape: number[], dtype: dx.DType = "uint8"): dx.Tensor =>
  dx
    .tensor(
      Uint8Array.from({ length: shape.reduce((a, b) => a * b) }, (_, i) => (i * 37) % 256),
      { shape },
    )
    .to(dtype);

describe("encodePng", () => {
  it.each(["gray", "grayAlpha", "rgb", "rgba"] as const)("%s comes back as it was", async (mode) => {
    const channels = { gray: 1, grayAlpha: 2, rgb: 3, rgba: 4 }[mode];
    const image = bytes([channels, 4, 5]);
    expect([...(await decodePixels(await encodePng(image), { mode: "unchanged" })).data]).toEqual([...(await image.data() as Uint8Array)]); // prettier-ignore
    expect((await decodePixels(await encodePng(image), { mode: "unchanged" })).shape).toEqual([channels, 4, 5]);
  });

  it("takes floats, 16 bits, views and [H, W]", async () => {
    const floats = dx.tensor([[-1, 0, 0.5], [0.999, 1, 2]]); // prettier-ignore
    expect([...(await decodePixels(await encodePng(floats), { mode: "gray" })).data]).toEqual([0, 0, 128, 255, 255, 255]);
    expect([...(await decodePixels(await encodePng(floats.to("float16").t()), { mode: "gray" })).data]).toEqual([0, 255, 0, 255, 128, 255]);
    const deep = dx.tensor(Uint16Array.of(0, 1, 256, 65535, 1000, 3), { shape: [3, 1, 2] });
    expect([...(await decodePixels(await encodePng(deep), { depth: 16 })).data]).toEqual([0, 1, 256, 65535, 1000, 3]);
  });

  it("refuses what is no image", async () => {
    await expect(encodePng(dx.ones([5, 2, 2]))).rejects.toThrow(
      /encodePng: image must be \[C, H, W\] with 1 to 4 channels.*float32\[5, 2, 2\]/,
    );
    await expect(encodePng(dx.ones([3, 0, 2]))).rejects.toThrow(dx.ShapeError);
    await expect(encodePng(dx.ones([1, 3, 2, 2]))).rejects.toThrow(dx.ShapeError);
    await expect(encodePng(dx.ones([3, 2, 2], { dtype: "int32" }))).rejects.toThrow(dx.DTypeError);
    await expect(encodePng(dx.ones([2, 2]), { compressionLevel: 10 })).rejects.toThrow(dx.ValueError);
  });
});

describe("makeGrid", () => {
  eachDevice("on a device", () => {
    it("puts images row by row, three times alike", () => {
      for (let i = 0; i < 3; i++) {
        const images = dx.arange(6).reshape([3, 2, 1, 1]);
        const grid = makeGrid(images, { nrow: 2, padding: 1, padValue: 9 });
        // prettier-ignore
        expect(grid.toArraySync()).toEqual([
          [[9, 9, 9, 9, 9], [9, 0, 9, 2, 9], [9, 9, 9, 9, 9], [9, 4, 9, 9, 9], [9, 9, 9, 9, 9]],
          [[9, 9, 9, 9, 9], [9, 1, 9, 3, 9], [9, 9, 9, 9, 9], [9, 5, 9, 9, 9], [9, 9, 9, 9, 9]],
        ]);
        expect(makeGrid(images, { nrow: 3, padding: 0 }).toArraySync()).toEqual([[[0, 2, 4]], [[1, 3, 5]]]);
      }
    });
  });

  it("makes three channels of one, and takes lists and bytes", () => {
    expect(makeGrid([dx.ones([2, 2]), dx.zeros([2, 2])]).shape).toEqual([3, 6, 10]);
    expect(makeGrid(dx.ones([1, 1, 4, 4])).shape).toEqual([3, 4, 4]);
    expect(makeGrid(bytes([17, 3, 2, 2])).shape).toEqual([3, 14, 34]);
    expect(makeGrid(bytes([17, 3, 2, 2])).dtype).toBe("uint8");
    expect(() => makeGrid(dx.ones([0, 3, 2, 2]))).toThrow(dx.ShapeError);
    expect(() => makeGrid(dx.ones([2]))).toThrow(dx.ShapeError);
    expect(() => makeGrid(dx.ones([2, 3, 2, 2]), { nrow: 0 })).toThrow(dx.ValueError);
    expect(() => makeGrid(dx.ones([2, 3, 2, 2]), { padding: -1 })).toThrow(dx.ValueError);
  });
});

describe("saveImage", () => {
  it.each(["a.png", "a.jpg", "a.webp", "a.tiff"])("%s", async (name) => {
    const path = join(folder, name);
    await saveImage(dx.full([3, 8, 9], 0.5), pathToFileURL(path), { quality: 100 });
    const { data, shape } = await decodePixels(path);
    expect(shape).toEqual([3, 8, 9]);
    expect(data.every((v) => Math.abs(v - 128) <= 1)).toBe(true);
  });

  it("writes batches as grids, and refuses wrong names", async () => {
    const path = join(folder, "grid.png");
    await saveImage(dx.ones([3, 1, 2, 2]), path, { nrow: 3, padding: 1 });
    expect((await decodePixels(path)).shape).toEqual([3, 4, 10]);
    await expect(saveImage(dx.ones([2, 2]), join(folder, "a.bmp"))).rejects.toThrow(/saveImage: path must be a format of png, jpeg/);
    await expect(saveImage(dx.ones([2, 2]), path, { format: "bmp" as never })).rejects.toThrow(dx.ValueError);
    await expect(saveImage(dx.ones([2, 2]), path, { quality: 0 })).rejects.toThrow(dx.ValueError);
    await expect(saveImage(dx.ones([2, 2]), join(folder, "none", "a.png"))).rejects.toThrow(
      /none.a\.png must be a file that can be written/,
    );
    await expect(saveImage(dx.ones([2, 2]), path, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
    await expect(saveImage(dx.ones([3, 2, 2], { dtype: "uint16" }), join(folder, "a.jpg"))).rejects.toThrow(dx.DTypeError);
  });
});
