/** vmap(): axes, trees, nesting, randomness, chunks, in-place writes, compile(), refusals; gradOf() and gradAndValue(). */
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

type T = dx.Tensor;
const { vmap, gradOf, gradAndValue } = dx;
const x = (): T => dx.tensor([[1, 2, 3], [4, 5, 6]]); // prettier-ignore
const cubes = (t: T): T => t.pow(3).sum();

eachDevice("vmap", (device) => {
  const alone = (fn: () => void | Promise<void>) => (): Promise<void> => clean(device, fn, { collect: true });

  // The default generator keeps its state.
  beforeAll(() => dx.withDevice(device, () => dx.rand([1]).dispose()));

  test(
    "axes of arguments and results, of trees too",
    alone(() => {
      const columns = vmap((t: T) => t.mul(10).sum(), { inDims: 1 });
      expect(columns(x()).toArraySync()).toEqual([50, 70, 90]);
      expect(vmap((t: T) => t.unsqueeze(0), { inDims: -1, outDims: -1 })(x()).shape).toEqual([1, 2, 3]);
      const f = vmap(({ a, list }: { a: T; list: [T, T] }, by: number) => ({ sum: a.add(list[0]).mul(by), both: [list[1], a] as const }), {
        inDims: [{ a: 0, list: [null, 1] }, null],
        outDims: { sum: 1, both: [null, 0] } as never,
      });
      const shared = dx.tensor([1, 1, 1]);
      expect(() => f({ a: x(), list: [shared, x().t()] }, 2)).toThrow(/outDims/);
      const g = vmap(
        ({ a, list }: { a: T; list: [T, T] }, by: number) => ({ sum: a.add(list[0]).mul(by), both: [list[0], list[1]] as const }),
        {
          inDims: [{ a: 0, list: [null, 1] }, null],
          outDims: { sum: 1, both: [null, 0] } as never,
        },
      );
      const made = g({ a: x(), list: [shared, x().t()] }, 2);
      expect(made.sum.toArraySync()).toEqual([[4, 10], [6, 12], [8, 14]]); // prettier-ignore
      expect([made.both[0].shape, made.both[1].toArraySync()]).toEqual([[3], [[1, 2, 3], [4, 5, 6]]]); // prettier-ignore
      // What does not depend on the sample is repeated.
      expect(vmap((t: T) => [t.sum(), dx.ones([2])] as const)(x())[1].shape).toEqual([2, 2]);
      const z = dx.complex(x(), x().neg());
      expect(vmap((t: dx.ComplexTensor) => t.mul(t))(z).real.toArraySync()).toEqual([[0, 0, 0], [0, 0, 0]]); // prettier-ignore
    }),
  );

  test(
    "calls inside calls, each with its own axis",
    alone(() => {
      const pairs = vmap((a: T) => vmap((b: T) => a.mul(b).sum())(x()))(x());
      expect(pairs.toArraySync()).toEqual([[14, 32], [32, 77]]); // prettier-ignore
      const mixed = vmap((a: T) => vmap((v: T, w: T) => v.mul(w).add(a.sum()), { inDims: [0, null] })(a, a))(x());
      const own = x().toArraySync() as number[][];
      const total = (row: number[]): number => row.reduce((p, q) => p + q, 0);
      expect(mixed.toArraySync()).toEqual(own.map((row) => row.map((v) => row.map((w) => v * w + total(row)))));
      expect(vmap(vmap((t: T) => t.add(1)))(x()).toArraySync()).toEqual(x().add(1).toArraySync());
      // A write in the inner call to a tensor of the outer one, which the inner samples share.
      expect(() => vmap((a: T) => vmap((b: T) => a.add_(b))(a))(x())).toThrow(dx.ValueError);
    }),
  );

  test(
    "derivatives of each sample: vjp, jvp, jacobian, hessian, gradOf",
    alone(() => {
      const rows = x().toArraySync() as number[][];
      const slopes = rows.map((row) => row.map((v) => 3 * v * v));
      expectClose(vmap((t: T) => dx.vjp(cubes, t)[1])(x()), slopes);
      expectClose(vmap((t: T) => dx.jvp((s: T) => s.pow(3), t, dx.ones([3]))[1])(x()), slopes);
      expectClose(vmap(gradOf(cubes))(x()), slopes);
      const diagonal = rows.map((row) => row.map((v, i) => row.map((_, k) => (i === k ? 6 * v : 0))));
      expectClose(vmap((t: T) => dx.hessian(cubes, t))(x()), diagonal);
      expectClose(vmap((t: T) => dx.jacobian(gradOf(cubes), t))(x()), diagonal);
      expectClose(vmap(gradOf((t: T) => gradOf(cubes)(t).sum()))(x()), rows.map((row) => row.map((v) => 6 * v))); // prettier-ignore
      const [g, value] = vmap(gradAndValue(cubes))(x());
      expectClose(g, slopes);
      expectClose(value, [36, 405]);
      expect([g.requiresGrad, value.requiresGrad]).toEqual([false, false]);
    }),
  );

  test(
    "gradients flow through vmap, and through gradients inside of it",
    alone(() => {
      const w = dx.tensor([1, -2, 0.5], { requiresGrad: true });
      const a = x().requiresGrad_();
      vmap((t: T) => t.mul(w).sum().square())(a)
        .sum()
        .backward();
      const s = [1 - 4 + 1.5, 4 - 10 + 3];
      expectClose(
        w.grad!,
        [0, 1, 2].map((i) => 2 * s[0]! * (i + 1) + 2 * s[1]! * (i + 4)),
      );
      expectClose(
        a.grad!,
        s.map((v) => [2 * v, -4 * v, v]),
      );
      // The gradient by t of sum(w t^2) is 2 w t: its sum's by w is 2 t, by t 2 w.
      w.grad = a.grad = null;
      vmap((t: T) => gradOf((u: T) => u.square().mul(w).sum())(t))(a)
        .sum()
        .backward();
      expectClose(w.grad!, [10, 14, 18]);
      expectClose(a.grad!, [[2, -4, 1], [2, -4, 1]]); // prettier-ignore
      w.grad = a.grad = null;
      vmap((t: T) => dx.vjp((u: T) => u.square().mul(w).sum(), t, undefined, { createGraph: true })[1])(a)
        .sum()
        .backward();
      expectClose(w.grad!, [10, 14, 18]);
      const plain = vmap((t: T) => dx.vjp((u: T) => u.square().mul(w).sum(), t)[1])(a);
      expect(plain.requiresGrad).toBe(false);
      expect(dx.noGrad(() => vmap((t: T) => t.mul(w))(a)).requiresGrad).toBe(false);
      expect(vmap((t: T) => t.detach().mul(2))(a).requiresGrad).toBe(false);
    }),
  );

  test(
    "gradients of each sample of a model, with functionalCall",
    alone(() => {
      dx.manualSeed(3);
      const model = new dx.nn.Sequential(
        new dx.nn.Conv2d(1, 2, 3), new dx.nn.GroupNorm(1, 2), new dx.nn.ReLU(), new dx.nn.Flatten(), new dx.nn.Linear(8, 3),
      ); // prettier-ignore
      const images = dx.randn([4, 1, 4, 4]);
      const labels = dx.tensor([0, 2, 1, 2], { dtype: "int32" });
      const parameters = Object.fromEntries([...model.namedParameters()].map(([name, p]) => [name, p.detach()]));
      const loss = (state: Record<string, T>, image: T, label: T): T =>
        dx.nn.functional.crossEntropy(dx.nn.functionalCall(model, state, image.unsqueeze(0)), label.unsqueeze(0));
      dx.resetFallbackStats();
      const each = vmap(gradOf(loss), { inDims: [null, 0, 0] })(parameters, images, labels);
      expect(dx.fallbackStats().filter((f) => f.kind === "vmap")).toEqual([]);
      for (let i = 0; i < 4; i++) {
        model.zeroGrad();
        dx.nn.functional.crossEntropy(model.forward(images.slice(0, i, i + 1)), labels.slice(0, i, i + 1)).backward();
        for (const [name, p] of model.namedParameters())
          expectClose(each[name]!.select(0, i), p.grad!.toArraySync(), { rtol: 1e-4, atol: 1e-5 });
      }
      const [chunked, values] = vmap(gradAndValue(loss), { inDims: [null, 0, 0], chunkSize: 3 })(parameters, images, labels);
      expect(values.shape).toEqual([4]);
      for (const name of Object.keys(parameters)) expectClose(chunked[name]!, each[name]!.toArraySync(), { rtol: 1e-4, atol: 1e-5 });
    }),
  );

  test(
    "random numbers: refused, the same, or different",
    alone(() => {
      const randomized = (t: T): T => t.mul(0).add(dx.rand([3]));
      expect(() => vmap(randomized)(x())).toThrow(/randomness/);
      const rows = (randomness: "same" | "different", chunkSize: number | null = null): number[][] =>
        vmap(randomized, { randomness, chunkSize })(x()).toArraySync() as number[][];
      for (const chunk of [null, 1]) {
        const [a, b] = rows("same", chunk);
        expect(a).toEqual(b);
        const [c, d] = rows("different", chunk);
        expect(c).not.toEqual(d);
      }
      expect(rows("same")).not.toEqual(rows("same"));
      const dropped = vmap((t: T) => dx.nn.functional.dropout(t.mul(0).add(1), 0.5), { randomness: "different" })(dx.ones([4, 50]));
      expect(new Set((dropped.toArraySync() as number[][]).map(String)).size).toBe(4);
      expect(() => vmap((t: T) => t.add(dx.randperm(3)), { randomness: "different" })(x())).toThrow(dx.UnsupportedError);
      expect(vmap((t: T) => t.add(dx.randperm(3)), { randomness: "same" })(x()).shape).toEqual([2, 3]);
    }),
  );

  test(
    "writes: of what differs in each sample; what all share is refused, unless the value is the same too",
    alone(() => {
      const written = vmap((t: T) => {
        const y = t.clone();
        y.slice(0, 0, 2).mul_(10);
        return y.add_(1);
      });
      expect(written(x()).toArraySync()).toEqual([[11, 21, 4], [41, 51, 7]]); // prettier-ignore
      const own = x();
      vmap((t: T) => t.add_(1))(own);
      expect(own.toArraySync()).toEqual([[2, 3, 4], [5, 6, 7]]); // prettier-ignore
      const total = dx.zeros([3]);
      expect(() => vmap((t: T) => total.add_(t))(x())).toThrow(dx.ValueError);
      expect(() => vmap((t: T, s: T) => s.add_(t), { inDims: [0, null] })(x(), total)).toThrow(dx.ValueError);
      expect(() => vmap((t: T) => dx.zeros([3]).add_(t))(x())).toThrow(/all samples/);
      vmap((t: T) => {
        total.add_(1);
        return t;
      })(x());
      expect(total.toArraySync()).toEqual([1, 1, 1]);
      const saved = (t: T): T => {
        const y = t.mul(2);
        const z = y.exp();
        z.add_(1);
        return z.sum();
      };
      expect(() => vmap(gradOf(saved))(x())).toThrow(dx.AutogradError);
      expectClose(vmap(gradOf((t: T) => t.mul(2).mul_(t).sum()))(x()), x().mul(4).toArraySync());
    }),
  );

  test(
    "compiled calls, three times with other data, and compiled functions inside",
    alone(() => {
      const f = dx.compile((t: T, w: T) => vmap((s: T) => gradOf((u: T) => dx.matmul(w, u).square().sum())(s))(t));
      const inner = dx.compile((t: T) => t.mul(2).add(1));
      for (const k of [1, -2, 0.5]) {
        const w = dx.tensor([[1, 0, 2], [0, k, 1]]); // prettier-ignore
        const t = x().mul(k);
        expectClose(f(t, w), dx.matmul(dx.matmul(t, w.t()), w).mul(2).toArraySync(), { rtol: 1e-4, atol: 1e-4 });
        expect(vmap(inner)(t).toArraySync()).toEqual(t.mul(2).add(1).toArraySync());
      }
    }),
  );

  test(
    "operations without a rule loop over the batch and are counted",
    alone(() => {
      dx.resetFallbackStats();
      const cells = vmap((h: T, t: T) => new dx.nn.GRUCell(3, 3).forward(t.unsqueeze(0), h.unsqueeze(0)), { randomness: "same" });
      expect(cells(x(), x()).shape).toEqual([2, 1, 3]);
      const looped = dx.fallbackStats().filter((f) => f.kind === "vmap");
      expect(looped.length).toBeGreaterThan(0);
      expect(looped[0]).toMatchObject({ device: String(dx.device(device)), calls: 1 });
      expect(looped[0]!.reason).toMatch(/once for each sample/);
      dx.resetFallbackStats();
    }),
  );

  test(
    "dtypes, empty batches, NaN",
    alone(() => {
      expect(vmap((t: T) => t.add(1).sum())(dx.zeros([0, 3])).shape).toEqual([0]);
      expect(vmap((t: T) => t.mul(2))(dx.zeros([2, 0])).shape).toEqual([2, 0]);
      expect(numbers(vmap((t: T) => t.mul(2))(dx.tensor([NaN, 1])))).toEqual([NaN, 2]);
      for (const dtype of ["float16", "int32", "int64", "uint8", "bool"] as const) {
        const y = vmap((t: T) => t.reshape([1, 2]).transpose(0, 1))(dx.ones([3, 2], { dtype }));
        expect([y.dtype, y.shape]).toEqual([dtype, [3, 2, 1]]);
      }
      expect(vmap((t: T, s: T) => t.add(s))(dx.ones([2, 2], { dtype: "float16" }), dx.ones([2, 2])).dtype).toBe("float32");
    }),
  );

  test(
    "refusals",
    alone(() => {
      expect(() => vmap(3 as never)).toThrow(dx.ValueError);
      expect(() => vmap((t: T) => t, { inDim: 0 } as never)).toThrow(dx.ValueError);
      expect(() => vmap((t: T) => t, { randomness: "other" as never })).toThrow(dx.ValueError);
      expect(() => vmap((t: T) => t, { chunkSize: 0 })).toThrow(dx.ValueError);
      expect(() => vmap((t: T) => t, { inDims: 2 })(x())).toThrow(/inDims/);
      expect(() => vmap((t: T) => t, { inDims: [0, 0] })(x())).toThrow(/inDims/);
      expect(() => vmap((t: T) => t, { inDims: null })(x())).toThrow(/at least one/);
      expect(() => vmap((t: T, n: number) => t.mul(n))(x(), 2)).toThrow(/no tensor/);
      expect(() => vmap((t: T, s: T) => t.add(s))(x(), dx.ones([3]))).toThrow(dx.ShapeError);
      expect(() => vmap((t: T) => t.sum(), { outDims: 1 })(x())).toThrow(/outDims/);
      expect(() => vmap((_: T) => 3 as never)(x())).toThrow(/fn's result/);
      expect(() => vmap((t: T) => t.add(dx.ones([4])))(x())).toThrow(dx.ShapeError);
      expect(() => vmap((t: T) => t.mul(t.sum().itemSync()))(x())).toThrow(dx.TraceError);
      expect(() => vmap((t: T) => Promise.resolve(t) as never)(x())).toThrow(/promise/);
      let kept: T | null = null;
      vmap((t: T) => (kept = t.mul(2)))(x());
      expect(() => kept!.add(1)).toThrow(dx.TraceError);
      expect(() => vmap((t: T) => t.add(kept!))(x())).toThrow(dx.TraceError);
      expect(() => kept!.dataSync()).toThrow(dx.TraceError);
      kept = null;
      expect(() => gradOf((t: T) => t.mul(2))(x())).toThrow(/no axes/);
      expect(() => gradOf(cubes, { argnums: 1 })(x())).toThrow(/argnums/);
      expect(() => gradOf((t: T) => t.sum())(dx.ones([2], { dtype: "int32" }))).toThrow(dx.DTypeError);
    }),
  );

  test(
    "gradOf outside of vmap: trees, several arguments, aux, histories",
    alone(() => {
      const f = ({ a, b }: { a: T; b: T }, c: T): T => a.mul(b).sum().add(c.square().sum());
      const tree = { a: dx.tensor([1, 2]), b: dx.tensor([3, 4]) };
      const g = gradOf(f)(tree, dx.tensor([5]));
      expect([g.a.toArraySync(), g.b.toArraySync(), g.a.requiresGrad]).toEqual([[3, 4], [1, 2], false]);
      const both = gradOf(f, { argnums: [1, 0] as const })(tree, dx.tensor([5]));
      expect((both[0] as T).toArraySync()).toEqual([10]);
      const [grad, aux] = gradOf((t: T) => [t.square().sum(), t.mul(3)], { hasAux: true })(dx.tensor([2]));
      expect([grad.toArraySync(), (aux as T).toArraySync(), (aux as T).requiresGrad]).toEqual([[4], [6], false]);
      const w = dx.tensor([2], { requiresGrad: true });
      const of = gradOf((t: T) => t.square().mul(w).sum())(dx.tensor([3]));
      of.sum().backward();
      expect([of.toArraySync(), w.grad!.toArraySync()]).toEqual([[12], [6]]);
      expect(gradOf((t: T) => gradOf((u: T) => u.pow(3).sum())(t).sum())(dx.tensor([2])).toArraySync()).toEqual([12]);
      expect(gradOf((t: T) => t.detach().sum())(dx.tensor([2])).toArraySync()).toEqual([0]);
    }),
  );
});
