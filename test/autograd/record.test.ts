/** Nodes of the tape: the recorded operations and views, and the edges of their gradients. */
import { expect, it } from "vitest";
import { attach, moveRetained } from "../../src/autograd/record.ts";
import { TapeNode } from "../../src/autograd/tape.ts";
import * as dx from "../../src/index.ts";

it("results of a node lead to it by their indices, integers to none", () => {
  const outputs = [dx.ones([1]), dx.ones([1], { dtype: "int32" }), dx.ones([1])];
  const node = new TapeNode(
    "test",
    [],
    outputs.map((t) => t.desc),
    [],
    () => [],
  );
  attach(node, outputs);
  expect(outputs.map((t) => [t.node, t.outputIndex])).toEqual([
    [node, 0],
    [null, 0],
    [node, 2],
  ]);
});

it("retainGrad() follows its own tensor to another node, and no other one", () => {
  const [t, other] = [dx.ones([1]), dx.ones([1])];
  const make = (): TapeNode => new TapeNode("test", [], [t.desc], [], () => []);
  const [from, to] = [make(), make()];
  from.retained = new Map([[0, t]]);
  moveRetained(other, from, 0, to, 1);
  expect([from.retained.get(0), to.retained]).toEqual([t, null]);
  moveRetained(t, from, 0, to, 1);
  expect([from.retained.size, to.retained?.get(1)]).toEqual([0, t]);
});

it("indices have no history: the gradient through them requires none", () => {
  const x = dx.tensor([[3, 1, 2]], { requiresGrad: true });
  for (const values of [dx.topk(x, 2).values, dx.median(x, 1).values, dx.sort(x).values]) {
    const [g] = dx.grad(dx.sum(values), [x], { createGraph: true });
    expect(g!.requiresGrad).toBe(false);
  }
});

it("what a gradient does not read may change in the meantime", () => {
  const x = dx.tensor([3, 1, 2], { requiresGrad: true });
  const of = (fn: (h: dx.Tensor, k: dx.Tensor) => dx.Tensor, [dh, dk]: readonly (readonly number[])[]): void => {
    const [h, k] = [dx.mul(x, 1), dx.mul(x, 2)];
    const y = fn(h, k);
    dx.noGrad(() => [h, k].map((t) => t.add_(1)));
    const grads = dx.grad(y, [h, k], { gradient: dx.ones([3]), allowUnused: true });
    expect(grads.map((g) => g?.toArraySync() ?? null)).toEqual([dh, dk ?? null]);
  };
  of(
    (h, k) => dx.lerp(h, k, 0.25),
    [
      [0.75, 0.75, 0.75],
      [0.25, 0.25, 0.25],
    ],
  );
  of((h) => dx.remainder(h, 2), [[1, 1, 1]]);
  of((h) => dx.fmod(h, 2), [[1, 1, 1]]);
  of((h) => dx.addcmul(h, dx.tensor([1, 2, 3]), dx.tensor([1, 2, 3])), [[1, 1, 1]]);
  of((h) => dx.addcdiv(h, dx.tensor([1, 2, 3]), dx.tensor([1, 2, 3])), [[1, 1, 1]]);
  expect(() => of((h, k) => dx.remainder(h, k), [[1, 1, 1]])).toThrow(/unchanged since remainder saved it/);
  expect(() => of((h, k) => dx.addcmul(x, h, k), [[1, 1, 1]])).toThrow(/unchanged since addcmul saved it/);
});

it("a derivative that nobody knows is refused when it is asked for, never left out of a sum", () => {
  const a = dx.tensor([1.5, 2.5], { requiresGrad: true });
  const x = dx.tensor([2.25, 0.75], { requiresGrad: true });
  for (const [name, f] of [
    ["igamma", dx.igamma],
    ["igammac", dx.igammac],
    ["zeta", dx.zeta],
    ["heaviside", dx.heaviside],
    ["floorDivide", dx.floorDivide],
  ] as const) {
    const refusal = new RegExp(`^${name}: .*whose derivative.* is not defined here`);
    expect(() => f(a, x.detach()).mul(a).sum().backward()).toThrow(refusal);
    const compiled = dx.compile((v: dx.Tensor) => f(v, x.detach()));
    for (let call = 0; call < 3; call++) expect(() => compiled(a).sum().backward()).toThrow(refusal);
  }
  expect(a.grad).toBeNull();
  dx.igamma(a.detach(), x).sum().backward();
  expect(x.grad).not.toBeNull();
});
