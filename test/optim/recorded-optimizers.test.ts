/** Muon and Adafactor against what PyTorch recorded (pytorch/record-more.py): eager and compiled, other layouts, half precision, groups, state, errors. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import { truncatesHalf } from "./rounded.ts";

interface Run {
  readonly names: readonly (keyof typeof shapes)[];
  readonly after: Readonly<Record<string, number[][]>>;
  readonly state: readonly Readonly<Record<string, number[]>>[];
}
type Runs = Readonly<Record<string, Run>>;
const recorded = JSON.parse(readFileSync(new URL("pytorch/more.json", import.meta.url), "utf8")) as Readonly<
  Record<"muon" | "muon in float64" | "adafactor", Runs>
>;

const shapes = { tall: [7, 4], wide: [3, 6], square: [4, 4], vector: [5], cube: [2, 3, 4], scalar: [] } as const;
const STEPS = 20;
const size = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);
const values = (seed: number, n: number): number[] => Array.from({ length: n }, (_, i) => Math.sin(seed + 0.9 * i * i) * (1 + (i % 3)));
const tensor = (seed: number, shape: readonly number[]): dx.Tensor => dx.tensor(values(seed, size(shape)), { shape });

type Make = (params: dx.optim.ParametersInput<never>) => dx.optim.Optimizer;
const muons: Readonly<Record<string, Make>> = {
  default: (p) => dx.optim.muon(p, 0.02),
  "no nesterov": (p) => dx.optim.muon(p, { lr: 0.05, nesterov: false, weightDecay: 0, momentum: 0.8 }),
  match_rms_adamw: (p) => dx.optim.muon(p, { lr: 0.01, adjustLrFn: "match_rms_adamw", nsSteps: 3 }),
  spectral_unclamped: (p) => dx.optim.muon(p, { lr: 0.02, adjustLrFn: "spectral_unclamped", nsCoefficients: [2, -1.5, 0.5], eps: 1e-3 }),
};
const adafactors: Readonly<Record<string, Make>> = {
  default: (p) => dx.optim.adafactor(p),
  decay: (p) => dx.optim.adafactor(p, { lr: 0.05, weightDecay: 0.1, d: 1.5, beta2Decay: -0.5 }),
  eps: (p) => dx.optim.adafactor(p, { lr: 0.1, eps: [1e-2, 0.3], maximize: true }),
};

/** Takes the recorded steps, and calls `see` after each. The loss has the gradients of the recording. */
function follow(
  params: readonly dx.Tensor[],
  optimizer: dx.optim.Optimizer,
  how: dx.CompileOptions | null,
  see: (step: number) => void,
): number {
  const body = (...gradients: dx.Tensor[]): void => {
    optimizer.zeroGrad();
    gradients
      .map((g, k) => params[k]!.mul(g).sum())
      .reduce((a, b) => a.add(b))
      .backward();
    optimizer.step();
  };
  const compiled = how === null ? null : dx.compile(body, how);
  for (let step = 0; step < STEPS; step++) {
    (compiled ?? body)(...params.map((p, k) => tensor(1.7 * (step + 1) + 2.3 * k, p.shape).to(p.dtype)));
    see(step);
  }
  const programs = compiled?.programs ?? 0;
  compiled?.dispose();
  return programs;
}

const finish = (optimizer: dx.optim.Optimizer, params: readonly dx.Tensor[]): void => {
  optimizer.dispose();
  for (const p of params) {
    p.grad?.dispose();
    p.dispose();
  }
};
const parameters = (run: Run): dx.nn.Parameter[] => run.names.map((name, k) => new dx.nn.Parameter(tensor(0.3 + k, shapes[name])));

const ways = [
  ["eager", null],
  ["compiled", {}],
  ["compiled, unchecked", { check: false }],
] as const;
/** Newton-Schulz steps make of a rounding up to 3.4^5 as much. */
const MUON = { rtol: 1e-4, atol: 1e-4 };
/** What bfloat16 differs by was 2.6e-3 at a rate of 0.02, and 4.6e-3 at 0.05, of steps of up to 2.5 times the rate. */
const BFLOAT16 = { rtol: 0, atol: 1e-2 };
const FLOAT32 = { rtol: 2e-5, atol: 2e-5 };

