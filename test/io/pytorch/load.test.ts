/** Files that PyTorch 2.15 wrote (record.py), bit for bit. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, storageOf } from "../../device.ts";

const file = (name: string): string => fileURLToPath(new URL(`files/${name}`, import.meta.url));

interface Expected {
  readonly tensor: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly requiresGrad: boolean;
  readonly isParameter: boolean;
  readonly bytes: string;
}
const expected = JSON.parse(readFileSync(file("expected.json"), "utf8")) as Record<string, unknown>;
const isExpected = (v: unknown): v is Expected => typeof v === "object" && v !== null && "tensor" in v;

const hexOf = (t: dx.Tensor): string => {
  const array = t.dataSync();
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("hex");
};

/** Compares every tensor of a value with what PyTorch said of it. Gives how many there were. */
function compare(value: unknown, wanted: unknown, path = ""): number {
  if (isExpected(wanted)) {
    const t = value as dx.Tensor | dx.ComplexTensor;
    const isComplex = t instanceof dx.ComplexTensor;
    const bytes = isComplex ? hexOf(dx.viewAsReal(dx.resolveConj(t)) as dx.Tensor) : hexOf(t);
    const strides = isComplex ? wanted.strides : t.strides;
    expect([path, t.dtype, t.shape, strides, t.requiresGrad, t instanceof dx.nn.Parameter, bytes]).toEqual([
      path,
      wanted.tensor,
      wanted.shape,
      wanted.strides,
      wanted.requiresGrad,
      wanted.isParameter,
      wanted.bytes,
    ]);
    return 1;
  }
  if (typeof wanted !== "object" || wanted === null) return 0;
  expect([path, Object.keys(value as object).sort()]).toEqual([path, Object.keys(wanted).sort()]);
  return Object.entries(wanted).reduce(
    (n, [key, inner]) => n + compare((value as Record<string, unknown>)[key], inner, `${path}.${key}`),
    0,
  );
}

function disposeAll(value: unknown): void {
  if (value instanceof dx.Tensor || value instanceof dx.ComplexTensor) value.dispose();
  else if (typeof value === "object" && value !== null) Object.values(value).forEach(disposeAll);
}

eachDevice("io.pytorch.load", (device) => {
  test.each([
    ["resnet.pt", 32],
    ["training.pt", 80],
    ["dtypes.pt", 15],
    ["views.pt", 14],
    ["attributes.pt", 3],
  ])("%s: every tensor as PyTorch has it", (name, count) =>
    clean(device, async () => {
      const value: unknown = await dx.io.pytorch.load(file(name));
      expect(compare(value, expected[name])).toBeGreaterThanOrEqual(count);
      disposeAll(value);
    }),
  );

  test("views of one storage share memory, tied parameters are one", () =>
    clean(device, async () => {
      const views = await dx.io.pytorch.load<Record<string, dx.Tensor>>(file("views.pt"));
      const { base, row, column, transposed, steps, weight, tied } = views;
      expect(new Set([base, row, column, transposed, steps].map((t) => storageOf(t!))).size).toBe(1);
      base!.zero_();
      expect(row!.sum().itemSync()).toBe(0);
      expect(tied).toBe(weight);
      disposeAll(views);
    }));

  test("a state dict goes into the layers of the same names", () =>
    clean(
      device,
      async () => {
        const generator = new dx.Generator(1);
        const norm = (channels: number): dx.nn.BatchNorm2d => dx.nn.batchNorm2d(channels);
        const conv = (ci: number, co: number, k: number, stride: number): dx.nn.Conv2d =>
          dx.nn.conv2d(ci, co, k, { stride, padding: k >> 1, bias: false, generator });
        class Block extends dx.nn.Module {
          conv1: dx.nn.Conv2d;
          bn1: dx.nn.BatchNorm2d;
          conv2: dx.nn.Conv2d;
          bn2: dx.nn.BatchNorm2d;
          downsample: dx.nn.Sequential | null;
          constructor(ci: number, co: number, stride: number) {
            super();
            [this.conv1, this.bn1, this.conv2, this.bn2] = [conv(ci, co, 3, stride), norm(co), conv(co, co, 3, 1), norm(co)];
            this.downsample = stride > 1 ? dx.nn.sequential(conv(ci, co, 1, stride), norm(co)) : null;
          }
          forward(x: dx.Tensor): dx.Tensor {
            const y = this.bn2(this.conv2(this.bn1(this.conv1(x)).relu()));
            return y.add(this.downsample === null ? x : this.downsample(x)).relu();
          }
        }
        class Net extends dx.nn.Module {
          conv1 = conv(3, 4, 3, 1);
          bn1 = norm(4);
          layer1 = dx.nn.sequential(new Block(4, 4, 1));
          layer2 = dx.nn.sequential(new Block(4, 8, 2));
          fc = dx.nn.linear(8, 5, { generator });
          forward(x: dx.Tensor): dx.Tensor {
            return this.fc(this.layer2(this.layer1(this.bn1(this.conv1(x)).relu())).mean([2, 3]));
          }
        }
        const net = new Net();
        const state = await dx.io.pytorch.load<Record<string, dx.Tensor>>(file("resnet.pt"));
        expect(net.loadStateDict(state)).toEqual({ missing: [], unexpected: [] });
        compare(net.stateDict(), Object.fromEntries(Object.entries(expected["resnet.pt"] as object)));
        disposeAll(state);
        net.dispose();
      },
      { collect: true },
    ));

  test("meta reads shapes alone; progress, and a signal", () =>
    clean(device, async () => {
      const shapes = await dx.io.pytorch.load<Record<string, dx.Tensor>>(file("resnet.pt"), { device: "meta" });
      expect([String(shapes["fc.weight"]!.device), shapes["fc.weight"]!.shape]).toEqual(["meta", [5, 8]]);
      let bytes = 0;
      const state: unknown = await dx.io.pytorch.load(file("resnet.pt"), { onProgress: (p) => (bytes = p.bytes) });
      expect(bytes).toBe(Object.values(expected["resnet.pt"] as Record<string, Expected>).reduce((n, t) => n + t.bytes.length / 2, 0));
      disposeAll(state);
      const stop = new AbortController();
      const loading = dx.io.pytorch.load(file("resnet.pt"), { signal: stop.signal, onProgress: () => stop.abort(new Error("stop")) });
      await expect(loading).rejects.toThrow("stop");
    }));
});

