/** What fit() and evaluate() take and give. */
import type { AutocastDType } from "../../core/autocast.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { CompileOptions } from "../../compile/compile.ts";
import type { FilePath } from "../../host/source.ts";
import type { Module } from "../../nn/module.ts";
import type { Generator } from "../../ops/random/random.ts";
import type { GradScaler } from "../../optim/grad-scaler.ts";
import type { Optimizer } from "../../optim/optimizer.ts";
import type { LRScheduler } from "../../optim/schedules/scheduler.ts";

/** Batches: a DataLoader, a StreamLoader, an array, or anything that `for await` takes and that can be read once for each epoch. */
export type Batches<B> = Iterable<B> | AsyncIterable<B>;

/** The loss of a batch with what metrics compare. */
export interface LossAndOutputs {
  /** One element, of a float dtype: the mean over the batch. */
  readonly loss: Tensor;
  /** What the model found: the first argument of each metric's update(). */
  readonly outputs?: unknown;
  /** What it should have found: the second argument. */
  readonly targets?: unknown;
}

/** Computes the loss of a batch, synchronously. */
export type LossFunction<B> = (batch: B) => Tensor | LossAndOutputs;

/** A value over all batches since reset(), as those of dx.metrics: any object with these methods. Reference: torchmetrics.Metric. @open */
export interface MetricLike {
  /** Takes the outputs and targets of a batch into account. */
  update(outputs: unknown, targets: unknown): unknown;
  /** The value: a number, a tensor with one element, or lists and objects of these. May return a promise. */
  compute(): unknown;
  /** Forgets all batches. */
  reset(): unknown;
}

/** What gets numbers by name and step: a SummaryWriter, or any object with this method. @open */
export interface ScalarWriter {
  /** Takes a number. */
  scalar(tag: string, value: number, step: number): unknown;
}

/** Where text goes: a stream of Node, or any object with this method. @open */
export interface TextOutput {
  /** Takes whole lines. */
  write(text: string): unknown;
}

/** What evaluate() and the evaluations of fit() have in common. */
interface EvaluationOptions {
  /** By name. They are reset before and after each evaluation. */
  readonly metrics?: Readonly<Record<string, MetricLike>> | undefined;
}

