// What samples of a soak say. Pure.

export function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted.length === 0 ? 0 : sorted[Math.floor(sorted.length / 2)];
}

/** Growth that is the allocator's and V8's own breath. */
const BREATH = { ratio: 1.15, mib: 48 };

/** The samples of the second quarter against those of the last: the first warms up. Too few say nothing. */
function growth(samples, field) {
  const n = samples.length;
  const early = median(samples.slice(Math.floor(n / 4), Math.floor(n / 2)).map((s) => s[field]));
  const late = median(samples.slice(Math.floor((3 * n) / 4)).map((s) => s[field]));
  return { early, late, isFlat: n < 12 || late <= Math.max(early * BREATH.ratio, early + BREATH.mib) };
}

/** exit: how the process ended. problems is empty when all is well. */
export function verdictOf(samples, { code, signal }) {
  const problems = [];
  if (code !== 0) problems.push(`the process ended with ${signal ?? `status ${code}`}`);
  const last = samples.at(-1);
  if (last === undefined) return { problems: [...problems, "nothing was counted"], early: 0, late: 0 };
  const { asked, answered, wrong } = last.counts;
  if (wrong > 0) problems.push(`${wrong} results were wrong`);
  if (asked !== answered) problems.push(`${asked - answered} of ${asked} results were lost`);
  const rss = growth(samples, "rss");
  for (const field of ["rss", "heap", "pooled", "program"]) {
    const { early, late, isFlat } = growth(samples, field);
    if (!isFlat) problems.push(`${field} grew from ${early} to ${late} MiB`);
  }
  const buffers = growth(samples, "liveBuffers");
  if (!buffers.isFlat) problems.push(`live buffers grew from ${buffers.early} to ${buffers.late}`);
  return { problems, early: rss.early, late: rss.late };
}
