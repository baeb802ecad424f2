/** Gradients through the results of a compiled function, by backward passes outside of it: eager and compiled calls agree. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices, numbers } from "../device.ts";
import { agrees } from "./agrees.ts";

describe.each(devices)("gradients through a compiled function's results on %s", (device) => {
  const at = (values: number[], requiresGrad = false): dx.Tensor => dx.tensor(values, { device, requiresGrad });
  const input = (i: number): dx.Tensor => at([i + 1, 2 * i - 3]);
  const weights = (): { w: dx.Tensor; b: dx.Tensor; count: number; last: unknown } => ({
    w: at([0.5, -0.25], true),
    b: at([0.5, 1], true),
    count: 0,
    last: null,
  });
  const pass = (_: unknown, result: unknown): void => (result as dx.Tensor).sum().backward();

  describe("run the user's code in every pass", () => {
    it("a hook on an intermediate tensor", () =>
      agrees(
        weights,
        (s, x) => {
          const h = x.mul(s.w);
          h.registerHook((g) => {
            s.count++;
            return g.mul(2);
          });
          return h.exp();
        },
        input,
        { after: pass, programs: 1 },
      ));
    it("a hook whose JavaScript differs from call to call, and whose call is followed back late", () =>
      agrees(
        weights,
        (s, x) => {
          const h = x.mul(s.w);
          const mask = x.gt(0).to("float32");
          const factor = ++s.count;
          h.registerHook((g) => g.mul(factor).add(mask));
          return h.exp();
        },
        input,
        {
          after: (s, result) => {
            const before = s.last as dx.Tensor | null;
            s.last = result;
            before?.sum().backward();
          },
        },
      ));
    it("a hook that comes with a later call, one that is taken away, one that looks", () =>
      agrees(
        weights,
        (s, x) => {
          const h = x.mul(s.w);
          if (s.count++ % 2 === 1) h.registerHook((g) => g.mul(3));
          h.registerHook(() => {}).remove();
          return h.exp();
        },
        input,
        { after: pass },
      ));
    it("a function's own rule", () => {
      const masked = dx.defineFunction<[dx.Tensor, number], dx.Tensor>({
        forward: (c, a, k) => {
          c.k = k;
          c.mask = a.gt(0).to("float32");
          return a.relu();
        },
        backward: (c, dy) => [dy.mul(c.mask as dx.Tensor).mul(c.k as number), null],
      });
      return agrees(weights, (s, x) => masked(x.mul(s.w), ++s.count).exp(), input, {
        after: (s, result) => {
          const before = s.last as dx.Tensor | null;
          s.last = result;
          before?.sum().backward();
        },
      });
    });
    it("the hooks of parameters and of results, once", () =>
      agrees(
        () => {
          const s = weights();
          s.w.registerHook((g) => {
            s.count++;
            return g.mul(3);
          });
          return s;
        },
        (s, x) => {
          const y = x.mul(s.w);
          y.registerHook((g) => g.add(1));
          return y;
        },
        input,
        { after: pass, programs: 1 },
      ));
    it("those of an argument with a history, set inside", () => {
      const leaves: dx.Tensor[] = [];
      return agrees(
        weights,
        (s, x) => {
          x.registerHook((g) => {
            s.count++;
            return g.mul(4);
          });
          x.retainGrad();
          return x.mul(s.w);
        },
        (i) => {
          const leaf = at([i, 2], true);
          leaves.push(leaf);
          return leaf.mul(3);
        },
        {
          after: (s, result) => {
            (result as dx.Tensor).sum().backward();
            s.last = leaves.at(-1)!.grad;
          },
        },
      );
    });
  });

  describe("meet at results that others are made of", () => {
    const chain = (s: ReturnType<typeof weights>, x: dx.Tensor): dx.Tensor[] => {
      const h = x.mul(s.w);
      const y = h.exp();
      return [h, y, y.mul(s.b).square()];
    };
    it("the gradient of one by another", () =>
      agrees(weights, chain, input, {
        after: (s, result) => {
          const [h, y, z] = result as [dx.Tensor, dx.Tensor, dx.Tensor];
          s.last = [dx.grad(y.sum(), [h], { retainGraph: true }), dx.grad(y.mul(z).sum(), [h, s.w, y], { retainGraph: true })];
        },
        programs: 1,
      }));
    it("hooks and retainGrad(), set inside or outside", () =>
      agrees(
        weights,
        (s, x) => {
          const all = chain(s, x);
          all[1]!.registerHook((g) => g.mul(2));
          all[1]!.retainGrad();
          return all;
        },
        input,
        {
          after: (s, result) => {
            const [h, y, z] = result as [dx.Tensor, dx.Tensor, dx.Tensor];
            h.retainGrad();
            h.registerHook((g) => {
              s.count++;
              return g.add(1);
            });
            y.add(z).sum().backward();
            s.last = [h.grad, y.grad];
          },
          programs: 1,
        },
      ));
    it("with retainGrad() of an intermediate tensor, which keeps nothing", () =>
      agrees(
        weights,
        (s, x) => {
          const h = x.mul(s.w);
          h.retainGrad();
          const y = h.square();
          const [slope] = dx.grad(y.square().sum(), [h], { createGraph: true });
          return [y, y.mul(s.b), slope!.mul(y)];
        },
        input,
        {
          after: (_, result) => {
            const [y, z, t] = result as [dx.Tensor, dx.Tensor, dx.Tensor];
            y.add(z).add(t).sum().backward();
          },
          programs: 1,
        },
      ));
    it("one pass from several, and none through what another has freed", () => {
      const w = at([0.5, -0.25], true);
      const f = dx.compile((x: dx.Tensor) => {
        const h = x.mul(w).exp();
        return [h.square().sum(), h] as const;
      });
      for (let i = 0; i < 3; i++) {
        const [loss, h] = f(input(i));
        loss.add(h.sum()).backward();
        const [again, late] = f(input(i));
        again.backward();
        expect(() => late.sum().backward()).toThrow(dx.AutogradError);
      }
      f.dispose();
    });
  });

  it("go into a part of a tensor outside, written inside", () =>
    agrees(
      () => ({ ...weights(), cache: dx.zeros([2, 2], { device }) }),
      (s, x) => void s.cache.select(0, 0).copy_(x.mul(s.w)),
      input,
      {
        after: (s) => {
          s.cache.square().sum().backward();
          s.cache = dx.zeros([2, 2], { device });
        },
      },
    ));

  it("an argument without elements has a gradient without elements", () => {
    const joined = dx.compile((x: dx.Tensor, none: dx.Tensor) => dx.cat([x.mul(2), none.mul(3)], 0));
    for (const v of [1, 2, 1]) {
      const x = at([v, v + 1], true);
      const none = at([], true);
      joined(x, none).backward({ gradient: at([v, 10]) });
      expect([x.grad!.toArraySync(), none.grad!.shape]).toEqual([[2 * v, 20], [0]]);
    }
    joined.dispose();
  });
});

it("an error in a gradient's own function is told to whoever asks for the gradient, compiled or not", () => {
  const square = dx.shader(
    {
      name: "square",
      inputs: { x: "float32" },
      outputs: { y: "float32" },
      threads: 32,
      grad: () => {
        throw new RangeError("none of mine");
      },
    },
    (s) => s.buffers.y.store(s.thread, s.buffers.x.load(s.thread).square()),
  );
  const loss = (x: dx.Tensor): dx.Tensor => square({ x }).y.sum();
  for (const run of [loss, dx.compile(loss)])
    for (let call = 0; call < 3; call++) {
      const x = dx.full([3], call, { dtype: "float32" }).requiresGrad_();
      const y = run(x);
      expect(() => dx.grad(y, [x], { retainGraph: true })).toThrow("none of mine");
      expect(() => dx.grad(y, [x], { allowUnused: true, retainGraph: true })).toThrow("none of mine");
      expect(() => y.backward()).toThrow("none of mine");
      expect(numbers(y)).toEqual([3 * call * call]);
    }
});
