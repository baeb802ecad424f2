/** DistributedDataParallel over each engine, against one process and PyTorch's recorded losses: `npm run distributed`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bucketsOf } from "../../src/distributed/gradient-buckets.ts";
import { engines, hasEngine, runRanks } from "./ranks.ts";
import { trainingText } from "./training-text.ts";

const recordedFile = join(process.cwd(), "test", "distributed", "ddp-losses.json");

/** The optimizer of record.py. */
const training = `${trainingText(recordedFile, 8)}const sgd = (model) => dx.optim.sgd(model.parameters(), { lr: 0.2, momentum: 0.9 });
`;

it("puts gradients into buckets from the last parameter on, by dtype and device", () => {
  const p = (sizeInBytes: number, dtype: "float32" | "float16" = "float32", device = "cpu") => ({ dtype, device, sizeInBytes });
  expect(bucketsOf([p(4), p(4), p(4)], 100, 100)).toEqual([[2, 1, 0]]);
  expect(bucketsOf([p(4), p(4), p(4), p(4), p(4)], 8, 4)).toEqual([[4], [3, 2], [1, 0]]);
  expect(bucketsOf([p(4), p(2, "float16"), p(4), p(2, "float16"), p(4, "float32", "dml:0")], 100, 100)).toEqual([[4], [3, 1], [2, 0]]);
  expect(bucketsOf([p(500), p(0)], 8, 4)).toEqual([[1, 0]]);
  expect(bucketsOf([], 8, 4)).toEqual([]);
});