/** Options of evaluate(). */
export interface EvaluateOptions<B> extends EvaluationOptions {
  /** The model: in eval mode during the evaluation, and as it was afterwards. */
  readonly model: Module;
  /** Computes the loss of a batch. */
  readonly loss: LossFunction<B>;
  /** Runs the loss function inside autocast(). Default: as the code around does. */
  readonly autocast?: AutocastDType | undefined;
  /** Compiles the loss function; options of compile() too. Default: false. */
  readonly compile?: boolean | CompileOptions | undefined;
  /** Draws a bar of the batches on standard error where that is a terminal. Default: true, false on all ranks but the first. */
  readonly progress?: boolean | undefined;
  /** Ends the evaluation between two batches: it throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** The evaluations of fit(). */
export interface FitEvaluation<B> extends EvaluationOptions {
  /** The batches of each evaluation. Not the loader of the training, which has one position. */
  readonly loader: Batches<B>;
  /** Computes the loss of a batch in eval mode. Default: fit()'s. */
  readonly loss?: LossFunction<B> | undefined;
  /** Evaluates after every so many epochs. Default: 1, or never with everySteps. */
  readonly everyEpochs?: number | undefined;
  /** Evaluates after every so many steps. */
  readonly everySteps?: number | undefined;
}

/** When fit() stops early. */
export interface EarlyStop {
  /** Evaluations without an improvement of `monitor` until training stops. Default: 3. */
  readonly patience?: number | undefined;
  /** What an improvement is more than. Default: 0. */
  readonly minDelta?: number | undefined;
}

/**
 * The checkpoints of fit(): "step-N.safetensors", and "best.safetensors" of the best evaluation. Both have the whole state of the training. In a process group
 * all ranks write them, into a folder that all see, as dx.distributed.save() does, and any number of ranks resumes.
 */
export interface FitCheckpoint {
  /** Where they are; made if it does not exist. */
  readonly folder: FilePath;
  /** Saves after every so many epochs. Default: 1, or never with everySteps. The end of the training is always saved. */
  readonly everyEpochs?: number | undefined;
  /** Saves after every so many steps. */
  readonly everySteps?: number | undefined;
  /** How many of "step-N.safetensors" stay. Default: 1. */
  readonly keepLast?: number | undefined;
  /** Whether the best is saved too. Default: true. */
  readonly best?: boolean | undefined;
  /** More to save and load, by name: averages of weights, generators, plain data. */
  readonly state?: Readonly<Record<string, unknown>> | undefined;
  /**
   * true: begins where the folder's last checkpoint ends, or at the beginning where there is none. A path: with this checkpoint. On the software adapter the
   * training then equals the uninterrupted one bit for bit. Default: false.
   */
  readonly resume?: boolean | FilePath | undefined;
}

/** Where the page of a training is served. */
export interface FitPage {
  /** The port on 127.0.0.1; 0: any that is free. */
  readonly port: number;
}

/** A report while training. */
export interface FitReport {
  /** Optimizer steps so far, from 1. */
  readonly step: number;
  /** The running epoch, from 0. */
  readonly epoch: number;
  /** Mean loss of the batches since the last report. */
  readonly loss: number;
  /** The learning rate of the optimizer's first group. */
  readonly lr: number;
  /** Steps per second since the last report. */
  readonly stepsPerSecond: number;
  /** An estimate until the end; null where the number of steps is not known. */
  readonly secondsLeft: number | null;
}

/** The values of an evaluation by name: "loss", and those of the metrics. */
export type EvaluationValues = Readonly<Record<string, number>>;

/** An evaluation while training. */
export interface FitEvaluationReport {
  /** Optimizer steps so far. */
  readonly step: number;
  /** The epoch, from 0. */
  readonly epoch: number;
  /** "loss", and the metrics. */
  readonly values: EvaluationValues;
  /** Whether the monitored value is the best so far. */
  readonly isBest: boolean;
}

/** The end of an epoch. */
export interface EpochReport {
  /** The epoch that ended, from 0. */
  readonly epoch: number;
  /** Optimizer steps so far. */
  readonly step: number;
  /** Mean loss of the epoch's batches. */
  readonly loss: number;
  /** The values of the evaluation at its end; null without one. */
  readonly evaluation: EvaluationValues | null;
}

/** A step, before its tensors are disposed of. Reading one waits for the device. */
export interface StepReport<B> extends LossAndOutputs {
  /** Optimizer steps so far, from 1. */
  readonly step: number;
  /** The running epoch, from 0. */
  readonly epoch: number;
  /** The step's last batch. */
  readonly batch: B;
}

/** What a callback returns: "stop" ends the training after this step, with a checkpoint. fit() waits for promises. */
export type CallbackResult = void | "stop" | Promise<void | "stop">;

/** Options of fit(). */
export interface FitOptions<B> {
  /** The model, which is set to train() unless it is already: modules of it that were set to eval() then stay so. */
  readonly model: Module;
  /** Updates the model's parameters. LBFGS and others whose step() needs a function are not for fit(). */
  readonly optimizer: Optimizer;
  /** Computes the loss of a batch. It runs on tensors alone and does not wait for the device. */
  readonly loss: LossFunction<B>;
  /** Passes over the loader, those of a resumed training included. One of epochs and steps is required; the first that is reached ends the training. */
  readonly epochs?: number | undefined;
  /** Optimizer steps, those of a resumed training included. */
  readonly steps?: number | undefined;
  /** Batches whose gradients make one step: their mean. At the end of an epoch the batches that are left make a step. Default: 1. */
  readonly accumulate?: number | undefined;
  /** The most that the norm of all gradients is. Reference: torch.nn.utils.clip_grad_norm_. */
  readonly clipNorm?: number | undefined;
  /** The most that the absolute value of each gradient's element is. Reference: torch.nn.utils.clip_grad_value_. */
  readonly clipValue?: number | undefined;
  /** Runs the loss function inside autocast(). */
  readonly autocast?: AutocastDType | undefined;
  /** Scales losses in half precision; false: none. Default: a new GradScaler if autocast is "float16". */
  readonly scaler?: GradScaler | false | undefined;
  /** Compiles the step; options of compile() too. Default: false. */
  readonly compile?: boolean | CompileOptions | undefined;
  /** Changes the learning rates. */
  readonly schedule?: LRScheduler | undefined;
  /** When the schedule steps. ReduceLROnPlateau steps with each value of `monitor` instead. Default: "epoch". */
  readonly scheduleEach?: "step" | "epoch" | undefined;
  /** Evaluates while training. */
  readonly evaluate?: FitEvaluation<B> | undefined;
  /** The value that tells which evaluation is best: "loss" or a metric's name. Without `evaluate`: the epoch's mean "loss". Default: "loss". */
  readonly monitor?: string | undefined;
  /** Whether less or more of it is better. Default: "min". */
  readonly mode?: "min" | "max" | undefined;
  /** Stops when `monitor` no longer gets better. Default: never. */
  readonly earlyStop?: EarlyStop | undefined;
  /** Saves checkpoints. Default: none. */
  readonly checkpoint?: FitCheckpoint | undefined;
  /** Generators that are part of the checkpoints in addition to the default one, by which batches or dropout are drawn. */
  readonly generators?: readonly Generator[] | undefined;
  /** Seeds the default generator before the first step. Default: it is left as it is. Its seed is printed. */
  readonly seed?: number | undefined;
  /** Steps between two reports. Losses are read for reports alone. Default: 50. */
  readonly reportEvery?: number | undefined;
  /** Prints nothing. Default: false. */
  readonly quiet?: boolean | undefined;
  /** Whether every rank of a process group prints, draws, serves its page and records scalars. Default: false: the first one alone. */
  readonly allRanks?: boolean | undefined;
  /** Prints each report as one line of JSON with an "event". Default: false: text. */
  readonly json?: boolean | undefined;
  /**
   * Draws a bar with rate, estimate, loss and metrics on standard error in place of the text of reports, where standard error is a terminal. Never with `json`.
   * Default: true, false with `quiet` or `output`.
   */
  readonly progress?: boolean | undefined;
  /**
   * A page with charts of losses, metrics, learning rate, speed and memory. true or a port: served on 127.0.0.1 while the training runs; true takes a free port.
   * A path: one HTML file that needs no network, written after each epoch and at the end. Default: none.
   */
  readonly page?: boolean | FitPage | FilePath | undefined;
  /** Where reports are printed. Default: process.stdout. */
  readonly output?: TextOutput | undefined;
  /** Gets the reports as scalars: loss/train, learningRate, loss/evaluate and the metrics. Whoever made it closes it. */
  readonly summaryWriter?: ScalarWriter | undefined;
  /**
   * Whether the first SIGINT (Ctrl-C) ends the training after its step, with a checkpoint; the second one then ends the process, as without fit(). Default:
   * true, false for several ranks, which would end after different steps.
   */
  readonly handleInterrupt?: boolean | undefined;
  /** Ends the training between two steps, without a checkpoint: fit() throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Whether batches are disposed of after their step. Default: those of DataLoader and StreamLoader are. */
  readonly disposeBatches?: boolean | undefined;
  /** Called after each step. */
  readonly onStep?: ((report: StepReport<B>) => CallbackResult) | undefined;
  /** Called after each report. */
  readonly onReport?: ((report: FitReport) => CallbackResult) | undefined;
  /** Called after each evaluation. */
  readonly onEvaluate?: ((report: FitEvaluationReport) => CallbackResult) | undefined;
  /** Called after each epoch, its evaluation and its checkpoint. */
  readonly onEpochEnd?: ((report: EpochReport) => CallbackResult) | undefined;
  /** Called after each checkpoint. */
  readonly onCheckpoint?: ((path: string, report: { readonly step: number; readonly isBest: boolean }) => CallbackResult) | undefined;
}

/** Why a training ended. */
export type FitEnd = "done" | "earlyStop" | "interrupt" | "callback";

/** What fit() gives. */
export interface FitResult {
  /** Why the training ended: all epochs or steps were done, it got no better, SIGINT, or a callback returned "stop". */
  readonly reason: FitEnd;
  /** Optimizer steps, those of earlier runs included. */
  readonly step: number;
  /** Whole epochs, those of earlier runs included. */
  readonly epochs: number;
  /** All epochs, those of earlier runs included. */
  readonly history: readonly EpochReport[];
  /** The best value of `monitor` with its step; null where there was none. */
  readonly best: { readonly value: number; readonly step: number } | null;
  /** The path of the last checkpoint; null without one. */
  readonly checkpoint: string | null;
}
