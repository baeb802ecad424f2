/** Views know their base: a write to either reaches the other's history. Values recorded from PyTorch 2.15. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const leaf = (): dx.Tensor => dx.tensor([1, 2, 3, 4], { requiresGrad: true });

it("the base is the tensor at the start of the chain", () => {
  const y = leaf().mul(2);
  const v = y.view(2, 2).select(0, 1).unsqueeze(0);
  expect(v.viewOf!.base).toBe(y);
  expect([y.viewOf, v.mul(1).viewOf]).toEqual([null, null]);
});

it("a chain of views applies to another tensor, and scatters gradients to their indices", () => {
  const y = leaf().mul(2);
  const view = y.view(2, 2).select(1, 1).viewOf!;
  expect(view.apply(dx.tensor([5, 6, 7, 8])).toArraySync()).toEqual([6, 8]);
  expect(view.adjoint(dx.tensor([1, 2])).toArraySync()).toEqual([0, 1, 0, 2]);
  const node = view.node(dx.ones([2]).desc);
  expect([node.outputs[0]!.shape, node.inputs[0]!.shape]).toEqual([[2], [4]]);
});

it("the same view of another base, which may be a view itself", () => {
  const steps = leaf().mul(2).view(2, 2).select(0, 1).viewOf!;
  const plain = steps.of(dx.tensor([5, 6, 7, 8]));
  expect(plain.adjoint(dx.tensor([1, 2])).toArraySync()).toEqual([0, 0, 1, 2]);
  const all = dx.arange(8, { dtype: "float32" });
  const seen = steps.of(all.slice(0, 4, 8));
  expect(seen.base).toBe(all);
  expect(seen.apply(dx.arange(8, { dtype: "float32" }).mul(10)).toArraySync()).toEqual([60, 70]);
  expect(seen.adjoint(dx.tensor([1, 2])).toArraySync()).toEqual([0, 0, 0, 0, 0, 0, 1, 2]);
});

it("a write to the base moves its views on, and one to a view the base and its other views", () => {
  const x = leaf();
  const y = x.mul(2);
  const [a, b] = [y.view(2, 2), y.select(0, 3)];
  y.mul_(3);
  a.select(0, 0).mul_(5);
  b.mul_(7);
  a.sum().backward();
  expect(x.grad!.toArraySync()).toEqual([30, 30, 6, 42]);
});

it("says which views may not be written to", () => {
  const y = leaf().mul(2);
  const messages = [y.split(2)[0]!, dx.noGrad(() => y.view(4))].map((v) => {
    try {
      v.mul_(2);
      return "";
    } catch (error) {
      return (error as Error).message;
    }
  });
  expect(messages).toEqual([expect.stringContaining("one of several views"), expect.stringContaining("a view made in noGrad()")]);
});

it("the gradient of a view that was written has its own storage, into which a leaf accumulates in place", () => {
  const a = dx.zeros([3, 1], { requiresGrad: true });
  const upstream = dx.tensor([[1, 2, 3]]);
  const v = a.transpose(0, 1);
  dx.noGrad(() => v.add_(1));
  for (let pass = 0; pass < 2; pass++) v.backward({ gradient: upstream, retainGraph: true });
  expect(a.grad!.toArraySync()).toEqual([[2], [4], [6]]);
  expect(upstream.toArraySync()).toEqual([[1, 2, 3]]);
});
