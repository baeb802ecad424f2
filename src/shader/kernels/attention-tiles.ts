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
  /** 64 x 64, 4 x 8 a thread. */
  flat: { across: 8, down: 16, rowParts: 1, columnParts: 2 },
  /** 64 x 64, 8 x 4 a thread. */
  medium: { across: 16, down: 8, rowParts: 2, columnParts: 1 },
  /** 64 x 64, 4 x 4 a thread. */
  small: { across: 16, down: 16, rowParts: 1, columnParts: 1 },
} as const satisfies { readonly [name: string]: AttentionTile };

/** Elements of a part. */
export const PART = 4;
/** Columns of the operands of a product that are in shared memory at a time. */
const DEEP = 16;
/** Columns from this one of DEEP on have rows eight apart swapped, so that threads that store four columns of a row have banks of their own. */
const SWAPPED = 8;

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
  if(condition: unknown, then: () => void, otherwise?: () => void): void;
  for(start: number, end: number, body: (index: Uint) => void, options: { readonly step: number; readonly unroll: boolean }): void;
};

/** What variables are now. */
export const valuesOf = (sums: Sums): Float[][] => sums.map((row) => row.map(({ value }) => value));

/** Operands of a product, of which DEEP of `extent` columns, or rows, are in shared memory at a time. */
export interface Operands {
  readonly extent: number;
  /** A thread's part of DEEP of them from one on. */
  readonly load: (from: Uint) => Float[][];
  /** Puts such a part into shared memory. */
  readonly put: (values: readonly (readonly Float[])[]) => void;
}

/** A thread's part of the group's tiles. */
export class Tiles {
  readonly #s: S;
  readonly #tile: AttentionTile;
  readonly #isUnrolled: boolean;
  /** Operands of a product. */
  readonly #stage: SharedElements<"f32">;
  /** Half of the scores' columns, by rows, or numbers of each row's threads. */
  readonly #scores: SharedElements<"f32">;
  readonly #x: Uint;
  readonly #y: Uint;
  /** Rows in shared memory begin at banks of their own. */
  readonly #rowStride: number;
  readonly #columnStride: number;
  readonly #scoreStride: number;
  /** The next operands, which are read while the present ones are multiplied. */
  readonly #next: readonly (readonly Var<"f32">[])[];

