import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const leaf = (data: dx.TensorData): dx.Tensor => dx.tensor(data, { requiresGrad: true });

eachDevice("in-place operations over views", (device) => {
  test("a write into a view is a write into its base, in both orders", () =>
    clean(
      device,
      () => {
        const x = leaf([1, 2]);
        const y = x.mul(2);
        const v = y.view(-1);
        v.mul_(3);
        y.sum().backward();
        expect(x.grad!.toArraySync()).toEqual([6, 6]);
        const z = x.mul(2);
        const u = z.view(-1);
        z.mul_(3);
        u.sum().backward();
        expect(x.grad!.toArraySync()).toEqual([12, 12]);
      },
      { collect: true },
    ));

  test("a part that is overwritten loses its history, the rest keeps it", () =>
    clean(
      device,
      () => {
        const x = leaf([
          [1, 2],
          [3, 4],
        ]);
        const v = leaf([5, 6]);
        const y = x.mul(2);
        y.t().select(0, 1).copy_(v);
        y.select(0, 0).slice(0, 0, 1).mul_(10);
        y.mul(y).sum().backward();
        expect(y.toArraySync()).toEqual([
          [20, 5],
          [6, 6],
        ]);
        expect(x.grad!.toArraySync()).toEqual([
          [800, 0],
          [24, 0],
        ]);
        expect(v.grad!.toArraySync()).toEqual([10, 12]);
      },
      { collect: true },
    ));

  test("into a plain tensor, whose other views then require gradients", () =>
    clean(
      device,
      () => {
        const a = leaf([2, 3]);
        const c = dx.zeros([2, 2], { device });
        const other = c.select(1, 0);
        c.select(0, 0).copy_(a);
        expect([c.requiresGrad, other.requiresGrad]).toEqual([true, true]);
        other.sum().backward();
        expect(a.grad!.toArraySync()).toEqual([1, 0]);
      },
      { collect: true },
    ));

  test("zeros, fills and copies of constants keep a history of zeros", () =>
    clean(
      device,
      () => {
        for (const write of [
          (y: dx.Tensor) => y.zero_(),
          (y: dx.Tensor) => y.fill_(3),
          (y: dx.Tensor) => y.copy_(dx.ones([2], { device })),
        ]) {
          const x = leaf([1, 2]);
          const y = x.mul(2);
          write(y);
          expect(y.requiresGrad).toBe(true);
          y.sum().backward();
          expect(x.grad!.toArraySync()).toEqual([0, 0]);
        }
      },
      { collect: true },
    ));

  test("save the target from before the write, and no more", () =>
    clean(
      device,
      () => {
        const x = leaf([0.5, 2]);
        const y = x.mul(1);
        y.sin_().abs_().square_().clamp_(0, 2).mul_(x);
        const expected = leaf([0.5, 2]);
        expected.mul(1).sin().abs().square().clamp(0, 2).mul(expected).sum().backward();
        y.sum().backward();
        expect(x.grad!.toArraySync()).toEqual(expected.grad!.toArraySync());
        const logits = leaf([[1, 2, 3]]);
        const loss = dx.crossEntropy(logits, dx.tensor([1], { dtype: "int64", device }));
        loss.mul_(2);
        loss.backward();
        expect(logits.grad!.sum().itemSync()).toBeCloseTo(0, 5);
      },
      { collect: true },
    ));

  test("dtypes of one kind are cast to the target's", () =>
    clean(
      device,
      () => {
        const w = leaf([1.5, 2]);
        const y = dx.tensor([1, 2], { dtype: "float16", requiresGrad: true });
        const z = y.mul(1);
        z.mul_(w);
        z.sum().backward();
        expect([z.dtype, y.grad!.dtype, w.grad!.dtype]).toEqual(["float16", "float16", "float32"]);
        expect(y.grad!.toArraySync()).toEqual([1.5, 2]);
        expect(() => dx.ones([2], { dtype: "int64", device }).mul_(1.5)).toThrow(dx.DTypeError);
      },
      { collect: true },
    ));

  test("hooks stay with what the tensor was, retainGrad follows it", () =>
    clean(
      device,
      () => {
        const x = leaf([1, 2]);
        const y = x.mul(2);
        const seen: unknown[] = [];
        y.registerHook((g) => void seen.push(g.toArraySync()));
        y.retainGrad();
        y.mul_(3);
        y.sum().backward();
        expect(seen).toEqual([[3, 3]]);
        expect(y.grad!.toArraySync()).toEqual([1, 1]);
      },
      { collect: true },
    ));

  test("second gradients go through writes into views", () =>
    clean(
      device,
      () => {
        const s = leaf(3);
        const x = leaf([1, 2]);
        const y = x.mul(1);
        y.select(0, 0).mul_(s);
        const [g] = dx.grad(y.square().sum(), [x], { createGraph: true });
        const [h] = dx.grad(g!.sum(), [s]);
        // d/ds (2 x0 s² + 2 x1) at x0 = 1, s = 3
        expect(h!.itemSync()).toBe(12);
      },
      { collect: true },
    ));

  test("a copy over itself, and between parts of one tensor", () =>
    clean(
      device,
      () => {
        const c = dx.tensor([1, 2, 3, 4], { device });
        c.slice(0, 0, 2).copy_(c.slice(0, 2, 4));
        expect(c.toArraySync()).toEqual([3, 4, 3, 4]);
        c.copy_(c);
        expect(c.toArraySync()).toEqual([3, 4, 3, 4]);
      },
      { collect: true },
    ));

  test("are refused where PyTorch refuses them", () =>
    clean(
      device,
      () => {
        const x = leaf([1, 2]);
        const refused = (fn: () => void): void => expect(fn).toThrow(dx.AutogradError);
        refused(() => x.mul_(2));
        refused(() => x.reshape(2, 1).mul_(2));
        const hidden = dx.noGrad(() => x.select(0, 0));
        refused(() => hidden.mul_(2));
        refused(() => x.mul(2).unbind()[0]!.mul_(2));
        refused(() => x.mul(2).split(1)[0]!.mul_(2));
        expect(() => dx.zeros([1], { device }).expand(3).add_(1)).toThrow(dx.ShapeError);
        const e = x.exp();
        e.mul_(2);
        refused(() => e.sum().backward());
        const y = x.mul(2);
        y.mul_(y);
        refused(() => y.sum().backward());
        expect(x.grad).toBe(null);
        dx.noGrad(() => x.select(0, 0).mul_(2));
        expect(x.toArraySync()).toEqual([2, 2]);
      },
      { collect: true },
    ));
});

