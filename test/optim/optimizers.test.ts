/** Every optimizer and schedule compared with PyTorch's recorded results (pytorch/record.py): eagerly, and compiled with the rates as inputs. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { isWhole } from "../share.ts";
import { expectClose } from "../tolerance.ts";

type Options = Readonly<Record<string, unknown>>;
type Schedules = Record<string, new (o: dx.optim.Optimizer, options: object) => dx.optim.lrScheduler.LRScheduler>;

interface Recorded {
  readonly starts: readonly (readonly number[] | readonly (readonly number[])[])[];
  readonly steps: number;
  readonly runs: readonly {
    readonly name: string;
    readonly options: Options;
    readonly schedule: readonly [string, Options] | null;
    readonly after: readonly (readonly (readonly number[])[])[];
    readonly state: Readonly<Record<string, readonly number[]>>;
  }[];
  readonly composed: Readonly<Record<string, readonly (readonly [number, number])[]>>;
}

const recorded = JSON.parse(readFileSync(new URL("pytorch/runs.json", import.meta.url), "utf8")) as Recorded;
const { lrScheduler } = dx.optim;

/** PyTorch's name of an option in ours: T_0 is t0, max_lr is maxLr. */
const camel = (name: string): string => name.replace(/^T_/, "t_").replace(/_(\w)/g, (_, c: string) => c.toUpperCase());
const ours = (options: Options): object => Object.fromEntries(Object.entries(options).map(([k, v]) => [camel(k), v]));

const gradient = (step: number, index: number, size: number): Float32Array =>
  Float32Array.from({ length: size }, (_, i) => Math.sin(1.7 * step + 0.9 * i + 2.3 * index) * (1 + i));

const make = (name: string, params: readonly dx.Tensor[], options: Options): dx.optim.Optimizer =>
  (dx.optim as unknown as Record<string, (p: readonly dx.Tensor[], o: object) => dx.optim.Optimizer>)[
    name.replace(/^(SGD|ASGD|RAdam|NAdam|RMSprop)$|^(.)/, (whole: string, all?: string) => (all === undefined ? whole : all).toLowerCase())
  ]!(params, ours(options));

const schedule = (o: dx.optim.Optimizer, [name, options]: readonly [string, Options]): dx.optim.lrScheduler.LRScheduler =>
  new (lrScheduler as unknown as Schedules)[name]!(o, ours(options));

type Gradients = readonly (dx.Tensor | null)[];

/** How a recorded run is taken: eagerly, or by a compiled function, with the schedule's step outside of it or inside. */
interface Way {
  readonly name: string;
  readonly check: boolean | null;
  readonly isInside: boolean;
  /** Steps of one call. */
  readonly steps: number;
  /** Of a run without null gradients; null: not said. One before the step in which a parameter has none, one for it, none for a rate. */
  readonly programs: number | null;
}

const ways: readonly Way[] = [
  { name: "", check: null, isInside: false, steps: 1, programs: null },
  { name: ", compiled", check: true, isInside: false, steps: 1, programs: 2 },
  { name: ", compiled with its schedule", check: true, isInside: true, steps: 1, programs: 2 },
  { name: ", compiled without checks", check: false, isInside: false, steps: 1, programs: null },
  { name: ", compiled without checks, with its schedule", check: false, isInside: true, steps: 1, programs: null },
  { name: ", two steps and two rates in one compiled call", check: true, isInside: true, steps: 2, programs: null },
  { name: ", three steps and three rates in one call without checks", check: false, isInside: true, steps: 3, programs: null },
];

eachDevice("optimizers compared with PyTorch's", (device) => {
  ways.forEach((way, w) => {
    recorded.runs.forEach(({ name, options, schedule: row, after, state }, r) => {
      if (row === null && way.isInside) return;
      // Eager and compiled all; of the other ways every sixth run, and each run in some of them.
      if (!isWhole && w > 1 && (w + r) % 6 !== 0) return;
      test(`${name}(${JSON.stringify(options)})${row === null ? "" : `, ${row[0]}`}${way.name}`, async () => {
        await clean(
          device,
          () => {
            const params = recorded.starts.map((s) => new dx.nn.Parameter(dx.tensor(s)));
            const optimizer = make(name, params, options);
            const scheduler = row === null ? null : schedule(optimizer, row);
            const at: (readonly (readonly number[])[])[] = [];
            // In the shape and the graph of a training: the gradients are those of a product.
            const body = (steps: readonly Gradients[]): dx.Tensor[][] =>
              steps.map((gradients) => {
                let loss: dx.Tensor = dx.zeros([]);
                params.forEach((p, i) => {
                  if (gradients[i]) loss = loss.add(dx.mul(p, gradients[i]!).sum());
                });
                loss.backward();
                optimizer.step();
                optimizer.zeroGrad();
                if (way.isInside) scheduler?.step();
                return params.map((p) => p.detach().clone());
              });
            const step = way.check === null ? null : dx.compile(body, { check: way.check });
            for (let i = 0; i < recorded.steps; i += way.steps) {
              const steps = Array.from({ length: way.steps }, (_, k) =>
                params.map((p, j) => (j === 1 && i + k === 5 ? null : dx.tensor(gradient(i + k, j, p.size), { shape: p.shape }))),
              );
              for (const values of (step ?? body)(steps)) at.push(values.map(numbers));
              if (!way.isInside) scheduler?.step();
            }
            [0, 6, recorded.steps - 1].forEach((i, k) => {
              params.forEach((_, j) => {
                expectClose(dx.tensor(at[i]![j]!), after[k]![j]!, { rtol: 2e-5, atol: 2e-6 });
              });
            });
            const own = optimizer.stateDict().state[0] ?? {};
            for (const [key, value] of Object.entries(state)) expectClose(own[key]!.reshape([-1]), value, { rtol: 2e-5, atol: 2e-6 });
            if (way.programs !== null) expect(step!.programs).toBeGreaterThanOrEqual(way.programs);
            if (way.programs !== null) expect(step!.programs).toBeLessThanOrEqual(way.programs + 1);
            step?.dispose();
            optimizer.dispose();
            for (const p of params) p.dispose();
          },
          { collect: way.check !== null },
        );
      });
    });
  });
});

