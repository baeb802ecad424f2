/** Where fusion was measured to be faster. */
import type { Capabilities } from "../../../dml/capabilities.ts";

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
 * In mixed precision (autocast("float16")), one DirectML graph of the whole step, and fused regions between matrix products and convolutions:
 *
 * | step | without | with |
 * | --- | --- | --- |
 * | MLP | 0.173 | 0.107 |
 * | LeNet | 0.411 | 0.307 |
 * | encoder | 1.29 | 0.57 |
 * | ResNet-18 | 5.03 | 2.61 |
 *
 * Fused shaders round float16 to nearest, as PyTorch does; DirectML's operators over Vulkan truncate it.
 */
export const gainsByFusion = ({ fusesGraphs, fasterShaders }: Capabilities): boolean => !fusesGraphs && fasterShaders.length > 0;
