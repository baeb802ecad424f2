/** Accuracy, precision, recall and F-scores: of the counts of each class. */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add } from "../ops/elementwise/binary.ts";
import { eq, logicalAnd } from "../ops/elementwise/compare.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { cat, stack } from "../ops/shape/join.ts";
import { averaged, ratio, requireOneOf, requireZeroDivision, type Average, type Averaged } from "./averages.ts";
import { classProblems, labelsOf, requireClasses, type ClassOptions, type Labels } from "./labels.ts";
import { PredictionMetric, settingsOf, type MetricOptions, type PairRule } from "./metric.ts";
import { hadNaN, problemsState } from "./problems.ts";
import { addAll, countAt } from "./sums.ts";

/** Options of accuracy(), precision(), recall() and f1(). */
export interface ScoreOptions<A extends Average = Average> extends ClassOptions {
  /** Multiclass and multilabel: how the scores become one. Default: "micro" of accuracy(), "macro" of the others. */
  readonly average?: A | undefined;
  /**
   * Multiclass, floating predictions: a target counts as predicted if its score is among the k largest. Above 1, macro of accuracy, precision and
   * recall is the mean of the classes that are targets, as in torchmetrics. In [1, C]. Default: 1.
   */
  readonly topK?: number | undefined;
  /** The score of a class whose denominator is 0: 0, 1, or NaN, which is left out of means. Default: 0. */
  readonly zeroDivision?: number | undefined;
}

/** Options of fBeta(). */
export interface FBetaOptions<A extends Average = Average> extends ScoreOptions<A> {
  /** How much more recall counts than precision. Above 0. */
  readonly beta: number;
}

/** Options of topKAccuracy(). */
export interface TopKAccuracyOptions<A extends Average = Average> extends MetricOptions {
  /** Number of classes, C. */
  readonly numClasses: number;
  /** How many of the largest scores count. In [1, C]. Default: 5. */
  readonly k?: number | undefined;
  /** How the scores of classes become one. Default: "micro". */
  readonly average?: A | undefined;
  /** Targets of this value are left out. Default: none. */
  readonly ignoreIndex?: number | undefined;
}

/** Counts of a class or label, or sums of them. */
interface Counts {
  /** True positives. */
  readonly hits: number;
  readonly predicted: number;
  readonly actual: number;
  readonly total: number;
}
type Score = (counts: Counts, zeroDivision: number) => number;

const precisionOf: Score = ({ hits, predicted }, zeroDivision) => ratio(hits, predicted, zeroDivision);
const recallOf: Score = ({ hits, actual }, zeroDivision) => ratio(hits, actual, zeroDivision);
const fBetaOf =
  (beta: number): Score =>
  ({ hits, predicted, actual }, zeroDivision) =>
    ratio((1 + beta * beta) * hits, beta * beta * actual + predicted, zeroDivision);
/** The part of a label's samples that are right, where it is there and where it is not. */
const agreementOf: Score = ({ hits, predicted, actual, total }) => ratio(total - predicted - actual + 2 * hits, total);

/** [hits, predicted, actual, 0] of each class: [4, C] int64. */
function countClasses({ predicted, actual, counts }: Labels, classes: number): Tensor {
  const hits = logicalAnd(counts, eq(predicted, actual));
  return countAt(cat([hits, counts, counts]), cat([actual, add(predicted, classes), add(actual, 2 * classes)]), [4, classes]);
}

/** The same of each label; total counts its samples. */
function countLabels({ predicted, actual, counts }: Labels): Tensor {
  const each = (mask: Tensor): Tensor => sum(toDType(mask, "int32"), 1);
  const [isPredicted, isActual] = [eq(predicted, 1), eq(actual, 1)];
  return toDType(stack([each(logicalAnd(isPredicted, isActual)), each(isPredicted), each(isActual), each(counts)]), "int64");
}

const sumOfCounts = (list: readonly Counts[]): Counts =>
  list.reduce((a, b) => ({
    hits: a.hits + b.hits,
    predicted: a.predicted + b.predicted,
    actual: a.actual + b.actual,
    total: a.total + b.total,
  }));

