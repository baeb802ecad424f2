/** A seeded generator of our own: the same numbers on every platform and version. */

/** FNV-1a of a text, to give each case a stream of its own. */
export function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 32 random bits (splitmix32). */
  bits(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let z = this.#state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return (z ^ (z >>> 15)) >>> 0;
  }
  /** An integer from low to high, both included. */
  between(low: number, high: number): number {
    return low + (this.bits() % (high - low + 1));
  }
  /** A real number from low to high. */
  real(low: number, high: number): number {
    return low + (this.bits() / 2 ** 32) * (high - low);
  }
  pick<T>(list: readonly T[]): T {
    return list[this.bits() % list.length]!;
  }
}
