/** cond(): PyTorch's recorded values, gradients of any order, what branches may change, and what is refused; eagerly and compiled. */
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, eachMode, numbers } from "../device.ts";
import { leaf } from "../gradgrad.ts";
import { expectClose } from "../tolerance.ts";
import { expectRecorded, type Body } from "./recorded.ts";

type T = dx.Tensor;
type Step = (x: T) => T;

const warm = (): void => dx.rand([1]).dispose();
const isPositive = (x: T): T => x.sum().gt(0);

const nested: Body = (x, w) => [
  dx.cond(
    isPositive(x),
    (a: T, b: T) =>
      dx.cond(
        a.sum().gt(10),
        (c: T, d: T) => c.mul(d),
        (c: T, d: T) => c.add(d.mul(2)),
        [a, b],
      ),
    (a: T, b: T) => a.sub(b),
    [x, w],
  ),
];

/** What a function of one number and a predicate gives eagerly and compiled, called with both values twice; the programs there are then. */
function inTurn(fn: Step, data: readonly number[]): { readonly pairs: readonly (readonly [T, T])[]; readonly programs: number } {
  const compiled = dx.compile(fn);
  const pairs = data.map((v) => [fn(dx.tensor([v, 2])), compiled(dx.tensor([v, 2]))] as const);
  return { pairs, programs: compiled.programs };
}

eachMode("cond", (device, mode) => {
  test.each([true, false])("gives PyTorch's values and gradients where the predicate is %s", (taken) =>
    clean(
      device,
      () => {
        expectRecorded(mode, `cond, ${taken}`, (x, w) =>
          dx.cond(
            dx.tensor(taken),
            (a: T, b: T) => [a.mul(b).sin(), a.exp()],
            (a: T, b: T) => [a.sub(b.mul(b)), b.tanh()],
            [x, w],
          ),
        );
      },
      { collect: true },
    ),
  );

  test("nests", () => clean(device, () => { expectRecorded(mode, "cond in cond", nested); }, { collect: true })); // prettier-ignore

  test("takes and gives trees, and reads closures", () =>
    clean(
      device,
      () => {
        const k = dx.tensor([3, 3]);
        const run = (x: T): T[] => {
          const { a, rest } = dx.cond(
            isPositive(x),
            ({ u }: { u: T }, v: readonly T[]) => ({ a: u.mul(k), rest: [v[0]!, { z: null, n: 2 }] as const }),
            ({ u }: { u: T }, v: readonly T[]) => ({ rest: [u, { n: 2, z: null }] as const, a: v[0]!.sub(k) }),
            [{ u: x.add(1) }, [x]],
          );
          expect(rest[1]).toEqual({ z: null, n: 2 });
          return [a, rest[0]];
        };
        expect(mode.run(run, dx.tensor([1, 2])).map(numbers)).toEqual([[6, 9], [1, 2]]); // prettier-ignore
        expect(mode.run(run, dx.tensor([-1, -2])).map(numbers)).toEqual([[-4, -5], [0, -1]]); // prettier-ignore
      },
      { collect: true },
    ));

  test("a branch that is not taken gives no NaN to gradients", () =>
    clean(
      device,
      () => {
        const w = leaf([2]);
        const run = (x: T): T[] => {
          const y = dx.cond(
            isPositive(x),
            (a: T) => a.mul(w.square()).sqrt(),
            (a: T) => a.add(w.abs().sub(w.abs()).sqrt()),
            [x],
          );
          return [y, ...dx.grad(y.sum(), [x, w], { allowUnused: true }).map((g) => g ?? dx.zeros([2]))];
        };
        for (const t of mode.run(run, dx.tensor([1, 2], { requiresGrad: true }))) expect(numbers(t).every(Number.isFinite)).toBe(true);
        const [y, dx0, dw] = mode.run(run, dx.tensor([-1, -2], { requiresGrad: true }));
        expect([numbers(y!), numbers(dx0!)]).toEqual([[-1, -2], [1, 1]]); // prettier-ignore
        expect(numbers(dw!).every(Number.isNaN)).toBe(true);
      },
      { collect: true },
    ));

  test("an empty tensor, a view, an integer, float16 and bfloat16", () =>
    clean(
      device,
      () => {
        const both = (x: T): T => dx.cond(x.size < 0, () => x, () => dx.cond(dx.tensor([[true]]), (a: T) => a.clone(), (a: T) => a.mul(2), [x])); // prettier-ignore
        expect(mode.run(both, dx.zeros([0, 3])).shape).toEqual([0, 3]);
        expect(numbers(mode.run(both, dx.arange(6).reshape([2, 3]).t()))).toEqual([0, 3, 1, 4, 2, 5]);
        for (const dtype of ["int32", "float16", "bfloat16", "bool"] as const)
          expect(mode.run((x: T) => dx.cond(dx.tensor(false), (a: T) => a, (a: T) => a.flip(0), [x]), dx.tensor([0, 1], { dtype })).dtype).toBe(dtype); // prettier-ignore
      },
      { collect: true },
    ));

  test("a complex tensor", () =>
    clean(
      device,
      () => {
        const run = (x: T): T => dx.cond(isPositive(x), (z: dx.ComplexTensor) => z.mul(z), (z: dx.ComplexTensor) => z, [dx.complex(x, x)]).imag; // prettier-ignore
        expect(numbers(mode.run(run, dx.tensor([1, 2])))).toEqual([2, 8]);
      },
      { collect: true },
    ));
});

