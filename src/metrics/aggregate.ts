/** Aggregates of values: mean, sum, smallest, largest. */
import { isFloat } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { full } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { mul } from "../ops/elementwise/binary.ts";
import { isnan, logicalNot } from "../ops/elementwise/compare.ts";
import { maximum, minimum, where } from "../ops/elementwise/where.ts";
import { amax, amin } from "../ops/reduce/extrema.ts";
import { broadcastTo } from "../ops/shape/movement.ts";
import { INNER } from "../nn/inner.ts";
import { ratio, requireOneOf } from "./averages.ts";
import { Metric, settingsOf, type MetricOptions, type Rule } from "./metric.ts";
import { addSums, sumOf, sumOfNumber, sumStates, type Sum } from "./sums.ts";

/** Options of mean(), sum(), min() and max(). */
export interface AggregateOptions extends MetricOptions {
  /** What a NaN among the values does: makes the result NaN (propagate), or is left out (ignore). Default: "propagate". */
  readonly nanStrategy?: "propagate" | "ignore" | undefined;
}

type Value = Tensor | number;

/** A rule for values with weights. */
interface ValueRule extends Rule<number> {
  /** The state of values, null for none. `like` lies on the state's device. */
  batch(value: Value, weight: Value, like: Tensor): readonly Tensor[] | null;
}

function requireStrategy(
  operation: string,
  { nanStrategy = "propagate" }: AggregateOptions,
): { readonly ignores: boolean; readonly settings: string } {
  requireOneOf(operation, "nanStrategy", nanStrategy, ["propagate", "ignore"]);
  const ignores = nanStrategy === "ignore";
  return { ignores, settings: settingsOf({ nanStrategy: ignores ? nanStrategy : null }) };
}

function requireValue(operation: string, name: string, value: unknown): void {
  if (value instanceof Tensor ? value.dtype === "bool" : typeof value !== "number")
    throw new DTypeError(operation, name, "a number or a tensor of numbers", value instanceof Tensor ? value.describe() : value);
}

const isNothing = (value: Value, ignores: boolean): boolean =>
  value instanceof Tensor ? value.size === 0 : ignores && Number.isNaN(value);

/** Values, with `instead` for NaN where that is left out. */
const known = (x: Tensor, ignores: boolean, instead: number): Tensor => (ignores && isFloat(x.dtype) ? where(isnan(x), instead, x) : x);

const sumOfValue = (value: Value, like: Tensor): Sum => (value instanceof Tensor ? sumOf(value) : sumOfNumber(value, like));

/** The sum, the smallest or the largest of all values. */
export class ValueMetric extends Metric {
  /** @internal */ declare readonly [INNER]: ValueRule;

  /** @internal */
  // oxlint-disable-next-line no-useless-constructor -- it requires a rule with batch()
  constructor(rule: ValueRule, options: MetricOptions) {
    super(rule, options);
  }

  /** @internal */
  protected batchOf(value: Value, weight: Value): readonly Tensor[] | null {
    const { operation, batch } = this[INNER];
    requireValue(operation, "value", value);
    requireValue(operation, "weight", weight);
    return batch(value, weight, this.buffers()[0]!);
  }

  /** Takes values in, without waiting for the device. value: a number, or numbers of any shape. Throws DTypeError for bool. */
  override update(value: Tensor | number): void {
    this.take([value], () => this.batchOf(value, 1));
  }

  /** Takes values in. Result: the value of these alone. */
  override forward(value: Tensor | number): Promise<number> {
    return this.takeAndRead([value], () => this.batchOf(value, 1));
  }
}

/** The weighted mean of all values. */
export class MeanMetric extends ValueMetric {
  /**
   * Takes values into the mean, without waiting for the device. value: a number, or numbers of any shape. weight: of each value, broadcast to its shape;
   * default 1. Throws DTypeError for bool, ShapeError for a weight that does not broadcast.
   */
  override update(value: Tensor | number, weight: Tensor | number = 1): void {
    this.take([value, weight], () => this.batchOf(value, weight));
  }

