/** What comparisons say of sums of values, by the parts of a shader in which they hold. */
import type { Linear } from "./linear.ts";
import type { StridedRange } from "./strided-range.ts";

/** An integer that is `sum` mod 2^32 is in `range`. */
export interface Fact {
  readonly sum: Linear;
  readonly range: StridedRange;
}

/** A part of the shader in which comparisons hold. */
export interface Part {
  readonly facts: Fact[];
  /** By the value's id: facts about one value. */
  readonly bounds: Map<number, StridedRange>;
  /** Ranges by the value's id; those of the part around it as long as it has no facts of its own. */
  known: Map<number, StridedRange>;
}

export const newPart = (known = new Map<number, StridedRange>()): Part => ({ facts: [], bounds: new Map(), known });
