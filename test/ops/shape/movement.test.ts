import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachMode, numbers, storageOf } from "../../device.ts";
import { expectClose } from "../../tolerance.ts";

const grid = (): dx.Tensor => dx.arange(24, { dtype: "float32" }).reshape(2, 3, 4);

eachMode("views and joins", (device, mode) => {
  test("views share the storage; reshape copies where it must", () =>
    clean(device, () => {
      const x = grid();
      for (const v of [
        x.reshape(6, 4),
        x.view(-1),
        x.permute(2, 0, 1),
        x.transpose(0, 2),
        x.expand(5, 2, 3, 4),
        x.unsqueeze(1),
        x.squeeze(),
        x.slice(2, 1, 4, 2),
        x.narrow(1, 1, 2),
        x.select(0, 1),
        x.flatten({ startDim: 1 }),
        x.movedim(0, -1),
        x.diagonal({ axis0: 1, axis1: 2 }),
      ])
        expect(storageOf(v)).toBe(storageOf(x));
      const flattened = x.transpose(0, 2).reshape(-1);
      expect(storageOf(flattened)).not.toBe(storageOf(x));
      expect(flattened.shape).toEqual([24]);
      expect(() => x.transpose(0, 2).view(-1)).toThrow(/Use reshape\(\), which copies/);
      expect(storageOf(x.transpose(0, 1).reshape(3, 2, 2, 2))).toBe(storageOf(x));
    }));

  test("elements of views, also at odd offsets and of small dtypes", () =>
    clean(
      device,
      () => {
        const x = grid();
        expectClose(mode.run((t) => t.permute(2, 0, 1).add(0), x).slice(0, 1, 2), [
          [
            [1, 5, 9],
            [13, 17, 21],
          ],
        ]);
        expectClose(
          mode.run((t) => t.slice(2, 1, 4, 2).add(0), x),
          [
            [
              [1, 3],
              [5, 7],
              [9, 11],
            ],
            [
              [13, 15],
              [17, 19],
              [21, 23],
            ],
          ],
        );
        expectClose(
          mode.run((t) => t.select(2, 3).narrow(1, 1, 2).add(0), x),
          [
            [7, 11],
            [19, 23],
          ],
        );
        expectClose(x.select(0, 1).select(0, 2), [20, 21, 22, 23]);
        for (const dtype of ["int8", "int16", "uint8", "float16", "int64", "bool"] as const) {
          const bytes = dx.arange(40, { dtype: "int32" }).to(dtype);
          const want = dtype === "bool" ? [1, 1, 1] : [7, 8, 9];
          expect(numbers(mode.run((t) => t.narrow(0, 7, 3).contiguous(), bytes))).toEqual(want);
          expect(numbers(bytes.slice(0, 7, 10))).toEqual(want);
        }
      },
      { collect: true },
    ));

  test("unflatten, unbind, t, broadcastTo", () =>
    clean(device, () => {
      const x = grid();
      expect(x.unflatten(2, [2, -1]).shape).toEqual([2, 3, 2, 2]);
      expect(x.unbind(1).map((t) => t.shape)).toEqual([
        [2, 4],
        [2, 4],
        [2, 4],
      ]);
      expectClose(
        dx
          .tensor([
            [1, 2],
            [3, 4],
          ])
          .t(),
        [
          [1, 3],
          [2, 4],
        ],
      );
      expectClose(dx.broadcastTo(dx.tensor([[1], [2]]), [2, 2, 3]), [
        [
          [1, 1, 1],
          [2, 2, 2],
        ],
        [
          [1, 1, 1],
          [2, 2, 2],
        ],
      ]);
      expectClose(
        dx.diagonal(
          dx.tensor([
            [1, 2, 3],
            [4, 5, 6],
          ]),
          { offset: 1 },
        ),
        [2, 6],
      );
    }));

  test("refuses what does not fit", () =>
    clean(device, () => {
      const x = grid();
      expect(() => x.reshape(5, 5)).toThrow("reshape: shape must be of 24 elements; received [5, 5].");
      expect(() => x.reshape(-1, -1)).toThrow(dx.ValueError);
      expect(() => x.permute(0, 0, 1)).toThrow(dx.ValueError);
      expect(() => x.expand(2, 3, 5)).toThrow(dx.ShapeError);
      expect(() => x.narrow(0, 1, 2)).toThrow(dx.ValueError);
      expect(() => x.select(1, 3)).toThrow("select: index must be an integer in [-3, 2]; received 3.");
      expect(() => x.select(1, -4)).toThrow(dx.IndexError);
      expect(() => x.select(1, -4)).toThrow(dx.ValueError);
      expect(() => x.slice(0, 0, 2, 0)).toThrow(dx.ValueError);
      expect(() => x.t()).toThrow(dx.ShapeError);
      expect(() => dx.tensor(1).select(0, 0)).toThrow(dx.ShapeError);
    }));

  test("cat, stack, split, chunk", () =>
    clean(
      device,
      () => {
        const a = dx.tensor([[1, 2]]);
        const b = dx.tensor([
          [3, 4],
          [5, 6],
        ]);
        expectClose(
          mode.run((x, y) => dx.cat([x, y]), a, b),
          [
            [1, 2],
            [3, 4],
            [5, 6],
          ],
        );
        expectClose(
          mode.run((x, y) => dx.cat([x.t(), y.t()], 1), a, b),
          [
            [1, 3, 5],
            [2, 4, 6],
          ],
        );
        expectClose(
          mode.run((x) => dx.stack([x, x.mul(2)], -1), dx.tensor([1, 2])),
          [
            [1, 2],
            [2, 4],
          ],
        );
        expectClose(dx.cat([dx.zeros([0]), dx.tensor([1, 2])]), [1, 2]);
        expect(dx.cat([a, dx.tensor([[1, 2]], { dtype: "int32" })]).dtype).toBe("float32");
        expect(dx.split(grid(), [1, 3], 2).map((t) => t.shape)).toEqual([
          [2, 3, 1],
          [2, 3, 3],
        ]);
        expect(dx.split(dx.arange(7), 3).map((t) => numbers(t))).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
        expect(dx.chunk(dx.arange(7), 4).map((t) => t.size)).toEqual([2, 2, 2, 1]);
        expect(() => dx.cat([])).toThrow(dx.ValueError);
        expect(() => dx.cat([a, dx.zeros([1, 3])])).toThrow(
          "cat: tensors[1] must be like float32[1, 2] but for axis 0; received float32[1, 3].",
        );
        expect(() => dx.stack([a, b])).toThrow(dx.ShapeError);
        expect(() => dx.split(a, [1], 1)).toThrow(dx.ValueError);
      },
      { collect: true },
    ));

  test("repeat, tile, repeatInterleave, flip, roll", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([
          [1, 2],
          [3, 4],
        ]);
        expectClose(
          mode.run((t) => t.repeat(2, 2), x),
          [
            [1, 2, 1, 2],
            [3, 4, 3, 4],
            [1, 2, 1, 2],
            [3, 4, 3, 4],
          ],
        );
        expectClose(
          mode.run((t) => t.tile(2), x),
          [
            [1, 2, 1, 2],
            [3, 4, 3, 4],
          ],
        );
        expectClose(
          mode.run((t) => t.repeatInterleave(2, 1), x),
          [
            [1, 1, 2, 2],
            [3, 3, 4, 4],
          ],
        );
        expectClose(
          mode.run((t) => t.flip([0, 1]), x),
          [
            [4, 3],
            [2, 1],
          ],
        );
        expectClose(
          mode.run((t) => t.roll(1, 0), x),
          [
            [3, 4],
            [1, 2],
          ],
        );
        expectClose(
          mode.run((t) => t.roll(-1), x),
          [
            [2, 3],
            [4, 1],
          ],
        );
        expect(x.repeat(0, 1).shape).toEqual([0, 2]);
      },
      { collect: true },
    ));

  test("padding", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([[1, 2, 3]]);
        expectClose(
          mode.run((t) => dx.pad(t, [1, 2], { value: 9 }), x),
          [[9, 1, 2, 3, 9, 9]],
        );
        expectClose(
          mode.run((t) => dx.pad(t, [2, 1], { mode: "reflect" }), x),
          [[3, 2, 1, 2, 3, 2]],
        );
        expectClose(
          mode.run((t) => dx.pad(t, [1, 2, 1, 0], { mode: "replicate" }), x),
          [
            [1, 1, 2, 3, 3, 3],
            [1, 1, 2, 3, 3, 3],
          ],
        );
        expectClose(
          mode.run((t) => dx.pad(t, [-1, 1]), x),
          [[2, 3, 0]],
        );
        expect(numbers(mode.run((t) => dx.pad(t, [1, 0], { value: 7 }), dx.tensor([1n])))).toEqual([7, 1]);
        expect(() => dx.pad(x, [3, 0], { mode: "reflect" })).toThrow(dx.ShapeError);
        expect(() => dx.pad(x, [1])).toThrow(dx.ValueError);
        expect(() => dx.pad(x, [-2, -2])).toThrow(dx.ShapeError);
      },
      { collect: true },
    ));

  test("sequences and triangles", () =>
    clean(
      device,
      () => {
        expect(dx.arange(3).dtype).toBe("int32");
        expectClose(
          mode.run(() => dx.arange(1, { step: 0.25 })),
          [0, 0.25, 0.5, 0.75],
        );
        expect(numbers(mode.run(() => dx.arange(2, { start: 8, step: -3, dtype: "int64" })))).toEqual([8, 5]);
        expectClose(
          mode.run(() => dx.linspace(0, 1, 5)),
          [0, 0.25, 0.5, 0.75, 1],
        );
        expectClose(
          mode.run(() => dx.eye(2, 3)),
          [
            [1, 0, 0],
            [0, 1, 0],
          ],
        );
        const x = dx.tensor([
          [1, 2, 3],
          [4, 5, 6],
        ]);
        expectClose(
          mode.run((t) => dx.tril(t), x),
          [
            [1, 0, 0],
            [4, 5, 0],
          ],
        );
        expectClose(
          mode.run((t) => dx.triu(t, 1), x),
          [
            [0, 2, 3],
            [0, 0, 6],
          ],
        );
        expect(mode.run((t) => dx.oneHot(t, 3), dx.tensor([0, 2], { dtype: "int64" })).toArraySync()).toEqual([
          [1n, 0n, 0n],
          [0n, 0n, 1n],
        ]);
        expectClose(
          mode.run((t) => dx.oneHot(t, 2, { dtype: "float32" }), dx.tensor([[1], [0]], { dtype: "int32" })),
          [[[0, 1]], [[1, 0]]],
        );
        expect(() => dx.arange(3, { step: -1 })).toThrow(dx.ValueError);
        expect(() => dx.eye(-1)).toThrow(dx.ValueError);
        expect(() => dx.oneHot(x, 2)).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));
});
