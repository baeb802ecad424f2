/** docs/compile.md, clause by clause: what a compiled function returns and changes is what it returns and changes eagerly. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, devices } from "../device.ts";
import { agrees } from "./agrees.ts";

describe.each(devices)("the contract of compile on %s", (device) => {
  const at = (values: number[], requiresGrad = false): dx.Tensor => dx.tensor(values, { device, requiresGrad });
  const input = (i: number): dx.Tensor => at([i + 1, 2 * i - 3]);
  const none = (): Record<string, unknown> => ({});

  describe("returns what eager returns", () => {
    it("the same value twice", () => agrees(none, (_, x) => [x.mul(2), x.mul(2)], input, { programs: 1 }));
    it("the same tensor twice", async () => {
      const f = dx.compile((x: dx.Tensor) => {
        const y = x.mul(2);
        return [y, y] as const;
      });
      for (let i = 0; i < 3; i++) {
        const [a, b] = f(input(i));
        expect(a).toBe(b);
      }
      f.dispose();
    });
    it("an argument itself", async () => {
      const f = dx.compile((x: dx.Tensor) => [x, x.add(1)] as const);
      for (let i = 0; i < 3; i++) {
        const x = input(i);
        expect(f(x)[0]).toBe(x);
      }
      f.dispose();
    });
    it("an empty view", () => agrees(none, (_, x) => x.slice(0, 1, 1), input, { programs: 1 }));
    it("a value and its view, sharing memory", async () => {
      const f = dx.compile((x: dx.Tensor) => {
        const y = x.mul(2);
        return [y, y.slice(0, 0, 1)] as const;
      });
      for (let i = 0; i < 3; i++) {
        const [y, v] = f(input(i));
        dx.noGrad(() => y.zero_());
        expect(await v.toArray()).toEqual([0]);
      }
      f.dispose();
    });
    it("a result that equals a gradient", () =>
      agrees(
        () => ({ w: at([1, 2], true) }),
        ({ w }, x) => {
          w.grad = null;
          w.mul(x).sum().backward();
          return [w.grad, x.mul(1)];
        },
        input,
      ));
    it("numbers, strings, nulls and nested structures", () =>
      agrees(none, (_, x) => ({ a: 1, b: ["text", null, undefined, { c: x.mul(2), d: [x.neg()] }] }), input, { programs: 1 }));
    it("a tensor from outside", async () => {
      const outer = at([7]);
      const f = dx.compile((x: dx.Tensor) => [outer, x.add(outer)] as const);
      for (let i = 0; i < 3; i++) expect(f(input(i))[0]).toBe(outer);
      f.dispose();
    });
    it("zeros, constants and numbers made inside", () =>
      agrees(none, (_, x) => [dx.zeros([2], { device }), dx.full([], 3, { device }), dx.tensor([1, 2], { device }), x], input));
    it("int64, bool, uint8 and float16 results", () =>
      agrees(none, (_, x) => [x.gt(0), x.to("int64"), x.abs().to("uint8"), x.to("float16").mul(2)], input, { programs: 1 }));
  });

  describe("changes what eager changes", () => {
    it("an argument in place", () => agrees(none, (_, x) => x.mul_(2).sum(), input, { programs: 1 }));
    it("a part of an argument", () => agrees(none, (_, x) => void x.slice(0, 1, 2).add_(10), input, { programs: 1 }));
    it("a strided argument, and nothing beside it", async () => {
      const f = dx.compile((x: dx.Tensor) => void x.mul_(-1));
      for (let i = 0; i < 3; i++) {
        const base = dx.arange(12, { dtype: "float32", device }).reshape([3, 4]);
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
        const base = dx.tensor([1, 2, 3, 4, 5], { dtype: "uint8", device });
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
    it("two outer buffers that change places", () =>
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
          const fresh = dx.ones([3], { device });
          fresh.slice(0, 0, 2).copy_(w.mul(x));
          return fresh.sum();
        },
        input,
        { after: (_, r) => (r as dx.Tensor).backward() },
      ));
  });

  describe("keeps the history of results", () => {
    it("for parameters", () =>
      agrees(
        () => ({ w: at([1, 2], true) }),
        ({ w }, x) => w.mul(x).mul(w),
        input,
        { programs: 1, after: (_, r) => (r as dx.Tensor).sum().backward() },
      ));
    it("for arguments, leaves or not", async () => {
      const f = dx.compile((x: dx.Tensor, y: dx.Tensor) => x.mul(y).add(x));
      for (let i = 1; i <= 3; i++) {
        const [x, w] = [at([i, 2], true), at([3, i], true)];
        const y = w.mul(2);
        f(x, y).sum().backward();
        expect(await x.grad!.toArray()).toEqual([7, 2 * i + 1]);
        expect(await w.grad!.toArray()).toEqual([2 * i, 4]);
      }
      expect(f.programs).toBe(1);
      f.dispose();
    });
    it("for each of several results, used alone, together, twice", () =>
      agrees(
        () => ({ v: at([1, 2], true), w: at([3, 4], true) }),
        ({ v, w }, x) => [v.mul(x), w.mul(x).exp(), v.add(w)],
        (i) => at([0.1 * i, -0.2]),
        {
          programs: 1,
          after: (_, r) => {
            const [a, b, c] = r as dx.Tensor[];
            a!.sum().backward({ retainGraph: true });
            dx.add(a!, c!).sum().backward({ retainGraph: true });
            b!.mul(b!).sum().backward();
          },
        },
      ));
    it("so that a compiled forward trains with an eager loss and step", () =>
      agrees(
        () => {
          const w = at([1, -1], true);
          return { w, optimizer: { step: dx.optim.adam([w], { lr: 0.1 }) } as unknown };
        },
        ({ w }, x) => w.mul(x).tanh(),
        (i) => at([1, i % 2]),
        {
          after: ({ optimizer }, r) => {
            const { step } = optimizer as { step: dx.optim.Adam };
            (r as dx.Tensor).square().sum().backward();
            step.step();
            step.zeroGrad();
          },
        },
      ));
    it("and refuses what eager refuses: a second pass, and parameters changed between", async () => {
      const w = at([2, 3], true);
      const f = dx.compile((x: dx.Tensor) => w.mul(w).mul(x));
      for (let i = 0; i < 3; i++) {
        const y = f(input(i)).sum();
        y.backward();
        expect(() => y.backward()).toThrow(dx.AutogradError);
        const z = f(input(i)).sum();
        dx.noGrad(() => w.add_(1));
        expect(() => z.backward()).toThrow(/changed it/);
      }
      f.dispose();
    });
    it("and says that gradients of its gradients are not recorded", () => {
      const w = at([2, 3], true);
      const f = dx.compile((x: dx.Tensor) => w.mul(w).mul(x).sum());
      expect(() => dx.grad(f(input(0)), [w], { createGraph: true })).toThrow(/createGraph/);
      f.dispose();
    });
    it("none inside noGrad", () =>
      agrees(
        () => ({ w: at([1, 2], true) }),
        ({ w }, x) => dx.noGrad(() => w.mul(x)),
        input,
      ));
  });

  describe("never goes stale", () => {
    it("when a flag, a number, or a closure's tensor changes", () => {
      let calls = 0;
      return agrees(
        () => ({ a: at([1, 2]), b: at([5, 6]) }),
        ({ a, b }, x) => {
          const i = calls++ % 5;
          return (i % 2 === 0 ? x.mul(a) : x.add(b)).mul(i);
        },
        input,
      );
    });
    it("when recording is switched off for a part", () => {
      let calls = 0;
      return agrees(
        () => ({ w: at([1, 2], true) }),
        ({ w }, x) => {
          const y = calls++ % 5 > 1 ? dx.noGrad(() => w.mul(2)) : w.mul(2);
          w.grad = null;
          w.add(y).mul(x).sum().backward();
          return w.grad;
        },
        input,
      );
    });
    it("when a parameter is frozen", async () => {
      const [v, w] = [at([1, 2], true), at([3, 4], true)];
      const f = dx.compile((x: dx.Tensor) => {
        v.grad = w.grad = null;
        v.mul(w).mul(x).sum().backward();
      });
      f(input(1));
      expect(w.grad).not.toBe(null);
      w.requiresGrad_(false);
      f(input(1));
      expect(w.grad).toBe(null);
      expect(await v.grad!.toArray()).toEqual([6, -4]);
      f.dispose();
    });
    it("when the gradient argument, retainGraph or a hook changes", async () => {
      const w = at([1, 2], true);
      let [gradient, scale] = [at([1, 1]), 1];
      const f = dx.compile(() => {
        const y = w.mul(w);
        y.registerHook((g) => g.mul(scale));
        w.grad = null;
        y.backward({ gradient });
      });
      for (const [g, s] of [
        [1, 1],
        [1, 5],
        [2, 5],
        [2, 5],
        [3, 1],
      ] as const) {
        if (g !== (await gradient.data())[0]) gradient = at([g, g]);
        scale = s;
        f();
        expect(await w.grad!.toArray()).toEqual([2 * g * s, 4 * g * s]);
      }
      f.dispose();
    });
    it("a number that differs in a call that throws", async () => {
      let [k, fails] = [1, false];
      const f = dx.compile((x: dx.Tensor) => {
        const y = x.mul(k);
        if (fails) throw new Error("no");
        return y;
      });
      expect(await f(input(1)).toArray()).toEqual([2, -1]);
      [k, fails] = [2, true];
      expect(() => f(input(1))).toThrow("no");
      [k, fails] = [1, false];
      expect(await f(input(1)).toArray()).toEqual([2, -1]);
      expect(f.explain().recordings.length).toBe(1);
      k = 3;
      expect(await f(input(1)).toArray()).toEqual([6, -3]);
      f.dispose();
    });
    it("what a call that throws had written", async () => {
      const w = at([1, 2], true);
      const y = w.mul(w);
      const f = dx.compile(() => {
        dx.noGrad(() => w.mul_(5));
        throw new Error("no");
      });
      expect(() => f()).toThrow("no");
      expect(await w.toArray()).toEqual([1, 2]);
      y.sum().backward();
      expect(await w.grad!.toArray()).toEqual([2, 4]);
      f.dispose();
    });
    it("what was saved beside the elements that it writes", async () => {
      const [v, w] = [at([1, 2], true), at([3, 4], true)];
      const optimizer = new dx.optim.SGD([v, w], { lr: 0 });
      v.mul(w).sum().backward();
      optimizer.step();
      optimizer.zeroGrad();
      expect(v.storage).toBe(w.storage);
      const y = v.mul(v);
      const f = dx.compile(() => {
        dx.noGrad(() => w.mul_(2));
      });
      for (let i = 0; i < 3; i++) f();
      y.sum().backward();
      expect(await v.grad!.toArray()).toEqual([2, 4]);
      const z = v.mul(w);
      f();
      expect(() => z.sum().backward()).toThrow(/unchanged since mul saved it/);
      f.dispose();
    });
    it("with hooks, and a write to what a node has saved", () =>
      agrees(
        () => ({ w: at([0.5, 0.25], true) }),
        ({ w }, x) => {
          w.grad = null;
          const z = x.mul(w);
          z.registerHook((g) => g.mul(3));
          z.sum().backward({ retainGraph: true });
          z.mul_(w);
          z.mul(z).sum().backward({ retainGraph: true });
          z.sum().backward();
          return z;
        },
        input,
      ));
    it("when only some results are followed back, and what lies outside has moved on", () =>
      agrees(
        () => {
          const w = at([1, 2], true);
          return { w, h: w.mul(2) };
        },
        ({ h }, x) => {
          h.mul_(x);
          return [h.sum(), h.mul(h).sum()];
        },
        input,
        {
          after: ({ h }, result) => {
            (result as dx.Tensor[])[0]!.backward({ retainGraph: true });
            h.sum().backward({ retainGraph: true });
          },
        },
      ));
    it("when results are followed back one after the other", async () => {
      const [v, w] = [at([1, 2], true), at([3, 4], true)];
      const f = dx.compile((x: dx.Tensor) => {
        const y = w.mul(w);
        return [v.mul(v).mul(x).sum(), y.mul(x).sum(), y.mul(3).sum()];
      });
      for (let i = 0; i < 3; i++) {
        v.grad = w.grad = null;
        const [a, b, c] = f(at([1, 1]));
        a!.backward();
        b!.backward();
        expect(await v.grad!.toArray()).toEqual([2, 4]);
        expect(await w.grad!.toArray()).toEqual([6, 8]);
        expect(() => a!.backward()).toThrow(/second pass/);
        expect(() => c!.backward()).toThrow(/second pass/);
      }
      f.dispose();
    });
    it("without a check: nothing of the function runs", async () => {
      let runs = 0;
      const w = at([1, 2], true);
      const optimizer = new dx.optim.SGD([w], { lr: 1 });
      const step = dx.compile(
        (x: dx.Tensor) => {
          runs++;
          optimizer.zeroGrad();
          const loss = w.mul(x).sum();
          loss.backward();
          optimizer.step();
          return loss;
        },
        { check: false },
      );
      for (let i = 0; i < 5; i++) step(at([1, 1]));
      expect(runs).toBeLessThanOrEqual(2);
      expect(await w.toArray()).toEqual([-4, -3]);
      expect(await w.grad!.toArray()).toEqual([1, 1]);
      step.dispose();
    });
    it("hooks do not pile up", async () => {
      const w = at([1], true);
      let calls = 0;
      const f = dx.compile(() => {
        const y = w.mul(3);
        y.registerHook((g) => {
          calls++;
          return g.mul(2);
        });
        w.grad = null;
        y.sum().backward();
      });
      for (let i = 0; i < 20; i++) {
        calls = 0;
        f();
        expect(calls).toBe(1);
        expect(await w.grad!.toArray()).toEqual([6]);
      }
      f.dispose();
    });
    it("with a function that has a backward of its own", async () => {
      let factor = 2;
      const scaled = dx.defineFunction({
        forward: (c, x: dx.Tensor) => {
          c.factor = factor;
          c.saveForBackward(x);
          return x.mul(factor);
        },
        backward: (c, dy) => dy.mul(c.factor as number).mul(c.saved[0]!),
      });
      const w = at([1, 2], true);
      const f = dx.compile((x: dx.Tensor) => {
        w.grad = null;
        scaled(w).mul(x).sum().backward();
      });
      for (const k of [2, 2, 3, 3, 5]) {
        factor = k;
        f(at([1, 10]));
        expect(await w.grad!.toArray()).toEqual([k, 20 * k]);
      }
      f.dispose();
    });
    it("gradient penalties: grad() inside", () =>
      agrees(
        () => ({ w: at([1, 2], true) }),
        ({ w }, x) => {
          w.grad = null;
          const [g] = dx.grad(w.mul(w).mul(x).sum(), [w], { createGraph: true });
          g!.square().sum().backward();
          return g!.detach();
        },
        input,
        { programs: 1 },
      ));
    it("keys tell undefined, null, NaN, -0, 0 and functions apart", async () => {
      const f = dx.compile((x: dx.Tensor, k: unknown) =>
        x.add(
          k === undefined ? 1 : k === null ? 2 : Object.is(k, -0) ? 3 : k === 0 ? 4 : typeof k === "function" ? (k as () => number)() : 5,
        ),
      );
      const x = at([0]);
      const values: [unknown, number][] = [
        [undefined, 1],
        [null, 2],
        [-0, 3],
        [0, 4],
        [NaN, 5],
        [() => 7, 7],
        [() => 8, 8],
        ["null", 5],
      ];
      for (let i = 0; i < 2; i++) for (const [k, expected] of values) expect(await f(x, k).toArray()).toEqual([expected]);
      f.dispose();
    });
    it("random numbers: a generator whose first draw is inside", async () => {
      const generator = new dx.Generator(5);
      const f = dx.compile((x: dx.Tensor) => x.add(dx.rand([2], { device, generator })));
      const [a, b] = [await f(at([0, 0])).toArray(), await f(at([0, 0])).toArray()];
      expect(a).not.toEqual(b);
      const again = new dx.Generator(5);
      expect(await dx.rand([2], { device, generator: again }).toArray()).toEqual(a);
      expect(await dx.rand([2], { device, generator: again }).toArray()).toEqual(b);
      f.dispose();
    });
  });

  describe("records as seldom as it can", () => {
    it("runs the function once in a call, also when it records", () => {
      let runs = 0;
      let flag = false;
      const f = dx.compile((x: dx.Tensor) => {
        runs++;
        return flag ? x.mul(2).add(1) : x.mul(2).sub(1);
      });
      for (const next of [false, false, true, true, false, true]) {
        flag = next;
        runs = 0;
        f(input(0));
        expect(runs).toBe(1);
      }
      expect(f.programs).toBe(2);
      expect(f.explain().recordings).toHaveLength(2);
      f.dispose();
    });
    it("makes numbers that change inputs, all at once", async () => {
      let k = 0;
      const f = dx.compile((x: dx.Tensor) =>
        x
          .mul(k)
          .add(k + 1)
          .sub(2 * k),
      );
      for (k = 0; k < 20; k++) expect(await f(at([1])).toArray()).toEqual([1]);
      expect(f.programs).toBe(1);
      expect(f.explain().recordings.length).toBeLessThan(4);
      f.dispose();
    });
    it("keeps few programs, however many shapes there are, and no buffer of those that went", () =>
      clean(device, () => {
        const f = dx.compile((x: dx.Tensor) => x.mul(2));
        for (let n = 1; n <= 200; n++) f(dx.ones([n], { device })).dispose();
        expect(f.programs).toBeLessThanOrEqual(64);
        f.dispose();
        expect(f.programs).toBe(0);
      }));
  });

  describe("refuses in words", () => {
    it("a promise", () => {
      const f = dx.compile(async (x: dx.Tensor) => x.mul(2));
      expect(() => f(input(0))).toThrow(dx.TraceError);
    });
    it("a read", () => {
      const f = dx.compile((x: dx.Tensor) => x.mul(x.sum().itemSync()));
      expect(() => f(input(0))).toThrow(/contract\.test\.ts:\d+/);
    });
    it("a tensor that escaped, by the function that it was made in", () => {
      let escaped: dx.Tensor | null = null;
      const leaking = (x: dx.Tensor): dx.Tensor => {
        escaped = x.mul(2);
        return x.add(1);
      };
      const f = dx.compile(leaking);
      f(input(0));
      expect(() => escaped!.add(1)).toThrow(/leaking/);
      expect(() => escaped!.add(1)).toThrow(dx.TraceError);
      expect(() => escaped!.dataSync()).toThrow(dx.TraceError);
      f.dispose();
    });
    it("an error of the function itself, with everything outside as it was", async () => {
      const w = at([1, 2], true);
      let fails = true;
      const f = dx.compile((x: dx.Tensor) => {
        w.mul(x).sum().backward();
        dx.noGrad(() => w.add_(1));
        if (fails) throw new Error("the user's");
        return w.sum();
      });
      expect(() => f(input(0))).toThrow("the user's");
      expect(w.grad).toBe(null);
      expect(await w.detach().toArray()).toEqual([1, 2]);
      fails = false;
      f(input(0));
      expect(await w.grad!.toArray()).toEqual([1, -3]);
      fails = true;
      expect(() => f(input(0))).toThrow("the user's");
      expect(await w.grad!.toArray()).toEqual([1, -3]);
      f.dispose();
    });
  });
});
