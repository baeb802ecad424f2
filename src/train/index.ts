/** Training: the loop, and what it reports. */
export { evaluate, fit } from "./fit.ts";
export type {
  Batches,
  CallbackResult,
  EarlyStop,
  EpochReport,
  EvaluateOptions,
  EvaluationValues,
  FitCheckpoint,
  FitEnd,
  FitEvaluation,
  FitEvaluationReport,
  FitOptions,
  FitPage,
  FitReport,
  FitResult,
  LossAndOutputs,
  LossFunction,
  MetricLike,
  ScalarWriter,
  StepReport,
  TextOutput,
} from "./loop/options.ts";
export {
  SummaryWriter,
  summaryWriter,
  type HistogramOptions,
  type HyperParameters,
  type RecordOptions,
  type ScalarValue,
  type SummaryWriterOptions,
} from "./summary-writer.ts";
