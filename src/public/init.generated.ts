// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnInit from "../nn/init.ts";
export type { InitOptions, Nonlinearity, KaimingOptions, XavierOptions } from "../nn/init.ts";
/** Uniform in [low, high). Reference: torch.nn.init.uniform_. */
export const uniform = checked($nnInit.uniform, "uniform", "t:4 low:1 high:1 options:96");
/** Normal with a mean and standard deviation. Reference: torch.nn.init.normal_. */
export const normal = checked($nnInit.normal, "normal", "t:4 mean:1 std:1 options:96");
/** All elements equal. Reference: torch.nn.init.constant_. */
export const constant = checked($nnInit.constant, "constant", "t:4 value:5");
/** Fills a tensor with 0. Returns it. Reference: torch.nn.init.zeros_. */
export const zeros = checked($nnInit.zeros, "zeros", "t:4");
/** Fills a tensor with 1. Returns it. Reference: torch.nn.init.ones_. */
export const ones = checked($nnInit.ones, "ones", "t:4");
/** The identity matrix, for a tensor [R, C]. Reference: torch.nn.init.eye_. */
export const identity = checked($nnInit.identity, "identity", "t:4");
/** Inputs and outputs of one unit of a weight [O, I, kernel...]. */
export const fans = checked($nnInit.fans, "fans", "operation:112 t:4");
/** The factor by which a nonlinearity calls for larger weights. Reference: torch.nn.init.calculate_gain. */
export const gain = checked($nnInit.gain, "gain", "nonlinearity:180 slope:1");
/** Uniform of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_uniform_. */
export const kaimingUniform = checked($nnInit.kaimingUniform, "kaimingUniform", "t:4 options:183");
/** Normal of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_normal_. */
export const kaimingNormal = checked($nnInit.kaimingNormal, "kaimingNormal", "t:4 options:183");
/** Uniform of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_uniform_. */
export const xavierUniform = checked($nnInit.xavierUniform, "xavierUniform", "t:4 options:184");
/** Normal of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_normal_. */
export const xavierNormal = checked($nnInit.xavierNormal, "xavierNormal", "t:4 options:184");
