/** New values of state over the old ones. */
import { describe, expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { planGraph } from "../../../../src/graph/plan/plan.ts";
import { nativeDevice } from "../../../../src/runtime/devices.ts";
import { build } from "../../build.ts";
import { fused } from "./programs.ts";

const { capabilities } = nativeDevice(dx.device("cpu"));

describe("states of a region", () => {
  it("contain constants, and write state over itself where each thread reads only what it writes", () => {
    const built = build();
    const { g, graph } = built;
    const [state, other] = [built.input(8), built.input(8)];
    const two = g.fillValueConstant({
      output: { sizes: [1], dtype: "float32" },
      valueDataType: "FLOAT32",
      value: { dtype: "float32", value: 2 },
    });
    const next = g.elementWiseAdd(g.elementWiseMultiply(state, g.expand(two, [8])), other);
    graph.state = [{ buffer: state.value, value: next }];
    const result = fused(built);
    expect(result.nodes.map((n) => [n.operator, n.inputs.length])).toEqual([["SHADER", 2]]);
    expect(result.nodes[0]!.shader!.inPlace).toEqual([[0, 0], [1, 0]]); // prettier-ignore
    const plan = planGraph(result, capabilities, "test", "none");
    expect(plan.steps).toHaveLength(1);
  });

  it("do not write a state over itself while other threads read it", () => {
    const built = build();
    const { g, graph } = built;
    const [state, other] = [built.input(2, 2), built.input(2, 2)];
    const next = g.elementWiseAdd(g.transpose(state, [1, 0]), g.elementWiseExp(other));
    graph.state = [{ buffer: state.value, value: next }];
    const result = fused(built);
    expect(result.nodes[0]!.inputs.map((x) => x!.value)).toEqual([other.value, state.value]);
    expect(result.nodes[0]!.shader!.inPlace).toEqual([[0, 0]]);
    expect(planGraph(result, capabilities, "test", "none").steps).toHaveLength(2);
  });
});
