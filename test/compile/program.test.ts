/** A compiled program: state, results, and the buffers that it keeps alive. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { liveBuffers, settledBuffers } from "../device.ts";

it("state whose buffer was replaced is found again, and is kept while the program lives", () => {
  const state = dx.tensor([1, 2]);
  const f = dx.compile((x: dx.Tensor) => x.add(state));
  expect(f(dx.ones([2])).toArraySync()).toEqual([2, 3]);
  state.mul_(10);
  expect(f(dx.ones([2])).toArraySync()).toEqual([11, 21]);
  state.copy_(dx.tensor([5, 6]));
  expect(f(dx.ones([2])).toArraySync()).toEqual([6, 7]);
  f.dispose();
});

it("gives back all that it held", () => {
  const x = dx.ones([64]);
  const run = (): void => {
    const f = dx.compile((t: dx.Tensor) => t.mul(2).add(t));
    dx.scope(() => void f(x));
    f.dispose();
  };
  run();
  const before = settledBuffers("cpu");
  for (let i = 0; i < 5; i++) run();
  expect(liveBuffers("cpu")).toBe(before);
});

it("two results that are equal have a buffer each", () => {
  const f = dx.compile((x: dx.Tensor) => [x.mul(2), x.mul(2)] as const);
  for (let i = 0; i < 3; i++) {
    const [a, b] = f(dx.tensor([i]));
    a.add_(100);
    expect([a.itemSync(), b.itemSync()]).toEqual([100 + 2 * i, 2 * i]);
  }
  f.dispose();
});

it("a profile between calls that run and calls that are replayed leaves each its own argument", () => {
  dx.withDevice("cpu", () => {
    const f = dx.compile((x: dx.Tensor) => x.mul(2));
    const all = dx.tensor([1, 2, 3, 4, 5, 6, 7, 8]);
    // An offset of one element cannot be bound: the argument is copied and the program replayed. An offset of four can.
    const [odd, even] = [all.slice(0, 1, 3), all.slice(0, 4, 6)];
    for (let i = 0; i < 3; i++) {
      expect(f(odd).toArraySync()).toEqual([4, 6]);
      expect(f(even).toArraySync()).toEqual([10, 12]);
      f.profileSync();
    }
    expect(f(odd).toArraySync()).toEqual([4, 6]);
    f.profileSync();
    expect(f(odd).toArraySync()).toEqual([4, 6]);
    f.dispose();
  });
});
