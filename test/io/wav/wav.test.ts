/** WAV files: those of libsndfile (record.py), what is written here, and damaged ones. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice } from "../../device.ts";

const { wav, FormatError } = dx.io;

interface Recorded {
  readonly file: string;
  readonly info: dx.io.wav.WavInfo;
  readonly bytes: string;
}
const { files, refused } = JSON.parse(readFileSync(new URL("files.json", import.meta.url), "utf8")) as {
  files: Record<string, Recorded>;
  refused: Record<string, string>;
};
const bytesOf = (base64: string): Buffer => Buffer.from(base64, "base64");
const hexOf = (array: Float32Array): string => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");

let folder: string;
let count = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "dxtensor-wav-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const fileOf = async (bytes: Uint8Array): Promise<string> => {
  const path = join(folder, `${count++}.wav`);
  await writeFile(path, bytes);
  return path;
};

/** A PCM file of 16 bits by hand. */
const pcm = (
  samples: readonly number[],
  options: { tag?: number; channels?: number; bits?: number; frameBytes?: number; dataBytes?: number; before?: string } = {},
): Buffer => {
  const { tag = 1, channels = 1, bits = 16, frameBytes = 2 * channels, dataBytes = 2 * samples.length, before = "" } = options;
  const bytes = Buffer.alloc(44 + before.length + 2 * samples.length);
  bytes.write(`RIFF\0\0\0\0WAVE${before}fmt \x10\0\0\0`, "latin1");
  const at = 20 + before.length;
  bytes.writeUInt16LE(tag, at);
  bytes.writeUInt16LE(channels, at + 2);
  bytes.writeUInt32LE(8000, at + 4);
  bytes.writeUInt16LE(frameBytes, at + 12);
  bytes.writeUInt16LE(bits, at + 14);
  bytes.write("data", at + 16);
  bytes.writeUInt32LE(dataBytes, at + 20);
  samples.forEach((sample, i) => bytes.writeInt16LE(sample, at + 24 + 2 * i));
  return bytes;
};

