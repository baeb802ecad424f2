// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $opsReduceMasked from "../ops/reduce/masked.ts";
import * as $opsExportsAutocast from "../ops/exports/autocast.generated.ts";
export type { MaskOption } from "../ops/reduce/masked.ts";
export type { MaskedVarianceOptions } from "../ops/reduce/masked.ts";
/** The sum of the elements that count. Reference: torch.masked.sum. */
export const sum = checked($opsReduceMasked.sum, "masked.sum", "x axis:numberOrNumbersOrNull? options:Masked?");
/** The product of the elements that count, over an axis or all. Reference: torch.masked.prod. @autocast float32 */
export const prod = checked($opsExportsAutocast.maskedProd, "masked.prod", "x axis:numberOrNumbersOrNull? options:Masked?");
/** The largest element that counts. Reference: torch.masked.amax. */
export const amax = checked($opsReduceMasked.amax, "masked.amax", "x axis:numberOrNumbersOrNull? options:Masked?");
/** The smallest element that counts. Reference: torch.masked.amin. */
export const amin = checked($opsReduceMasked.amin, "masked.amin", "x axis:numberOrNumbersOrNull? options:Masked?");
/** The index of the largest element that counts. Reference: torch.masked.argmax. */
export const argmax = checked($opsReduceMasked.argmax, "masked.argmax", "x axis:numberOrNull? options:keepDims_498453?");
/** The index of the smallest element that counts. Reference: torch.masked.argmin. */
export const argmin = checked($opsReduceMasked.argmin, "masked.argmin", "x axis:numberOrNull? options:keepDims_498453?");
/** The mean of the elements that count; NaN where none does. Integers give float32. Reference: torch.masked.mean. */
export const mean = checked($opsReduceMasked.mean, "masked.mean", "x axis:numberOrNumbersOrNull? options:Masked?");
/** The variance of the elements that count. Reference: torch.masked.var. */
export const variance = checked($opsReduceMasked.variance, "masked.variance", "x axis:numberOrNumbersOrNull? options:MaskedVarianceOptions?");
/** The standard deviation of the elements that count. Reference: torch.masked.std. */
export const std = checked($opsReduceMasked.std, "masked.std", "x axis:numberOrNumbersOrNull? options:MaskedVarianceOptions?");
/** The p-norm of the elements that count. Reference: torch.masked.norm. */
export const norm = checked($opsReduceMasked.norm, "masked.norm", "x p:number? axis:numberOrNumbersOrNull? options:Masked?");
/** The median of the elements that count along an axis; NaN where none does. Floating dtypes. Reference: torch.masked.median. */
export const median = checked($opsReduceMasked.median, "masked.median", "x axis:number options:mask_adfa78?");
/** ln of the sum of e^x over the elements that count, in x's dtype. Reference: torch.masked.logsumexp. */
export const logsumexp = checked($opsReduceMasked.logsumexp, "masked.logsumexp", "x axis:numberOrNumbersOrNull options:Masked?");
/** ln(e^a + e^b) of the elements that count. Reference: torch.masked.logaddexp. */
export const logaddexp = checked($opsReduceMasked.logaddexp, "masked.logaddexp", "a b options:mask_5deafb?");
/** The cumulative sum of the elements that count, in x's dtype. Reference: torch.masked.cumsum. */
export const cumsum = checked($opsReduceMasked.cumsum, "masked.cumsum", "x axis:number options:mask_17901b?");
/** The cumulative product of the elements that count, in x's dtype. Reference: torch.masked.cumprod. */
export const cumprod = checked($opsReduceMasked.cumprod, "masked.cumprod", "x axis:number options:mask_17901b?");
/** softmax over the elements that count; 0 elsewhere. Reference: torch.masked.softmax. */
export const softmax = checked($opsReduceMasked.softmax, "masked.softmax", "x axis:number options:mask_17901b?");
/** logSoftmax over the elements that count. Reference: torch.masked.log_softmax. */
export const logSoftmax = checked($opsReduceMasked.logSoftmax, "masked.logSoftmax", "x axis:number options:mask_17901b?");
/** softmax of -x over the elements that count. Reference: torch.masked.softmin. */
export const softmin = checked($opsReduceMasked.softmin, "masked.softmin", "x axis:number options:mask_17901b?");
/** The elements that count, divided by their p-norm along an axis (at least epsilon); 0 elsewhere. Reference: torch.masked.normalize. */
export const normalize = checked($opsReduceMasked.normalize, "masked.normalize", "x p:number axis:number options:mask_1a7052?");
