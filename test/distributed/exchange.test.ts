/**
 * All-reduces of two ranks over Gloo, which exchange up to 1 MiB at once, and reduce one half each of more; and of large tensors over each engine,
 * which reads them where they lie: `npm run distributed`.
 */
import { describe, expect, it } from "vitest";
import { engines, hasEngine, runRanks } from "./ranks.ts";

/** Exact in every dtype, their sums too; the periods divide no piece of a message. */
const values = `const at = (r, i) => (r === 0 ? i % 61 : (i + 13) % 53);`;

describe.skipIf(!hasEngine)("two ranks over Gloo (npm run distributed)", () => {
  it("sizes around pieces, the exchange and channels, in each dtype, of views and whole tensors", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `process.env.DXTENSOR_DISTRIBUTED_CHANNELS = "2";
${values}
await init({ timeoutMs: 60_000 });
const combine = { sum: (a, b) => a + b, mean: (a, b) => (a + b) / 2, min: Math.min, max: Math.max };
const ops = ["sum", "mean", "min", "max"];
const bytes = { float32: 4, float16: 2, float64: 8, bfloat16: 2, int8: 1, int16: 2, int32: 4, int64: 8, uint8: 1, uint16: 2, uint32: 4, uint64: 8, bool: 1 };
const wide = { float16: "float32", bfloat16: "float32" };
let count = 0;
for (const [dtype, size] of Object.entries(bytes))
  // Limits in bytes; each dtype has one of those that are longer.
  for (const [k, n] of [1, 2 ** 18 / size + 1, 2 ** 20 / size - 1 + (count / 3) % 3].entries()) {
    const next = ops[count++ % 4];
    const op = next === "mean" && !dtype.includes("float") ? "sum" : next;
    // One rank has a view that begins inside of its storage, the other a tensor of its own.
    const isView = (k + rank) % 2 === 1;
    const given = new Float64Array(n + 6 * isView);
    for (let i = 0; i < n; i++) given[i + 3 * isView] = at(rank, i);
    const whole = dx.tensor(given).to(dtype);
    const x = isView ? whole.narrow(0, 3, n) : whole;
    await d.allReduce(x, { op });
    const y = await x.to(wide[dtype] ?? dtype).data();
    let wrong = 0;
    for (let i = 0; i < n; i++) {
      const [a, b] = [at(0, i), at(1, i)];
      const wanted = dtype === "bool" ? Number(op === "min" ? a !== 0 && b !== 0 : a !== 0 || b !== 0) : combine[op](a, b);
      if (Number(y[i]) !== wanted) wrong++;
    }
    tell([dtype, n, op, wrong]);
    whole.dispose();
  }
await d.destroyProcessGroup();`,
    );
    for (const { status, stderr, told } of ends) {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told).toHaveLength(13 * 3);
      expect((told as [string, number, string, number][]).filter(([, , , wrong]) => wrong !== 0)).toEqual([]);
    }
  });

  it("halves of equal and of other numbers of messages, in place and from an input of its own", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `${values}
await init({ timeoutMs: 60_000 });
const piece = 2 ** 18;
// Elements of float32: the halves have one message, four, or five and six; one rank's tensor is a view, the other's is lent.
for (const [k, n] of [piece + 1, 2 * piece, 2 * piece + 1, 8 * piece - 1, 8 * piece, 8 * piece + 1, 10 * piece + 1].entries()) {
  const isView = (k + rank) % 2 === 1;
  const whole = dx.tensor(Float32Array.from({ length: n + 3 * isView }, (_, i) => at(rank, i - 3 * isView)));
  const x = isView ? whole.narrow(0, 3, n) : whole;
  const work = d.allReduce(x, { op: k % 2 === 0 ? "mean" : "sum" });
  if (k > 4) x.fill_(-1);
  const y = await (await work).data();
  const parts = k % 2 === 0 ? 2 : 1;
  let wrong = 0;
  for (let i = 0; i < n; i++) if (y[i] !== (at(0, i) + at(1, i)) / parts) wrong++;
  tell([n, wrong]);
  whole.dispose();
}
await d.destroyProcessGroup();`,
    );
    for (const { status, stderr, told } of ends) {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told).toHaveLength(7);
      expect((told as [number, number][]).filter(([, wrong]) => wrong !== 0)).toEqual([]);
    }
  });

  it("200 sums in flight in two groups, with broadcasts between them", { timeout: 60_000 }, async () => {
    const ends = await runRanks(
      2,
      `${values}
const all = await init({ timeoutMs: 60_000 });
const groups = [all, await d.newGroup([0, 1])];
const sizes = [1, 5, 65_536, 65_537, 3000, 262_144, 17, 262_145];
const given = (r, k, n) => Float32Array.from({ length: n }, (_, i) => at(r, i) + k);
const works = [];
for (let k = 0; k < 100; k++)
  for (const group of groups) {
    // Every tenth pair is large.
    const n = k % 10 === 0 ? sizes[(k / 10) % 8] : sizes[k % 2] + k;
    works.push({ k, n, sum: d.allReduce(dx.tensor(given(rank, k, n)), { group }) });
    if (k % 7 === 0) works.push({ k, n: null, sum: d.broadcast(dx.full([9], rank + k), { src: 1, group }) });
  }
let wrong = 0;
for (const { k, n, sum } of works) {
  const y = await (await sum).data();
  for (let i = 0; i < y.length; i++) if (y[i] !== (n === null ? 1 + k : at(0, i) + at(1, i) + 2 * k)) wrong++;
  if (n !== null && y.length !== n) wrong++;
}
tell([works.length, wrong]);
await d.destroyProcessGroup();`,
    );
    for (const { status, stderr, told } of ends) expect([status, stderr, ...told]).toEqual([0, "", [230, 0]]);
  });

  it.each([4, 262_144, 4_000_000])(
    "a rank that ends among sums of %i elements: the other names it, and ends",
    { timeout: 60_000 },
    async (n) => {
      const ends = await runRanks(
        2,
        `await init();
let start;
tell(await error(async () => {
  for (let i = 0; ; i++) {
    const works = Array.from({ length: 8 }, () => d.allReduce(dx.ones([${n}])));
    start = performance.now();
    if (rank === 1 && i === 3) { await works[1]; process.kill(process.pid, "SIGKILL"); }
    await Promise.all(works);
  }
}));
tell(performance.now() - start);
tell(await error(() => d.allReduce(dx.ones([1]))));
await d.destroyProcessGroup();`,
      );
      const { status, stderr, told } = ends[0]!;
      expect([status, stderr, ends[1]!.signal]).toEqual([0, "", "SIGKILL"]);
      const [first, ms, next] = told as [Record<string, unknown>, number, Record<string, unknown>];
      expect(first).toMatchObject({ name: "DistributedError", reason: "connection", rank: 0, peer: 1 });
      expect(ms).toBeLessThan(10_000);
      expect(next).toMatchObject({ name: "DistributedError", reason: "connection" });
    },
  );

  it("ranks that disagree about sizes around the limit end by an error, and not the process", { timeout: 60_000 }, async () => {
    const call = "d.allReduce(dx.ones([262_144 + rank * by]))";
    const code = (by: number, options: string): string => `const by = ${by};
await init(${options});
tell(await error(() => ${call}));
await d.destroyProcessGroup();`;
    const [checked, ...unchecked] = await Promise.all([
      runRanks(2, code(1, "{ debug: true }")),
      ...[1, -1, -200_000].map((by) => runRanks(2, code(by, "{ timeoutMs: 3000 }"))),
    ]);
    checked.forEach(({ status, stderr, told }, rank) => {
      expect([status, stderr]).toEqual([0, ""]);
      expect(told[0]).toMatchObject({ name: "DistributedError", reason: "mismatch", rank, peer: 1 - rank });
    });
    for (const { status, told } of unchecked.flat()) {
      expect(status).toBe(0);
      expect(["timeout", "connection"]).toContain((told[0] as { readonly reason: string }).reason);
    }
  });
});

