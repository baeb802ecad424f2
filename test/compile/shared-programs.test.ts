/** Loops of other lengths run the same program; other bodies do not. */
import { expect, it } from "vitest";
import { CompiledFunction } from "../../src/compile/compile.ts";
import type { CompiledProgram } from "../../src/compile/program.ts";
import { programsOf } from "../../src/compile/schedule.ts";
import * as dx from "../../src/index.ts";

type T = dx.Tensor;

const bodyOf = (made: CompiledFunction, length: number, width = 2): CompiledProgram => {
  made.call([dx.ones([length, width])]);
  return programsOf(made.recentProgram!).find((p) => p.loops.length > 0)!.program;
};
const counting = (factor: number): CompiledFunction =>
  new CompiledFunction(
    ((xs: T) => dx.scan((c: T, x: T) => [c.add(x.mul(factor)), c] as const, dx.zeros([xs.shape[1]!]), xs)) as never,
    "f",
    {},
  );

it("one program serves all lengths, until its last user is disposed of", () => {
  const [a, b] = [counting(2), counting(2)];
  const body = bodyOf(a, 6);
  expect([bodyOf(a, 7), bodyOf(a, 100), bodyOf(b, 9)].every((p) => p === body)).toBe(true);
  expect(bodyOf(a, 6, 3)).not.toBe(body);
  expect(bodyOf(counting(3), 6)).not.toBe(body);
  a.dispose();
  expect(bodyOf(b, 5)).toBe(body);
  b.dispose();
  expect(bodyOf(a, 6)).not.toBe(body);
});
