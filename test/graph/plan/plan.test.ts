import { expect, it } from "vitest";
import { device } from "../../../src/core/device.ts";
import { isOneGraph, planGraph } from "../../../src/graph/plan/plan.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { build } from "../build.ts";

it("one graph where the device fuses or it is asked for, a list otherwise", () => {
  const { capabilities } = nativeDevice(device("cpu"));
  expect([isOneGraph(capabilities), isOneGraph(capabilities, "whole"), isOneGraph(capabilities, "none")]).toEqual([
    capabilities.fusesGraphs,
    true,
    false,
  ]);
  const { graph, g, input } = build();
  graph.outputs = [g.elementWiseExp(g.elementWiseAbs(input(4)))];
  const dispatches = (regions: "whole" | "head" | "none"): number => planGraph(graph, capabilities, "test", regions).steps.length;
  expect([dispatches("whole"), dispatches("none")]).toEqual([1, 2]);
  expect(planGraph(graph, capabilities, "test").steps).toHaveLength(capabilities.fusesGraphs ? 1 : 2);
});
