import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("the host sees a view's elements in row-major order, and its results lie on the device", () => {
  const all = dx.tensor([
    [0, 9, 0],
    [0, 2, 1],
    [0, 1, 3],
  ]);
  const part = all.slice(0, 1, 3).slice(1, 1, 3);
  const det = dx.linalg.det(part);
  expect([det.itemSync(), det.device, det.dtype]).toEqual([expect.closeTo(5, 5), all.device, "float32"]);
  const transposed = dx.linalg.inv(
    dx
      .tensor([
        [1, 2],
        [0, 4],
      ])
      .t(),
  );
  expect(transposed.toArraySync()).toEqual([
    [1, 0],
    [-0.5, 0.25],
  ]);
});

it("counts separately from the fallbacks, and waits for what is queued", () => {
  const before = dx.fallbackStats();
  const x = dx.eye(3).mul(2).add(1);
  expect(dx.linalg.det(x).itemSync()).toBeCloseTo(20, 4);
  expect(dx.fallbackStats()).not.toEqual(before);
});
