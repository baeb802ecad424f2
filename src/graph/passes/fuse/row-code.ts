/** The shader of a region that reduces: passes over the rows of a group, then what is written. */
import type { SharedElements } from "../../../shader/language.ts";
import type { Bool, Float, Uint } from "../../../shader/numbers.ts";
import { FLOATS, roundedToHalf } from "../../../shader/operations/code.ts";
import { foldOf, type Fold, type Number } from "../../../shader/operations/reductions.ts";
import type { GraphNode } from "../../graph.ts";
import type { AnyScope, GridAxis, Lanes } from "./lanes.ts";
import { halfBits, RegionCode, type NamedRegion } from "./region-code.ts";
import type { Facts } from "./region.ts";
import type { RowRegion } from "./row-region.ts";
import type { RowThreads } from "./row-threads.ts";

/** Values that threads combine by shared memory in one step. */
const RADIX = 8;

/** Shared memory of a group, which the regions of one launch use in turn. */
export interface GroupMemory {
  readonly memories: SharedElements<"f32" | "u32" | "i32">[];
  /** Whether threads may still read what was combined last. */
  isUsed: boolean;
}

/** An access of a thread to its row. */
interface Position {
  readonly lanes: Lanes;
  /** Null: surely in the row. */
  readonly inside: Bool | null;
  /** The first one's index in the row. */
  readonly column: Uint;
}

class RowCode {
  readonly #s: AnyScope;
  readonly #region: NamedRegion;
  readonly #facts: Facts;
  readonly #rows: RowRegion;
  readonly #plan: RowThreads;
  readonly #code: RegionCode;
  readonly #row: Lanes;
  /** Null: surely a row. */
  readonly #isThere: Bool | null;
  /** Of a row. */
  readonly #thread: Uint;
  readonly #index: Uint;
  readonly #memory: GroupMemory;

