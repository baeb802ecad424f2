/** Numbers that fill tensors are read from a buffer: different values share one program. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clearScalars } from "../../src/runtime/constants.ts";
import { clean, eachDevice, numbers } from "../device.ts";

eachDevice("filled tensors", (device) => {
  const compiled = (): number => {
    const { operatorsCompiled, graphsCompiled } = dx.counters(device);
    return operatorsCompiled + graphsCompiled;
  };

  test("full and fill_ compile nothing for another number", async () => {
    await clean(device, () => {
      const x = dx.zeros([5]);
      const view = x.narrow(0, 1, 3);
      dx.full([5], 0.5);
      view.fill_(0.25);
      const before = compiled();
      for (let i = 2; i < 50; i++) {
        expect(numbers(dx.full([5], i + 0.3))).toEqual(Array.from({ length: 5 }, () => Math.fround(i + 0.3)));
        view.fill_(-i);
        expect(numbers(x)).toEqual([0, -i, -i, -i, 0]);
      }
      expect(compiled()).toBe(before);
    });
  });

  test("every dtype keeps its numbers, whichever way they come", async () => {
    await clean(device, () => {
      for (const [dtype, values] of [
        ["float32", [NaN, -Infinity, 3.5, 0, 1]],
        ["float16", [NaN, Infinity, 65504, -0.5]],
        ["int8", [-128, 127, 0]],
        ["uint8", [255, 7]],
        ["int16", [-32768, 32767]],
        ["uint16", [65535]],
        ["int32", [-(2 ** 31), 2 ** 31 - 1]],
        ["uint32", [2 ** 32 - 1]],
      ] as const)
        for (const value of values) {
          expect(numbers(dx.full([2, 2], value, { dtype }))).toEqual([value, value, value, value]);
          expect(numbers(dx.zeros([3], { dtype }).fill_(value))).toEqual([value, value, value]);
          expect(dx.full([], value, { dtype }).itemSync()).toEqual(value);
        }
      for (const value of [-(2n ** 63n), 2n ** 53n + 1n])
        expect(dx.full([2], value, { dtype: "int64" }).dataSync()).toEqual(BigInt64Array.of(value, value));
      expect(dx.full([2], 2n ** 64n - 1n, { dtype: "uint64" }).dataSync()).toEqual(BigUint64Array.of(2n ** 64n - 1n, 2n ** 64n - 1n));
      expect(dx.full([2], true, { dtype: "bool" }).dataSync()).toEqual(dx.ones([2], { dtype: "bool" }).dataSync());
    });
  });

  test("-0 stays -0", async () => {
    await clean(device, () => {
      expect(Object.is(dx.full([1], -0).itemSync(), -0)).toBe(true);
    });
  });

  test("a number that others replace stays for the call that asked for it", async () => {
    await clean(device, () => {
      const x = dx.tensor([0.5, 3.5, 9.5]);
      // So many numbers are kept that each of these calls finds its first one the oldest, or nearly, and its second one not at all.
      for (let others = 505; others < 516; others++) {
        clearScalars();
        x.add(2);
        for (let i = 0; i < others; i++) x.add(1000.25 + i).dispose();
        expect(numbers(x.clamp(2, 7))).toEqual([2, 3.5, 7]);
        expect(numbers(x.mul(2).add(7))).toEqual([8, 14, 26]);
      }
    });
  });

  test("a number that a gradient needs stays as long", async () => {
    await clean(device, () => {
      const x = dx.tensor([1, 2]).requiresGrad_();
      const y = x.mul(2.5).pow(2).sum();
      for (let i = 0; i < 1200; i++) dx.noGrad(() => x.add(2000.5 + i).dispose());
      y.backward();
      expect(numbers(x.grad!)).toEqual([12.5, 25]);
      x.grad!.dispose();
    });
  });
});
