import { expect, it } from "vitest";
import { Capabilities } from "../../../../src/dml/capabilities.ts";
import { gainsByFusion } from "../../../../src/graph/passes/fuse/fusion-gains.ts";
import { NVIDIA_OVER_VULKAN } from "../../../../src/shader/measured.ts";

it("fuses where shaders were measured to be faster and no graph compiler fuses", () => {
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
  expect(gainsByFusion(gpu({}))).toBe(true);
  expect(gainsByFusion(gpu({ fusesGraphs: true }))).toBe(false);
  expect(gainsByFusion(gpu({ isMeasured: false }))).toBe(false);
});
