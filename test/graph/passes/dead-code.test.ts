import { expect, it } from "vitest";
import { removeDeadCode } from "../../../src/graph/passes/dead-code.ts";
import { build, operators } from "../build.ts";

it("nodes go that lead to no output and no state", () => {
  const { graph, g, input } = build();
  const x = input(4);
  g.elementWiseExp(g.elementWiseAbs(x));
  graph.outputs = [g.elementWiseNegate(x)];
  graph.state = [{ buffer: x.value, value: g.elementWiseSin(g.elementWiseCos(x)) }];
  expect(operators(removeDeadCode(graph))).toEqual(["ELEMENT_WISE_NEGATE", "ELEMENT_WISE_COS", "ELEMENT_WISE_SIN"]);
});
