/** Runs cases one after another, matches differences with the list of known ones, and counts. */
import type { Case, Context, Element, Finding } from "./case.ts";
import { known, applies, type DeviceFacts, type Known } from "./known.ts";

export type Status = "passed" | "known" | "failed" | "skipped";

export interface Report {
  readonly id: string;
  readonly status: Status;
  readonly milliseconds: number;
  /** What differs, or why it was skipped. */
  readonly messages: readonly string[];
}

export interface Summary {
  readonly reports: readonly Report[];
  /** Listed differences whose cases ran without one. */
  readonly outdated: readonly Known[];
  readonly stopped: boolean;
  readonly milliseconds: number;
}

export interface RunOptions {
  readonly facts: DeviceFacts;
  /** All cases are there: an entry that explains nothing is out of date then. */
  readonly isWhole: boolean;
  readonly signal: AbortSignal;
  readonly onReport: (report: Report, done: number) => void;
}

const keyOf = (id: string, { label }: Finding): string => (label === "" ? id : `${id}: ${label}`);

interface Explanation {
  readonly entries: readonly Known[];
  /** What no entry explains, as text; null when all is explained. */
  readonly left: string | null;
}

const elementText = ({ index, inputs, got, want }: Element): string =>
  `  at ${index}${inputs === undefined ? "" : `, of ${inputs.map(String).join(", ")}`}: ${String(got)} instead of ${String(want)}`;

const MAX_ELEMENTS = 6;

/** A finding is explained as a whole, or each of its elements by one entry or another. */
function explain(id: string, finding: Finding, entries: readonly Known[]): Explanation {
  const key = `${keyOf(id, finding)}\n${finding.text}`;
  const possible = entries.filter((e) => e.cases.test(id) && (e.findings?.test(key) ?? true));
  const whole = possible.find((e) => e.explains === undefined);
  if (whole !== undefined) return { entries: [whole], left: null };
  const used = new Set<Known>();
  const left = (finding.elements ?? []).filter((element) => {
    const entry = possible.find((e) => e.explains!(element));
    if (entry !== undefined) used.add(entry);
    return entry === undefined;
  });
  if (finding.elements !== undefined && left.length === 0) return { entries: [...used], left: null };
  const elements = used.size === 0 ? [] : left.slice(0, MAX_ELEMENTS).map(elementText);
  return {
    entries: [...used],
    left: [finding.text, ...(elements.length > 0 ? [`  ${left.length} are in no entry of the known differences:`] : []), ...elements].join(
      "\n",
    ),
  };
}

/** Long enough to be cheap, short enough that Ctrl-C and progress answer. */
const SLICE_IN_MS = 50;

export async function run(cases: Iterable<Case>, context: Context, { facts, isWhole, signal, onReport }: RunOptions): Promise<Summary> {
  const entries = known.filter((entry) => applies(entry, facts));
  const used = new Set<Known>();
  const ran: string[] = [];
  const reports: Report[] = [];
  const start = performance.now();
  let sliceStart = start;
  for (const one of cases) {
    if (performance.now() - sliceStart > SLICE_IN_MS) {
      await new Promise((resolve) => setImmediate(resolve));
      sliceStart = performance.now();
    }
    if (signal.aborted) break;
    const begun = performance.now();
    context.trace?.(one.id);
    const report = await judge(one, context, entries, used, begun);
    ran.push(one.id);
    reports.push(report);
    onReport(report, reports.length);
  }
  const outdated = isWhole
    ? entries.filter((entry) => entry.isFreedom !== true && !used.has(entry) && ran.some((id) => entry.cases.test(id)))
    : [];
  return { reports, outdated, stopped: signal.aborted, milliseconds: performance.now() - start };
}

async function judge(one: Case, context: Context, entries: readonly Known[], used: Set<Known>, begun: number): Promise<Report> {
  const done = (status: Status, messages: readonly string[]): Report => ({
    id: one.id,
    status,
    milliseconds: performance.now() - begun,
    messages,
  });
  let result;
  try {
    result = await one.run(context);
  } catch (error) {
    return done("failed", [error instanceof Error ? (error.stack ?? error.message) : String(error)]);
  }
  if (result.kind === "agrees") return done("passed", []);
  if (result.kind === "skipped") return done("skipped", [result.reason]);
  const unknown: string[] = [];
  const reasons = new Set<string>();
  for (const finding of result.findings) {
    const explanation = explain(one.id, finding, entries);
    for (const entry of explanation.entries) {
      used.add(entry);
      reasons.add(entry.reason);
    }
    if (explanation.left !== null) unknown.push(explanation.left);
  }
  return unknown.length === 0 ? done("known", [...reasons]) : done("failed", unknown);
}
