/** Results whose shape depends on data: oneHot without a count, repeats by a tensor; awaited, blocking, and of a given size. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { checkIndices, clean, eachDevice, numbers } from "../device.ts";
import { threeCalls } from "../three-calls.ts";

const ints = (data: readonly number[]): dx.Tensor => dx.tensor(data, { dtype: "int32" });

eachDevice("shapes that depend on data", (device) => {
  test("oneHot counts classes where they are not given", async () => {
    await clean(device, async () => {
      const x = ints([2, 0]);
      const want = [0, 0, 1, 1, 0, 0];
      expect(numbers(x.oneHot(3))).toEqual(want);
      expect(numbers(dx.oneHotSync(x))).toEqual(want);
      const waited = await x.oneHot();
      expect([waited.dtype, waited.shape]).toEqual(["int64", [2, 3]]);
      expect(numbers(waited)).toEqual(want);
      expect((await dx.oneHot(x, null, { dtype: "float32" })).dtype).toBe("float32");
      expect(() => dx.oneHotSync(ints([-1]))).toThrow(/numbers of at least 0/);
      expect(() => dx.oneHotSync(ints([]))).toThrow(/given for an empty tensor/);
      const putBack = checkIndices();
      expect(() => dx.oneHot(ints([3]), 3)).toThrow(dx.IndexError);
      putBack();
      expect(() => dx.compile((t: dx.Tensor) => dx.oneHotSync(t))(x)).toThrow(/classes/);
    });
  });

  test("repeatInterleave by a number for each index", async () => {
    await clean(device, async () => {
      const x = dx.tensor([
        [1, 2, 3],
        [4, 5, 6],
      ]);
      const times = ints([2, 0, 1]);
      const want = [1, 1, 3, 4, 4, 6];
      expect(numbers(dx.repeatInterleaveSync(x, times, 1))).toEqual(want);
      expect(numbers(await x.repeatInterleave(times, 1))).toEqual(want);
      expect(numbers(dx.repeatInterleave(x, times, 1, { outputSize: 5 }))).toEqual([1, 1, 3, 3, 3, 4, 4, 6, 6, 6]);
      expect(numbers(dx.repeatInterleave(x, times, 1, { outputSize: 2 }))).toEqual([1, 1, 4, 4]);
      expect(numbers(x.repeatInterleaveSync(ints([2])))).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
      expect(numbers(x.repeatInterleave(2, 0))).toEqual([1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
      expect(x.repeatInterleaveSync(ints([0, 0]), 0).shape).toEqual([0, 3]);
      expect(() => x.repeatInterleaveSync(ints([1, -1]), 0)).toThrow(/numbers of at least 0/);
      expect(() => x.repeatInterleaveSync(ints([1, 1]), 1)).toThrow(dx.ShapeError);
      expect(() => x.repeatInterleaveSync(dx.ones([3]), 1)).toThrow(dx.DTypeError);
    });
  });

  test("with a size inside compile, three calls; without one a refusal that names it", async () => {
    await clean(
      device,
      () => {
        const [x, times] = [dx.tensor([1, 2, 3]), ints([1, 2, 0])];
        expect(numbers(threeCalls((t, n) => dx.repeatInterleave(t, n, 0, { outputSize: 3 }), [x, times]))).toEqual([1, 2, 2]);
        expect(() => dx.compile((t: dx.Tensor, n: dx.Tensor) => dx.repeatInterleaveSync(t, n, 0))(x, times)).toThrow(/outputSize/);
      },
      { collect: true },
    );
  });
});
