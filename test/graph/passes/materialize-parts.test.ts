import { expect, it } from "vitest";
import { materializeParts } from "../../../src/graph/passes/materialize-parts.ts";
import { verifyGraph } from "../../../src/graph/invariants.ts";
import { build, operators } from "../build.ts";

it("a later part of a value inside the graph is cut out of it, one of an input is not", () => {
  const { graph, g, input } = build();
  const x = input(8);
  const whole = g.elementWiseExp(x);
  graph.outputs = [
    g.elementWiseAbs(g.reinterpret(whole, { sizes: [4], strides: [1], byteOffset: 16 })),
    g.elementWiseAbs(g.reinterpret(x, { sizes: [4], strides: [1], byteOffset: 16 })),
  ];
  const next = materializeParts(graph);
  verifyGraph(next, "parts");
  expect(operators(next).filter((o) => o === "SLICE1")).toHaveLength(1);
  const reader = next.nodes.find((n) => n.outputs[0]!.value === graph.outputs[0]!.value)!;
  expect(reader.inputs[0]!.byteOffset).toBe(0);
  expect(next.nodes.find((n) => n.outputs[0]!.value === graph.outputs[1]!.value)!.inputs[0]!.byteOffset).toBe(16);
});