describe.each(engines)("over $name (npm run distributed)", (engine) => {
  it(
    "an all-reduce of 1 MiB and more sends what a tensor has at the call, whatever is done with it meanwhile",
    { timeout: 60_000 },
    async () => {
      const ends = await runRanks(
        2,
        `await init();
const wrong = [], N = 300_000;
const check = (name, holds) => holds || wrong.push(name);
const only = (t, value) => { const { min, max } = { min: t.min().itemSync(), max: t.max().itemSync() }; return min === value && max === value; };
const own = rank + 1, made = () => dx.full([N], own);
const uses = {
  nothing: () => {},
  add: (x) => void x.add_(100),
  fill: (x) => void x.fill_(7),
  copy: (x) => void x.copy_(dx.zeros([N])),
  "a view": (x) => { const part = x.narrow(0, 5, 3); part.fill_(9); check("view", only(part, 9) && x.narrow(0, 8, 1).itemSync() === own); },
  read: (x) => check("read", only(x, own)),
  clone: (x) => check("clone", only(x.clone(), own)),
  twice: (x) => { x.mul_(3); x.add_(1); check("both", only(x, 3 * own + 1)); },
};
// By both ranks, and by one of them.
for (const who of [2, 0, 1])
  for (const [name, use] of Object.entries(uses)) {
    const x = made(), work = d.allReduce(x);
    if (who === 2 || who === rank) use(x);
    await work;
    check([name, who], only(x, 3));
    x.dispose();
  }
const gone = made(), lost = d.allReduce(gone);
gone.dispose();
tell((await error(() => lost)).name);
// One tensor in two calls, a tensor and a view of it, and other layouts on each rank.
const x = made(), first = d.allReduce(x), second = d.allReduce(x, { op: "max" });
await first; await second;
check("twice at once", only(x, 2));
const base = made(), view = base.reshape([2, N / 2]), work = d.allReduce(base);
view.add_(1);
check("base", only(base, own + 1));
await work;
check("view of the result", only(view, 3));
const other = rank === 0 ? dx.full([600, 500], 1).transpose(0, 1) : dx.full([500, 600], 2);
check("transposed", only(await d.allReduce(other), 3));
// A compiled program that has it as state, and a value that is saved for backward.
const state = made(), step = dx.compile(() => void state.add_(1));
step();
const summed = d.allReduce(state);
step();
await summed;
check("state", only(state, 5));
step();
check("state afterwards", only(state, 6));
const leaf = made().requiresGrad_(true), loss = leaf.mul(leaf).sum(), later = d.allReduce(leaf.detach());
loss.backward();
check("gradient", only(leaf.grad, 2 * own));
await later;
check("leaf", only(leaf, 3));
tell(wrong);
const before = dx.memoryStatistics("cpu");
const held = made();
for (let i = 0; i < 6; i++) { const work = d.allReduce(held); if (i % 2 === 0) held.fill_(1); await work; }
held.dispose();
const after = dx.memoryStatistics("cpu");
tell(after.liveInBytes <= before.liveInBytes);
await d.destroyProcessGroup();`,
        { engine },
      );
      for (const { status, stderr, told } of ends) expect([status, stderr, told]).toEqual([0, "", ["DisposedError", [], true]]);
    },
  );
});
