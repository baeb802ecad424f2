/** 100 losses of sharded training over each engine, against PyTorch's recorded ones and one process: `npm run distributed`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { engines, runRanks } from "./ranks.ts";

const recordedFile = join(process.cwd(), "test", "distributed", "sharded-losses.json");
const recorded = JSON.parse(readFileSync(recordedFile, "utf8")) as {
  readonly losses: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
};

/** The network, data and loops of record-sharded.py. */
const training = `const { readFileSync } = await import("node:fs");
const { state } = JSON.parse(readFileSync(new URL(${JSON.stringify(pathToFileURL(recordedFile).href)}), "utf8"));
const BATCH = 8;
const batch = (step, part, of) => {
  const n = Array.from({ length: BATCH / of }, (_, i) => i + (part * BATCH) / of + step * BATCH);
  const x = n.map((v) => Array.from({ length: 6 }, (_, i) => Math.sin(v * 1.3 + i * 0.7)));
  return [dx.tensor(x), dx.tensor(x.map(([a, b]) => Number(a > 0) + Number(b > 0.5)), { dtype: "int32" })];
};
const network = () => {
  const model = dx.nn.sequential(dx.nn.linear(6, 9), dx.nn.layerNorm(9), dx.nn.gelu(), dx.nn.linear(9, 3));
  model.loadStateDict(Object.fromEntries(Object.entries(state).map(([name, values]) => [name, dx.tensor(values)])));
  return model;
};
const adam = (params) => dx.optim.adamW(params, { lr: 0.02, weightDecay: 0.1 });
const train = (model, optimizer, of) => Array.from({ length: 100 }, (_, step) => {
  const [x, y] = of(step);
  const loss = dx.nn.functional.crossEntropy(model.forward(x), y);
  optimizer.zeroGrad();
  loss.backward();
  optimizer.step();
  return loss.itemSync();
});
const kinds = {
  fullyShard: () => sharded(true),
  zero2: () => sharded(false),
  zero1: () => {
    const ddp = d.distributedDataParallel(network());
    return [ddp, d.zeroRedundancyOptimizer(ddp.parameters(), adam)];
  },
};
function sharded(reshardAfterForward) {
  const model = network();
  for (const layer of [model.at(0), model.at(1), model.at(3)]) d.fullyShard(layer, { reshardAfterForward });

  return [model, adam(model.parameters())];
}
`;

it("has 100 recorded losses of each kind, which fall", () => {
  expect(Object.keys(recorded.losses)).toEqual(["2", "4"]);
  for (const kinds of Object.values(recorded.losses)) {
    expect(Object.keys(kinds).sort()).toEqual(["fullyShard", "zero1", "zero2"]);
    for (const losses of Object.values(kinds)) expect([losses.length, losses[99]! < losses[0]! / 2]).toEqual([100, true]);
  }
});

describe.each(engines)("over $name (npm run distributed)", (engine) => {
  it.each([2, 4])("%i ranks: fullyShard, ZeRO 2 and ZeRO 1", { timeout: 120_000 }, async (ranks) => {
    const ends = await runRanks(
      ranks,
      `${training}
await init();
for (const [kind, make] of Object.entries(kinds)) tell([kind, train(...make(), (step) => batch(step, rank, size))]);
if (rank === 0) { const model = network(); tell(["alone", train(model, adam(model.parameters()), (step) => batch(step, 0, 1))]); }
await d.destroyProcessGroup();`,
      { engine },
    );
    for (const { status, stderr } of ends) expect([status, stderr]).toEqual([0, ""]);
    const own = ends.map(({ told }) => Object.fromEntries(told as readonly (readonly [string, readonly number[]])[]));
    const alone = own[0]!.alone!;
    for (const [kind, losses] of Object.entries(recorded.losses[ranks]!)) {
      const mean = losses.map((_, step) => own.reduce((sum, of) => sum + of[kind]![step]!, 0) / ranks);
      expect(mean.length).toBe(100);
      const far = (from: readonly number[]): number => Math.max(...mean.map((loss, step) => Math.abs(loss - from[step]!)));
      expect([kind, far(losses) < 5e-4, far(alone) < 5e-4]).toEqual([kind, true, true]);
      expect(mean[99]).toBeLessThan(mean[0]! / 2);
    }
  });
});
