/** Caches by shapes and attributes are bounded, and no call gets another call's entry. */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { Generations } from "../../src/core/bounded-map.ts";
import { knownAttributes } from "../../src/runtime/eager.ts";
import { ProgramLru } from "../../src/runtime/operator-cache.ts";
import { internDesc, internedDescs, type Desc } from "../../src/core/storage.ts";
import { numbers } from "../device.ts";
import { isWhole } from "../share.ts";

const cpu = dx.device("cpu");
const descOf = (t: dx.Tensor): Desc => t.desc;

describe("the interned descriptions", () => {
  it("are bounded, and those in use stay the same", () => {
    const used = internDesc(cpu, "float32", [3, 5, 7]);
    for (let i = 0; i < 200_000; i++) {
      internDesc(cpu, "int8", [i, 2]);
      internDesc(cpu, "int8", [i, 2], [1, i]);
      if (i % 1000 === 0) expect(internDesc(cpu, "float32", [3, 5, 7])).toBe(used);
    }
    expect(internedDescs()).toBeLessThanOrEqual(4 * (1 << 14));
  });

  it("are bounded where all of them have one hash", () => {
    const before = internedDescs();
    const first = internDesc(cpu, "int16", [0, 31 * 5000]);
    for (let i = 1; i < 5000; i++) internDesc(cpu, "int16", [i, 31 * (5000 - i)]);
    expect(internedDescs()).toBeLessThanOrEqual(before + 1);
    const again = internDesc(cpu, "int16", [0, 31 * 5000]);
    expect(again.shape).toEqual(first.shape);
    expect(again.id).not.toBe(first.id);
  });

  it.runIf(isWhole)("lead to the right program past 2^21 of them", () => {
    const ones = (shape: readonly number[]): dx.Tensor => dx.ones(shape, { device: "cpu" });
    // Programs of the pairs (a, b) and (a + 1, b - 2^21) had one key.
    const a = internDesc(cpu, "float32", [1, 1, 1, 1, 1]);
    const next = internDesc(cpu, "float32", [1, 1, 1, 1, 1, 1]);
    expect(next.id).toBe(a.id + 1);
    const low = internDesc(cpu, "float32", [6]);
    const tensors = [ones(a.shape), ones(next.shape), ones(low.shape)] as const;
    for (let i = 0, id = 0; id < low.id + 0x200000 - 1; i++) id = internDesc(cpu, "uint8", [i % 4096, (i / 4096) | 0, 9]).id;
    const high = internDesc(cpu, "float32", [2, 11]);
    expect(high.id).toBe(low.id + 0x200000);
    const far = ones(high.shape);
    expect(descOf(far)).toBe(high);
    for (let i = 0; i < 3; i++) {
      expect(dx.add(tensors[0], far).shape).toEqual([1, 1, 1, 2, 11]);
      expect(dx.add(tensors[1], tensors[2]).shape).toEqual([1, 1, 1, 1, 1, 6]);
      expect(numbers(dx.add(tensors[1], far))).toEqual(new Array(22).fill(2));
      expect(numbers(dx.neg(far))).toEqual(new Array(22).fill(-1));
    }
  });

  it("of a tensor that is older than what is remembered still serve", () => {
    const x = dx.tensor([1, 2, 3], { device: "cpu" });
    for (let i = 0; i < 100_000; i++) internDesc(cpu, "uint16", [i]);
    const y = dx.tensor([4, 5, 6], { device: "cpu" });
    expect(descOf(y)).not.toBe(descOf(x));
    expect(numbers(x.add(y))).toEqual([5, 7, 9]);
    expect(numbers(y.add(x).mul(x))).toEqual([5, 14, 27]);
    const add = dx.compile((a: dx.Tensor, b: dx.Tensor) => a.mul(b));
    expect(numbers(add(x, y))).toEqual([4, 10, 18]);
    expect(numbers(add(y, x))).toEqual([4, 10, 18]);
    add.dispose();
  });
});

describe("attributes", () => {
  it("of many values are bounded, and none is taken for another", () => {
    const x = dx.tensor([0], { device: "cpu", dtype: "float32" });
    for (let i = 0; i < 12_000; i++) x.clamp(-i, i).dispose();
    expect(knownAttributes()).toBeLessThanOrEqual(2 * 4096);
    for (const v of [3, 6000, 11_999, 3])
      expect(numbers(dx.full([2], 1e9, { device: "cpu", dtype: "float32" }).clamp(-v, v))).toEqual([v, v]);
  });
});

describe("Generations", () => {
  it("keeps what is asked for, and forgets the rest", () => {
    const map = new Generations<number, string>(4);
    map.set(-1, "kept");
    for (let i = 0; i < 1000; i++) {
      map.set(i, `${i}`);
      expect(map.get(-1)).toBe("kept");
      expect(map.size).toBeLessThanOrEqual(8);
    }
    expect(map.get(0)).toBeUndefined();
    expect(map.get(999)).toBe("999");
  });
});

describe("ProgramLru", () => {
  it("keeps nothing of an operation without programs", () => {
    const released: number[] = [];
    const lru = new ProgramLru<{ dropped: boolean; id: number }>(8, (p) => released.push(p.id));
    for (let i = 0; i < 100; i++) lru.set(i, "key", { dropped: false, id: i });
    expect(lru.size).toBe(8);
    expect(released).toHaveLength(92);
    expect(lru.operations).toBe(8);
    lru.drop(() => true, false);
    expect([lru.size, lru.operations]).toEqual([0, 0]);
  });
});
