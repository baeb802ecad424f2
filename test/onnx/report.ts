/** Runs cases and counts the outcomes. */
import { clearScalars } from "../../src/runtime/constants.ts";
import type { Case } from "./cases.ts";
import { runCase, type Outcome } from "./run.ts";

export interface Report {
  readonly device: string;
  readonly passed: number;
  readonly failed: number;
  readonly missing: number;
  readonly outOfScope: number;
  /** passed / (passed + failed + missing). */
  readonly share: number;
  readonly ways: Readonly<Record<string, number>>;
  readonly failures: readonly { readonly id: string; readonly reason: string }[];
  /** What the importer does not know, with its number of cases. */
  readonly missingByReason: Readonly<Record<string, number>>;
  readonly outOfScopeByReason: Readonly<Record<string, number>>;
  /** The way of each case that passed. */
  readonly passes: Readonly<Record<string, string>>;
}

export function runCases(
  cases: readonly Case[],
  device: string,
  compiled = false,
  onCase?: (c: Case, outcome: Outcome, ms: number) => void,
): Outcome[] {
  const outcomes = cases.map((c) => {
    const start = performance.now();
    const outcome = runCase(c, device, { compiled });
    onCase?.(c, outcome, performance.now() - start);
    return outcome;
  });
  clearScalars();
  return outcomes;
}

function tally(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const k of keys) counts[k] = (counts[k] ?? 0) + 1;
  return counts;
}

export function reportOf(outcomes: readonly Outcome[], device: string): Report {
  const of = (result: Outcome["result"]): readonly Outcome[] => outcomes.filter((o) => o.result === result);
  const [passed, asked] = [of("passed"), outcomes.length - of("outOfScope").length];
  return {
    device,
    passed: passed.length,
    failed: of("failed").length,
    missing: of("missing").length,
    outOfScope: of("outOfScope").length,
    share: asked === 0 ? 1 : passed.length / asked,
    ways: tally(passed.map((o) => o.way!)),
    failures: of("failed").map((o) => ({ id: o.id, reason: o.reason! })),
    missingByReason: tally(of("missing").map((o) => o.reason!)),
    outOfScopeByReason: tally(of("outOfScope").map((o) => o.reason!)),
    passes: Object.fromEntries(passed.map((o) => [o.id, o.way!])),
  };
}
