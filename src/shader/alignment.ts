/** Which powers of two surely divide unsigned values: wide accesses to structured memory begin at such offsets. */
import type { Builder } from "./builder.ts";
import { constantOf, type Value } from "./ir.ts";

/** More than any access asks for. */
const MAX_EXPONENT = 8;

export class Alignment {
  readonly #builder: Builder;
  /** By the value's id; leaves have none. */
  readonly #known: (number | undefined)[] = [];

  constructor(builder: Builder) {
    this.#builder = builder;
  }

  /** The index of a loop. */
  ofLoop(index: Value, start: Value, step: Value): void {
    this.#known[index.id] = Math.min(this.of(start), this.of(step));
  }

  /** The exponent of the largest power of two that is known to divide a value; MAX_EXPONENT at most. */
  of(v: Value): number {
    const n = constantOf(v);
    if (n !== null) return n === 0 ? MAX_EXPONENT : Math.min(MAX_EXPONENT, 31 - Math.clz32(n & -n));
    if (v.leaf !== null) return 0;
    return (this.#known[v.id] ??= Math.max(0, Math.min(MAX_EXPONENT, this.#made(v))));
  }

  #made(v: Value): number {
    const made = this.#builder.madeBy(v);
    if (made === undefined) return 0;
    const { args } = made;
    const [x, y] = [args.at(-2) ?? args[0]!, args.at(-1)!];
    const [a, b] = [this.of(x), this.of(y)];
    const by = constantOf(y);
    switch (made.name) {
      case "add.u32":
      case "sub.u32":
      case "or.u32":
      case "mod.u32":
      case "min.u32":
      case "max.u32":
      case "select.u32":
        return Math.min(a, b);
      case "and.u32":
        return Math.max(a, b);
      case "mul.u32":
        return a + b;
      case "shl.u32":
        return by === null ? a : a + (by & 31);
      case "shr.u32":
        return by === null ? 0 : a - (by & 31);
      default:
        return 0;
    }
  }
}
