/** Seeds of samples: functions of the pass and of the sample's position in it, the same for any number of workers. */

/** What a data set gets with an index: the source of a sample's random choices. */
export interface SampleContext {
  /** An integer in [0, 2^32): the same for the same seed of the loader, pass and position in the pass, whatever the number of workers. */
  readonly seed: number;
  /** The pass, from 0. */
  readonly epoch: number;
  /** The next of a sequence of numbers in [0, 1) that starts from the seed (mulberry32). */
  random(): number;
}

/** What the seeds of a pass are made of. */
export interface PassSeed {
  /** The loader's seed, in decimal digits. */
  readonly seed: string;
  /** The pass, from 0. */
  readonly epoch: number;
}

/** The finalizer of MurmurHash3: each bit of the result depends on all bits of h. */
function mix(h: number): number {
  let x = h;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}

/** A number in [0, 2^32) for the nth part of a pass: a sample, or a worker. */
export function seedOf({ seed, epoch }: PassSeed, n: number): number {
  const words = BigInt(seed);
  let h = 0x9e3779b9;
  for (const word of [Number(words & 0xffffffffn), Number((words >> 32n) & 0xffffffffn), epoch, n % 2 ** 32, Math.floor(n / 2 ** 32)])
    h = mix(Math.imul(h, 31) ^ word);
  return h;
}

/** The context of the sample at a position of a pass. */
export function contextOf(pass: PassSeed, position: number): SampleContext {
  const seed = seedOf(pass, position);
  let state = seed;
  return {
    seed,
    epoch: pass.epoch,
    random() {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    },
  };
}
