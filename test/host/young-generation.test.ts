import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";
import { holdYoungGeneration } from "../../src/host/young-generation.ts";
import * as dx from "../../src/index.ts";

/**
 * A heap in which 20 MB will survive: the result lets them, and gives the bytes of its young generation then. Made before it is asked, since V8 sets the
 * flag to its usual value with each new heap.
 */
function heap(): () => number {
  const shared = new Int32Array(new SharedArrayBuffer(16));
  const wait = (index: number): void => void expect(Atomics.wait(shared, index, 0, 20_000)).not.toBe("timed-out");
  const code = `
    const { workerData: shared } = require("node:worker_threads");
    const say = (index) => { Atomics.store(shared, index, 1); Atomics.notify(shared, index); };
    say(0);
    Atomics.wait(shared, 1, 0);
    const kept = [];
    for (let i = 0; i < 250_000; i++) kept.push({ a: i, b: [i] });
    shared[3] = require("node:v8").getHeapSpaceStatistics().find((s) => s.space_name === "new_space").space_size;
    say(2);
  `;
  const worker = new Worker(code, { eval: true, workerData: shared, env: {} });
  wait(0);
  return () => {
    Atomics.store(shared, 1, 1);
    Atomics.notify(shared, 1);
    wait(2);
    void worker.terminate();
    return shared[3]!;
  };
}

/** Of a heap that does not grow. */
const small = 5 * 2 ** 20;

it("keeps its size from the first holder to the last", () => {
  const heaps = [heap(), heap()];
  const [first, second] = [holdYoungGeneration(), holdYoungGeneration()];
  first();
  first();
  const held = heaps[0]!();
  second();
  expect([held < small, heaps[1]!() > small]).toEqual([true, true]);
});

it("keeps its size while a function is recorded, and where that fails", () => {
  const heaps = Array.from({ length: 4 }, heap);
  const sizes: number[] = [];
  const f = dx.compile((x: dx.Tensor, fails: boolean) => {
    const y = x.add(1);
    sizes.push(heaps.pop()!());
    if (fails) throw new Error("of the function's own");
    return y;
  });
  expect(() => f(dx.ones([2]), true)).toThrow("of the function's own");
  sizes.push(heaps.pop()!());
  f(dx.ones([2]), false);
  // A call that follows the recording records nothing.
  f(dx.ones([2]), false);
  expect(sizes.map((n) => n < small)).toEqual([true, false, true, false]);
  f.dispose();
});
