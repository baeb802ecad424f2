// Made by npm run generate from the families in src/ops.
import { checkMethods } from "./kinds.generated.ts";
import { guarded } from "./kinds.generated.ts";
import * as $metricsAggregate from "../metrics/aggregate.ts";
import * as $metricsCollection from "../metrics/collection.ts";
import * as $metricsConfusion from "../metrics/confusion.ts";
import * as $metricsCurves from "../metrics/curves.ts";
import * as $metricsMetric from "../metrics/metric.ts";
import * as $metricsPerplexity from "../metrics/perplexity.ts";
import * as $metricsRegression from "../metrics/regression.ts";
import * as $metricsScores from "../metrics/scores.ts";
export type { AggregateOptions } from "../metrics/aggregate.ts";
export type { MeanMetric } from "../metrics/aggregate.ts";
export type { ValueMetric } from "../metrics/aggregate.ts";
export type { Average } from "../metrics/averages.ts";
export type { Averaged } from "../metrics/averages.ts";
export type { CollectionValues } from "../metrics/collection.ts";
export type { MetricCollection } from "../metrics/collection.ts";
export type { PredictionMetrics } from "../metrics/collection.ts";
export type { ConfusionMatrixOptions } from "../metrics/confusion.ts";
export type { MultilabelConfusionMatrixOptions } from "../metrics/confusion.ts";
export type { CurveOptions } from "../metrics/curves.ts";
export type { ClassOptions } from "../metrics/labels.ts";
export type { MetricOptions } from "../metrics/metric.ts";
export type { PredictionMetric } from "../metrics/metric.ts";
export type { PerplexityOptions } from "../metrics/perplexity.ts";
export type { MeanSquaredErrorOptions } from "../metrics/regression.ts";
export type { FBetaOptions } from "../metrics/scores.ts";
export type { ScoreOptions } from "../metrics/scores.ts";
export type { TopKAccuracyOptions } from "../metrics/scores.ts";
/** The largest value. Inputs and errors: as min()'s. compute(): a number, -Infinity before the first value. Reference: torchmetrics.MaxMetric. */
export const max = guarded($metricsAggregate.max, "metrics.max", "options:AggregateOptions?");
/**
 * The weighted mean of values, such as the losses of batches with their numbers of samples as weights. update(value, weight): numbers, or tensors of numbers.
 * compute(): a number, NaN where the weights' sum is 0. Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.MeanMetric.
 */
export const mean = guarded($metricsAggregate.mean, "metrics.mean", "options:AggregateOptions?");
/**
 * The smallest value. update(value): a number, or numbers of any shape, as float32. compute(): a number, Infinity before the first value.
 * Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.MinMetric.
 */
export const min = guarded($metricsAggregate.min, "metrics.min", "options:AggregateOptions?");
/**
 * The sum of values. update(value): a number, or numbers of any shape; integers are summed exactly within a batch. compute(): a number, 0 before the first
 * value. Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.SumMetric.
 */
export const sum = guarded($metricsAggregate.sum, "metrics.sum", "options:AggregateOptions?");
/**
 * Metrics that take the same batches: update(prediction, target) of each, and compute() gives an object of their values by name.
 * Throws ValueError for none, DTypeError for what is no metric of predictions. Reference: torchmetrics.MetricCollection.
 */
export const collection = guarded($metricsCollection.collection, "metrics.collection", "metrics:recordOfPredictionMetric");
/**
 * How often each class (rows) is predicted as each class (columns).
 *
 * Inputs and errors: as accuracy()'s. compute(): rows of numbers, [C][C], binary [2][2], multilabel a matrix for each label, [L][2][2]. Counts, or parts of
 * them with normalize: 0 where the divisor is 0. All are NaN where a prediction was NaN.
 * Reference: torchmetrics.ConfusionMatrix, sklearn.metrics.confusion_matrix.
 */
export const confusionMatrix = guarded($metricsConfusion.confusionMatrix, "metrics.confusionMatrix", "options:ConfusionMatrixOptions?");
/**
 * The mean of the precisions at each threshold, weighted by the increase in recall: a summary of the precision-recall curve without interpolation.
 *
 * Inputs, compute() and errors: as rocAuc()'s; NaN for a class without positives.
 * Reference: torchmetrics.AveragePrecision, sklearn.metrics.average_precision_score.
 */
export const averagePrecision = guarded($metricsCurves.averagePrecision, "metrics.averagePrecision", "options:device_e1d409?");
/**
 * The area under the ROC curve: the probability that a positive sample has a larger score than a negative one, where equal scores count half.
 *
 * prediction: scores of a floating dtype: binary [...], multiclass probabilities (logits with fromLogits) [N, C, ...], multilabel [N, L, ...]. Binary and multilabel
 * scores may have any range without thresholds. target: classes as integers or bool, [...], [N, ...], [N, L, ...].
 * compute(): a number, with average "none" one for each class. NaN for a class without positives or without negatives, which macro leaves out. Without
 * thresholds the state holds all scores, which compute() reads and sorts on the host; with them it is the area of the polygon through the thresholds'
 * points and both corners.
 * update() throws ShapeError and DTypeError; without thresholds TraceError inside compile(). compute() rejects with ValueError for targets and
 * probabilities out of range. Reference: torchmetrics.AUROC, sklearn.metrics.roc_auc_score.
 */
