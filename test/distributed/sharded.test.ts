/** Sharded parameters and sharded optimizer state over Gloo, against one process with the whole batch: `npm run distributed`. */
import { describe, expect, it } from "vitest";
import { ownersOf } from "../../src/distributed/zero-redundancy.ts";
import { engines, hasEngine, runRanks } from "./ranks.ts";

/** A network with a tied weight, a frozen and an unused parameter, sizes that the ranks do not divide, and batches that depend on the step. */
const training = `const PART = 3;
class Net extends dx.nn.Module {
  constructor() {
    super();
    this.front = dx.nn.sequential(dx.nn.linear(5, 7), dx.nn.layerNorm(7), dx.nn.gelu());
    this.body = dx.nn.sequential(dx.nn.linear(7, 7), dx.nn.tanh(), dx.nn.linear(7, 7));
    this.head = dx.nn.linear(7, 3);
    this.scale = new dx.nn.Parameter(dx.tensor([1.5]));
    this.frozen = new dx.nn.Parameter(dx.tensor([1, 2, 3]), { requiresGrad: false });
    this.unused = new dx.nn.Parameter(dx.tensor([1, 2, 3, 4, 5]));
    this.registerBuffer("shift", dx.tensor([0.5]));
  }
  forward(x) { return this.head(this.body(this.body(this.front(x)))).mul(this.scale).add(this.frozen).add(this.shift); }
}
const network = (seed) => { dx.manualSeed(seed); return new Net(); };
const batch = (step, from, count) => {
  const n = Array.from({ length: count }, (_, i) => from + i + step * 17);
  return [dx.tensor(n.map((v) => Array.from({ length: 5 }, (_, i) => Math.sin(v * 1.3 + i)))), dx.tensor(n.map((v) => v % 3), { dtype: "int32" })];
};
const mine = (step) => batch(step, rank * PART, PART), whole = (step) => batch(step, 0, PART * size);
const train = async (model, optimizer, of, steps = 20) => {
  const losses = [];
  for (let step = 0; step < steps; step++) {
    const [x, y] = of(step);
    const loss = dx.nn.functional.crossEntropy(model.forward(x), y);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    losses.push(of === mine ? (await d.allReduce(loss.detach().clone(), { op: "mean" })).itemSync() : loss.itemSync());
  }
  return losses;
};
const flat = (state) => Object.fromEntries(Object.entries(state).map(([name, t]) => [name, t.flatten().toArraySync()]));
`;

type State = Readonly<Record<string, readonly number[]>>;

function close(a: readonly number[], b: readonly number[], within = 2e-5): void {
  expect(a.length).toBe(b.length);
  a.forEach((v, i) => expect(Math.abs(v - b[i]!)).toBeLessThan(within));
}

