/** Several metrics of the same predictions. */
import { DTypeError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { Module } from "../nn/module.ts";
import { PredictionMetric } from "./metric.ts";

/** Metrics of predictions and targets by name. */
export type PredictionMetrics = Readonly<Record<string, PredictionMetric<unknown>>>;

/** What compute() of a collection gives: the value of each metric by its name. */
export type CollectionValues<M extends PredictionMetrics> = {
  -readonly [K in keyof M]: M[K] extends PredictionMetric<infer R> ? R : never;
};

/** Metrics that take the same batches. */
export class MetricCollection<M extends PredictionMetrics = PredictionMetrics> extends Module {
  /** The metrics by name. */
  readonly metrics: M;

  /** metrics: at least one, by name. Throws ValueError for none, DTypeError for what is no metric of predictions. */
  constructor(metrics: M) {
    super();
    const entries = Object.entries(metrics);
    if (entries.length === 0) throw new ValueError("collection", "metrics", "at least one", metrics);
    for (const [name, metric] of entries)
      if (!(metric instanceof PredictionMetric)) throw new DTypeError("collection", name, "a metric of predictions and targets", metric);
    this.metrics = { ...metrics };
  }

  /** Every metric takes the batch into its state. Shapes and dtypes: those that all of them take; where one throws, those before it have taken it. */
  update(prediction: Tensor, target: Tensor): void {
    for (const metric of Object.values(this.metrics)) metric.update(prediction, target);
  }

  /** Takes a batch into the states. Result: the values of this batch alone, by name. */
  override forward(prediction: Tensor, target: Tensor): Promise<CollectionValues<M>> {
    return valuesOf(this.metrics, (metric) => metric.forward(prediction, target));
  }

  /** The value of each metric over all batches since the last reset(), by name. Rejects as the metrics' own do. */
  compute(): Promise<CollectionValues<M>> {
    return valuesOf(this.metrics, (metric) => metric.compute());
  }

  /** Every metric forgets all batches. */
  reset(): void {
    for (const metric of Object.values(this.metrics)) metric.reset();
  }

  /** Every metric takes the samples of the other collection's metric of its name. Throws ValueError for other names or metrics of other options. */
  merge(other: MetricCollection<M>): void {
    if (!(other instanceof MetricCollection)) throw new DTypeError("merge", "other", "a collection of metrics", other);
    const [own, theirs] = [Object.keys(this.metrics), Object.keys(other.metrics)];
    if (own.length !== theirs.length || own.some((name) => !Object.hasOwn(other.metrics, name)))
      throw new ValueError("merge", "other", `a collection of ${own.join(", ")}`, theirs.join(", "));
    for (const name of own) this.metrics[name]!.merge(other.metrics[name]!);
  }
}

/** The values of all metrics, which are read at the same time. */
async function valuesOf<M extends PredictionMetrics>(
  metrics: M,
  value: (metric: PredictionMetric<unknown>) => Promise<unknown>,
): Promise<CollectionValues<M>> {
  const entries = Object.entries(metrics).map(async ([name, metric]) => [name, await value(metric)] as const);
  return Object.fromEntries(await Promise.all(entries)) as CollectionValues<M>;
}

/**
 * Metrics that take the same batches: update(prediction, target) of each, and compute() gives an object of their values by name.
 * Throws ValueError for none, DTypeError for what is no metric of predictions. Reference: torchmetrics.MetricCollection.
 */
export const collection = <M extends PredictionMetrics>(metrics: M): MetricCollection<M> => new MetricCollection(metrics);
