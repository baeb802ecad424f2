/** 100 losses of sharded training over each engine, against PyTorch's recorded ones and one process: `npm run distributed`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { engines, runRanks } from "./ranks.ts";
import { trainingText } from "./training-text.ts";

const recordedFile = join(process.cwd(), "test", "distributed", "sharded-losses.json");
const recorded = JSON.parse(readFileSync(recordedFile, "utf8")) as {
  readonly losses: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>;
};

/** The optimizers and shards of record-sharded.py. */
const training = `${trainingText(recordedFile, 9)}const adam = (params) => dx.optim.adamW(params, { lr: 0.02, weightDecay: 0.1 });
const kinds = {
  fullyShard: () => sharded(true),
  zero2: () => sharded(false),
  zero1: () => {
    const ddp = d.distributedDataParallel(load(network()));
    return [ddp, d.zeroRedundancyOptimizer(ddp.parameters(), adam)];
  },
};
function sharded(reshardAfterForward) {
  const model = load(network());
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
if (rank === 0) { const model = load(network()); tell(["alone", train(model, adam(model.parameters()), (step) => batch(step, 0, 1))]); }
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
