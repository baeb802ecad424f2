// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $opsReduceMasked from "../ops/reduce/masked.ts";
export type { MaskOption, MaskedVarianceOptions } from "../ops/reduce/masked.ts";
/** The sum of the elements that count. Reference: torch.masked.sum. */
export const sum = checked($opsReduceMasked.sum, "masked.sum", "x:4 axis:20 options:46");
/** The product of the elements that count, over an axis or all. Reference: torch.masked.prod. */
export const prod = checked($opsReduceMasked.prod, "masked.prod", "x:4 axis:20 options:46");
/** The largest element that counts. Reference: torch.masked.amax. */
export const amax = checked($opsReduceMasked.amax, "masked.amax", "x:4 axis:20 options:46");
/** The smallest element that counts. Reference: torch.masked.amin. */
export const amin = checked($opsReduceMasked.amin, "masked.amin", "x:4 axis:20 options:46");
/** The index of the largest element that counts. Reference: torch.masked.argmax. */
export const argmax = checked($opsReduceMasked.argmax, "masked.argmax", "x:4 axis:23 options:48");
/** The index of the smallest element that counts. Reference: torch.masked.argmin. */
export const argmin = checked($opsReduceMasked.argmin, "masked.argmin", "x:4 axis:23 options:48");
/** The mean of the elements that count; NaN where none does. Integers give float32. Reference: torch.masked.mean. */
export const mean = checked($opsReduceMasked.mean, "masked.mean", "x:4 axis:20 options:46");
/** The variance of the elements that count. Reference: torch.masked.var. */
export const variance = checked($opsReduceMasked.variance, "masked.variance", "x:4 axis:20 options:49");
/** The standard deviation of the elements that count. Reference: torch.masked.std. */
export const std = checked($opsReduceMasked.std, "masked.std", "x:4 axis:20 options:49");
/** The p-norm of the elements that count. Reference: torch.masked.norm. */
export const norm = checked($opsReduceMasked.norm, "masked.norm", "x:4 p:1 axis:20 options:46");
/** The median of the elements that count along an axis; NaN where none does. Floating dtypes. Reference: torch.masked.median. */
export const median = checked($opsReduceMasked.median, "masked.median", "x:4 axis:5 options:50");
/** ln of the sum of e^x over the elements that count, in x's dtype. Reference: torch.masked.logsumexp. */
export const logsumexp = checked($opsReduceMasked.logsumexp, "masked.logsumexp", "x:4 axis:51 options:46");
/** ln(e^a + e^b) of the elements that count. Reference: torch.masked.logaddexp. */
export const logaddexp = checked($opsReduceMasked.logaddexp, "masked.logaddexp", "a:4 b:4 options:52");
/** The cumulative sum of the elements that count, in x's dtype. Reference: torch.masked.cumsum. */
export const cumsum = checked($opsReduceMasked.cumsum, "masked.cumsum", "x:4 axis:5 options:53");
/** The cumulative product of the elements that count, in x's dtype. Reference: torch.masked.cumprod. */
export const cumprod = checked($opsReduceMasked.cumprod, "masked.cumprod", "x:4 axis:5 options:53");
/** softmax over the elements that count; 0 elsewhere. Reference: torch.masked.softmax. */
export const softmax = checked($opsReduceMasked.softmax, "masked.softmax", "x:4 axis:5 options:53");
/** logSoftmax over the elements that count. Reference: torch.masked.log_softmax. */
export const logSoftmax = checked($opsReduceMasked.logSoftmax, "masked.logSoftmax", "x:4 axis:5 options:53");
/** softmax of -x over the elements that count. Reference: torch.masked.softmin. */
export const softmin = checked($opsReduceMasked.softmin, "masked.softmin", "x:4 axis:5 options:53");
/** The elements that count, divided by their p-norm along an axis (at least epsilon); 0 elsewhere. Reference: torch.masked.normalize. */
export const normalize = checked($opsReduceMasked.normalize, "masked.normalize", "x:4 p:5 axis:5 options:54");
