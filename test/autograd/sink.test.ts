import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, liveBuffers, settledBuffers } from "../device.ts";

const leaf = (data: dx.TensorData, dtype: dx.DType = "float32"): dx.Tensor => dx.tensor(data, { dtype, requiresGrad: true });

eachDevice("the gradients of leaves", (device) => {
  test("share memory with nothing, and are dense", () =>
    clean(
      device,
      () => {
        const [a, b] = [leaf([1, 2]), leaf([3, 4])];
        const d = dx.tensor([1, 2], { device });
        for (let i = 1; i <= 3; i++) {
          a.add(b).backward({ gradient: d });
          expect([a.grad!, d].map((t) => t.toArraySync())).toEqual([
            [i, 2 * i],
            [1, 2],
          ]);
        }
        dx.noGrad(() => a.grad!.mul_(10));
        expect(b.grad!.toArraySync()).toEqual([3, 6]);
        const c = leaf([1, 2, 3]);
        c.sum().backward();
        expect([c.grad!.isContiguous, c.grad!.coversStorage]).toEqual([true, true]);
        const [p, q] = [leaf([1, 2]), leaf([3])];
        dx.cat([p, q]).backward({ gradient: dx.tensor([1, 2, 3], { device }) });
        expect(p.grad!.storage).not.toBe(q.grad!.storage);
      },
      { collect: true },
    ));

  test("accumulate in place, also with a gradient argument", () =>
    clean(
      device,
      () => {
        const a = leaf([1, 2]);
        a.mul(2).sum().backward();
        const { grad } = a;
        a.mul(3).sum().backward();
        expect(a.grad).toBe(grad);
        a.mul(1).backward({ gradient: a.grad! });
        expect(grad!.toArraySync()).toEqual([10, 10]);
      },
      { collect: true },
    ));

  test("have the leaf's dtype, and every parameter of mixed ones is updated", () =>
    clean(
      device,
      () => {
        const [h, w] = [leaf([2, 4], "float16"), leaf([1, 1])];
        const optimizer = dx.optim.sgd([h, w], { lr: 0.5 });
        h.mul(w).sum().backward();
        expect([h.grad!.dtype, w.grad!.dtype]).toEqual(["float16", "float32"]);
        optimizer.step();
        expect([h, w].map((t) => t.toArraySync())).toEqual([
          [1.5, 3.5],
          [0, -1],
        ]);
        expect(() => (w.grad = dx.ones([3], { device }))).toThrow(/grad must be null or a tensor like float32\[2\]/);
        expect(w.grad!.dtype).toBe("float32");
        optimizer.dispose();
      },
      { collect: true },
    ));

  test("of broadcasts are differentiated twice", () =>
    clean(
      device,
      () => {
        const [x, s] = [leaf([1, 2]), leaf(3)];
        const [g] = dx.grad(x.mul(s).square().sum(), [s], { createGraph: true });
        g!.square().add(x.sum()).backward();
        expect(x.grad!.toArraySync()).toEqual([721, 1441]);
      },
      { collect: true },
    ));

  test("of empty tensors are empty, and past the edge of a diagonal zero", () =>
    clean(
      device,
      () => {
        const e = dx.zeros([0, 3], { device, requiresGrad: true });
        dx.layerNorm(e, [3]).sum().backward();
        expect(e.grad!.shape).toEqual([0, 3]);
        for (const reduction of ["sum", "mean", "none"] as const) {
          const x = dx.zeros([0, 3], { device, requiresGrad: true });
          dx.crossEntropy(x, dx.zeros([0], { dtype: "int64", device }), { reduction })
            .sum()
            .backward();
          expect(x.grad!.shape).toEqual([0, 3]);
        }
        const n = dx.zeros([0, 2], { device, requiresGrad: true });
        dx.batchNorm(n, dx.zeros([2], { device }), dx.ones([2], { device }))
          .sum()
          .backward();
        dx.cat([n, dx.ones([1, 2], { device })])
          .sum()
          .backward();
        expect(n.grad!.shape).toEqual([0, 2]);
        const r = leaf([1, 2]);
        r.repeat(0).sum().backward();
        expect(r.grad!.toArraySync()).toEqual([0, 0]);
        const m = leaf([[1, 2]]);
        dx.diagonal(m, { offset: 5 }).sum().backward();
        expect(m.grad!.toArraySync()).toEqual([[0, 0]]);
      },
      { collect: true },
    ));

  test("nodes that saved nothing are passed twice, others are not", () =>
    clean(
      device,
      () => {
        const a = leaf([1, 2]);
        const s = a.sum();
        s.backward();
        s.backward();
        expect(a.grad!.toArraySync()).toEqual([2, 2]);
        const m = a.mul(2).sum();
        m.backward();
        expect(() => m.backward()).toThrow(dx.AutogradError);
      },
      { collect: true },
    ));

  test("grad() traverses only towards its inputs", () =>
    clean(
      device,
      () => {
        const a = leaf([1, 2]);
        const y = a.mul(2);
        const z = y.mul(3);
        y.retainGrad();
        dx.grad(z.sum(), [z]);
        expect(y.grad).toBe(null);
      },
      { collect: true },
    ));

  test("derivatives that are zero are there", () =>
    clean(
      device,
      () => {
        const a = leaf([1, -2]);
        const [g] = dx.grad(dx.leakyRelu(a).sum(), [a], { createGraph: true });
        expect(g!.requiresGrad).toBe(true);
        const [h] = dx.grad(g!.sum(), [a]);
        expect(h!.toArraySync()).toEqual([0, 0]);
      },
      { collect: true },
    ));

  test("what has no derivative refuses, and does not detach", () =>
    clean(
      device,
      () => {
        const twice = dx.kernel({
          name: "twice",
          infer: ([x]) => [x!],
          lower: (g, [x]) => [g.elementWiseAdd(x!, x!)],
          grad: null,
        });
        const a = leaf([1, 2]);
        const [y] = twice([a], undefined);
        expect(y!.requiresGrad).toBe(true);
        expect(() => y!.sum().backward()).toThrow(/twice, whose derivative is not defined/);
      },
      { collect: true },
    ));

  test("a tape without backward() is freed with its last tensor", () =>
    clean(device, () => {
      const a = leaf([1, 2]);
      const forward = (): void => {
        a.mul(3).exp().sin().sum();
      };
      dx.scope(forward);
      const before = settledBuffers(device);
      for (let i = 0; i < 5; i++) dx.scope(forward);
      expect(liveBuffers(device)).toBe(before);
    }));
});
