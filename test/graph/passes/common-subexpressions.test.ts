import { expect, it } from "vitest";
import { mergeCommonSubexpressions } from "../../../src/graph/passes/common-subexpressions.ts";
import { build, operators } from "../build.ts";

it("equal nodes over equal inputs become one, through several levels", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const [a, b] = [g.elementWiseExp(g.elementWiseAbs(x)), g.elementWiseExp(g.elementWiseAbs(x))];
  graph.outputs = [g.elementWiseAdd(a, b)];
  const merged = mergeCommonSubexpressions(graph);
  expect(operators(merged)).toEqual(["ELEMENT_WISE_ABS", "ELEMENT_WISE_EXP", "ELEMENT_WISE_ADD"]);
  expect(merged.nodes[2]!.inputs[0]!.value).toBe(merged.nodes[2]!.inputs[1]!.value);
});

it("other attributes, other inputs and two results stay apart", () => {
  const { graph, g, input } = build();
  const [x, y] = [input(4), input(4)];
  g.activationLeakyRelu(x, { alpha: 0.1 });
  g.activationLeakyRelu(x, { alpha: 0.2 });
  g.elementWiseAbs(x);
  g.elementWiseAbs(y);
  graph.outputs = [g.elementWiseNegate(x), g.elementWiseNegate(x)];
  const merged = mergeCommonSubexpressions(graph);
  expect(merged.nodes).toHaveLength(6);
  expect(merged.outputs[0]!.value).not.toBe(merged.outputs[1]!.value);
});