function scoreMetric<A extends Average>(
  operation: string,
  score: Score,
  options: ScoreOptions<A> & { readonly beta?: number },
  fallback: Average,
): PredictionMetric<Averaged<A>> {
  requireClasses(operation, options);
  const { average = fallback, topK = 1, zeroDivision = 0, numClasses, numLabels, ignoreIndex, threshold, fromLogits, beta } = options;
  requireZeroDivision(operation, zeroDivision);
  requireOneOf(operation, "average", average, ["micro", "macro", "weighted", "none"]);
  const isBinary = numClasses === undefined && numLabels === undefined;
  if (isBinary && options.average !== undefined)
    throw new ValueError(operation, "average", "absent without numClasses and numLabels", average);
  if (!Number.isSafeInteger(topK) || topK < 1 || topK > (numClasses ?? 1))
    throw new ValueError(
      operation,
      "topK",
      numClasses === undefined ? "absent without numClasses" : `an integer in [1, ${numClasses}]`,
      topK,
    );
  const width = numClasses ?? numLabels ?? 2;
  const isAccuracy = score === agreementOf;
  const countsPredicted = topK === 1 || ![agreementOf, precisionOf, recallOf].includes(score);

  const value = (each: readonly Counts[]): number | number[] => {
    // Of two classes, or of many together, accuracy is the recall.
    const own: Score = isAccuracy && numLabels === undefined ? recallOf : score;
    if (isBinary) return own(isAccuracy ? sumOfCounts(each) : each[1]!, zeroDivision);
    if (average === "micro") return own(sumOfCounts(each), zeroDivision);
    const scores = each.map((counts) => own(counts, zeroDivision));
    if (average === "none") return scores;
    const weight = ({ predicted, actual }: Counts): number => {
      if (average === "weighted") return actual;
      return Number(numLabels !== undefined || actual > 0 || (countsPredicted && predicted > 0));
    };
    return averaged(scores, each.map(weight));
  };

  const rule: PairRule<number | number[]> = {
    operation,
    settings: settingsOf({
      numClasses,
      numLabels,
      average: isBinary ? null : average,
      beta,
      topK: topK === 1 ? null : topK,
      zeroDivision: zeroDivision === 0 ? null : zeroDivision,
      ignoreIndex,
      threshold,
      fromLogits,
    }),
    states: [{ name: "counts", shape: [4, width], dtype: "int64" }, problemsState],
    problems: classProblems(options),
    batch(prediction, target) {
      const labels = labelsOf(operation, prediction, target, options, topK);
      if (labels === null) return null;
      return [numLabels === undefined ? countClasses(labels, width) : countLabels(labels), labels.problems];
    },
    combine: addAll,
    result([counts, problems]) {
      const of = (row: number, i: number): number => counts![row * width + i]!;
      const each = Array.from({ length: width }, (_, i) => ({ hits: of(0, i), predicted: of(1, i), actual: of(2, i), total: of(3, i) }));
      const all = sumOfCounts(each);
      const isUnknown = hadNaN(problems!) || (numLabels === undefined ? all.actual : all.total) === 0;
      if (!isUnknown) return value(each);
      return average === "none" ? each.map(() => NaN) : NaN;
    },
  };
  return new PredictionMetric(rule as PairRule<Averaged<A>>, options);
}

/**
 * The part of samples whose class is the target. macro: the mean of the classes' recalls; multilabel: of each label's part of right samples.
 *
 * prediction: binary, probabilities [...] of a floating dtype (logits with fromLogits) or classes [...] as integers or bool; multiclass, scores [N, C, ...] of a
 * floating dtype or classes [N, ...]; multilabel, probabilities or 0 and 1 [N, L, ...]. target: classes as integers or bool, [...], [N, ...], [N, L, ...].
 * compute(): a number, with average "none" one for each class.
 * update() throws ShapeError and DTypeError. compute() rejects with ValueError for targets, classes or probabilities out of range.
 * Reference: torchmetrics.Accuracy.
 */
export const accuracy = <A extends Average = "micro">(options: ScoreOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  scoreMetric("accuracy", agreementOf, options, "micro");

/**
 * The part of samples whose target is among the k classes with the largest scores: accuracy() with topK.
 * prediction: [N, C, ...] of a floating dtype. target: integers [N, ...]. compute() and errors: as accuracy()'s. Reference: torchmetrics.Accuracy with top_k.
 */
export const topKAccuracy = <A extends Average = "micro">({ k = 5, ...options }: TopKAccuracyOptions<A>): PredictionMetric<Averaged<A>> => {
  if (!Number.isSafeInteger(k) || k < 1 || k > options.numClasses)
    throw new ValueError("topKAccuracy", "k", `an integer in [1, ${options.numClasses}]`, k);
  return scoreMetric("topKAccuracy", agreementOf, { ...options, topK: k }, "micro");
};

/**
 * The part of the predictions of a class that are right; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.Precision, sklearn.metrics.precision_score.
 */
export const precision = <A extends Average = "macro">(options: ScoreOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  scoreMetric("precision", precisionOf, options, "macro");

/**
 * The part of the targets of a class that are predicted; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.Recall, sklearn.metrics.recall_score.
 */
export const recall = <A extends Average = "macro">(options: ScoreOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  scoreMetric("recall", recallOf, options, "macro");

/**
 * The harmonic mean of precision and recall of a class; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.F1Score, sklearn.metrics.f1_score.
 */
export const f1 = <A extends Average = "macro">(options: ScoreOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  scoreMetric("f1", fBetaOf(1), options, "macro");

/**
 * The weighted harmonic mean of precision and recall of a class, (1 + beta²) precision recall / (beta² precision + recall); binary: of class 1.
 * Inputs, compute() and errors: as accuracy()'s. Throws ValueError for a beta that is not above 0. Reference: torchmetrics.FBetaScore.
 */
export const fBeta = <A extends Average = "macro">(options: FBetaOptions<A>): PredictionMetric<Averaged<A>> => {
  const { beta } = options;
  if (!(beta > 0 && Number.isFinite(beta))) throw new ValueError("fBeta", "beta", "a number above 0", beta);
  return scoreMetric("fBeta", fBetaOf(beta), options, "macro");
};