describe.each(engines)("over $name (npm run distributed)", (engine) => {
  it("100 losses are those of PyTorch's, and of one process with the whole batch", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      2,
      `${training}
await init();
const model = network();
if (rank === 0) load(model);
const ddp = d.distributedDataParallel(model, { bucketSizeInBytes: 64 });
tell(train(ddp, sgd(ddp), (step) => batch(step, rank, 2)));
tell(Object.fromEntries(Object.entries(ddp.stateDict()).map(([name, t]) => [name, list(t)])));
if (rank === 0) {
  const alone = load(network());
  tell(train(alone, sgd(alone), (step) => batch(step, 0, 1)));
}
await d.destroyProcessGroup();`,
      { engine },
    );
    const { losses } = JSON.parse(readFileSync(recordedFile, "utf8")) as { readonly losses: readonly (readonly number[])[] };
    const [own, other] = ends.map(({ status, stderr, told }) => {
      expect([status, stderr]).toEqual([0, ""]);
      return told as readonly [readonly number[], Record<string, unknown>, readonly number[]];
    });
    expect(own![0].length).toBe(100);
    [own!, other!].forEach(([mine], rank) => mine.forEach((loss, i) => expect(Math.abs(loss - losses[rank]![i]!)).toBeLessThan(2e-4)));
    own![2].forEach((loss, i) => expect(Math.abs((own![0][i]! + other![0][i]!) / 2 - loss)).toBeLessThan(1e-4));
    expect(own![0][99]).toBeLessThan(own![0][0]! / 2);
    // Bit for bit: each rank adds the same numbers.
    expect(other![1]).toEqual(own![1]);
    expect(Object.keys(own![1])[0]).toBe("module.0.weight");
  });

  it.each([2, 4])(
    "compileStep and eager steps over %i ranks: 100 losses are those of PyTorch's DDP",
    { timeout: 120_000 },
    async (size) => {
      const ends = await runRanks(
        size,
        `${training}
await init();
const model = load(network());
const ddp = d.distributedDataParallel(model, { bucketSizeInBytes: 64 });
const optimizer = sgd(model);
const step = ddp.compileStep((x, y) => dx.nn.functional.crossEntropy(ddp.module.forward(x), y), optimizer);
// Of PyTorch's two parts each rank has one, or a half.
const part = (step) => batch(step, 0, 1).map((t) => t.chunk(size)[rank]);
tell(Array.from({ length: 100 }, (_, i) => step(...part(i)).itemSync()));
tell(step.programs);
const plain = d.distributedDataParallel(load(network()));
tell(train(plain, sgd(plain), part));
tell(Object.fromEntries(Object.entries(ddp.stateDict()).map(([name, t]) => [name, list(t)])));
// Gradients that add up: two calls of one half each are a call with both.
const wide = part(0), before = list(model.at(0).bias);
optimizer.paramGroups[0].options.momentum = 0;
const halves = [0, 1].map((i) => wide.map((t) => t.chunk(2)[i]));
ddp.noSync(() => step(...halves[0]));
tell([list(model.at(0).bias).every((v, i) => v === before[i]), model.at(0).bias.grad !== null]);
step(...halves[1]);
tell([list(model.at(0).bias).some((v, i) => v !== before[i]), model.at(0).bias.grad === null]);
step.dispose();
// One process with the whole batch, compiled.
const alone = network();
load(alone);
const own = dx.optim.sgd(alone.parameters(), { lr: 0.2, momentum: 0.9 });
const whole = dx.compile((x, y) => {
  const loss = dx.nn.functional.crossEntropy(alone.forward(x), y);
  loss.backward();
  own.step();
  own.zeroGrad();
  return loss;
});
tell(Array.from({ length: 100 }, (_, i) => whole(...batch(i, 0, 1)).itemSync()));
await d.destroyProcessGroup();`,
        { engine },
      );
      const { losses } = JSON.parse(readFileSync(recordedFile, "utf8")) as { readonly losses: readonly (readonly number[])[] };
      const told = ends.map(({ status, stderr, told }) => {
        expect([status, stderr]).toEqual([0, ""]);
        return told as readonly [
          readonly number[],
          number,
          readonly number[],
          Record<string, unknown>,
          unknown,
          unknown,
          readonly number[],
        ];
      });
      for (let i = 0; i < 100; i++) {
        const means = [0, 2].map((which) => told.reduce((sum, one) => sum + (one[which] as readonly number[])[i]!, 0) / size);
        for (const mean of means) expect(Math.abs(mean - (losses[0]![i]! + losses[1]![i]!) / 2)).toBeLessThan(2e-4);
        expect(Math.abs(means[0]! - told[0]![6][i]!)).toBeLessThan(1e-4);
      }
      for (const one of told) {
        expect(one[1]).toBe(2);
        expect(one[3]).toEqual(told[0]![3]);
        expect(one.slice(4, 6)).toEqual([
          [true, true],
          [true, true],
        ]);
      }
    },
  );

  it("noSync, accumulation, unused parameters, hooks, buffers, a frozen parameter, float16", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      2,
      `await init();
class Two extends dx.nn.Module {
  constructor() { super(); this.a = new dx.nn.Parameter(dx.tensor([1, 2])); this.b = new dx.nn.Parameter(dx.tensor([3])); this.c = new dx.nn.Parameter(dx.tensor([4], { dtype: "float16" })); this.frozen = new dx.nn.Parameter(dx.tensor([5])); this.frozen.requiresGrad_(false); this.registerBuffer("seen", dx.tensor([rank])); }
  forward(x, usesB) { const y = this.a.mul(x).sum().add(this.a.mul(this.frozen).sum()); return usesB ? y.add(this.b.mul(x).sum()) : y; }
}
const model = new Two(), ddp = d.distributedDataParallel(model, { bucketSizeInBytes: 4 });
const grads = () => [model.a, model.b, model.c].map((p) => p.grad === null ? null : list(p.grad));
tell(list(model.seen));
model.seen.fill_(rank + 7);
// Rank 0 alone uses b: c is used by none.
ddp.forward(dx.tensor(rank + 1), rank === 0).backward();
tell(grads());
tell(list(model.seen));
// Twice on its own, then together: the sum is reduced.
ddp.zeroGrad();
ddp.noSync(() => { for (let i = 0; i < 2; i++) ddp.forward(dx.tensor(rank + 1), false).backward(); });
tell(grads());
ddp.forward(dx.tensor(rank + 1), false).backward();
tell(grads());
// Accumulated without noSync: what is reduced stays.
ddp.forward(dx.tensor(rank + 1), false).backward();
tell(grads());
ddp.zeroGrad();
const hook = model.a.registerHook((g) => g.mul(10));
ddp.forward(dx.tensor(rank + 1), false).backward();
hook.remove();
tell(grads());
// A compiled step, and what is reduced behind it.
ddp.zeroGrad();
tell((await error(() => dx.compile((x) => ddp.forward(x, false))(dx.tensor(1)))).name);
const step = dx.compile((x) => { const loss = ddp.module.forward(x, false); loss.backward(); return loss; });
for (let i = 0; i < 3; i++) { ddp.zeroGrad(); step(dx.tensor(rank + 1)); ddp.reduceGradients(); }
tell(grads());
ddp.eval();
model.seen.fill_(rank);
dx.noGrad(() => ddp.forward(dx.tensor(1), true));
tell(list(model.seen));
await d.destroyProcessGroup();`,
      { engine },
    );
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      const x = rank + 1;
      expect(told).toEqual([
        [0],
        [[6.5, 6.5], [0.5], null],
        [7],
        [[2 * (x + 5), 2 * (x + 5)], null, null],
        [[19.5, 19.5], null, null],
        [[26, 26], null, null],
        [[65, 65], null, null],
        "TraceError",
        [[6.5, 6.5], null, null],
        [rank],
      ]);
    });
  });
});

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  it(
    "compileStep: parameters that a rank does not use, or none; float16; what no optimizer has; gradients before; NaN",
    { timeout: 120_000 },
    async () => {
      const ends = await runRanks(
        2,
        `await init();
class Some extends dx.nn.Module {
  constructor() { super(); for (const [name, v, dtype] of [["a", [1, 2, 3]], ["b", [3]], ["c", [4], "float16"], ["none", [5]], ["other", [6, 7]]]) this[name] = new dx.nn.Parameter(dx.tensor(v, dtype ? { dtype } : {})); }
  forward(x) { let y = this.a.mul(x).sum().add(this.c.to("float32").mul(x).sum()).add(this.other.mul(x).sum()); if (rank === 0) y = y.add(this.b.mul(x).sum()); return y; }
}
const model = new Some(), ddp = d.distributedDataParallel(model, { bucketSizeInBytes: 8 });
const optimizer = dx.optim.sgd([model.a, model.b, model.c, model.none], { lr: 1, weightDecay: 0 });
const step = ddp.compileStep((x) => ddp.module.forward(x), optimizer);
const values = () => [model.a, model.b, model.c, model.none].map(list);
const grads = () => [model.a, model.none, model.other].map((p) => (p.grad === null ? null : list(p.grad)));
// Means of x: 1.5. What only rank 0 uses has half of its gradient.
for (let i = 0; i < 3; i++) step(dx.tensor(rank + 1)).dispose();
tell(values());
tell(grads());
ddp.noSync(() => step(dx.tensor(rank + 1)));
tell(grads());
step(dx.tensor(rank + 1));
tell(values());
step(dx.tensor(rank === 0 ? NaN : 1));
tell(values().map((v) => v.every(Number.isNaN)));
step.dispose();
await d.destroyProcessGroup();`,
      );
      for (const { status, stderr, told } of ends) {
        expect([status, stderr]).toEqual([0, ""]);
        expect(told).toHaveLength(5);
        expect(told[0]).toEqual([[-3.5, -2.5, -1.5], [1.5], [-0.5], [5]]);
        expect((told[1] as unknown[]).slice(0, 2)).toEqual([null, null]);
        expect(told[3]).toEqual([[-6.5, -5.5, -4.5], [0.5], [-3.5], [5]]);
        expect(told[4]).toEqual([true, true, true, false]);
      }
    },
  );

  it("one rank alone computes what the module does", { timeout: 60_000 }, async () => {
    const [end] = await runRanks(
      1,
      `await init();
const model = dx.nn.linear(3, 2), ddp = d.distributedDataParallel(model), x = dx.ones([4, 3]);
model.forward(x).sum().backward();
const own = list(model.weight.grad);
model.zeroGrad();
ddp.forward(x).sum().backward();
tell([own, list(model.weight.grad)]);
ddp.reduceGradients();
tell(list(model.weight.grad));
await d.destroyProcessGroup();`,
    );
    const own = [
      [4, 4, 4],
      [4, 4, 4],
    ];
    expect([end!.status, end!.stderr, end!.told]).toEqual([0, "", [[own, own], own]]);
  });

  it("compileStep of one rank is one program, with the values of a compiled step without a group", { timeout: 60_000 }, async () => {
    const [end] = await runRanks(
      1,
      `await init();
class Some extends dx.nn.Module {
  constructor() { super(); this.a = new dx.nn.Parameter(dx.tensor([1, 2, 3])); this.b = new dx.nn.Parameter(dx.tensor([4], { dtype: "float16" })); this.none = new dx.nn.Parameter(dx.tensor([5])); this.norm = dx.nn.batchNorm1d(3); }
  forward(x) { return this.norm.forward(this.a.mul(x)).relu().sum().add(this.b.to("float32").mul(x).sum()); }
}
const inputs = [[[1, 2, 3], [3, 1, 5]], [[2, 2, 1], [0, 3, 4]], [[1, 7, 2], [2, 6, 1]], [[NaN, 1, 2], [3, 4, 5]]].map((x) => dx.tensor(x));
function trained(isParallel) {
  const model = new Some(), optimizer = dx.optim.sgd(model.parameters(), { lr: 0.1, momentum: 0.9 }), scaler = new dx.optim.GradScaler({ initScale: 8 });
  const hook = model.a.registerHook((g) => g.mul(10));
  const lossOf = (x) => scaler.scale(model.forward(x));
  const update = () => { scaler.stepOnDevice(optimizer); scaler.update(); };
  const add = (x) => { const loss = lossOf(x); loss.backward(); return loss.detach(); };
  const ddp = isParallel ? d.distributedDataParallel(model, { bucketSizeInBytes: 4 }) : null;
  const step = ddp === null ? dx.compile((x) => { const loss = add(x); update(); optimizer.zeroGrad(); return loss; }) : ddp.compileStep(lossOf, optimizer, { update });
  const addOnly = ddp === null ? dx.compile(add) : (x) => ddp.noSync(() => step(x));
  const out = [];
  const seen = (loss) => out.push([loss.itemSync(), ...Object.values(model.stateDict()).map(list), ...model.parameters().map((p) => (p.grad === null ? null : list(p.grad)))]);
  for (const x of inputs.slice(0, 3)) seen(step(x));
  out.push(ddp === null ? 1 : step.programs);
  seen(addOnly(inputs[0]));
  seen(addOnly(inputs[1]));
  for (const x of inputs.slice(2)) seen(step(x));
  hook.remove();
  seen(step(inputs[0]));
  step.dispose();
  return out;
}
tell(trained(false));
tell(trained(true));
await d.destroyProcessGroup();`,
    );
    expect([end!.status, end!.stderr]).toEqual([0, ""]);
    const [alone, parallel] = end!.told as readonly (readonly unknown[])[];
    expect(alone).toHaveLength(9);
    expect(parallel).toEqual(alone);
  });

  it("ranks with other modules say so; a rank that ends in backward is an error there", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      3,
      `await init();
tell(await error(() => d.distributedDataParallel(dx.nn.linear(2, rank === 2 ? 4 : 3))));
tell((await error(() => d.distributedDataParallel(dx.nn.relu()))).name);
const ddp = d.distributedDataParallel(dx.nn.linear(200, 300));
const start = performance.now();
tell(await error(() => { for (let i = 0; ; i++) { if (rank === 1 && i === 3) process.kill(process.pid, "SIGKILL"); ddp.zeroGrad(); ddp.forward(dx.ones([4, 200])).sum().backward(); } }));
tell(performance.now() - start);
await d.destroyProcessGroup();`,
    );
    [0, 2].forEach((rank) => {
      const { status, stderr, told } = ends[rank]!;
      expect([status, stderr]).toEqual([0, ""]);
      expect(told[0]).toMatchObject({ name: "DistributedError", reason: "mismatch", peer: rank === 2 ? 0 : 2 });
      expect(told[1]).toBe("AutogradError");
      expect(told[2]).toMatchObject({
        name: "DistributedError",
        reason: "connection",
        rank,
        peer: 1,
        operation: "DistributedDataParallel",
      });
      expect(told[3]).toBeLessThan(20_000);
    });
    expect(ends[1]!.signal).toBe("SIGKILL");
  });
});
