/**
 * Statistics of the rows of a GEMM's result, which its launch writes: of each row and tile of columns, the mean and the sum of squared distances from it. A GEMM that
 * reads the normalized rows merges them (Chan et al.), in the order of the tiles, and normalizes its operand when it loads it: no launch for layerNorm or RMSNorm.
 */
import type { SharedElements, Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import type { GemmScope, Tile } from "./gemm.ts";

/** How a GEMM normalizes the rows of its first operand. */
export interface GemmNorm {
  readonly kind: "layerNorm" | "rmsNorm";
  /** [K] each, which its launch reads. */
  readonly inputs: readonly NormInput[];
}
export const NORM_INPUTS = ["gain", "shift"] as const;
export type NormInput = (typeof NORM_INPUTS)[number];

/** Neighbours whose statistics a thread computes alone. */
const WIDTH = 4;

/** Longest row of a tile: larger ones leave no shared memory. */
const MAX_TILE = 64;
/** Whether a launch over such tiles can write statistics. */
export const notesRows = ({ bm, bn }: Tile): boolean => bm <= MAX_TILE && bn <= MAX_TILE;

const total = (values: readonly Float[]): Float => values.reduce((a, b) => a.add(b));

/** Of a group's tile: neighbours' statistics in shared memory, then those of rows. */
export class RowStatistics {
  readonly #s: GemmScope;
  readonly #tile: Tile;
  readonly #means: SharedElements<"f32">;
  readonly #squares: SharedElements<"f32">;

  constructor(s: GemmScope, tile: Tile) {
    [this.#s, this.#tile] = [s, tile];
    const size = tile.bm * this.#stride;
    [this.#means, this.#squares] = [s.shared("f32", size), s.shared("f32", size)];
  }

  /** Threads that have neighbouring rows use different banks. */
  get #stride(): number {
    return this.#tile.bn / WIDTH + 1;
  }

  note(row: Uint, column: Uint, values: readonly Float[]): void {
    const at = row.mul(this.#stride).add(column.div(WIDTH));
    const mean = total(values).mul(1 / WIDTH);
    this.#means.store(at, mean);
    this.#squares.store(at, total(values.map((v) => v.sub(mean).square())));
  }

  /** By all threads of the group. */
  write({ row, column, m, n }: { readonly row: Uint; readonly column: Uint; readonly m: Uint; readonly n: Uint }): void {
    const s = this.#s;
    const { bm, bn } = this.#tile;
    s.barrier();
    const y = row.add(s.local);
    s.if(s.local.lt(bm).and(y.lt(m)), () => {
      const count = n.sub(column).min(bn).div(WIDTH);
      const first = s.local.mul(this.#stride);
      const each = (visit: (at: Uint) => void): void => s.for(0, count, (i) => visit(first.add(i)), { unroll: false });
      const [sum, squares] = [s.variable(s.f32(0)), s.variable(s.f32(0))];
      each((at) => (sum.value = sum.value.add(this.#means.load(at))));
      const mean = sum.value.div(count.toFloat());
      each((at) => {
        const distance = this.#means.load(at).sub(mean);
        squares.value = squares.value.add(distance.square().mul(WIDTH).add(this.#squares.load(at)));
      });
      const tiles = n.add(bn - 1).div(bn);
      const at = y.mul(tiles).add(column.div(bn)).mul(2);
      s.buffers["rowStatistics"]!.storesInside(at, [mean, squares.value]);
    });
  }
}

interface Operand {
  readonly m: Uint;
  readonly k: Uint;
  /** Of the first element that a thread loads at a time, in the columns that the group has. */
  readonly column: Uint;
  /** Elements that it loads at a time. */
  readonly width: number;
  /** Whether tiles divide the sizes. */
  readonly isWhole: boolean;
}

/** Normalizes what a thread loads of the operand. */
export class NormOfRows {
  readonly #s: GemmScope;
  readonly #norm: GemmNorm;
  readonly #operand: Operand;
  readonly #rows: readonly { readonly mean: Float | null; readonly rate: Float; readonly isThere: ReturnType<Uint["lt"]> }[];
  /** By input: what comes next of it. */
  readonly #next = new Map<NormInput, Var<"f32">[]>();

  constructor(s: GemmScope, norm: GemmNorm, rows: readonly Uint[], operand: Operand) {
    [this.#s, this.#norm, this.#operand] = [s, norm, operand];
    const { m, k } = operand;
    const statistics = s.buffers["statistics"]!;
    const { tileColumns } = s.params;
    const tiles = k.add(tileColumns).sub(1).div(tileColumns);
    const length = k.toFloat();
    this.#rows = rows.map((row) => {
      const isThere = row.lt(m);
      const first = isThere.select(row, 0).mul(tiles);
      /** Visits the tiles in order. */
      const each = (visit: (count: Float, mean: Float, squares: Float) => void): void =>
        s.for(
          0,
          tiles,
          (tile) => {
            const [mean, squares] = statistics.loadsInside(first.add(tile).mul(2), 2);
            visit(k.sub(tile.mul(tileColumns)).min(tileColumns).toFloat(), mean!, squares!);
          },
          { unroll: false },
        );
      const squares = s.variable(s.f32(0));
      let mean: Float | null = null;
      if (norm.kind === "layerNorm") {
        const sum = s.variable(s.f32(0));
        each((count, own) => (sum.value = own.fma(count, sum.value)));
        mean = sum.value.div(length);
      }
      each((count, own, within) => {
        const distance = mean === null ? own : own.sub(mean);
        squares.value = squares.value.add(distance.square().fma(count, within));
      });
      return { mean, rate: squares.value.div(length).add(s.params.epsilon).rsqrt(), isThere };
    });
  }

  /** Loads the factors of the columns that begin there. */
  fetch(from: Uint): void {
    const { k, column, width, isWhole } = this.#operand;
    const at = from.add(column);
    for (const name of this.#norm.inputs) {
      const values = this.#s.buffers[name]!.loadsInside(isWhole ? at : at.lt(k).select(at, 0), width);
      const next = this.#next.get(name);
      if (next === undefined)
        this.#next.set(name, values.map((v) => this.#s.variable(v))); // prettier-ignore
      else values.forEach((v, q) => (next[q]!.value = v));
    }
  }

  /** Elements of the operand's row of that index, which begin where the factors do; 0 where there are none. */
  of(index: number, values: readonly Float[], from: Uint): Float[] {
    const { mean, rate, isThere } = this.#rows[index]!;
    const { k, column, isWhole } = this.#operand;
    const [gain, shift] = NORM_INPUTS.map((name) => this.#next.get(name));
    const inside = isWhole ? null : isThere.and(from.add(column).lt(k));
    return values.map((v, q) => {
      const normal = (mean === null ? v : v.sub(mean)).mul(rate);
      const scaled = gain === undefined ? normal : normal.mul(gain[q]!.value);
      const result = shift === undefined ? scaled : scaled.add(shift[q]!.value);
      return inside === null ? result : inside.select(result, 0);
    });
  }
}
