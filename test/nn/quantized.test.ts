/** Layers whose weights stay packed, compared with linear layers of the unpacked weights, and with the codes by their formula. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mkdtemp, rm } from "node:fs/promises";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, modes, numbers } from "../device.ts";

const wave = (shape: readonly number[], phase = 0): dx.Tensor => {
  const size = shape.reduce((n, d) => n * d, 1);
  return dx.tensor(
    Array.from({ length: size }, (_, i) => Math.sin(1.37 * i + phase) + 0.3 * Math.cos(0.11 * i)),
    { shape },
  );
};

function expectNear(got: dx.Tensor, expected: dx.Tensor, tolerance: number): void {
  const [a, b] = [numbers(got), numbers(expected)];
  expect(got.shape).toEqual(expected.shape);
  a.forEach((v, i) => {
    expect(Math.abs(v - b[i]!)).toBeLessThanOrEqual(tolerance);
  });
}

const layerOf = (n: number, k: number): dx.nn.Linear => {
  const layer = dx.nn.linear(k, n);
  layer.weight = new dx.nn.Parameter(wave([n, k], 2));
  return layer;
};

/** Weights by the formula, in float64. */
function byFormula({ codes, scales, minima, bits }: dx.nn.QuantizedLinear): number[] {
  const bytes = numbers(codes);
  const values = bits === 8 ? bytes : bytes.flatMap((b) => [b % 16, Math.floor(b / 16)]);
  const middle = codes.dtype === "int8" ? 0 : 2 ** (bits - 1);
  const [scale, low] = [numbers(scales), minima === undefined ? null : numbers(minima)];
  const block = values.length / scale.length;
  return values.map((v, i) => (v - middle) * scale[Math.floor(i / block)]! + (low?.[Math.floor(i / block)] ?? 0));
}

