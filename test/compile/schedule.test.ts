/** Schedules: programs and loops in the order in which they run, and values between them. */
import { expect, it } from "vitest";
import { CompiledProgram } from "../../src/compile/program.ts";
import { programsOf, type Executable, type Schedule } from "../../src/compile/schedule.ts";
import { CompiledFunction } from "../../src/compile/compile.ts";
import * as dx from "../../src/index.ts";

type T = dx.Tensor;

/** What the last call of a function ran. */
function executableOf(fn: (...args: T[]) => unknown, ...args: T[]): Executable {
  const made = new CompiledFunction(fn as never, "f", {});
  made.call(args);
  return made.recentProgram!;
}

const step = (c: T, x: T) => [c.add(x), c.mul(x)] as const;

it("a path without a loop is one program", () => {
  expect(executableOf((x) => x.mul(2).add(1), dx.ones([2]))).toBeInstanceOf(CompiledProgram);
});

it("a loop divides the path; what follows reads what came before", () => {
  const fn = (xs: T): T[] => {
    const before = xs.sum(0);
    const [last, ys] = dx.scan(step, before, xs);
    return [last.mul(before), ys.add(before), before.mul(3)];
  };
  const found = executableOf(fn as never, dx.ones([6, 2])) as Schedule;
  expect(found.steps.map((s) => s.kind)).toEqual(["program", "loop", "program"]);
  expect(programsOf(found).map((p) => p.loops.length)).toEqual([0, 1, 0]);
  const run = dx.compile(fn);
  for (const k of [1, 2]) expect(run(dx.full([6, 2], k)).map((t) => t.toArraySync())).toEqual(fn(dx.full([6, 2], k)).map((t) => t.toArraySync())); // prettier-ignore
});

it("state that is written before and after a loop is the program's own", () => {
  const state = dx.zeros([2]);
  const run = dx.compile((xs: T) => {
    state.add_(1);
    const [last] = dx.scan((c: T, x: T) => [c.add(x).mul(state), c] as const, dx.zeros([2]), xs);
    state.mul_(2);
    return last;
  });
  // State is 1, then 3.
  expect([run(dx.ones([6, 2])).toArraySync(), run(dx.ones([6, 2])).toArraySync()]).toEqual([[6, 6], [1092, 1092]]); // prettier-ignore
  expect(state.toArraySync()).toEqual([6, 6]);
});
