/** Through which carries and results of a loop gradients flow. */
import { expect, it } from "vitest";
import { CallArguments, Placeholders } from "../../src/compile/arguments.ts";
import { Step, pathTo } from "../../src/compile/log.ts";
import { newRecorded } from "../../src/compile/recorder.ts";
import { Run } from "../../src/compile/trace.ts";
import { withTracer } from "../../src/core/tracer.ts";
import * as dx from "../../src/index.ts";

type T = dx.Tensor;
const xs = dx.ones([6, 2]);

/** Whether the last carry and the results have a history, and how many stacks of carries are kept for it. */
function histories(fn: (c: T, x: T) => readonly [T, T], init: T): readonly [carry: boolean, y: boolean, kept: number] {
  const recorded = newRecorded("f");
  const placeholders = new Placeholders(new CallArguments([xs], () => false, "any"), recorded);
  placeholders.begin([xs]);
  const made = new Run(recorded, new Step(null, null), placeholders, [xs]);
  withTracer(made, () => dx.scan(fn, init, placeholders.tensors[0]!));
  const end = pathTo(made.at).find((e) => e.kind === "loopEnd")!;
  const [carry, y] = end.outputs.slice(end.kept.length).map((m) => m.node !== null);
  return [carry!, y!, end.kept.length];
}

const [plain, weight] = [dx.zeros([2]), dx.ones([2], { requiresGrad: true })];

it("nothing that requires a gradient gives none", () => {
  expect(histories((c, x) => [c.add(x), c], plain)).toEqual([false, false, 0]);
});

it("a tensor from outside gives one to what depends on it, of one step or of an earlier one", () => {
  expect(histories((c, x) => [c.mul(weight).add(x), x], plain)).toEqual([true, false, 1]);
  expect(histories((c, x) => [c.add(x.mul(weight)), c.mul(2)], plain)).toEqual([true, true, 1]);
  expect(histories((c, x) => [c.add(x), x.mul(weight)], plain)).toEqual([false, true, 1]);
});

it("an initial carry gives one only to what reads the carry", () => {
  expect(histories((c, x) => [c.add(x), x], weight)).toEqual([true, false, 1]);
  expect(histories((_, x) => [x.mul(2), x], weight)).toEqual([false, false, 0]);
  expect(histories((c, x) => [x.mul(2), c.mul(3)], weight)).toEqual([true, true, 1]);
});
