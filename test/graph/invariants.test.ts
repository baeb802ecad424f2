import { expect, it } from "vitest";
import { Expr } from "../../src/graph/graph.ts";
import { verifyGraph } from "../../src/graph/invariants.ts";
import { build } from "./build.ts";

it("a graph that holds together passes, and each way in which it may not is named with the stage", () => {
  const { graph, g, input } = build();
  const x = input(4);
  const y = g.elementWiseAbs(x);
  graph.outputs = [y];
  graph.state = [{ buffer: x.value, value: y }];
  verifyGraph(graph, "a test");
  const broken = (change: () => () => void, text: RegExp): void => {
    const undo = change();
    expect(() => verifyGraph(graph, "a test")).toThrow(text);
    undo();
    verifyGraph(graph, "a test");
  };
  const swapped =
    <K extends "outputs" | "state" | "nodes" | "inputs">(name: K, next: (typeof graph)[K]) =>
    () => {
      const before = graph[name];
      graph[name] = next;
      return () => {
        graph[name] = before;
      };
    };
  broken(swapped("nodes", []), /graph after a test: an output reads value %1 before it is written/);
  broken(swapped("nodes", [graph.nodes[0]!, graph.nodes[0]!]), /value %1 is written twice/);
  broken(swapped("nodes", [{ ...graph.nodes[0]!, inputs: [] }]), /ELEMENT_WISE_ABS has 0 of 1 inputs/);
  broken(swapped("outputs", [new Expr(y.value, "float32", [4], [1], 4)]), /an output reads past the end of value %1/);
  broken(swapped("state", [{ buffer: y.value, value: y }]), /a state write goes to no input/);
  const small = graph.addInput(4);
  broken(swapped("state", [{ buffer: small, value: y }]), /a state write of 16 bytes goes to a buffer of 4/);
});