eachDevice("quantized layers", () => {
  const kinds = [
    { bits: 4, symmetric: true, error: 1 / 8 },
    { bits: 4, symmetric: false, error: 1 / 14 },
    { bits: 8, symmetric: true, error: 1 / 250 },
    { bits: 8, symmetric: false, blockSize: 16, error: 1 / 400 },
  ] as const;

  test.each(kinds)("of $bits bits, symmetric: $symmetric, give what the unpacked weight gives", ({ error, ...options }) => {
    const layer = layerOf(12, 64);
    const float = layer.weight.detach().clone();
    const packed = dx.nn.quantize(layer, options) as dx.nn.QuantizedLinear;
    const weight = packed.dequantize();
    expectNear(weight, float, 2.7 * error);
    expectNear(weight, dx.tensor(byFormula(packed), { shape: [12, 64] }), 1e-6);
    for (const mode of modes)
      for (const shape of [[64], [1, 64], [5, 64], [2, 20, 64]]) {
        const x = wave(shape, 1);
        const got = mode.run((t) => packed(t!), x);
        expectNear(got, dx.nn.functional.linear(x, weight, packed.bias), 2e-4);
      }
    expect(packed(dx.zeros([0, 64])).shape).toEqual([0, 12]);
    // Views.
    const wide = wave([64, 3]);
    expectNear(packed(wide.t()), dx.nn.functional.linear(wide.t(), weight, packed.bias), 2e-4);
  });

  test("pass gradients to their input and the bias", () => {
    for (const symmetric of [true, false]) {
      const packed = dx.nn.quantize(layerOf(6, 32), { symmetric }) as dx.nn.QuantizedLinear;
      const weight = packed.dequantize();
      const grads = (f: (x: dx.Tensor) => dx.Tensor): dx.Tensor[] => {
        packed.zeroGrad();
        const x = wave([2, 3, 32]).requiresGrad_();
        f(x)
          .mul(wave([2, 3, 6], 5))
          .sum()
          .backward();
        return [x.grad!, packed.bias!.grad!.clone()];
      };
      const [got, expected] = [grads((x) => packed(x)), grads((x) => dx.nn.functional.linear(x, weight, packed.bias))];
      got.forEach((g, i) => {
        expectNear(g, expected[i]!, 2e-4);
      });
    }
  });

  test("take NaN and infinity as matmul does, and stay finite for weights of zero", () => {
    const packed = dx.nn.quantize(layerOf(4, 32)) as dx.nn.QuantizedLinear;
    const x = numbers(wave([2, 32]));
    x[3] = NaN;
    x[40] = Infinity;
    const y = numbers(packed(dx.tensor(x, { shape: [2, 32] })));
    expect(y.slice(0, 4).every(Number.isNaN)).toBe(true);
    expect(y.slice(4).some(Number.isFinite)).toBe(false);
    const layer = dx.nn.linear(32, 4, { bias: false });
    layer.weight = new dx.nn.Parameter(dx.zeros([4, 32]));
    for (const options of [{}, { bits: 8 }, { symmetric: false }] as const) {
      const zero = dx.nn.quantize(layer.clone(), options) as dx.nn.QuantizedLinear;
      expect(numbers(zero(wave([1, 32])))).toEqual([0, 0, 0, 0]);
    }
  });

  test("embedding rows of any number of indices come from one program a bucket", () => {
    const codes = dx.tensor(
      Array.from({ length: 160 }, (_, i) => (37 * i) % 256),
      { shape: [10, 16], dtype: "uint8" },
    );
    const [scales, minima] = [wave([10, 2]), wave([10, 2], 1)];
    const rows = new dx.nn.QuantizedEmbedding({ codes, scales, minima, bits: 4 });
    const compiled = dx.compile((indices: dx.Tensor) => rows(indices), { dynamic: [[0]] });
    for (const n of [5, 6, 8, 7, 5, 8]) {
      const indices = dx.tensor(Array.from({ length: n }, (_, i) => (3 * i) % 10), { dtype: "int32" }); // prettier-ignore
      expectNear(compiled(indices), rows(indices), 0);
    }
    // Up to 6 and up to 8.
    expect(compiled.programs).toBe(2);
    compiled.dispose();
  });

  test("replace the layers of a model: shared weights, lists, state, files, copies, casts", async () => {
    class Net extends dx.nn.Module {
      embed = dx.nn.embedding(10, 32);
      body = dx.nn.sequential(dx.nn.linear(32, 64), dx.nn.relu(), dx.nn.linear(64, 32));
      head = dx.nn.linear(32, 10, { bias: false });
      constructor() {
        super();
        this.head.weight = this.embed.weight;
      }
      forward(tokens: dx.Tensor): dx.Tensor {
        return this.head(this.body(this.embed(tokens)));
      }
    }
    const net = new Net();
    const tokens = dx.tensor([[1, 9, 0]], { dtype: "int32" });
    const before = net(tokens).detach();
    dx.nn.quantize(net, { bits: 8 });
    expect(net.embed).toBeInstanceOf(dx.nn.QuantizedEmbedding);
    expect((net.head as unknown as dx.nn.QuantizedLinear).codes).toBe((net.embed as unknown as dx.nn.QuantizedEmbedding).codes);
    const y = net(tokens).detach();
    expectNear(y, before, 0.2);
    const state = net.stateDict();
    expect(Object.keys(state)).toEqual(
      expect.arrayContaining(["embed.codes", "embed.scales", "body.0.codes", "body.0.bias", "head.codes"]),
    );
    expectNear(net.clone()(tokens), y, 1e-6);
    const folder = await mkdtemp(join(tmpdir(), "dxtensor-"));
    try {
      const file = join(folder, "net.safetensors");
      await dx.io.safetensors.save(file, state);
      const other = new Net();
      dx.nn.quantize(other, { bits: 8 });
      other.loadStateDict((await dx.io.safetensors.load(file)).tensors);
      expectNear(other(tokens), y, 1e-6);
    } finally {
      await rm(folder, { recursive: true });
    }
    net.to("float16");
    expect((net.head as unknown as dx.nn.QuantizedLinear).scales.dtype).toBe("float32");
  });

  test("say what does not fit", () => {
    const codes = dx.zeros([4, 16], { dtype: "uint8" });
    const scales = dx.ones([4, 1]);
    const made = (weight: Partial<dx.nn.QuantizedWeight>): dx.nn.QuantizedLinear =>
      new dx.nn.QuantizedLinear({ codes, scales, bits: 4, ...weight });
    expect(() => made({ codes: dx.zeros([4, 16]) })).toThrow(dx.DTypeError);
    expect(() => made({ scales: dx.ones([4, 5]) })).toThrow(dx.ShapeError);
    expect(() => made({ minima: dx.ones([4, 2]) })).toThrow(dx.ShapeError);
    expect(() => made({ bits: 5 as 4 })).toThrow(dx.ValueError);
    expect(() => made({})(dx.ones([1, 16]))).toThrow(dx.ShapeError);
    expect(() => dx.nn.quantize(dx.nn.relu())).toThrow(dx.UnsupportedError);
    expect(() => dx.nn.quantize(dx.nn.linear(30, 2), { filter: () => true })).toThrow(dx.ValueError);
  });
});