const composed: Readonly<Record<string, (o: dx.optim.Optimizer) => dx.optim.lrScheduler.LRScheduler>> = {
  sequential: (o) =>
    new lrScheduler.SequentialLR(o, {
      schedulers: [
        new lrScheduler.ConstantLR(o, { factor: 0.1, totalIters: 20 }),
        new lrScheduler.ExponentialLR(o, { gamma: 0.9 }),
        new lrScheduler.StepLR(o, { stepSize: 2 }),
      ],
      milestones: [4, 9],
    }),
  "sequential of cosines": (o) =>
    new lrScheduler.SequentialLR(o, {
      schedulers: [new lrScheduler.LinearLR(o, { totalIters: 4 }), new lrScheduler.CosineAnnealingLR(o, { tMax: 6 })],
      milestones: [4],
    }),
  chained: (o) =>
    new lrScheduler.ChainedScheduler({
      schedulers: [new lrScheduler.ConstantLR(o, { factor: 0.1, totalIters: 5 }), new lrScheduler.ExponentialLR(o, { gamma: 0.9 })],
    }),
  lambda: (o) => new lrScheduler.LambdaLR(o, { lrLambda: (t) => 0.95 ** t + 0.1 * t }),
  multiplicative: (o) => new lrScheduler.MultiplicativeLR(o, { lrLambda: (t) => 1 / (1 + t) }),
  cyclic: (o) => new lrScheduler.CyclicLR(o, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 3, stepSizeDown: 4, mode: "exp_range", gamma: 0.9 }),
};

describe("schedules", () => {
  const start = (): { readonly optimizer: dx.optim.SGD; end(): void } => {
    const p = new dx.nn.Parameter(dx.tensor([1], { device: "cpu" }));
    const optimizer = dx.optim.sgd([p], { lr: 0.5, momentum: 0.9 });
    return {
      optimizer,
      end: () => {
        optimizer.dispose();
        p.dispose();
      },
    };
  };

  for (const [name, rates] of Object.entries(recorded.composed))
    test(`${name}, and again from its state dict`, () => {
      const [one, two] = [start(), start()];
      const scheduler = composed[name]!(one.optimizer);
      const resumed = composed[name]!(two.optimizer);
      rates.forEach(([lr, momentum], i) => {
        expect(one.optimizer.lr).toBeCloseTo(lr, 12);
        expect(one.optimizer.paramGroups[0]!.options.momentum).toBeCloseTo(momentum, 12);
        if (i > 7) expect(two.optimizer.lr).toBe(one.optimizer.lr);
        scheduler.step();
        expect(scheduler.getLastLr()).toEqual([one.optimizer.lr]);
        if (i > 7) resumed.step();
        if (i !== 7) return;
        two.optimizer.loadStateDict(JSON.parse(JSON.stringify({ state: {}, paramGroups: one.optimizer.stateDict().paramGroups })));
        resumed.loadStateDict(JSON.parse(JSON.stringify(scheduler.stateDict())) as dx.optim.lrScheduler.ScheduleState);
      });
      one.end();
      two.end();
    });

  test("what a schedule cannot follow is refused", () => {
    const { optimizer, end } = start();
    const plateau = new lrScheduler.ReduceLROnPlateau(optimizer);
    const p = new dx.nn.Parameter(dx.tensor([1], { device: "cpu" }));
    const other = dx.optim.adagrad([p]);
    const third = dx.optim.adagrad([p]);
    expect(() => plateau.step()).toThrow(/ReduceLROnPlateau: metric must be a number/);
    expect(() => new lrScheduler.SequentialLR(optimizer, { schedulers: [plateau], milestones: [] })).toThrow(
      /whose step\(\) needs no metric/,
    );
    expect(() => new lrScheduler.OneCycleLR(optimizer, { maxLr: 1 })).toThrow(/totalSteps must be given, or epochs and stepsPerEpoch/);
    expect(() => new lrScheduler.OneCycleLR(other, { maxLr: 1, totalSteps: 3 })).toThrow(/one with momentum or betas/);
    expect(() => new lrScheduler.StepLR(optimizer, { stepSize: 0 })).toThrow(/stepSize must be an integer of at least 1/);
    expect(() => new lrScheduler.StepLR(third, { stepSize: 1, lastEpoch: 3 })).toThrow(/initialLr must be set/);
    const cycle = new lrScheduler.OneCycleLR(optimizer, { maxLr: 1, totalSteps: 2 });
    cycle.step();
    cycle.step();
    expect(() => cycle.step()).toThrow(/called at most 2 times/);
    other.dispose();
    third.dispose();
    p.dispose();
    end();
  });
});
