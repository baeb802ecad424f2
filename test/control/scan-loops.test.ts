/** scan() in compiled functions, where its body is a program of its own: each call gives what the eager one gives. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose, type Tolerance } from "../tolerance.ts";

type T = dx.Tensor;
type Step = (c: T, x: T) => readonly [T, T];

const random = (seed: number, ...shape: number[]): T => dx.randn(shape, { generator: new dx.Generator(seed) });
const leaf = (seed: number, ...shape: number[]): T => random(seed, ...shape).detach().requiresGrad_(); // prettier-ignore

interface Case {
  /** What makes the results; w is a weight that it may read. */
  readonly run: (w: T, xs: T, h: T, call: number) => readonly T[];
  readonly weight?: () => T;
  /** Its arguments. Default: six slices of three elements, and a carry, of which gradients are asked for. */
  readonly args?: (call: number) => readonly [T, T];
  /** Whether the body is a program of its own. Default: true. */
  readonly isLoop?: boolean;
  readonly options?: dx.CompileOptions;
  readonly tolerance?: Tolerance;
}

/** Three calls with other data and other numbers: results and gradients are as eager ones. */
function agrees({ run, weight = () => leaf(50, 3), args, isLoop = true, options, tolerance }: Case): dx.Explanation {
  const w = weight();
  let call = 0;
  const fn = (xs: T, h: T): readonly T[] => run(w, xs, h, call);
  const compiled = dx.compile(fn, options);
  const all = (f: typeof fn): (T | null)[] => {
    dx.manualSeed(call);
    w.grad = null;
    const own = args?.(call) ?? [leaf(call, 6, 3), leaf(call + 9, 3)];
    const results = f(...own);
    const wanting = results.filter((t) => t.requiresGrad);
    if (wanting.length > 0) wanting.map((t) => t.mul(t).sum()).reduce((a, b) => a.add(b)).backward(); // prettier-ignore
    return [...results, ...own.map((t) => t.grad), w.grad];
  };
  for (; call < 3; call++) {
    const [want, got] = [all(fn), all(compiled)];
    expect(got.map((t) => t?.describe())).toEqual(want.map((t) => t?.describe()));
    expect(got.map((t) => t?.requiresGrad)).toEqual(want.map((t) => t?.requiresGrad));
    got.forEach((t, i) => {
      if (t !== null) expectClose(t, numbers(want[i]!), tolerance);
    });
  }
  const explanation = compiled.explain();
  expect(explanation.loops.length > 0).toBe(isLoop);
  return explanation;
}

const cell =
  (w: T): Step =>
  (c, x) => {
    const next = c.mul(w).add(x).tanh();
    return [next, next.mul(x)];
  };

