/**
 * Lion, LAMB and Lookahead, which PyTorch does not have, compared with the published algorithms in float64: Lion is program 1 of Chen et al. 2023, LAMB algorithm 2 of You
 * et al. 2020, Lookahead algorithm 1 of Zhang et al. 2019.
 */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { devices, numbers } from "../device.ts";

const { lrScheduler } = dx.optim;
const STEPS = 50;

const start = [[1, -2, 3, 0.5, -0.25], [0.3, -0.6, 0.9, 1.2, 0, 0.4]]; // prettier-ignore
const shapes = [[5], [2, 3]];
const gradient = (step: number, index: number, size: number): number[] =>
  Array.from({ length: size }, (_, i) => Math.sin(1.7 * step + 0.9 * i + 2.3 * index) * (1 + i));

type Step = (p: number[], g: readonly number[], state: Record<string, number[]>, lr: number, t: number) => void;

const lion =
  (b1: number, b2: number, wd: number, sign = 1): Step =>
  (p, g, s, lr) => {
    s.m ??= p.map(() => 0);
    p.forEach((v, i) => {
      const c = b1 * s.m![i]! + (1 - b1) * sign * g[i]!;
      p[i] = v - lr * (Math.sign(c) + wd * v);
      s.m![i] = b2 * s.m![i]! + (1 - b2) * sign * g[i]!;
    });
  };

const lamb =
  (b1: number, b2: number, eps: number, wd: number): Step =>
  (p, g, s, lr, t) => {
    s.m ??= p.map(() => 0);
    s.v ??= p.map(() => 0);
    const r = p.map((v, i) => {
      s.m![i] = b1 * s.m![i]! + (1 - b1) * g[i]!;
      s.v![i] = b2 * s.v![i]! + (1 - b2) * g[i]! ** 2;
      return s.m![i]! / (1 - b1 ** t) / (Math.sqrt(s.v![i]! / (1 - b2 ** t)) + eps) + wd * v;
    });
    const [length, step] = [Math.hypot(...p), Math.hypot(...r)];
    const trust = length > 0 && step > 0 ? length / step : 1;
    p.forEach((v, i) => (p[i] = v - lr * trust * r[i]!));
  };

const slowly =
  (inner: Step, k: number, alpha: number): Step =>
  (p, g, s, lr, t) => {
    s.slow ??= [...p];
    inner(p, g, s, lr, t);
    if (t % k !== 0) return;
    p.forEach((v, i) => {
      s.slow![i] = s.slow![i]! + alpha * (v - s.slow![i]!);
      p[i] = s.slow![i]!;
    });
  };

type Any = dx.optim.Optimizer | dx.optim.Lookahead;
type Params = readonly dx.Tensor[];

const cases: Readonly<Record<string, { readonly make: (p: Params) => Any; readonly reference: Step }>> = {
  lion: { make: (p) => dx.optim.lion(p, { lr: 0.01 }), reference: lion(0.9, 0.99, 0) },
  "lion with decay": { make: (p) => dx.optim.lion(p, { lr: 0.02, weightDecay: 0.1, betas: [0.8, 0.95] }), reference: lion(0.8, 0.95, 0.1) },
  "lion that climbs": { make: (p) => dx.optim.lion(p, { lr: 0.01, maximize: true }), reference: lion(0.9, 0.99, 0, -1) },
  lamb: { make: (p) => dx.optim.lamb(p, { lr: 0.02 }), reference: lamb(0.9, 0.999, 1e-6, 0) },
  "lamb with decay": {
    make: (p) => dx.optim.lamb(p, { lr: 0.02, weightDecay: 0.1, betas: [0.8, 0.95], eps: 1e-3 }),
    reference: lamb(0.8, 0.95, 1e-3, 0.1),
  },
  lookahead: { make: (p) => dx.optim.lookahead(dx.optim.lion(p, { lr: 0.02 })), reference: slowly(lion(0.9, 0.99, 0), 5, 0.5) },
  "lookahead of lamb": {
    make: (p) => dx.optim.lookahead(dx.optim.lamb(p, { lr: 0.02 }), { k: 3, alpha: 0.8 }),
    reference: slowly(lamb(0.9, 0.999, 1e-6, 0), 3, 0.8),
  },
};

const inside = (o: Any): dx.optim.Optimizer => (o instanceof dx.optim.Lookahead ? o.optimizer : o);

