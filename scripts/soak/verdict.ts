// The verdict over a soak's samples. Pure.

export interface Growth {
  readonly early: number;
  readonly late: number;
  readonly perHour: number;
  /** null: too few samples, or too short a time. */
  readonly isFlat: boolean | null;
}

const FIELDS = ["rss", "heap", "pooled", "program", "liveBuffers"] as const;
type Field = (typeof FIELDS)[number];

/** A sample, as work.ts writes it. */
export interface Sample extends Readonly<Record<Field, number>> {
  readonly seconds: number;
  readonly counts: { readonly asked: number; readonly answered: number; readonly wrong: number; readonly acts?: number };
}

/** How the process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor(sorted.length / 2)]!;
}

/** Growth that is the allocator's and V8's own breath. */
const BREATH = { ratio: 1.15, mib: 48, buffers: 48 };
/** The first part warms up: caches fill, code is compiled, heaps find their size. */
const WARM_UP = 1 / 3;
const MIN_SAMPLES = 12;
/** The process's memory and V8's heap breathe for minutes; what is counted by itself does not. */
const MIN_SECONDS: Partial<Record<Field, number>> = { rss: 300, heap: 300 };
const UNITS: Partial<Record<Field, "buffers">> = { liveBuffers: "buffers" };

/** What swings between little and the most that an act needs: its peaks tell of growth, not its middle. */
const PEAKS: ReadonlySet<Field> = new Set(["pooled"]);

/** Of the lines through any two samples: not moved by a few that lie elsewhere. */
function slopeOf(samples: readonly Sample[], field: Field): number {
  const slopes = samples.flatMap((a, i) => samples.slice(i + 1).map((b) => (b[field] - a[field]) / (b.seconds - a.seconds)));
  return median(slopes.filter(Number.isFinite));
}

/**
 * How a figure goes after the warm-up: its middle at first and last, and the growth of the line through all samples; of what swings, the
 * peaks of both halves. isFlat is null where that is too few samples, or too short a time.
 */
export function growthOf(samples: readonly Sample[], field: Field): Growth {
  const total = samples.at(-1)?.seconds ?? 0;
  const judged = samples.filter((s) => s.seconds >= total * WARM_UP);
  const isPeaks = PEAKS.has(field);
  const part = Math.max(1, Math.floor(judged.length / (isPeaks ? 2 : 4)));
  const figure = (some: readonly Sample[]): number =>
    isPeaks ? Math.max(0, ...some.map((s) => s[field])) : median(some.map((s) => s[field]));
  const [early, late] = [figure(judged.slice(0, part)), figure(judged.slice(-part))];
  const seconds = judged.length === 0 ? 0 : judged.at(-1)!.seconds - judged[0]!.seconds;
  const slope = isPeaks ? (late - early) / Math.max(1, seconds / 2) : slopeOf(judged, field);
  const perHour = Math.round(slope * 36_000) / 10;
  const grown = isPeaks ? late - early : (perHour / 3600) * seconds;
  const isLong = judged.length >= MIN_SAMPLES && total >= (MIN_SECONDS[field] ?? 0);
  const allowed = Math.max(early * (BREATH.ratio - 1), BREATH[UNITS[field] ?? "mib"]);
  return { early, late, perHour, isFlat: isLong ? grown <= allowed : null };
}

/** exit: how the process ended. problems is empty when all is well; unjudged: figures of which a run this short says nothing. */
export function verdictOf(samples: readonly Sample[], { code, signal }: Exit) {
  const problems: string[] = [];
  if (code !== 0) problems.push(`the process ended with ${signal ?? `status ${code}`}`);
  const growth = Object.fromEntries(FIELDS.map((field) => [field, growthOf(samples, field)])) as Record<Field, Growth>;
  const unjudged = FIELDS.filter((field) => growth[field].isFlat === null);
  const last = samples.at(-1);
  if (last === undefined) return { problems: [...problems, "nothing was counted"], unjudged, growth };
  const { asked, answered, wrong } = last.counts;
  if (wrong > 0) problems.push(`${wrong} results were wrong`);
  if (asked !== answered) problems.push(`${asked - answered} of ${asked} results were lost`);
  for (const field of FIELDS) {
    const { early, late, perHour, isFlat } = growth[field];
    const unit = UNITS[field] ?? "MiB";
    if (isFlat === false) problems.push(`${field} grew from ${early} to ${late} ${unit}, by ${perHour} an hour`);
  }
  return { problems, unjudged, growth };
}
