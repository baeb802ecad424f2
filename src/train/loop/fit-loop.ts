/** The loop of fit(). */
import { ValueError } from "../../core/errors.ts";
import { disposeAll } from "../../data/collate.ts";
import { defaultGenerator, manualSeed } from "../../ops/random/random.ts";
import { GradScaler } from "../../optim/grad-scaler.ts";
import { ReduceLROnPlateau } from "../../optim/schedules/plateau.ts";
import type {
  Batches,
  CallbackResult,
  EpochReport,
  EvaluateOptions,
  EvaluationValues,
  FitEnd,
  FitOptions,
  FitReport,
  FitResult,
  LossAndOutputs,
} from "./options.ts";
import { isStateful, lengthOf, ownsBatches, passFrom, setEpoch } from "./batches.ts";
import { Best } from "./best.ts";
import { requireBatches, requireOptions } from "./check.ts";
import { Checkpoints, type Position } from "./checkpoints.ts";
import { Evaluator, requireMetrics } from "./evaluator.ts";
import { onInterrupt } from "./interrupt.ts";
import { LossSum } from "./batch-loss.ts";
import { isOverRanks, isReporting, meanOverRanks } from "./over-ranks.ts";
import { Printers, printerOf, type Printer } from "./printer.ts";
import { Steps } from "./steps.ts";

const isDue = (n: number, every: number | undefined): boolean => every !== undefined && n % every === 0;

class Training<B> {
  readonly #loader: Batches<B>;
  readonly #options: FitOptions<B>;
  readonly #isOwn: boolean;
  readonly #steps: Steps<B>;
  readonly #evaluator: Evaluator<B> | null;
  readonly #checkpoints: Checkpoints<B> | null;
  readonly #best: Best;
  readonly #printer: Printer;
  /** Address or path. */
  readonly #page: string | null;
  readonly #losses = new LossSum();
  #ownScaler: GradScaler | null = null;
  #step = 0;
  #epoch = 0;
  /** Batches of this epoch, and of this step. */
  #batch = 0;
  #isPassOver = false;
  #accumulated = 0;
  /** The last batch, until the next one or the end of its step. */
  #held: { readonly batch: B; readonly outcome: LossAndOutputs | null } | null = null;
  /** Of this epoch, as far as losses were read. */
  #epochLoss = 0;
  #epochBatches = 0;
  #history: readonly EpochReport[] = [];
  #reason: FitEnd | null = null;
  #evaluated: Position["evaluated"] = null;
  readonly #start = performance.now();
  /** The time and the step of the last report. */
  #mark = { time: this.#start, step: 0 };

  constructor(loader: Batches<B>, options: FitOptions<B>, printer: Printer, page: string | null) {
    const { evaluate, checkpoint, mode = "min", earlyStop } = options;
    this.#loader = loader;
    this.#options = options;
    this.#isOwn = options.disposeBatches ?? ownsBatches(loader);
    const scaler = this.#scaler();
    this.#steps = new Steps(options, scaler);
    this.#evaluator =
      evaluate === undefined
        ? null
        : new Evaluator("fit", evaluate.loader, {
            ...options,
            loss: evaluate.loss ?? options.loss,
            metrics: evaluate.metrics,
          });
    this.#checkpoints = checkpoint === undefined ? null : new Checkpoints(checkpoint, loader, options, scaler);
    this.#best = new Best(mode, earlyStop);
    this.#printer = printer;
    this.#page = page;
  }

  #scaler(): GradScaler | null {
    const { scaler, autocast } = this.#options;
    if (scaler !== undefined) return scaler === false ? null : scaler;
    if (autocast !== "float16") return null;
    return (this.#ownScaler = new GradScaler());
  }

