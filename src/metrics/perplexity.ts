/** Perplexity of language models. */
import { ShapeError } from "../core/errors.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { toDType } from "../ops/data/conversion.ts";
import { add } from "../ops/elementwise/binary.ts";
import { isnan } from "../ops/elementwise/compare.ts";
import { neg } from "../ops/elementwise/unary.ts";
import { where } from "../ops/elementwise/where.ts";
import { takeElements } from "../ops/index/gather.ts";
import { any } from "../ops/reduce/reduce.ts";
import { logSoftmax } from "../ops/reduce/softmax.ts";
import { squeeze, unsqueeze } from "../ops/shape/movement.ts";
import { ratio } from "./averages.ts";
import { floats, integers, keptOf, outside, requireIgnoreIndex } from "./labels.ts";
import { PredictionMetric, settingsOf, type MetricOptions } from "./metric.ts";
import { countable, countTrue, hadNaN, problemsState } from "./problems.ts";
import { addSums, countState, sumOf, sumStates } from "./sums.ts";

/** Options of perplexity(). */
export interface PerplexityOptions extends MetricOptions {
  /** Targets of this value are left out. Default: none. */
  readonly ignoreIndex?: number | undefined;
}

/**
 * exp of the mean of -log softmax(prediction)[target]: how many classes a language model chooses among on average.
 *
 * prediction: logits [..., C] of a floating dtype, computed in float32. target: integers [...]. compute(): a number, NaN without samples and for a NaN among
 * the logits; rejects with ValueError for targets outside of [0, C). update() throws ShapeError, DTypeError. Reference: torchmetrics.text.Perplexity.
 */
export function perplexity(options: PerplexityOptions = {}): PredictionMetric {
  const operation = "perplexity";
  const { ignoreIndex } = options;
  requireIgnoreIndex(operation, ignoreIndex);
  return new PredictionMetric(
    {
      operation,
      settings: settingsOf({ ignoreIndex }),
      states: [...sumStates("total"), countState, problemsState],
      problems: { target: "classes in [0, C), or ignoreIndex", prediction: "logits" },
      batch(prediction, target) {
        const logits = floats(operation, "prediction", prediction);
        const classes = logits.shape.at(-1) ?? 0;
        if (classes < 1) throw new ShapeError(operation, "prediction", "[..., C]", prediction.describe());
        const actual = integers(operation, "target", target);
        const shape = logits.shape.slice(0, -1);
        if (!sameShape(target.shape, shape)) throw new ShapeError(operation, "target", showShape(shape), target.describe());
        if (target.size === 0) return null;
        const faults = { target: outside(actual, classes), prediction: null, nan: any(isnan(logits), -1) };
        const { counts, problems } = countable(keptOf(actual, ignoreIndex), faults);
        const at = unsqueeze(toDType(where(counts, actual, 0), "int32"), -1);
        const picked = squeeze(takeElements(logSoftmax(logits, -1), logits.rank - 1, at), -1);
        return [...sumOf(where(counts, neg(picked), 0)), countTrue(counts), problems];
      },
      combine: ([a, aLow, m, i], [b, bLow, n, k]) => [...addSums([a!, aLow!], [b!, bLow!]), add(m!, n!), add(i!, k!)],
      result: ([total, low, count, problems]) => (hadNaN(problems!) ? NaN : Math.exp(ratio(total![0]! + low![0]!, count![0]!))),
    },
    options,
  );
}
