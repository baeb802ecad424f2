import { expect, it } from "vitest";
import { TapeNode, conformGradient, watching, type Gradients } from "../../src/autograd/tape.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

const inner = (t: dx.Tensor): Tensor => t as unknown as Tensor;
const outer = (t: Tensor): dx.Tensor => t as unknown as dx.Tensor;
const unwatched = (): boolean => false;
const spec = (shape: readonly number[], dtype: dx.DType = "float32"): { shape: readonly number[]; dtype: dx.DType } => ({ shape, dtype });

it("a gradient is of its input's shape, or one that broadcasting made of it, and of its dtype", () => {
  const fit = (t: dx.Tensor, s: ReturnType<typeof spec>): dx.Tensor => outer(conformGradient("op", "gradient 0", inner(t), s));
  expect(fit(dx.ones([2, 3]), spec([3])).toArraySync()).toEqual([2, 2, 2]);
  expect(fit(dx.ones([2, 3]), spec([2, 1])).toArraySync()).toEqual([[3], [3]]);
  expect(fit(dx.ones([2]), spec([2], "float16")).dtype).toBe("float16");
  expect(() => fit(dx.ones([3]), spec([2]))).toThrow(/op: gradient 0 must be of shape \[2\]; received float32\[3\]/);
  expect(() => fit(dx.ones([]), spec([2]))).toThrow(dx.AutogradError);
  expect(() => conformGradient("op", "gradient 0", undefined as never, spec([2]))).toThrow(/a tensor or null; received undefined/);
});

it("a node frees what it saved once, keeps nothing it does not need, and refuses a second pass", () => {
  const x = dx.tensor([2], { requiresGrad: true });
  const kept = dx.tensor([5]);
  const node = new TapeNode("test", [inner(x)], [inner(x).desc], [inner(kept)], ([dy], [k]) => [inner(outer(dy!).mul(outer(k!)))]);
  const dys: Gradients = [inner(dx.ones([1]))];
  const { refs } = inner(kept).storage;
  expect(outer(node.backward(dys, unwatched)[0]!).itemSync()).toBe(5);
  node.free();
  expect(inner(kept).storage.refs).toBe(refs - 1);
  expect(() => node.backward(dys, unwatched)).toThrow(/second pass through test/);
  const free = new TapeNode("free", [inner(x)], [inner(x).desc], [], ([dy]) => [dy!]);
  free.free();
  expect(free.backward(dys, unwatched)[0]).toBe(dys[0]);
});

it("what was saved and changed since is named with both versions", () => {
  const kept = dx.tensor([5, 6]);
  // As an optimizer's parameters share a storage: elsewhere any write to the storage counts.
  inner(kept).storage.divide();
  const node = new TapeNode("test", [], [inner(kept).desc], [inner(kept.slice(0, 0, 1))], () => []);
  kept.slice(0, 1, 2).add_(1);
  // Outside the saved part.
  expect(node.backward([inner(dx.ones([2]))], unwatched)).toEqual([]);
  kept.add_(1);
  expect(() => node.backward([inner(dx.ones([2]))], unwatched)).toThrow(
    /unchanged since test saved it \(version \d\); received version \d/,
  );
});

it("a node that stands for many stops where somebody looks, and shares with its like what was freed", () => {
  const x = dx.tensor([2], { requiresGrad: true });
  const first = new TapeNode("first", [inner(x)], [inner(x).desc], [], ([dy]) => [dy!]);
  const mid = inner(dx.ones([1]));
  mid.node = first;
  const part = new TapeNode("part", [], [], [], () => []);
  const asked: (readonly number[])[] = [];
  const freed = new Set<TapeNode>();
  const make = (): TapeNode =>
    new TapeNode("many", [inner(x), mid], [inner(x).desc], [inner(dx.ones([1]))], () => [null, null], {
      compiled: {
        parts: (_, stops) => {
          asked.push(stops);
          return { saved: new Set(), visited: new Set([part]) };
        },
        inner: [1],
        freed,
      },
    });
  const [a, b] = [make(), make()];
  a.backward([inner(dx.ones([1]))], unwatched);
  a.backward([inner(dx.ones([1]))], (node) => node === first);
  expect(asked).toEqual([[], [1]]);
  a.free();
  expect(() => b.backward([inner(dx.ones([1]))], unwatched)).toThrow(/second pass/);
});

it("tells the nodes that a function records", () => {
  const x = dx.tensor([2], { requiresGrad: true });
  const { result, nodes } = watching(() => x.mul(3).exp());
  expect([nodes.map((n) => n.name), inner(result).node]).toEqual([["mul", "exp"], nodes[1]]);
  expect(watching(() => dx.noGrad(() => x.mul(3))).nodes).toEqual([]);
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
