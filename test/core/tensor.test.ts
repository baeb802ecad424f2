import { inspect } from "node:util";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

eachDevice("tensor", (device) => {
  test("is made of numbers, nested arrays and typed arrays of every dtype", () =>
    clean(device, () => {
      const cases: [dx.TensorData, dx.DType, unknown][] = [
        [3.5, "float32", 3.5],
        [true, "bool", true],
        [7n, "int64", 7n],
        [
          [
            [1, 2],
            [3, 4],
          ],
          "float32",
          [
            [1, 2],
            [3, 4],
          ],
        ],
        [[], "float32", []],
        [[[], []], "float32", [[], []]],
        [Int8Array.of(-1, 2), "int8", [-1, 2]],
        [Uint8Array.of(255), "uint8", [255]],
        [Int16Array.of(-300), "int16", [-300]],
        [Uint16Array.of(65535), "uint16", [65535]],
        [Int32Array.of(-(2 ** 31)), "int32", [-(2 ** 31)]],
        [Uint32Array.of(2 ** 32 - 1), "uint32", [2 ** 32 - 1]],
        [BigInt64Array.of(-(2n ** 63n)), "int64", [-(2n ** 63n)]],
        [BigUint64Array.of(2n ** 64n - 1n), "uint64", [2n ** 64n - 1n]],
        [Float32Array.of(1.5, NaN), "float32", [1.5, NaN]],
        [Float64Array.of(0.1), "float64", [0.1]],
      ];
      for (const [data, dtype, want] of cases) {
        const t = dx.tensor(data);
        expect(t.dtype).toBe(dtype);
        expect(t.toArraySync()).toEqual(want);
        expect(t.device.toString()).toBe(device);
      }
      expect(dx.tensor([1.1, 70000], { dtype: "float16" }).toArraySync()).toEqual([1.099609375, Infinity]);
      expect(dx.tensor([1.1], { dtype: "bfloat16" }).toArraySync()).toEqual([1.1015625]);
      expect(dx.tensor(Float32Array.of(1, 2, 3, 4), { shape: [2, 2] }).shape).toEqual([2, 2]);
    }));

  test("reads itself with and without blocking", () =>
    clean(device, async () => {
      const t = dx.tensor([
        [1, 2],
        [3, 4],
      ]);
      expect(await t.data()).toEqual(Float32Array.of(1, 2, 3, 4));
      expect(t.t().dataSync()).toEqual(Float32Array.of(1, 3, 2, 4));
      expect(await t.select(1, 1).toArray()).toEqual([2, 4]);
      expect(await dx.tensor(5n).item()).toBe(5);
      expect(dx.tensor([[true]]).itemSync()).toBe(1);
      expect(await dx.zeros([0, 2]).data()).toEqual(new Float32Array(0));
      await expect(t.item()).rejects.toThrow("item: tensor must be of one element; received float32[2, 2].");
    }));

  test("a read sees the values of its time, not later ones", () =>
    clean(device, async () => {
      const t = dx.tensor([1, 2]);
      const reading = t.data();
      t.add_(10);
      expect(await reading).toEqual(Float32Array.of(1, 2));
      expect(await t.data()).toEqual(Float32Array.of(11, 12));
    }));

  test("casts between all dtypes that compute; the low bits of integers stay", () =>
    clean(device, () => {
      const x = dx.tensor([-1, 0, 1, 200], { dtype: "int32" });
      const want: Partial<Record<dx.DType, unknown[]>> = {
        bool: [true, false, true, true],
        uint8: [255, 0, 1, 200],
        int8: [-1, 0, 1, -56],
        uint16: [65535, 0, 1, 200],
        int16: [-1, 0, 1, 200],
        uint32: [2 ** 32 - 1, 0, 1, 200],
        int64: [-1n, 0n, 1n, 200n],
        uint64: [2n ** 64n - 1n, 0n, 1n, 200n],
        float16: [-1, 0, 1, 200],
        float32: [-1, 0, 1, 200],
        float64: [-1, 0, 1, 200],
        bfloat16: [-1, 0, 1, 200],
      };
      for (const [dtype, values] of Object.entries(want) as [dx.DType, unknown[]][]) {
        expect(x.to(dtype).toArraySync()).toEqual(values);
        expect(numbers(x.to(dtype).to("int32").to("int8"))).toEqual(
          dtype === "bool" ? [1, 0, 1, 1] : dtype === "uint8" ? [-1, 0, 1, -56] : dtype === "int8" ? [-1, 0, 1, -56] : [-1, 0, 1, -56],
        );
      }
      expect(dx.tensor([1.75, -1.75, 0.5]).to("int32").toArraySync()).toEqual([1, -1, 0]);
      expect(dx.tensor([0, 0.25, NaN]).to("bool").toArraySync()).toEqual([false, true, true]);
      expect(x.to("int32")).toBe(x);
    }));

  test("describes itself without reading", () =>
    clean(
      device,
      () => {
        const t = dx.zeros([2, 3], { requiresGrad: true });
        expect(String(t)).toBe(`Tensor float32[2, 3] on ${device}, requiresGrad`);
        expect(String(t.mul(2))).toBe(`Tensor float32[2, 3] on ${device}, gradFn=<mul>`);
        expect(t.rank).toBe(2);
        expect(t.size).toBe(6);
        expect(t.strides).toEqual([3, 1]);
        expect(t.isLeaf).toBe(true);
        const gone = dx.ones([1]);
        gone.dispose();
        expect(inspect(gone)).toContain("disposed");
      },
      { collect: true },
    ));

  test("moves between devices", () =>
    clean(
      device,
      () => {
        const t = dx.tensor(
          [
            [1, 2],
            [3, 4],
          ],
          { requiresGrad: true },
        );
        const there = t.t().to("cpu");
        expect(there.device.toString()).toBe("cpu");
        expect(there.toArraySync()).toEqual([
          [1, 3],
          [2, 4],
        ]);
        there.mul(2).sum().backward();
        expect(t.grad!.device.toString()).toBe(device);
        expect(t.grad!.toArraySync()).toEqual([
          [2, 2],
          [2, 2],
        ]);
        t.grad!.dispose();
        if (device !== "cpu") expect(() => dx.add(t, there)).toThrow(dx.DeviceError);
      },
      { collect: true },
    ));
});