  async run(): Promise<FitResult> {
    const { handleInterrupt = !isOverRanks(), model, optimizer } = this.#options;
    const wasTraining = model.training;
    const release = handleInterrupt ? onInterrupt(() => this.#interrupt()) : () => {};
    try {
      await this.#begin();
      if (!wasTraining) model.train();
      optimizer.zeroGrad();
      while (!this.#isOver()) await this.#runEpoch();
      return await this.#end();
    } finally {
      release();
      if (!wasTraining) model.eval();
      this.#steps.dispose();
      this.#evaluator?.dispose();
      this.#ownScaler?.dispose();
      this.#losses.dispose();
    }
  }

  #interrupt(): void {
    this.#reason ??= "interrupt";
    this.#printer.interrupted(this.#step);
  }

  #isOver(): boolean {
    const { epochs = Infinity, steps = Infinity } = this.#options;
    if (this.#reason === null && this.#best.isOver) this.#reason = "earlyStop";
    if (this.#reason === null && (this.#epoch >= epochs || this.#step >= steps)) this.#reason = "done";
    return this.#reason !== null;
  }

  async #begin(): Promise<void> {
    const { seed, signal, optimizer, epochs = null } = this.#options;
    signal?.throwIfAborted();
    if (seed !== undefined) manualSeed(seed);
    const resumed = (await this.#checkpoints?.resume()) ?? null;
    if (resumed !== null) this.#restore(resumed.position);
    this.#mark = { time: performance.now(), step: this.#step };
    await this.#printer.begin({
      seed: String(defaultGenerator().seed),
      device: String(optimizer.paramGroups[0]!.params[0]!.device),
      epochs,
      steps: this.#totalSteps(),
      resumed: resumed?.path ?? null,
      page: this.#page,
      step: this.#step,
      epoch: this.#epoch,
    });
  }