  /** Takes values into the mean. Result: the mean of these alone. */
  override forward(value: Tensor | number, weight: Tensor | number = 1): Promise<number> {
    return this.takeAndRead([value, weight], () => this.batchOf(value, weight));
  }
}

/**
 * The weighted mean of values, such as the losses of batches with their numbers of samples as weights. update(value, weight): numbers, or tensors of numbers.
 * compute(): a number, NaN where the weights' sum is 0. Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.MeanMetric.
 */
export function mean(options: AggregateOptions = {}): MeanMetric {
  const { ignores, settings } = requireStrategy("mean", options);
  return new MeanMetric(
    {
      operation: "mean",
      settings,
      states: [...sumStates("total"), ...sumStates("weight")],
      batch(value, weight, like) {
        if (isNothing(value, ignores)) return null;
        if (!(value instanceof Tensor) && !(weight instanceof Tensor))
          return [...sumOfNumber(value * weight, like), ...sumOfNumber(weight, like)];
        const numbers = (x: Value): Tensor =>
          x instanceof Tensor ? toDType(x, "float32") : full([], x, { dtype: "float32", device: like.device });
        if (value instanceof Tensor && weight === 1)
          return [
            ...sumOf(known(value, ignores, 0)),
            ...(ignores ? sumOf(toDType(logicalNot(isnan(toDType(value, "float32"))), "int32")) : sumOfNumber(value.size, like)),
          ];
        const v = numbers(value);
        const w = broadcastTo(numbers(weight), v.shape, "mean");
        const counted = ignores ? where(isnan(v), 0, w) : w;
        return [...sumOf(mul(known(v, ignores, 0), counted)), ...sumOf(counted)];
      },
      combine: ([a, aLow, m, mLow], [b, bLow, n, nLow]) => [...addSums([a!, aLow!], [b!, bLow!]), ...addSums([m!, mLow!], [n!, nLow!])],
      result: ([total, low, weight, weightLow]) => ratio(total![0]! + low![0]!, weight![0]! + weightLow![0]!),
    },
    options,
  );
}

/**
 * The sum of values. update(value): a number, or numbers of any shape; integers are summed exactly within a batch. compute(): a number, 0 before the first
 * value. Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.SumMetric.
 */
export function sum(options: AggregateOptions = {}): ValueMetric {
  const { ignores, settings } = requireStrategy("sum", options);
  return new ValueMetric(
    {
      operation: "sum",
      settings,
      states: sumStates("total"),
      batch: (value, _, like) =>
        isNothing(value, ignores) ? null : sumOfValue(value instanceof Tensor ? known(value, ignores, 0) : value, like),
      combine: ([a, aLow], [b, bLow]) => addSums([a!, aLow!], [b!, bLow!]),
      result: ([total, low]) => total![0]! + low![0]!,
    },
    options,
  );
}

function extreme(operation: "min" | "max", options: AggregateOptions): ValueMetric {
  const { ignores, settings } = requireStrategy(operation, options);
  const initial = operation === "min" ? Infinity : -Infinity;
  const [reduce, combine] = operation === "min" ? ([amin, minimum] as const) : ([amax, maximum] as const);
  return new ValueMetric(
    {
      operation,
      settings,
      states: [{ name: "value", shape: [], dtype: "float32", initial }],
      batch(value, _, like) {
        if (isNothing(value, ignores)) return null;
        if (!(value instanceof Tensor)) return [full([], value, { dtype: "float32", device: like.device })];
        return [reduce(known(toDType(value, "float32"), ignores, initial))];
      },
      combine: ([a], [b]) => [combine(a!, b!)],
      result: ([value]) => value![0]!,
    },
    options,
  );
}

/**
 * The smallest value. update(value): a number, or numbers of any shape, as float32. compute(): a number, Infinity before the first value.
 * Throws ValueError for an unknown nanStrategy. Reference: torchmetrics.MinMetric.
 */
export const min = (options: AggregateOptions = {}): ValueMetric => extreme("min", options);

/** The largest value. Inputs and errors: as min()'s. compute(): a number, -Infinity before the first value. Reference: torchmetrics.MaxMetric. */
export const max = (options: AggregateOptions = {}): ValueMetric => extreme("max", options);
