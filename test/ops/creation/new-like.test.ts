/** New tensors like a given one, resized ones, indices of triangles, aliases. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

eachDevice("new tensors", (device) => {
  test("new… take dtype and device of a tensor, unless given", async () => {
    await clean(device, () => {
      const x = dx.zeros([2], { dtype: "int32" });
      expect([x.newZeros([2]).dtype, x.newOnes([1, 2]).shape, numbers(x.newFull([2], 7))]).toEqual(["int32", [1, 2], [7, 7]]);
      expect(numbers(x.newFull([1], 0.5, { dtype: "float32" }))).toEqual([0.5]);
      expect([x.newEmpty([3, 0]).shape, x.newEmpty([2], { dtype: "bool" }).dtype]).toEqual([[3, 0], "bool"]);
      const strided = x.newEmptyStrided([2, 3], [1, 4]);
      expect([strided.shape, strided.strides, strided.dtype]).toEqual([[2, 3], [1, 4], "int32"]);
      expect(numbers(dx.scalarTensor(3))).toEqual([3]);
      expect(() => dx.emptyStrided([2], [-1])).toThrow(/strides must be 1 integers of at least 0/);
      expect(dx.emptyStrided([2, 2], [3, 1], { requiresGrad: true }).isLeaf).toBe(true);
    });
  });

  test("triangles list their indices row by row", async () => {
    await clean(device, () => {
      for (const [rows, columns, offset] of [
        [3, 3, 0],
        [4, 2, -1],
        [2, 4, 1],
        [3, 3, -5],
        [3, 3, 5],
        [0, 4, 0],
      ] as const)
        for (const [f, is] of [
          [dx.triuIndices, (i: number, j: number) => j - i >= offset],
          [dx.trilIndices, (i: number, j: number) => j - i <= offset],
        ] as const) {
          const want: number[][] = [[], []];
          for (let i = 0; i < rows; i++)
            for (let j = 0; j < columns; j++)
              if (is(i, j)) {
                want[0]!.push(i);
                want[1]!.push(j);
              }
          const got = f(rows, columns, { offset });
          expect(got.shape).toEqual([2, want[0]!.length]);
          expect(numbers(got)).toEqual(want.flat());
        }
      expect(dx.triuIndices(2, 2, { dtype: "int64" }).dtype).toBe("int64");
      expect(() => dx.trilIndices(-1, 2)).toThrow(dx.ValueError);
    });
  });

  test("resize_ keeps what fits, over the same storage while it is large enough", async () => {
    await clean(device, () => {
      const x = dx.tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const view = x.view(-1);
      expect(x.resize_([2, 2])).toBe(x);
      expect(numbers(x)).toEqual([1, 2, 3, 4]);
      x.fill_(0);
      expect(numbers(view)).toEqual([0, 0, 0, 0, 5, 6]);
      x.resize_([7]);
      expect(numbers(x)).toEqual([0, 0, 0, 0, 5, 6, 0]);
      expect(numbers(view)).toEqual([0, 0, 0, 0, 5, 6]);
      const part = view.narrow(0, 4, 2);
      expect(numbers(part.resize_([3]))).toEqual([5, 6, 0]);
      expect(numbers(x.resizeAs_(dx.zeros([1, 2])))).toEqual([0, 0]);
      expect(
        numbers(
          dx
            .tensor([
              [1, 2],
              [3, 4],
            ])
            .t()
            .resize([3]),
        ),
      ).toEqual([1, 3, 2]);
      expect(numbers(dx.tensor([5]).resize([2, 2]))).toEqual([5, 0, 0, 0]);
      expect(x.resize_([0, 3]).shape).toEqual([0, 3]);
      expect(() => dx.ones([2], { requiresGrad: true }).resize_([1])).toThrow(dx.AutogradError);
      expect(() => dx.compile((t: dx.Tensor) => t.resize_([1]))(dx.ones([2]))).toThrow(dx.TraceError);
    });
  });

  test("what is one tensor by another's shape or name", async () => {
    await clean(device, () => {
      const [x, like] = [dx.tensor([[1], [-2.5]]), dx.zeros([2, 3], { dtype: "int32" })];
      expect(x.expandAs(like).shape).toEqual([2, 3]);
      expect(dx.ones([6]).reshapeAs(like).viewAs(like).shape).toEqual([2, 3]);
      expect(x.typeAs(like).dtype).toBe("int32");
      expect([numbers(x.clip(-1, 0)), numbers(x.absolute()), numbers(x.fix())]).toEqual([
        [0, -1],
        [1, 2.5],
        [1, -2],
      ]);
      expect(numbers(dx.tensor([1, 2]).ger(dx.tensor([3, 4])))).toEqual([3, 4, 6, 8]);
      expect(numbers(dx.tensor([1, 2, 3]).splitWithSizes([1, 2])[1]!)).toEqual([2, 3]);
      expect(numbers(dx.constantPadNd(dx.tensor([1]), [1, 0], 9))).toEqual([9, 1]);
      expect([x.isSameSize(dx.zeros([2, 1])), x.isSetTo(x.view(2, 1)), x.isSetTo(x.clone())]).toEqual([true, true, false]);
    });
  });

  test("the truth of one element", async () => {
    await clean(device, async () => {
      for (const [value, is] of [
        [0, false],
        [-0.5, true],
        [NaN, true],
      ] as const) {
        const x = dx.tensor([[value]]);
        expect([x.isNonzeroSync(), await x.isNonzero()]).toEqual([is, is]);
      }
      expect(() => dx.ones([2]).isNonzeroSync()).toThrow(/of one element/);
      await expect(dx.isNonzero(dx.ones([0]))).rejects.toThrow(dx.ShapeError);
    });
  });
});
