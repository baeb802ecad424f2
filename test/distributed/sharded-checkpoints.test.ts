/** Checkpoints that all ranks write, and that any number of ranks reads: `npm run distributed`. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { latest, load, nn, optim } from "../../src/index.ts";
import { engines, gloo, hasEngine, runRanks, type Engine } from "./ranks.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-sharded-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A training whose batches of 12 are divided over the ranks, in three kinds; `go` runs steps and gives their mean losses. */
const training = `const BATCH = 12;
const network = () => {
  const generator = new dx.Generator(3);
  return dx.nn.sequential(dx.nn.linear(5, 7, { generator }), dx.nn.batchNorm1d(7), dx.nn.gelu(), dx.nn.linear(7, 3, { generator }));
};
const adam = (params) => dx.optim.adamW(params, { lr: 0.05, weightDecay: 0.1 });
const make = {
  plain: () => { const model = network(); return { model, optimizer: adam(model.parameters()) }; },
  sharded: () => {
    const model = network();
    d.fullyShard(model.at(0));
    d.fullyShard(model);
    return { model, optimizer: adam(model.parameters()) };
  },
  zero: () => {
    const model = network(), ddp = d.distributedDataParallel(model);
    return { model, ddp, optimizer: d.zeroRedundancyOptimizer(model.parameters(), adam) };
  },
};
const batch = (step, part, of) => {
  const n = Array.from({ length: BATCH / of }, (_, i) => i + (part * BATCH) / of + step * 17);
  return [dx.tensor(n.map((v) => Array.from({ length: 5 }, (_, i) => Math.sin(v * 1.3 + i)))), dx.tensor(n.map((v) => v % 3), { dtype: "int32" })];
};
// Statistics of the batch would depend on the number of ranks.
const go = async ({ model, ddp = model, optimizer }, from, steps, part = rank, of = size) => {
  const losses = [];
  model.eval();
  for (let step = from; step < from + steps; step++) {
    const [x, y] = batch(step, part, of);
    const loss = dx.nn.functional.crossEntropy(ddp.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    losses.push(of > 1 ? (await d.allReduce(loss.detach().clone(), { op: "mean" })).itemSync() : loss.itemSync());
  }
  return losses;
};
const into = ({ model, optimizer }) => ({ model, optimizer });
`;

const write = (path: string, kind: string): string => `${training}
await init();
const run = make.${kind}();
tell(await go(run, 0, 4));
await d.save(${JSON.stringify(path)}, { ...into(run), step: 4, note: [undefined, NaN, 3n, "rank " + rank] });
tell(await go(run, 4, 4));
await d.destroyProcessGroup();`;

const resume = (path: string, kind: string, isAlone = false): string => `${training}
${isAlone ? "" : "await init();"}
const run = make.${kind}();
const { state } = await dx.load(${JSON.stringify(path)}, { into: into(run) });
tell([state.step, state.note[3]]);
tell(await go(run, 4, 4, ${isAlone ? "0, 1" : "rank, size"}));
await d.destroyProcessGroup();`;

function close(a: readonly number[], b: readonly number[], within = 5e-5): void {
  expect(a.length).toBe(b.length);
  a.forEach((v, i) => expect(Math.abs(v - b[i]!)).toBeLessThan(within));
}

