import { expect, it } from "vitest";
import { TapeNode, conformGradient, watching, type Gradients } from "../../src/autograd/tape.ts";
import * as dx from "../../src/index.ts";

const unwatched = (): boolean => false;
const spec = (shape: readonly number[], dtype: dx.DType = "float32"): { shape: readonly number[]; dtype: dx.DType } => ({ shape, dtype });

it("a gradient is of its input's shape, or one that broadcasting made of it, and of its dtype", () => {
  const fit = (t: dx.Tensor, s: ReturnType<typeof spec>): dx.Tensor => conformGradient("op", "gradient 0", t, s);
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
  const node = new TapeNode("test", [x], [x.desc], [kept], ([dy], [k]) => [dy!.mul(k!)]);
  const dys: Gradients = [dx.ones([1])];
  const { refs } = kept.storage;
  expect(node.backward(dys, unwatched)[0]!.itemSync()).toBe(5);
  node.free();
  expect(kept.storage.refs).toBe(refs - 1);
  expect(() => node.backward(dys, unwatched)).toThrow(/second pass through test/);
  const free = new TapeNode("free", [x], [x.desc], [], ([dy]) => [dy!]);
  free.free();
  expect(free.backward(dys, unwatched)[0]).toBe(dys[0]);
});

it("what was saved and changed since is named with both versions", () => {
  const kept = dx.tensor([5, 6]);
  // As an optimizer's parameters share a storage: elsewhere any write to the storage counts.
  kept.storage.divide();
  const node = new TapeNode("test", [], [kept.desc], [kept.slice(0, 0, 1)], () => []);
  kept.slice(0, 1, 2).add_(1);
  // Outside the saved part.
  expect(node.backward([dx.ones([2])], unwatched)).toEqual([]);
  kept.add_(1);
  expect(() => node.backward([dx.ones([2])], unwatched)).toThrow(/unchanged since test saved it \(version \d\); received version \d/);
});

it("a node that stands for many stops where somebody looks, and shares with its like what was freed", () => {
  const x = dx.tensor([2], { requiresGrad: true });
  const first = new TapeNode("first", [x], [x.desc], [], ([dy]) => [dy!]);
  const mid = dx.ones([1]);
  mid.node = first;
  const part = new TapeNode("part", [], [], [], () => []);
  const asked: (readonly number[])[] = [];
  const freed = new Set<TapeNode>();
  const make = (): TapeNode =>
    new TapeNode("many", [x, mid], [x.desc], [dx.ones([1])], () => [null, null], {
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
  a.backward([dx.ones([1])], unwatched);
  a.backward([dx.ones([1])], (node) => node === first);
  expect(asked).toEqual([[], [1]]);
  a.free();
  expect(() => b.backward([dx.ones([1])], unwatched)).toThrow(/second pass/);
});

it("tells the nodes that a function records", () => {
  const x = dx.tensor([2], { requiresGrad: true });
  const { result, nodes } = watching(() => x.mul(3).exp());
  expect([nodes.map((n) => n.name), result.node]).toEqual([["mul", "exp"], nodes[1]]);
  expect(watching(() => dx.noGrad(() => x.mul(3))).nodes).toEqual([]);
});
