/** Predictions and targets of classifiers as classes. @package */
import { isFloat, isInteger } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { sameShape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { toDType } from "../ops/data/conversion.ts";
import { sigmoid } from "../ops/elementwise/activation.ts";
import { eq, ge, gt, isnan, logicalOr, lt, ne } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { argmax } from "../ops/reduce/extrema.ts";
import { any } from "../ops/reduce/reduce.ts";
import { movedim, reshape, unsqueeze } from "../ops/shape/movement.ts";
import { topk } from "../ops/sort/sort.ts";
import type { MetricOptions } from "./metric.ts";
import { countable, type Problems } from "./problems.ts";

/** Options of metrics of classes. Without numClasses and numLabels: two classes, of which 1 is the positive one (binary). */
export interface ClassOptions extends MetricOptions {
  /** Multiclass: the number of classes, C. */
  readonly numClasses?: number | undefined;
  /** Multilabel: the number of labels, L, each of which is there or not. */
  readonly numLabels?: number | undefined;
  /** Targets of this value are left out. Default: none. */
  readonly ignoreIndex?: number | undefined;
  /** Binary and multilabel, floating predictions: larger probabilities are positive. In [0, 1]. Default: 0.5. */
  readonly threshold?: number | undefined;
  /** Whether floating predictions are logits, of which probabilities are made. Default: false. */
  readonly fromLogits?: boolean | undefined;
}

/** The labels of a batch, flat: int32 of the predictions and targets, and which of them count. Multilabel: [L, n], else [n]. */
export interface Labels {
  readonly predicted: Tensor;
  readonly actual: Tensor;
  readonly counts: Tensor;
  readonly problems: Tensor;
}

const requireCount = (operation: string, name: string, value: number | undefined, min: number): void => {
  if (value !== undefined && (!Number.isSafeInteger(value) || value < min || value > 2 ** 28))
    throw new ValueError(operation, name, `an integer of at least ${min}`, value);
};

export function requireIgnoreIndex(operation: string, ignoreIndex: number | undefined): void {
  if (ignoreIndex !== undefined && (!Number.isSafeInteger(ignoreIndex) || Math.abs(ignoreIndex) > 2 ** 31 - 1))
    throw new ValueError(operation, "ignoreIndex", "an integer of 32 bits", ignoreIndex);
}

export function requireClasses(operation: string, { numClasses, numLabels, ignoreIndex, threshold }: ClassOptions): void {
  requireCount(operation, "numClasses", numClasses, 2);
  requireCount(operation, "numLabels", numLabels, 1);
  requireIgnoreIndex(operation, ignoreIndex);
  if (numClasses !== undefined && numLabels !== undefined)
    throw new ValueError(operation, "numLabels", "absent where numClasses is set", numLabels);
  if (threshold !== undefined && !(threshold >= 0 && threshold <= 1))
    throw new ValueError(operation, "threshold", "in [0, 1]", threshold, "Logits: fromLogits makes probabilities of them.");
  if (threshold !== undefined && numClasses !== undefined)
    throw new ValueError(operation, "threshold", "absent where numClasses is set", threshold);
}

/** What the inputs must be, for errors at compute(). */
export const classProblems = ({ numClasses, ignoreIndex }: ClassOptions): Problems => {
  const classes = `classes in [0, ${numClasses ?? 2})`;
  const target = ignoreIndex === undefined ? classes : `${classes}, or ignoreIndex (${ignoreIndex})`;
  if (numClasses !== undefined) return { target, prediction: classes };
  return { target, prediction: `probabilities in [0, 1] or ${classes}`, hint: "Logits need fromLogits: true." };
};

/** Integers that compare with any class and ignoreIndex: int32, or int64. */
export function integers(operation: string, argument: string, x: Tensor): Tensor {
  if (!isInteger(x.dtype) && x.dtype !== "bool")
    throw new DTypeError(operation, argument, "of an integer dtype or bool", x.describe(), `${argument}.to("int32") casts.`);
  if (x.dtype === "int64") return x;
  return toDType(x, x.dtype === "uint32" || x.dtype === "uint64" ? "int64" : "int32");
}

/** Floating numbers as float32. */
export function floats(operation: string, argument: string, x: Tensor): Tensor {
  if (!isFloat(x.dtype)) throw new DTypeError(operation, argument, "of a floating dtype", x.describe());
  return toDType(x, "float32");
}

/** Throws ShapeError unless scores [N, C, ...] have targets [N, ...]. */
export function requireScores(operation: string, classes: number, prediction: Tensor, target: Tensor): void {
  const [n, , ...rest] = prediction.shape;
  if (prediction.rank < 2 || prediction.shape[1] !== classes)
    throw new ShapeError(operation, "prediction", `[N, ${classes}, ...]`, prediction.describe());
  if (!sameShape(target.shape, [n!, ...rest])) throw new ShapeError(operation, "target", showShape([n!, ...rest]), target.describe());
}

export function requireSameShape(operation: string, prediction: Tensor, target: Tensor): void {
  if (!sameShape(prediction.shape, target.shape))
    throw new ShapeError(operation, "target", `${showShape(prediction.shape)}, like prediction`, target.describe());
}

/** Throws ShapeError unless both are [N, L, ...]. */
export function requireLabels(operation: string, labels: number, prediction: Tensor, target: Tensor): void {
  if (prediction.rank < 2 || prediction.shape[1] !== labels)
    throw new ShapeError(operation, "prediction", `[N, ${labels}, ...]`, prediction.describe());
  requireSameShape(operation, prediction, target);
}

export const outside = (x: Tensor, classes: number): Tensor => logicalOr(lt(x, 0), ge(x, classes));
/** Which targets are not ignored; null: all. */
export const keptOf = (target: Tensor, ignoreIndex: number | undefined): Tensor | null =>
  ignoreIndex === undefined ? null : ne(target, ignoreIndex);
/** Numbers outside of [0, 1], NaN not among them. */
export const improbable = (x: Tensor): Tensor => logicalOr(lt(x, 0), gt(x, 1));

/** The class with the largest score; with topK, the target if its score is among the k largest. */
function chosen(scores: Tensor, actual: Tensor, topK: number): Tensor {
  const best = argmax(scores, 1);
  if (topK === 1) return best;
  const { indices } = topk(scores, topK, 1);
  const wanted = toDType(actual, "int32");
  return where(any(eq(indices, unsqueeze(wanted, 1)), 1), wanted, best);
}

/** Predictions as classes, of floating scores or classes; and where they are out of range or NaN. */
function classesOf(
  operation: string,
  prediction: Tensor,
  actual: Tensor,
  { numClasses, threshold = 0.5, fromLogits }: ClassOptions,
  topK: number,
): { readonly predicted: Tensor; readonly faulty: Tensor | null; readonly nan: Tensor | null } {
  if (!isFloat(prediction.dtype)) {
    if (topK > 1) throw new DTypeError(operation, "prediction", "of a floating dtype, since topK needs scores", prediction.describe());
    const predicted = integers(operation, "prediction", prediction);
    return { predicted, faulty: outside(predicted, numClasses ?? 2), nan: null };
  }
  const x = toDType(prediction, "float32");
  if (numClasses !== undefined) return { predicted: chosen(x, actual, topK), faulty: null, nan: any(isnan(x), 1) };
  const predicted = toDType(gt(fromLogits === true ? sigmoid(x) : x, threshold), "int32");
  return { predicted, faulty: fromLogits === true ? null : improbable(x), nan: isnan(x) };
}

/** The labels of a batch, null for one without elements. Throws for shapes and dtypes. */
export function labelsOf(operation: string, prediction: Tensor, target: Tensor, options: ClassOptions, topK = 1): Labels | null {
  const { numClasses, numLabels, ignoreIndex } = options;
  if (numLabels !== undefined) requireLabels(operation, numLabels, prediction, target);
  else if (numClasses !== undefined && isFloat(prediction.dtype)) requireScores(operation, numClasses, prediction, target);
  else requireSameShape(operation, prediction, target);
  const actual = integers(operation, "target", target);
  if (target.size === 0) return null;
  const { predicted, faulty, nan } = classesOf(operation, prediction, actual, options, topK);
  const faults = { target: outside(actual, numClasses ?? 2), prediction: faulty, nan };
  const { counts, problems } = countable(keptOf(actual, ignoreIndex), faults);
  const flat = (t: Tensor): Tensor =>
    numLabels === undefined ? reshape(t, [t.size]) : reshape(movedim(t, 1, 0), [numLabels, t.size / numLabels]);
  const labels = (t: Tensor): Tensor => flat(toDType(where(counts, t, 0), "int32"));
  return { predicted: labels(predicted), actual: labels(actual), counts: flat(counts), problems };
}
