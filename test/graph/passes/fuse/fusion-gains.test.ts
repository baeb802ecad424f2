import { expect, it } from "vitest";
import type { DType } from "../../../../src/core/dtype.ts";
import { Capabilities } from "../../../../src/dml/capabilities.ts";
import type { Graph } from "../../../../src/graph/graph.ts";
import { gainsByFusion } from "../../../../src/graph/passes/fuse/fusion-gains.ts";
import { NVIDIA_OVER_VULKAN } from "../../../../src/shader/measured.ts";
import { build } from "../../build.ts";

it("fuses where shaders were measured to be faster and no graph compiler fuses, and programs without float16", () => {
  const gpu = (data: { fusesGraphs?: boolean; isMeasured?: boolean }) =>
    new Capabilities({
      name: "device",
      featureLevel: 0x6200,
      dataTypes: 0xffff,
      fusesGraphs: data.fusesGraphs ?? false,
      waveLanes: 32,
      runsShaders: true,
      fasterShaders: () => (data.isMeasured === false ? [] : NVIDIA_OVER_VULKAN),
    });
  const graphOf = (dtype: DType): Graph => {
    const built = build();
    const x = built.input(4);
    built.graph.outputs = [built.g.cast(x, { output: { dtype } })];
    return built.graph;
  };
  expect(gainsByFusion(gpu({}), graphOf("float32"))).toBe(true);
  expect(gainsByFusion(gpu({}), graphOf("float16"))).toBe(false);
  expect(gainsByFusion(gpu({ fusesGraphs: true }), graphOf("float32"))).toBe(false);
  expect(gainsByFusion(gpu({ isMeasured: false }), graphOf("float32"))).toBe(false);
});
