/** Sources that readers accept: file: URLs, odd names, pipes; and sources that they refuse at once: devices, folders. */
import { spawnSync } from "node:child_process";
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { readWhole } from "../../src/host/source.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { graph, model, node, value } from "../onnx/write.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-source-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const relu = (): Uint8Array =>
  model({ opset: 18, graph: graph({ inputs: [value("x", 1, [3])], outputs: [value("y", 1, [3])], nodes: [node("Relu", ["x"], ["y"])] }) });
const idx = Uint8Array.of(0, 0, 8, 1, 0, 0, 0, 2, 7, 9);
const readers: Readonly<Record<string, (source: string | URL) => Promise<unknown>>> = {
  "safetensors.load": dx.io.safetensors.load,
  "onnx.load": dx.io.onnx.load,
  readIdx: dx.data.readIdx,
};

eachDevice("files", (device) => {
  test.each(["山 月 123 World", "Förli", "пользователь", "e\u0301clair", "a#b%20c?d", "x".repeat(200), "🦊 fox"])(
    "are found by path and by URL in a folder %s",
    (name) =>
      clean(device, async () => {
        // Windows has no question marks in names.
        const inner = join(folder, process.platform === "win32" ? name.replace("?", "") : name);
        mkdirSync(inner);
        const file = join(inner, `${name.slice(0, 5).replace("?", "")}.safetensors`);
        for (const path of [file, pathToFileURL(file)]) {
          await dx.io.safetensors.save(
            path,
            { [`层.${name}`]: dx.tensor([1, 2, 3]), "": dx.tensor([4]) },
            { 标题: "тест \u0000 \u{1F98A}" },
          );
          const { tensors, metadata } = await dx.io.safetensors.load(path);
          expect([numbers(tensors[`层.${name}`]!), numbers(tensors[""]!), metadata]).toEqual([
            [1, 2, 3],
            [4],
            { 标题: "тест \u0000 \u{1F98A}" },
          ]);
        }
        expect(readdirSync(inner)).toHaveLength(1);
        writeFileSync(join(inner, "модель.onnx"), relu());
        writeFileSync(join(inner, "числа"), idx);
        for (const make of [(p: string) => p, pathToFileURL]) {
          using loaded = await dx.io.onnx.load(make(join(inner, "модель.onnx")));
          expect(numbers(loaded.call(dx.tensor([-1, 0, 2])).y!)).toEqual([0, 0, 2]);
          expect((await dx.data.readIdx(make(join(inner, "числа")))).data).toEqual(Uint8Array.of(7, 9));
        }
      }),
  );

  test.skipIf(process.platform === "win32")("are read from pipes, to their end and no further", () =>
    clean(device, async () => {
      const through = async (bytes: Uint8Array, read: (path: string) => Promise<unknown>): Promise<unknown> => {
        const fifo = join(folder, `fifo-${Math.random()}`);
        spawnSync("mkfifo", [fifo]);
        const stream = createWriteStream(fifo);
        // Who reads may stop before the end.
        stream.on("error", () => {});
        stream.end(bytes);
        return read(fifo);
      };
      const bytes = await dx.io.safetensors.serialize({ a: dx.arange(100_000), b: dx.tensor([true, false]) });
      const { tensors } = (await through(bytes, dx.io.safetensors.load)) as dx.io.Loaded;
      expect([tensors.a!.itemSync === undefined, tensors.a!.sum().itemSync(), tensors.b!.toArraySync()]).toEqual([
        false,
        4999950000,
        [true, false],
      ]);
      await expect(through(bytes.subarray(0, 5), dx.io.safetensors.load)).rejects.toThrow(dx.FormatError);
      await expect(through(bytes.subarray(0, 60), dx.io.safetensors.load)).rejects.toThrow(dx.FormatError);
      await expect(through(bytes.subarray(0, -1), dx.io.safetensors.load)).rejects.toThrow(/as its header says/);
      await expect(through(Buffer.concat([bytes, Buffer.of(1)]), dx.io.safetensors.load)).rejects.toThrow(/received more/);
      const npy = await dx.io.npy.serialize(dx.arange(100_000));
      expect(((await through(npy, dx.io.npy.load)) as dx.Tensor).sum().itemSync()).toBe(4999950000);
      for (const end of [5, 60, -1]) await expect(through(npy.subarray(0, end), dx.io.npy.load)).rejects.toThrow(dx.FormatError);
      using loaded = (await through(relu(), dx.io.onnx.load)) as dx.io.onnx.OnnxModel;
      expect(numbers(loaded.call(dx.tensor([-1, 0, 2])).y!)).toEqual([0, 0, 2]);
      expect(await through(idx, dx.data.readIdx)).toMatchObject({ shape: [2] });
      await expect(through(new Uint8Array(3_000_000), (path) => readWhole("test", path, 2_000_000))).rejects.toThrow(
        /of at most 2000000 bytes; received more/,
      );
    }),
  );
});

describe.each(Object.entries(readers))("%s refuses", (operation, read) => {
  test("what is no file: a folder, a device that never ends, other URLs, other values", async () => {
    for (const path of [folder, ...(process.platform === "win32" ? [] : ["/dev/zero", "/dev/null", "/dev/urandom"])])
      await expect(read(path)).rejects.toThrow(dx.FormatError);
    await expect(read(new URL("https://example.com/a"))).rejects.toThrow(dx.ValueError);
    await expect(read(new URL("file:///a%2Fb"))).rejects.toThrow(dx.ValueError);
    await expect(read("file:///a")).rejects.toThrow(/new URL\("file:\/\/\/a"\)/);
    await expect(read("a\0b")).rejects.toThrow(dx.FormatError);
    await expect(read(7 as never)).rejects.toThrow(dx.DTypeError);
    expect(operation).not.toBe("");
  });

  test("an empty file", async () => {
    writeFileSync(join(folder, "empty"), "");
    expect(readFileSync(join(folder, "empty"))).toHaveLength(0);
    await expect(read(join(folder, "empty"))).rejects.toThrow(dx.FormatError);
  });
});