describe.skipIf(!hasEngine)("over Gloo (npm run distributed)", () => {
  for (const [ranks, reshards] of [
    [2, true],
    [3, false],
  ] as const)
    it(
      `fullyShard over ${ranks} ranks: losses, gradients and state of one process; reshards: ${reshards}`,
      { timeout: 120_000 },
      async () => {
        const ends = await runRanks(
          ranks,
          `${training}
await init();
const alone = network(1), model = network(rank + 1);
const options = { reshardAfterForward: ${reshards} };
for (const layer of [model.front, model.body, model.head]) d.fullyShard(layer, options);
tell(d.fullyShard(model, options) === model);
tell(model.parameters().reduce((n, p) => n + p.size, 0));
tell(alone.parameters().reduce((n, p) => n + p.size, 0));
const make = (m) => dx.optim.adamW(m.parameters().filter((p) => p.requiresGrad), { lr: 0.05, weightDecay: 0.1 });
tell(flat(d.fullStateDict(model)));
tell(flat(alone.stateDict()));
tell(await train(model, make(model), mine));
tell(await train(alone, make(alone), whole));
tell(flat(d.fullStateDict(model)));
tell(flat(alone.stateDict()));
tell([model.unused.grad, model.frozen.grad]);
// Without gradients, then accumulated over two passes; the whole state comes back.
const [x, y] = mine(0);
tell(list(dx.noGrad(() => model.forward(x)))[0].length);
model.zeroGrad(); alone.zeroGrad();
for (let i = 0; i < 2; i++) { dx.nn.functional.crossEntropy(model.forward(x), y).backward(); const [wx, wy] = whole(0); dx.nn.functional.crossEntropy(alone.forward(wx), wy).backward(); }
tell([list(model.front[0] ? model.front[0].weight.grad : model.front.at(0).weight.grad), list(alone.front.at(0).weight.grad.flatten())]);
d.loadFullStateDict(model, network(9).stateDict());
tell(flat(d.fullStateDict(model)));
tell(flat(network(9).stateDict()));
tell([(await error(() => d.fullyShard(model))).name, (await error(() => dx.compile((v) => model.forward(v))(x))).name, (await error(() => d.loadFullStateDict(model, {}))).name]);
await d.destroyProcessGroup();`,
        );
        ends.forEach(({ status, stderr, told }, rank) => {
          expect([status, stderr]).toEqual([0, ""]);
          const [isSame, held, all, start, startAlone, losses, lossesAlone, end, endAlone, none, width, gradients, loaded, wanted, errors] =
            told as [
              boolean,
              number,
              number,
              State,
              State,
              number[],
              number[],
              State,
              State,
              unknown,
              number,
              [number[], number[]],
              State,
              State,
              string[],
            ];
          expect([isSame, none, width]).toEqual([true, [null, null], 3]);
          // 12 parameters, each padded by less than the number of ranks.
          expect(held).toBeLessThan(all / ranks + 12);
          expect(start).toEqual(startAlone);
          close(losses, lossesAlone);
          expect(losses.at(-1)).toBeLessThan(losses[0]! * 0.8);
          for (const [name, values] of Object.entries(endAlone)) close(end[name]!, values, 2e-4);
          const length = Math.ceil(gradients[1].length / ranks);
          close(gradients[0].slice(0, gradients[1].length - rank * length), gradients[1].slice(rank * length, (rank + 1) * length));
          expect(loaded).toEqual(wanted);
          expect(errors).toEqual(["AutogradError", "TraceError", "ValueError"]);
        });
        expect(ends[1]!.told[7]).toEqual(ends[0]!.told[7]);
      },
    );

  it("gathers states into their tensors, without copies on the way; on a device whose memory the host cannot use as well", async () => {
    const ends = await runRanks(
      2,
      `await init();
const host = () => process.memoryUsage().arrayBuffers;
const copied = (fn) => { const before = host(); const result = fn(); return [result, host() - before]; };
for (const device of ["cpu", "dml:0"]) {
  dx.manualSeed(5);
  const model = dx.nn.sequential(dx.nn.linear(401, 399), dx.nn.linear(399, 401)).to(device);
  const twin = model.clone();
  const step = (net, optimizer) => { dx.scope(() => net.forward(dx.ones([2, 401], { device })).sum().backward()); optimizer.step(); optimizer.zeroGrad(); };
  const zero = d.zeroRedundancyOptimizer(twin.parameters(), (p) => dx.optim.adam(p, { lr: 1e-2 })), plain = dx.optim.adam(model.parameters(), { lr: 1e-2 });
  step(d.distributedDataParallel(twin), zero);
  step(model, plain);
  const sharded = model.clone();
  for (const layer of sharded) d.fullyShard(layer);
  const optimizer = dx.optim.adam(sharded.parameters(), { lr: 1e-2 });
  d.loadFullOptimizerStateDict(optimizer, plain.stateDict());
  globalThis.gc();
  const found = [copied(() => d.fullStateDict(sharded)), copied(() => d.fullOptimizerStateDict(optimizer).state), copied(() => zero.fullStateDict().state)];
  const tensors = (state) => Object.values(state).flatMap((t) => t instanceof dx.Tensor ? [t] : Object.values(t));
  const distance = (state, other) => Math.max(...tensors(state).map((t, i) => t.sub(tensors(other)[i]).abs().max().itemSync()));
  const own = [model.stateDict(), plain.stateDict().state, plain.stateDict().state];
  const far = found.map(([state], i) => distance(state, own[i]));
  tell([model.parameters().reduce((n, p) => n + 4 * p.size, 0), found.map(([, bytes]) => bytes), far]);
}
await d.destroyProcessGroup();`,
      { env: { DXTENSOR_SIMULATE: "rtx-3070@6.4", NODE_OPTIONS: "--expose-gc" } },
    );
    for (const { status, stderr, told } of ends) {
      expect([status, stderr]).toEqual([0, ""]);
      const [cpu, other] = told as [number, number[], number[]][];
      for (const bytes of cpu![1]) expect(bytes).toBeLessThan(cpu![0] / 50);
      for (const [, , far] of [cpu!, other!]) {
        // Parts are copied bit for bit; the twin's gradients are means over the ranks.
        expect(far.slice(0, 2)).toEqual([0, 0]);
        expect(far[2]).toBeLessThan(1e-5);
      }
    }
  });

  it(
    "zeroRedundancyOptimizer: losses of one process, its state in parts, whole and loaded; bytes a rank holds",
    { timeout: 120_000 },
    async () => {
      const ends = await runRanks(
        3,
        `${training}
await init();
const alone = network(1), model = network(1), ddp = d.distributedDataParallel(model);
const groups = (m) => [{ params: m.parameters().filter((p) => p.requiresGrad && p.rank > 1) }, { params: [m.scale], lr: 0.01 }, { params: m.parameters().filter((p) => p.requiresGrad && p.rank < 2 && p !== m.scale), weightDecay: 0 }];
const adam = (groups) => dx.optim.adamW(groups, { lr: 0.05, weightDecay: 0.1 });
const zero = d.zeroRedundancyOptimizer(groups(model), adam), plain = adam(groups(alone));
const schedules = [zero.optimizer, plain].map((o) => dx.optim.lrScheduler.stepLR(o, { stepSize: 5, gamma: 0.5 }));
for (let i = 0; i < 3; i++) {
  const [mineNow, wholeNow] = [await train(ddp, zero, mine, 5), await train(alone, plain, whole, 5)];
  tell([mineNow, wholeNow]);
  for (const s of schedules) for (let k = 0; k < 5; k++) s.step();
}
tell([zero.lr, plain.lr, zero.paramGroups.map((g) => g.params.length)]);
tell([flat(model.stateDict()), flat(alone.stateDict())]);
const elements = (state) => Object.values(state.state).flatMap((s) => Object.values(s)).reduce((n, t) => n + t.size, 0);
tell([elements(zero.stateDict()), elements(plain.stateDict())]);
const full = zero.fullStateDict(), own = plain.stateDict();
tell(Object.keys(own.state).every((key) => Object.keys(own.state[key]).every((name) => full.state[key][name].sub(own.state[key][name]).abs().max().itemSync() < 1e-4)));
tell([Object.keys(full.state).length, Object.keys(own.state).length]);
// Another run of each kind continues with the state of the first.
const again = d.zeroRedundancyOptimizer(groups(model), adam), one = adam(groups(alone));
again.loadStateDict(full);
one.loadStateDict(full);
tell([await train(ddp, again, mine, 3), await train(alone, one, whole, 3)]);
tell([(await error(() => again.loadStateDict({ state: {}, paramGroups: [] }))).name, (await error(() => d.zeroRedundancyOptimizer([], adam))).name, (await error(() => d.zeroRedundancyOptimizer([{ params: [] }], adam))).name]);
// Bytes that the device holds: parameters, gradients and state of a larger module.
const kept = [model, alone, ddp, zero, plain, again, one, full];
const held = (fn) => { const before = dx.memoryStatistics("cpu").liveInBytes; kept.push(fn()); return dx.memoryStatistics("cpu").liveInBytes - before; };
const big = () => { dx.manualSeed(3); return dx.nn.sequential(...Array.from({ length: 6 }, () => dx.nn.linear(300, 300))); };
const step = (m, o) => { dx.scope(() => { m.forward(dx.ones([2, 300])).sum().backward(); }); o.step(); o.zeroGrad(); return [m, o]; };
tell([
  held(() => { const m = big(); return step(m, dx.optim.adam(m.parameters(), { lr: 1e-3 })); }),
  held(() => { const m = big(); return step(d.distributedDataParallel(m), d.zeroRedundancyOptimizer(m.parameters(), (p) => dx.optim.adam(p, { lr: 1e-3 }))); }),
  held(() => { const m = big(); for (const layer of m) d.fullyShard(layer); return step(m, dx.optim.adam(m.parameters(), { lr: 1e-3 })); }),
]);
await d.destroyProcessGroup();`,
      );
      ends.forEach(({ status, stderr, told }) => {
        expect([status, stderr]).toEqual([0, ""]);
        for (const [mine, alone] of told.slice(0, 3) as [number[], number[]][]) close(mine, alone, 1e-4);
        const [lr, lrAlone, counts] = told[3] as [number, number, number[]];
        expect([lr, counts]).toEqual([lrAlone, [4, 1, 7]]);
        const [end, endAlone] = told[4] as [State, State];
        for (const [name, values] of Object.entries(endAlone)) close(end[name]!, values, 5e-4);
        expect(told[5]).toEqual([expect.any(Number), expect.any(Number)]);
        expect(told[6]).toBe(true);
        const [keys, keysAlone] = told[7] as [number, number];
        expect(keys).toBe(keysAlone);
        close(...(told[8] as [number[], number[]]), 1e-4);
        expect(told[9]).toEqual(["ValueError", "ValueError", "ValueError"]);
        // Parameters and two averages: 3 parts; ZeRO 1 has 1 + 2/3 of them, and all sharded 3/3.
        const [plain, zero, sharded] = told[10] as [number, number, number];
        expect(zero / plain).toBeLessThan(0.65);
        expect(sharded / plain).toBeLessThan(0.4);
      });
      const held = ends.map(({ told }) => (told[5] as [number, number])[0]);
      expect(held.reduce((a, b) => a + b, 0)).toBe((ends[0]!.told[5] as [number, number])[1]);
      expect(Math.max(...held)).toBeLessThan((ends[0]!.told[5] as [number, number])[1] * 0.5);
      // Bit for bit: each rank takes the others' parameters.
      expect((ends[1]!.told[4] as [State])[0]).toEqual((ends[0]!.told[4] as [State])[0]);
    },
  );
});

