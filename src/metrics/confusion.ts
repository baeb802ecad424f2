/** Confusion matrices. */
import { ValueError } from "../core/errors.ts";
import { arange } from "../ops/creation/ranges.ts";
import { add, mul } from "../ops/elementwise/binary.ts";
import { reshape } from "../ops/shape/movement.ts";
import { ratio, requireOneOf } from "./averages.ts";
import { classProblems, labelsOf, requireClasses, type ClassOptions } from "./labels.ts";
import { PredictionMetric, settingsOf } from "./metric.ts";
import { hadNaN, problemsState } from "./problems.ts";
import { addAll, countAt } from "./sums.ts";

/** Options of confusionMatrix(). */
export interface ConfusionMatrixOptions extends ClassOptions {
  /** What the counts are divided by: those of the row (true), of the column (pred), of all samples (all), nothing (none). Default: "none". */
  readonly normalize?: "true" | "pred" | "all" | "none" | undefined;
}

/** Options of multilabel confusionMatrix(). */
export interface MultilabelConfusionMatrixOptions extends ConfusionMatrixOptions {
  readonly numLabels: number;
}

type Matrix = number[][];

/** Rows and columns of flat counts, divided. */
function matrixOf(counts: readonly number[], classes: number, normalize: "true" | "pred" | "all" | "none"): Matrix {
  const rows = Array.from({ length: classes }, (_, i) => counts.slice(i * classes, (i + 1) * classes));
  const total = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  if (normalize === "none") return rows;
  if (normalize === "true") return rows.map((row) => row.map((n) => ratio(n, total(row), 0)));
  if (normalize === "all") return rows.map((row) => row.map((n) => ratio(n, total(counts), 0)));
  const columns = rows.map((_, j) => total(rows.map((row) => row[j]!)));
  return rows.map((row) => row.map((n, j) => ratio(n, columns[j]!, 0)));
}

/**
 * How often each class (rows) is predicted as each class (columns).
 *
 * Inputs and errors: as accuracy()'s. compute(): rows of numbers, [C][C], binary [2][2], multilabel a matrix for each label, [L][2][2]. Counts, or parts of
 * them with normalize: 0 where the divisor is 0. All are NaN where a prediction was NaN.
 * Reference: torchmetrics.ConfusionMatrix, sklearn.metrics.confusion_matrix.
 */
export function confusionMatrix(options: MultilabelConfusionMatrixOptions): PredictionMetric<Matrix[]>;
export function confusionMatrix(options?: ConfusionMatrixOptions): PredictionMetric<Matrix>;
export function confusionMatrix(options: ConfusionMatrixOptions = {}): PredictionMetric<Matrix | Matrix[]> {
  const operation = "confusionMatrix";
  requireClasses(operation, options);
  const { numClasses, numLabels, normalize = "none", ignoreIndex, threshold, fromLogits } = options;
  requireOneOf(operation, "normalize", normalize, ["true", "pred", "all", "none"]);
  const classes = numClasses ?? 2;
  if (classes > 2 ** 14) throw new ValueError(operation, "numClasses", "at most 16384", classes);
  const shape = numLabels === undefined ? [classes, classes] : [numLabels, 2, 2];
  return new PredictionMetric(
    {
      operation,
      settings: settingsOf({
        numClasses,
        numLabels,
        normalize: normalize === "none" ? null : normalize,
        ignoreIndex,
        threshold,
        fromLogits,
      }),
      states: [{ name: "counts", shape, dtype: "int64" }, problemsState],
      problems: classProblems(options),
      batch(prediction, target) {
        const labels = labelsOf(operation, prediction, target, options);
        if (labels === null) return null;
        const cell = add(mul(labels.actual, classes), labels.predicted);
        const { device } = cell;
        const at =
          numLabels === undefined ? cell : add(cell, reshape(mul(arange(numLabels, { dtype: "int32", device }), 4), [numLabels, 1]));
        return [countAt(labels.counts, at, shape), labels.problems];
      },
      combine: addAll,
      result([held, problems]) {
        const counts = Array.from(held!, (n) => (hadNaN(problems!) ? NaN : n));
        if (numLabels === undefined) return matrixOf(counts, classes, normalize);
        return Array.from({ length: numLabels }, (_, l) => matrixOf(counts.slice(4 * l, 4 * l + 4), 2, normalize));
      },
    },
    options,
  );
}