export const rocAuc = guarded($metricsCurves.rocAuc, "metrics.rocAuc", "options:device_e1d409?");
export { Metric } from "../metrics/metric.ts";
checkMethods($metricsMetric.Metric, "compute;reset;merge other:metric;to target:deviceOrStringOrDtype");
/**
 * exp of the mean of -log softmax(prediction)[target]: how many classes a language model chooses among on average.
 *
 * prediction: logits [..., C] of a floating dtype, computed in float32. target: integers [...]. compute(): a number, NaN without samples and for a NaN among
 * the logits; rejects with ValueError for targets outside of [0, C). update() throws ShapeError, DTypeError. Reference: torchmetrics.text.Perplexity.
 */
export const perplexity = guarded($metricsPerplexity.perplexity, "metrics.perplexity", "options:PerplexityOptions?");
/** The mean of |prediction - target| over all elements. Inputs and errors: as meanSquaredError()'s. Reference: torchmetrics.MeanAbsoluteError. */
export const meanAbsoluteError = guarded($metricsRegression.meanAbsoluteError, "metrics.meanAbsoluteError", "options:MetricOptions?");
/**
 * The mean of (prediction - target)² over all elements, or with squared false its square root.
 *
 * prediction, target: numbers of equal shapes, computed in float32 and summed over batches with compensation. compute(): a number, NaN without elements.
 * update() throws ShapeError, DTypeError for bool. Reference: torchmetrics.MeanSquaredError.
 */
export const meanSquaredError = guarded($metricsRegression.meanSquaredError, "metrics.meanSquaredError", "options:MeanSquaredErrorOptions?");
/**
 * 1 - (sum of squared errors) / (sum of squared differences of the targets from their mean), over all elements.
 *
 * Inputs and errors: as meanSquaredError()'s. Batches are combined by their means, so targets far from 0 lose no more digits than in one batch.
 * compute(): a number, NaN for fewer than two elements; for equal targets 1 if the predictions equal them, else 0.
 * Reference: torchmetrics.R2Score, sklearn.metrics.r2_score.
 */
export const r2Score = guarded($metricsRegression.r2Score, "metrics.r2Score", "options:MetricOptions?");
/** The square root of the mean of (prediction - target)². Inputs and errors: as meanSquaredError()'s. Reference: torchmetrics.MeanSquaredError with squared=False. */
export const rmse = guarded($metricsRegression.rmse, "metrics.rmse", "options:MetricOptions?");
/**
 * The part of samples whose class is the target. macro: the mean of the classes' recalls; multilabel: of each label's part of right samples.
 *
 * prediction: binary, probabilities [...] of a floating dtype (logits with fromLogits) or classes [...] as integers or bool; multiclass, scores [N, C, ...] of a
 * floating dtype or classes [N, ...]; multilabel, probabilities or 0 and 1 [N, L, ...]. target: classes as integers or bool, [...], [N, ...], [N, L, ...].
 * compute(): a number, with average "none" one for each class.
 * update() throws ShapeError and DTypeError. compute() rejects with ValueError for targets, classes or probabilities out of range.
 * Reference: torchmetrics.Accuracy.
 */
export const accuracy = guarded($metricsScores.accuracy, "metrics.accuracy", "options:device_73f08e?");
/**
 * The harmonic mean of precision and recall of a class; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.F1Score, sklearn.metrics.f1_score.
 */
export const f1 = guarded($metricsScores.f1, "metrics.f1", "options:device_73f08e?");
/**
 * The weighted harmonic mean of precision and recall of a class, (1 + beta²) precision recall / (beta² precision + recall); binary: of class 1.
 * Inputs, compute() and errors: as accuracy()'s. Throws ValueError for a beta that is not above 0. Reference: torchmetrics.FBetaScore.
 */
export const fBeta = guarded($metricsScores.fBeta, "metrics.fBeta", "options:device_d35f5f");
/**
 * The part of the predictions of a class that are right; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.Precision, sklearn.metrics.precision_score.
 */
export const precision = guarded($metricsScores.precision, "metrics.precision", "options:device_73f08e?");
/**
 * The part of the targets of a class that are predicted; binary: of class 1. Inputs, compute() and errors: as accuracy()'s.
 * Reference: torchmetrics.Recall, sklearn.metrics.recall_score.
 */
export const recall = guarded($metricsScores.recall, "metrics.recall", "options:device_73f08e?");
/**
 * The part of samples whose target is among the k classes with the largest scores: accuracy() with topK.
 * prediction: [N, C, ...] of a floating dtype. target: integers [N, ...]. compute() and errors: as accuracy()'s. Reference: torchmetrics.Accuracy with top_k.
 */
export const topKAccuracy = guarded($metricsScores.topKAccuracy, "metrics.topKAccuracy", "options:device_e25ae2");
