/** Padding that cuts off on one side and repeats on the other. Expected: PyTorch 2.15. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachMode } from "../device.ts";

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
});
