/** Where fusion was measured to be faster. */
import type { Capabilities } from "../../../dml/capabilities.ts";

/**
 * Nodes of a program from which it is not fused. A large program begins with one DirectML graph, which has a better order and memory plan than single
 * dispatches; fused nodes would cut it. Training steps on an NVIDIA H200 over Vulkan, milliseconds without fusion and with
 * that of elementwise operators (bench/device/fusion.ts):
 *
 * | step | nodes | without | with |
 * | --- | --- | --- | --- |
 * | MLP | 30 | 0.105 | 0.095 |
 * | quickstart | 64 | 0.285 | 0.258 |
 * | LeNet | 59 | 0.354 | 0.324 |
 * | encoder | 223 | 1.07 | 1.07 |
 * | ResNet-18 | 335 | 4.83 | 5.21 |
 */
const MAX_NODES = 128;

/** A device on which the library's shaders were measured to be faster than DirectML's operators, and whose graph compiler fuses nothing itself. */
export const gainsByFusion = ({ fusesGraphs, fasterShaders }: Capabilities, nodes: number): boolean =>
  !fusesGraphs && fasterShaders.length > 0 && nodes < MAX_NODES;
