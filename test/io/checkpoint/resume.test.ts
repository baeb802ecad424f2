/** A training that resumes from a checkpoint equals the uninterrupted one to the last bit: cut after each of several steps. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { devices } from "../../device.ts";
import { share } from "../../share.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-resumed-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const SAMPLES = 11;
const STEPS = 9;

type Make = (p: dx.nn.Parameter[]) => dx.optim.Optimizer;
const optimizers: Readonly<Record<string, Make>> = {
  adam: (p) => dx.optim.adam(p, { lr: 0.03 }),
  "SGD with momentum": (p) => dx.optim.sgd(p, { lr: 0.05, momentum: 0.9 }),
  "adamW of two groups": (p) =>
    dx.optim.adamW([
      { params: p.slice(0, 2), lr: 0.1 },
      { params: p.slice(2), weightDecay: 0.1 },
    ]),
};
const others: Readonly<Record<string, Make>> = {
  adagrad: (p) => dx.optim.adagrad(p, { lr: 0.03, lrDecay: 0.01 }),
  adadelta: (p) => dx.optim.adadelta(p),
  adamax: (p) => dx.optim.adamax(p, { lr: 0.03 }),
  amsgrad: (p) => dx.optim.adam(p, { lr: 0.03, amsgrad: true }),
  asgd: (p) => dx.optim.asgd(p, { lr: 0.03, t0: 3 }),
  nadam: (p) => dx.optim.nadam(p, { lr: 0.03 }),
  radam: (p) => dx.optim.radam(p, { lr: 0.03 }),
  rmsprop: (p) => dx.optim.rmsprop(p, { lr: 0.03, momentum: 0.5, centered: true }),
  rprop: (p) => dx.optim.rprop(p),
};

const { lrScheduler } = dx.optim;
type Schedule = (o: dx.optim.Optimizer) => dx.optim.lrScheduler.LRScheduler;
const schedules: Readonly<Record<string, Schedule>> = {
  "one cycle": (o) => new lrScheduler.OneCycleLR(o, { maxLr: 0.2, totalSteps: 12, cycleMomentum: false }),
  "cosine with warm restarts": (o) => new lrScheduler.CosineAnnealingWarmRestarts(o, { t0: 2 }),
  sequential: (o) =>
    new lrScheduler.SequentialLR(o, {
      schedulers: [new lrScheduler.LinearLR(o, { totalIters: 3 }), new lrScheduler.ExponentialLR(o, { gamma: 0.9 })],
      milestones: [3],
    }),
  plateau: (o) => new lrScheduler.ReduceLROnPlateau(o, { patience: 0, factor: 0.5 }),
};

interface Kind {
  readonly optimizer: Make;
  readonly schedule: Schedule;
  readonly isCompiled: boolean;
  readonly hasScaler: boolean;
  readonly sampler: "shuffle" | "weighted" | "stream";
}

/** A training from its seed on. */
function begin(device: string, seed: number, { optimizer: make, schedule: scheduled, isCompiled, hasScaler, sampler }: Kind) {
  const generator = new dx.Generator(seed);
  const order = new dx.Generator(seed + 1);
  const model = dx.nn
    .sequential(
      dx.nn.linear(3, 8, { generator }),
      dx.nn.batchNorm1d(8),
      dx.nn.dropout(0.4, { generator }),
      dx.nn.linear(8, 1, { generator }),
    )
    .to(device);
  const optimizer = make(model.parameters());
  const schedule = scheduled(optimizer);
  const scaler = dx.optim.gradScaler({ initScale: 8, growthInterval: 2, enabled: hasScaler });
  const samples = Array.from({ length: SAMPLES }, (_, i) => [i / SAMPLES, 1 - i / SAMPLES, i % 3]);
  const collateFn = (rows: readonly (readonly number[])[]): dx.Tensor =>
    dx.tensor(
      rows.map((row) => [...row]),
      { device },
    );
  const weights = samples.map((_, i) => 1 + i);
  const loader =
    sampler === "stream"
      ? dx.data.streamLoader(samples, { batchSize: 3, collateFn })
      : dx.data.dataLoader(samples, {
          batchSize: 3,
          collateFn,
          ...(sampler === "shuffle"
            ? { shuffle: true, generator: order }
            : { sampler: new dx.data.WeightedRandomSampler(weights, SAMPLES, { generator: order }) }),
        });
  const forward = (x: dx.Tensor): dx.Tensor => {
    const noise = dx.randn(x.shape, { generator, device }).mul(0.1);
    const loss = dx.nn.functional.mseLoss(model(x.add(noise)), x.sum(1, { keepDims: true }));
    (hasScaler ? scaler.scale(loss) : loss).backward();
    if (!hasScaler) {
      optimizer.step();
      optimizer.zeroGrad();
    }
    return loss;
  };
  const compiled = isCompiled ? dx.compile(forward) : forward;
  const step = async (x: dx.Tensor): Promise<number> => {
    const loss = compiled(x);
    if (hasScaler) {
      await scaler.step(optimizer);
      scaler.update();
      optimizer.zeroGrad();
    }
    const value = await loss.item();
    if (schedule instanceof lrScheduler.ReduceLROnPlateau) schedule.step(value);
    else schedule.step();
    return value;
  };
  return { state: { model, optimizer, schedule, scaler, generator, order, loader }, step };
}
type Training = ReturnType<typeof begin>;

