/**
 * Sums of the columns of a GEMM's result, which its launch writes: of each tile of rows the sums of its columns, into a workspace [tiles, N], which a small reduction
 * adds in order. So the gradient of a bias reads a few rows of sums, not the gradient that the launch has just written.
 */
import type { SharedElements, Var } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import type { GemmScope, Tile } from "./gemm.ts";

/** Rows and columns of a tile. */
type TileSize = Pick<Tile, "bm" | "bn">;

/** Of a group's tile. Each thread has sums of its own columns, over the rows that it writes. */
export class ColumnSums {
  readonly #s: GemmScope;
  readonly #tile: TileSize;
  readonly #sums: readonly Var<"f32">[];

  /** columns: of a thread. */
  constructor(s: GemmScope, tile: TileSize, columns: number) {
    [this.#s, this.#tile] = [s, tile];
    this.#sums = Array.from({ length: columns }, () => s.variable(s.f32(0)));
  }

  /** Adds elements of a row, which begin at the thread's column of that index. */
  note(first: number, values: readonly Float[]): void {
    values.forEach((v, q) => (this.#sums[first + q]!.value = this.#sums[first + q]!.value.add(v)));
  }

  /**
   * By all threads of the group. memory: of at least `slots` rows of the tile's columns, which no thread reads any more. slot: of the thread among those that have the
   * same columns, and its columns' positions in the tile, four at a time. tileRow: of the tiles of all products; a group behind them writes nothing.
   */
  write(
    memory: SharedElements<"f32">,
    { slot, slots, at }: { readonly slot: Uint; readonly slots: number; readonly at: readonly Uint[] },
    { tileRow, column, n, isThere }: { readonly tileRow: Uint; readonly column: Uint; readonly n: Uint; readonly isThere: Bool },
  ): void {
    const s = this.#s;
    const { bn } = this.#tile;
    s.barrier();
    s.if(
      slot.lt(slots),
      () =>
      at.forEach((x, i) => memory.stores(slot.mul(bn).add(x), this.#sums.slice(4 * i, 4 * i + 4).map((v) => v.value))), // prettier-ignore
    );
    s.barrier();
    for (let first = 0; first < bn; first += s.threads) {
      const own = s.local.add(first);
      s.if(own.lt(bn).and(column.add(own).lt(n)).and(isThere), () => {
        const sums = Array.from({ length: slots }, (_, i) => memory.loads(own.add(i * bn), 1)[0]!);
        s.buffers["columnSums"]!.storesInside(tileRow.mul(n).add(column).add(own), [sums.reduce((a, b) => a.add(b))]);
      });
    }
  }
}
