import { expect, it } from "vitest";
import { fuseActivations } from "../../../src/graph/passes/fuse-activation.ts";
import { build, operators } from "../build.ts";

it("an activation that alone reads a sum goes into it", () => {
  const { graph, g, input } = build();
  const x = input(4);
  graph.outputs = [g.activationLeakyRelu(g.elementWiseAdd(x, x), { alpha: 0.1 })];
  const fused = fuseActivations(graph);
  expect(operators(fused)).toEqual(["ELEMENT_WISE_ADD1"]);
  expect(fused.nodes[0]!.attributes.fusedActivation).toMatchObject({ operator: "ACTIVATION_LEAKY_RELU", attributes: { alpha: 0.1 } });
  expect(fused.nodes[0]!.outputs[0]!.value).toBe(graph.outputs[0]!.value);
});

it("not where the sum is read elsewhere, and not into what takes none", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const sum = g.elementWiseAdd(x, x);
  graph.outputs = [g.activationRelu(sum), g.elementWiseNegate(sum), g.activationRelu(g.elementWiseExp(x))];
  expect(operators(fuseActivations(graph))).toEqual(operators(graph));
});
