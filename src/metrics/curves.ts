/** Areas under curves of all thresholds: ROC and precision-recall. */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { arange } from "../ops/creation/ranges.ts";
import { toDType } from "../ops/data/conversion.ts";
import { sigmoid } from "../ops/elementwise/activation.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { eq, ge, isnan } from "../ops/elementwise/compare.ts";
import { where } from "../ops/elementwise/where.ts";
import { any } from "../ops/reduce/reduce.ts";
import { softmax } from "../ops/reduce/softmax.ts";
import { broadcastTo, movedim, reshape } from "../ops/shape/movement.ts";
import { searchsorted } from "../ops/sort/search.ts";
import { groupsOf, positivesOf, precisionArea, rocArea, type Groups } from "./areas.ts";
import { averaged, requireOneOf, type Average, type Averaged } from "./averages.ts";
import {
  classProblems,
  floats,
  improbable,
  integers,
  keptOf,
  outside,
  requireClasses,
  requireLabels,
  requireSameShape,
  requireScores,
  type ClassOptions,
} from "./labels.ts";
import { PredictionMetric, settingsOf, type PairRule } from "./metric.ts";
import { countable, hadNaN, problemsState } from "./problems.ts";
import { addAll, countAt } from "./sums.ts";

/** Options of rocAuc() and averagePrecision(). Without numClasses and numLabels: two classes, of which 1 is the positive one (binary). */
export interface CurveOptions<A extends Average = Average> extends Omit<ClassOptions, "threshold"> {
  /** Multiclass (each class against the others) and multilabel: how the areas become one. "micro" is for numLabels alone. Default: "macro". */
  readonly average?: A | undefined;
  /**
   * Counts scores between thresholds in [0, 1], in place of keeping all scores: a number of evenly spaced ones (at least 2), or a list that increases. The state
   * then has a fixed size, and update() may be compiled. Default: none, the area is exact.
   */
  readonly thresholds?: number | readonly number[] | undefined;
}

function thresholdsOf(operation: string, thresholds: number | readonly number[] | undefined): Float32Array | null {
  if (thresholds === undefined) return null;
  const expected = "an integer of at least 2, or numbers in [0, 1] that increase";
  if (typeof thresholds === "number") {
    if (!Number.isSafeInteger(thresholds) || thresholds < 2 || thresholds > 2 ** 20)
      throw new ValueError(operation, "thresholds", expected, thresholds);
    return Float32Array.from({ length: thresholds }, (_, i) => i / (thresholds - 1));
  }
  const list = Float32Array.from(thresholds);
  if (list.length === 0 || list.some((t, i) => !(t >= 0 && t <= 1) || (i > 0 && t <= list[i - 1]!)))
    throw new ValueError(operation, "thresholds", expected, thresholds);
  return list;
}

/** The scores of a batch, float32 [n, C]; their targets, int32 [n, C] or, of classes, [n, 1], -1 where one is left out. */
interface Scores {
  readonly scores: Tensor;
  readonly targets: Tensor;
  readonly problems: Tensor;
}

/** isRanked: whether the order of the scores alone counts, whatever their range. */
function scoresOf(operation: string, prediction: Tensor, target: Tensor, options: CurveOptions, isRanked: boolean): Scores | null {
  const { numClasses, numLabels, ignoreIndex, fromLogits = false } = options;
  if (numClasses !== undefined) requireScores(operation, numClasses, prediction, target);
  else if (numLabels !== undefined) requireLabels(operation, numLabels, prediction, target);
  else requireSameShape(operation, prediction, target);
  const raw = floats(operation, "prediction", prediction);
  const actual = integers(operation, "target", target);
  if (target.size === 0) return null;
  const isMulticlass = numClasses !== undefined;
  // A sigmoid keeps the order, and would make large logits equal.
  const x = !fromLogits ? raw : isMulticlass ? softmax(raw, 1) : isRanked ? raw : sigmoid(raw);
  const each = (mask: Tensor): Tensor => (isMulticlass ? any(mask, 1) : mask);
  const faulty = fromLogits || (isRanked && !isMulticlass) ? null : each(improbable(x));
  const faults = { target: outside(actual, numClasses ?? 2), prediction: faulty, nan: each(isnan(raw)) };
  const { counts, problems } = countable(keptOf(actual, ignoreIndex), faults);
  const rows = (t: Tensor, columns: number): Tensor => reshape(columns === 1 ? t : movedim(t, 1, -1), [t.size / columns, columns]);
  const targets = toDType(where(counts, actual, -1), "int32");
  return { scores: rows(x, numClasses ?? numLabels ?? 1), targets: rows(targets, numLabels ?? 1), problems };
}

