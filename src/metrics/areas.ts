/** Areas under the curves of all thresholds, on the host in float64. @package */

/** How many positive and negative samples share a score, from the largest score down. */
export type Groups = Iterable<readonly [positive: number, negative: number]>;

/** The groups of scores. Sorts both in place. */
export function* groupsOf(positive: Float32Array, negative: Float32Array): Generator<readonly [number, number]> {
  positive.sort();
  negative.sort();
  let [i, j] = [positive.length - 1, negative.length - 1];
  while (i >= 0 || j >= 0) {
    const score = Math.max(i < 0 ? -Infinity : positive[i]!, j < 0 ? -Infinity : negative[j]!);
    const [p, n] = [i, j];
    while (i >= 0 && positive[i] === score) i--;
    while (j >= 0 && negative[j] === score) j--;
    yield [p - i, n - j];
  }
}

/** The area under true positives over false positives, with lines through groups. NaN without positives or negatives. */
export function rocArea(groups: Groups): number {
  let [hits, misses, area] = [0, 0, 0];
  for (const [positive, negative] of groups) {
    area += negative * (hits + positive / 2);
    hits += positive;
    misses += negative;
  }
  return hits === 0 || misses === 0 ? NaN : area / hits / misses;
}

/** The mean of the precisions at each step of the recall. NaN without positives. */
export function precisionArea(groups: Groups): number {
  let [hits, total, area] = [0, 0, 0];
  for (const [positive, negative] of groups) {
    hits += positive;
    total += positive + negative;
    if (positive > 0) area += positive * (hits / total);
  }
  return hits === 0 ? NaN : area / hits;
}
