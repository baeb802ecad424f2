import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice, clean, eachMode, numbers, storageOf } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const rows = (): dx.Tensor =>
  dx.tensor([
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ]);
const indices = (...p: number[]): dx.Tensor => dx.tensor(p, { dtype: "int64" });

eachMode("elements by index", (device, mode) => {
  test("gather, indexSelect, takeAlongAxis with every index dtype", () =>
    clean(
      device,
      () => {
        const x = rows();
        for (const dtype of ["int8", "uint8", "int16", "int32", "uint32", "int64"] as const) {
          expectClose(
            mode.run(
              (t) =>
                dx.gather(
                  t,
                  1,
                  dx.tensor(
                    [
                      [2, 0],
                      [1, 1],
                    ],
                    { dtype },
                  ),
                ),
              x,
            ),
            [
              [3, 1],
              [5, 5],
            ],
          );
          expectClose(
            mode.run((t) => dx.indexSelect(t, 0, dx.tensor([2, 0, 2], { dtype })), x),
            [
              [7, 8, 9],
              [1, 2, 3],
              [7, 8, 9],
            ],
          );
        }
        expectClose(
          mode.run((t) => dx.indexSelect(t.t(), 1, indices(1)), x),
          [[4], [5], [6]],
        );
        expectClose(
          mode.run((t) => dx.takeAlongAxis(t, dx.tensor([[0, 2]], { dtype: "int32" }), 1), x),
          [
            [1, 3],
            [4, 6],
            [7, 9],
          ],
        );
        expectClose(
          mode.run((t) => dx.takeAlongAxis(t, indices(8, 0)), x),
          [9, 1],
        );
        expectClose(
          mode.run((t) => dx.gather(t, 0, indices(0)), dx.tensor(5)),
          [5],
        );
        expect(dx.indexSelect(x, 0, dx.zeros([0], { dtype: "int32" })).shape).toEqual([0, 3]);
      },
      { collect: true },
    ));

  test("index: integers, slices, new axes, ..., lists and tensors", () =>
    clean(
      device,
      () => {
        const x = dx.arange(24, { dtype: "float32" }).reshape(2, 3, 4);
        expectClose(x.index(1, 2, 3), 23);
        expectClose(x.index(-1, ":", 0), [12, 16, 20]);
        expectClose(x.index("...", dx.s(1, 3)).index(0, 0), [1, 2]);
        expect(x.index(null, "...", null).shape).toEqual([1, 2, 3, 4, 1]);
        expect(x.index(":", null, 0).shape).toEqual([2, 1, 4]);
        expectClose(x.index(0, dx.s(null, null, 2), -1), [3, 11]);
        expectClose(
          mode.run((t) => t.index(":", [2, -3], 0), x),
          [
            [8, 0],
            [20, 12],
          ],
        );
        expectClose(
          mode.run(
            (t, i) => t.index(1, i, 0),
            x,
            dx.tensor(
              [
                [0, 1],
                [1, 2],
              ],
              { dtype: "int32" },
            ),
          ),
          [
            [12, 16],
            [16, 20],
          ],
        );
        expect(storageOf(x.index(0, dx.s(1), null))).toBe(storageOf(x));
        expect(() => x.index(0, 0, 0, 0)).toThrow(dx.ShapeError);
        expect(() => x.index(2)).toThrow(dx.IndexError);
        expect(() => x.index("...", 0, "...")).toThrow(dx.ValueError);
        expect(() => x.index([0, 2])).toThrow(dx.IndexError);
      },
      { collect: true },
    ));

  test("set: whole parts, strided parts, lists, broadcasting and casting", () =>
    clean(device, () => {
      const x = dx.zeros([3, 3]);
      x.set(1, 5);
      expectClose(x, [
        [0, 0, 0],
        [5, 5, 5],
        [0, 0, 0],
      ]);
      x.set([":", 1], [1, 2, 3]);
      expectClose(x, [
        [0, 1, 0],
        [5, 2, 5],
        [0, 3, 0],
      ]);
      x.set([dx.s(null, null, 2), dx.s(0, 2)], dx.tensor([[7, 8]], { dtype: "int32" }));
      expectClose(x, [
        [7, 8, 0],
        [5, 2, 5],
        [7, 8, 0],
      ]);
      x.set([[2, 0], 2], [-1, -2]);
      expectClose(x, [
        [7, 8, -2],
        [5, 2, 5],
        [7, 8, -1],
      ]);
      x.t().set(0, 0);
      expectClose(x, [
        [0, 8, -2],
        [0, 2, 5],
        [0, 8, -1],
      ]);
      const row = x.select(0, 2);
      x.set(["..."], 4);
      expectClose(row, [4, 4, 4]);
      const bytes = dx.zeros([5], { dtype: "uint8" });
      bytes.set(dx.s(1, 4, 2), 44);
      expect(numbers(bytes)).toEqual([0, 44, 0, 44, 0]);
      expect(() => bytes.set(0, 300)).toThrow("set: value must be a number that uint8 can represent; received 300.");
      expect(() => x.set(0, [1, 2])).toThrow("set: value must be one that broadcasts to [3]; received float32[2].");
    }));

  test("refuses indices that are no integers, or of another shape", () =>
    clean(device, () => {
      expect(() => dx.gather(rows(), 0, dx.ones([1, 1]))).toThrow(dx.DTypeError);
      expect(() => dx.gather(rows(), 0, indices(1))).toThrow(dx.ShapeError);
      expect(() => dx.gather(rows(), 1, dx.zeros([4, 1], { dtype: "int32" }))).toThrow(dx.ShapeError);
      expect(() => dx.indexSelect(rows(), 0, dx.zeros([1, 1], { dtype: "int32" }))).toThrow(dx.ShapeError);
      expect(() => dx.indexSelect(rows(), 2, indices(0))).toThrow(dx.ValueError);
    }));
});

eachDevice("gradients of elements by index", (device) => {
  test("gradients add up where indices repeat", () =>
    clean(device, () => {
      const x = rows().requiresGrad_();
      const run = (f: (t: dx.Tensor) => dx.Tensor): dx.Tensor => dx.grad(f(x).sum(), [x])[0]!;
      expectClose(
        run((t) => dx.indexSelect(t, 0, indices(2, 0, 2))),
        [
          [1, 1, 1],
          [0, 0, 0],
          [2, 2, 2],
        ],
      );
      expectClose(
        run((t) =>
          dx.gather(
            t,
            1,
            dx.tensor(
              [
                [0, 0],
                [2, 1],
              ],
              { dtype: "int32" },
            ),
          ),
        ),
        [
          [2, 0, 0],
          [0, 1, 1],
          [0, 0, 0],
        ],
      );
      expectClose(
        run((t) => t.index([1, 1], ":").mul(2)),
        [
          [0, 0, 0],
          [4, 4, 4],
          [0, 0, 0],
        ],
      );
      dx.gradcheck(
        (t, v) => t.mul(1).set([":", [0, 2]], v),
        [
          x,
          dx.tensor(
            [
              [1, 2],
              [3, 4],
              [5, 6],
            ],
            { requiresGrad: true },
          ),
        ],
      );
      dx.gradcheck((t, v) => t.mul(2).set(1, v), [x, dx.tensor(3, { requiresGrad: true })]);
      x.dispose();
    }));
});