eachDevice("io.wav", (device) => {
  test.each(Object.keys(files))("%s: bytes are as a file of them", (name) =>
    clean(device, async () => {
      const { file, info, bytes: expected } = files[name]!;
      const bytes = bytesOf(file);
      // A view into a larger buffer, and a Buffer, which are not changed.
      const larger = new Uint8Array(bytes.byteLength + 9);
      larger.set(bytes, 4);
      for (const of of [larger.subarray(4, 4 + bytes.byteLength), Buffer.from(bytes)]) {
        expect(await wav.info(of)).toEqual(info);
        expect(hexOf((await wav.read(of)).waveform.data)).toBe(expected);
        const { waveform } = await wav.load(of, { numFrames: 2 });
        expect(waveform.shape[0]).toBe(info.channels);
        waveform.dispose();
        expect(Buffer.from(of).equals(Buffer.from(bytes))).toBe(true);
      }
      await expect(wav.read(bytes.subarray(0, 20))).rejects.toThrow(FormatError);
      await expect(wav.info(new Uint8Array(0))).rejects.toThrow("wav.info: bytes");
    }),
  );

  test.each(Object.keys(files))("%s: as libsndfile reads it", (name) =>
    clean(device, async () => {
      const { file, info, bytes } = files[name]!;
      const path = await fileOf(bytesOf(file));
      expect(await wav.info(path)).toEqual(info);
      for (const source of [path, pathToFileURL(path)]) {
        const { waveform, sampleRate } = await wav.load(source);
        expect([waveform.dtype, waveform.shape, sampleRate]).toEqual(["float32", [info.channels, info.frames], info.sampleRate]);
        expect(hexOf(waveform.dataSync() as Float32Array)).toBe(bytes);
        waveform.dispose();
      }
    }),
  );

  test.each(Object.keys(files))("%s: saved and read again, three times", (name) =>
    clean(device, async () => {
      const { file, info, bytes } = files[name]!;
      const { waveform } = await wav.load(await fileOf(bytesOf(file)));
      const path = join(folder, "saved.wav");
      for (let i = 0; i < 3; i++) {
        await wav.save(path, waveform, { sampleRate: info.sampleRate, encoding: info.encoding });
        expect(await wav.info(path)).toEqual(info);
        expect(hexOf((await wav.read(path)).waveform.data)).toBe(bytes);
      }
      waveform.dispose();
    }),
  );

  test("parts: offset and length, beyond the end, empty", () =>
    clean(device, async () => {
      const path = await fileOf(
        pcm(
          [1, 2, 3, 4, 5, 6].map((v) => v * 4096),
          { channels: 2 },
        ),
      );
      const part = async (options: dx.io.wav.WavReadOptions) => {
        const { waveform } = await wav.load(path, options);
        const rows = waveform.toArraySync();
        waveform.dispose();
        return rows;
      };
      expect(await part({})).toEqual([[0.125, 0.375, 0.625], [0.25, 0.5, 0.75]]); // prettier-ignore
      expect(await part({ frameOffset: 1, numFrames: 1 })).toEqual([[0.375], [0.5]]);
      expect(await part({ frameOffset: 2, numFrames: 10 })).toEqual([[0.625], [0.75]]);
      expect(await part({ frameOffset: 3 })).toEqual([[], []]);
      expect(await part({ numFrames: 0 })).toEqual([[], []]);
      await expect(part({ frameOffset: 4 })).rejects.toThrow(/at most 3/);
      for (const options of [{ frameOffset: -1 }, { frameOffset: 0.5 }, { numFrames: Number.NaN }])
        await expect(part(options)).rejects.toThrow(dx.ValueError);
    }));

  test("what is beyond -1 to 1 is clipped, NaN is silence; views, float16, gradients", () =>
    clean(device, async () => {
      const path = join(folder, "clipped.wav");
      const x = dx.tensor([[2, -2, Number.NaN, 0.5, Infinity, -0.25]]);
      for (const [encoding, top] of [
        ["uint8", 127 / 128],
        ["int16", 32767 / 32768],
        ["int24", (2 ** 23 - 1) / 2 ** 23],
        ["int32", 1],
      ] as const) {
        await wav.save(path, x, { sampleRate: 1, encoding });
        expect([...(await wav.read(path)).waveform.data]).toEqual([top, -1, 0, 0.5, top, -0.25]);
      }
      for (const view of [x.slice(1, 3, 4), x.slice(1, 3, 4).to("float16"), x.slice(1, 3, 4).requiresGrad_().mul(1)]) {
        await wav.save(path, view, { sampleRate: 16000, encoding: "float32" });
        expect([...(await wav.read(path)).waveform.data]).toEqual([0.5]);
      }
      await wav.save(path, dx.tensor([[1, 2, 3], [4, 5, 6]]).t().div(8), { sampleRate: 8000, encoding: "float64" }); // prettier-ignore
      expect([...(await wav.read(path)).waveform.data]).toEqual([1, 4, 2, 5, 3, 6].map((v) => v / 8));
    }));

  test("samples of a loader", () =>
    clean(device, async () => {
      const paths = await Promise.all([1, 2, 3].map((v) => fileOf(pcm([8192 * v, 0]))));
      const set = dx.data.map(paths, (path) => wav.read(path, { numFrames: 2 }));
      for await (const { waveform, sampleRate } of dx.data.dataLoader(set, { batchSize: 3 })) {
        expectTypeOf(waveform).toEqualTypeOf<dx.Tensor>();
        expect([waveform.shape, waveform.toArraySync(), sampleRate.toArraySync()]).toEqual([
          [3, 1, 2],
          [[[0.25, 0]], [[0.5, 0]], [[0.75, 0]]],
          [8000, 8000, 8000],
        ]);
        waveform.dispose();
        sampleRate.dispose();
      }
    }));
});

describe("pieces, pipes and other chunks", () => {
  test("several pieces, progress, a part in the middle", async () => {
    const samples = Int16Array.from({ length: 800_001 }, (_, i) => (i * 7919) % 32768);
    const path = join(folder, "long.wav");
    await wav.save(
      path,
      dx.tensor(
        Float32Array.from(samples, (v) => v / 32768),
        { shape: [1, samples.length] },
      ),
      { sampleRate: 44100 },
    );
    const seen: number[] = [];
    const { waveform } = await wav.read(path, { onProgress: ({ bytes, totalBytes }) => seen.push(bytes / totalBytes) });
    expect(seen.length).toBe(2);
    expect(seen.at(-1)).toBe(1);
    expect(Buffer.from(Int16Array.from(waveform.data, (v) => v * 32768).buffer).equals(Buffer.from(samples.buffer))).toBe(true);
    const part = await wav.read(path, { frameOffset: 700_000, numFrames: 3 });
    expect([...part.waveform.data]).toEqual([...samples.subarray(700_000, 700_003)].map((v) => v / 32768));
  });

  test("chunks of any kind before the samples, of odd length too; samples of unknown length", async () => {
    const path = await fileOf(pcm([8192], { before: "LIST\x03\0\0\0abc\0junk\0\0\0\0" }));
    expect([...(await wav.read(path)).waveform.data]).toEqual([0.25]);
    const streamed = await fileOf(pcm([8192, 16384], { dataBytes: 0xffffffff }));
    expect([...(await wav.read(streamed)).waveform.data]).toEqual([0.25, 0.5]);
  });

  test.skipIf(process.platform === "win32")("a pipe", async () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    const [audio] = await Promise.all([
      wav.read(pipe, { frameOffset: 1 }),
      writeFile(pipe, pcm([8192, 16384], { before: "LIST\x02\0\0\0ab" })),
    ]);
    expect([...audio.waveform.data]).toEqual([0.5]);
    const [cut] = await Promise.allSettled([wav.read(pipe), writeFile(pipe, pcm([8192, 16384]).subarray(0, 46))]);
    expect((cut as PromiseRejectedResult).reason).toBeInstanceOf(FormatError);
  });
});