/** The groups of scores of each class, or of all classes together (micro). */
type Curves = readonly Groups[];

/** Groups of the exact state: rows of scores and targets. */
function exactCurves(scores: ArrayLike<number>, targets: ArrayLike<number>, { numClasses, numLabels, average }: CurveOptions): Curves {
  const [columns, width] = [numClasses ?? numLabels ?? 1, numLabels ?? 1];
  const rows = targets.length / width;
  const select = (isPositive: boolean, own: readonly number[]): Float32Array => {
    const found = new Float32Array(rows * own.length);
    let n = 0;
    for (const c of own)
      for (let i = 0; i < rows; i++) {
        const t = targets[i * width + (width === 1 ? 0 : c)]!;
        const score = scores[i * columns + c]!;
        // A loaded state may contain what no update() lets in.
        if (t >= 0 && (t === (numClasses === undefined ? 1 : c)) === isPositive && !Number.isNaN(score)) found[n++] = score;
      }
    return found.subarray(0, n);
  };
  const all = Array.from({ length: columns }, (_, c) => c);
  return (average === "micro" ? [all] : all.map((c) => [c])).map((own) => groupsOf(select(true, own), select(false, own)));
}

/** Groups of the counts [C, 2, buckets] between thresholds. */
function binnedCurves(counts: ArrayLike<number>, buckets: number, { average }: CurveOptions): Curves {
  const columns = counts.length / (2 * buckets);
  const at = (c: number, label: number, bucket: number): number => counts[(2 * c + label) * buckets + bucket]!;
  const curve = (own: readonly number[]): Groups =>
    // The pairs begin with the last bucket, each with its positives.
    Float64Array.from({ length: 2 * buckets }, (_, i) => own.reduce((n, c) => n + at(c, 1 - (i % 2), buckets - 1 - (i >> 1)), 0));
  const all = Array.from({ length: columns }, (_, c) => c);
  return average === "micro" ? [curve(all)] : all.map((c) => curve([c]));
}

/** The counts of a batch, [C, 2, buckets]: of each class, for both labels, the scores between two thresholds. */
function countScores({ scores, targets }: Scores, thresholds: Tensor, isMulticlass: boolean): Tensor {
  const columns = scores.shape[1]!;
  const buckets = thresholds.size + 1;
  const all = arange(columns, { dtype: "int32", device: scores.device });
  const label = toDType(eq(targets, isMulticlass ? all : 1), "int32");
  const at = add(mul(add(mul(all, 2), label), buckets), searchsorted(thresholds, scores, { right: true }));
  // A row of a multiclass target is of all classes.
  const counts = broadcastTo(ge(targets, 0), at.shape, "countScores");
  return countAt(counts, at, [columns, 2, buckets]);
}

