/** Ranges of unsigned values: their maximum, and the comparisons that hold at a statement. */
import type { Builder } from "./builder.ts";
import { constantOf, type Memory, type Value } from "./ir.ts";

const ANY = 0xffffffff;

/** A number for "a is less than b"; ids are less than 2^26. */
const comparison = (a: Value, b: Value): number => a.id * 2 ** 26 + b.id;

export class Ranges {
  readonly #builder: Builder;
  readonly #threads: number;
  /** By the value's id; leaves have none. */
  readonly #upperBounds: (number | undefined)[] = [];
  /** The comparisons that hold, of the open blocks. */
  readonly #facts: Set<number>[] = [new Set()];

  constructor(builder: Builder, threads: number) {
    this.#builder = builder;
    this.#threads = threads;
  }

  /** The index of a loop: less than its end. */
  below(index: Value, end: Value): void {
    this.#upperBounds[index.id] = Math.max(0, this.upperBound(end) - 1);
    this.#facts.at(-1)!.add(comparison(index, end));
  }

  /** Runs fn where a condition holds. */
  where<T>(condition: Value, fn: () => T): T {
    const facts = new Set<number>();
    const note = (v: Value): void => {
      const made = this.#builder.madeBy(v);
      if (made?.name === "and.bool") made.args.forEach(note);
      if (made?.name === "lt.u32") facts.add(comparison(made.args[0]!, made.args[1]!));
    };
    note(condition);
    this.#facts.push(facts);
    try {
      return fn();
    } finally {
      this.#facts.pop();
    }
  }

  /** Whether `count` elements from `at` on are surely inside. */
  isInside(memory: Memory, at: Value, count: number, size: Value): boolean {
    if (memory.kind === "shared" && this.upperBound(at) + count <= memory.length) return true;
    if (count !== 1) return false;
    const wanted = comparison(at, size);
    return this.#facts.some((f) => f.has(wanted));
  }

  /** Whether a value is surely what it would be with more bits. */
  isExact(v: Value): boolean {
    return this.upperBound(v) < ANY;
  }

  /** The largest number that a value may be. */
  upperBound(v: Value): number {
    const n = constantOf(v);
    if (n !== null) return n;
    if (v.leaf?.kind === "local") return this.#threads - 1;
    if (v.leaf !== null) return ANY;
    return (this.#upperBounds[v.id] ??= this.#of(v));
  }

  #of(v: Value): number {
    const made = this.#builder.madeBy(v);
    if (made === undefined) return ANY;
    const { args } = made;
    const bound = (x: Value | undefined): number => (x?.type === "u32" ? this.upperBound(x) : ANY);
    const [a, b] = args.length < 2 ? [bound(args[0]), ANY] : [bound(args.at(-2)), bound(args.at(-1))];
    const known = args.length === 2 ? constantOf(args[1]!) : null;
    const within = (n: number): number => (n > ANY ? ANY : n);
    switch (made.name) {
      case "add.u32":
        return within(a + b);
      case "mul.u32":
        return within(a * b);
      case "shl.u32":
        return known === null ? ANY : within(a * 2 ** (known & 31));
      case "shr.u32":
        return known === null ? a : Math.floor(a / 2 ** (known & 31));
      case "and.u32":
        return Math.min(a, b);
      case "min.u32":
        return Math.min(a, b);
      case "max.u32":
      case "select.u32":
        return Math.max(a, b);
      case "div.u32":
        return known === null || known === 0 ? ANY : Math.floor(a / known);
      case "mod.u32":
        return known === null || known === 0 ? ANY : Math.min(a, known - 1);
      case "bool.to.u32":
        return 1;
      default:
        return ANY;
    }
  }
}
