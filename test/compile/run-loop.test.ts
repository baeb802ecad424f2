/** The steps of a loop: slices and results by step, and memory where one fails. */
import { expect, it } from "vitest";
import { madeAs, type LoopBegin, type LoopEnd } from "../../src/compile/log.ts";
import type { LoopNode } from "../../src/compile/loops.ts";
import { runLoop } from "../../src/compile/run-loop.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import * as dx from "../../src/index.ts";
import { Tensor } from "../../src/core/tensor.ts";

const made = (...shape: number[]) => madeAs(dx.zeros(shape), true); // prettier-ignore
const native = nativeDevice(dx.defaultDevice());

function node(reverse: boolean): LoopNode {
  const begin: LoopBegin = { kind: "loop", name: "scan", length: 3, reverse, init: [], xs: [], carry: [made(2)], slices: [made(2)], start: 0, origin: "scan" }; // prettier-ignore
  const end: LoopEnd = { kind: "loopEnd", begin, carry: [], ys: [], kept: [0], outputs: [made(3, 2), made(2), made(3, 2)] };
  // The operands' number is what counts.
  return { kind: "body", begin, test: null, end: { ...end, carry: [null as never], ys: [null as never] }, body: [] };
}

const run = (reverse: boolean, fails = false): number[][] => {
  const loop = node(reverse);
  const found = runLoop(native, loop, [dx.zeros([2])], [dx.tensor([[1, 2], [3, 4], [5, 6]])], ([c], [x]) => {
    if (fails) throw new Error("own");
    return { carry: [c!.add(x!)], ys: [x!.mul(2)] };
  }); // prettier-ignore
  return found.values.map(([, storage], i) => {
    const t = new Tensor(storage, loop.end.outputs[i]!.tensor.desc);
    return (t.toArraySync() as number[]).flat();
  });
};

it("the carries before each step, the last one, and the results, from either end", () => {
  expect(run(false)).toEqual([[0, 0, 1, 2, 4, 6], [9, 12], [2, 4, 6, 8, 10, 12]]); // prettier-ignore
  expect(run(true)).toEqual([[8, 10, 5, 6, 0, 0], [9, 12], [2, 4, 6, 8, 10, 12]]); // prettier-ignore
});

it("a step that fails leaves nothing", () => {
  expect(() => run(false, true)).toThrow("own");
});
