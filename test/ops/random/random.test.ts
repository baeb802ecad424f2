import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

/** Philox 4x32-10, as its paper gives it: the four words of a counter and key. */
function philox(counter: readonly bigint[], key: readonly bigint[]): bigint[] {
  const M = 0xffffffffn;
  let c = [...counter];
  let [k0, k1] = [key[0]!, key[1]!];
  for (let round = 0; round < 10; round++) {
    const p0 = 0xd2511f53n * c[0]!;
    const p1 = 0xcd9e8d57n * c[2]!;
    c = [(p1 >> 32n) ^ c[1]! ^ k0, p1 & M, (p0 >> 32n) ^ c[3]! ^ k1, p0 & M];
    k0 = (k0 + 0x9e3779b9n) & M;
    k1 = (k1 + 0xbb67ae85n) & M;
  }
  return c;
}

const moments = (values: readonly number[]): { mean: number; deviation: number } => {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return { mean, deviation: Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length) };
};
/** Frees the generator's state when the test ends, so that no buffer stays. */
async function seeded(device: string, fn: (generator: dx.Generator) => void): Promise<void> {
  await clean(device, () => {
    const generator = new dx.Generator(42);
    fn(generator);
    generator.drop(null);
  });
}

eachDevice("random numbers", (device) => {
  test("are Philox's words, 24 bits of each", () =>
    seeded(device, (generator) => {
      const want = [0n, 1n].flatMap((block) => philox([block, 0n, 0n, 0n], [42n, 0n])).map((w) => Number(w >> 8n) / 2 ** 24);
      expect(numbers(dx.rand([8], { generator }))).toEqual(want);
      // The next draw continues behind the blocks that were used.
      expect(numbers(dx.rand([2], { generator }))).toEqual(
        philox([2n, 0n, 0n, 0n], [42n, 0n])
          .slice(0, 2)
          .map((w) => Number(w >> 8n) / 2 ** 24),
      );
    }));

  test("start again from a seed, and differ from draw to draw", () =>
    seeded(device, (generator) => {
      const first = numbers(dx.randn([50], { generator }));
      expect(numbers(dx.randn([50], { generator }))).not.toEqual(first);
      expect(numbers(dx.randn([50], { generator: generator.manualSeed(42) }))).toEqual(first);
      expect(numbers(dx.randn([50], { generator: generator.manualSeed(43) }))).not.toEqual(first);
    }));

  test("have the moments of their distribution", () =>
    seeded(device, (generator) => {
      const uniform = numbers(dx.rand([20001], { generator }));
      expect(Math.min(...uniform)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...uniform)).toBeLessThan(1);
      expect(moments(uniform).mean).toBeCloseTo(0.5, 1);
      expect(moments(uniform).deviation).toBeCloseTo(Math.sqrt(1 / 12), 2);
      const normal = numbers(dx.randn([20001], { generator }));
      expect(Math.abs(moments(normal).mean)).toBeLessThan(0.03);
      expect(Math.abs(moments(normal).deviation - 1)).toBeLessThan(0.02);
      expect(normal.every(Number.isFinite)).toBe(true);
      const half = dx.rand([4000], { dtype: "float16", generator });
      expect(half.dtype).toBe("float16");
      expect(numbers(half).every((v) => v >= 0 && v < 1)).toBe(true);
      const coin = numbers(dx.bernoulli(dx.full([10000], 0.3), { generator }));
      expect(coin.every((v) => v === 0 || v === 1)).toBe(true);
      expect(Math.abs(moments(coin).mean - 0.3)).toBeLessThan(0.02);
    }));

  test("integers and permutations", () =>
    seeded(device, (generator) => {
      const dice = dx.randint(1, 7, [3000], { generator });
      expect(dice.dtype).toBe("int64");
      expect(new Set(numbers(dice))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
      expect(numbers(dx.randint(-(2 ** 31), 2 ** 31, [100], { generator })).some((v) => v < 0)).toBe(true);
      const order = numbers(dx.randperm(100, { generator }));
      expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
      expect(order).not.toEqual([...order].sort((a, b) => a - b));
      expect(() => dx.randint(3, 3, [1])).toThrow(dx.ValueError);
      expect(() => dx.rand([2], { dtype: "int32" })).toThrow(dx.DTypeError);
      expect(() => dx.rand([-1])).toThrow(dx.ValueError);
    }));

  test("fill tensors in place, views too", () =>
    seeded(device, (generator) => {
      const x = dx.zeros([4, 1000]);
      x.select(0, 1).uniform_(-2, 2, { generator });
      x.select(0, 2).normal_(5, 0.1, { generator });
      x.select(0, 3).bernoulli_(0.5, { generator });
      const [none, uniform, normal, coin] = x.unbind().map((t) => moments(numbers(t)));
      expect(none).toEqual({ mean: 0, deviation: 0 });
      expect(Math.abs(uniform!.mean)).toBeLessThan(0.15);
      expect(uniform!.deviation).toBeCloseTo(2 / Math.sqrt(3), 1);
      expect(normal!.mean).toBeCloseTo(5, 1);
      expect(coin!.mean).toBeCloseTo(0.5, 0);
      expect(() => dx.zeros([2], { dtype: "int32" }).uniform_()).toThrow(dx.DTypeError);
      expect(dx.rand([0, 3], { generator }).shape).toEqual([0, 3]);
    }));

  test("a compiled function draws again in each call, as eager calls would", () =>
    seeded(device, (generator) => {
      const eager = [1, 2, 3].map(() => numbers(dx.rand([4], { generator })));
      generator.manualSeed(42);
      const draw = dx.compile(() => dx.rand([4], { generator }));
      expect([1, 2, 3].map(() => numbers(draw()))).toEqual(eager);
      generator.manualSeed(42);
      expect(numbers(draw())).toEqual(eager[0]);
      draw.dispose();
    }));

  test("rrelu outside of training has the slopes' mean, and a gradient with a history", () =>
    clean(device, () => {
      const x = dx.tensor([-2, 0, 3, NaN], { requiresGrad: true });
      const y = dx.rrelu(x, { lower: 0.25, upper: 0.75 });
      expect(numbers(y)).toEqual([-1, 0, 3, NaN]);
      const [first] = dx.grad(dx.sum(y), [x], { createGraph: true });
      expect(numbers(first!)).toEqual([0.5, 0.5, 1, 0.5]);
      expect(first!.requiresGrad).toBe(true);
      const [second] = dx.grad(dx.sum(first!), [x]);
      expect(numbers(second!)).toEqual([0, 0, 0, 0]);
    }));
});

test("a generator that was drawn from on meta has a state, without that of meta", async () => {
  const generator = new dx.Generator(7);
  dx.rand([2], { generator, device: "meta" });
  const state = await generator.getState();
  expect(state).toEqual({ seed: "7", host: state.host, devices: {} });
  expect(new dx.Generator(1).setState(state).seed).toBe(7n);
});
