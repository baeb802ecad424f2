// Made by npm run generate from the families in src/ops.
import { checkedClass } from "./kinds.generated.ts";
import { factory } from "./kinds.generated.ts";
import * as $trainSummaryWriter from "../train/summary-writer.ts";
export type { HistogramOptions } from "../train/summary-writer.ts";
export type { HyperParameters } from "../train/summary-writer.ts";
export type { RecordOptions } from "../train/summary-writer.ts";
export type { ScalarValue } from "../train/summary-writer.ts";
export type { SummaryWriterOptions } from "../train/summary-writer.ts";
/**
 * Writes records for TensorBoard into a file of its own in a folder. Each method takes the values of now and returns at once: a tensor's elements are read
 * while the program continues, and records are appended in the order of the calls. The result is false while more than `maxQueue` records wait:
 * `await writer.flush()` then. Steps are integers.
 *
 * Methods throw ValueError once the file cannot be written (a full disk). A record whose values are wrong is left out, and flush() or close() throws
 * its error.
 */
export const SummaryWriter = checkedClass($trainSummaryWriter.SummaryWriter, "folder:anything options:SummaryWriterOptions?", "scalar tag:string value:numberOrTensor step:number options:RecordOptions?;scalars mainTag:string values:recordOfNumberOrTensor step:number options:RecordOptions?;histogram tag:string tensor step:number options:HistogramOptions?;image tag:string tensor step:number options:RecordOptions?;text tag:string value:string step:number options:RecordOptions?;hparams values:anything metrics:recordOfNumberOrTensor options:RecordOptions?;flush;close");
export type SummaryWriter = $trainSummaryWriter.SummaryWriter;
/**
 * A writer of TensorBoard's event files, in a new file "events.out.tfevents.<seconds>.<host>.<process>.<number>" in a folder, which is made where it is
 * not there. `tensorboard --logdir` of the folder above shows each folder as a run.
 *
 * folder: text or a file: URL. Throws ValueError where no file can be made there, and for options out of their range.
 * Reference: torch.utils.tensorboard.SummaryWriter.
 */
export const summaryWriter = factory(SummaryWriter, $trainSummaryWriter.summaryWriter);
