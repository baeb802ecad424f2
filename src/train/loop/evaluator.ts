/** Evaluations: the mean loss and the metrics of a model in eval mode. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { disposeAll } from "../../data/collate.ts";
import { modes } from "../../core/journal.ts";
import type { Module } from "../../nn/module.ts";
import { item, toArray } from "../../ops/data/conversion.ts";
import type { Batches, EvaluateOptions, EvaluationValues, LossAndOutputs } from "./options.ts";
import { ownsBatches } from "./batches.ts";
import { LossSum, outcomeOf, samplesOf } from "./batch-loss.ts";
import { forwardOf, prepared } from "./steps.ts";

/** Adds a metric's value under its name, what is inside lists and objects under names with dots. */
async function addValue(operation: string, into: Record<string, number>, name: string, value: unknown): Promise<void> {
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean") into[name] = Number(value);
  else if (value instanceof Tensor) await addValue(operation, into, name, value.size === 1 ? await item(value) : await toArray(value));
  else if (ArrayBuffer.isView(value) && !(value instanceof DataView))
    await addValue(operation, into, name, Array.from(value as unknown as ArrayLike<number>));
  else if (typeof value === "object" && value !== null && !("then" in value))
    for (const [key, inner] of Object.entries(value)) await addValue(operation, into, `${name}.${key}`, inner);
  else throw new DTypeError(operation, `metrics.${name}.compute()`, "a number, a tensor, or lists and objects of these", value);
}

/** Runs fn with a model in eval mode. The mode of each module is as before afterwards. */
async function inEvalMode<T>(model: Module, fn: () => Promise<T>): Promise<T> {
  const before = model.modules().map((m) => [m, m.training] as const);
  model.eval();
  try {
    return await fn();
  } finally {
    modes.changes++;
    for (const [m, training] of before) m.training = training;
  }
}

export function requireMetrics(operation: string, argument: string, metrics: EvaluateOptions<never>["metrics"]): void {
  for (const [name, metric] of Object.entries(metrics ?? {})) {
    if (name === "loss") throw new ValueError(operation, argument, 'of other names than "loss", which is the mean loss', name);
    for (const method of ["update", "compute", "reset"] as const)
      if (typeof (metric as Partial<typeof metric> | null)?.[method] !== "function")
        throw new DTypeError(operation, `${argument}.${name}`, "an object with update(), compute() and reset()", metric);
  }
}

/** Evaluates a model as often as is asked for. */
export class Evaluator<B> {
  readonly #operation: string;
  readonly #loader: Batches<B>;
  readonly #options: EvaluateOptions<B>;
  readonly #forward;

  constructor(operation: string, loader: Batches<B>, options: EvaluateOptions<B>) {
    this.#operation = operation;
    this.#loader = loader;
    this.#options = options;
    const forward = forwardOf(operation, options.loss, options.autocast);
    this.#forward = prepared((batch: B) => noGrad(() => outcomeOf(forward(batch))), `${operation}.evaluate`, options.compile);
  }

  /** onBatch: called after each batch, with their count; its values may not be there yet. */
  async run(onBatch: (batches: number) => void = () => {}): Promise<EvaluationValues> {
    const metrics = Object.entries(this.#options.metrics ?? {});
    const sum = new LossSum();
    for (const [, metric] of metrics) await metric.reset();
    try {
      await inEvalMode(this.#options.model, () => this.#batches(sum, onBatch));
      const { sum: total, weight } = await sum.take();
      if (weight === 0) throw new ValueError(this.#operation, "loader", "of at least one batch with a sample", "none");
      const values: Record<string, number> = { loss: total / weight };
      for (const [name, metric] of metrics) await addValue(this.#operation, values, name, await metric.compute());
      return values;
    } finally {
      sum.dispose();
      for (const [, metric] of metrics) await metric.reset();
    }
  }

  async #batches(sum: LossSum, onBatch: (batches: number) => void): Promise<void> {
    const { metrics = {}, signal } = this.#options;
    const isOwn = ownsBatches(this.#loader);
    let count = 0;
    for await (const batch of this.#loader) {
      let outcome: LossAndOutputs | null = null;
      try {
        signal?.throwIfAborted();
        outcome = this.#forward(batch);
        sum.add(outcome.loss, samplesOf(outcome.targets ?? batch));
        for (const metric of Object.values(metrics)) await this.#update(metric, outcome);
        onBatch(++count);
      } finally {
        disposeAll(outcome);
        if (isOwn) disposeAll(batch);
      }
    }
  }

  #update(metric: NonNullable<EvaluateOptions<B>["metrics"]>[string], { outputs, targets }: LossAndOutputs): unknown {
    if (outputs === undefined || targets === undefined)
      throw new ValueError(this.#operation, "loss(batch)", "an object with outputs and targets where there are metrics", "a loss alone");
    return noGrad(() => metric.update(outputs, targets));
  }

  dispose(): void {
    this.#forward.dispose();
  }
}
