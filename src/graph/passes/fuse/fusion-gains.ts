/** Where fusion was measured to be faster. */
import type { Capabilities } from "../../../dml/capabilities.ts";
import type { Graph } from "../../graph.ts";

/**
 * Training steps on an NVIDIA H200 over Vulkan, milliseconds without fusion and with it (bench/device/fusion.ts):
 *
 * | step | nodes | without | with |
 * | --- | --- | --- | --- |
 * | MLP | 30 | 0.105 | 0.081 |
 * | quickstart | 64 | 0.284 | 0.236 |
 * | LeNet | 59 | 0.353 | 0.299 |
 * | encoder | 223 | 1.07 | 0.495 |
 * | ResNet-18 | 335 | 4.87 | 4.44 |
 *
 * Programs with float16 stay as they are: fused shaders round it to nearest, which DirectML's operators over Vulkan do not, and a compiled call would
 * differ from an eager one.
 */
export const gainsByFusion = ({ fusesGraphs, fasterShaders }: Capabilities, { nodes }: Pick<Graph, "nodes">): boolean =>
  !fusesGraphs && fasterShaders.length > 0 && !nodes.some(({ outputs }) => outputs.some((x) => x?.dtype === "float16"));
