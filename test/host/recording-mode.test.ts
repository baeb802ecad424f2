import { Script } from "node:vm";
import { expect, it } from "vitest";
import { WORTH_OPTIMIZING, recordingContinues } from "../../src/host/recording-mode.ts";
import { reclaim } from "../../src/runtime/buffers.ts";
import * as dx from "../../src/index.ts";

/** V8 writes a digest of its flags into bytecode, and takes none that has another. */
const flags = (): number => new Script("0").createCachedData().readUInt32LE(12);
const usual = flags();
const x = dx.ones([2], { device: "cpu" });

/** A function that asks for the flags after its first event, and again when it has done `between`. */
function asking(between: () => void, fails = false) {
  const seen: number[] = [];
  const f = dx.compile((t: dx.Tensor) => {
    const y = t.add(1);
    seen.push(flags());
    between();
    seen.push(flags());
    if (fails) throw new Error("of the function's own");
    return y;
  });
  return { f, seen };
}

it("keeps V8's flags as they were, outside of recordings", () => {
  const { f, seen } = asking(() => {});
  f(x);
  expect([seen[0] === usual, seen[1] === seen[0], flags() === usual]).toEqual([false, true, true]);
  f.dispose();
  const failing = asking(() => {}, true);
  expect(() => failing.f(x)).toThrow("of the function's own");
  expect([failing.seen[0] === seen[0], flags() === usual]).toEqual([true, true]);
  reclaim(true);
  expect(flags()).toBe(usual);
});

it("lets functions be optimized again after the events of several programs", () => {
  const { f, seen } = asking(() => {
    for (let i = 0; i < WORTH_OPTIMIZING; i++) recordingContinues();
  });
  f(x);
  const [atFirst, later] = seen;
  expect([atFirst === later, later === usual, flags() === usual]).toEqual([false, false, true]);
  f.dispose();
  const next = asking(() => {});
  next.f(x);
  expect(next.seen).toEqual([later, later]);
  next.f.dispose();
});