describe("plain values", () => {
  test.each([2, 3, 4, 5])("of protocol %s", async (protocol) => {
    const { same, many, ...value } = await dx.io.pytorch.load(file(`plain-${protocol}.pt`));
    expect(same).toBe(value.keys);
    expect(many).toEqual(Array.from({ length: 2000 }, (_, i) => i));
    expect(value).toStrictEqual({
      integers: [0, -1, 255, 256, 65535, 65536, 2 ** 31, -(2 ** 31), 2 ** 53 - 1, 2n ** 53n, -(2n ** 53n), 2n ** 70n, -(2n ** 70n)],
      floats: [0.5, -0, Infinity, -Infinity, NaN, 1e300],
      texts: ["", "ä𝄞", "a\u0000b", "x".repeat(300)],
      bytes: [new Uint8Array(0), Uint8Array.of(97, 98, 255), Uint8Array.of(120, 121), new Uint8Array(0)],
      nothing: [null, true, false],
      tuples: [[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4]],
      sets: [new Set(), new Set([1]), new Set(["a"])],
      size: [2, 3],
      devices: ["cpu", "cuda:1"],
      dtype: "bfloat16",
      ordered: { z: 1, a: 2 },
      keys: { 0: "a", 1: "b" },
      mixed: new Map<unknown, unknown>([
        [0, "a"],
        ["0", "b"],
      ]),
      pairs: new Map<unknown, unknown>([
        [[1, 2], "a"],
        [null, "b"],
        [2n ** 60n, "c"],
      ]),
    });
    expect(Object.keys(value.ordered as object)).toEqual(["z", "a"]);
  });
});

describe("what is refused, by its full name", () => {
  test.each([
    ["module.pt", "__main__.Net"],
    ["other-dtype.pt", "torch.complex128"],
    ["float8.pt", "torch.float8_e4m3fn"],
    ["legacy.pt", "PyTorch's file form before version 1.6"],
    ["sparse.pt", "torch._utils._rebuild_sparse_tensor"],
    ["quantized.pt", "torch._utils._rebuild_qtensor"],
    ["script.pt", "a program of TorchScript"],
  ])("%s: %s", async (name, received) => {
    const error: unknown = await dx.io.pytorch.load(file(name)).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(dx.UnsupportedError);
    expect(error).toMatchObject({ operation: "pytorch.load", received: expect.stringContaining(received) as unknown });
    expect((error as dx.DxError).hint).not.toBe("");
  });

  test("and dx.load says which function reads such a file", async () => {
    await expect(dx.load(file("resnet.pt"))).rejects.toThrow(/io\.pytorch\.load\(\)/);
  });
});
