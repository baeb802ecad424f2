/** Groups profiles with equal lowerings, and finds how the others differ. Pure. */
import type { LoweringReport } from "../types.ts";

export interface Asked {
  /** "gelu float16" */
  readonly operation: string;
  /** One for each profile, in their order. */
  readonly forms: readonly string[];
}

/** The groups in the order of their first profile; a difference lists one form for each group. */
export function groupLowerings(featureLevel: string, profiles: readonly string[], asked: readonly Asked[]): LoweringReport {
  const keys = profiles.map((_, i) => JSON.stringify(asked.map(({ forms }) => forms[i])));
  const first = keys.map((key) => keys.indexOf(key));
  const leaders = [...new Set(first)];
  const groups = leaders.map((leader) => profiles.filter((_, i) => first[i] === leader));
  const seen = new Set<string>();
  const differences = asked.flatMap(({ operation, forms }) => {
    const own = leaders.map((leader) => forms[leader]!);
    const key = `${operation}\0${own.join("\0")}`;
    if (new Set(own).size <= 1 || seen.has(key)) return [];
    seen.add(key);
    return [{ operation, forms: own }];
  });
  return { featureLevel, groups, differences, asked: asked.length };
}
