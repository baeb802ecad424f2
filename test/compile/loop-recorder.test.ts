/** What a run records of a loop: one step, on placeholders, and when it refuses. */
import { expect, it } from "vitest";
import { withTracer, tracer } from "../../src/core/tracer.ts";
import { CallArguments, Placeholders } from "../../src/compile/arguments.ts";
import { Step, pathTo } from "../../src/compile/log.ts";
import { Unrolled } from "../../src/compile/loops.ts";
import { newRecorded } from "../../src/compile/recorder.ts";
import { Run } from "../../src/compile/trace.ts";
import * as dx from "../../src/index.ts";

type T = dx.Tensor;
const xs = dx.ones([6, 2]);
const recorded = newRecorded("f");
const root = new Step(null, null);
const placeholders = new Placeholders(new CallArguments([xs], () => false, "any"), recorded);

/** One run of scan over the argument. */
function run(fn: (c: T, x: T) => readonly [T, T], weight: T): Run {
  placeholders.begin([xs]);
  const made = new Run(recorded, root, placeholders, [xs]);
  withTracer(made, () => dx.scan(fn, weight, placeholders.tensors[0]!));
  return made;
}

const state = dx.zeros([2]);
const weight = dx.ones([2], { requiresGrad: true });

it("records one step between its begin and its end, and follows it in the next run", () => {
  const step = (c: T, x: T) => [c.mul(weight).add(x), x] as const;
  const first = run(step, weight);
  const kinds = pathTo(first.at).map((e) => e.kind);
  expect(kinds.filter((k) => k !== "view")).toEqual(["loop", "operation", "operation", "operation", "loopEnd"]);
  const second = run(step, weight);
  expect([second.at === first.at, second.reason]).toEqual([true, null]);
});

it("has the carries kept for gradients, and a node for its results", () => {
  const event = pathTo(run((c, x) => [c.mul(weight).add(x), x], weight).at).find((e) => e.kind === "loopEnd")!;
  expect([event.kept, event.outputs.map((m) => m.tensor.shape)]).toEqual([[0], [[6, 2], [2], [6, 2]]]);
  expect(event.outputs.map((m) => m.node !== null)).toEqual([true, true, false]);
});

it("refuses a body that does something else each time, and one that writes outside", () => {
  let n = 0;
  expect(() => run((c, x) => [c.mul(++n), x], weight)).toThrow(Unrolled);
  expect(() => run((c, x) => [c.mul(2), dx.noGrad(() => state.add_(x))], weight)).toThrow(Unrolled);
  recorded.unrolls = "asked for";
  const unrolled = run((c, x) => [c.mul(weight).add(x), x], weight);
  expect(pathTo(unrolled.at).some((e) => e.kind === "loop")).toBe(false);
  recorded.unrolls = null;
  expect(tracer()).toBeNull();
});
