/** Areas under the curves of all thresholds, on the host in float64. @package */

/** How many positive and how many negative samples share a score, in pairs, from the largest score down. */
export type Groups = Float64Array;

/** The groups of scores. Sorts both in place. */
export function groupsOf(positive: Float32Array, negative: Float32Array): Groups {
  positive.sort();
  negative.sort();
  const groups = new Float64Array(2 * (positive.length + negative.length));
  let [i, j, n] = [positive.length - 1, negative.length - 1, 0];
  while (i >= 0 || j >= 0) {
    const score = i < 0 ? negative[j]! : j < 0 ? positive[i]! : Math.max(positive[i]!, negative[j]!);
    for (; i >= 0 && positive[i] === score; i--) groups[n]!++;
    for (; j >= 0 && negative[j] === score; j--) groups[n + 1]!++;
    n += 2;
  }
  return groups.subarray(0, n);
}

/** The area under true positives over false positives, with lines through groups. NaN without positives or negatives. */
export function rocArea(groups: Groups): number {
  let [hits, misses, area] = [0, 0, 0];
  for (let i = 0; i < groups.length; i += 2) {
    const [positive, negative] = [groups[i]!, groups[i + 1]!];
    area += negative * (hits + positive / 2);
    hits += positive;
    misses += negative;
  }
  return hits === 0 || misses === 0 ? NaN : area / hits / misses;
}

/** The mean of the precisions at each step of the recall. NaN without positives. */
export function precisionArea(groups: Groups): number {
  let [hits, total, area] = [0, 0, 0];
  for (let i = 0; i < groups.length; i += 2) {
    const positive = groups[i]!;
    hits += positive;
    total += positive + groups[i + 1]!;
    if (positive > 0) area += positive * (hits / total);
  }
  return hits === 0 ? NaN : area / hits;
}

/** How many samples are positive. */
export function positivesOf(groups: Groups): number {
  let count = 0;
  for (let i = 0; i < groups.length; i += 2) count += groups[i]!;
  return count;
}
