/** Draws of other distributions: their means and shares over fixed seeds, ranges, and the same numbers of the same seed. */
import { expect, test } from "vitest";
import * as dx from "../../../src/index.ts";
import { clean, eachDevice, numbers } from "../../device.ts";

const N = 20_000;
const average = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0) / list.length;
const share = (list: readonly number[], holds: (v: number) => boolean): number => list.filter(holds).length / list.length;
const seeded = (): dx.Generator => new dx.Generator(3);

eachDevice("distributions", (device) => {
  const drawn = (fn: (x: dx.Tensor, generator: dx.Generator) => dx.Tensor): number[] =>
    dx.noGrad(() => {
      const [first, again] = [fn(dx.empty([N]), seeded()), fn(dx.empty([N]), seeded())].map(numbers) as [number[], number[]];
      expect(again).toEqual(first);
      return first;
    });

  test("filling forms", () =>
    clean(
      device,
      () => {
        const exponential = drawn((x, generator) => x.exponential_(2, { generator }));
        expect(average(exponential)).toBeCloseTo(0.5, 1);
        expect(share(exponential, (v) => v >= 0 && Number.isFinite(v))).toBe(1);
        const cauchy = drawn((x, generator) => x.cauchy_(1, 2, { generator }));
        expect(share(cauchy, (v) => v > 1)).toBeCloseTo(0.5, 1);
        expect(share(cauchy, (v) => Math.abs(v - 1) < 2)).toBeCloseTo(0.5, 1);
        const geometric = drawn((x, generator) => x.geometric_(0.25, { generator }));
        expect(average(geometric)).toBeCloseTo(4, 0);
        expect(share(geometric, (v) => v >= 1 && Number.isInteger(v))).toBe(1);
        const logNormal = drawn((x, generator) => x.logNormal_(0, 0.5, { generator }));
        expect(average(logNormal)).toBeCloseTo(Math.exp(0.125), 1);
        const whole = drawn((x, generator) => x.random_(-3, 5, { generator }));
        expect(share(whole, (v) => Number.isInteger(v) && v >= -3 && v < 5)).toBe(1);
        expect(average(whole)).toBeCloseTo(0.5, 0);
        expect(() => dx.empty([2]).exponential_(0)).toThrow(/rate must be above 0/);
        expect(() => dx.empty([2]).geometric_(1)).toThrow(/p must be in \(0, 1\)/);
      },
      { collect: true },
    ));

  test("normal of tensors, randintLike", () =>
    clean(
      device,
      () => {
        const values = numbers(dx.normal(dx.full([N], 3), 0.5, { generator: seeded() }));
        expect(average(values)).toBeCloseTo(3, 1);
        expect(Math.sqrt(average(values.map((v) => (v - 3) ** 2)))).toBeCloseTo(0.5, 1);
        expect(dx.normal(dx.zeros([2, 1]), dx.ones([3]), { generator: seeded() }).shape).toEqual([2, 3]);
        expect(() => dx.normal(0, 1)).toThrow(/shape must be given/);
        const like = dx.randintLike(dx.zeros([4]), 0, 3, { generator: seeded() });
        expect([like.dtype, like.shape]).toEqual(["float32", [4]]);
      },
      { collect: true },
    ));

  test("multinomial", () =>
    clean(
      device,
      () => {
        const weights = dx.tensor([1, 0, 3]);
        const with_ = numbers(dx.multinomial(weights, N, { replacement: true, generator: seeded() }));
        expect([share(with_, (v) => v === 0), share(with_, (v) => v === 1)]).toEqual([expect.closeTo(0.25, 1), 0]);
        const rows = dx.multinomial(weights.expand(N, 3), 2, { generator: seeded() });
        expect(rows.shape).toEqual([N, 2]);
        const draws = rows.toArraySync() as unknown as number[][];
        expect(draws.every(([a, b]) => a !== b && a !== 1 && b !== 1)).toBe(true);
        expect(
          share(
            draws.map((p) => p[0]!),
            (v) => v === 2,
          ),
        ).toBeCloseTo(0.75, 1);
        expect(() => dx.multinomial(weights, 4)).toThrow(/at most 3 without replacement/);
      },
      { collect: true },
    ));

  test.each([0.3, 4, 60, 1000])("poisson of rate %d", (rate) =>
    clean(
      device,
      () => {
        const values = numbers(dx.poisson(dx.full([4000], rate), { generator: seeded() }));
        expect(share(values, (v) => Number.isInteger(v) && v >= 0)).toBe(1);
        const mean = average(values);
        expect(Math.abs(mean - rate)).toBeLessThan(4 * Math.sqrt(rate / 4000));
        expect(average(values.map((v) => (v - mean) ** 2)) / rate).toBeCloseTo(1, 0);
        expect(numbers(dx.poisson(dx.zeros([3]), { generator: seeded() }))).toEqual([0, 0, 0]);
      },
      { collect: true },
    ),
  );
});
