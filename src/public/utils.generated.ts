// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnClipGrad from "../nn/clip-grad.ts";
export type { NormOptions } from "../nn/clip-grad.ts";
export type { TensorOrTensors } from "../nn/clip-grad.ts";
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
