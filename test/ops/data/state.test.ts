import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers, storageOf } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

eachDevice("writing into tensors", (device) => {
  test("clone copies, detach shares", () =>
    clean(device, () => {
      const x = dx.tensor([
        [1, 2],
        [3, 4],
      ]);
      const copy = x.t().clone();
      expect(storageOf(copy)).not.toBe(storageOf(x));
      expect(copy.isContiguous).toBe(true);
      expectClose(copy, [
        [1, 3],
        [2, 4],
      ]);
      const shared = x.detach();
      x.add_(1);
      expectClose(shared, [
        [2, 3],
        [4, 5],
      ]);
      expectClose(copy, [
        [1, 3],
        [2, 4],
      ]);
    }));

  test("copy_, fill_, zero_ write wholes, packed ranges and strided views; every view sees it", () =>
    clean(device, () => {
      const x = dx.zeros([3, 4]);
      const column = x.select(1, 1);
      const version = x.version;
      x.fill_(2);
      expect(x.version).toBeGreaterThan(version);
      expectClose(column, [2, 2, 2]);
      column.copy_(dx.tensor([7, 8, 9], { dtype: "int32" }));
      expectClose(x, [
        [2, 7, 2, 2],
        [2, 8, 2, 2],
        [2, 9, 2, 2],
      ]);
      x.select(0, 1).zero_();
      expectClose(x, [
        [2, 7, 2, 2],
        [0, 0, 0, 0],
        [2, 9, 2, 2],
      ]);
      x.slice(0, 0, 3, 2).slice(1, 2).copy_(dx.tensor(5));
      expectClose(x, [
        [2, 7, 5, 5],
        [0, 0, 0, 0],
        [2, 9, 5, 5],
      ]);
      const source = dx.tensor([
        [1, 2],
        [3, 4],
      ]);
      const target = dx.zeros([2, 2]);
      target.copy_(source);
      source.add_(10);
      expectClose(target, [
        [1, 2],
        [3, 4],
      ]);
      expect(() => x.copy_(dx.ones([5]))).toThrow("copy_: source must be one that broadcasts to [3, 4]; received float32[5].");
    }));

  test("small dtypes at odd offsets", () =>
    clean(device, () => {
      for (const dtype of ["uint8", "int16", "bool", "float16"] as const) {
        const x = dx.zeros([9], { dtype });
        x.slice(0, 3, 8).copy_(dx.tensor([1, 0, 1, 1, 0]));
        expect(numbers(x)).toEqual([0, 0, 0, 1, 0, 1, 1, 0, 0]);
        x.slice(0, 1, 9, 3).fill_(1);
        expect(numbers(x)).toEqual([0, 1, 0, 1, 1, 1, 1, 1, 0]);
      }
    }));

  test("in-place arithmetic keeps shape and dtype, or throws", () =>
    clean(device, () => {
      const x = dx.tensor([1, 2, 3]);
      const other = x.view(3);
      x.add_(1)
        .mul_(dx.tensor([2, 2, 2]))
        .sub_(1)
        .div_(3);
      expectClose(other, [1, 5 / 3, 7 / 3]);
      expect(() => x.add_(dx.ones([2, 3]))).toThrow("add_: result must be of the tensor's own shape [3]; received [2, 3].");
      expect(() => dx.tensor([1], { dtype: "int32" }).add_(0.5)).toThrow(dx.DTypeError);
      expectClose(x, [1, 5 / 3, 7 / 3]);
    }));

  test("a tensor added to itself, and overlapping ranges", () =>
    clean(device, () => {
      const x = dx.tensor([1, 2, 3, 4]);
      x.add_(x);
      expectClose(x, [2, 4, 6, 8]);
      x.slice(0, 1, 4).copy_(x.slice(0, 0, 3));
      expectClose(x, [2, 2, 4, 6]);
      const m = dx.tensor([
        [1, 2],
        [3, 4],
      ]);
      m.copy_(m.t().clone());
      expectClose(m, [
        [1, 3],
        [2, 4],
      ]);
    }));
});
