/** AveragedModel, updateBn and SWALR compared with PyTorch's recorded runs (pytorch/record-swa.py), eagerly and compiled. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Run {
  readonly after: readonly Readonly<Record<string, readonly number[]>>[];
  readonly updated: Readonly<Record<string, readonly number[]>>;
}

type Rates = Readonly<Record<"cos" | "linear" | "none", readonly number[]>>;

const recorded = JSON.parse(readFileSync(new URL("pytorch/swa.json", import.meta.url), "utf8")) as Rates &
  Readonly<Record<"swa" | "ema" | "emaBuffers", Run>>;
const { optim, nn } = dx;

const makes = {
  swa: (m) => optim.averagedModel(m),
  ema: (m) => optim.averagedModel(m, { multiAvgFn: optim.getEmaMultiAvgFn(0.9) }),
  emaBuffers: (m) => optim.averagedModel(m, { avgFn: optim.getEmaAvgFn(0.8), useBuffers: true }),
} satisfies Record<string, (m: dx.nn.Sequential) => dx.optim.AveragedModel<dx.nn.Sequential>>;

const batch = (step: number): dx.Tensor =>
  dx.tensor(
    Array.from({ length: 8 }, (_, i) => Math.sin(i * 0.7 + step)),
    { shape: [4, 2] },
  );

eachDevice("averages of weights", () => {
  for (const [name, make] of Object.entries(makes)) {
    test.each([null, true, false])(`${name}: 50 steps as PyTorch's (compiled, check: %s)`, async (check) => {
      const net = nn.sequential(nn.linear(2, 3), nn.batchNorm1d(3), nn.linear(3, 1));
      dx.noGrad(() => {
        net.parameters().forEach((p, i) => {
          p.copy_(
            dx.tensor(
              Array.from({ length: p.size }, (_, k) => (k + i) * 0.1 - 0.2),
              { shape: p.shape },
            ),
          );
        });
      });
      const averaged = make(net);
      const optimizer = optim.sgd(net.parameters(), { lr: 0.1, momentum: 0.9 });
      const schedule = new optim.lrScheduler.SWALR(optimizer, { swaLr: 0.02, annealEpochs: 8 });
      const body = (x: dx.Tensor): dx.Tensor => {
        const loss = net(x).sub(1).square().mean();
        loss.backward();
        optimizer.step();
        optimizer.zeroGrad();
        averaged.updateParameters(net);
        return loss;
      };
      const compiled = check === null ? null : dx.compile(body, { check });
      const { after, updated } = recorded[name as keyof typeof makes];
      const seen = [0, 1, 9, 49];
      for (let i = 0; i < 50; i++) {
        (compiled ?? body)(batch(i));
        schedule.step();
        const k = seen.indexOf(i);
        if (k < 0) continue;
        const state = averaged.stateDict();
        expect(Object.keys(state).toSorted()).toEqual(Object.keys(after[k]!).toSorted());
        for (const [key, want] of Object.entries(after[k]!)) expectClose(state[key]!.reshape([-1]), want, { rtol: 2e-4, atol: 2e-5 });
      }
      if (compiled !== null) expect(compiled.programs).toBeLessThanOrEqual(2);
      averaged.eval();
      await optim.updateBn(
        [0, 1, 2].map((i) => [batch(i), null]),
        averaged,
      );
      expect(averaged.modules().some((m) => m.training)).toBe(false);
      expect((averaged.module.at(1) as dx.nn.BatchNorm1d).momentum).toBe(0.1);
      for (const [key, t] of averaged.namedBuffers()) expectClose(t.reshape([-1]), updated[key]!, { rtol: 2e-4, atol: 2e-5 });
      compiled?.dispose();
      optimizer.dispose();
    });
  }

  test.each(["cos", "linear", "none"] as const)("SWALR, %s", (kind) => {
    const optimizer = optim.sgd([new nn.Parameter(dx.zeros([1]))], { lr: 0.5 });
    const annealStrategy = kind === "linear" ? "linear" : "cos";
    const schedule = new optim.lrScheduler.SWALR(optimizer, { swaLr: 0.05, annealEpochs: kind === "none" ? 0 : 6, annealStrategy });
    for (const want of recorded[kind]) {
      expect(optimizer.lr).toBeCloseTo(want, 12);
      optimizer.step();
      schedule.step();
    }
    expect(() => new optim.lrScheduler.SWALR(optimizer, { swaLr: 0.05, annealEpochs: -1 })).toThrow(dx.ValueError);
    expect(() => new optim.lrScheduler.SWALR(optimizer, { swaLr: [0.1, 0.2] })).toThrow(dx.ValueError);
  });

  test("gradients do not reach the averages; other models and decays are refused", () => {
    const net = nn.linear(2, 1);
    const averaged = optim.averagedModel(net, { avgFn: optim.getEmaAvgFn(0) });
    net(dx.ones([1, 2]))
      .sum()
      .backward();
    dx.noGrad(() => net.weight.fill_(3));
    averaged.updateParameters(net);
    const copy = averaged.clone();
    copy.updateParameters(net);
    expect([numbers(copy.n_averaged), numbers(averaged.n_averaged)]).toEqual([[2], [1]]);
    expect(averaged.module.weight.isLeaf).toBe(true);
    expect(numbers(averaged(dx.ones([1, 2])).sub(net(dx.ones([1, 2]))))).toEqual([0]);
    expect(() => {
      averaged.updateParameters(nn.linear(2, 1, { bias: false }));
    }).toThrow(dx.ValueError);
    expect(() => optim.getEmaMultiAvgFn(1.5)).toThrow(dx.ValueError);
  });
});
