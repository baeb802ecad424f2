import { expect, it } from "vitest";
import { planList } from "../../../src/graph/plan/list.ts";
import { build } from "../build.ts";

it("nodes that do not wait for each other share a group; equal ones share what is compiled; memory is used again", () => {
  const { graph, g, input } = build();
  const [x, y] = [input(4), input(4)];
  let [a, b] = [g.elementWiseAbs(x), g.elementWiseAbs(y)];
  for (let i = 0; i < 3; i++) [a, b] = [g.elementWiseExp(a), g.elementWiseExp(b)];
  graph.outputs = [g.elementWiseAdd(a, b)];
  const plan = planList(graph, "test", false);
  expect(plan.steps.map((s) => s.group)).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4]);
  expect(plan.dispatchables).toHaveLength(3);
  expect(plan.scratch).toBe(4 * 256);
});

it("state is written in place by an operator that supports it, after all other reads, else by a copy at the end", () => {
  const { graph, g, input } = build();
  const [state, x] = [input(4), input(4)];
  const next = g.elementWiseAdd(state, x);
  graph.outputs = [g.elementWiseMultiply(state, x)];
  graph.state = [{ buffer: state.value, value: next }];
  const late = planList(graph, "test", false);
  const copies = late.steps.filter((s) => "copy" in s);
  // The other reader comes later in the graph than the write: the value is kept apart and copied.
  expect([copies.length, late.steps.length]).toEqual([1, 3]);
  graph.nodes.reverse();
  const direct = planList(graph, "test", false);
  expect(direct.steps.map((s) => [s.group, "copy" in s])).toEqual([
    [0, false],
    [1, false],
  ]);
});

it("the nodes before the first update in place are one graph, if requested", () => {
  const { graph, g, input } = build();
  const [state, x] = [input(4), input(4)];
  const value = g.elementWiseExp(g.elementWiseAbs(x));
  graph.state = [{ buffer: state.value, value: g.elementWiseAdd(state, value) }];
  const plan = planList(graph, "test", true);
  expect([plan.steps.length, plan.dispatchables.length, "nodes" in plan.dispatchables[0]!]).toEqual([2, 2, true]);
});
