import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { Filling } from "../../src/runtime/filling.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { clean, eachDevice, numbers } from "../device.ts";

eachDevice("tensors filled piece by piece", (device) => {
  const native = () => nativeDevice(dx.defaultDevice());

  test("hold the bytes of all pieces, in whatever order they come", () =>
    clean(device, () => {
      const filling = new Filling("test", native(), "float32", [2, 3]);
      const bytes = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
      filling.write(16, bytes.subarray(16));
      filling.write(0, bytes.subarray(0, 16));
      expect(filling.tensor.shape).toEqual([2, 3]);
      expect(numbers(filling.tensor)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(numbers(filling.tensor.mul(2).sum())).toEqual([42]);
    }));

  test("hold 0 and 1 where they are bool", () =>
    clean(device, () => {
      const filling = new Filling("test", native(), "bool", [4]);
      filling.write(0, Uint8Array.of(0, 1, 2, 255));
      expect(numbers(filling.tensor)).toEqual([0, 1, 1, 1]);
      expect(numbers(filling.tensor.sum())).toEqual([3]);
    }));
});
