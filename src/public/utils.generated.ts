// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnClipGrad from "../nn/clip-grad.ts";
import * as $nnPatterns from "../nn/patterns.ts";
import * as $nnVector from "../nn/vector.ts";
export type { NormOptions } from "../nn/clip-grad.ts";
export type { TensorOrTensors } from "../nn/clip-grad.ts";
export type { MatchedGroup } from "../nn/patterns.ts";
export type { NamePattern } from "../nn/patterns.ts";
export type { PatternGroup } from "../nn/patterns.ts";
/**
 * Scales the gradients of all parameters, in place, so that their norm as one vector is at most maxNorm; parameters without a gradient
 * do not count. Result: the norm before. Throws ValueError for a negative maxNorm, and with errorIfNonfinite. Reference: torch.nn.utils.clip_grad_norm_.
 */
export const clipGradNorm_ = checked($nnClipGrad.clipGradNorm_, "clipGradNorm_", "parameters:tensorOrIterableOfTensor maxNorm:number options:NormOptions?");
/** Limits each element of the gradients to [-clipValue, clipValue], in place. Throws ValueError for a negative clipValue. Reference: torch.nn.utils.clip_grad_value_. */
export const clipGradValue_ = checked($nnClipGrad.clipGradValue_, "clipGradValue_", "parameters:tensorOrIterableOfTensor clipValue:number");
/**
 * Multiplies the gradients by min(1, maxNorm / (totalNorm + 1e-6)), in place. Throws ValueError for a negative maxNorm.
 * totalNorm: what getTotalNorm gave. Reference: torch.nn.utils.clip_grads_with_norm_.
 */
export const clipGradsWithNorm_ = checked($nnClipGrad.clipGradsWithNorm_, "clipGradsWithNorm_", "parameters:tensorOrIterableOfTensor maxNorm:number totalNorm");
/**
 * The norm of all tensors as if they were one vector; 0 without tensors. On the first one's device.
 * Throws ValueError with errorIfNonfinite. Reference: torch.nn.utils.get_total_norm.
 */
export const getTotalNorm = checked($nnClipGrad.getTotalNorm, "getTotalNorm", "tensors:tensorOrIterableOfTensor options:NormOptions?");
export * as parametrizations from "./parametrizations.generated.ts";
export * as parametrize from "./parametrize.generated.ts";
/**
 * The parameters whose names match require no gradient from now on, so that no optimizer moves them. Returns their names. "encoder.*" matches all in
 * `encoder`, at any depth. Throws ValueError where none matches.
 */
export const freeze = checked($nnPatterns.freeze, "freeze", "module:module pattern:anything");
/**
 * Groups for an optimizer: each parameter that requires a gradient goes into the first group whose pattern matches its name, or into the one without a pattern, which
 * is made where none is given and parameters are left. Empty groups are left out where their parameters are frozen. Throws ValueError for a pattern that matches nothing.
 *
 * `dx.optim.adamW(nn.utils.groups(model, [{ match: "*.bias", weightDecay: 0 }, { lr: 1e-3 }]))`
 */
export const groups = checked($nnPatterns.groups, "groups", "module:module list:listOfAnything");
/** The parameters whose names match require gradients again. Returns their names. Throws ValueError where none matches. */
export const unfreeze = checked($nnPatterns.unfreeze, "unfreeze", "module:module pattern:anything");
/**
 * All parameters behind each other as one vector [sum of sizes]; gradients flow through it. Throws ValueError without parameters, DeviceError for parameters
 * of several devices. Reference: torch.nn.utils.parameters_to_vector.
 */
export const parametersToVector = checked($nnVector.parametersToVector, "parametersToVector", "parameters:iterableOfTensor");
/**
 * Copies the elements of a vector [sum of sizes] into the parameters, in their order; this is not recorded. Throws ShapeError for a vector of another length.
 * Reference: torch.nn.utils.vector_to_parameters.
 */
export const vectorToParameters = checked($nnVector.vectorToParameters, "vectorToParameters", "vector parameters:iterableOfTensor");