describe.each(engines)("GradScaler over $name (npm run distributed)", (engine) => {
  it("all ranks leave a step out when one has an infinite gradient: DDP, ZeRO 1, fullyShard", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      2,
      `${training}
await init();
const one = (kind) => {
  const model = network(1), sgd = (p) => dx.optim.sgd(p, { lr: 0.1 });
  if (kind === "ddp") { const ddp = d.distributedDataParallel(model); return { model, run: ddp, optimizer: sgd(model.parameters().filter((p) => p.requiresGrad)), after() {} }; }
  if (kind === "zero") { const ddp = d.distributedDataParallel(model), zero = d.zeroRedundancyOptimizer(model.parameters().filter((p) => p.requiresGrad), sgd); return { model, run: ddp, optimizer: zero.optimizer, after: () => zero.synchronize() }; }
  for (const layer of [model.front, model.body]) d.fullyShard(layer, { reshardAfterForward: kind === "zero 3" });
  d.fullyShard(model, { reshardAfterForward: kind === "zero 3" });
  return { model, run: model, optimizer: sgd(model.parameters().filter((p) => p.requiresGrad)), after() {} };
};
for (const kind of ["ddp", "zero", "zero 2", "zero 3"]) {
  const { model, run, optimizer, after } = one(kind), scaler = dx.optim.gradScaler({ initScale: 1024, growthInterval: 1000 });
  const start = list(model.scale), steps = [];
  for (const way of ["step", "stepSync", "stepOnDevice"]) for (const bad of [false, true]) {
    const [x, y] = mine(0);
    optimizer.zeroGrad(); model.zeroGrad();
    // Of ddp the reduction tells all ranks; of parts, one element of one rank's.
    const isBad = bad && rank === 1;
    scaler.scale(dx.nn.functional.crossEntropy(run.forward(isBad && kind === "ddp" ? x.mul(Infinity) : x), y)).backward();
    if (isBad && kind !== "ddp") { const p = optimizer.paramGroups[0].params.find((p) => p.grad !== null); p.grad.flatten().narrow(0, 0, 1).fill_(Infinity); }
    const was = optimizer.paramGroups[0].params.map(list);
    const did = await scaler[way](optimizer);
    after();
    scaler.update();
    steps.push([did ?? null, optimizer.paramGroups[0].params.every((p, i) => JSON.stringify(list(p)) === JSON.stringify(was[i])), scaler.getScaleSync()]);
  }
  tell([kind, steps]);
}
// A rank whose part of the optimizer has no gradients takes part.
const few = new dx.nn.Parameter(dx.tensor([1]));
const zero = d.zeroRedundancyOptimizer([few], (p) => dx.optim.sgd(p, { lr: 1 })), scaler = dx.optim.gradScaler({ initScale: 2 });
few.grad = dx.tensor([rank === 0 ? Infinity : 1]);
tell([await scaler.step(zero.optimizer), (zero.synchronize(), list(few))]);
scaler.update();
few.grad = dx.tensor([4]);
tell([await scaler.step(zero.optimizer), (zero.synchronize(), list(few))]);
scaler.update();
tell((await error(() => dx.compile(() => { scaler.stepOnDevice(zero.optimizer); return few.mul(1); })())).name);
await d.destroyProcessGroup();`,
      { engine },
    );
    ends.forEach(({ status, stderr, told }) => {
      expect([status, stderr]).toEqual([0, ""]);
      for (const [kind, steps] of told.slice(0, 4) as [string, [boolean | null, boolean, number][]][]) {
        const scales = [1024, 512, 512, 256, 256, 128];
        const did = [true, false, true, false, null, null];
        expect([kind, steps]).toEqual([kind, scales.map((scale, i) => [did[i], i % 2 === 1, scale])]);
      }
      expect(told.slice(4)).toEqual([[false, [1]], [true, [-3]], "TraceError"]);
    });
  });
});

it("divides parameters by their size, the largest first", () => {
  expect(ownersOf([4, 8, 4, 16], 2)).toEqual([1, 1, 1, 0]);
  expect(ownersOf([1], 3)).toEqual([0]);
  expect(ownersOf([2, 2, 2], 3)).toEqual([0, 1, 2]);
});
