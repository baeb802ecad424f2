/** Allocates offsets in one block of memory, first fit. With DXTENSOR_GUARD each range is used once, and a guard area follows it. */
import { isSwitchedOn } from "../host/environment.ts";

const ALIGNMENT = 256;

export class Arena {
  /** Live ranges by offset, in rising order. */
  readonly #live: { offset: number; size: number }[] = [];
  readonly #isGuarded = isSwitchedOn("DXTENSOR_GUARD");
  #size = 0;

  /** Bytes that were ever needed at once. */
  get size(): number {
    return this.#size;
  }

  take(sizeInBytes: number): number {
    const size = Math.ceil(sizeInBytes / ALIGNMENT) * ALIGNMENT + (this.#isGuarded ? ALIGNMENT : 0);
    let offset = 0;
    let i = 0;
    for (; i < this.#live.length; i++) {
      const range = this.#live[i]!;
      if (range.offset >= offset + size) break;
      offset = range.offset + range.size;
    }
    this.#live.splice(i, 0, { offset, size });
    this.#size = Math.max(this.#size, offset + size);
    return offset;
  }

  free(offset: number): void {
    if (this.#isGuarded) return;
    const ranges = this.#live;
    let [low, high] = [0, ranges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (ranges[middle]!.offset < offset) low = middle + 1;
      else high = middle;
    }
    if (ranges[low]?.offset === offset) ranges.splice(low, 1);
  }
}
