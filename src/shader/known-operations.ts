/**
 * Operations by name and arguments, in nested blocks: what a block has computed is forgotten at its end. A hash table whose entries are removed in the
 * opposite order of their addition, so that each is the first of its chain when it is.
 */
import type { Operate, Value } from "./ir.ts";
import { OPERATIONS, type OperationName } from "./operations.ts";

const NONE = -1;

const numbers = Object.fromEntries(Object.keys(OPERATIONS).map((name, i) => [name, i])) as { readonly [K in OperationName]: number };

function hashOf(name: OperationName, args: readonly Value[]): number {
  let hash = numbers[name];
  for (let i = 0; i < args.length; i++) hash = Math.imul(hash ^ args[i]!.id, 0x9e3779b1) ^ (hash >>> 15);
  return hash ^ (hash >>> 16);
}

function hasArgs(s: Operate, name: OperationName, args: readonly Value[]): boolean {
  if (s.name !== name) return false;
  for (let i = 0; i < args.length; i++) if (s.args[i] !== args[i]) return false;
  return true;
}

export class KnownOperations {
  /** The last entry of each chain. */
  #heads = new Int32Array(256).fill(NONE);
  readonly #entries: Operate[] = [];
  readonly #hashes: number[] = [];
  /** The entry of the same chain that was added before. */
  readonly #before: number[] = [];

  get size(): number {
    return this.#entries.length;
  }

  find(name: OperationName, args: readonly Value[]): Operate | null {
    let at = this.#heads[hashOf(name, args) & (this.#heads.length - 1)]!;
    while (at !== NONE) {
      const entry = this.#entries[at]!;
      if (hasArgs(entry, name, args)) return entry;
      at = this.#before[at]!;
    }
    return null;
  }

  add(s: Operate): void {
    if (this.#entries.length === this.#heads.length) this.#grow();
    this.#hashes.push(hashOf(s.name, s.args));
    this.#entries.push(s);
    this.#link(this.#entries.length - 1);
  }

  /** Removes the entries that were added last, until so many are left. */
  shrink(size: number): void {
    while (this.#entries.length > size) {
      this.#entries.pop();
      this.#heads[this.#hashes.pop()! & (this.#heads.length - 1)] = this.#before.pop()!;
    }
  }

  #link(at: number): void {
    const chain = this.#hashes[at]! & (this.#heads.length - 1);
    this.#before[at] = this.#heads[chain]!;
    this.#heads[chain] = at;
  }

  #grow(): void {
    this.#heads = new Int32Array(4 * this.#heads.length).fill(NONE);
    for (let at = 0; at < this.#entries.length; at++) this.#link(at);
  }
}