eachDevice("cond in a compiled function", (device) => {
  test("another value of the predicate records nothing", () =>
    clean(
      device,
      () => {
        const { pairs, programs } = inTurn(
          (x) =>
            dx.cond(
              isPositive(x),
              (a: T) => a.exp(),
              (a: T) => a.mul(3),
              [x],
            ),
          [1, -5, 2, -6],
        );
        for (const [want, found] of pairs) expectClose(found, numbers(want));
        expect(programs).toBe(1);
      },
      { collect: true },
    ));

  test("a comparison with NaN is false", () =>
    clean(
      device,
      () => {
        const { pairs } = inTurn(
          (x) =>
            dx.cond(
              isPositive(x),
              (a: T) => a.exp(),
              () => dx.ones([2]),
              [x],
            ),
          [NaN, 1],
        );
        for (const [want, found] of pairs) expectClose(found, numbers(want));
      },
      { collect: true },
    ));

  test("writes of the branch that is taken remain: operands, closures, views, buffers, aliases, also the predicate", () =>
    clean(
      device,
      () => {
        const make = (): { run: (x: T) => T; seen: () => number[][] } => {
          const norm = dx.nn.batchNorm1d(2);
          const total = dx.zeros([2, 2]);
          const flag = dx.tensor([true]);
          const run = (x: T): T => {
            flag.copy_(isPositive(x).reshape([1]));
            const h = x.mul(2);
            const row = h.select(0, 0);
            const y = dx.cond(
              flag,
              (a: T, b: T) => {
                flag.copy_(flag.logicalNot());
                a.add_(1);
                total.select(0, 1).add_(b);
                return norm(a);
              },
              (a: T, b: T) => {
                b.zero_();
                dx.noGrad(() => norm.weight!.mul_(0.5));
                return a.mul(1);
              },
              [h, row],
            );
            return dx.cat([y, h, row.unsqueeze(0)]);
          };
          return { run, seen: () => [total, flag.to("float32"), norm.runningMean!, norm.weight!].map(numbers) };
        };
        const [a, b] = [make(), make()];
        const compiled = dx.compile(b.run);
        for (const v of [1, -1, 3, -2, 2]) {
          const x = (): T => dx.tensor([[v, v], [v + 1, 2 * v]]); // prettier-ignore
          expectClose(compiled(x()), numbers(a.run(x())));
          expect(b.seen()).toEqual(a.seen().map((list) => list.map((n) => expect.closeTo(n, 5))));
        }
      },
      { collect: true },
    ));

  test("in-place operations have gradients", () =>
    clean(
      device,
      () => {
        const run = (x: T): T[] => {
          const h = x.mul(3);
          dx.cond(
            isPositive(x),
            () => {
              h.mul_(x);
              h.select(0, 0).exp_();
              return null;
            },
            () => null,
          );
          const y = h.square();
          return [y, ...dx.grad(y.sum(), [x])];
        };
        const compiled = dx.compile(run);
        for (const v of [0.5, -3, 1]) {
          const x = (): T => dx.tensor([v, 0.25], { requiresGrad: true });
          const want = run(x());
          compiled(x()).forEach((t, i) => {
            expectClose(t, numbers(want[i]!));
          });
        }
        expect(compiled.programs).toBe(1);
      },
      { collect: true },
    ));

  const w = dx.tensor([0.25, -1.5], { device, requiresGrad: true });
  const byWeight = (x: T): T =>
    dx.cond(
      isPositive(x),
      (a: T) => a.mul(w).tanh(),
      (a: T) => a.sin().mul(w),
      [x],
    );
  /** First and second derivatives of fn. */
  const twice =
    (fn: Step) =>
    (x: T): T[] => {
      const first = dx.grad(fn(x).square().sum(), [x, w], { createGraph: true, allowUnused: true }).map((g) => g ?? x.mul(0));
      return [...first, ...dx.grad(first[0]!.mul(first[1]!).sum(), [x])];
    };
  const slope: Step = (x) => {
    const inner = (a: T): T => dx.grad(a.pow(3).mul(w).sum(), [a], { createGraph: true })[0]!;
    const [g] = dx.grad(dx.cond(isPositive(x), inner, (a: T) => a.exp().mul(w), [x]).sum(), [x], { createGraph: true });
    return g!;
  };
  test.each<[string, (x: T) => T[], (x: T) => T[]]>([
    ["inside", twice(byWeight), dx.compile(twice(byWeight))],
    ["through the result", twice(byWeight), twice(dx.compile(byWeight))],
    ["of a gradient in a branch", twice(slope), dx.compile(twice(slope))],
  ])("first and second derivatives, %s", (_, fn, compiled) => {
    for (const v of [0.5, -0.5]) {
      const x = (): T => dx.tensor([v, 2 * v], { requiresGrad: true });
      const want = fn(x());
      compiled(x()).forEach((t, i) => {
        expectClose(t, numbers(want[i]!));
      });
    }
  });

  test("an optimizer's step is skipped, with its counters", () =>
    clean(
      device,
      () => {
        const make = (): { step: (x: T) => T; p: T } => {
          const p = dx.tensor([1, 2], { requiresGrad: true });
          const optimizer = dx.optim.adam([p], { lr: 0.1 });
          const step = (x: T): T => {
            const loss = p.mul(x).square().sum();
            loss.backward();
            dx.cond(p.grad!.isfinite().all(), () => void optimizer.step(), () => undefined); // prettier-ignore
            optimizer.zeroGrad();
            return loss;
          };
          return { step, p };
        };
        const [a, b] = [make(), make()];
        const compiled = dx.compile(b.step);
        for (const v of [1, Infinity, 2, NaN, 3]) {
          for (const step of [a.step, compiled]) step(dx.tensor([v, 1]));
          expectClose(b.p, numbers(a.p));
        }
        expect(compiled.programs).toBe(1);
      },
      { collect: true },
    ));

  test("dropout draws in the branch that is taken only", () =>
    clean(
      device,
      () => {
        const run = (x: T): T => dx.cond(isPositive(x), (a: T) => dx.nn.functional.dropout(a, { p: 0.5 }), (a: T) => a.mul(2), [x]).add(dx.rand([8])); // prettier-ignore
        const all = (fn: Step): number[][] => {
          dx.manualSeed(7);
          return [1, -1, 1, -1].map((v) => numbers(fn(dx.full([8], v))));
        };
        expect(all(dx.compile(run))).toEqual(all(run).map((list) => list.map((n) => expect.closeTo(n, 5))));
      },
      { collect: true },
    ));

  test("autocast, checkpoint, noGrad and custom functions inside", () =>
    clean(
      device,
      () => {
        warm();
        const layer = dx.nn.linear(2, 2);
        const double = dx.defineFunction<[T], T>({ forward: (_, x) => x.mul(2), backward: (_, dy) => dy.mul(2) });
        const run = (x: T): T[] => {
          const y = dx.cond(
            isPositive(x),
            (a: T) => dx.autocast("bfloat16", () => layer(a)).to("float32"),
            (a: T) => double(dx.checkpoint((h: T) => h.sin(), a)).add(dx.noGrad(() => layer(a))),
            [x],
          );
          const z = dx.autocast("bfloat16", () => layer(y)).to("float32");
          return [z, ...dx.grad(z.sum(), [x, layer.weight])];
        };
        const compiled = dx.compile(run);
        for (const v of [1, -1, 2, -2]) {
          const x = (): T => dx.tensor([[v, v]], { requiresGrad: true });
          const want = run(x());
          compiled(x()).forEach((t, i) => {
            expectClose(t, numbers(want[i]!), { atol: 0.05, rtol: 0.02 });
          });
        }
      },
      { collect: true },
    ));

  test("sizes may be dynamic, and calls unchecked", () =>
    clean(
      device,
      () => {
        const run = (x: T): T =>
          dx.cond(
            x.mean().gt(0),
            (a: T) => a.softmax(0),
            (a: T) => a.cumsum(0),
            [x],
          );
        const compiled = dx.compile(run, { dynamic: [0] });
        for (const n of [5, 6, 7, 8]) for (const v of [1, -1]) expectClose(compiled(dx.full([n], v)), numbers(run(dx.full([n], v))));
        const unchecked = dx.compile(run, { check: false });
        for (const v of [1, -1, 1]) expectClose(unchecked(dx.full([4], v)), numbers(run(dx.full([4], v))));
        expect(unchecked.programs).toBe(1);
      },
      { collect: true },
    ));
});

