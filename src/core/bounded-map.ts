/**
 * A bounded Map of two generations. When the younger one is full, it replaces the older one, whose entries are dropped; a hit in the
 * older one moves its entry to the younger one. A hit in the younger one costs one look-up.
 */
export class Generations<K, V> {
  readonly #capacity: number;
  #young = new Map<K, V>();
  #old = new Map<K, V>();

  /** It holds up to twice the capacity, and surely the `capacity` values used last. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(key: K): V | undefined {
    const value = this.#young.get(key);
    if (value !== undefined) return value;
    const older = this.#old.get(key);
    if (older === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, older);
    return older;
  }

  set(key: K, value: V): void {
    if (this.#young.size >= this.#capacity) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }
}
