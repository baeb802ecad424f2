/** The reads of each value, from which registers are shared. */
import { blocksOf, makesOf, readsOf, type Block, type Get, type Statement, type Value, type Variable } from "../ir.ts";

export class Uses {
  readonly #counts = new Map<Value, number>();
  /** The last statement that reads a value, in the block that made it, and whether that statement itself reads it last. */
  readonly #last = new Map<Value, { readonly index: number; readonly isInner: boolean }>();
  readonly #home = new Map<Value, { readonly block: Block; readonly index: number }>();
  readonly #assigned = new Map<Block, Map<Variable, { readonly index: number; readonly isInner: boolean }[]>>();
  /** Read behind the head of a loop, in which they are made. */
  readonly #conditions = new Set<Value>();
  /** Values read in another block than the one that made them. */
  readonly #far = new Set<Value>();

  constructor(body: Block) {
    this.#block(body, []);
  }

  #block(block: Block, around: readonly { readonly block: Block; readonly index: number }[]): void {
    this.#assigned.set(block, new Map());
    block.forEach((s, index) => {
      const here = [...around, { block, index }];
      this.#reads(s, here);
      for (const v of makesOf(s)) if (s.kind !== "for") this.#home.set(v, { block, index });
      if (s.kind === "assign" || s.kind === "declare")
        for (const { block: outer, index: at } of here) {
          const list = this.#assigned.get(outer)!;
          const known = list.get(s.variable);
          const entry = { index: at, isInner: outer !== block };
          if (known === undefined) list.set(s.variable, [entry]);
          else known.push(entry);
        }
      for (const inner of blocksOf(s)) this.#block(inner, here);
      if (s.kind === "while") {
        this.#conditions.add(s.condition);
        this.#far.add(s.condition);
      }
    });
  }

  #reads(s: Statement, here: readonly { readonly block: Block; readonly index: number }[]): void {
    for (const v of readsOf(s)) {
      this.#counts.set(v, (this.#counts.get(v) ?? 0) + 1);
      const home = this.#home.get(v);
      const found = here.find((h) => h.block === home?.block);
      if (found === undefined) continue;
      const isInner = found.block !== here.at(-1)!.block;
      if (isInner) this.#far.add(v);
      this.#last.set(v, { index: found.index, isInner });
    }
  }

  count(v: Value): number {
    return this.#counts.get(v) ?? 0;
  }

  /** Whether a value is read only in the block that made it. */
  isNear(v: Value): boolean {
    return !this.#far.has(v);
  }

  /** Whether what a get gave may be read in the variable itself: nothing changes it until the last reading. */
  mayAlias(s: Get): boolean {
    const home = this.#home.get(s.result);
    const last = this.#last.get(s.result);
    if (home === undefined || last === undefined || this.#conditions.has(s.result)) return false;
    const changes = this.#assigned.get(home.block)?.get(s.variable) ?? [];
    const next = changes.find((c) => c.index > home.index);
    if (next === undefined || last.index < next.index) return true;
    return last.index === next.index && !last.isInner && !next.isInner;
  }
}
