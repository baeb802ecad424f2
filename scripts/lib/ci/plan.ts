// Which suites run, in which order, and until when: pure, from the table, the paths that changed, the date and the minutes.
import { pathsOf, type Suite } from "./table.ts";

export type Why = "always" | "changed" | "rotation";

export interface Entry {
  readonly suite: Suite;
  readonly why: Why;
  /** In words, for people. */
  readonly reason: string;
}

/** What has changed: paths, or everything, because nobody knows. */
export type Changed = readonly string[] | null;

export interface Budget {
  /** Suites of the rotation begin before so many minutes are over. */
  readonly minutes: number;
  /** Suites whose paths changed begin, and all but those that always run end, before so many are over. */
  readonly max: number;
}

/** The run ends after `minutes`; what changed may take it to twice that. */
export const budgetOf = (minutes: number): Budget => ({ minutes, max: 2 * minutes });

/** Days since 1970 of a date as "2026-11-27". */
const dayOf = (date: string): number => Math.floor(Date.parse(`${date}T00:00:00Z`) / 86_400_000);

/** The list, beginning at another entry each day. */
function rotated<T>(list: readonly T[], date: string): T[] {
  const first = list.length === 0 ? 0 : dayOf(date) % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}

function changedReason(suite: Suite, changed: Changed): string | null {
  if (changed === null) return "everything counts as changed";
  const paths = pathsOf(suite, changed);
  if (paths.length === 0) return null;
  return paths.length === 1 ? `${paths[0]} changed` : `${paths[0]} and ${paths.length - 1} more changed`;
}

/** All suites in the order in which they are tried: those that always run, those whose paths changed, the day's rotation, those that run last. */
export function order(suites: readonly Suite[], changed: Changed, date: string): Entry[] {
  const others = rotated(
    suites.filter((s) => s.always === undefined),
    date,
  ).map((suite) => ({ suite, reason: changedReason(suite, changed) }));
  const always = (when: Suite["always"]): Entry[] =>
    suites.filter((s) => s.always === when).map((suite) => ({ suite, why: "always", reason: "in every run" }));
  return [
    ...always("first"),
    ...others.flatMap(({ suite, reason }): Entry[] => (reason === null ? [] : [{ suite, why: "changed", reason }])),
    ...others.flatMap(({ suite, reason }): Entry[] => (reason === null ? [{ suite, why: "rotation", reason: "in rotation" }] : [])),
    ...always("last"),
  ];
}

export interface Moment {
  /** Minutes since the run began. */
  readonly elapsed: number;
  /** Whether a suite of the rotation has run today: the first one begins though it may end late. */
  readonly hasRotated: boolean;
}

/** Why a suite does not begin at this moment; null: it begins. */
export function refusal({ suite, why }: Entry, { elapsed, hasRotated }: Moment, { minutes, max }: Budget): string | null {
  if (why === "always") return null;
  const end = elapsed + suite.minutes;
  const min = Math.round(elapsed);
  if (end > max) return `it takes ${suite.minutes} minutes, and ${min} of ${max} were over`;
  if (why === "changed") return null;
  if (elapsed >= minutes) return `the ${minutes} minutes were over`;
  return hasRotated && end > minutes ? `it takes ${suite.minutes} minutes, and ${min} of ${minutes} were over` : null;
}

export interface Plan {
  readonly entries: readonly (Entry & { readonly begins: number })[];
  readonly left: readonly (Entry & { readonly refusal: string })[];
  /** When the last one ends. */
  readonly ends: number;
}

/** What would run if each suite took its usual minutes; those of `cannot` can't, for the reason given. */
export function plan(
  entries: readonly Entry[],
  budget: Budget,
  { elapsed: start = 0, cannot = () => null }: { elapsed?: number; cannot?: (suite: Suite) => string | null } = {},
): Plan {
  const [runs, left]: [Plan["entries"][number][], Plan["left"][number][]] = [[], []];
  let elapsed = start;
  for (const entry of entries) {
    const hasRotated = runs.some(({ why }) => why === "rotation");
    const reason = refusal(entry, { elapsed, hasRotated }, budget) ?? cannot(entry.suite);
    if (reason !== null) left.push({ ...entry, refusal: reason });
    else {
      runs.push({ ...entry, begins: elapsed });
      elapsed += entry.suite.minutes;
    }
  }
  return { entries: runs, left, ends: elapsed };
}
