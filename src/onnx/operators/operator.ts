/** How the files of operators declare them. */
import type { Call } from "../format/call.ts";
import type { Value } from "../format/value.ts";

/** One value, or a list: one for each output. A sequence is one value, so it comes in a list of its own. */
export type Result = Value | Value[];
export type Run = (call: Call) => Result;

export interface Operator {
  readonly run: (call: Call) => Value[];
  /** Whether the same inputs always give the same results. */
  readonly isPure: boolean;
  /** Whether it takes bfloat16 as it is. */
  readonly isRaw: boolean;
}

export interface Traits {
  readonly isPure?: boolean;
  readonly isRaw?: boolean;
}

const asList = (r: Result): Value[] => (Array.isArray(r) ? r : [r as Value]);

/** Operators by name, as one file's table. */
export type Family = Readonly<Record<string, Operator>>;

export function family(table: Readonly<Record<string, Run>>, { isPure = true, isRaw = false }: Traits = {}): Family {
  return Object.fromEntries(Object.entries(table).map(([name, run]) => [name, { run: (call) => asList(run(call)), isPure, isRaw }]));
}
