/** All cases, family after family, in a fixed order. */
import type { Case, Context } from "../case.ts";
import { operatorCases } from "../operators/operators.ts";
import { loweringCases } from "./lowering-cases.ts";
import { refusalCases } from "./refusals.ts";
import { shaderCases } from "./shader-cases.ts";
import { specialCases } from "./special.ts";
import { trainingCases } from "./training.ts";
import { runOperatorCase } from "../operator-case.ts";

export interface SuiteOptions {
  readonly featureLevel: number;
  readonly quick: boolean;
}

export function* allCases({ featureLevel, quick }: SuiteOptions): Generator<Case> {
  for (const { id, describe } of operatorCases(featureLevel, quick))
    yield { id, run: (context: Context) => runOperatorCase(id, describe(), context) };
  yield* specialCases(featureLevel, quick);
  yield* refusalCases(featureLevel, quick);
  yield* loweringCases(quick);
  yield* trainingCases(quick);
  yield* shaderCases(quick);
}

/** "/regular expression/" or words that must all be part of the id. */
export function matcher(filter: string): (id: string) => boolean {
  const pattern = /^\/(.*)\/([a-z]*)$/.exec(filter);
  if (pattern !== null) {
    const expression = new RegExp(pattern[1]!, pattern[2]);
    return (id) => expression.test(id);
  }
  const words = filter.split(/\s+/).filter((word) => word !== "");
  return (id) => words.every((word) => id.includes(word));
}
