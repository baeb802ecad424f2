/** Training: what a loop reports. */
export {
  SummaryWriter,
  summaryWriter,
  type HistogramOptions,
  type HyperParameters,
  type RecordOptions,
  type ScalarValue,
  type SummaryWriterOptions,
} from "./summary-writer.ts";