async function losses(ranks: number, code: string, engine: Engine = gloo): Promise<readonly number[]> {
  const ends = await runRanks(ranks, code, { engine });
  for (const { status, stderr } of ends) expect([status, stderr]).toEqual([0, ""]);
  expect(ends.map(({ told }) => told[1])).toEqual(ends.map(() => ends[0]!.told[1]));
  if (code.includes("state.note")) expect(ends.map(({ told }) => told[0])).toEqual(ends.map(() => [4, "rank 0"]));
  return ends[0]!.told[1] as readonly number[];
}

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  it("sharded parameters: written by 4 ranks, read by 1, 2, 3, 4, and without a group", { timeout: 120_000 }, async () => {
    const path = join(folder, "four.safetensors");
    const expected = await losses(4, write(path, "sharded"));
    expect(readdirSync(folder).filter((name) => name.startsWith("four-")).length).toBe(4);
    for (const ranks of [1, 2, 3, 4]) {
      const found = await losses(ranks, resume(path, "sharded"));
      if (ranks === 4) expect(found).toEqual(expected);
      else close(found, expected);
    }
    close(await losses(1, resume(path, "plain", true)), expected);
    close(await losses(3, resume(path, "zero")), expected);
  });

  it(
    "sharded optimizer: written by 3 ranks, read by 2, sharded, and without a group; of one process, by 2",
    { timeout: 120_000 },
    async () => {
      const path = join(folder, "zero.safetensors");
      const expected = await losses(3, write(path, "zero"));
      close(await losses(2, resume(path, "zero")), expected);
      close(await losses(2, resume(path, "sharded")), expected);
      close(await losses(1, resume(path, "plain", true)), expected);
      const alone = join(folder, "alone.safetensors");
      const code = write(alone, "plain").replace("await init();", "").replace("await d.save", "await dx.save");
      const [end] = await runRanks(1, code);
      expect([end!.status, end!.stderr]).toEqual([0, ""]);
      close(await losses(2, resume(alone, "sharded")), end!.told[1] as number[]);
      close(await losses(2, resume(alone, "zero")), end!.told[1] as number[]);
    },
  );

  it("a program without the engine reads tensors whole, and other models are refused", { timeout: 60_000 }, async () => {
    const path = join(folder, "whole.safetensors");
    await losses(3, write(path, "sharded"));
    const { model, optimizer, note } = (await load(path, { device: "cpu" })) as {
      readonly model: Record<string, { readonly shape: readonly number[] }>;
      readonly optimizer: { readonly state: Record<string, Record<string, { readonly shape: readonly number[] }>> };
      readonly note: readonly unknown[];
    };
    expect(model["0.weight"]!.shape).toEqual([7, 5]);
    expect(optimizer.state["0"]!.exp_avg!.shape).toEqual([7, 5]);
    expect(note).toEqual([undefined, NaN, 3n, "rank 0"]);
    const layers = (width: number) => nn.sequential(nn.linear(5, width), nn.batchNorm1d(width), nn.gelu(), nn.linear(width, 3));
    await expect(load(path, { into: { model: layers(8) } })).rejects.toThrow(/0.weight \[8, 5\] got \[7, 5\]/);
    await expect(load(path, { into: { model: nn.linear(5, 7) } })).rejects.toThrow(/without model.weight/);
    const other = layers(7);
    await load(path, { into: { model: other, optimizer: optim.adamW(other.parameters(), { lr: 1 }) } });
  });

  it("a part that is missing or torn is an error, and the checkpoint before is the last one", { timeout: 60_000 }, async () => {
    const own = join(folder, "torn");
    mkdirSync(own);
    const ends = await runRanks(
      2,
      `${training}
await init();
const run = make.sharded();
await go(run, 0, 1);
for (const step of [1, 2, 3]) await d.save(${JSON.stringify(own)} + "/step-" + step + ".safetensors", { ...into(run), step });
tell(await dx.latest(${JSON.stringify(own)}));
await d.destroyProcessGroup();`,
    );
    for (const { status, stderr, told } of ends) expect([status, stderr, told]).toEqual([0, "", [join(own, "step-3.safetensors")]]);
    const part = (step: number): string =>
      join(
        own,
        readdirSync(own).find((name) => name.startsWith(`step-${step}-00002`))!,
      );
    truncateSync(part(3), 200);
    expect(await latest(own)).toBe(join(own, "step-2.safetensors"));
    const refused = await runRanks(
      2,
      `${training}
await init();
tell(await error(() => dx.load(${JSON.stringify(join(own, "step-3.safetensors"))}, { into: into(make.sharded()) })));
tell((await dx.load(await dx.latest(${JSON.stringify(own)}), { into: into(make.sharded()) })).state.step);
await d.destroyProcessGroup();`,
    );
    for (const { told } of refused) expect(told).toEqual([expect.objectContaining({ name: "FormatError" }), 2]);
    rmSync(part(2));
    expect(await latest(own)).toBe(join(own, "step-1.safetensors"));
    await expect(load(join(own, "step-2.safetensors"))).rejects.toThrow(/with all of its shards next to it/);
  });

  it("a rank that cannot do its part: errors on all, the checkpoint before stays, nothing is left over", { timeout: 60_000 }, async () => {
    const own = join(folder, "refused");
    mkdirSync(own);
    const ends = await runRanks(
      2,
      `${training}
await init();
const run = make.sharded(), to = (name) => ${JSON.stringify(own)} + "/" + name;
await d.save(to("step-1.safetensors"), into(run), { keepLast: 1 });
tell(await error(() => d.save(to("step-2.safetensors"), { ...into(run), bad: rank === 1 ? () => 1 : 1 }, { keepLast: 1 })));
tell(await error(() => d.save(to("step-" + rank + ".safetensors"), into(run))));
tell(await error(() => d.save(to("step-2.safetensors"), into(run), { onProgress: () => { if (rank === 1) throw new RangeError("mine"); } })));
tell(await error(() => d.save(to("last.safetensors"), into(run), { keepLast: 1 })));
tell(await error(() => d.save(to("step-2.safetensors"), { m: dx.optim.adam8bit })));
const eight = dx.optim.adam8bit(run.model.parameters(), { lr: 0.1, min8bitSize: 1 });
await go({ ...run, optimizer: eight }, 0, 1);
tell(await error(() => d.save(to("step-2.safetensors"), { eight })));
await d.save(to("step-3.safetensors"), into(run), { keepLast: 1 });
await d.destroyProcessGroup();`,
    );
    expect(ends.map(({ status, stderr }) => [status, stderr])).toEqual([
      [0, ""],
      [0, ""],
    ]);
    const peer = { name: "DistributedError", reason: "peer", peer: 1 };
    const [first, second] = ends.map(({ told }) => told as readonly { readonly name: string; readonly message: string }[]);
    expect(first!.slice(0, 3)).toMatchObject([
      peer,
      { name: "ValueError" },
      { ...peer, message: expect.stringContaining("mine") as unknown },
    ]);
    expect(second!.slice(0, 3)).toMatchObject([
      { name: "DTypeError", message: expect.stringContaining("state.bad") as unknown },
      { name: "ValueError" },
      { name: "RangeError", message: "mine" },
    ]);
    expect(first!.slice(3).map(({ name }) => name)).toEqual(["ValueError", "DTypeError", "ValueError"]);
    expect(first!.at(-1)!.message).toContain("cannot be divided");
    expect(readdirSync(own).filter((name) => !/^step-3(-0000[12]-of-00002-[0-9a-f]{16})?\.safetensors$/.test(name))).toEqual([]);
  });

  it(
    "a rank that is killed while it writes leaves the checkpoint before; the next save removes its parts",
    { timeout: 60_000 },
    async () => {
      const own = join(folder, "killed");
      mkdirSync(own);
      const code = (isKilled: boolean): string => `${training}
await init();
const run = make.sharded(), to = ${JSON.stringify(own)};
if (await dx.latest(to) === null) await d.save(to + "/step-1.safetensors", into(run));
tell(await error(() => d.save(to + "/step-2.safetensors", into(run), { onProgress: () => { if (${isKilled} && rank === 1) process.kill(process.pid, "SIGKILL"); } })));
tell(await dx.latest(to));
await d.destroyProcessGroup();`;
      const [first, second] = await runRanks(2, code(true));
      expect(second!.signal).toBe("SIGKILL");
      expect(first!.told).toMatchObject([{ name: "DistributedError", reason: "connection", peer: 1 }, join(own, "step-1.safetensors")]);
      expect(readdirSync(own, { encoding: "utf8" }).some((name) => name.startsWith("step-2-00001"))).toBe(true);
      const ends = await runRanks(2, code(false));
      for (const { told } of ends) expect(told).toEqual([null, join(own, "step-2.safetensors")]);
      expect(readdirSync(own).filter((name) => name.startsWith("."))).toEqual([]);
      expect(readdirSync(own).length).toBe(6);
      expect(existsSync(join(own, "step-1.safetensors"))).toBe(true);
    },
  );

  it(
    "generators of each rank and the sampler's position: resumed bit for bit, and by another number of ranks",
    { timeout: 60_000 },
    async () => {
      const path = join(folder, "position.safetensors");
      const code = (isResumed: boolean): string => `await init();
const generator = new dx.Generator(rank + 10 + 5 * ${isResumed});
const sampler = new dx.data.DistributedSampler(48, { seed: 4 });
sampler.setEpoch(2);
const loader = dx.data.dataLoader(Array.from({ length: 48 }, (_, i) => i), { batchSize: 12 / size, sampler });
const seen = [], noise = [];
const state = { generator: d.perRank(generator), loader };
if (${isResumed}) await dx.load(${JSON.stringify(path)}, { into: state });
for await (const x of loader) {
  noise.push(...list(dx.randn([2], { generator })));
  seen.push(list(x));
  if (seen.length === 2 && !${isResumed}) await d.save(${JSON.stringify(path)}, state);
}
tell(seen);
tell(noise);
await d.destroyProcessGroup();`;
      type Told = readonly [seen: readonly (readonly number[])[], noise: readonly number[]];
      const run = async (ranks: number, isResumed: boolean): Promise<Told[]> => {
        const ends = await runRanks(ranks, code(isResumed));
        for (const { status, stderr } of ends) expect([status, stderr]).toEqual([0, ""]);
        return ends.map(({ told }) => told as unknown as Told);
      };
      const whole = await run(2, false);
      const again = await run(2, true);
      again.forEach(([seen, noise], rank) => {
        expect(seen).toEqual(whole[rank]![0].slice(2));
        expect(noise).toEqual(whole[rank]![1].slice(4));
      });
      const samples = (all: readonly Told[]): number[] => all.flatMap(([seen]) => seen.flat()).sort((a, b) => a - b);
      const left = samples(again);
      expect(left.length).toBe(24);
      for (const ranks of [1, 3, 4]) expect(samples(await run(ranks, true))).toEqual(left);
    },
  );

  it("state dicts of optimizers, gathered and taken again", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      3,
      `${training}
await init();
const run = make.sharded(), alone = make.plain();
await go(run, 0, 3);
await go(alone, 0, 3, 0, 1);
const full = d.fullOptimizerStateDict(run.optimizer), own = alone.optimizer.stateDict();
tell(Object.keys(own.state).map((key) => Object.keys(own.state[key]).map((name) => [name, String(full.state[key][name].shape) === String(own.state[key][name].shape), full.state[key][name].sub(own.state[key][name]).abs().max().itemSync() < 1e-4])));
tell(run.optimizer.stateDict().state[0].exp_avg.size);
const again = make.sharded(), one = make.plain();
d.loadFullStateDict(again.model, d.fullStateDict(run.model));
one.model.loadStateDict(d.fullStateDict(run.model));
d.loadFullOptimizerStateDict(again.optimizer, full);
one.optimizer.loadStateDict(full);
tell(await go(run, 3, 3));
tell(await go(again, 3, 3));
tell(await go(one, 3, 3, 0, 1));
await d.destroyProcessGroup();`,
    );
    for (const { status, stderr, told } of ends) {
      expect([status, stderr]).toEqual([0, ""]);
      const [alike, held, next, again, one] = told as [unknown[][][], number, number[], number[], number[]];
      expect(alike.flat().every(([, isShape, isClose]) => isShape === true && isClose === true)).toBe(true);
      expect(alike.length).toBe(6);
      expect(held).toBe(12);
      expect(again).toEqual(next);
      close(one, next);
    }
  });
});

describe.each(engines.filter(({ name }) => name !== "gloo"))("over $name (npm run distributed)", (engine) => {
  it("sharded parameters: written by 3 ranks, read by 2", { timeout: 60_000 }, async () => {
    const path = join(folder, `${engine.name}.safetensors`);
    const expected = await losses(3, write(path, "sharded"), engine);
    close(await losses(2, resume(path, "sharded"), engine), expected);
  });
});
