/** Counts of passed programs and of each kind of failure. */
import { sortOf, type Outcome } from "./judge.ts";
import type { Program } from "./language.ts";
import { isFailure } from "./known.ts";

export interface Summary {
  readonly totals: Readonly<Record<string, number>>;
  readonly elsewhere: number;
  /** Sorts of failure, most frequent first, with an example. */
  readonly sorts: readonly { readonly sort: string; readonly count: number; readonly example: string }[];
  /** How many of the programs with a feature fail. */
  readonly features: readonly { readonly tag: string; readonly failing: number; readonly all: number }[];
}

function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

export function summaryOf(programs: readonly Program[], outcomes: ReadonlyMap<string, Outcome>): Summary {
  const failing = programs.filter((p) => isFailure(outcomes.get(p.id)!));
  const sorts = [...grouped(failing, (p) => sortOf(outcomes.get(p.id)!))].map(([sort, some]) => ({
    sort,
    count: some.length,
    example: some[0]!.id,
  }));
  const tagged = programs.flatMap((p) => p.tags.map((tag) => ({ tag, isFailing: failing.includes(p) })));
  const features = [...grouped(tagged, ({ tag }) => tag)].map(([tag, some]) => ({
    tag,
    all: some.length,
    failing: some.filter((s) => s.isFailing).length,
  }));
  return {
    totals: Object.fromEntries([...grouped(outcomes.values(), (o) => o.result)].map(([result, some]) => [result, some.length])),
    elsewhere: [...outcomes.values()].filter((o) => o.isElsewhere).length,
    sorts: sorts.sort((a, b) => b.count - a.count),
    features: features.sort((a, b) => b.all - a.all),
  };
}

export function textOf(mode: string, { totals, elsewhere, sorts, features }: Summary, max: number): string {
  const judged = Object.entries(totals).reduce((sum, [result, n]) => sum + (result === "skipped" ? 0 : n), 0);
  const share = ((100 * (totals.pass ?? 0)) / Math.max(judged, 1)).toFixed(1);
  return [
    `\n${mode}: ${Object.entries(totals)
      .map(([result, n]) => `${n} ${result}`)
      .join(", ")} (${share} %); ${elsewhere} refused at another statement`,
    ...sorts.slice(0, max).map(({ sort, count, example }) => `${String(count).padStart(5)}  ${sort}  (${example})`),
    ...(sorts.length > max ? [`       … ${sorts.length - max} sorts more (--verbose)`] : []),
    ...(sorts.length === 0
      ? []
      : [`  failing by feature: ${features.map(({ tag, failing, all }) => `${tag} ${failing}/${all}`).join("; ")}`]),
  ].join("\n");
}
