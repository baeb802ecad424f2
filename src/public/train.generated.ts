// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import { guardedAsync } from "./kinds.generated.ts";
import * as $trainFit from "../train/fit.ts";
import * as $trainSummaryWriter from "../train/summary-writer.ts";
export type { Batches } from "../train/loop/options.ts";
export type { CallbackResult } from "../train/loop/options.ts";
export type { EarlyStop } from "../train/loop/options.ts";
export type { EpochReport } from "../train/loop/options.ts";
export type { EvaluateOptions } from "../train/loop/options.ts";
export type { EvaluationValues } from "../train/loop/options.ts";
export type { FitCheckpoint } from "../train/loop/options.ts";
export type { FitEnd } from "../train/loop/options.ts";
export type { FitEvaluation } from "../train/loop/options.ts";
export type { FitEvaluationReport } from "../train/loop/options.ts";
export type { FitOptions } from "../train/loop/options.ts";
export type { FitPage } from "../train/loop/options.ts";
export type { FitReport } from "../train/loop/options.ts";
export type { FitResult } from "../train/loop/options.ts";
export type { LossAndOutputs } from "../train/loop/options.ts";
export type { LossFunction } from "../train/loop/options.ts";
export type { MetricLike } from "../train/loop/options.ts";
export type { ScalarWriter } from "../train/loop/options.ts";
export type { StepReport } from "../train/loop/options.ts";
export type { TextOutput } from "../train/loop/options.ts";
export type { HistogramOptions } from "../train/summary-writer.ts";
export type { HyperParameters } from "../train/summary-writer.ts";
export type { RecordOptions } from "../train/summary-writer.ts";
export type { ScalarValue } from "../train/summary-writer.ts";
export type { SummaryWriterOptions } from "../train/summary-writer.ts";
/**
 * The mean loss of a model over all samples of a loader, and metrics, in eval mode and without gradients. Batches count by their samples: the first axis
 * of the targets, or of the batch's first tensor. The losses are read once, at the end.
 *
 * Result: the values by name, "loss" first. A metric whose value is a list or an object has names with dots ("f1.0").
 * Throws ValueError for a loader without batches, and for metrics where the loss function gives no outputs and targets.
 */
export const evaluate = guardedAsync($trainFit.evaluate, "evaluate", "loader:anything options:metrics_d3d2c2");
/**
 * Trains a model: for each batch of the loader the loss function, its gradients, and a step of the optimizer; around it progress, evaluations, early stop,
 * checkpoints, and a clean end at Ctrl-C. docs/training-loop.md has the same loop to copy.
 *
 * The loop does not wait for the device between two reports: losses are added up on the device, and read every `reportEvery` steps. The batch's type
 * is the loader's. Gradients are cleared first. Resolves to how it ended; rejects with what a loss function, a callback or the loader throws.
 * Throws DTypeError and ShapeError for losses that are no single float, ValueError for options out of their range, for a loader without batches, and
 * for a monitor that no evaluation has.
 */
export const fit = guardedAsync($trainFit.fit, "fit", "loader:anything options:model_d50378");
/**
 * Writes records for TensorBoard into a file of its own in a folder. Each method takes the values of now and returns at once: a tensor's elements are read
 * while the program continues, and records are appended in the order of the calls. The result is false while more than `maxQueue` records wait:
 * `await writer.flush()` then. Steps are integers.
 *
 * Methods throw ValueError once the file cannot be written (a full disk). A record whose values are wrong is left out, and flush() or close() throws
 * its error.
 */
export const SummaryWriter = checkedClass($trainSummaryWriter.SummaryWriter, "folder:anything options:SummaryWriterOptions?", "scalar tag:string value:numberOrTensor step:number options:RecordOptions?;scalars mainTag:string values:recordOfNumberOrTensor step:number options:RecordOptions?;histogram tag:string tensor step:number options:HistogramOptions?;image tag:string tensor step:number options:RecordOptions?;text tag:string value:string step:number options:RecordOptions?;graph of:moduleOrCallback input:tensorOrSummaryInputSpecOrListOfAnything options:GraphOptions?;hparams values:anything metrics:recordOfNumberOrTensor options:RecordOptions?;flush;close");
export type SummaryWriter = $trainSummaryWriter.SummaryWriter;
/**
 * A writer of TensorBoard's event files, in a new file "events.out.tfevents.<seconds>.<host>.<process>.<number>" in a folder, which is made where it is
 * not there. `tensorboard --logdir` of the folder above shows each folder as a run.
 *
 * folder: text or a file: URL. Throws ValueError where no file can be made there, and for options out of their range.
 * Reference: torch.utils.tensorboard.SummaryWriter.
 */
export const summaryWriter = factory(SummaryWriter, $trainSummaryWriter.summaryWriter);
