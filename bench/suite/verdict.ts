/** Whether one build is slower than another, from rounds that took turns: base, new, base again. */
import { median } from "../measure.ts";

export interface Verdict {
  /** Time of the new build by that of the base. */
  readonly ratio: number;
  /** How far apart two runs of the base itself are, as a ratio: nine of ten rounds are closer. */
  readonly noise: number;
  readonly isSlower: boolean;
}

/** Below this, a difference is not worth an alarm. */
const MINIMUM = 1.05;

const quantile = (values: readonly number[], q: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))]!;

/**
 * base and again are the same build. Slower: the median of the rounds' ratios is beyond what the base differs from itself by, and the new
 * build lost nearly every round (a sign test: 8 of 9 by chance is 2 %).
 */
export function verdictOf(base: readonly number[], now: readonly number[], again: readonly number[]): Verdict {
  const ratios = now.map((seconds, i) => seconds / Math.sqrt(base[i]! * again[i]!));
  const noise = quantile(
    base.map((seconds, i) => Math.exp(Math.abs(Math.log(again[i]! / seconds)))),
    0.9,
  );
  const ratio = median(ratios);
  const lost = ratios.filter((r) => r > 1).length;
  return { ratio, noise, isSlower: ratio > Math.max(MINIMUM, Math.sqrt(noise)) && lost >= Math.ceil(ratios.length * 0.85) };
}
