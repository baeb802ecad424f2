/** What set() and indexPut() cost and say. Their values are compared in gather.test.ts and by the recorded cases. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

const readbacks = (run: () => unknown): number => {
  const before = dx.counters("cpu").readbacks;
  run();
  return dx.counters("cpu").readbacks - before;
};

it("set resolves its index once: a mask is counted as often as for reading", () => {
  dx.withDevice("cpu", () => {
    const x = dx.zeros([4]);
    const mask = (): dx.Tensor => dx.tensor([true, false, true, true], { dtype: "bool" });
    const reading = readbacks(() => x.index(mask()));
    expect(reading).toBeGreaterThan(0);
    expect(readbacks(() => x.set([mask()], dx.tensor([1, 2, 3])))).toBe(reading);
    expect(x.toArraySync()).toEqual([1, 0, 2, 3]);
  });
});

it("errors name the call that was made", () => {
  dx.withDevice("cpu", () => {
    const x = dx.zeros([2, 3]);
    expect(() => x.set([[0, 2]], 1)).toThrow(/^set: index/);
    expect(() => x.set([[0, 1], 5], 1)).toThrow(/^(set|select): /);
    expect(() => x.indexPut([[0, 2]], 1)).toThrow(/^indexPut: index/);
    expect(() => x.indexPut([[0, 1]], dx.zeros([5]))).toThrow(/^indexPut: value/);
    expect(() => x.indexPut([[0, 1]], dx.zeros([5]), { accumulate: true })).toThrow(/^indexPut: value/);
    expect(() => x.index([0, 2])).toThrow(/^index: index/);
  });
});