eachDevice("recorded optimizers", (device) => {
  describe.each(ways)("%s", (_, how) => {
    const compare = (run: Run, make: Make, tolerances: readonly [Run, { rtol: number; atol: number }][]): Promise<void> =>
      clean(
        device,
        () => {
          const params = parameters(run);
          const optimizer = make(params);
          const programs = follow(params, optimizer, how, (step) => {
            for (const [{ after }, tolerance] of tolerances)
              after[step]?.forEach((want, k) => {
                expectClose(params[k]!, want, tolerance);
              });
          });
          expect(programs).toBeLessThanOrEqual(2);
          const { state } = optimizer.stateDict();
          run.state.forEach((own, k) => {
            for (const [name, want] of Object.entries(own)) expectClose(state[k]![name]!, want, FLOAT32);
          });
          finish(optimizer, params);
        },
        { collect: true },
      );
    test.each(Object.keys(muons))("muon, %s: PyTorch's with steps in float64, and its own but for bfloat16", (name) => {
      const run = recorded["muon in float64"][name]!;
      return compare(run, muons[name]!, [
        [run, MUON],
        [recorded.muon[name]!, BFLOAT16],
      ]);
    });
    test.each(Object.keys(adafactors))("adafactor, %s", (name) => {
      const run = recorded.adafactor[name]!;
      return compare(run, adafactors[name]!, [[run, FLOAT32]]);
    });
  });

  test("states of Adafactor are a row and a column, of Muon as large as the parameter", () => {
    const run = recorded.adafactor.default!;
    const params = parameters(run);
    const optimizer = dx.optim.adafactor(params);
    follow(params, optimizer, null, () => {});
    const seen = Object.values(optimizer.stateDict().state).map((own) =>
      Object.fromEntries(Object.entries(own).map(([key, t]) => [key, t.shape])),
    );
    expect(seen[0]).toEqual({ step: [], row_var: [7, 1], col_var: [1, 4] });
    expect(seen[3]).toEqual({ step: [], variance: [5] });
    expect(seen[4]).toEqual({ step: [], row_var: [2, 3, 1], col_var: [2, 1, 4] });
    finish(optimizer, params);
  });

  test.each([
    ["muon", (p: dx.Tensor[]) => dx.optim.muon(p, 0.02)],
    ["adafactor", (p: dx.Tensor[]) => dx.optim.adafactor(p)],
  ] as const)("%s moves a parameter that is a transposed view, and one with a view of it, as any other", (_, make) => {
    const step = (p: dx.Tensor): number[] => {
      const optimizer = make([p]);
      for (let i = 0; i < 3; i++) {
        p.grad = tensor(1.7 * (i + 1), [7, 4]);
        optimizer.step();
      }
      return numbers(p);
    };
    const wanted = step(tensor(0.3, [7, 4]).requiresGrad_());
    const base = tensor(0.3, [7, 4]).transpose(0, 1).contiguous();
    const close = (got: readonly number[]): void => {
      got.forEach((v, i) => expect(Math.abs(v - wanted[i]!)).toBeLessThan(1e-5));
    };
    close(step(base.detach().transpose(0, 1).requiresGrad_()));
    close(numbers(base.transpose(0, 1)));
    const seen = tensor(0.3, [7, 4]).requiresGrad_();
    const view = seen.detach().slice(0, 1, 3);
    close(step(seen));
    expect(numbers(view)).toEqual(numbers(seen.detach().slice(0, 1, 3)));
  });

  test("groups, parameters without a gradient, empty ones, zeros and NaN", () => {
    const [a, b, still, empty, zeros] = [
      [3, 2],
      [2, 2],
      [2, 2],
      [0, 2],
      [2, 3],
    ].map((s) => tensor(0.5, s).requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor, dx.Tensor];
    dx.noGrad(() => zeros.zero_());
    for (const make of [dx.optim.muon, dx.optim.adafactor]) {
      const optimizer = make([
        { params: [a, still, empty], lr: 0 },
        { params: [b, zeros], lr: 0.1, weightDecay: 0 },
      ]);
      const before = [a, b, still].map(numbers);
      for (const p of [a, b, empty]) p.grad = dx.ones(p.shape);
      zeros.grad = dx.zeros([2, 3]);
      optimizer.step();
      expect(numbers(still)).toEqual(before[2]);
      expect(numbers(a)).toEqual(before[0]);
      expect(numbers(b)).not.toEqual(before[1]);
      // A gradient of zeros moves nothing: norms and averages are at least eps.
      expect(numbers(zeros)).toEqual([0, 0, 0, 0, 0, 0]);
      b.grad = dx.tensor([[NaN, 1], [1, 1]]); // prettier-ignore
      const copy = b.detach().clone();
      optimizer.step();
      expect(numbers(b).some(Number.isNaN)).toBe(true);
      dx.noGrad(() => b.copy_(copy));
      optimizer.dispose();
    }
  });

  test.each(["float16", "bfloat16"] as const)("%s parameters: their own state, or float32 with masterWeights", (dtype) =>
    clean(
      device,
      () => {
        for (const make of [
          (p: dx.Tensor[], o: object) => dx.optim.muon(p, { lr: 0.02, ...o }),
          (p: dx.Tensor[], o: object) => dx.optim.adafactor(p, { lr: 0.05, ...o }),
        ]) {
          const single = [tensor(0.3, [4, 6]).requiresGrad_()];
          const reference = make(single, {});
          follow(single, reference, null, () => {});
          for (const options of [{}, { masterWeights: true }, { kahan: true }]) {
            const params = [tensor(0.3, [4, 6]).to(dtype).requiresGrad_()];
            const optimizer = make(params, options);
            follow(params, optimizer, {}, () => {});
            const kinds = new Set(
              Object.entries(optimizer.stateDict().state[0]!)
                .filter(([key]) => key !== "step")
                .map(([, t]) => t.dtype),
            );
            expect([...kinds]).toEqual([options.masterWeights === true ? "float32" : dtype]);
            const error = Math.max(...numbers(params[0]!).map((v, i) => Math.abs(v - numbers(single[0]!)[i]!)));
            // Truncation is off by a whole unit in the last place, rounding to nearest by half a unit.
            expect(error).toBeLessThan(dtype === "bfloat16" ? 0.1 : truncatesHalf() ? 0.04 : 0.02);
            finish(optimizer, params);
          }
          finish(reference, single);
        }
      },
      { collect: true },
    ),
  );

  test("steps that GradScaler skips change nothing", () =>
    clean(
      device,
      () => {
        for (const make of [dx.optim.muon, dx.optim.adafactor]) {
          const p = tensor(0.3, [3, 2]).requiresGrad_();
          const optimizer: dx.optim.Optimizer = make([p], 0.1);
          const scaler = dx.optim.gradScaler({ initScale: 8 });
          const run = dx.compile((x: dx.Tensor) => {
            optimizer.zeroGrad();
            scaler.scale(p.mul(x).square().sum()).backward();
            scaler.stepOnDevice(optimizer);
            scaler.update();
          });
          const seen: number[][] = [];
          for (const x of [1, Infinity, 2]) {
            run(dx.tensor([x, 1]));
            seen.push([...numbers(p), ...Object.values(optimizer.stateDict().state[0]!).flatMap(numbers)]);
          }
          expect(seen[1]).toEqual(seen[0]);
          expect(seen[2]).not.toEqual(seen[1]);
          run.dispose();
          scaler.dispose();
          finish(optimizer, [p]);
        }
      },
      { collect: true },
    ));

  test("what is refused, with its argument", () => {
    const [p, v] = [tensor(0, [2, 2]).requiresGrad_(), tensor(0, [2]).requiresGrad_()];
    const optim = dx.optim as unknown as { muon: (p: unknown, o?: unknown) => unknown; adafactor: (p: unknown, o?: unknown) => unknown };
    expect(() => optim.muon([p, v])).toThrow(dx.ShapeError);
    expect(() => optim.muon([p, v])).toThrow(/Muon: params\[1\] must be a tensor of two axes.*float32\[2\]/);
    for (const [options, text] of [
      [{ lr: -1 }, /lr/],
      [{ momentum: -0.1 }, /momentum/],
      [{ nsSteps: 100 }, /nsSteps/],
      [{ nsSteps: 1.5 }, /nsSteps/],
      [{ nsCoefficients: [1, 2] }, /nsCoefficients/],
      [{ weightDecay: -1 }, /weightDecay/],
      [{ adjustLrFn: "adamw" }, /adjustLrFn/],
      [{ adjustLrFn: 3 }, /adjustLrFn/],
    ] as const) {
      expect(() => optim.muon([p], options)).toThrow(text);
      expect(() => optim.muon([{ params: [p], ...options }])).toThrow(text);
    }
    for (const [options, text] of [
      [{ beta2Decay: 0.1 }, /beta2Decay/],
      [{ eps: [1e-3] }, /eps/],
      [{ eps: [null, null] }, /eps/],
      [{ eps: [-1, 1] }, /eps/],
      [{ d: 0.5 }, /\bd\b/],
      [{ weightDecay: -1 }, /weightDecay/],
    ] as const) {
      expect(() => optim.adafactor([v], options)).toThrow(text);
      expect(() => optim.adafactor([{ params: [v], ...options }])).toThrow(text);
    }
    // A group may leave eps to the dtype.
    optim.adafactor([{ params: [v], eps: [null, 0.1] }]);
  });
});