  constructor(s: AnyScope, region: NamedRegion, rows: RowRegion, plan: RowThreads, facts: Facts, group: Uint, memory: GroupMemory) {
    [this.#s, this.#region, this.#rows, this.#plan, this.#facts, this.#memory] = [s, region, rows, plan, facts, memory];
    const { kept } = rows.shape;
    const own = plan.isAlong ? s.local.div(plan.across) : s.local.mod(plan.rows);
    this.#thread = plan.isAlong ? s.local.mod(plan.across) : s.local.div(plan.rows);
    const index = group.mul(plan.rows).add(own);
    this.#isThere = kept % plan.rows === 0 ? null : index.lt(kept);
    this.#index = kept === 1 ? s.u32(0) : this.#isThere === null ? index : this.#isThere.select(index, 0);
    this.#row = { kind: "run", base: this.#index, step: 0, alignment: 1 };
    this.#code = new RegionCode(s, region, facts, plan.width, { access: rows.shape.rowOf, lanes: this.#row });
  }

  /** Where the elements of an access of a thread to its row are. */
  #position(unit: Uint, asks: boolean): Position {
    const { width } = this.#plan;
    const { axes, reduced } = this.#rows.shape;
    const inside = asks ? unit.lt(reduced / width) : null;
    const column = (inside === null ? unit : inside.select(unit, 0)).mul(width);
    let rest = { kept: this.#index, reduced: column };
    const grid: GridAxis[] = [];
    let inner = 1;
    axes.toReversed().forEach(({ size, isReduced }, i) => {
      const of = isReduced ? "reduced" : "kept";
      const isOutermost = !axes.slice(0, axes.length - 1 - i).some((a) => a.isReduced === isReduced);
      grid.push({ size, inner, at: isOutermost ? rest[of] : rest[of].mod(size) });
      if (!isOutermost) rest = { ...rest, [of]: rest[of].div(size) };
      inner *= size;
    });
    const base = grid.map((a) => a.at.mul(a.inner)).reduce((a, b) => a.add(b), this.#s.u32(0));
    return { inside, column, lanes: { kind: "run", base, step: 1, alignment: width, grid } };
  }

  /** Once for each access of this thread; in blocks of their own where that is a loop. */
  #pass(fn: (positions: readonly Position[]) => void): void {
    const { across, each, together, isFull, width } = this.#plan;
    const s = this.#s;
    const units = this.#rows.shape.reduced / width;
    const positions = (first: Uint, isFirstThere: boolean): Position[] =>
      Array.from({ length: together }, (_, i) => this.#position(first.add(i * across), !isFull && !(i === 0 && isFirstThere)));
    if (together === each) {
      // Accesses but the last are inside of a row for sure.
      const all = Array.from({ length: each }, (_, i) => this.#position(this.#thread.add(i * across), !isFull && (i + 1) * across > units));
      fn(all);
    } else
      s.for(this.#thread, s.u32(units), (first) => this.#code.inBlock(() => fn(positions(first, true))), {
        step: across * together,
        unroll: false,
      });
  }

  #reduce(nodes: readonly GraphNode[]): void {
    const s = this.#s;
    const folds = nodes.map((node) => foldOf(node)!);
    const none = folds.map((fold) => fold.none(s));
    const isLoop = this.#plan.together < this.#plan.each;
    const sums = none.map((list) => list.map((x) => (isLoop ? (s.variable(x as Float) as { value: Number }) : { value: x })));
    this.#pass((positions) =>
      nodes.forEach((node, i) => {
        const { element, combine } = folds[i]!;
        const x = node.inputs[0]!;
        const terms = positions.flatMap(({ lanes, inside, column }) => {
          const found = this.#code.read(x, lanes) as readonly Number[];
          const all = found.length === 1 ? new Array<Number>(this.#plan.width).fill(found[0]!) : found;
          return all.map((v, k) => {
            const own = element(s, v, k === 0 ? column : column.add(k));
            return inside === null ? own : own.map((y, part) => inside.select(y as Float, none[i]![part]! as Float));
          });
        });
        const before = sums[i]!.map((sum) => sum.value);
        combine(before, balanced(terms, combine)).forEach((value, part) => (sums[i]![part]!.value = value));
      }),
    );
    const all = this.#across(folds, sums.map((list) => list.map((x) => x.value))); // prettier-ignore
    nodes.forEach((node, i) => {
      const result = folds[i]!.finish(all[i]!, this.#rows.shape.reduced);
      const { dtype } = node.outputs[0]!;
      this.#code.define(node, this.#row, [dtype === "float16" ? roundedToHalf(result as Float, halfBits(s)) : result]);
    });
  }

  #shared(i: number, dtype: "f32" | "u32" | "i32"): SharedElements<"f32"> {
    const { threads } = this.#plan;
    const { memories } = this.#memory;
    let at = memories.filter((m) => m.memory.element === dtype)[i];
    if (at === undefined) memories.push((at = this.#s.shared(dtype, threads) as SharedElements<"f32" | "u32" | "i32">));
    return at as SharedElements<"f32">;
  }

  /** Combines the values of a row's threads, in an order that does not depend on timing. */
  #across(folds: readonly Fold[], values: readonly (readonly Number[])[]): (readonly Number[])[] {
    const s = this.#s;
    const { across, rows, isAlong } = this.#plan;
    if (across === 1) return [...values];
    const counts = { f32: 0, u32: 0, i32: 0 };
    const memories = folds.map(({ dtypes }) =>
      dtypes.map((dtype) => {
        const element = FLOATS.has(dtype) ? "f32" : dtype === "int32" ? "i32" : "u32";
        return this.#shared(counts[element]++, element);
      }),
    );
    // The last pass's results have been read.
    if (this.#memory.isUsed) s.barrier();
    this.#memory.isUsed = true;
    values.forEach((list, i) => list.forEach((value, part) => memories[i]![part]!.store(s.local, value as Float)));
    s.barrier();
    const stride = isAlong ? 1 : rows;
    const first = isAlong ? s.local.sub(this.#thread) : s.local.mod(rows);
    const gathered = (i: number, from: Uint, count: number, step: number): readonly Number[] =>
      balanced(Array.from({ length: count }, (_, k) => memories[i]!.map((memory) => memory.load(from.add(k * step * stride)) as Number)), folds[i]!.combine); // prettier-ignore
    let left = across;
    while (left > RADIX) {
      const parts = left / RADIX;
      s.if(this.#thread.lt(parts), () =>
        memories.forEach((list, i) => {
          const own = gathered(i, s.local, RADIX, parts);
          list.forEach((memory, part) => memory.store(s.local, own[part]! as Float));
        }),
      );
      s.barrier();
      left = parts;
    }
    return folds.map((_, i) => gathered(i, first, left, 1));
  }

  #know(pass: number): void {
    for (const { node, pass: before } of this.#rows.known) if (before <= pass) this.#code.node(node, this.#row);
  }

  #writeElements(outputs: readonly number[]): void {
    if (outputs.length === 0) return;
    this.#pass((positions) => {
      const made = positions.map(({ lanes }) => outputs.map((i) => this.#code.result(this.#maker(i), lanes)));
      positions.forEach(({ lanes, inside }, k) => {
        if (lanes.kind !== "run") return;
        const write = (): void => outputs.forEach((i, o) => this.#code.write(i, this.#region.outputs[i]!.dtype, lanes.base, made[k]![o]!));
        const condition = inside === null ? this.#isThere : this.#isThere === null ? inside : inside.and(this.#isThere);
        if (condition === null) write();
        else this.#s.if(condition, write);
      });
    });
  }

  #writeRows(outputs: readonly number[]): void {
    if (outputs.length === 0) return;
    const first = this.#plan.across === 1 ? null : this.#thread.eq(0);
    const condition = first === null ? this.#isThere : this.#isThere === null ? first : first.and(this.#isThere);
    const write = (): void =>
      this.#code.inBlock(() => {
        const made = outputs.map((i) => this.#code.result(this.#maker(i), this.#row));
        outputs.forEach((i, o) => this.#code.writeOne(i, this.#index, made[o]!));
      });
    if (condition === null) write();
    else this.#s.if(condition, write);
  }

  #maker(output: number): GraphNode {
    return this.#facts.makers.get(this.#region.outputs[output]!.value)!;
  }

  run(): void {
    this.#rows.passes.forEach((nodes, pass) => {
      this.#know(pass);
      this.#reduce(nodes);
    });
    this.#know(this.#rows.passes.length);
    const of = (domain: string): number[] => this.#rows.outputs.flatMap((d, i) => (d === domain ? [i] : []));
    this.#writeElements(of("element"));
    this.#writeRows(of("row"));
  }
}

/** In pairs, so that no sum waits for all before it. */
function balanced(values: readonly (readonly Number[])[], combine: Fold["combine"]): readonly Number[] {
  let list = [...values];
  while (list.length > 1)
    list = Array.from({ length: Math.ceil(list.length / 2) }, (_, i) => (2 * i + 1 < list.length ? combine(list[2 * i]!, list[2 * i + 1]!) : list[2 * i]!)); // prettier-ignore
  return list[0]!;
}

/** group: its index among those of the region, of which a launch may have a few more. */
export function emitRows(
  s: AnyScope,
  region: NamedRegion,
  rows: RowRegion,
  plan: RowThreads,
  facts: Facts,
  group: Uint,
  memory: GroupMemory = { memories: [], isUsed: false },
): void {
  s.if(group.lt(Math.ceil(rows.shape.kept / plan.rows)), () => new RowCode(s, region, rows, plan, facts, group, memory).run());
}
