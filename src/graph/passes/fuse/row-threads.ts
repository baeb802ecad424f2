/** How a group's threads share rows. */
import type { ReducedAxes } from "./reduced-axes.ts";

export interface RowThreads {
  /** Of a group. */
  readonly threads: number;
  /** Of a row. A power of two. */
  readonly across: number;
  /** Of a group. */
  readonly rows: number;
  /** Adjacent elements of one access. */
  readonly width: number;
  /** Whether adjacent threads have adjacent elements of a row; else they have adjacent rows, whose elements are contiguous. */
  readonly isAlong: boolean;
  /** Accesses of a thread to a row. */
  readonly each: number;
  /** Accesses that are written out; fewer than `each`: in a loop. */
  readonly together: number;
  /** Whether no access is outside of its row. */
  readonly isFull: boolean;
}

const MAX_THREADS = 1024;
/** Elements of a thread that stay in registers from pass to pass, and the statements that they may become. */
const [MAX_KEPT, MAX_STATEMENTS] = [16, 320];
/** Accesses that a thread of a loop begins together. */
const TOGETHER = 4;
/** Accesses of all rows from which a thread has several of a row, or more of them: there are threads enough. */
const [MANY, VERY_MANY] = [2 ** 16, 2 ** 20];
/** Adjacent rows of a group whose elements are contiguous: a sector of memory each, and more where there are groups enough. */
const [SECTOR, WIDE] = [8, 32];

/** The longest row of a group; longer ones are split before (long-reductions.ts), or stay with DirectML. */
export const MAX_ROW = 2 ** 15;

const powerFrom = (n: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, n)));

export function rowThreadsOf({ axes, kept, reduced }: ReducedAxes, nodes: number): RowThreads {
  const { size, isReduced: isAlong } = axes.at(-1)!;
  const width = !isAlong ? 1 : size % 4 === 0 ? 4 : size % 2 === 0 ? 2 : 1;
  const units = reduced / width;
  let [across, rows] = [1, 1];
  if (isAlong) {
    across = Math.min(MAX_THREADS, powerFrom(units / (kept * units > MANY ? TOGETHER : 1)));
    const wanted = kept * across <= 2 ** 14 ? 64 : 256;
    rows = Math.max(1, Math.min(Math.floor(wanted / across), powerFrom(kept)));
  } else {
    rows = Math.min(powerFrom(kept), kept >= 128 * WIDE ? WIDE : SECTOR);
    across = Math.min(MAX_THREADS / rows, powerFrom(units / (kept * units > VERY_MANY ? 4 * TOGETHER : TOGETHER)));
    // Few rows of few elements: a group of fewer than a wave wastes the rest of it.
    while (rows * across < 32 && rows < kept) rows *= 2;
  }
  const each = Math.ceil(units / across);
  const isKept = each * width <= MAX_KEPT && each * nodes <= MAX_STATEMENTS;
  const together = isKept ? each : Math.min(each, TOGETHER);
  return { threads: across * rows, across, rows, width, isAlong, each, together, isFull: units % (across * together) === 0 };
}
