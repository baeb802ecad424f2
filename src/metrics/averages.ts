/** Quotients and averages of the scores of classes, on the host in float64. @package */
import { ValueError } from "../core/errors.ts";

/**
 * How the scores of classes or labels become one: of all counts together (micro), their mean (macro), their mean weighted by the number of the class's targets
 * (weighted), or each one's own (none). Classes that are neither predicted nor targets, and scores that are NaN, are left out of means.
 */
export type Average = "micro" | "macro" | "weighted" | "none";

/** A number, or one of each class. */
export type Averaged<A extends Average | undefined> = A extends "none" ? number[] : number;

/** a / b, and zeroDivision where b is 0. */
export const ratio = (a: number, b: number, zeroDivision = NaN): number => (b === 0 ? zeroDivision : a / b);

/** The mean of scores without those of weight 0 and NaN. NaN where none is left. */
export function averaged(scores: readonly number[], weights: readonly number[]): number {
  const counts = scores.map((s, i) => !Number.isNaN(s) && weights[i]! > 0);
  const total = (of: (i: number) => number): number => scores.reduce((sum, _, i) => (counts[i] ? sum + of(i) : sum), 0);
  return ratio(
    total((i) => scores[i]! * weights[i]!),
    total((i) => weights[i]!),
  );
}

export function requireZeroDivision(operation: string, value: number): void {
  if (value !== 0 && value !== 1 && !Number.isNaN(value)) throw new ValueError(operation, "zeroDivision", "0, 1 or NaN", value);
}

export function requireOneOf(operation: string, name: string, value: string, known: readonly string[]): void {
  if (!known.includes(value)) throw new ValueError(operation, name, `one of ${known.join(", ")}`, value);
}
