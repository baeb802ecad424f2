/** Gradients that flow on from a compiled function into what was made outside. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("come after the call, and are refused inside where they have not come yet", () => {
  const w = dx.tensor([3, 4], { requiresGrad: true });
  const early = dx.compile((y: dx.Tensor) => {
    y.mul(2).sum().backward();
    return w.grad;
  });
  for (let i = 0; i < 2; i++) expect(() => early(w.mul(5))).toThrow(/grad: .* must be read outside early|must be read outside compiled/);
  early.dispose();
  w.grad = null;
  const late = dx.compile((y: dx.Tensor) => y.mul(2).sum().backward());
  for (let i = 1; i < 4; i++) {
    late(w.mul(5));
    expect(w.grad!.toArraySync()).toEqual([10 * i, 10 * i]);
  }
  expect(late.programs).toBe(1);
  late.dispose();
});

it("an argument's own gradient is kept where it was asked for, and can be read inside", () => {
  const w = dx.tensor([3, 4], { requiresGrad: true });
  const f = dx.compile((y: dx.Tensor) => {
    y.mul(2).sum().backward();
    return y.grad!.add(1);
  });
  for (let i = 1; i < 4; i++) {
    const y = w.mul(5);
    y.retainGrad();
    expect(f(y).toArraySync()).toEqual([3, 3]);
    expect(y.grad!.toArraySync()).toEqual([2, 2]);
    expect(w.grad!.toArraySync()).toEqual([10 * i, 10 * i]);
  }
  f.dispose();
});
