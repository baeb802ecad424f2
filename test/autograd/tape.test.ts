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
