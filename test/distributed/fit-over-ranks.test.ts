/** dx.train.fit in a process group: the first rank reports, all write checkpoints, and another number of ranks resumes: `npm run distributed`. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { setProcessRanks } from "../../src/core/process-ranks.ts";
import { data, train } from "../../src/index.ts";
import { hasEngine, runRanks } from "./ranks.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-fit-ranks-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A training of 3 epochs of 12 samples: by ddp or a sharded module. */
const program = (epochs: number, isSharded: boolean, isResumed: boolean, more = ""): string => `await init();
dx.manualSeed(5);
const net = dx.nn.sequential(dx.nn.linear(2, 6), dx.nn.tanh(), dx.nn.linear(6, 1));
const model = ${isSharded} ? d.fullyShard(net) : d.distributedDataParallel(net);
const set = Array.from({ length: 12 }, (_, i) => [Float32Array.of(i / 12, Math.sin(i)), Float32Array.of(Math.cos(i))]);
const loader = dx.data.dataLoader(set, { batchSize: 6 / size, sampler: new dx.data.DistributedSampler(12) });
let printed = "";
const losses = [], scalars = [];
const writer = dx.train.summaryWriter(${JSON.stringify(folder)} + "/events");
const result = await dx.train.fit(loader, {
  model: net, optimizer: dx.optim.adam(model.parameters(), { lr: 0.05 }), epochs: ${epochs}, reportEvery: 1,
  loss: ([x, y]) => dx.nn.functional.mseLoss(model.forward(x), y),
  output: { write: (text) => (printed += text) }, summaryWriter: { scalar: (tag) => { scalars.push(tag); writer.scalar(tag, 1, 1); } },
  onReport: (report) => { losses.push(report.loss); },
  checkpoint: { folder: ${JSON.stringify(folder)} + "/ckpt", resume: ${isResumed} }, ${more}
});
await writer.close();
tell([printed !== "", scalars.length > 0, result.step, result.best.value]);
tell(losses);
await d.destroyProcessGroup();`;

type Told = readonly [report: readonly [boolean, boolean, number, number], losses: readonly number[]];

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  const run = async (ranks: number, code: string): Promise<readonly Told[]> => {
    const ends = await runRanks(ranks, code);
    for (const { status, stderr } of ends) expect([status, stderr]).toEqual([0, ""]);
    return ends.map(({ told }) => told as unknown as Told);
  };
  const mean = (all: readonly Told[]): number[] => all[0]![1].map((_, i) => all.reduce((sum, told) => sum + told[1][i]!, 0) / all.length);

  it("reports on the first rank, resumes with other numbers of ranks, sharded or not", { timeout: 120_000 }, async () => {
    const whole = await run(2, program(3, false, false));
    expect(whole.map(([[isPrinted, hasScalars, step]]) => [isPrinted, hasScalars, step])).toEqual([[true, true, 6], [false, false, 6]]); // prettier-ignore
    // The mean of the ranks' losses: all take the same for the best.
    expect(whole[1]![0][3]).toBe(whole[0]![0][3]);
    expect(readdirSync(join(folder, "events")).length).toBe(1);
    rmSync(join(folder, "ckpt"), { recursive: true });
    const first = await run(2, program(1, true, false));
    const second = await run(3, program(2, false, true, "allRanks: true,"));
    expect(second.map(([[isPrinted]]) => isPrinted)).toEqual([true, true, true]);
    const third = await run(1, program(3, true, true));
    const found = [...mean(first), ...mean(second), ...mean(third)];
    const expected = mean(whole);
    expect(found.length).toBe(6);
    found.forEach((loss, i) => expect(Math.abs(loss - expected[i]!)).toBeLessThan(2e-5));
    expect(readdirSync(join(folder, "ckpt")).filter((name) => /^(step-6|best)\.safetensors$/.test(name)).length).toBeGreaterThan(0);
  });
});

it("writers of other ranks than the first write no file, unless all do; samplers take the group's rank", async () => {
  setProcessRanks({ rank: 2, size: 3, gather: async (_, bytes) => [bytes], refused: (_, __, problem) => new Error(problem) });
  try {
    const quiet = train.summaryWriter(join(folder, "quiet"));
    expect(quiet.scalar("a", 1, 0)).toBe(true);
    expect(quiet.scalars("a", { b: 1 }, 0)).toBe(true);
    expect(quiet.text("a", "b", 0)).toBe(true);
    expect(() => quiet.scalar("", 1, 0)).toThrow("tag");
    await quiet.flush();
    await quiet.close();
    expect(existsSync(join(folder, "quiet"))).toBe(false);
    const loud = train.summaryWriter(join(folder, "loud"), { allRanks: true });
    loud.scalar("a", 1, 0);
    await loud.close();
    expect(readdirSync(join(folder, "loud")).length).toBe(1);
    expect([...new data.DistributedSampler(6, { shuffle: false })]).toEqual([2, 5]);
  } finally {
    setProcessRanks(null);
  }
  expect([...new data.DistributedSampler(2, { shuffle: false })]).toEqual([0, 1]);
});
