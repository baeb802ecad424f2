/** Counters of int64 in one launch: exact at each carry, in place where nobody reads the old value, and as eagerly. */
import { afterEach, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";

eachDevice("counters", (name) => {
  afterEach(() => dx.closeDevice(name));
  const counter = (start: bigint): dx.Tensor => dx.tensor(BigInt64Array.of(start), { device: name }).reshape([]);
  const values = (list: readonly dx.Tensor[]): bigint[] => list.map((t) => (t.dataSync() as BigInt64Array)[0]!);
  const count = (t: dx.Tensor, by: number | dx.Tensor = 1): void => {
    t.copy_(dx.add(t, by));
  };
  const launches = (f: { explain(): dx.Explanation }): string[] => f.explain().nodes.map(({ origin }) => origin).filter((x) => /^\d+ counters of/.test(x)); // prettier-ignore

  it("carry into the high word, wrap, and are joined by as few launches as there are buffers for", () => {
    const starts = [0n, 2n ** 32n - 1n, 2n ** 53n, -1n, -(2n ** 32n), 2n ** 63n - 1n, -(2n ** 63n), 2n ** 33n - 2n, 7n, 2n ** 32n - 3n];
    const all = starts.map(counter);
    const f = dx.compile(
      (x: dx.Tensor) => {
        for (const t of all) count(t);
        return x.mul(2).add(1);
      },
      { fuse: "always" },
    );
    for (let call = 1; call <= 3; call++) {
      expect(Number(f(dx.ones([1], { device: name })).dataSync()[0])).toBe(3);
      expect(values(all)).toEqual(starts.map((n) => BigInt.asIntN(64, n + BigInt(call))));
    }
    const made = launches(f);
    expect(made.length).toBeGreaterThan(0);
    expect(made.length).toBeLessThanOrEqual(3);
    f.dispose();
  });

  it("keep the old value for who reads it, count twice, and by other numbers", () => {
    const [a, b, c] = [counter(5n), counter(2n ** 32n - 1n), counter(-3n)];
    const body = (x: dx.Tensor): dx.Tensor => {
      const old = a.add(0);
      count(a);
      count(b);
      count(a);
      count(c, dx.tensor(BigInt64Array.of(-(2n ** 33n)), { device: name }).reshape([]));
      return dx.add(dx.add(old, a), b).to("float32").add(x);
    };
    const f = dx.compile(body, { fuse: "always", check: false });
    let [p, q] = [5, 2 ** 32 - 1];
    for (let i = 0; i < 3; i++) {
      const y = Number(f(dx.zeros([1], { device: name })).dataSync()[0]);
      [p, q] = [p + 2, q + 1];
      expect(y).toBe(Math.fround(p - 2 + p + q));
    }
    expect(values([a, b, c])).toEqual([11n, 2n ** 32n + 2n, -3n - 3n * 2n ** 33n]);
    f.dispose();
  });

  it("of layers of batch norm are as eagerly, also with an average over all batches", () => {
    const run = (fuse: "always" | "off" | null): unknown => {
      dx.manualSeed(3);
      const net = dx.nn.sequential(...[0.1, null, 0.2].map((momentum) => dx.nn.batchNorm1d(4, { momentum })));
      net.to(name);
      const step = (x: dx.Tensor): dx.Tensor => net.forward(x).square().mean();
      const f = fuse === null ? step : dx.compile(step, { fuse });
      for (let i = 0; i < 3; i++) f(dx.randn([8, 4], { device: name, generator: new dx.Generator(i) })).dispose();
      return [...net.namedBuffers()].map(([key, b]) => [
        key,
        ...Array.from(b.dataSync() as ArrayLike<number>, (v) => Math.round(1000 * Number(v)) + 0),
      ]);
    };
    const eager = run(null);
    expect(JSON.stringify(eager)).toContain("num_batches_tracked");
    expect(run("always")).toEqual(eager);
    expect(run("off")).toEqual(eager);
  });
});
