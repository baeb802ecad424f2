/** Denormal numbers on `cpu`: float32's count as zeros in arithmetic (docs/dtypes.md), float16's do not; operations that move elements keep both. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean } from "../device.ts";

const tiny = Math.fround(1e-40);
const min = 2 ** -126;

const onCpu = (fn: () => void): Promise<void> => clean("cpu", fn, { collect: true });
const numbers = (t: dx.Tensor): unknown => t.toArraySync();

/** Each in the call's own threads: few elements are the queue's thread's alone, many are divided among the pool's. */
const COUNTS = [1, 7, 1 << 20];

it.each(COUNTS)("arithmetic and comparisons of float32 take them for zeros, results too: %i elements", (count) =>
  onCpu(() => {
    const x = dx.full([count], tiny);
    const y = dx.full([count], min);
    const all = (t: dx.Tensor, value: number): void => expect(numbers(t.eq(value).all())).toBe(true);
    const bits = (t: dx.Tensor): readonly number[] => [...new Set(new Uint32Array(t.dataSync().buffer as ArrayBuffer))];
    const compute = (a: dx.Tensor, b: dx.Tensor): dx.Tensor[] => [a.mul(1e30), b.mul(0.5), a.add(a), b.sub(b.mul(0.75))];
    const compiled = dx.compile(compute);
    for (const results of [compute(x, y), compiled(x, y), compiled(x.mul(-1), y), compiled(x, y)])
      for (const [i, r] of results.entries()) expect(bits(r.abs())).toEqual(i === 3 ? bits(y) : [0]);
    all(x.mul(-1e30), 0);
    expect(bits(x.mul(-1e30))).toEqual([0x80000000]);
    expect(numbers(x.gt(0).any())).toBe(false);
    expect(numbers(dx.matmul(x.reshape(1, count), dx.full([count, 1], 1e30)))).toEqual([[0]]);
    expect(numbers(dx.conv1d(x.reshape(1, 1, count), dx.full([1, 1, 1], 1e30)).sum())).toBe(0);
  }),
);

it.each(COUNTS)("what moves numbers keeps them: %i elements", (count) =>
  onCpu(() => {
    const x = dx.full([count], tiny);
    const moved = [x.clone(), dx.cat([x, x]), x.reshape(1, count).transpose(0, 1).contiguous(), x.flip(0), dx.where(x.eq(x), x, 1)];
    for (const t of [...moved, x.gather(0, dx.zeros([1], { dtype: "int32" }))])
      expect(new Set(t.dataSync() as Float32Array)).toEqual(new Set([tiny]));
  }),
);

it("those of float16 are exact", () =>
  onCpu(() => {
    const unit = 2 ** -24;
    const x = dx.tensor([unit, 3 * unit, 1000 * unit, -unit], { dtype: "float16" });
    expect(numbers(x.add(x))).toEqual([2 * unit, 6 * unit, 2000 * unit, -2 * unit]);
    expect(numbers(x.mul(1024))).toEqual([2 ** -14, 3 * 2 ** -14, 1000 * 2 ** -14, -(2 ** -14)]);
    expect(numbers(dx.tensor([2 ** -14], { dtype: "float16" }).mul(2 ** -8))).toEqual([2 ** -22]);
    expect(numbers(x.to("float32"))).toEqual([unit, 3 * unit, 1000 * unit, -unit]);
    expect(numbers(x.gt(0))).toEqual([true, true, true, false]);
  }));

it("JavaScript's own numbers are as they were", () =>
  onCpu(() => {
    expect(
      numbers(
        dx
          .ones([1 << 20])
          .mul(2)
          .sum(),
      ),
    ).toBe(2 ** 21);
    expect(Number.MIN_VALUE * 2).toBe(2 ** -1073);
    expect(Math.fround(tiny * 2)).toBeGreaterThan(0);
  }));