eachDevice("what PyTorch takes", () => {
  test("logits change after crossEntropy, which keeps their logarithms", () => {
    const x = leaf([[0.5, -1, 2]]);
    const loss = dx.nn.functional.crossEntropy(x, dx.tensor([2], { dtype: "int32" }));
    dx.noGrad(() => x.mul_(100));
    loss.backward();
    expectClose(x.grad!, [0.17529039, 0.0391126, -0.21440299]);
  });

  test("fill_ and maskedFill_ write overlapping elements", () => {
    const w = leaf([1, 2]);
    const s = w.sum();
    s.expand(3).fill_(5);
    expect(s.itemSync()).toBe(5);
    s.mul(w).sum().backward();
    expect(w.grad!.toArraySync()).toEqual([5, 5]);
    const y = w.mul(2);
    const mask = dx.tensor([
      [true, false],
      [false, false],
    ]);
    expect(y.reshape(2, 1).expand(2, 2).maskedFill_(mask, 7).toArraySync()).toEqual([
      [7, 7],
      [4, 4],
    ]);
    y.sum().backward();
    expect(w.grad!.toArraySync()).toEqual([5, 7]);
    expect(dx.noGrad(() => dx.zeros([1]).expand(2, 3).fill_(4)).toArraySync()).toEqual([
      [4, 4, 4],
      [4, 4, 4],
    ]);
  });

  test("a hook of a view that was written in place sees its gradient's own gradient", () => {
    const a = leaf([0.5, -1]);
    const y = a.mul(2);
    const v = y.reshape(-1);
    v.tanh_();
    v.registerHook((g) => g.mul(0.5));
    const [g] = dx.grad(v.sum(), [a], { createGraph: true });
    const [h] = dx.grad(g!.sum(), [a]);
    const t = [0.5, -1].map((n) => Math.tanh(2 * n));
    // Twice through the hook: 0.5 of the gradient, 0.5 of what flows to tanh's result.
    expectClose(
      h!,
      t.map((n) => 0.5 * 0.5 * 2 * 2 * -2 * n * (1 - n * n)),
    );
  });

  test("prod's result and a vector of dot's lead to gradients of gradients", () => {
    const c = leaf([2, 3]);
    const p = c.prod().retainGrad();
    const [g] = dx.grad(p, [c], { createGraph: true });
    g!.sum().backward();
    // What grad() gave it, and what flows through the result.
    expectClose(p.grad!, 1 + 1 / 2 + 1 / 3);
    expectClose(c.grad!, [1, 1]);
    const zero = leaf([0, 3, 2]);
    const [d] = dx.grad(zero.prod(), [zero], { createGraph: true });
    d!.sum().backward();
    expectClose(zero.grad!, [5, 2, 3]);
    const [a, b] = [leaf([2, 3]), dx.tensor([4, 5])];
    const product = a.dot(b);
    b.requiresGrad_();
    const [da] = dx.grad(product, [a], { createGraph: true });
    expect(dx.grad(da!.sum(), [b])[0]!.toArraySync()).toEqual([1, 1]);
  });

  test("the gradient of layerNorm's sum is zero", () => {
    const a = leaf([0.6, 0.66]);
    dx.nn.functional.layerNorm(a, [2]).sum().backward();
    expect(a.grad!.toArraySync()).toEqual([0, 0]);
  });
});

describe("what changes nothing", () => {
  test("flatten of one axis is the tensor, index of everything a view of it", () => {
    const x = dx.tensor([1, 2]);
    expect(x.flatten()).toBe(x);
    expect(x.index(":")).not.toBe(x);
    x.dispose();
  });
});

eachDevice("hooks of views that others are views of", (device) => {
  test("see nothing of a write through the other, as in PyTorch", () =>
    clean(
      device,
      () => {
        const x = dx.tensor([1, 2, 3, 4]).requiresGrad_();
        const rows = dx.mul(x, 1).view(2, 2);
        const column = dx.select(rows, 1, 0);
        column.registerHook((g) => dx.neg(g));
        dx.narrow(column, 0, 1, 1).add_(1.5);
        dx.sum(dx.add(column, column)).backward();
        expect(x.grad!.toArraySync()).toEqual([2, 0, 2, 0]);
        x.dispose();
      },
      { collect: true },
    ));
});
