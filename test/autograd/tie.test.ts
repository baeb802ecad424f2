import { expect, it } from "vitest";
import { tie } from "../../src/autograd/tie.ts";
import * as dx from "../../src/index.ts";

const tied = (value: dx.Tensor, x: dx.Tensor, derivative?: "zero" | "none"): dx.Tensor => tie(value, x, derivative);

it("a value that depends on a tensor with a derivative of zero, which is there", () => {
  const x = dx.tensor([1, 2], { requiresGrad: true });
  const v = dx.tensor([3, 4], { requiresGrad: true });
  const t = tied(v, x);
  expect([t.toArraySync(), t.requiresGrad]).toEqual([[3, 4], true]);
  const [dv, dx1] = dx.grad(t.mul(2).sum(), [v, x]);
  expect([dv!.toArraySync(), dx1!.toArraySync()]).toEqual([
    [2, 2],
    [0, 0],
  ]);
  expect(dx.grad(tied(v, x, "none").sum(), [x], { allowUnused: true })).toEqual([null]);
});

it("is the value itself where nothing is recorded", () => {
  const v = dx.tensor([3]);
  expect(tied(v, dx.tensor([1]))).toBe(v);
  expect(dx.noGrad(() => tied(v, dx.tensor([1], { requiresGrad: true })))).toBe(v);
});
