/** Calls between processes over each engine, against numbers of this process: `npm run distributed`. */
import { describe, expect, it } from "vitest";
import { engines, hasEngine, runRanks } from "./ranks.ts";

/** What a rank gives: element i of rank r. Small: exact in each dtype. */
const own = (r: number): number[] => [1, 2, 3, 0, 5].map((v, i) => ((v + r + i) % 3) + 1);
const dtypes = [
  "float32",
  "float16",
  "float64",
  "bfloat16",
  "int8",
  "int16",
  "int32",
  "int64",
  "uint8",
  "uint16",
  "uint32",
  "uint64",
] as const;
const combine: Readonly<Record<string, (a: number, b: number) => number>> = {
  sum: (a, b) => a + b,
  product: (a, b) => a * b,
  min: Math.min,
  max: Math.max,
};

it.runIf(hasEngine)("all engines are there", () => {
  expect(engines.map(({ name }) => name)).toEqual(["gloo", "openmpi", "mpich"]);
});

describe.each(engines)("over $name (npm run distributed)", (engine) => {
  it.each([1, 2, 4])("%i ranks: each call, dtype and reduction", { timeout: 120_000 }, async (size) => {
    const ends = await runRanks(
      size,
      `await init({ debug: true });
const own = (r) => [1, 2, 3, 0, 5].map((v, i) => ((v + r + i) % 3) + 1);
const numbers = (t) => t.toArraySync().flat().map(Number);
for (const dtype of ${JSON.stringify(dtypes)}) {
  const one = () => dx.tensor(own(rank)).to(dtype);
  const parts = (r = rank) => Array.from({ length: size }, (_, i) => dx.tensor(own(r + i)).to(dtype));
  const got = { dtype };
  for (const op of ["sum", "product", "min", "max"]) {
    got[op] = numbers(await d.allReduce(one(), { op }));
    got["reduce " + op] = numbers(await d.reduce(one(), { op, dst: size - 1 }));
    got["scatter " + op] = numbers(await d.reduceScatter(parts(), { op }));
  }
  got.broadcast = numbers(await d.broadcast(one(), { src: size - 1 }));
  got.allGather = (await d.allGather(one())).map(numbers);
  got.allToAll = (await d.allToAll(parts())).map(numbers);
  got.gather = (await d.gather(one(), { dst: 0 }))?.map(numbers) ?? null;
  got.scatter = numbers(await d.scatter(one(), rank === 0 ? parts(7) : null));
  if (size > 1) {
    const sent = d.send(one(), { dst: (rank + 1) % size, tag: 3 });
    got.recv = numbers(await d.recv(one(), { src: (rank + size - 1) % size, tag: 3 }));
    await sent;
  }
  tell(got);
}
for (const op of ["sum", "product", "min", "max"]) tell(list(await d.allReduce(dx.tensor([true, false, rank === 0, rank > 0]), { op })));
tell(await Promise.all(["float32", "float16", "bfloat16", "float64"].map(async (dtype) => numbers(await d.allReduce(dx.tensor(own(rank)).to(dtype), { op: "mean" })))));
await d.destroyProcessGroup();`,
      { engine },
    );
    const ranks = Array.from({ length: size }, (_, r) => r);
    const reduced = (op: string, of: (r: number) => number[]): number[] =>
      ranks.map(of).reduce((a, b) => a.map((v, i) => combine[op]!(v, b[i]!)));
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      dtypes.forEach((dtype, at) => {
        const expected: Record<string, unknown> = { dtype };
        for (const op of Object.keys(combine)) {
          expected[op] = reduced(op, own);
          expected[`reduce ${op}`] = rank === size - 1 ? reduced(op, own) : own(rank);
          expected[`scatter ${op}`] = reduced(op, (r) => own(r + rank));
        }
        expected["broadcast"] = own(size - 1);
        expected["allGather"] = ranks.map(own);
        expected["allToAll"] = ranks.map((r) => own(r + rank));
        expected["gather"] = rank === 0 ? ranks.map(own) : null;
        expected["scatter"] = own(7 + rank);
        if (size > 1) expected["recv"] = own((rank + size - 1) % size);
        expect(told[at]).toEqual(expected);
      });
      const or = [true, false, true, size > 1];
      const and = [true, false, size === 1, false];
      expect(told.slice(dtypes.length, -1)).toEqual([or, and, and, or]);
      const means = told.at(-1) as readonly number[][];
      means.forEach((mean, i) => {
        const tolerance = [1e-6, 2e-3, 2e-2, 1e-12][i]!;
        reduced("sum", own).forEach((sum, j) => expect(Math.abs(mean[j]! - sum / size)).toBeLessThan(tolerance));
      });
    });
  });

  it("sends what a tensor has at the call, changes it at the end, and holds no memory", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `await init();
const x = dx.arange(6).add(rank), work = d.allReduce(x);
x.add_(100);
tell(list(x));
await work;
tell(list(x));
// A part that begins inside of its storage, of an odd number of bytes.
const bytes = dx.arange(9).to("uint8");
await d.allReduce(bytes.narrow(0, 3, 5));
tell(list(bytes));
// A scope that ends before the call does.
let gathered;
dx.scope(() => void (gathered = d.allGather(dx.tensor([rank, 7]))));
tell((await gathered).map(list));
const big = dx.ones([300_000]), parts = [big, big.add(1)];
const all = async () => {
  await d.allReduce(big, { op: "max" }); await d.reduce(big, { op: "max" }); await d.broadcast(big); await d.scatter(big, rank === 0 ? [big, big] : null);
  for (const list of [await d.allGather(big), await d.allToAll(parts), [await d.reduceScatter(parts)], (await d.gather(big)) ?? []]) for (const t of list) t.dispose();
  const sent = d.send(big, { dst: 1 - rank }); await d.recv(big, { src: 1 - rank }); await sent;
};
await all();
const held = dx.memoryStatistics("cpu").liveInBytes;
for (let i = 0; i < 5; i++) await all();
tell([dx.memoryStatistics("cpu").liveInBytes - held, big.sub(1).abs().max().itemSync()]);
// The device is closed while the call runs: the other rank gets what was sent.
if (rank === 0) {
  const late = d.allReduce(dx.ones([100_000]));
  await new Promise((done) => setTimeout(done, 100));
  dx.closeDevice("cpu");
  await late;
  tell(null);
} else {
  await new Promise((done) => setTimeout(done, 500));
  const sum = await d.allReduce(dx.ones([100_000]));
  tell([sum.min().itemSync(), sum.max().itemSync()]);
}
await d.destroyProcessGroup();`,
      { engine },
    );
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told[0]).toEqual([100, 101, 102, 103, 104, 105].map((v) => v + rank));
      expect(told.slice(1)).toEqual([
        [1, 3, 5, 7, 9, 11],
        [0, 1, 2, 6, 8, 10, 12, 14, 8],
        [
          [0, 7],
          [1, 7],
        ],
        [0, 0],
        rank === 0 ? null : [2, 2],
      ]);
    });
  });

  it("takes views, empty tensors, NaN, large tensors, and tensors of another device", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      2,
      `await init();
const x = dx.arange(12).reshape([3, 4]).add(rank);
const view = x.transpose(0, 1).slice(0, 1, 3);
await d.allReduce(view);
tell(list(x));
tell((await d.allReduce(dx.zeros([0, 3]))).shape);
tell((await d.allGather(dx.zeros([2, 0]))).map((t) => t.shape));
tell(list(await d.allReduce(dx.tensor([rank === 0 ? NaN : 1, 2]), { op: "max" })).map(String));
tell(list(await d.allReduce(dx.tensor([100], { dtype: "int8" }))));
tell(list(await d.allReduce(dx.tensor([2n ** 62n + BigInt(rank)], { dtype: "int64" }))));
const big = await d.allReduce(dx.ones([3_000_001]).mul(rank + 1), { op: "mean" });
tell([big.min().itemSync(), big.max().itemSync()]);
const other = await d.allReduce(dx.ones([2], { device: "dml:0" }));
tell([String(other.device), list(other)]);
const weight = dx.ones([2], { requiresGrad: true });
const y = weight.mul(3);
await d.allReduce(weight);
tell([list(weight), weight.requiresGrad, weight.isLeaf]);
const gone = dx.ones([2]);
const work = d.allReduce(gone);
gone.dispose();
tell((await error(() => work)).name);
const traced = dx.compile((t) => { d.allReduce(t); return t; });
tell((await error(() => traced(dx.ones([2])))).name);
await d.destroyProcessGroup();
await d.destroyProcessGroup();
tell((await error(() => d.allReduce(dx.ones([2])))).reason);`,
      { engine, env: { DXTENSOR_SIMULATE: "rtx-3070@6.4" } },
    );
    // The middle columns are the sum of both ranks' elements.
    const matrix = (rank: number): number[][] =>
      [0, 4, 8].map((start) => [0, 1, 2, 3].map((j) => (j === 1 || j === 2 ? 2 * (start + j) + 1 : start + j + rank)));
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told).toEqual([
        matrix(rank),
        [0, 3],
        [
          [2, 0],
          [2, 0],
        ],
        ["NaN", "2"],
        [-56],
        ["-9223372036854775807"],
        [1.5, 1.5],
        ["dml:0", [2, 2]],
        [[2, 2], true, true],
        "DisposedError",
        "TraceError",
        "closed",
      ]);
    });
  });

  it("two groups at once, sums that overlap, and workers as ranks", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      3,
      `const all = await init();
const [a, b] = [await d.newGroup([0, 1, 2]), await d.newGroup([2, 0])];
tell([a.name, a.ranks, a.rank, b === null ? null : [b.name, b.ranks, b.rank, b.size]]);
// Each group has its own order: the calls of two groups need no common one.
const first = () => d.allReduce(dx.ones([200_000]), { group: a }), second = () => b === null ? null : d.allReduce(dx.ones([3]).mul(5), { group: b });
const works = rank === 0 ? [first(), second()] : [second(), first()].reverse();
const many = Array.from({ length: 20 }, (_, i) => d.allReduce(dx.tensor([i + rank])));
tell([(await works[0]).sum().itemSync(), works[1] === null ? null : list(await works[1])]);
tell((await Promise.all(many)).map((t) => t.itemSync()));
tell(many.map((w) => w.sequence));
tell(b === null ? null : await error(() => d.broadcast(dx.ones([1]), { src: 1, group: b })));
await d.destroyProcessGroup();
if (rank === 0) {
  const { Worker } = await import("node:worker_threads");
  const code = "const dx = await import(" + JSON.stringify(process.env.INDEX) + ");" + \` const d = dx.distributed; const { parentPort, workerData: { rank, store } } = await import("node:worker_threads");
  await d.initProcessGroup({ rank, worldSize: 2, store: d.fileStore(store) }); const t = await d.allReduce(dx.tensor([rank + 1])); await d.destroyProcessGroup(); parentPort.postMessage(t.itemSync());\`;
  tell(await Promise.all([0, 1].map((rank) => new Promise((done, failed) => { const w = new Worker(new URL("data:text/javascript," + encodeURIComponent(code)), { workerData: { rank, store: store + "-workers" } }); w.on("message", done); w.on("error", failed); }))));
}`,
      { engine, env: { INDEX: new URL("../../dist/bundle/dxtensor.js", import.meta.url).href } },
    );
    ends.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      const at = [2, 0].indexOf(rank);
      expect(told[0]).toEqual(["group 1", [0, 1, 2], rank, at < 0 ? null : ["group 2", [2, 0], at, 2]]);
      expect(told[1]).toEqual([600_000, at < 0 ? null : [10, 10, 10]]);
      expect(told[2]).toEqual(Array.from({ length: 20 }, (_, i) => 3 * i + 3));
      expect(told[3]).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
      expect((told[4] as { readonly name: string } | null)?.name).toBe(at < 0 ? undefined : "ValueError");
    });
    expect(ends[0]!.told.at(-1)).toEqual([3, 3]);
  });
});