/** Steps until there are so many in all. Calls after each. */
async function train({ state, step }: Training, from: number, after?: (n: number) => Promise<void>): Promise<number[]> {
  const losses: number[] = [];
  for (let n = from; n < STEPS;)
    for await (const x of state.loader as AsyncIterable<dx.Tensor>) {
      losses.push(await step(x));
      n++;
      await after?.(n);
      if (n === STEPS) break;
    }
  return losses;
}

/** All bits of the end of a training. */
async function bitsOf({ state: { model, optimizer, scaler, generator, order } }: Training): Promise<unknown> {
  const hex = (t: dx.Tensor): string => Buffer.from(t.dataSync().buffer as ArrayBuffer).toString("hex");
  const tensors = dx.scope(() => [
    Object.entries(model.stateDict()).map(([name, t]) => [name, hex(t)]),
    Object.values(optimizer.stateDict().state).map((slots) => Object.entries(slots).map(([name, t]) => [name, hex(t)])),
  ]);
  return [tensors, optimizer.paramGroups.map((g) => g.options), scaler.stateDict(), await generator.getState(), await order.getState()];
}

/** Compares an uninterrupted training with those that continue after each step. */
async function compare(device: string, kind: Kind, cuts: readonly number[]): Promise<void> {
  const file = (n: number): string => join(folder, `cut-${n}.safetensors`);
  const whole = begin(device, 3, kind);
  const losses = await train(whole, 0, async (n) => {
    if (cuts.includes(n)) await dx.save(file(n), { ...whole.state, step: n });
  });
  const bits = await bitsOf(whole);
  expect(new Set(losses).size).toBe(STEPS);
  for (const cut of cuts) {
    const again = begin(device, 1000 + cut, kind);
    const { state } = await dx.load<{ step: number }>(file(cut), { into: again.state });
    expect(state.step).toBe(cut);
    expect([cut, ...(await train(again, state.step))]).toEqual([cut, ...losses.slice(cut)]);
    expect([cut, await bitsOf(again)]).toEqual([cut, bits]);
  }
}

const cases = Object.entries(optimizers).flatMap(([name, optimizer], i) =>
  [false, true].map(
    (isCompiled) => [`${name}, ${isCompiled ? "compiled" : "eager"}`, optimizer, Object.values(schedules)[i]!, isCompiled] as const,
  ),
);

describe.each(devices)("on %s", (device) => {
  test.each(cases)("%s: dropout, noise, shuffling, schedule; after each step", async (name, optimizer, schedule, isCompiled) => {
    // Every third one unless all are asked for, of each case others: an epoch has four.
    const all = Array.from({ length: STEPS - 1 }, (_, i) => i + 1);
    const cuts = share(
      all,
      3,
      cases.findIndex(([other]) => other === name),
    );
    await compare(device, { optimizer, schedule, isCompiled, hasScaler: false, sampler: "shuffle" }, cuts);
  });

  test.each([false, true])("with GradScaler and a weighted sampler, compiled: %s", async (isCompiled) => {
    const [optimizer, schedule] = [optimizers.adam!, schedules.plateau!];
    await compare(device, { optimizer, schedule, isCompiled, hasScaler: true, sampler: "weighted" }, [1, 2, 4, 5, 7]);
  });

  test("with a stream", async () => {
    const [optimizer, schedule] = [optimizers.adam!, schedules["one cycle"]!];
    await compare(device, { optimizer, schedule, isCompiled: true, hasScaler: false, sampler: "stream" }, [1, 3, 4, 6]);
  });

  test.each(Object.entries(others))("%s", async (_, optimizer) => {
    await compare(device, { optimizer, schedule: schedules.sequential!, isCompiled: false, hasScaler: false, sampler: "shuffle" }, [2, 5]);
  });

  test.each([null, "strongWolfe"] as const)("LBFGS, by %s", async (lineSearchFn) => {
    const made = (seed: number) => {
      const model = dx.nn.linear(3, 2, { generator: new dx.Generator(seed), device });
      return { model, optimizer: dx.optim.lbfgs(model.parameters(), { lr: 0.1, maxIter: 3, historySize: 4, lineSearchFn }) };
    };
    const x = dx.randn([8, 3], { generator: new dx.Generator(5), device });
    const losses = async ({ model, optimizer }: ReturnType<typeof made>, steps: number): Promise<number[]> => {
      const all: number[] = [];
      for (let i = 0; i < steps; i++)
        all.push(
          await optimizer.step(() => {
            optimizer.zeroGrad();
            const loss = dx.nn.functional.mseLoss(model(x), x.slice(1, 0, 2).sin());
            loss.backward();
            return loss;
          }),
        );
      return all;
    };
    const one = made(1);
    for (let cut = 0; cut < 4; cut++) {
      await dx.save(join(folder, "lbfgs"), one);
      const two = made(2);
      await dx.load(join(folder, "lbfgs"), { into: two });
      const three = made(3);
      await dx.load(join(folder, "lbfgs"), { into: three });
      expect(await losses(two, 4)).toEqual(await losses(three, 4));
      const rest = made(4);
      await dx.load(join(folder, "lbfgs"), { into: rest });
      const [own] = await losses(one, 1);
      expect((await losses(rest, 1))[0]).toBe(own);
      expect(rest.optimizer.counts).toEqual(one.optimizer.counts);
    }
    const wrong = dx.optim.lbfgs([new dx.nn.Parameter(dx.ones([3], { device }))]);
    expect(() => wrong.loadStateDict(one.optimizer.stateDict())).toThrow(dx.ValueError);
  });
});
