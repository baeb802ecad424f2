/** A compiled function makes the same changes as the eager one. */
import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { eachDevice } from "../../device.ts";
import { agrees } from "../agrees.ts";
import { at, input, none } from "./shared.ts";

eachDevice("compile changes what eager changes", () => {
  it("an argument in place", () => agrees(none, (_, x) => x.mul_(2).sum(), input, { programs: 1 }));
  it("a part of an argument", () => agrees(none, (_, x) => void x.slice(0, 1, 2).add_(10), input, { programs: 1 }));
  it("a strided argument, and no other element of its storage", async () => {
    const f = dx.compile((x: dx.Tensor) => void x.mul_(-1));
    for (let i = 0; i < 3; i++) {
      const base = dx.arange(12, { dtype: "float32" }).reshape([3, 4]);
      f(base.slice(1, 1, 3));
      expect(await base.toArray()).toEqual([
        [0, -1, -2, 3],
        [4, -5, -6, 7],
        [8, -9, -10, 11],
      ]);
    }
    f.dispose();
  });
  it("an argument of one byte an element", async () => {
    const f = dx.compile((x: dx.Tensor) => void x.add_(1));
    for (let i = 0; i < 3; i++) {
      const base = dx.tensor([1, 2, 3, 4, 5], { dtype: "uint8" });
      f(base.slice(0, 1, 4));
      expect(await base.toArray()).toEqual([1, 3, 4, 5, 5]);
    }
    f.dispose();
  });
  it("an argument that is reached by closure too", () =>
    agrees(
      () => ({ t: at([1, 2]) }),
      ({ t }, x) => {
        const g = dx.compile((a: dx.Tensor) => {
          t.add_(1);
          return a.mul(t);
        });
        return [g(t), x];
      },
      input,
    ));
  it("the tensor that is argument and closure, in one compiled function", async () => {
    const t = at([1, 2]);
    const f = dx.compile((a: dx.Tensor) => {
      t.add_(1);
      a.mul_(2);
      return t.add(a);
    });
    for (const expected of [
      [8, 12],
      [20, 28],
      [44, 60],
    ])
      expect(await f(t).toArray()).toEqual(expected);
    expect(await f(at([1, 1])).toArray()).toEqual([25, 33]);
    f.dispose();
  });
  it("two arguments over one storage", async () => {
    const f = dx.compile((a: dx.Tensor, b: dx.Tensor) => {
      a.add_(1);
      return b.mul(1);
    });
    for (let i = 0; i < 3; i++) {
      const base = at([1, 2, 3]);
      expect(await f(base, base.slice(0, 1, 3)).toArray()).toEqual([3, 4]);
      expect(await base.toArray()).toEqual([2, 3, 4]);
    }
    f.dispose();
  });
  it("gradients of parameters, accumulated", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        w.mul(x).sum().backward();
        return w.grad!.mul(2);
      },
      input,
    ));
  it("gradients of arguments, accumulated where they had one", () =>
    agrees(
      none,
      (_, x) => void x.mul(x).sum().backward(),
      (i) => {
        const x = at([i, 2], true);
        x.grad = at([100, 200]);
        return x;
      },
    ));
  it("nothing of a gradient argument that lives outside", () =>
    agrees(
      () => ({ a: at([1, 2], true), d: at([1, 1]) }),
      ({ a, d }) => void dx.add(a, a).backward({ gradient: d }),
      input,
    ));
  it("whether an argument requires a gradient", async () => {
    const f = dx.compile((x: dx.Tensor) => {
      x.requiresGrad_();
      x.mul(x).sum().backward();
    });
    for (let i = 1; i <= 3; i++) {
      const x = at([i, 2]);
      f(x);
      expect(x.requiresGrad).toBe(true);
      expect(await x.grad!.toArray()).toEqual([2 * i, 4]);
    }
    f.dispose();
  });
  it("the hooks of an argument, which stay with it", async () => {
    const f = dx.compile((x: dx.Tensor) => void x.registerHook((g) => g.mul(3)));
    for (let i = 0; i < 3; i++) {
      const x = at([1, 2], true);
      f(x);
      x.sum().backward();
      expect(await x.grad!.toArray()).toEqual([3, 3]);
    }
    f.dispose();
  });
  it("gradients up to an error that the function catches", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        const y = w.mul(x).sum();
        w.grad = null;
        y.backward();
        try {
          y.backward();
        } catch {
          w.add(x).sum().backward();
        }
        return w.grad;
      },
      input,
    ));
  it("a gradient that is written in place", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        w.mul(x).sum().backward();
        w.grad!.mul_(0.5);
      },
      input,
    ));
  it("an outer buffer that takes a traced value", () =>
    agrees(
      () => ({ buffer: at([0, 0]) }),
      ({ buffer }, x) => {
        buffer.copy_(x.mul(3));
        return buffer.sum();
      },
      input,
      { programs: 1 },
    ));
  it("two outer buffers that are swapped", () =>
    agrees(
      () => ({ a: at([1, 2]), b: at([3, 4]) }),
      ({ a, b }, x) => {
        const old = a.clone();
        a.copy_(b);
        b.copy_(old.add(x));
      },
      input,
      { programs: 1 },
    ));
  it("an optimizer's counts, where a parameter has a gradient in some steps of a call only", () =>
    agrees(
      () => {
        const [a, b] = [at([1, 2], true), at([3, 4], true)];
        return { a, b, optimizer: { adam: dx.optim.adam([a, b], { lr: 0.1 }) } as unknown };
      },
      ({ a, b, optimizer }, x) => {
        const { adam } = optimizer as { adam: dx.optim.Adam };
        for (const loss of [(): dx.Tensor => a.mul(b).mul(x), (): dx.Tensor => a.mul(x)]) {
          loss().sum().backward();
          adam.step();
          adam.zeroGrad();
        }
      },
      input,
    ));
  it("the history of a tensor outside that is written with one", () =>
    agrees(
      () => ({ w: at([1, 2], true) }),
      ({ w }, x) => {
        const written = dx.ones([3]);
        written.slice(0, 0, 2).copy_(w.mul(x));
        return written.sum();
      },
      input,
      { after: (_, r) => (r as dx.Tensor).backward() },
    ));

  it("gradients kept by a view whose history a write replaced", () =>
    agrees(
      none,
      (_, x) => {
        const a = x.clone().requiresGrad_();
        const v = a.select(0, 0);
        dx.noGrad(() => v.mul_(2));
        const y = v.sum();
        v.retainGrad();
        y.backward();
        return [v.grad, a.grad];
      },
      input,
      { programs: 1 },
    ));

  it("the history of other views outside of what is written", () =>
    agrees(
      () => {
        const w = at([1, 2], true);
        const y = w.mul(2);
        return { w, y, v: y.view(-1), u: y.view(2, 1) };
      },
      ({ y, v }, x) => {
        y.mul_(x);
        const r = v.sum();
        r.backward({ retainGraph: true });
        return r;
      },
      input,
      { after: ({ u }) => u.square().sum().backward({ retainGraph: true }) },
    ));

  it("the gradient of an argument with a history, which the function reads", () => {
    const run = (compiled: boolean): unknown[] => {
      const body = (z: dx.Tensor): dx.Tensor => {
        z.retainGrad();
        z.pow(2).sum().backward({ retainGraph: true });
        z.sum().backward();
        return z.grad!.mul(2);
      };
      const f = compiled ? dx.compile(body) : body;
      return [1, 2, 3].map((n) => {
        const x = at([n, 2], true);
        const z = x.pow(3);
        const doubled = f(z);
        return [doubled, z.grad!, x.grad!].map((t) => t.toArraySync());
      });
    };
    expect(run(true)).toEqual(run(false));
  });

  it("gradients outside, with a history of their own where createGraph asks for one", () => {
    const run = (compiled: boolean): unknown[] => {
      const body = (z: dx.Tensor): void => z.pow(2).sum().backward({ createGraph: true });
      const f = compiled ? dx.compile(body) : body;
      return [1, 2, 3].map((n) => {
        const x = at([n, 2], true);
        f(x.pow(3));
        const slope = x.grad!;
        x.grad = null;
        slope.sum().backward();
        return [slope.detach(), x.grad!].map((t) => t.toArraySync());
      });
    };
    expect(run(true)).toEqual(run(false));
  });
});
