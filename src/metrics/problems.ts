/** Samples that are no samples: counted on the device, and told when a metric is computed. @package */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { zerosLike } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { logicalAnd, logicalNot, logicalOr } from "../ops/elementwise/compare.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { stack } from "../ops/shape/join.ts";
import { reshape } from "../ops/shape/movement.ts";

/** What targets and predictions have to be, for the error's text. */
export interface Problems {
  readonly target: string;
  readonly prediction: string;
  readonly hint?: string;
}

/** How many elements had a target out of range, a prediction out of range, a prediction that is NaN. */
export const problemsState = { name: "problems", shape: [3], dtype: "int64" } as const;

export function requireNoProblems(operation: string, { target, prediction, hint }: Problems, counts: ArrayLike<number>): void {
  if (counts[0]! > 0) throw new ValueError(operation, "target", target, `${counts[0]} others`);
  if (counts[1]! > 0) throw new ValueError(operation, "prediction", prediction, `${counts[1]} others`, hint);
}

/** Whether a prediction was NaN. */
export const hadNaN = (problems: ArrayLike<number>): boolean => problems[2]! > 0;

/** Masks of the elements that are out of range; null: none can be. */
export interface Faults {
  readonly target: Tensor;
  readonly prediction: Tensor | null;
  readonly nan: Tensor | null;
}

export const countTrue = (mask: Tensor): Tensor => toDType(sum(toDType(mask, "int32")), "int64");

/** The elements that count, of `kept` (null: all) those without a fault; and the state "problems". */
export function countable(
  kept: Tensor | null,
  { target, prediction, nan }: Faults,
): { readonly counts: Tensor; readonly problems: Tensor } {
  const keptOnly = (fault: Tensor): Tensor => (kept === null ? fault : logicalAnd(kept, fault));
  const rows = [target, prediction, nan].map((fault) => (fault === null ? zerosLike(target) : keptOnly(fault)));
  const faults = [prediction, nan].reduce<Tensor>((all, fault) => (fault === null ? all : logicalOr(all, fault)), target);
  return {
    counts: keptOnly(logicalNot(faults)),
    problems: toDType(sum(toDType(reshape(stack(rows), [3, target.size]), "int32"), 1), "int64"),
  };
}
