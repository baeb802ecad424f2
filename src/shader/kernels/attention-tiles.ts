/** Products over tiles that a group of threads has in registers and shared memory, for attention in blocks. */
import type { BufferElements, Scope, SharedElements, Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";

/**
 * A group's threads are `across` times `down`. Of each tile a thread has columnParts times four columns, which lie `across` times four apart, and rows
 * likewise.
 */
export interface AttentionTile {
  readonly across: number;
  readonly down: number;
  readonly rowParts: number;
  readonly columnParts: number;
}

/** The tiles that are compared (bench/device/attention-variants.ts); scores of a tile: rows times columns. */
export const ATTENTION_TILES = {
  /** 64 x 64, 4 x 4 a thread. */
  small: { across: 16, down: 16, rowParts: 1, columnParts: 1 },
  /** 64 x 64, 8 x 4 a thread. */
  medium: { across: 16, down: 8, rowParts: 2, columnParts: 1 },
  /** 64 x 64, 8 x 8 a thread. */
  large: { across: 8, down: 8, rowParts: 2, columnParts: 2 },
} as const satisfies { readonly [name: string]: AttentionTile };

/** Elements of a part. */
export const PART = 4;
/** Columns of the operands of a product that are in shared memory at a time. */
const DEEP = 16;

export const rowsOf = ({ down, rowParts }: AttentionTile): number => down * PART * rowParts;
export const columnsOf = ({ across, columnParts }: AttentionTile): number => across * PART * columnParts;
export const threadsOf = ({ across, down }: AttentionTile): number => across * down;
/** Parts of a result of so many columns. */
const partsFor = ({ across }: AttentionTile, width: number): number => Math.ceil(width / (across * PART));

/** Buffers of float32, or of float16, whose numbers are float32 here. */
export type Numbers = BufferElements<"f32">;
export type Values = readonly (readonly Float[])[];
export type Sums = readonly (readonly Var<"f32">[])[];

/** Rows of a buffer: those of the head begin at row `base`, and the tile at `first` of its `count`. */
export interface Rows {
  readonly buffer: Numbers;
  readonly base: Uint;
  readonly first: Uint;
  readonly count: Uint;
}

/** What tiles take of a shader. */
type S = Pick<Scope<never, never>, "local" | "f32" | "u32" | "variable" | "shared" | "barrier"> & {
  if(condition: unknown, then: () => void): void;
  for(start: number, end: number, body: (index: Uint) => void, options: { readonly step: number; readonly unroll: boolean }): void;
};

const valuesOf = (sums: Sums): Float[][] => sums.map((row) => row.map(({ value }) => value));

/** A thread's part of the group's tiles. */
export class Tiles {
  readonly #s: S;
  readonly #tile: AttentionTile;
  readonly #isUnrolled: boolean;
  /** Operands of a product. */
  readonly #stage: SharedElements<"f32">;
  /** Scores, by rows: neighbours write to banks of their own. */
  readonly #scores: SharedElements<"f32">;
  /** Numbers of a row's threads. */
  readonly #parts: SharedElements<"f32"> | null;
  readonly #x: Uint;
  readonly #y: Uint;
  /** Rows in shared memory begin at banks of their own. */
  readonly #rowStride: number;
  readonly #columnStride: number;

  /** combines: whether numbers of a row's threads are put together. isUnrolled: whether the steps of a product are written without a loop. */
  constructor(s: unknown, tile: AttentionTile, { combines, isUnrolled }: { combines: boolean; isUnrolled: boolean }, widest: number) {
    this.#s = s as S;
    this.#tile = tile;
    this.#isUnrolled = isUnrolled;
    const [rows, columns] = [rowsOf(tile), columnsOf(tile)];
    this.#rowStride = rows + PART;
    this.#columnStride = columns + PART;
    const across = partsFor(tile, widest) * tile.across * PART;
    this.#stage = this.#s.shared("f32", DEEP * Math.max(this.#rowStride + this.#columnStride, across));
    this.#scores = this.#s.shared("f32", rows * this.#columnStride);
    this.#parts = combines ? this.#s.shared("f32", rows * this.#partStride) : null;
    this.#x = this.#s.local.mod(tile.across);
    this.#y = this.#s.local.div(tile.across);
  }

  /** Rows of 16 threads begin at other banks than their neighbours. */
  get #partStride(): number {
    const { across } = this.#tile;
    return across === 16 ? across + PART : across;
  }

  get rowCount(): number {
    return PART * this.#tile.rowParts;
  }

  get columnCount(): number {
    return PART * this.#tile.columnParts;
  }

  /** Whether the thread is its row's first. */
  get isFirst() {
    return this.#x.eq(0);
  }

  /** The i-th of its rows in a tile. */
  row(i: number): Uint {
    return this.#y.mul(PART).add(Math.floor(i / PART) * this.#tile.down * PART + (i % PART));
  }

  /** The j-th of its columns in a tile. */
  column(j: number): Uint {
    return this.#x.mul(PART).add(Math.floor(j / PART) * this.#tile.across * PART + (j % PART));
  }

  #zeros(columns: number): Var<"f32">[][] {
    return Array.from({ length: this.rowCount }, () => Array.from({ length: columns }, () => this.#s.variable(this.#s.f32(0))));
  }

  /** Sums of its rows of a result of so many columns. */
  zeros(width: number): Var<"f32">[][] {
    return this.#zeros(PART * partsFor(this.#tile, width));
  }

  /** Transposed columns `from` on of rows. */
  #transpose({ buffer, base, first, count }: Rows, rows: number, width: number, from: Uint, at: number, stride: number): void {
    const threads = threadsOf(this.#tile);
    for (let i = 0; i < (rows * DEEP) / PART / threads; i++) {
      const item = this.#s.local.add(i * threads);
      const [row, depth] = [item.div(DEEP / PART), item.mod(DEEP / PART).mul(PART)];
      const own = first.add(row);
      const isThere = width % DEEP === 0 ? own.lt(count) : own.lt(count).and(from.add(depth).lt(width));
      const values = buffer.loadsInside(isThere.select(base.add(own).mul(width).add(from).add(depth), 0), PART);
      values.forEach((v, q) => this.#stage.store(depth.add(q).mul(stride).add(row).add(at), isThere.select(v, 0)));
    }
  }

  /** Its part of rows a times the transpose of rows b, each of `width` elements; rows from the counts on are zeros. */
  product(a: Rows, b: Rows, width: number): Values {
    const s = this.#s;
    const { across, down, rowParts, columnParts } = this.#tile;
    const sums = this.#zeros(this.columnCount);
    const behind = DEEP * this.#rowStride;
    s.for(
      0,
      width,
      (from) => {
        s.barrier();
        this.#transpose(a, rowsOf(this.#tile), width, from, 0, this.#rowStride);
        this.#transpose(b, columnsOf(this.#tile), width, from, behind, this.#columnStride);
        s.barrier();
        this.#steps((at, q) => {
          const x = this.#wide(this.#stage, at(this.#rowStride, q).add(this.#y.mul(PART)), rowParts, down * PART);
          const y = this.#wide(this.#stage, at(this.#columnStride, q).add(this.#x.mul(PART)).add(behind), columnParts, across * PART);
          multiplyAdd(sums, x, y);
        });
      },
      { step: DEEP, unroll: false },
    );
    return valuesOf(sums);
  }

  /**
   * Runs body for each column that is in shared memory: without a loop, or in a loop of PART columns, whose pipelines are made in a fraction of the time. at:
   * where column q begins, with a stride.
   */
  #steps(body: (at: (stride: number, q: number) => Uint, q: number) => void): void {
    const each = (first: Uint | null, count: number): void => {
      for (let q = 0; q < count; q++) body((stride, i) => (first === null ? this.#s.u32(i * stride) : first.add(i).mul(stride)), q);
    };
    if (this.#isUnrolled) each(null, DEEP);
    else this.#s.for(0, DEEP, (first) => each(first, PART), { step: PART, unroll: false });
  }

  #wide(from: SharedElements<"f32">, at: Uint, parts: number, apart: number): Float[] {
    return Array.from({ length: parts }, (_, i) => from.loads(at.add(i * apart), PART)).flat();
  }

  /** Where four of its scores, neighbours of a row, are in shared memory. */
  #fourScores(visit: (at: Uint, i: number, j: number) => void): void {
    for (let i = 0; i < this.rowCount; i++)
      for (let j = 0; j < this.columnCount; j += PART) visit(this.row(i).mul(this.#columnStride).add(this.column(j)), i, j);
  }

  /** Writes its scores, which all threads read after a barrier. */
  keep(values: Values): void {
    this.#fourScores((at, i, j) => this.#scores.stores(at, values[i]!.slice(j, j + PART))); // prettier-ignore
  }

  /** Its scores as it has written them. */
  kept(): Float[][] {
    const values: Float[][] = Array.from({ length: this.rowCount }, () => []);
    this.#fourScores((at, i) => values[i]!.push(...this.#scores.loads(at, PART))); // prettier-ignore
    return values;
  }

  /** The same for all threads of a row: their numbers put together, one of each row. */
  combine(values: readonly Float[], by: (a: Float, b: Float) => Float): Float[] {
    const { across } = this.#tile;
    const parts = this.#parts!;
    const stride = this.#partStride;
    values.forEach((v, i) => parts.store(this.row(i).mul(stride).add(this.#x), v));
    this.#s.barrier();
    return values.map((_, i) => this.#wide(parts, this.row(i).mul(stride), across / PART, PART).reduce(by));
  }

  /** Adds the kept scores times rows b of `width` elements to sums. */
  accumulate(sums: Sums, { buffer, base, first, count }: Rows, width: number): void {
    const s = this.#s;
    const { across } = this.#tile;
    const parts = partsFor(this.#tile, width);
    const stride = parts * across * PART;
    const threads = threadsOf(this.#tile);
    s.for(
      0,
      columnsOf(this.#tile),
      (from) => {
        s.barrier();
        for (let i = 0; i < (DEEP * stride) / PART / threads; i++) {
          const item = s.local.add(i * threads);
          const [row, x] = [item.div(stride / PART), item.mod(stride / PART).mul(PART)];
          const own = first.add(from).add(row);
          const isThere = width === stride ? own.lt(count) : own.lt(count).and(x.lt(width));
          const values = buffer.loadsInside(isThere.select(base.add(own).mul(width).add(x), 0), PART);
          this.#stage.stores(row.mul(stride).add(x), values.map((v) => isThere.select(v, 0))); // prettier-ignore
        }
        s.barrier();
        let x: Float[][] = [];
        this.#steps((at, q) => {
          if (q % PART === 0)
            x = Array.from({ length: this.rowCount }, (_, i) => this.#scores.loads(at(1, q).add(this.row(i).mul(this.#columnStride)).add(from), PART)); // prettier-ignore
          const y = this.#wide(this.#stage, at(stride, q).add(this.#x.mul(PART)), parts, across * PART);
          multiplyAdd(sums, x.map((row) => row[q % PART]!), y); // prettier-ignore
        });
      },
      { step: DEEP, unroll: false },
    );
  }

  /** Writes its part of a result. */
  write(to: Numbers, { base, first, count }: Omit<Rows, "buffer">, width: number, values: Values): void {
    values.forEach((row, i) => {
      const at = first.add(this.row(i));
      for (let j = 0; j < row.length; j += PART) {
        const x = this.column(j);
        this.#s.if(at.lt(count).and(x.lt(width)), () => to.storesInside(base.add(at).mul(width).add(x), row.slice(j, j + PART)));
      }
    });
  }
}

function multiplyAdd(sums: Sums, x: readonly Float[], y: readonly Float[]): void {
  x.forEach((u, i) => y.forEach((v, j) => (sums[i]![j]!.value = u.fma(v, sums[i]![j]!.value))));
}
