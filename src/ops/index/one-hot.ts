/** One-hot encoding. */
import { isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import type { Tensor } from "../../core/tensor.ts";
import { data, dataSync } from "../data/conversion.ts";
import { amax, amin } from "../reduce/extrema.ts";
import { refuseTraced } from "./nonzero.ts";
import { oneHotOf } from "../creation/ranges.ts";
import { computing } from "../declare/support.ts";

export interface OneHotOptions {
  /** Default: int64, as in PyTorch. */
  readonly dtype?: DType | undefined;
}

function requireIntegers(operation: string, x: Tensor): void {
  if (!isInteger(x.dtype)) throw new DTypeError(operation, "x", "of an integer dtype", x.describe());
}

function made(operation: string, x: Tensor, classes: number, { dtype = "int64" }: OneHotOptions): Tensor {
  requireIntegers(operation, x);
  if (!Number.isInteger(classes) || classes < 1) throw new ValueError(operation, "classes", "an integer of at least 1", classes);
  requireIndices(operation, x, { length: classes });
  return oneHotOf(x, classes, computing(operation, dtype));
}

/** The number of classes for a tensor's smallest and largest element. */
function counted(operation: string, lowest: number, highest: number): number {
  if (lowest < 0) throw new ValueError(operation, "x", "numbers of at least 0", lowest);
  return highest + 1;
}

function requireNonEmpty(operation: string, x: Tensor): void {
  requireIntegers(operation, x);
  if (x.size === 0) throw new ValueError(operation, "classes", "given for an empty tensor", "none");
}

/**
 * 1 at index x along a new last axis of `classes`, 0 elsewhere. x: integers; those out of range are an
 * IndexError on `cpu` (elsewhere with DXTENSOR_CHECK_INDICES=1), else give zeros only. Without
 * classes a promise of the result for one more than the largest number. DirectML: ONE_HOT. Reference: torch.nn.functional.one_hot.
 * @functional
 */
export function oneHot(x: Tensor, classes: number, options?: OneHotOptions): Tensor;
export function oneHot(x: Tensor, classes?: null, options?: OneHotOptions): Promise<Tensor>;
export function oneHot(x: Tensor, classes: number | null = null, options: OneHotOptions = {}): Tensor | Promise<Tensor> {
  if (classes !== null) return made("oneHot", x, classes, options);
  requireNonEmpty("oneHot", x);
  refuseTraced("oneHot", "classes", "The last axis is then of that length.");
  return Promise.all([data(amin(x)), data(amax(x))]).then(([lowest, highest]) =>
    made("oneHot", x, counted("oneHot", Number(lowest[0]), Number(highest[0])), options),
  );
}

/** oneHot() for one more class than the largest number, blocking until that is known. */
export function oneHotSync(x: Tensor, options: OneHotOptions = {}): Tensor {
  requireNonEmpty("oneHotSync", x);
  refuseTraced("oneHotSync", "classes", "Use oneHot(x, classes).");
  return made("oneHotSync", x, counted("oneHotSync", Number(dataSync(amin(x))[0]), Number(dataSync(amax(x))[0])), options);
}

export const methods = { oneHotSync };
/** A tensor, or a promise where the number of classes has to be read. */
export const overloaded = { oneHot };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /** 1 at the index that each element gives along a new last axis, 0 elsewhere: at once, or without classes a promise. */
    oneHot(classes: number, options?: OneHotOptions): Tensor;
    oneHot(classes?: null, options?: OneHotOptions): Promise<Tensor>;
  }
}
