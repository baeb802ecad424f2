/** Programs of the corpus that are known not to pass, by mode and reason: known.json, which the lists below are made from. */
import { readFileSync } from "node:fs";
import type { Outcome } from "./judge.ts";
import type { ProgramMode } from "./run.ts";

export interface KnownGroup {
  /** As a user could read it in the documentation. */
  readonly reason: string;
  readonly ids: readonly string[];
}
export type Known = Readonly<Record<ProgramMode, readonly KnownGroup[]>>;

export const readKnown = (file: string | URL): Known => JSON.parse(readFileSync(file, "utf8")) as Known;

export const isFailure = (o: Outcome): boolean => o.result !== "pass" && o.result !== "skipped";

const bySeed = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

const unexplained = "Not looked at yet.";

/** The groups with exactly what fails now: what passes is dropped, what is new has no reason yet, and what was not run stays. */
export function updated(groups: readonly KnownGroup[], outcomes: ReadonlyMap<string, Outcome>): KnownGroup[] {
  const reasonFor = new Map(groups.flatMap(({ reason, ids }) => ids.map((id) => [id, reason] as const)));
  const stays = [...reasonFor.keys()].filter((id) => !outcomes.has(id));
  const failing = [...outcomes].filter(([, o]) => isFailure(o)).map(([id]) => id);
  const byReason = new Map<string, string[]>();
  for (const id of [...stays, ...failing]) {
    const reason = reasonFor.get(id) ?? unexplained;
    byReason.set(reason, [...(byReason.get(reason) ?? []), id]);
  }
  return [...byReason].map(([reason, ids]) => ({ reason, ids: ids.sort(bySeed) })).sort((a, b) => b.ids.length - a.ids.length);
}
