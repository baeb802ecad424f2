/** Large all-reduces over Gloo, which several connections of two ranks share: `npm run distributed`. */
import { describe, expect, it } from "vitest";
import { hasEngine, runRanks } from "./ranks.ts";

describe.skipIf(!hasEngine)("over Gloo, with channels (npm run distributed)", () => {
  it.each([2, 3, 4])(
    "%i ranks that ask for other numbers of them: sums, means and maxima of sizes around their parts",
    { timeout: 120_000 },
    async (size) => {
      const ends = await runRanks(
        size,
        `process.env.DXTENSOR_DISTRIBUTED_CHANNELS = String(4 - (rank % 2));
await init({ debug: true });
const sizes = [1, 131_071, 262_144, 262_145, 500_009];
for (const n of sizes)
  for (const [dtype, op] of [["float32", "sum"], ["float64", "mean"], ["int32", "max"], ["float16", "sum"]]) {
    const x = dx.tensor(Float64Array.from({ length: n }, (_, i) => (i % 97) + rank), { dtype });
    const y = await (await d.allReduce(x, { op })).to(dtype === "float16" ? "float32" : dtype).data();
    const all = size * (size - 1) / 2;
    const wanted = (v) => (op === "max" ? v + size - 1 : op === "mean" ? v + all / size : v * size + all);
    let far = 0;
    for (let i = 0; i < n; i++) far = Math.max(far, Math.abs(Number(y[i]) - wanted(i % 97)));
    tell(far <= (op === "mean" ? 1e-12 : 0));
  }
const several = [500_000, 300_000, 7].map((n) => d.allReduce(dx.full([n], rank + 1)));
tell((await Promise.all(several)).map((t) => [t.amin().itemSync(), t.amax().itemSync()]));
await d.destroyProcessGroup();`,
      );
      const sum = (size * (size + 1)) / 2;
      for (const { status, stderr, told } of ends) {
        expect([status, stderr]).toEqual([0, ""]);
        expect(told.slice(0, -1)).toEqual(Array.from({ length: 20 }, () => true));
        expect(told.at(-1)).toEqual([1, 2, 3].map(() => [sum, sum]));
      }
    },
  );

  it("a rank that ends in an all-reduce: the others name it within seconds, and end", { timeout: 120_000 }, async () => {
    const ends = await runRanks(
      4,
      `process.env.DXTENSOR_DISTRIBUTED_CHANNELS = "3";
await init();
const start = performance.now();
tell(await error(async () => { for (let i = 0; ; i++) { if (rank === 1 && i === 5) process.kill(process.pid, "SIGKILL"); await d.allReduce(dx.ones([1_000_000])); } }));
tell(performance.now() - start);
await d.destroyProcessGroup();`,
    );
    for (const rank of [0, 2, 3]) {
      const { status, stderr, told } = ends[rank]!;
      expect([status, stderr]).toEqual([0, ""]);
      const [first, ms] = told as [Record<string, unknown>, number];
      expect(first).toMatchObject({ name: "DistributedError", reason: "connection", rank, peer: 1 });
      expect(ms).toBeLessThan(10_000);
    }
  });
});
