/** Metrics: values over many batches, accumulated on their device. update() takes a batch without waiting, compute() reads the value. */
export { max, mean, min, sum, type AggregateOptions, type MeanMetric, type ValueMetric } from "./aggregate.ts";
export type { Average, Averaged } from "./averages.ts";
export { collection, type CollectionValues, type MetricCollection, type PredictionMetrics } from "./collection.ts";
export { confusionMatrix, type ConfusionMatrixOptions, type MultilabelConfusionMatrixOptions } from "./confusion.ts";
export { averagePrecision, rocAuc, type CurveOptions } from "./curves.ts";
export type { ClassOptions } from "./labels.ts";
export { Metric, type MetricOptions, type PredictionMetric } from "./metric.ts";
export { perplexity, type PerplexityOptions } from "./perplexity.ts";
export { meanAbsoluteError, meanSquaredError, r2Score, rmse, type MeanSquaredErrorOptions } from "./regression.ts";
export {
  accuracy,
  f1,
  fBeta,
  precision,
  recall,
  topKAccuracy,
  type FBetaOptions,
  type ScoreOptions,
  type TopKAccuracyOptions,
} from "./scores.ts";