  /** isUnrolled: whether the steps of a product are written without a loop. widest: columns of the widest result. */
  constructor(s: unknown, tile: AttentionTile, isUnrolled: boolean, widest: number) {
    this.#s = s as S;
    this.#tile = tile;
    this.#isUnrolled = isUnrolled;
    const [rows, columns] = [rowsOf(tile), columnsOf(tile)];
    this.#rowStride = rows + PART;
    this.#columnStride = columns + PART;
    this.#scoreStride = columns / 2 + PART;
    const across = partsFor(tile, widest) * tile.across * PART;
    this.#stage = this.#s.shared("f32", DEEP * Math.max(this.#rowStride + this.#columnStride, across));
    this.#scores = this.#s.shared("f32", rows * this.#scoreStride);
    this.#x = this.#s.local.mod(tile.across);
    this.#y = this.#s.local.div(tile.across);
    const loads = (DEEP * Math.max(rows + columns, across)) / PART / threadsOf(tile);
    this.#next = Array.from({ length: loads }, () => Array.from({ length: PART }, () => this.#s.variable(this.#s.f32(0))));
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

  /** A thread's part of DEEP columns of rows, which are stored transposed. */
  #columnsOf(
    { buffer, base, first, count }: Rows,
    rows: number,
    width: number,
  ): { readonly load: Operands["load"]; readonly at: readonly { readonly row: Uint; readonly depth: Uint }[] } {
    const threads = threadsOf(this.#tile);
    const at = Array.from({ length: (rows * DEEP) / PART / threads }, (_, i) => {
      const item = this.#s.local.add(i * threads);
      return { row: item.div(DEEP / PART), depth: item.mod(DEEP / PART).mul(PART) };
    });
    const last = count.sub(1);
    return {
      at,
      // Rows behind the last one are read from it: what is computed of them is dropped.
      load: (from) =>
        at.map(({ row, depth }) => {
          const start = base.add(first.add(row).min(last)).mul(width).add(depth).add(from);
          if (width % DEEP === 0) return buffer.loadsInside(start, PART);
          const isThere = from.add(depth).lt(width);
          return buffer.loadsInside(isThere.select(start, 0), PART).map((v) => isThere.select(v, 0));
        }),
    };
  }

  #transpose(
    at: readonly { readonly row: Uint; readonly depth: Uint }[],
    values: readonly (readonly Float[])[],
    first: number,
    stride: number,
  ): void {
    at.forEach(({ row, depth }, i) =>
      values[i]!.forEach((v, q) =>
        this.#stage.store(
          depth
            .add(q)
            .mul(stride)
            .add(row.xor(depth.and(SWAPPED)))
            .add(first),
          v,
        ),
      ),
    );
  }

  /** The operands of `product`: rows a and rows b, each of `width` elements. */
  ofProduct(a: Rows, b: Rows, width: number): Operands {
    const [own, other] = [this.#columnsOf(a, rowsOf(this.#tile), width), this.#columnsOf(b, columnsOf(this.#tile), width)];
    return {
      extent: width,
      load: (from) => [...own.load(from), ...other.load(from)],
      put: (values) => {
        this.#transpose(own.at, values.slice(0, own.at.length), 0, this.#rowStride);
        this.#transpose(other.at, values.slice(own.at.length), DEEP * this.#rowStride, this.#columnStride);
      },
    };
  }

  /** The operand of `accumulate`: rows of `width` elements. */
  ofSum({ buffer, base, first, count }: Rows, width: number): Operands {
    const stride = partsFor(this.#tile, width) * this.#tile.across * PART;
    const threads = threadsOf(this.#tile);
    const at = Array.from({ length: (DEEP * stride) / PART / threads }, (_, i) => {
      const item = this.#s.local.add(i * threads);
      return { row: item.div(stride / PART), x: item.mod(stride / PART).mul(PART) };
    });
    const last = count.sub(1);
    return {
      extent: columnsOf(this.#tile),
      load: (from) =>
        at.map(({ row, x }) => {
          const start = base.add(first.add(from).add(row).min(last)).mul(width).add(x);
          if (width === stride) return buffer.loadsInside(start, PART);
          const isThere = x.lt(width);
          return buffer.loadsInside(isThere.select(start, 0), PART).map((v) => isThere.select(v, 0));
        }),
      put: (values) => at.forEach(({ row, x }, i) => this.#stage.stores(row.mul(stride).add(x), values[i]!)),
    };
  }

  /** Begins to read the first operands. */
  begin(operands: Operands): void {
    this.#read(operands, this.#s.u32(0));
  }

  #read(operands: Operands, from: Uint): void {
    operands.load(from).forEach((values, i) => values.forEach((v, q) => (this.#next[i]![q]!.value = v)));
  }

  /**
   * Runs body for each DEEP columns, or rows, while the next ones, or the first of `then`, are read. before: what else is put into shared memory.
   */
  #each(operands: Operands, then: Operands, body: (from: Uint) => void, before?: (from: Uint) => void): void {
    const s = this.#s;
    s.for(
      0,
      operands.extent,
      (from) => {
        operands.put(valuesOf(this.#next));
        before?.(from);
        s.barrier();
        const after = from.add(DEEP);
        const begin = (): void => this.begin(then);
        if (operands.extent > DEEP) s.if(after.lt(operands.extent), () => this.#read(operands, after), begin);
        else begin();
        body(from);
        s.barrier();
      },
      { step: DEEP, unroll: false },
    );
  }

  /** Its part of rows a times the transpose of rows b, while the first operands of `then` are read. */
  product(operands: Operands, then: Operands): Var<"f32">[][] {
    const { across, down, rowParts, columnParts } = this.#tile;
    const sums = this.#zeros(this.columnCount);
    this.#each(operands, then, () =>
      this.#steps((at, q, swapped) => {
        const x = this.#wide(this.#stage, at(this.#rowStride, q).add(swapped(this.#y)), rowParts, down * PART);
        const y = this.#wide(this.#stage, at(this.#columnStride, q).add(swapped(this.#x)).add(DEEP * this.#rowStride), columnParts, across * PART); // prettier-ignore
        multiplyAdd(sums, x, y);
      }),
    );
    return sums;
  }

  /**
   * Runs body for each column that is in shared memory: without a loop, or in a loop of PART columns, whose pipelines are made in a fraction of the time. at:
   * where column q begins, with a stride.
   */
  #steps(body: (at: (stride: number, q: number) => Uint, q: number, swapped: (thread: Uint) => Uint) => void): void {
    const each = (first: Uint | null, count: number): void => {
      for (let q = 0; q < count; q++)
        body(
          (stride, i) => (first === null ? this.#s.u32(i * stride) : first.add(i).mul(stride)),
          q,
          (thread) => thread.mul(PART).xor(first === null ? q & SWAPPED : first.and(SWAPPED)),
        );
    };
    if (this.#isUnrolled) each(null, DEEP);
    else this.#s.for(0, DEEP, (first) => each(first, PART), { step: PART, unroll: false });
  }

  #wide(from: SharedElements<"f32">, at: Uint, parts: number, apart: number): Float[] {
    return Array.from({ length: parts }, (_, i) => from.loads(at.add(i * apart), PART)).flat();
  }

  /** Writes its scores of one half of the columns, which all threads read after a barrier. */
  #keep(values: Values, half: 0 | 1): void {
    const { across, columnParts } = this.#tile;
    const each = (first: number, end: number): void => {
      for (let i = 0; i < this.rowCount; i++)
        for (let j = first; j < end; j += PART) {
          const at = this.row(i).mul(this.#scoreStride).add(this.column(j));
          this.#scores.stores(at.sub((half * columnsOf(this.#tile)) / 2), values[i]!.slice(j, j + PART));
        }
    };
    const own = this.columnCount / 2;
    if (columnParts > 1) each(half * own, (half + 1) * own);
    else this.#s.if(this.#x.div(across / 2).eq(half), () => each(0, this.columnCount));
  }

  /** The same for all threads of a row: their numbers put together, one of each row. */
  combine(values: readonly Float[], by: (a: Float, b: Float) => Float): Float[] {
    const { across } = this.#tile;
    const stride = this.#partStride;
    values.forEach((v, i) => this.#scores.store(this.row(i).mul(stride).add(this.#x), v));
    this.#s.barrier();
    const all = values.map((_, i) => this.#wide(this.#scores, this.row(i).mul(stride), across / PART, PART).reduce(by));
    this.#s.barrier();
    return all;
  }

  /** Adds scores times rows of `width` elements to sums, while the first operands of `then` are read. */
  accumulate(sums: Sums, scores: Values, operands: Operands, width: number, then: Operands): void {
    const { across } = this.#tile;
    const parts = partsFor(this.#tile, width);
    const stride = parts * across * PART;
    const half = columnsOf(this.#tile) / 2;
    this.#each(
      operands,
      then,
      (from) => {
        const first = from.mod(half);
        let x: Float[][] = [];
        this.#steps((at, q) => {
          if (q % PART === 0)
            x = Array.from({ length: this.rowCount }, (_, i) => this.#scores.loads(at(1, q).add(this.row(i).mul(this.#scoreStride)).add(first), PART)); // prettier-ignore
          const y = this.#wide(this.#stage, at(stride, q).add(this.#x.mul(PART)), parts, across * PART);
          multiplyAdd(sums, x.map((row) => row[q % PART]!), y); // prettier-ignore
        });
      },
      (from) => {
        for (const part of [0, 1] as const) this.#s.if(from.eq(part * half), () => this.#keep(scores, part));
      },
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
