/** Suggests a name for a misspelled one: "Did you mean axis?". It runs only when an error is made. */

/** Words of PyTorch, NumPy and other libraries, plain and in lower case, with what stands for them here. */
const elsewhere: readonly (readonly [theirs: string, ours: string])[] = [
  ["dim", "axis"],
  ["dim", "axes"],
  ["dims", "axis"],
  ["dims", "axes"],
  ["axes", "axis"],
  ["axis", "axes"],
  ["keepdim", "keepDims"],
  ["learningrate", "lr"],
  ["eps", "epsilon"],
  ["epsilon", "eps"],
  ["seed", "generator"],
  ["unbiased", "correction"],
  ["ddof", "correction"],
  ["size", "shape"],
  ["kernel", "kernelSize"],
  ["start", "from"],
  ["batch", "batchSize"],
  ["negativeslope", "slope"],
  ["iscausal", "causal"],
  ["nonlinear", "nonlinearity"],
  ["decay", "weightDecay"],
  ["l2", "weightDecay"],
  ["beta1", "betas"],
  ["beta2", "betas"],
];

/** "exp_range" and "nearest-exact" as this library spells words: "expRange", "nearestExact". */
export const camelCase = (word: string): string => word.replace(/[_-]+([a-z\d])/gi, (_, c: string) => c.toUpperCase());

const plain = (name: string): string => name.replace(/[_\-\s]/g, "").toLowerCase();

/** Letters to add, take away, replace or exchange with their neighbours until one is the other (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      let steps = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + cost);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) steps = Math.min(steps, before[j - 2]! + 1);
      row.push(steps);
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

/** The one of the names that was probably meant; null when none is near. */
export function nearest(received: string, names: readonly string[]): string | null {
  const word = plain(received);
  const same =
    names.find((name) => plain(name) === word) ?? elsewhere.find(([theirs, ours]) => theirs === word && names.includes(ours))?.[1];
  if (same !== undefined) return same;
  let found: string | null = null;
  let limit = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    const steps = distance(word, plain(name));
    // A short name is never a misspelling of another one altogether.
    if (steps < limit && steps < Math.max(word.length, name.length) - 1) [found, limit] = [name, steps];
  }
  return found;
}

/** "Did you mean axis?", or undefined. */
export function meant(received: string, names: readonly string[]): string | undefined {
  const name = nearest(received, names);
  return name === null ? undefined : `Did you mean ${name}?`;
}