  #restore({
    step,
    epoch,
    batch,
    isPassOver = false,
    epochLoss,
    epochBatches,
    lossSum,
    lossCount,
    best,
    evaluated,
    history,
  }: Position): void {
    [this.#step, this.#epoch, this.#batch] = [step, epoch, batch];
    this.#isPassOver = isPassOver;
    [this.#epochLoss, this.#epochBatches] = [epochLoss, epochBatches];
    this.#losses.begin(lossSum, lossCount);
    this.#best.state = best;
    this.#evaluated = evaluated;
    this.#history = history;
  }

  #position(): Position {
    return {
      step: this.#step,
      epoch: this.#epoch,
      batch: this.#batch,
      isPassOver: this.#isPassOver,
      epochLoss: this.#epochLoss,
      epochBatches: this.#epochBatches,
      lossSum: this.#losses.tensor,
      lossCount: this.#losses.weight,
      best: this.#best.state,
      evaluated: this.#evaluated,
      history: this.#history,
    };
  }

  /** Steps of the whole training; null where nobody knows. */
  #totalSteps(): number | null {
    const { epochs, steps = Infinity, accumulate = 1 } = this.#options;
    const length = lengthOf(this.#loader);
    const all = epochs === undefined || length === null ? Infinity : epochs * Math.ceil(length / accumulate);
    const total = Math.min(steps, all);
    return total === Infinity ? null : total;
  }

  async #runEpoch(): Promise<void> {
    const { signal, accumulate = 1 } = this.#options;
    const isResumed = this.#batch > 0;
    if (this.#isPassOver) return this.#endEpoch();
    setEpoch(this.#loader, this.#epoch);
    const pass = isStateful(this.#loader) || !isResumed ? this.#loader : passFrom(this.#loader, this.#batch, this.#isOwn);
    try {
      for await (const batch of pass) {
        this.#release();
        this.#held = { batch, outcome: null };
        signal?.throwIfAborted();
        const outcome = this.#steps.run(batch, ++this.#accumulated);
        this.#held = { batch, outcome };
        this.#losses.add(outcome.loss);
        this.#batch++;
        if (this.#accumulated < accumulate) continue;
        await this.#afterStep();
        this.#release();
        if (this.#isOver() && !this.#isLastOfEpoch()) return;
      }
      if (this.#batch === 0) throw new ValueError("fit", "loader", "of at least one batch", "none");
      this.#isPassOver = true;
      if (this.#accumulated > 0) {
        this.#steps.flush(this.#accumulated);
        await this.#afterStep();
      }
    } finally {
      this.#release();
    }
    await this.#endEpoch();
  }

  /** Whether all steps are done with the last batch of a pass, so that the epoch ends too. */
  #isLastOfEpoch(): boolean {
    return this.#reason === "done" && this.#batch === lengthOf(this.#loader);
  }

  #release(): void {
    disposeAll(this.#held?.outcome);
    if (this.#isOwn) disposeAll(this.#held?.batch);
    this.#held = null;
  }

  /** The optimizer has stepped. */
  async #afterStep(): Promise<void> {
    const { schedule, scheduleEach = "epoch", onStep, reportEvery = 50, evaluate, checkpoint } = this.#options;
    this.#accumulated = 0;
    this.#step++;
    this.#printer.step?.(this.#step);
    if (schedule !== undefined && scheduleEach === "step" && !(schedule instanceof ReduceLROnPlateau)) schedule.step();
    const { batch, outcome } = this.#held!;
    if (onStep !== undefined) await this.#call(() => onStep({ ...outcome!, step: this.#step, epoch: this.#epoch, batch }));
    if (isDue(this.#step, reportEvery)) await this.#report();
    if (isDue(this.#step, evaluate?.everySteps) && (await this.#evaluate())) await this.#saveBest();
    if (isDue(this.#step, checkpoint?.everySteps)) await this.#save();
  }

  async #call(callback: () => CallbackResult): Promise<void> {
    if ((await callback()) === "stop") this.#reason ??= "callback";
  }

  /** Reads the losses since the last report. */
  async #readLosses(): Promise<number> {
    const { sum, weight } = await this.#losses.take();
    this.#epochLoss += sum;
    this.#epochBatches += weight;
    return sum / weight;
  }

  async #report(): Promise<void> {
    const { optimizer, summaryWriter, onReport } = this.#options;
    const loss = await this.#readLosses();
    const now = performance.now();
    const stepsPerSecond = (1000 * (this.#step - this.#mark.step)) / (now - this.#mark.time);
    const total = this.#totalSteps();
    const secondsLeft = total === null ? null : Math.max(0, total - this.#step) / stepsPerSecond;
    this.#mark = { time: now, step: this.#step };
    const report: FitReport = { step: this.#step, epoch: this.#epoch, loss, lr: optimizer.lr, stepsPerSecond, secondsLeft };
    this.#printer.report(report);
    summaryWriter?.scalar("loss/train", loss, this.#step);
    summaryWriter?.scalar("learningRate", optimizer.lr, this.#step);
    if (onReport !== undefined) await this.#call(() => onReport(report));
  }

  /** Evaluates. Whether this is the best evaluation so far. */
  async #evaluate(): Promise<boolean> {
    const { monitor = "loss", onEvaluate, summaryWriter } = this.#options;
    const start = performance.now();
    const values = await meanOverRanks(await this.#evaluator!.run());
    // The rate of steps is that of training alone.
    this.#mark = { ...this.#mark, time: this.#mark.time + performance.now() - start };
    this.#evaluated = { step: this.#step, values };
    const value = values[monitor];
    if (value === undefined) throw new ValueError("fit", "monitor", `one of ${Object.keys(values).join(", ")}`, monitor);
    const isBest = this.#monitor(value);
    const report = { step: this.#step, epoch: this.#epoch, values, isBest };
    this.#printer.evaluation(report);
    for (const [name, v] of Object.entries(values)) summaryWriter?.scalar(`${name}/evaluate`, v, this.#step);
    if (onEvaluate !== undefined) await this.#call(() => onEvaluate(report));
    return isBest;
  }

  get #isEvaluated(): boolean {
    return this.#evaluator === null || this.#evaluated?.step === this.#step;
  }

  /** Takes a value of what is monitored. Whether it is the best. */
  #monitor(value: number): boolean {
    const { schedule } = this.#options;
    if (schedule instanceof ReduceLROnPlateau) schedule.step(value);
    return this.#best.add(value, this.#step);
  }

  async #endEpoch(): Promise<void> {
    const { evaluate, checkpoint, schedule, scheduleEach = "epoch", onEpochEnd } = this.#options;
    if (this.#losses.weight > 0) await this.#readLosses();
    const done = this.#epoch + 1;
    const everyEpochs = (of: typeof evaluate | typeof checkpoint): number | undefined =>
      of === undefined ? undefined : (of.everyEpochs ?? (of.everySteps === undefined ? 1 : undefined));
    const loss = this.#epochLoss / this.#epochBatches;
    let isBest = false;
    if (this.#evaluator === null) isBest = this.#monitor((await meanOverRanks({ loss })).loss!);
    else if (isDue(done, everyEpochs(evaluate)) && !this.#isEvaluated) isBest = await this.#evaluate();
    if (schedule !== undefined && scheduleEach === "epoch" && !(schedule instanceof ReduceLROnPlateau)) schedule.step();
    const evaluation = this.#evaluated?.step === this.#step ? this.#evaluated.values : null;
    const report: EpochReport = { epoch: this.#epoch, step: this.#step, loss, evaluation };
    this.#history = [...this.#history, report];
    // What is saved from now on begins with the next epoch, as the loader does.
    [this.#epoch, this.#batch, this.#epochLoss, this.#epochBatches] = [done, 0, 0, 0];
    this.#isPassOver = false;
    this.#printer.epoch(report);
    if (isBest) await this.#saveBest();
    if (isDue(done, everyEpochs(checkpoint))) await this.#save();
    if (onEpochEnd !== undefined) await this.#call(() => onEpochEnd(report));
  }

  async #saved(path: string | null, isBest: boolean): Promise<void> {
    const { onCheckpoint } = this.#options;
    if (path === null) return;
    this.#printer.checkpoint(path, this.#step, isBest);
    if (onCheckpoint !== undefined) await this.#call(() => onCheckpoint(path, { step: this.#step, isBest }));
  }

  async #save(): Promise<void> {
    if (this.#checkpoints !== null) await this.#saved(await this.#checkpoints.saveLast(this.#position()), false);
  }

  async #saveBest(): Promise<void> {
    if (this.#checkpoints !== null) await this.#saved(await this.#checkpoints.saveBest(this.#position()), true);
  }

  async #end(): Promise<FitResult> {
    const reason = this.#reason ?? "done";
    if (reason === "done" && this.#step > 0 && !this.#isEvaluated && (await this.#evaluate())) await this.#saveBest();
    const checkpoints = this.#checkpoints;
    if (checkpoints !== null && checkpoints.last?.step !== this.#step) await this.#save();
    const summary = { reason, step: this.#step, epochs: this.#epoch, checkpoint: checkpoints?.last?.path ?? null };
    this.#printer.end({ ...summary, seconds: (performance.now() - this.#start) / 1000 });
    return { ...summary, history: this.#history, best: this.#best.state.best };
  }
}

/** fit(), loaded when it is first called. */
export async function runFit<B>(loader: Batches<B>, asked: FitOptions<B>): Promise<FitResult> {
  requireOptions(loader, asked);
  const options = isReporting(asked.allRanks)
    ? asked
    : { ...asked, quiet: true, progress: false, page: undefined, summaryWriter: undefined };
  const page =
    options.page === undefined || options.page === false ? null : await (await import("../page/training-page.ts")).openPage(options);
  const own = printerOf(options);
  const printer = page === null ? own : new Printers([own, page]);
  let isDone = false;
  try {
    const result = await new Training(loader, options, printer, page?.address ?? null).run();
    isDone = true;
    return result;
  } finally {
    // What a page's file fails with does not hide why the training failed.
    if (isDone) await printer.close?.();
    else await Promise.resolve(printer.close?.()).catch(() => {});
  }
}

/** evaluate(), loaded when it is first called. */
export async function runEvaluation<B>(loader: Batches<B>, options: EvaluateOptions<B>): Promise<EvaluationValues> {
  requireBatches("evaluate", "loader", loader);
  requireMetrics("evaluate", "metrics", options.metrics);
  const evaluator = new Evaluator("evaluate", loader, options);
  const isShown = (options.progress ?? isReporting(false)) && process.stderr.isTTY;
  const bar = isShown ? await (await import("./bar.ts")).Bar.draw(lengthOf(loader), 0, process.stderr) : null;
  try {
    return await evaluator.run((batches) => bar?.update(batches, "batches"));
  } finally {
    bar?.stop();
    evaluator.dispose();
  }
}