describe("what is refused", () => {
  test.each(Object.keys(refused))("%s", async (name) => {
    await expect(wav.load(await fileOf(bytesOf(refused[name]!)))).rejects.toThrow(dx.UnsupportedError);
  });

  test.each<[string, () => Uint8Array]>([
    ["nothing", () => new Uint8Array()],
    ["text", () => Buffer.from("hello, this is no WAV file")],
    ["RIFF of another kind", () => Buffer.from("RIFF\0\0\0\0AVI fmt ")],
    ["a header alone", () => pcm([1]).subarray(0, 12)],
    ["no samples", () => pcm([1]).subarray(0, 36)],
    ["samples before the format", () => Buffer.concat([pcm([1]).subarray(0, 12), Buffer.from("data\x02\0\0\0ab")])],
    ["two formats", () => Buffer.concat([pcm([1]).subarray(0, 36), pcm([1]).subarray(12)])],
    ["fewer samples than stated", () => pcm([1, 2]).subarray(0, 46)],
    ["a huge length", () => pcm([1], { dataBytes: 0xfffffff0 })],
    ["half a frame", () => pcm([1, 2, 3], { channels: 2 })],
    ["no channels", () => pcm([1], { channels: 0 })],
    ["other frame sizes", () => pcm([1], { frameBytes: 3 })],
    ["a chunk beyond the end", () => pcm([1], { before: "LIST\xff\xff\xff\x7f" })],
  ])("%s", async (_, made) => {
    const path = await fileOf(made());
    await expect(wav.read(path)).rejects.toThrow(FormatError);
    await expect(wav.info(path)).rejects.toThrow(FormatError);
  });

  test("12 bits, and other formats, are named", async () => {
    await expect(wav.read(await fileOf(pcm([1], { bits: 12 })))).rejects.toThrow(/integers of 12 bits/);
    await expect(wav.read(await fileOf(pcm([1], { tag: 85 })))).rejects.toThrow(/MP3/);
  });

  test("every byte changed, and every cut: samples or an error of the library's", async () => {
    const path = join(folder, "changed.wav");
    for (const name of ["PCM_24 WAVEX 5", "FLOAT RF64 2"]) {
      const whole = bytesOf(files[name]!.file);
      const end = whole.indexOf("data") + 8;
      for (let at = 0; at < end; at += 2)
        for (const bytes of [
          whole.subarray(0, at),
          Uint8Array.from(whole).with(at, whole[at]! ^ 1),
          Uint8Array.from(whole).with(at, 0xff),
        ]) {
          await writeFile(path, bytes);
          await wav.read(path).catch((error: unknown) => {
            expect(error).toBeInstanceOf(dx.DxError);
          });
        }
    }
  });

  test("arguments, folders, signals", async () => {
    const path = join(folder, "x.wav");
    await expect(wav.load(folder)).rejects.toThrow(/a folder/);
    await expect(wav.load(join(folder, "none.wav"))).rejects.toThrow(FormatError);
    await expect(wav.save(path, dx.zeros([4]), { sampleRate: 1 })).rejects.toThrow(/unsqueeze/);
    await expect(wav.save(path, dx.zeros([1, 4], { dtype: "int32" }), { sampleRate: 1 })).rejects.toThrow(dx.DTypeError);
    for (const sampleRate of [0, 1.5, Number.NaN, 2 ** 32])
      await expect(wav.save(path, dx.zeros([1, 1]), { sampleRate })).rejects.toThrow(dx.ValueError);
    await expect(wav.save(path, dx.zeros([0, 1]), { sampleRate: 1 })).rejects.toThrow(dx.ValueError);
    await expect(wav.save(path, dx.zeros([1, 1]), { sampleRate: 1, encoding: "mp3" as never })).rejects.toThrow(dx.DxError);
    await expect(wav.save(join(folder, "none", "x.wav"), dx.zeros([1, 1]), { sampleRate: 1 })).rejects.toThrow(dx.ValueError);
    await expect(wav.load(path, { signal: AbortSignal.abort(new Error("before")) })).rejects.toThrow("before");
    const into = join(folder, "aborted");
    await mkdir(into);
    const stop = new AbortController();
    const onProgress = (): void => stop.abort(new Error("enough"));
    await expect(wav.save(join(into, "a.wav"), dx.zeros([1, 9]), { sampleRate: 1, signal: stop.signal, onProgress })).rejects.toThrow(
      "enough",
    );
    expect(await readdir(into)).toEqual([]);
    await wav.save(path, dx.zeros([3, 1]), { sampleRate: 1, encoding: "uint8" });
    expect((await readFile(path)).byteLength).toBe(12 + 48 + 8 + 4);
  });
});
