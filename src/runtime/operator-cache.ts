/** Programs by operation and key, the least recently looked up dropped first. */

export interface Droppable {
  /** Set when it has been dropped: inline caches that still hold it must not use it. */
  dropped: boolean;
}

type Key = number | string;

export class ProgramLru<T extends Droppable> {
  readonly #capacity: number;
  readonly #release: (value: T) => void;
  /** By operation; each inner Map in order of use. */
  readonly #maps = new Map<number, Map<Key, T>>();
  #size = 0;

  constructor(capacity: number, release: (value: T) => void) {
    this.#capacity = capacity;
    this.#release = release;
  }

  get size(): number {
    return this.#size;
  }

  /** How many operations have a program. */
  get operations(): number {
    return this.#maps.size;
  }

  *values(): Generator<T> {
    for (const map of this.#maps.values()) yield* map.values();
  }

  get(operation: number, key: Key): T | undefined {
    const map = this.#maps.get(operation);
    const value = map?.get(key);
    if (value !== undefined && this.#size > this.#capacity / 2) {
      map!.delete(key);
      map!.set(key, value);
    }
    return value;
  }

  set(operation: number, key: Key, value: T): T {
    if (this.#size >= this.#capacity) this.#evict();
    let map = this.#maps.get(operation);
    if (map === undefined) this.#maps.set(operation, (map = new Map()));
    map.set(key, value);
    this.#size++;
    return value;
  }

  /** Drops what matches; without release when the owner is gone anyhow. */
  drop(matches: (value: T) => boolean, release: boolean): void {
    for (const [operation, map] of this.#maps) {
      for (const [key, value] of map) if (matches(value)) this.#remove(map, key, value, release);
      if (map.size === 0) this.#maps.delete(operation);
    }
  }

  /** The oldest quarter of the operation that has the most. */
  #evict(): void {
    let largest: readonly [number, Map<Key, T>] | null = null;
    for (const entry of this.#maps) if (largest === null || entry[1].size > largest[1].size) largest = entry;
    const [operation, map] = largest!;
    let count = Math.ceil(map.size / 4);
    for (const [key, value] of map) {
      if (count-- <= 0) break;
      this.#remove(map, key, value, true);
    }
    if (map.size === 0) this.#maps.delete(operation);
  }

  #remove(map: Map<Key, T>, key: Key, value: T, release: boolean): void {
    map.delete(key);
    this.#size--;
    value.dropped = true;
    if (release) this.#release(value);
  }
}
