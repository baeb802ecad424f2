/** Results as text, JSON and CTRF (ctrf.io). */
import type { Report, Summary } from "./run-cases.ts";

export interface Setting {
  readonly version: string;
  readonly device: string;
  readonly deviceName: string;
  readonly reference: string;
  readonly referenceName: string;
  readonly seed: number;
  readonly quick: boolean;
  readonly strict: boolean;
}

export const count = (reports: readonly Report[], status: Report["status"]): number => reports.filter((r) => r.status === status).length;

/** An outdated entry is a failure in strict mode; so is a run that was stopped, always. */
export const failures = (summary: Summary, strict: boolean): number =>
  count(summary.reports, "failed") + (strict ? summary.outdated.length : 0);

export const passes = (summary: Summary): number => count(summary.reports, "passed") + count(summary.reports, "known");

const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, " ");

/** How often each message occurs, most frequent first. */
function tally(messages: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const message of messages) counts.set(message, (counts.get(message) ?? 0) + 1);
  return [...counts].toSorted((a, b) => b[1] - a[1]);
}

/** What follows the list of failures; the last line is "N passed, M failed". */
export function summaryText(summary: Summary, { strict }: Setting): string {
  const { reports, outdated } = summary;
  const lines: string[] = [];
  const of = (status: Report["status"]): string[] => reports.filter((r) => r.status === status).flatMap((r) => r.messages);
  for (const [reason, n] of tally(of("known"))) lines.push(`known (${n}): ${oneLine(reason)}`);
  for (const [reason, n] of tally(of("skipped"))) lines.push(`skipped (${n}): ${oneLine(reason)}`);
  for (const entry of outdated)
    lines.push(
      `${strict ? "FAILED" : "note"}: listed as a known difference, but all of its cases agree: ${String(entry.cases)} (${oneLine(entry.reason)})`,
    );
  if (summary.stopped) lines.push("stopped before the end");
  lines.push(
    `${reports.length} cases in ${(summary.milliseconds / 1000).toFixed(1)} s, ${count(reports, "known")} with a known difference, ${count(reports, "skipped")} skipped`,
  );
  lines.push(`${passes(summary)} passed, ${failures(summary, strict)} failed`);
  return lines.join("\n");
}

export const repro = (id: string, { device, reference, seed }: Setting): string =>
  `dxtensor verify --device ${device} --reference ${reference} --seed ${seed} --filter '${id}'`;

export function jsonReport(summary: Summary, setting: Setting): object {
  return {
    ...setting,
    passed: passes(summary),
    failed: failures(summary, setting.strict),
    known: count(summary.reports, "known"),
    skipped: count(summary.reports, "skipped"),
    stopped: summary.stopped,
    milliseconds: Math.round(summary.milliseconds),
    outdated: summary.outdated.map((entry) => ({ cases: String(entry.cases), reason: entry.reason })),
    cases: summary.reports.map((r) => ({ ...r, milliseconds: Math.round(r.milliseconds) })),
  };
}

/** The Common Test Report Format; a known difference is a passed test with its reason as the message. */
export function ctrfReport(summary: Summary, setting: Setting, start: number, stop: number): object {
  const { reports } = summary;
  return {
    reportFormat: "CTRF",
    specVersion: "0.0.0",
    generatedBy: "dxtensor verify",
    results: {
      tool: { name: "dxtensor", version: setting.version },
      summary: {
        tests: reports.length,
        passed: passes(summary),
        failed: count(reports, "failed"),
        pending: 0,
        skipped: count(reports, "skipped"),
        other: 0,
        start,
        stop,
      },
      tests: reports.map((r) => ({
        name: r.id,
        status: r.status === "known" ? "passed" : r.status,
        duration: Math.round(r.milliseconds),
        suite: r.id.split("/").slice(0, 2),
        ...(r.messages.length === 0 ? {} : { message: r.messages.join("\n") }),
      })),
      environment: { extra: { ...setting, node: process.version, platform: `${process.platform}-${process.arch}` } },
    },
  };
}
