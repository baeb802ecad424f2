// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnInit from "../nn/init.ts";
export type { InitOptions } from "../nn/init.ts";
export type { Nonlinearity } from "../nn/init.ts";
export type { KaimingOptions } from "../nn/init.ts";
export type { XavierOptions } from "../nn/init.ts";
export type { TruncNormalOptions } from "../nn/init.ts";
export type { OrthogonalOptions } from "../nn/init.ts";
export type { SparseOptions } from "../nn/init.ts";
/** Uniform in [low, high). Reference: torch.nn.init.uniform_. */
export const uniform = checked($nnInit.uniform, "uniform", "t low:number? high:number? options:InitOptions?");
/** Normal with a mean and standard deviation. Reference: torch.nn.init.normal_. */
export const normal = checked($nnInit.normal, "normal", "t mean:number? std:number? options:InitOptions?");
/** All elements equal. Reference: torch.nn.init.constant_. */
export const constant = checked($nnInit.constant, "constant", "t value:number");
/** Fills a tensor with 0. Returns it. Reference: torch.nn.init.zeros_. */
export const zeros = checked($nnInit.zeros, "zeros", "t");
/** Fills a tensor with 1. Returns it. Reference: torch.nn.init.ones_. */
export const ones = checked($nnInit.ones, "ones", "t");
/** The identity matrix, for a tensor [R, C]. Reference: torch.nn.init.eye_. */
export const identity = checked($nnInit.identity, "identity", "t");
/** Inputs and outputs of one unit of a weight [O, I, kernel...]. */
export const fans = checked($nnInit.fans, "fans", "operation:string t");
/** The factor by which a nonlinearity calls for larger weights. Reference: torch.nn.init.calculate_gain. */
export const gain = checked($nnInit.gain, "gain", "nonlinearity:linear_sigmoid_tanh_relu_leakyRelu_selu slope:number?");
/** Uniform of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_uniform_. */
export const kaimingUniform = checked($nnInit.kaimingUniform, "kaimingUniform", "t options:KaimingOptions?");
/** Normal of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_normal_. */
export const kaimingNormal = checked($nnInit.kaimingNormal, "kaimingNormal", "t options:KaimingOptions?");
/** Uniform of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_uniform_. */
export const xavierUniform = checked($nnInit.xavierUniform, "xavierUniform", "t options:XavierOptions?");
/** Normal of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_normal_. */
export const xavierNormal = checked($nnInit.xavierNormal, "xavierNormal", "t options:XavierOptions?");
/** The identity matrix, for a tensor [R, C]: identity() by PyTorch's name. Reference: torch.nn.init.eye_. */
export const eye = checked($nnInit.eye, "eye", "t");
/** gain() by PyTorch's name. Reference: torch.nn.init.calculate_gain. */
export const calculateGain = checked($nnInit.calculateGain, "calculateGain", "nonlinearity:linear_sigmoid_tanh_relu_leakyRelu_selu param:number?");
/**
 * Normal within [a, b]: the inverse of the distribution function at uniform numbers, so that nothing is read back. Beyond about five standard deviations on
 * one side of the mean float32 has too few values for it. Throws ValueError for a std that is not above 0, or an empty range. Reference: torch.nn.init.trunc_normal_.
 */
export const truncNormal = checked($nnInit.truncNormal, "truncNormal", "t options:TruncNormalOptions?");
/** Orthogonal rows or columns, whichever are fewer, of the tensor [R, ...] as a matrix [R, C]; the decomposition runs on the host. Reference: torch.nn.init.orthogonal_. */
export const orthogonal = checked($nnInit.orthogonal, "orthogonal", "t options:OrthogonalOptions?");
/** Kernels [Co, Ci, ...kernel] that pass as many channels on as possible, in each of `groups` groups. Reference: torch.nn.init.dirac_. */
export const dirac = checked($nnInit.dirac, "dirac", "t groups:number?");
/** Normal numbers in a matrix [R, C] of which in each column ceil(sparsity * R), drawn at random, are 0. Reference: torch.nn.init.sparse_. */
export const sparse = checked($nnInit.sparse, "sparse", "t sparsity:number options:SparseOptions?");
