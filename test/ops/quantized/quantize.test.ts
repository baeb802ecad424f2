/** Quantized numbers, weight normalization, reversed sequences, lists: compared with PyTorch's results. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

eachMode("quantization", (device, mode) => {
  const collect = mode.name === "compiled";

  test("levels are rounded to even and limited", async () => {
    await clean(
      device,
      () => {
        const x = dx.tensor([-3, 0.25, 0.75, 1.3, 400]);
        const q = mode.run((t) => dx.quantize(t, 0.5, 3), x);
        expect([q.dtype, numbers(q)]).toEqual(["uint8", [0, 3, 5, 6, 255]]);
        expectClose(
          mode.run((t) => dx.dequantize(t, 0.5, 3), q),
          [-1.5, 0, 1, 1.5, 126],
        );
        const rows = dx.tensor([
          [1, -1, 300],
          [1, -1, 300],
        ]);
        const options = { dtype: "int8", axis: 0 } as const;
        const [scale, zero] = [dx.tensor([1, 0.5]), dx.tensor([0, -3], { dtype: "int32" })];
        expect(numbers(mode.run((t, s, z) => dx.quantize(t, s, z, options), rows, scale, zero))).toEqual([1, -1, 127, -1, -5, 127]);
      },
      { collect },
    );
  });

  test("fake quantization by PyTorch's example, with its gradient", async () => {
    await clean(
      device,
      () => {
        const x = dx.tensor(FAKE.x, { requiresGrad: true });
        const [y, g] = mode.run((t) => {
          const out = dx.fakeQuantizePerTensorAffine(t, 0.5, 3, 0, 15);
          return [out, dx.grad(out.sum(), [t])[0]!] as const;
        }, x);
        expectClose(y, FAKE.y);
        expect(numbers(g)).toEqual(FAKE.grad);
        const channels = dx.tensor(CHANNELS.x, { shape: [2, 3], requiresGrad: true });
        const [scale, zero] = [dx.tensor([0.1, 1.5]), dx.tensor([2, -1], { dtype: "int32" })];
        const [z, h] = mode.run(
          (t, s, p) => {
            const out = dx.fakeQuantizePerChannelAffine(t, s, p, 0, -8, 7);
            return [out, dx.grad(out.sum(), [t])[0]!] as const;
          },
          channels,
          scale,
          zero,
        );
        expectClose(z, CHANNELS.y);
        expect(numbers(h)).toEqual(CHANNELS.grad);
      },
      { collect },
    );
  });

  test("a weight has the length that is given", async () => {
    await clean(
      device,
      () => {
        const v = dx.tensor([
          [1, 2, 2],
          [0, 3, 4],
        ]);
        expectClose(
          mode.run((a, g) => dx.weightNorm(a, g), v, dx.tensor([[2], [10]])),
          [2 / 3, 4 / 3, 4 / 3, 0, 6, 8],
        );
        expectClose(
          mode.run((a, g) => dx.weightNorm(a, g, null), v, dx.tensor([[1]])),
          [1, 2, 2, 0, 3, 4].map((n) => n / Math.sqrt(34)),
        );
      },
      { collect },
    );
  });

  test("sequences are reversed up to their lengths", async () => {
    await clean(
      device,
      () => {
        const x = dx.tensor([
          [1, 2, 3, 4],
          [5, 6, 7, 8],
        ]);
        const lengths = dx.tensor([3, 0], { dtype: "int64" });
        expect(numbers(mode.run((t, n) => dx.reverseSequence(t, n), x, lengths))).toEqual([3, 2, 1, 4, 5, 6, 7, 8]);
        const times = dx.tensor([2, 1, 2, 0], { dtype: "int32" });
        const reversed = mode.run((t, n) => t.reverseSequence(n, { axis: 0, batchAxis: 1 }), x, times);
        expect(numbers(reversed)).toEqual([5, 2, 7, 4, 1, 6, 3, 8]);
        expect(
          numbers(
            mode.run(
              (t) => dx.hardmax(t, 0),
              dx.tensor([
                [1, 5],
                [4, 5],
              ]),
            ),
          ),
        ).toEqual([0, 1, 1, 0]);
      },
      { collect },
    );
  });
});

const FAKE = {
  x: [-3, -0.26, -0.25, 0.25, 0.74, 0.75, 1.3, 40],
  y: [-1.5, -0.5, 0, 0, 0.5, 1, 1.5, 6],
  grad: [0, 1, 1, 1, 1, 1, 1, 0],
};
const CHANNELS = { x: [-1, 0.3, 2.2, 5, -7, 0.61], y: [-1, 0.3, 0.5, 4.5, -7.5, 0], grad: [1, 1, 0, 1, 1, 1] };

eachDevice("refusals of quantization, and lists", (device) => {
  test("what does not fit", async () => {
    await clean(device, () => {
      const x = dx.ones([2, 3]);
      expect(() => dx.quantize(x, dx.ones([3]), 0)).toThrow(dx.ShapeError);
      expect(() => dx.quantize(x, dx.ones([3]), 0, { axis: 0 })).toThrow(/\[2\], one for each index of axis 0/);
      expect(() => dx.quantize(x, 1, 0, { dtype: "float16" })).toThrow(dx.DTypeError);
      expect(() => dx.fakeQuantizePerTensorAffine(x, 1, 0, 3, 1)).toThrow(dx.ValueError);
      expect(() => dx.dequantize(x, 1, 0)).toThrow(dx.DTypeError);
      expect(() => dx.weightNorm(x, dx.ones([3]))).toThrow(dx.ShapeError);
      expect(() => dx.reverseSequence(x, dx.tensor([1], { dtype: "int32" }))).toThrow(dx.ShapeError);
      expect(() => dx.reverseSequence(x, dx.tensor([1, 1], { dtype: "int32" }), { axis: 0 })).toThrow(dx.ValueError);
    });
  });

  test("foreach goes over lists", async () => {
    await clean(device, () => {
      const list = [dx.tensor([1, 4]), dx.tensor([9])];
      const { foreach } = dx;
      const flat = (out: readonly dx.Tensor[]): number[] => out.flatMap(numbers);
      expect(flat(foreach.add(list, 1))).toEqual([2, 5, 10]);
      expect(flat(foreach.sub(list, list))).toEqual([0, 0, 0]);
      expect(flat(foreach.mul(list, [2, 3]))).toEqual([2, 8, 27]);
      expect(flat(foreach.div(list, 2))).toEqual([0.5, 2, 4.5]);
      expect(flat(foreach.sqrt(list))).toEqual([1, 2, 3]);
      expectClose(foreach.norm(list)[0]!, Math.sqrt(17));
      expect(flat(foreach.lerp(list, foreach.mul(list, 3), 0.5))).toEqual([2, 8, 18]);
      expect(flat(foreach.addcmul(list, list, list, 2))).toEqual([3, 36, 171]);
      expect(flat(foreach.addcdiv(list, list, list, 2))).toEqual([3, 6, 11]);
      expect(() => foreach.add(list, [1])).toThrow(dx.ShapeError);
    });
  });
});
