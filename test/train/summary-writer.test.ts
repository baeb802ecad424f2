/** dx.train.summaryWriter: records and their checksums, and PyTorch's histograms and images (record.py). */
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { eventsOf, masked, pngOf, type Histo } from "./events.ts";

const { summaryWriter } = dx.train;

type Numbers = readonly (number | string)[];
interface Recorded {
  readonly values: Readonly<Record<string, Numbers>>;
  readonly histograms: readonly { readonly name: string; readonly bins: string; readonly result: Histo | { readonly error: string } }[];
  readonly images: readonly {
    readonly shape: readonly number[];
    readonly dtype: "float32" | "uint8";
    readonly data: Numbers;
    readonly height: number;
    readonly width: number;
    readonly rgba: string;
  }[];
}
const recorded = JSON.parse(readFileSync(new URL("summaries.json", import.meta.url), "utf8")) as Recorded;
const numbersOf = (list: Numbers): number[] => list.map((v) => (v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v)));

let root: string;
let runs = 0;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "dxtensor-events-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));
const newFolder = (): string => join(root, `run-${runs++}`);

const bins: Readonly<Record<string, "tensorflow" | number | number[]>> = {
  tensorflow: "tensorflow",
  7: 7,
  1: 1,
  edges: [-3, -1, 0.5, 1, 3],
  equalEdges: [0, 1, 1, 3],
};

test("the parser of these tests has the checksum of RFC 3720", () => {
  // 32 zero bytes have the CRC-32C 0x8a9136aa.
  const crc = 0x8a9136aa;
  expect(masked(new Uint8Array(32))).toBe((((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0);
});

describe("records", () => {
  test("numbers, in order, with steps, times and every kind of number", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder);
    const before = Date.now() / 1000;
    const values = [0, -0, 1.5, -2.25, NaN, Infinity, -Infinity, 1e300, 0.1];
    const steps = [0, 1, -3, 2 ** 31, 2 ** 53 - 1, -(2 ** 53) + 1, 127, 128, 5];
    for (const [i, value] of values.entries()) expect(writer.scalar("loss/ä", value, steps[i]!)).toBe(true);
    writer.scalar("at", 1, 2, { wallTime: 12.5 });
    await writer.close();
    const events = eventsOf(folder);
    expect(events.map((e) => [e.tag, e.scalar, e.step])).toEqual([
      ...values.map((v, i) => ["loss/ä", Math.fround(v), steps[i]]),
      ["at", 1, 2],
    ]);
    expect(events.at(-1)!.wallTime).toBe(12.5);
    expect(events[0]!.wallTime).toBeGreaterThanOrEqual(before);
    expect(events[0]!.wallTime).toBeLessThanOrEqual(Date.now() / 1000);
  });

  test("files are named as TensorBoard looks for them, one for each writer; a URL is a folder too", async () => {
    const folder = newFolder();
    const writers = [summaryWriter(folder), summaryWriter(pathToFileURL(folder)), summaryWriter(folder, { filenameSuffix: ".x" })];
    for (const writer of writers) {
      expect(writer.folder).toBe(folder);
      await writer.close();
    }
    const pattern = /^events\.out\.tfevents\.(\d{10})\.(.+)\.(\d+)\.(\d+)(\.x)?$/;
    const names = readdirSync(folder).map((name) => pattern.exec(name)!);
    expect(new Set(names.map((m) => m[4])).size).toBe(3);
    for (const match of names) expect(match.slice(2, 4)).toEqual([hostname(), String(process.pid)]);
    expect(names.filter((m) => m[5] === ".x").length).toBe(1);
  });

  test("scalars are runs of their own, inside the folder whatever their names", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder);
    for (let step = 0; step < 3; step++) writer.scalars("a/loss", { train: step, "../test": 2 * step }, step);
    await writer.close();
    expect(eventsOf(folder)).toEqual([]);
    const of = (name: string): unknown[] => eventsOf(join(folder, name)).map((e) => [e.tag, e.scalar, e.step]);
    expect(of("a_loss_train")).toEqual([0, 1, 2].map((i) => ["a/loss", i, i]));
    expect(of("a_loss_.._test")).toEqual([0, 1, 2].map((i) => ["a/loss", 2 * i, i]));
  });

  test("texts, hyperparameters and a resumed run", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder, { purgeStep: 7 });
    writer.text("note", "# größer\n\n日本", 8);
    writer.hparams({ lr: 0.1, name: "sgd", nesterov: true, decay: null, other: undefined }, { "hparam/loss": 0.25 });
    await writer.close();
    const events = eventsOf(folder);
    expect(events.slice(0, 3).map(({ wallTime: _, ...rest }) => rest)).toEqual([
      { step: 7, version: "brain.Event:2" },
      { step: 7, session: 1 },
      { step: 8, tag: "note/text_summary", text: "# größer\n\n日本", plugin: "text" },
    ]);
    expect(events.slice(3).map((e) => [e.tag, e.plugin, e.scalar])).toEqual([
      ["_hparams_/experiment", "hparams", undefined],
      ["_hparams_/session_start_info", "hparams", undefined],
      ["_hparams_/session_end_info", "hparams", undefined],
      ["hparam/loss", undefined, 0.25],
    ]);
  });

  test("flush has them in the file, however many; methods say when too many wait", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder, { maxQueue: 10 });
    const accepted = Array.from({ length: 300 }, (_, i) => writer.scalar("x", i, i));
    expect(accepted.indexOf(false)).toBe(9);
    await writer.flush();
    expect(eventsOf(folder).length).toBe(300);
    expect(writer.text("big", "x".repeat(33 * 2 ** 20), 1)).toBe(false);
    await writer.flush();
    expect(writer.scalar("x", 1, 1)).toBe(true);
    await Promise.all([writer.flush(), writer.flush()]);
    await writer.close();
    await writer.close();
    await writer.flush();
  });

  test("await using closes", async () => {
    const folder = newFolder();
    const writer = summaryWriter(folder);
    writer.scalar("x", 1, 1);
    await writer[Symbol.asyncDispose]();
    expect(eventsOf(folder).length).toBe(1);
    expect(() => writer.scalar("x", 1, 1)).toThrow("SummaryWriter.scalar: writer must be open; received one that was closed.");
  });
});

