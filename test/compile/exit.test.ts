/** How a path ends: the same end is the same program, another one is another. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const x = (): dx.Tensor => dx.tensor([1, 2]);

it("calls that follow one path and end alike share a program; another result is another", () => {
  let which = 0;
  const f = dx.compile((t: dx.Tensor) => {
    const both = [t.mul(2), t.add(1)];
    return which === 2 ? both : both[which];
  });
  const values = [0, 1, 2, 0, 1, 2].map((w) => {
    which = w;
    return [f(x())].flat().map((t) => t!.toArraySync());
  });
  expect(values.slice(3)).toEqual(values.slice(0, 3));
  expect(values.slice(0, 3)).toEqual([
    [[2, 4]],
    [[2, 3]],
    [
      [2, 4],
      [2, 3],
    ],
  ]);
  expect([f.programs, f.explain().recordings]).toEqual([3, ["arguments of a new kind", "another result", "another result"]]);
  f.dispose();
});

it("so is another effect outside, and a hook on what gradients flow through", () => {
  const w = dx.tensor([3, 4], { requiresGrad: true });
  let keeps = true;
  const f = dx.compile((t: dx.Tensor) => {
    w.grad = null;
    t.mul(w).sum().backward();
    if (!keeps) w.grad = null;
  });
  for (keeps of [true, false, true, false]) {
    f(x());
    expect(w.grad === null).toBe(!keeps);
  }
  expect(f.programs).toBe(2);
  f.dispose();
  let factor = 0;
  const g = dx.compile((t: dx.Tensor) => {
    const y = t.mul(w);
    if (factor > 0) y.registerHook((d) => d.mul(factor));
    return y.exp().log();
  });
  for (factor of [0, 2, 0, 3]) {
    w.grad = null;
    g(x()).sum().backward();
    const [a, b] = w.grad!.toArraySync() as [number, number];
    expect(a).toBeCloseTo(Math.max(factor, 1), 4);
    expect(b).toBeCloseTo(2 * Math.max(factor, 1), 4);
  }
  expect(g.programs).toBe(2);
  g.dispose();
});