eachDevice("cond refuses", (device) => {
  const x = (): T => dx.tensor([1, 2], { requiresGrad: true });
  const identity = (a: T): T => a;

  test("other predicates", () =>
    clean(device, () => {
      const called = (predicate: unknown) => () => dx.cond(predicate as T, identity, identity, [x()]);
      expect(called(dx.tensor([1]))).toThrow("cond: predicate must be a boolean, or a bool tensor of one element; received float32[1]");
      expect(called(dx.tensor([true, false]))).toThrow(dx.ShapeError);
      expect(called(1)).toThrow(dx.DxError);
      expect(called(null)).toThrow(dx.DxError);
      expect(() => dx.cond(true, identity, null as never)).toThrow(dx.DxError);
    }));

  test.each<[string, (a: T) => unknown, string]>([
    ["a shape", (a) => ({ h: [a.sum()] }), "cond: result of falseFn.h[0] must be of shape [2], like the result of trueFn; received []"],
    ["a dtype", (a) => ({ h: [a.to("int32")] }), "cond: result of falseFn.h[0] must be float32, like the result of trueFn; received int32"],
    [
      "a structure",
      (a) => ({ h: a }),
      "cond: result of falseFn.h must be an array of length 1, like the result of trueFn; received float32[2]",
    ],
    ["a length", (a) => ({ h: [a, a] }), "an array of length 1"],
    ["a field", (a) => ({ g: [a] }), "cond: result of falseFn must be an object with the fields h"],
    ["a tensor", () => ({ h: [1] }), "cond: result of falseFn.h[0] must be float32[2]"],
  ])("results that differ by %s", (_, other, message) => {
    const run = (a: T): unknown => dx.cond<[T], unknown>(a.sum().gt(0), (h) => ({ h: [h.mul(1)] }), other, [a]);
    expect(() => dx.compile(run)(dx.tensor([1, 2]))).toThrow(message);
    expect(() => run(dx.zeros([2], { device: "meta" }))).toThrow(message);
  });

  test("promises, and passes on errors; the next call is right", () =>
    clean(
      device,
      () => {
        let fails = true;
        const run = (a: T): T => dx.cond(a.sum().gt(0), identity, (h: T) => { if (fails) throw new Error("own"); return h.mul(2); }, [a]); // prettier-ignore
        const compiled = dx.compile(run);
        expect(() => compiled(dx.tensor([1, 2]))).toThrow("own");
        fails = false;
        expect(numbers(compiled(dx.tensor([-1, -2])))).toEqual([-2, -4]);
        const late = (a: T): unknown => dx.cond(a.sum().gt(0), () => Promise.resolve(1), () => Promise.resolve(1)); // prettier-ignore
        expect(() => late(dx.tensor([1]))).toThrow("cond: trueFn must be a function that returns no promise");
        expect(() => dx.compile(late)(dx.tensor([1]))).toThrow("cond: trueFn must be a function that returns no promise");
      },
      { collect: true },
    ));

  describe("in a compiled function", () => {
    const compiled =
      (branch: (a: T) => unknown, after: (a: T) => T = identity) =>
      () =>
        dx.compile((a: T) => {
          dx.cond(a.sum().gt(0), () => void branch(a), () => undefined); // prettier-ignore
          return after(a);
        })(x());

    test("gradients of leaves, and the host's state", () => {
      const p = x();
      expect(compiled((a) => { a.mul(p).sum().backward(); })).toThrow(dx.TraceError); // prettier-ignore
      expect(compiled((a) => { a.mul(p).sum().backward(); })).toThrow("Call backward() and zeroGrad() outside of cond(), or use grad()."); // prettier-ignore
      expect(compiled(() => dx.manualSeed(3))).toThrow("a change of state that the host keeps");
      expect(p.grad).toBe(null);
    });

    test("a tensor that a branch kept", () => {
      let kept: T | null = null;
      const keep = (a: T): void => void (kept = a.mul(2));
      expect(compiled(keep, () => kept!.add(1))).toThrow("made outside of the branches of cond(), or returned by one");
      expect(compiled(keep, () => kept!)).toThrow("Return it from both branches");
      expect(compiled((a) => void (kept = a.select(0, 0)), () => kept!)).toThrow(dx.TraceError); // prettier-ignore
    });
  });
});

test("a result that is an operand is a tensor of its own", () => {
  for (const run of [(a: T) => a, (a: T) => a.select(0, 0)])
    for (const mode of [<F>(fn: F) => fn, dx.compile as never as <F>(fn: F) => F]) {
      const a = dx.ones([2]);
      const y = mode((b: T) => dx.cond(dx.tensor(true), run, run, [b]))(a);
      y.add_(1);
      expect(numbers(a)).toEqual([1, 1]);
    }
});