eachDevice("train.summaryWriter", (device) => {
  test("a tensor's value is that of the call, in the order of the calls, three times", () =>
    clean(device, async () => {
      for (let run = 0; run < 3; run++) {
        const folder = newFolder();
        const writer = summaryWriter(folder);
        const x = dx.zeros([]);
        const deep = dx.full([1, 1], 2.5, { dtype: "float16" });
        for (let step = 0; step < 20; step++) {
          writer.scalar("x", x, step);
          writer.scalar("number", step, step);
          x.add_(1);
        }
        writer.scalars("several", { deep, x }, 3);
        writer.scalar("bool", dx.tensor([true]), 1);
        writer.scalar("integer", dx.tensor([7n], { dtype: "int64" }), 1);
        writer.scalar("view", dx.tensor([1, 2, 3]).select(0, 1), 1);
        writer.scalar("bfloat16", dx.tensor([-3], { dtype: "bfloat16" }), 1);
        x.dispose();
        deep.dispose();
        await writer.close();
        expect(eventsOf(folder).map((e) => [e.tag, e.scalar, e.step])).toEqual([
          ...Array.from({ length: 20 }, (_, i) => [
            ["x", i, i],
            ["number", i, i],
          ]).flat(),
          ["bool", 1, 1],
          ["integer", 7, 1],
          ["view", 2, 1],
          ["bfloat16", -3, 1],
        ]);
        expect(eventsOf(join(folder, "several_deep"))[0]!.scalar).toBe(2.5);
        expect(eventsOf(join(folder, "several_x"))[0]!.scalar).toBe(20);
      }
    }));

  test("results of compiled functions, and parameters that require gradients", () =>
    clean(
      device,
      async () => {
        const folder = newFolder();
        const writer = summaryWriter(folder);
        const w = dx.ones([3], { requiresGrad: true });
        const f = dx.compile((x: dx.Tensor) => x.mul(2).sum());
        for (let step = 0; step < 3; step++) writer.scalar("sum", f(dx.full([2], step)), step);
        writer.scalar("loss", w.sum(), 0);
        writer.histogram("w", w, 0);
        await writer.close();
        const events = eventsOf(folder);
        expect(events.map((e) => e.scalar)).toEqual([0, 4, 8, 3, undefined]);
        expect(events[4]!.histo).toMatchObject({ num: 3, sum: 3, counts: [0, 3] });
        const reads = dx.compile((x: dx.Tensor) => {
          summaryWriter(newFolder()).scalar("x", x.sum(), 0);
          return x.mul(2);
        });
        expect(() => reads(dx.ones([2]))).toThrow(dx.TraceError);
      },
      { collect: true },
    ));

  test.each(recorded.histograms)("histogram of $name in $bins: PyTorch's", ({ name, bins: kind, result }) =>
    clean(device, async () => {
      const folder = newFolder();
      const writer = summaryWriter(folder);
      const values = numbersOf(recorded.values[name]!);
      writer.histogram("h", dx.tensor(values), 4, { bins: bins[kind]! });
      writer.scalar("after", 1, 5);
      if ("error" in result) {
        await expect(writer.flush()).rejects.toThrow(dx.ValueError);
        await writer.close();
        expect(eventsOf(folder).map((e) => e.tag)).toEqual(["after"]);
        return;
      }
      await writer.close();
      const { histo, step } = eventsOf(folder)[0]!;
      expect(step).toBe(4);
      const { sum, sumSquares, limits, counts, ...rest } = histo!;
      const [min, max, expectedSum, squares] = numbersOf([result.min, result.max, result.sum, result.sumSquares]);
      // A sum with +0 is never -0, which devices may lose.
      expect({ ...rest, min: rest.min + 0, max: rest.max + 0 }).toEqual({ min: min! + 0, max: max! + 0, num: result.num });
      expect(counts).toEqual(result.counts);
      expect(limits.length).toBe(result.limits.length);
      for (const [i, limit] of limits.entries()) expect(Math.abs(limit - result.limits[i]!)).toBeLessThanOrEqual(1e-12 * Math.abs(limit));
      // NumPy adds float64 in pairs.
      const scale = values.reduce((n, v) => n + Math.abs(v), 0);
      if (Number.isNaN(expectedSum)) expect(sum).toBeNaN();
      else expect(Math.abs(sum - expectedSum!)).toBeLessThanOrEqual(1e-12 * scale);
      if (Number.isNaN(squares)) expect(sumSquares).toBeNaN();
      else expect(Math.abs(sumSquares - squares!)).toBeLessThanOrEqual(1e-12 * squares!);
    }),
  );

  test.each(["float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool"] as const)("histogram of %s, of a view", (dtype) =>
    clean(device, async () => {
      const folder = newFolder();
      const writer = summaryWriter(folder);
      const x = dx.tensor([1, 0, 0, 1, 1, 1], { dtype: "float32" }).to(dtype).reshape([2, 3]).t();
      writer.histogram("h", x, 0, { bins: [0, 0.5, 1] });
      writer.histogram("h", x, 1, { bins: 2 });
      await writer.close();
      for (const { histo } of eventsOf(folder))
        expect(histo).toEqual({ min: 0, max: 1, num: 6, sum: 4, sumSquares: 4, limits: [0, 0.5, 1], counts: [0, 2, 4] });
    }),
  );

  test.each(recorded.images)("image of $dtype $shape: PyTorch's", ({ shape, dtype, data, height, width, rgba }) =>
    clean(device, async () => {
      const folder = newFolder();
      const writer = summaryWriter(folder);
      const x = dx.tensor(numbersOf(data), { dtype }).reshape(shape);
      writer.image("i", x, 9);
      await writer.close();
      const { image, step } = eventsOf(folder)[0]!;
      const png = pngOf(image!.png);
      expect([step, image!.height, image!.width, image!.colorspace]).toEqual([9, height, width, shape.at(-3)]);
      expect([png.height, png.width, png.channels]).toEqual([height, width, shape.at(-3)]);
      const { channels, pixels } = png;
      const expanded = Array.from({ length: height * width }, (_, i) => {
        const pixel = [...pixels.subarray(i * channels, (i + 1) * channels)];
        return [...(channels === 1 ? [pixel[0], pixel[0], pixel[0]] : pixel.slice(0, 3)), channels === 4 ? pixel[3] : 255];
      });
      expect(expanded.flat()).toEqual([...Buffer.from(rgba, "base64")]);
    }),
  );

  test("images of views, of bool and of values that are not finite", () =>
    clean(device, async () => {
      const folder = newFolder();
      const writer = summaryWriter(folder);
      writer.image("nan", dx.tensor([NaN, Infinity, -Infinity, 0.5]).reshape([1, 2, 2]), 0);
      writer.image("bool", dx.tensor([true, false, true]).reshape([1, 1, 3]), 0);
      writer.image("hwc", dx.arange(0, 12).div(255).reshape([2, 2, 3]).permute([2, 0, 1]).to("float16"), 0);
      await writer.close();
      const pixels = eventsOf(folder).map((e) => [...pngOf(e.image!.png).pixels]);
      expect(pixels.slice(0, 2)).toEqual([
        [0, 255, 0, 127],
        [255, 0, 255],
      ]);
      for (const [i, v] of pixels[2]!.entries()) expect(Math.abs(v - i)).toBeLessThanOrEqual(1);
    }));

  test("errors are typed, and leave the writer usable", () =>
    clean(device, async () => {
      const folder = newFolder();
      const writer = summaryWriter(folder);
      const gone = dx.ones([]);
      gone.dispose();
      const wrong = writer as unknown as Record<string, (...args: unknown[]) => unknown>;
      expect(() => wrong.scalar!(7, 1, 1)).toThrow(/^SummaryWriter\.scalar: tag must be /);
      expect(() => wrong.scalar!("x", "1", 1)).toThrow(dx.DTypeError);
      expect(() => wrong.scalar!("x", 1)).toThrow(dx.DxError);
      expect(() => writer.scalar("x", 1, 1.5)).toThrow("SummaryWriter.scalar: step must be an integer; received 1.5.");
      expect(() => writer.scalar("", 1, 1)).toThrow(dx.ValueError);
      expect(() => writer.scalar("x", 1, 1, { wallTime: NaN })).toThrow(dx.ValueError);
      expect(() => writer.scalar("x", gone, 1)).toThrow(dx.DisposedError);
      expect(() => writer.scalar("x", dx.ones([2]), 1)).toThrow(dx.ShapeError);
      expect(() => writer.scalar("x", dx.ones([], { device: "meta" }), 1)).toThrow(dx.DxError);
      expect(() => writer.scalars("x", { a: 1, b: dx.ones([0]) }, 1)).toThrow(/values\.b/);
      expect(() => wrong.scalars!("x", dx.ones([1]), 1)).toThrow(dx.DxError);
      expect(() => writer.histogram("x", gone, 1)).toThrow(dx.DisposedError);
      expect(() => writer.histogram("x", dx.ones([0]), 1)).toThrow(dx.ShapeError);
      for (const edges of [0, 1.5, -1, 2 ** 30, [], [1], [2, 1], [NaN, 1]])
        expect(() => writer.histogram("x", dx.ones([1]), 1, { bins: edges })).toThrow(dx.ValueError);
      expect(() => wrong.histogram!("x", dx.ones([1]), 1, { bins: "auto" })).toThrow(dx.DxError);
      for (const shape of [
        [2, 2],
        [2, 4, 4],
        [1, 1, 1, 2, 2],
        [3, 0, 4],
        [0, 3, 2, 2],
      ])
        expect(() => writer.image("x", dx.ones(shape), 1)).toThrow(dx.ShapeError);
      expect(() => writer.image("x", dx.ones([1, 2, 2], { dtype: "int32" }), 1)).toThrow(dx.DTypeError);
      expect(() => wrong.text!("x", 1, 1)).toThrow(dx.DxError);
      expect(() => wrong.hparams!({ a: [1] }, {})).toThrow(/values\.a must be a string, a number or a boolean/);
      writer.scalar("x", 1, 1);
      await writer.close();
      expect(eventsOf(folder).map((e) => [e.tag, e.step])).toEqual([["x", 1]]);
    }));
});
