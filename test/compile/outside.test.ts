/** A run's changes to tensors outside are undone if the run is dropped. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("a function that throws leaves gradients, histories and contents outside as they were", () => {
  const w = dx.tensor([3, 4], { requiresGrad: true });
  const state = dx.tensor([1, 1]);
  const view = state.view(2);
  let fails = false;
  const f = dx.compile((x: dx.Tensor) => {
    x.mul(w).sum().backward();
    state.add_(x);
    if (fails) throw new RangeError("halfway");
    return view.mul(1);
  });
  const x = dx.tensor([1, 2]);
  f(x);
  const grad = w.grad;
  const saved = state.detach().mul(dx.tensor([1, 1], { requiresGrad: true }));
  fails = true;
  for (let i = 0; i < 2; i++) expect(() => f(x)).toThrow("halfway");
  expect(w.grad).toBe(grad);
  expect([grad!.toArraySync(), state.toArraySync()]).toEqual([
    [1, 2],
    [2, 3],
  ]);
  // Its state counts as unchanged: what was saved of it is still good.
  saved.sum().backward();
  fails = false;
  expect(f(x).toArraySync()).toEqual([3, 5]);
  expect(w.grad!.toArraySync()).toEqual([2, 4]);
  f.dispose();
});

it("a gradient that the function sets before any pass replaces the one of before; one that is cleared is no longer added to", () => {
  const w = dx.tensor([3, 4], { requiresGrad: true });
  const f = dx.compile((x: dx.Tensor) => {
    w.grad = null;
    x.mul(w).sum().backward();
  });
  for (const values of [
    [1, 2],
    [5, 6],
    [7, 8],
  ]) {
    f(dx.tensor(values));
    expect(w.grad!.toArraySync()).toEqual(values);
  }
  expect(f.programs).toBe(1);
  f.dispose();
});

it("a function that throws leaves modes of modules, and hooks that it takes away, as they were", () => {
  const model = dx.nn.sequential(dx.nn.linear(2, 2), dx.nn.dropout(0.5));
  const w = dx.tensor([3, 4], { requiresGrad: true });
  const handle = w.registerHook((g) => g.mul(3));
  const f = dx.compile((x: dx.Tensor) => {
    model.eval();
    handle.remove();
    model.forward(x);
    throw new RangeError("halfway");
  });
  for (let i = 0; i < 2; i++) {
    expect(() => f(dx.tensor([1, 2]))).toThrow("halfway");
    expect([...model.modules()].map((m) => m.training)).toEqual([true, true, true]);
  }
  w.sum().backward();
  expect(w.grad!.toArraySync()).toEqual([3, 3]);
  f.dispose();
});
