/** Images by sharp: decoding, data sets, loaders with workers, broken files. */
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { decodeImage, decodePixels, encodePng, imageFolder, imageList, type DecodeImageOptions } from "../../src/peers/images/index.ts";

const recorded = new URL("images/", import.meta.url);
const file = (name: string): URL => new URL(name, recorded);
interface Expected {
  readonly [name: string]: {
    readonly shape: number[];
    readonly data: number[];
    readonly mode: "rgb";
    readonly options?: DecodeImageOptions;
  };
}
const expected = JSON.parse(await readFile(file("expected.json"), "utf8")) as Expected;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-images-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** class folders with PNG files of one colour each: root/CLASS/N.png is [N, label, 7]. */
async function classFolders(name: string, counts: Readonly<Record<string, number>>, size: [number, number] = [4, 5]): Promise<string> {
  const root = join(folder, name);
  for (const [label, [kind, count]] of Object.entries(counts).entries()) {
    await mkdir(join(root, kind), { recursive: true });
    for (let i = 0; i < count; i++) {
      const image = dx.stack([i, label, 7].map((v) => dx.full(size, v, { dtype: "uint8", device: "cpu" })));
      await writeFile(join(root, kind, `${i}.png`), await encodePng(image));
    }
  }
  return root;
}

describe("decodeImage", () => {
  it.each(Object.keys(expected))("%s is as Pillow decodes it", async (key) => {
    const { shape, data, mode, options } = expected[key]!;
    const image = await decodeImage(file(key.split(" ")[0]!), { mode, ...options, device: "cpu" });
    expect(image.shape).toEqual(shape);
    expect(image.dtype).toBe(options?.depth === 16 ? "uint16" : "uint8");
    const values = [...((await image.data()) as Uint8Array)];
    // JPEG decoders may round differently, and CMYK has no one conversion.
    const most = key.includes("cmyk") ? 96 : key.includes(".jpg") ? 4 : 0;
    expect(Math.max(...values.map((v, i) => Math.abs(v - data[i]!)))).toBeLessThanOrEqual(most);
  });

  it("takes paths, URLs and bytes, three times alike", async () => {
    const url = file("rgb.png");
    const bytes = new Uint8Array(await readFile(url));
    const all = await Promise.all([url, url.pathname, bytes, bytes].map((source) => decodePixels(source)));
    for (const image of all) expect(image).toEqual(all[0]);
  });

  it("turns by EXIF data, or not", async () => {
    expect((await decodePixels(file("rotated.jpg"))).shape).toEqual([3, 12, 8]);
    expect((await decodePixels(file("rotated.jpg"), { autoOrient: false })).shape).toEqual([3, 8, 12]);
  });

  it("resizes to a shape, or the shorter side, and crops", async () => {
    const [png, jpg] = [file("rgb.png"), file("rotated.jpg")];
    expect((await decodePixels(png, { resize: [3, 9] })).shape).toEqual([3, 3, 9]);
    expect((await decodePixels(jpg, { resize: 5 })).shape).toEqual([3, 7, 5]);
    const whole = await decodePixels(png);
    const [, height, width] = whole.shape;
    const center = await decodePixels(png, { crop: [2, 3], mode: "gray" });
    const gray = await decodePixels(png, { mode: "gray" });
    // PyTorch rounds 2.5 and 1.5 to 2.
    const [top, left] = [2, 2];
    expect([height, width]).toEqual([7, 6]);
    expect([...center.data]).toEqual([0, 1].flatMap((y) => [0, 1, 2].map((x) => gray.data[(top + y) * width + left + x])));
    const corner = await decodePixels(png, { crop: [2, 3], cropAt: "random", random: () => 0.999999, mode: "gray" });
    expect(corner.data[5]).toBe(gray.data.at(-1));
    await expect(decodePixels(png, { crop: 99 })).rejects.toThrow(/rgb\.png must be at least 99 x 99 pixels, for crop; received/);
  });

  it("reads one pixel, and a file by its content, not its ending", async () => {
    const pixel = await encodePng(dx.tensor([[[1]], [[2]], [[3]]], { dtype: "uint8", device: "cpu" }));
    expect(await decodePixels(pixel)).toEqual({ data: Uint8Array.of(1, 2, 3), shape: [3, 1, 1] });
    const path = join(folder, "png.jpg");
    await writeFile(path, pixel);
    expect((await decodePixels(path, { resize: 4 })).data).toEqual(Uint8Array.from({ length: 48 }, (_, i) => 1 + Math.floor(i / 16)));
  });

  it("names the file that it cannot read", async () => {
    const whole = await readFile(file("rgb.png"));
    const damaged = { "cut.png": whole.subarray(0, whole.length - 30), "text.png": Buffer.from("no image"), "empty.png": Buffer.alloc(0) };
    for (const [name, bytes] of Object.entries(damaged)) {
      const path = join(folder, name);
      await writeFile(path, bytes);
      const error = (await decodeImage(pathToFileURL(path)).catch((e: unknown) => e)) as dx.FormatError;
      expect(error).toBeInstanceOf(dx.FormatError);
      expect(error.message).toContain(`decodeImage: ${path} must be an image that the package sharp decodes; received `);
      expect(error.cause).toBeInstanceOf(Error);
    }
    const jpg = await readFile(file("rotated.jpg"));
    await expect(decodePixels(jpg.subarray(0, jpg.length - 60))).rejects.toThrow(/^decodePixels: bytes must be an image/);
    await expect(decodePixels(join(folder, "none.png"))).rejects.toThrow(/none\.png must be a file that can be read; received ENOENT/);
    await expect(decodePixels(folder)).rejects.toThrow(dx.FormatError);
  });

  it("refuses wrong options", async () => {
    const png = file("rgb.png");
    const wrong: [object, RegExp][] = [
      [{ mode: "bgr" }, /decodePixels: mode must be one of rgb, gray/],
      [{ depth: 12 }, /depth must be one of 8, 16; received 12/],
      [{ resize: 0 }, /resize must be an integer above 0/],
      [{ resize: [3] }, /resize must be/],
      [{ crop: [3, 1.5] }, /crop must be/],
      [{ cropAt: "left" }, /cropAt must be one of/],
      [{ interpolation: "area" }, /interpolation must be one of/],
    ];
    for (const [options, text] of wrong) await expect(decodePixels(png, options)).rejects.toThrow(text);
    for (const [options] of wrong) await expect(decodePixels(png, options)).rejects.toThrow(dx.ValueError);
    await expect(decodePixels(3 as never)).rejects.toThrow(dx.DTypeError);
    await expect(decodePixels(png, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
  });
});

describe("imageFolder", () => {
  it("has sorted classes, and the same batches with and without workers", async () => {
    const root = await classFolders("sorted", { dog: 3, cat: 2, Bird: 2 });
    await mkdir(join(root, "cat", "sub"));
    await cp(join(root, "cat", "0.png"), join(root, "cat", "sub", "9.PNG"));
    await writeFile(join(root, "cat", "notes.txt"), "no image");
    await writeFile(join(root, "README.png"), "not in a class");
    const set = await imageFolder(root);
    expect(set.classes).toEqual(["Bird", "cat", "dog"]);
    expect(set.classToIndex).toEqual({ Bird: 0, cat: 1, dog: 2 });
    expect(set.length).toBe(8);
    expect(set.skipped).toEqual([]);
    expect(set.samples.map(([path, label]) => [path.slice(root.length + 1).replaceAll("\\", "/"), label])).toEqual([
      ["Bird/0.png", 0],
      ["Bird/1.png", 0],
      ["cat/0.png", 1],
      ["cat/1.png", 1],
      ["cat/sub/9.PNG", 1],
      ["dog/0.png", 2],
      ["dog/1.png", 2],
      ["dog/2.png", 2],
    ]);
    const read = async (numWorkers: number): Promise<unknown[]> => {
      const options = { batchSize: 3, shuffle: true, numWorkers, generator: new dx.Generator(5), device: "cpu" };
      const batches: unknown[] = [];
      for await (const [images, labels] of dx.data.dataLoader(set, options)) {
        expect([images.dtype, images.shape.slice(1), labels.dtype]).toEqual(["uint8", [3, 4, 5], "int32"]);
        batches.push(await images.toArray(), await labels.toArray());
      }
      return batches;
    };
    const alone = await read(0);
    expect(alone).toHaveLength(6);
    expect(await read(2)).toEqual(alone);
    const [first] = (await set.get(7)) as [{ data: Uint8Array }, number];
    expect([first.data[0], first.data[20], first.data[40]]).toEqual([2, 0, 7]);
  });

  it("draws random crops from the pass, for any number of workers", async () => {
    const root = join(folder, "crops");
    await mkdir(join(root, "a"), { recursive: true });
    const ramp = dx.arange(64).reshape([1, 8, 8]).to("uint8");
    for (const name of ["0.png", "1.png", "2.png"]) await writeFile(join(root, "a", name), await encodePng(ramp));
    const set = await imageFolder(root, { mode: "gray", crop: 2, cropAt: "random" });
    const read = async (numWorkers: number): Promise<unknown> => {
      const loader = dx.data.dataLoader(set, { batchSize: 3, numWorkers, generator: new dx.Generator(5), device: "cpu" });
      const passes: unknown[] = [];
      for (let pass = 0; pass < 2; pass++) for await (const [images] of loader) passes.push(await images.toArray());
      return passes;
    };
    const passes = (await read(0)) as unknown[];
    expect(passes[0]).not.toEqual(passes[1]);
    expect(await read(1)).toEqual(passes);
  });

  it("names the broken file in a worker, or leaves it out", async () => {
    const root = await classFolders("broken", { a: 3, b: 2 });
    const path = join(root, "a", "1.png");
    await writeFile(path, (await readFile(path)).subarray(0, 40));
    const set = await imageFolder(root);
    for (const numWorkers of [0, 1]) {
      const failed = dx.data.dataLoader(set, { batchSize: 5, numWorkers, device: "cpu" })[Symbol.asyncIterator]().next();
      const error = (await failed.catch((e: unknown) => e)) as Error;
      const cause = numWorkers === 0 ? error : (error.cause as Error);
      expect(cause.name).toBe("FormatError");
      expect(cause.message).toContain(`imageFolder: ${path} must be an image`);
      expect(cause.stack!.length).toBeLessThan(4000);
    }
    const kept = await imageFolder(root, { broken: "skip" });
    expect([kept.length, kept.skipped.length, kept.skipped[0]!.path]).toEqual([4, 1, path]);
    expect(kept.skipped[0]!.error).toBeInstanceOf(dx.FormatError);
    for await (const [images] of dx.data.dataLoader(kept, { batchSize: 4, device: "cpu" })) expect(images.shape).toEqual([4, 3, 4, 5]);
  });

  it("refuses folders without classes or images, and wrong options", async () => {
    const root = await classFolders("empty", { a: 1, b: 0 });
    await expect(imageFolder(root)).rejects.toThrow(/b must be a folder with files that end in .*\.png.*; received none\. allowEmpty/);
    expect((await imageFolder(root, { allowEmpty: true })).classes).toEqual(["a", "b"]);
    await expect(imageFolder(join(root, "b"))).rejects.toThrow(/one folder for each class/);
    await expect(imageFolder(join(root, "c"))).rejects.toThrow(/a file that can be read; received ENOENT/);
    await expect(imageFolder(root, { extensions: ["png"] })).rejects.toThrow(/extensions must be endings/);
    await expect(imageFolder(root, { broken: "ignore" as never })).rejects.toThrow(/broken must be one of/);
    await expect(imageFolder(root, { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
    await expect(imageFolder(root, { extensions: [".gif"] })).rejects.toThrow(dx.FormatError);
  });
});

describe("imageList", () => {
  it("takes pairs, or a function of them, with labels of any kind", async () => {
    const png = file("rgb.png");
    const set = await imageList(async () => [
      [png, { box: [1, 2], name: 3 }],
      [png.pathname, { box: [3, 4], name: 5 }],
    ]);
    for await (const [images, { box }] of dx.data.dataLoader(set, { batchSize: 2, device: "cpu" })) {
      expect(images.shape[0]).toBe(2);
      expect(await Promise.all(box.map((b) => b.toArray()))).toEqual([[1, 3], [2, 4]]); // prettier-ignore
    }
    expect((await imageList([])).length).toBe(0);
    await expect(imageList(["a.png"] as never)).rejects.toThrow(/imageList: list must be pairs of a path and a label/);
  });
});
