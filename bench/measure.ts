/** Timing by repetition: medians of several rounds in one run, so that ratios hold when the machine's speed drifts. */
import { performance } from "node:perf_hooks";

export interface Timing {
  /** Median over the rounds, in seconds for one execution. */
  readonly seconds: number;
  readonly best: number;
  readonly rounds: number;
}

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!;

/** A function that times a round of at least `least` seconds and says the seconds of one execution in it. */
export function perRound(once: () => void, settle: () => void, minSeconds: number): () => number {
  once();
  settle();
  const round = (n: number): number => {
    const start = performance.now();
    for (let i = 0; i < n; i++) once();
    settle();
    return (performance.now() - start) / 1000;
  };
  let count = 1;
  for (let t = round(count); t < minSeconds; t = round(count))
    count = Math.max(count + 1, Math.min(count * 10, Math.ceil((count * minSeconds * 1.2) / Math.max(t, 1e-6))));
  return () => round(count) / count;
}

/** Times `once` in rounds; each round repeats it until it has taken `least` seconds. `settle` waits for queued work. */
export function time(
  once: () => void,
  settle: () => void,
  { rounds = 7, minSeconds = 0.1 }: { rounds?: number; minSeconds?: number } = {},
): Timing {
  const round = perRound(once, settle, minSeconds);
  const values = Array.from({ length: rounds }, round);
  return { seconds: median(values), best: Math.min(...values), rounds };
}
