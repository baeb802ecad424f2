/** Pseudo-random data that every peer makes for itself (pytorch.py has the same): a hash of the index, uniform in [-scale/2, scale/2) + offset. */
export function uniform(seed: number, n: number, scale = 1, offset = 0): Float32Array {
  const start = (Math.imul(seed, 0x9e3779b1) + 12345) | 0;
  return Float32Array.from({ length: n }, (_, i) => {
    let h = (Math.imul(i, 2654435761) + start) | 0;
    h ^= h >>> 15;
    h = Math.imul(h, 2246822519);
    h ^= h >>> 13;
    return ((h >>> 8) / 2 ** 24 - 0.5) * scale + offset;
  });
}

/** Integers in [0, below). */
export const whole = (seed: number, n: number, below: number): Int32Array =>
  Int32Array.from(uniform(seed, n, 1, 0.5), (v) => Math.min(below - 1, Math.floor(v * below)));

/** What is compared of two results. */
export interface Digest {
  readonly size: number;
  readonly norm: number;
  readonly samples: readonly number[];
}

export function digestOf(values: ArrayLike<number>): Digest {
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += values[i]! ** 2;
  const samples = Array.from({ length: 8 }, (_, i) => values[Math.floor((i * (values.length - 1)) / 7)]!);
  return { size: values.length, norm: Math.sqrt(squares), samples };
}

/** How far a result is from another, in units of its own scale. */
export function distance(a: Digest, b: Digest): number {
  if (a.size !== b.size) return Infinity;
  const scale = Math.max(b.norm / Math.sqrt(b.size), 1e-6);
  return Math.max(Math.abs(a.norm - b.norm) / (b.norm || 1), ...a.samples.map((v, i) => Math.abs(v - b.samples[i]!) / scale));
}
