// The criteria for stable, preview and listed devices: computed from reports, never entered by hand.
import type { Conformance } from "./schema.ts";
import type { TestSet } from "./sets.ts";

export interface Criterion {
  readonly level: "stable" | "preview" | "listed";
  readonly about: string;
  /** The share of a set's tests that have to pass, of those that were not skipped. */
  readonly rates: Readonly<Partial<Record<TestSet["name"], number>>>;
}

/** The best one first. */
export const CRITERIA: readonly Criterion[] = [
  { level: "stable", about: "train on it", rates: { "must-pass": 1, operators: 0.995, models: 1, stress: 1 } },
  { level: "preview", about: "most programs run; read what fails", rates: { "must-pass": 0.99, operators: 0.9, models: 1 } },
  { level: "listed", about: "somebody has measured it", rates: { "must-pass": 0.8 } },
];

/** The share of a set's tests that may be skipped. */
export const MAX_SKIPPED = 0.1;

/** What keeps a report from a level, in words; empty: nothing. */
export function missing({ rates }: Criterion, { sets }: Pick<Conformance, "sets">): readonly string[] {
  return Object.entries(rates).flatMap(([name, rate]) => {
    const found = sets.find((set) => set.name === name);
    if (found === undefined) return [`${name} was not run`];
    if (!found.isComplete) return [`${name} was not run to its end`];
    const ran = found.passed + found.failed;
    if (found.skipped > MAX_SKIPPED * (ran + found.skipped))
      return [`${name}: ${found.skipped} of ${ran + found.skipped} tests are skipped`];
    const share = ran === 0 ? 0 : found.passed / ran;
    return share >= rate ? [] : [`${name}: ${(share * 100).toFixed(2)} % of ${ran} pass, ${rate * 100} % are required`];
  });
}

/** The best level that a report meets; null: none. */
export const levelOf = (report: Pick<Conformance, "sets">): Criterion["level"] | null =>
  CRITERIA.find((criterion) => missing(criterion, report).length === 0)?.level ?? null;
