/** Padding that cuts off on one side and repeats on the other. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachMode } from "../../device.ts";

eachMode("pad", (_, mode) => {
  const x = (): dx.Tensor =>
    dx.tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  const padded = (pads: readonly number[], how: "replicate" | "reflect") =>
    mode.run((t: dx.Tensor) => dx.pad(t, pads, { mode: how }), x()).toArraySync();

  test("what is cut off on one side is repeated on the other", () => {
    expect(padded([5, -4], "replicate")).toEqual([
      [1, 1, 1, 1],
      [4, 4, 4, 4],
    ]);
    expect(padded([-3, 2], "replicate")).toEqual([
      [3, 3],
      [6, 6],
    ]);
    expect(padded([2, -2], "reflect")).toEqual([
      [3, 2, 1],
      [6, 5, 4],
    ]);
    expect(padded([-1, -1], "replicate")).toEqual([[2], [5]]);
  });

  // Each output gives its gradient to the element that it repeats, on all axes at once.
  const source = (i: number, n: number, how: "replicate" | "reflect"): number => {
    if (how === "replicate") return Math.min(Math.max(i, 0), n - 1);
    return i < 0 ? -i : i < n ? i : 2 * (n - 1) - i;
  };
  test.each([
    ["reflect", [4, 5], [1, 1, 1, 1]],
    ["reflect", [4, 5], [3, 4, 2, 0]],
    ["reflect", [2, 7], [2, 3, 1, 1]],
    ["replicate", [4, 5], [2, 1, 0, 3]],
    ["replicate", [1, 3], [1, 2, 2, 2]],
  ] as const)("the gradient of %s on %j by %j", (how, [rows, columns], pads) => {
    const [left, right, top, bottom] = pads;
    const [height, width] = [rows + top + bottom, columns + left + right];
    const expected = Array.from({ length: rows }, () => new Array<number>(columns).fill(0));
    const padded = Array.from({ length: height }, (_unused, y) =>
      Array.from({ length: width }, (_none, x) => {
        const [row, column] = [source(y - top, rows, how), source(x - left, columns, how)];
        expected[row]![column]! += y * width + x;
        return row * columns + column;
      }),
    );
    const input = dx.arange(rows * columns, { dtype: "float32" }).reshape(rows, columns);
    const dy = dx.arange(height * width, { dtype: "float32" }).reshape(height, width);
    const [y, gradient] = mode.run(
      (x: dx.Tensor, d: dx.Tensor) => {
        const leaf = x.detach().clone().requiresGrad_();
        const out = dx.pad(leaf, pads, { mode: how });
        return [out.detach(), ...dx.grad(out, [leaf], { gradient: d })];
      },
      input,
      dy,
    );
    expect(y!.toArraySync()).toEqual(padded);
    expect(gradient!.toArraySync()).toEqual(expected);
  });
});
