/** The gradients of a loop: a loop in the other direction, against float64. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("a training step's program has the loop and its gradient's, which run in opposite directions", () => {
  const w = dx.tensor([0.5], { requiresGrad: true });
  const train = dx.compile((xs: dx.Tensor) => {
    w.grad = null;
    const [last] = dx.scan((c: dx.Tensor, x: dx.Tensor) => [c.mul(w).add(x).tanh(), x] as const, dx.zeros([1]), xs);
    last.sum().backward();
    return w.grad!.clone();
  });
  const data = [0.3, -0.2, 0.8, 0.1, -0.5, 0.4];
  const found = train(dx.tensor(data.map((v) => [v]))).itemSync();
  let [h, dh] = [0, 0];
  for (const x of data) {
    const next = Math.tanh(h * 0.5 + x);
    dh = (1 - next * next) * (h + 0.5 * dh);
    h = next;
  }
  expect(found).toBeCloseTo(dh, 5);
  expect(train.explain().loops.map((l) => [l.name, l.reverse])).toEqual([
    ["scan", false],
    ["scan backward", true],
  ]);
});

it("a result that nothing flows to has no gradient, a carry that is passed on has one", () => {
  const run = dx.compile((xs: dx.Tensor, h: dx.Tensor, k: dx.Tensor) =>
    dx.scan((c: [dx.Tensor, dx.Tensor], x: dx.Tensor) => [[c[0].add(x), c[1]] as [dx.Tensor, dx.Tensor], x.detach()] as const, [h, k], xs),
  );
  const [xs, h, k] = [dx.ones([6, 2]), dx.ones([2], { requiresGrad: true }), dx.ones([2], { requiresGrad: true })];
  const [[last, passed], ys] = run(xs, h, k);
  expect([last.requiresGrad, passed.requiresGrad, ys.requiresGrad]).toEqual([true, true, false]);
  passed.mul(3).sum().backward();
  expect([h.grad?.toArraySync() ?? null, k.grad!.toArraySync()]).toEqual([[0, 0], [3, 3]]); // prettier-ignore
});
