import { afterEach, expect, it, vi } from "vitest";
import { device } from "../../../src/core/device.ts";
import { optimize } from "../../../src/graph/passes/optimize.ts";
import { nativeDevice } from "../../../src/runtime/devices.ts";
import { build, operators } from "../build.ts";

afterEach(() => vi.unstubAllEnvs());

it("drops what nobody reads, merges what is equal, and fuses activations where the device does not", () => {
  vi.stubEnv("DXTENSOR_VERIFY", "1");
  const make = (): ReturnType<typeof build>["graph"] => {
    const { graph, g, input } = build();
    const x = input(4);
    g.elementWiseSin(x);
    const sums = [g.elementWiseAdd(x, x), g.elementWiseAdd(x, x)];
    graph.outputs = [g.elementWiseMultiply(g.activationRelu(sums[0]!), g.activationRelu(sums[1]!))];
    return graph;
  };
  const { capabilities } = nativeDevice(device("cpu"));
  expect(operators(optimize(make(), capabilities, true))).toEqual(
    capabilities.fusesGraphs
      ? ["ELEMENT_WISE_ADD", "ACTIVATION_RELU", "ELEMENT_WISE_MULTIPLY"]
      : ["ELEMENT_WISE_ADD1", "ELEMENT_WISE_MULTIPLY"],
  );
  expect(operators(optimize(make(), capabilities, false))).toEqual(["ELEMENT_WISE_ADD1", "ELEMENT_WISE_MULTIPLY"]);
});

it("with DXTENSOR_VERIFY names the stage after which a graph does not hold together", () => {
  vi.stubEnv("DXTENSOR_VERIFY", "1");
  const { graph, g, input } = build();
  graph.outputs = [g.elementWiseAbs(input(4))];
  graph.nodes = [];
  expect(() => optimize(graph, nativeDevice(device("cpu")).capabilities, false)).toThrow(/graph after trace/);
});