eachDevice("scan as a loop", (device) => {
  const body = (name: string, of: Case): void =>
    test(name, () => clean(device, () => void agrees(of), { collect: true })); // prettier-ignore

  test("its body is traced once for a length, and explained", () =>
    clean(
      device,
      () => {
        const e = agrees({ run: (w, xs, h) => dx.scan(cell(w), h, xs), args: (k) => [leaf(k, 6 + k, 3), leaf(9, 3)] });
        expect(e.loops).toEqual([
          { name: "scan", origin: expect.stringMatching(/^scan at /) as string, steps: 8, reverse: false, programs: 1 },
        ]);
        expect(String(e)).toContain(": 8 steps");
      },
      { collect: true },
    ));

  body("reads tensors made before it, weights, numbers that change, and data", {
    run: (w, xs, h, call) => {
      const v = h.sin().add(xs.sum(0));
      return dx.scan((c: T) => [c.mul(w).add(v).mul(call + 0.5).add(dx.tensor([1, 2, 3])).tanh(), c.mul(call)] as const, h, xs); // prettier-ignore
    },
  });

  body("trees, integers, what is passed on, what is given twice, and what is empty", {
    run: (w, xs, h) => {
      const [c, y] = dx.scan(
        (c: { h: [T, T]; n: T; k: T }, x: T) => {
          const next = c.h[0].mul(w).add(x);
          return [
            { h: [next, next] as [T, T], n: c.n.add(1), k: c.k },
            { y: next, x, n: c.n, z: dx.zeros([0]), b: c.h[1].gt(x) },
          ] as const;
        },
        { h: [h, h] as [T, T], n: dx.tensor(0, { dtype: "int32" }), k: h.mul(2) },
        xs,
      );
      return [...c.h, c.n, c.k, y.y, y.x, y.n, y.z, y.b];
    },
  });

  body("of a view, along the last axis, from the end", {
    run: (w, xs, h) => dx.scan(cell(w), h, xs.mul(2).t(), { dim: -1, reverse: true }),
  });

  body("in scan: bodies of bodies", {
    run: (w, xs, h, call) => {
      const v = xs.sum(0);
      const outer = (c: T, x: T): readonly [T, T] => {
        const [last, ys] = dx.scan((d: T, z: T) => [d.mul(w).add(z).add(v).mul(call + 1).tanh(), d.mul(z).add(x)] as const, c, dx.stack([x, c, w, x, v])); // prettier-ignore
        return [last.mul(0.5), ys.sum(0)];
      };
      return dx.scan(outer, h, xs);
    },
  });

  body("with cond inside, writes to its own tensors, and no gradient of some", {
    run: (w, xs, h) => {
      const step: Step = (c, x) => {
        const own = dx.cond(x.sum().gt(0), () => c.mul(w), () => c.sub(x.mul(w)), []); // prettier-ignore
        own.narrow(0, 0, 2).mul_(x.narrow(0, 1, 2));
        return [own.add(x.detach()).tanh(), dx.noGrad(() => own.mul(2))];
      };
      return dx.scan(step, h, xs);
    },
  });

  body("in a training step, between writes to state and arguments", {
    run: (w, xs, h) => {
      dx.noGrad(() => xs.add_(1));
      const [last, ys] = dx.scan(cell(w), h, xs);
      last.sum().add(ys.square().sum()).backward();
      dx.noGrad(() => h.add_(xs.sum(0)));
      return [last.detach(), ys.detach(), w.grad!.clone()];
    },
    args: (k) => [random(k, 6, 3), random(k + 9, 3)],
  });

  body("second derivatives, inside", {
    run: (w, xs, h, call) => {
      const [last, ys] = dx.scan((c: T, x: T) => [c.mul(w).add(x).mul(call + 1).tanh(), c.mul(x)] as const, h, xs); // prettier-ignore
      return [ys, ...dx.grad(last.sum().add(ys.square().sum()), [xs, h, w], { createGraph: true })].filter((t) => t !== null);
    },
    tolerance: { rtol: 1e-4, atol: 1e-4 },
  });

  test("second derivatives, outside", () => {
    const w = leaf(50, 3);
    const fn = (xs: T, h: T): readonly T[] => dx.scan(cell(w), h, xs);
    const compiled = dx.compile(fn);
    const second = (f: typeof fn): number[] => {
      const [xs, h] = [leaf(1, 6, 3), leaf(2, 3)];
      const first = dx.grad(f(xs, h).map((t) => t.square().sum()).reduce((a, b) => a.add(b)), [xs, h, w], { createGraph: true }); // prettier-ignore
      return dx.grad(first.map((t) => t!.square().sum()).reduce((a, b) => a.add(b)), [xs, h, w]).flatMap((t) => numbers(t!)); // prettier-ignore
    };
    const want = second(fn);
    second(compiled).forEach((v, i) => {
      expect(Math.abs(v - want[i]!)).toBeLessThan(1e-3 * Math.max(1, Math.abs(want[i]!)));
    });
  });

  body("in autocast, in checkpoint, and without checks", {
    run: (w, xs, h) =>
      dx.checkpoint(
        (a: T, b: T) => dx.autocast("float16", () => dx.scan((c: T, x: T) => [c.matmul(w).to("float32").add(x).tanh(), c] as const, b, a)),
        xs,
        h,
      ),
    weight: () => leaf(4, 3, 3),
    args: () => [leaf(1, 6, 2, 3), leaf(2, 2, 3)],
    options: { check: false },
    tolerance: { rtol: 5e-3, atol: 5e-3 },
  });

  const state = dx.zeros([3], { device });
  test.each<[string, Case["run"]]>([
    ["random numbers", (w, xs, h) => dx.scan((c: T, x: T) => [dx.dropout(c.mul(w).add(x)), c] as const, h, xs)],
    ["writes to state", (w, xs, h) => dx.scan((c: T, x: T) => { dx.noGrad(() => state.copy_(x)); return [c.mul(w).add(state), c] as const; }, h, xs)], // prettier-ignore
    ["a write to its carry", (_, xs, h) => dx.noGrad(() => dx.scan((c: T, x: T) => [c.add_(x).mul(2), x] as const, h.clone(), xs))],
    ["a counter", (w, xs, h) => { let i = 1; return dx.scan((c: T, x: T) => [c.mul(w).mul(i++).add(x), c] as const, h, xs); }], // prettier-ignore
    ["a tensor kept for later", (w, xs, h) => { let kept = h; const r = dx.scan((c: T, x: T) => { kept = c.mul(w); return [kept.add(x).sin(), c] as const; }, h, xs); return [...r, kept]; }], // prettier-ignore
    ["hooks", (w, xs, h) => dx.scan((c: T, x: T) => { const next = c.mul(w).add(x).tanh(); next.registerHook((g) => g.mul(2)); return [next, x] as const; }, h, xs)], // prettier-ignore
    ["gradients", (w, xs, h) => dx.scan((c: T, x: T) => [c.mul(w).add(dx.grad(x.detach().requiresGrad_().sin().sum(), [w], { allowUnused: true })[0] ?? x), c] as const, h, xs)], // prettier-ignore
  ])("each step is traced where the body has %s", (_, run) => {
    expect(agrees({ run, isLoop: false }).recordings.join()).toContain("each step of a loop is traced");
  });

  test("errors are as eager ones, and the next call is right", () => {
    let fails = true;
    const run = dx.compile((xs: T, h: T) => dx.scan((c: T, x: T) => {
      if (fails) throw new Error("own");
      return [c.add(x), c] as const;
    }, h, xs)); // prettier-ignore
    const [xs, h] = [dx.ones([9, 2]), dx.zeros([2])];
    expect(() => run(xs, h)).toThrow("own");
    fails = false;
    expect(numbers(run(xs, h)[0])).toEqual([9, 9]);
    const other = (fn: Step) => () => dx.compile((a: T, b: T) => dx.scan(fn, b, a))(xs, h);
    expect(other((c, x) => [c.sum(), x])).toThrow("scan: carry must be of shape [2], like init; received []");
    expect(other((c, x) => [c.to("int32"), x])).toThrow(dx.DTypeError);
    const written = dx.compile((a: T, b: T) => dx.scan((c: T, x: T) => [c.mul(x), x] as const, b, a));
    const [a, b] = [leaf(1, 6, 2), leaf(2, 2)];
    const [last] = written(a, b);
    dx.noGrad(() => a.add_(1));
    expect(() => { last.sum().backward(); }).toThrow("an in-place operation changed it"); // prettier-ignore
  });

  test("a thousand steps, and profiles", () =>
    clean(
      device,
      () => {
        const run = dx.compile((xs: T) => dx.scan((c: T, x: T) => [c.add(x), c] as const, dx.zeros([2]), xs));
        const [last, ys] = run(dx.ones([1000, 2]));
        expect([numbers(last), ys.shape, numbers(ys.select(0, 999))]).toEqual([[1000, 1000], [1000, 2], [999, 999]]); // prettier-ignore
        expect(run.profileSync().dispatches.some((d) => d.operator.endsWith(", 1000 times"))).toBe(true);
      },
      { collect: true },
    ));

  test("in a function with an operation that runs on the host", () => {
    const fn = (xs: T, h: T): readonly T[] => dx.scan((c: T, x: T) => [dx.linalg.inv(c.add(x)), c.sum()] as const, h, xs);
    const compiled = dx.compile(fn);
    const [xs, h] = [random(1, 5, 2, 2), random(2, 2, 2)];
    compiled(xs, h).forEach((t, i) => {
      expectClose(t, numbers(fn(xs, h)[i]!), { rtol: 1e-3, atol: 1e-3 });
    });
  });
});
