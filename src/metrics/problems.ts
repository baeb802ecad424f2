/** Samples that are no samples: counted on the device, and told when a metric is computed. @package */
import { ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { zeros } from "../ops/creation/creation.ts";
import { toDType } from "../ops/data/conversion.ts";
import { logicalAnd, logicalNot } from "../ops/elementwise/compare.ts";
import { sum } from "../ops/reduce/reduce.ts";
import { stack } from "../ops/shape/join.ts";

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

/** Masks of the elements that are out of range; null: none is. */
export interface Faults {
  readonly target: Tensor | null;
  readonly prediction: Tensor | null;
  readonly nan: Tensor | null;
}

export const countTrue = (mask: Tensor): Tensor => toDType(sum(toDType(mask, "int32")), "int64");

/** Those of `kept` that have no fault, and the state "problems". */
export function countable(kept: Tensor, { target, prediction, nan }: Faults): { readonly counts: Tensor; readonly problems: Tensor } {
  const count = (fault: Tensor | null): Tensor =>
    fault === null ? zeros([], { dtype: "int64", device: kept.device }) : countTrue(logicalAnd(kept, fault));
  const counts = [target, prediction, nan].reduce<Tensor>((c, fault) => (fault === null ? c : logicalAnd(c, logicalNot(fault))), kept);
  return { counts, problems: stack([target, prediction, nan].map(count)) };
}
