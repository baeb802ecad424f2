/** A call of a compiled function that throws, at any point, leaves all state as it was before. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { share } from "../share.ts";

const { lrScheduler } = dx.optim;

const optimizers = {
  sgd: (p) => dx.optim.sgd(p, { lr: 0.05, momentum: 0.9, dampening: 0.1 }),
  adam: (p) => dx.optim.adam(p, { lr: 0.03, amsgrad: true }),
  adamW: (p) => dx.optim.adamW(p, { lr: 0.03 }),
  adagrad: (p) => dx.optim.adagrad(p, { lr: 0.03, lrDecay: 0.01 }),
  adadelta: (p) => dx.optim.adadelta(p),
  adamax: (p) => dx.optim.adamax(p, { lr: 0.03 }),
  asgd: (p) => dx.optim.asgd(p, { lr: 0.03, t0: 1 }),
  nadam: (p) => dx.optim.nadam(p, { lr: 0.03 }),
  radam: (p) => dx.optim.radam(p, { lr: 0.03 }),
  rmsprop: (p) => dx.optim.rmsprop(p, { lr: 0.03, momentum: 0.5, centered: true }),
  rprop: (p) => dx.optim.rprop(p),
} satisfies Record<string, (p: Iterable<dx.Tensor>) => dx.optim.Optimizer>;

class Stop extends Error {}

/** Points at which the body may throw. */
const POINTS = 13;

function begin(make: (p: Iterable<dx.Tensor>) => dx.optim.Optimizer) {
  const layer = dx.nn.linear(3, 2, { generator: new dx.Generator(3) });
  const norm = dx.nn.batchNorm1d(2);
  const unused = dx.tensor([1, 2], { requiresGrad: true });
  const late = dx.tensor([3], { requiresGrad: true });
  const parameters = [unused, ...layer.parameters(), ...norm.parameters(), late];
  const optimizer = make(parameters);
  const hasMomentum = "betas" in optimizer.defaults || "momentum" in optimizer.defaults;
  const schedule = new lrScheduler.SequentialLR(optimizer, {
    schedulers: [
      new lrScheduler.CyclicLR(optimizer, { baseLr: 0.01, maxLr: 0.1, stepSizeUp: 2, cycleMomentum: hasMomentum }),
      new lrScheduler.ExponentialLR(optimizer, { gamma: 0.5 }),
    ],
    milestones: [5],
  });
  const generator = new dx.Generator(5);
  const x = dx.tensor([[1, 2, -1], [0.5, -1, 2], [0, 1, 1]]); // prettier-ignore
  const body = (stop: number): void => {
    let point = 0;
    const pass = (): void => {
      if (point++ === stop) throw new Stop();
    };
    pass();
    for (let i = 0; i < 2; i++) {
      const order = dx.randperm(3, { generator });
      const noise = dx.randn([3, 2], { generator });
      const loss = norm
        .forward(layer.forward(x.indexSelect(0, order)))
        .mul(noise)
        .square()
        .sum();
      pass();
      (i === 0 ? loss : loss.add(late.sum())).backward();
      pass();
      schedule.step();
      pass();
      optimizer.step();
      pass();
      optimizer.zeroGrad();
      pass();
      schedule.step();
      if (i === 0) pass();
      else generator.manualSeed(9);
    }
    pass();
  };
  const seen = async (): Promise<unknown> => {
    const values = async (tensors: Readonly<Record<string, dx.Tensor>>) =>
      Promise.all(Object.entries(tensors).map(async ([name, t]) => [name, [...(await t.detach().data())].map(Number)]));
    const { state, paramGroups } = optimizer.stateDict();
    return {
      state: await Promise.all(Object.entries(state).map(async ([i, slots]) => [i, await values(slots)])),
      paramGroups: structuredClone(paramGroups),
      schedule: schedule.stateDict(),
      rates: schedule.getLastLr(),
      generator: await generator.getState(),
      buffers: await values({ ...layer.stateDict(), ...norm.stateDict(), unused, late }),
      gradients: await Promise.all(parameters.map(async (p) => (p.grad === null ? null : [...(await p.grad.data())]))),
      versions: parameters.map((p) => p.version),
    };
  };
  return { body, seen };
}

/** A generator has state on a device from its first draw there on, and that is no state of a call. */
const withoutGenerator = (seen: unknown): unknown => ({ ...(seen as { generator: dx.GeneratorState }), generator: null });

eachDevice("a call that throws", (device) => {
  for (const [name, make] of Object.entries(optimizers))
    for (const before of share([0, 1], 2, name.length))
      test(`${name}, after ${before} calls`, async () => {
        await dx.withDevice(device, async () => {
          const clean = begin(make);
          for (let i = 0; i < before; i++) clean.body(-1);
          const at = await clean.seen();
          clean.body(-1);
          const next = await clean.seen();
          for (let stop = 0; stop < POINTS; stop++) {
            const { body, seen } = begin(make);
            for (let i = 0; i < before; i++) body(-1);
            const broken = dx.compile(body);
            expect(() => broken(stop), `point ${stop}`).toThrow(Stop);
            const now = await seen();
            expect(before === 0 ? withoutGenerator(now) : now, `point ${stop}`).toEqual(before === 0 ? withoutGenerator(at) : at);
            body(-1);
            expect(await seen(), `after point ${stop}`).toEqual(next);
          }
        });
      });
});
