/** Ranges of unsigned values: their maximum, and the comparisons that hold at a statement. */
import type { Builder } from "./builder.ts";
import { constantOf, type Memory, type Value } from "./ir.ts";

const ANY = 0xffffffff;

export class Ranges {
  readonly #builder: Builder;
  readonly #threads: number;
  readonly #upperBounds = new Map<Value, number>();
  /** "id<id" of the comparisons that hold. */
  readonly #facts: Set<string>[] = [new Set()];

  constructor(builder: Builder, threads: number) {
    this.#builder = builder;
    this.#threads = threads;
  }

  /** The index of a loop: less than its end. */
  below(index: Value, end: Value): void {
    this.#upperBounds.set(index, Math.max(0, this.upperBound(end) - 1));
    this.#facts.at(-1)!.add(`${index.id}<${end.id}`);
  }

  /** Runs fn where a condition holds. */
  where<T>(condition: Value, fn: () => T): T {
    const facts = new Set<string>();
    const note = (v: Value): void => {
      const made = this.#builder.made.get(v);
      if (made?.name === "and.bool") made.args.forEach(note);
      if (made?.name === "lt.u32") facts.add(`${made.args[0]!.id}<${made.args[1]!.id}`);
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
    return count === 1 && this.#facts.some((f) => f.has(`${at.id}<${size.id}`));
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
    let upperBound = this.#upperBounds.get(v);
    if (upperBound === undefined) this.#upperBounds.set(v, (upperBound = this.#of(v)));
    return upperBound;
  }

  #of(v: Value): number {
    const made = this.#builder.made.get(v);
    if (made === undefined) return ANY;
    const [a, b] = made.args.slice(-2).map((x) => (x.type === "u32" ? this.upperBound(x) : ANY)) as [number, number | undefined];
    const known = made.args.length === 2 ? constantOf(made.args[1]!) : null;
    const within = (n: number): number => (n > ANY ? ANY : n);
    switch (made.name) {
      case "add.u32":
        return within(a + b!);
      case "mul.u32":
        return within(a * b!);
      case "shl.u32":
        return known === null ? ANY : within(a * 2 ** (known & 31));
      case "shr.u32":
        return known === null ? a : Math.floor(a / 2 ** (known & 31));
      case "and.u32":
        return Math.min(a, b!);
      case "min.u32":
        return Math.min(a, b!);
      case "max.u32":
      case "select.u32":
        return Math.max(a, b!);
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
