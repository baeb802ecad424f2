/** Loops of a path as trees: bodies, what they use from outside, and numbers that come before them. */
import { expect, it } from "vitest";
import { madeAs, type Event, type LoopBegin, type LoopEnd, type Made, type Operation } from "../../src/compile/log.ts";
import { freeIn, hasLoops, madeBy, nested, usedBy, type LoopNode } from "../../src/compile/loops.ts";
import { operand } from "../../src/compile/operand.ts";
import { contiguousOp } from "../../src/runtime/assign.ts";
import * as dx from "../../src/index.ts";

const make = (): Made => madeAs(dx.zeros([2]), true);
const copy = (from: dx.Tensor): Operation => ({ kind: "operation", definition: contiguousOp as never, attrs: undefined, records: false, writes: false, inputs: [operand(from)], outputs: [make()], origin: "test" }); // prettier-ignore
const [outside, init] = [dx.ones([2]), dx.ones([2])];
const begin: LoopBegin = { kind: "loop", name: "scan", length: 3, reverse: false, init: [operand(init)], xs: [], carry: [make()], slices: [], start: 0, origin: "scan" }; // prettier-ignore
const number = make();
const scalar: Event = {
  kind: "scalar",
  device: dx.defaultDevice(),
  dtype: "float32",
  value: 2,
  varies: false,
  holder: null,
  output: number,
};
const inner = [copy(begin.carry[0]!.tensor), scalar, copy(outside), copy(number.tensor)] as const;
const end: LoopEnd = { kind: "loopEnd", begin, carry: [operand(inner[0].outputs[0]!.tensor)], ys: [], kept: [], outputs: [make()] };
const path: Event[] = [begin, ...inner, end, copy(end.outputs[0]!.tensor)];

it("a body belongs to its loop, without the numbers that it only reads", () => {
  expect([hasLoops(path), hasLoops(inner)]).toEqual([true, false]);
  const items = nested(path);
  expect(items.map((e) => e.kind)).toEqual(["scalar", "body", "operation"]);
  expect((items[1] as LoopNode).body).toEqual([inner[0], inner[2], inner[3]]);
});

it("a number that the body writes to stays in it", () => {
  const written: Event = { kind: "assign", target: operand(number.tensor), source: operand(outside), origin: "test" };
  const [loop] = nested([begin, scalar, written, end]) as [LoopNode];
  expect(loop.body).toEqual([scalar, written]);
});

it("a loop uses what it begins with and what its body reads from outside, and makes its outputs", () => {
  const loop = nested(path)[1] as LoopNode;
  expect([...freeIn(loop)]).toEqual([outside.storage, number.tensor.storage]);
  expect([...usedBy(loop)]).toEqual([init.storage, outside.storage, number.tensor.storage]);
  expect(madeBy(loop)).toEqual([end.outputs[0]!.tensor]);
});