describe.each(devices)("optimizers of papers on %s", (device) => {
  const params = (values: readonly (readonly number[])[] = start): dx.nn.Parameter[] =>
    values.map((v, i) => new dx.nn.Parameter(dx.tensor(v, { shape: shapes[i]!, device })));
  const gradients = (t: number): dx.Tensor[] => start.map((v, i) => dx.tensor(gradient(t, i, v.length), { shape: shapes[i]!, device }));
  const stepper =
    (p: Params, o: Any) =>
    (...g: dx.Tensor[]): dx.Tensor[] => {
      let loss = dx.zeros([], { device });
      p.forEach((each, i) => (loss = loss.add(each.mul(g[i]!).sum())));
      loss.backward();
      o.step();
      o.zeroGrad();
      return p.map((each) => each.detach().clone());
    };

  describe.each(Object.entries(cases))("%s", (_, { make, reference }) => {
    it.each([null, true, false])(`${STEPS} steps with a schedule are the algorithm's (compiled, check: %s)`, (check) => {
      const p = params();
      const optimizer = make(p);
      const schedule = new lrScheduler.ExponentialLR(inside(optimizer), { gamma: 0.97 });
      const body = stepper(p, optimizer);
      const compiled = check === null ? null : dx.compile(body, { check });
      const want = start.map((v) => [...v]);
      const states = start.map((): Record<string, number[]> => ({}));
      for (let t = 0; t < STEPS; t++) {
        want.forEach((w, i) => {
          reference(w, gradient(t, i, w.length), states[i]!, optimizer.lr, t + 1);
        });
        const got = (compiled ?? body)(...gradients(t)).map(numbers);
        got.forEach((g, i) => {
          g.forEach((v, k) => {
            expect(Math.abs(v - want[i]![k]!)).toBeLessThan(1e-4 * (1 + Math.abs(want[i]![k]!)));
          });
        });
        schedule.step();
      }
      if (compiled !== null) expect(compiled.programs).toBeLessThanOrEqual(3);
      compiled?.dispose();
      optimizer.dispose();
    });

    it("continues from its state bit for bit, saved before each step", () => {
      const p = params();
      const optimizer = make(p);
      const body = stepper(p, optimizer);
      const copies = (o: unknown): unknown =>
        o instanceof dx.Tensor
          ? o.clone()
          : Array.isArray(o)
            ? o
            : typeof o === "object" && o !== null
              ? Object.fromEntries(Object.entries(o).map(([k, v]) => [k, copies(v)]))
              : o;
      const saved: { state: unknown; values: number[][] }[] = [];
      const want: number[][][] = [];
      for (let t = 0; t < 8; t++) {
        saved.push({ state: copies(optimizer.stateDict()), values: p.map(numbers) });
        want.push(body(...gradients(t)).map(numbers));
      }
      for (const [t, { state, values }] of saved.entries()) {
        const q = params(values);
        const other = make(q);
        other.loadStateDict(state as never);
        const again = stepper(q, other);
        for (let i = t; i < 8; i++) expect(again(...gradients(i)).map(numbers)).toEqual(want[i]);
        other.dispose();
      }
      optimizer.dispose();
    });
  });

  it("half precision, frozen parameters, groups, zeros and NaN", () => {
    const half = new dx.nn.Parameter(dx.tensor([1, -1], { dtype: "float16", device }));
    const zeros = new dx.nn.Parameter(dx.zeros([3], { device }));
    const still = new dx.nn.Parameter(dx.ones([2], { device }));
    const optimizer = dx.optim.lamb([
      { params: [half, zeros], lr: 0.5 },
      { params: [still], weightDecay: 0.1 },
    ]);
    half.sum().backward();
    zeros.sum().backward();
    optimizer.step();
    // |p| / |r| is 1 both times: each element of r is 1, p is [1, -1], then zeros, which take the step as it is.
    expect(numbers(half)).toEqual([0.5, -1.5]);
    numbers(zeros).forEach((v) => {
      expect(v).toBeCloseTo(-0.5, 5);
    });
    expect(numbers(still)).toEqual([1, 1]);
    const lion = dx.optim.lion([zeros], { lr: 1 });
    zeros.grad = dx.tensor([NaN, 0, 3], { device });
    lion.step();
    // The sign of NaN is 0, as torch.sign's.
    numbers(zeros).forEach((v, i) => {
      expect(v).toBeCloseTo([-0.5, -0.5, -1.5][i]!, 5);
    });
    expect(Number.isNaN(numbers(lion.stateDict().state[0]!.exp_avg!)[0])).toBe(true);
    lion.dispose();
    optimizer.dispose();
  });

  it("options out of range are refused", () => {
    const [p] = params();
    expect(() => dx.optim.lion([p!], { betas: [1, 0.9] })).toThrow(dx.ValueError);
    expect(() => dx.optim.lamb([p!], { eps: -1 })).toThrow(dx.ValueError);
    expect(() => dx.optim.lookahead(dx.optim.lion([p!]), { k: 0 })).toThrow(dx.ValueError);
    expect(() => dx.optim.lookahead(dx.optim.lion([p!]), { alpha: 2 })).toThrow(dx.ValueError);
  });
});
