import { expect, it } from "vitest";
import { sizesOf, slotsOf } from "../../../src/graph/plan/slots.ts";
import { build } from "../build.ts";

it("inputs come first, then outputs, then scratch memory", () => {
  const { graph, g, input } = build();
  const [x, y] = [input(4), input(2)];
  graph.outputs = [g.elementWiseAbs(x), g.elementWiseAbs(y)];
  const slots = slotsOf(graph);
  expect([x, y].map((e) => slots.inputs.get(e.value))).toEqual([0, 1]);
  expect(graph.outputs.map((e) => slots.outputs.get(e.value))).toEqual([2, 3]);
  expect([slots.scratch, sizesOf(graph)]).toEqual([4, { inputs: [16, 8], outputs: [16, 8] }]);
});