function curveMetric<A extends Average>(
  operation: string,
  area: (groups: Groups) => number,
  options: CurveOptions<A>,
): PredictionMetric<Averaged<A>> {
  requireClasses(operation, options);
  const { numClasses, numLabels, ignoreIndex, fromLogits, average = "macro" } = options;
  requireOneOf(operation, "average", average, ["micro", "macro", "weighted", "none"]);
  if (average === "micro" && numClasses !== undefined)
    throw new ValueError(operation, "average", "macro, weighted or none, where numClasses is set", average);
  const isBinary = numClasses === undefined && numLabels === undefined;
  if (isBinary && options.average !== undefined)
    throw new ValueError(operation, "average", "absent without numClasses and numLabels", average);
  const thresholds = thresholdsOf(operation, options.thresholds);
  const columns = numClasses ?? numLabels ?? 1;
  const buckets = (thresholds?.length ?? 0) + 1;
  if (columns * 2 * buckets >= 2 ** 31) throw new ValueError(operation, "thresholds", "fewer, for so many classes", thresholds?.length);

  const value = (curves: Curves, problems: ArrayLike<number>): number | number[] => {
    const areas = hadNaN(problems) ? curves.map(() => NaN) : curves.map(area);
    if (average === "none") return areas;
    if (isBinary || average === "micro") return areas[0]!;
    return averaged(areas, average === "weighted" ? curves.map(positivesOf) : areas.map(() => 1));
  };

  const shared = {
    operation,
    settings: settingsOf({
      numClasses,
      numLabels,
      average: isBinary ? null : average,
      thresholds: options.thresholds,
      ignoreIndex,
      fromLogits,
    }),
    problems: classProblems(options),
    combine: addAll,
  };
  const rule: PairRule<number | number[]> =
    thresholds === null
      ? {
          ...shared,
          states: [
            problemsState,
            { name: "scores", shape: [0, columns], dtype: "float32", grows: true },
            { name: "targets", shape: [0, numLabels ?? 1], dtype: "int32", grows: true },
          ],
          batch(prediction, target) {
            const batch = scoresOf(operation, prediction, target, options, true);
            return batch === null ? null : [batch.problems, batch.scores, batch.targets];
          },
          result: ([problems, scores, targets]) => value(exactCurves(scores!, targets!, options), problems!),
        }
      : {
          ...shared,
          constant: { name: "thresholds", values: thresholds },
          states: [problemsState, { name: "counts", shape: [columns, 2, buckets], dtype: "int64" }],
          batch(prediction, target, limits) {
            const batch = scoresOf(operation, prediction, target, options, false);
            return batch === null ? null : [batch.problems, countScores(batch, limits!, numClasses !== undefined)];
          },
          result: ([problems, counts]) => value(binnedCurves(counts!, buckets, options), problems!),
        };
  return new PredictionMetric(rule as PairRule<Averaged<A>>, options);
}

/**
 * The area under the ROC curve: the probability that a positive sample has a larger score than a negative one, where equal scores count half.
 *
 * prediction: scores of a floating dtype: binary [...], multiclass probabilities (logits with fromLogits) [N, C, ...], multilabel [N, L, ...]. Binary and multilabel
 * scores may have any range without thresholds. target: classes as integers or bool, [...], [N, ...], [N, L, ...].
 * compute(): a number, with average "none" one for each class. NaN for a class without positives or without negatives, which macro leaves out. Without
 * thresholds the state holds all scores, which compute() reads and sorts on the host; with them it is the area of the polygon through the thresholds'
 * points and both corners.
 * update() throws ShapeError and DTypeError; without thresholds TraceError inside compile(). compute() rejects with ValueError for targets and
 * probabilities out of range. Reference: torchmetrics.AUROC, sklearn.metrics.roc_auc_score.
 */
export const rocAuc = <A extends Average = "macro">(options: CurveOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  curveMetric("rocAuc", rocArea, options);

/**
 * The mean of the precisions at each threshold, weighted by the increase in recall: a summary of the precision-recall curve without interpolation.
 *
 * Inputs, compute() and errors: as rocAuc()'s; NaN for a class without positives.
 * Reference: torchmetrics.AveragePrecision, sklearn.metrics.average_precision_score.
 */
export const averagePrecision = <A extends Average = "macro">(options: CurveOptions<A> = {}): PredictionMetric<Averaged<A>> =>
  curveMetric("averagePrecision", precisionArea, options);
