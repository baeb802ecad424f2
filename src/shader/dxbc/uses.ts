/** The reads of each value, from which registers are shared. */
import { blocksOf, makesOf, readsOf, type Block, type Get, type Statement, type Value, type Variable } from "../ir.ts";

/** A statement in a block, by its index; isInner: it is a statement inside of that one. */
interface Position {
  readonly index: number;
  readonly isInner: boolean;
}

/** A block while it is visited, and the index of the statement that is. */
interface OpenBlock {
  readonly number: number;
  index: number;
}

/** Lists are by the values' ids. */
export class Uses {
  readonly #counts: number[] = [];
  /** The last statement that reads a value, in the block that made it, and whether that statement itself reads it last. */
  readonly #last: Position[] = [];
  /** Of values that statements make: the block by its number and depth, and the statement's index. */
  readonly #home: { readonly block: number; readonly depth: number; readonly index: number }[] = [];
  /** By the blocks' numbers: the statements that assign variables. */
  readonly #assigned: Map<Variable, Position[]>[] = [];
  /** Read behind the head of a loop, in which they are made. */
  readonly #conditions = new Set<Value>();
  /** Values read in another block than the one that made them. */
  readonly #far = new Set<Value>();
  /** Innermost last. */
  readonly #open: OpenBlock[] = [];

  constructor(body: Block) {
    this.#block(body);
  }

  #block(block: Block): void {
    const here: OpenBlock = { number: this.#assigned.push(new Map()) - 1, index: 0 };
    const depth = this.#open.push(here) - 1;
    for (let index = 0; index < block.length; index++) {
      const s = block[index]!;
      here.index = index;
      this.#reads(s);
      if (s.kind !== "for") for (const v of makesOf(s)) this.#home[v.id] = { block: here.number, depth, index };
      if (s.kind === "assign" || s.kind === "declare") this.#assigns(s.variable);
      for (const inner of blocksOf(s)) this.#block(inner);
      if (s.kind === "while") {
        this.#conditions.add(s.condition);
        this.#far.add(s.condition);
      }
    }
    this.#open.pop();
  }

  #assigns(variable: Variable): void {
    const innermost = this.#open.length - 1;
    for (let depth = 0; depth <= innermost; depth++) {
      const { number, index } = this.#open[depth]!;
      const entry = { index, isInner: depth < innermost };
      const list = this.#assigned[number]!.get(variable);
      if (list === undefined) this.#assigned[number]!.set(variable, [entry]);
      else list.push(entry);
    }
  }

  #reads(s: Statement): void {
    for (const v of readsOf(s)) {
      this.#counts[v.id] = (this.#counts[v.id] ?? 0) + 1;
      const home = v.leaf === null ? this.#home[v.id] : undefined;
      const found = home === undefined ? undefined : this.#open[home.depth];
      if (found === undefined || found.number !== home!.block) continue;
      const isInner = home!.depth < this.#open.length - 1;
      if (isInner) this.#far.add(v);
      this.#last[v.id] = { index: found.index, isInner };
    }
  }

  count(v: Value): number {
    return this.#counts[v.id] ?? 0;
  }

  /** Whether a value is read only in the block that made it. */
  isNear(v: Value): boolean {
    return !this.#far.has(v);
  }

  /** Whether what a get gave may be read in the variable itself: nothing changes it until the last reading. */
  mayAlias(s: Get): boolean {
    const home = this.#home[s.result.id];
    const last = this.#last[s.result.id];
    if (home === undefined || last === undefined || this.#conditions.has(s.result)) return false;
    const next = firstBehind(this.#assigned[home.block]!.get(s.variable) ?? [], home.index);
    if (next === undefined || last.index < next.index) return true;
    return last.index === next.index && !last.isInner && !next.isInner;
  }
}

/** The first of positions, which are in order, behind an index. */
function firstBehind(list: readonly Position[], index: number): Position | undefined {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (list[middle]!.index > index) to = middle;
    else from = middle + 1;
  }
  return list[from];
}
