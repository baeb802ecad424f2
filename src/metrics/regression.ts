/** Metrics of numbers: squared and absolute errors, R². */
import { DTypeError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add, div, mul, sub } from "../ops/elementwise/binary.ts";
import { abs } from "../ops/elementwise/unary.ts";
import { clamp } from "../ops/elementwise/where.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { ratio } from "./averages.ts";
import { requireSameShape } from "./labels.ts";
import { PredictionMetric, settingsOf, type MetricOptions, type PairRule } from "./metric.ts";
import { addSums, countOf, countState, sumOf, sumStates } from "./sums.ts";

/** Options of meanSquaredError(). */
export interface MeanSquaredErrorOptions extends MetricOptions {
  /** False: the square root of the mean. Default: true. */
  readonly squared?: boolean | undefined;
}

/** Both as float32, null where they have no elements. */
function numbersOf(operation: string, prediction: Tensor, target: Tensor): readonly [Tensor, Tensor] | null {
  requireSameShape(operation, prediction, target);
  for (const [name, t] of [
    ["prediction", prediction],
    ["target", target],
  ] as const)
    // prettier-ignore
    if (t.dtype === "bool") throw new DTypeError(operation, name, "numbers", t.describe());
  return prediction.size === 0 ? null : [toDType(prediction, "float32"), toDType(target, "float32")];
}

/** The mean of a value of each error. */
const meanOf = (
  operation: string,
  settings: string,
  each: (error: Tensor) => Tensor,
  finish = (mean: number): number => mean,
): PairRule<number> => ({
  operation,
  settings,
  states: [...sumStates("total"), countState],
  batch(prediction, target) {
    const numbers = numbersOf(operation, prediction, target);
    return numbers === null ? null : [...sumOf(each(sub(...numbers))), countOf(prediction.size, prediction)];
  },
  combine: ([a, aLow, aCount], [b, bLow, bCount]) => [...addSums([a!, aLow!], [b!, bLow!]), add(aCount!, bCount!)],
  result: ([total, low, count]) => finish(ratio(total![0]! + low![0]!, count![0]!)),
});

const square = (x: Tensor): Tensor => mul(x, x);

/**
 * The mean of (prediction - target)² over all elements, or with squared false its square root.
 *
 * prediction, target: numbers of equal shapes, computed in float32 and summed over batches with compensation. compute(): a number, NaN without elements.
 * update() throws ShapeError, DTypeError for bool. Reference: torchmetrics.MeanSquaredError.
 */
export const meanSquaredError = (options: MeanSquaredErrorOptions = {}): PredictionMetric =>
  options.squared === false
    ? new PredictionMetric(meanOf("meanSquaredError", settingsOf({ squared: false }), square, Math.sqrt), options)
    : new PredictionMetric(meanOf("meanSquaredError", "", square), options);

/** The square root of the mean of (prediction - target)². Inputs and errors: as meanSquaredError()'s. Reference: torchmetrics.MeanSquaredError with squared=False. */
export const rmse = (options: MetricOptions = {}): PredictionMetric => new PredictionMetric(meanOf("rmse", "", square, Math.sqrt), options);

/** The mean of |prediction - target| over all elements. Inputs and errors: as meanSquaredError()'s. Reference: torchmetrics.MeanAbsoluteError. */
export const meanAbsoluteError = (options: MetricOptions = {}): PredictionMetric =>
  new PredictionMetric(meanOf("meanAbsoluteError", "", abs), options);

/**
 * 1 - (sum of squared errors) / (sum of squared differences of the targets from their mean), over all elements.
 *
 * Inputs and errors: as meanSquaredError()'s. Batches are combined by their means, so targets far from 0 lose no more digits than in one batch.
 * compute(): a number, NaN for fewer than two elements; for equal targets 1 if the predictions equal them, else 0.
 * Reference: torchmetrics.R2Score, sklearn.metrics.r2_score.
 */
export const r2Score = (options: MetricOptions = {}): PredictionMetric =>
  new PredictionMetric(
    {
      operation: "r2Score",
      settings: "",
      states: [...sumStates("residual"), ...sumStates("deviation"), countState, { name: "mean", shape: [], dtype: "float32" }],
      batch(prediction, target) {
        const numbers = numbersOf("r2Score", prediction, target);
        if (numbers === null) return null;
        const [p, t] = numbers;
        const mean = div(sum(t), t.size);
        // The mean of rounded sums is off by some units: a second pass over the small differences corrects it.
        const center = add(mean, div(sum(sub(t, mean)), t.size));
        return [...sumOf(square(sub(p, t))), ...sumOf(square(sub(t, center))), countOf(t.size, t), center];
      },
      combine([a, aLow, aDev, aDevLow, aCount, aMean], [b, bLow, bDev, bDevLow, bCount, bMean]) {
        // Chan, Golub and LeVeque's update of pairs.
        const [m, n] = [toDType(aCount!, "float32"), toDType(bCount!, "float32")];
        const delta = sub(bMean!, aMean!);
        const share = div(n, clamp(add(m, n), 1));
        const between = mul(mul(mul(delta, delta), m), share);
        return [
          ...addSums([a!, aLow!], [b!, bLow!]),
          ...addSums([aDev!, aDevLow!], [bDev!, add(bDevLow!, between)]),
          add(aCount!, bCount!),
          add(aMean!, mul(delta, share)),
        ];
      },
      result([residual, residualLow, deviation, deviationLow, count]) {
        const [errors, spread] = [residual![0]! + residualLow![0]!, deviation![0]! + deviationLow![0]!];
        if (count![0]! < 2) return NaN;
        return spread === 0 ? (Number.isNaN(errors) ? NaN : Number(errors === 0)) : 1 - errors / spread;
      },
    },
    options,
  );
