/**
 * A GEMM of few tiles and large K whose K is split among groups: each part of K has a matrix of sums in a workspace, which this kernel adds in order. It does what
 * follows the product.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Parameters, Scope } from "../language.ts";
import { epilogueBuffers, NO_EPILOGUE } from "./epilogue.ts";
import { holdBfloat16 } from "./cast-buffers.ts";
import { ColumnSums } from "./column-sums.ts";
import {
  elementsOf,
  endOf,
  formName,
  groupsOfTile,
  storedOf,
  wordsOf,
  type TILES,
  type GemmForm,
  type GemmScope,
  type Tile,
} from "./gemm.ts";
import { kernel, type Kernel, type Numbers } from "./kernel.ts";
import { sumOfParts } from "./sum-of-parts.ts";

/** How K is split. */
export interface Split {
  readonly parts: number;
  /** Columns of A of each part but the last, which may have fewer. */
  readonly perPart: number;
}

/** Tiles whose products may be split, the smallest first. */
export const SPLIT_TILES = ["smallInTwo", "medium"] as const satisfies readonly (keyof typeof TILES)[];

/** Groups that give a device enough work, steps of a part at least, and parts at most: each is written and read. */
const [WANTED_GROUPS, MIN_STEPS, MAX_PARTS] = [256, 4, 64];

/** How K is split among groups of a tile, of `count` products; null: it is not. */
export function splitOf(tile: Tile, [m, n, k]: readonly [number, number, number], count = 1, wanted = WANTED_GROUPS): Split | null {
  const steps = Math.ceil(k / (tile.bk * tile.slices));
  const parts = Math.min(MAX_PARTS, Math.ceil(wanted / groupsOfTile(tile, [count, m, n])), Math.floor(steps / MIN_STEPS));
  if (parts < 2) return null;
  const perPart = Math.ceil(steps / parts) * tile.bk * tile.slices;
  return { parts: Math.ceil(k / perPart), perPart };
}

const THREADS = 64;
/** Elements of a thread where there are many. */
const WIDE = 4;
const isMany = (size: number): boolean => size >= 2 ** 16;

/** Elements of c [..., N] that a thread adds. @package */
export const widthOfSum = (c: readonly number[]): 1 | 4 => (c.at(-1)! % WIDE === 0 && isMany(c.reduce((a, d) => a * d, 1)) ? WIDE : 1);

/** Groups of a launch for c. @package */
export const groupsOfSum = (c: readonly number[], width: 1 | 4 = widthOfSum(c)): number => Math.ceil(c.reduce((a, d) => a * d, 1) / (THREADS * width)); // prettier-ignore

/** Threads of a group. @package */
export const sumThreads = THREADS;

/** Threads of a group that have the same columns, and rows of each, where the launch writes sums of columns too. */
const [SLOTS, ROWS] = [4, 2];
const LANES = THREADS / SLOTS;

/** Rows whose columns a group sums. @package */
export const SUMMED_ROWS = SLOTS * ROWS;

/** The tile of a group that writes sums of columns too. */
const summedTile = (width: 1 | 4): Pick<Tile, "bm" | "bn"> => ({ bm: SUMMED_ROWS, bn: LANES * width });

/** parts: [parts, M, N] or [B * parts, M, N], c: [M, N] or [B, M, N], of a form with whatever follows the product. */
export function gemmSum(form: GemmForm, c: readonly number[]): Kernel {
  const { bias, epilogue, scales } = form;
  // Threads write words.
  const width = elementsOf(form, ["c"])["c"] === "f16" ? WIDE : widthOfSum(c);
  const names = ["partial", ...(bias === null ? [] : ["bias"]), ...epilogueBuffers(epilogue)];
  const { c: result, ...read } = elementsOf(form, ["c", ...names]);
  const words = wordsOf(form, names);
  const inputs = { ...read, ...words, partial: "f32" as const };
  const params: Parameters = { parts: "u32", ...(scales ? { alpha: "f32", beta: "f32" } : {}) };
  const hasSums = form.hasColumnSums === true;
  const groups = ({ shapes }: LaunchFacts): number =>
    hasSums ? groupsOfTile(summedTile(width), shapes["c"]!) : groupsOfSum(shapes["c"]!, width);
  const outputs = { c: result!, ...(hasSums ? { columnSums: "f32" as const } : {}) };
  const body = hasSums ? columnSumsBody : sumBody;
  const key = `gemm sum ${width}${formName({ ...form, transA: false, transB: false })}`;
  return kernel(key, { inputs, outputs, params, threads: THREADS, groups, isOneOfMany: epilogue !== NO_EPILOGUE }, (s) => {
    holdBfloat16((s as unknown as GemmScope).buffers, Object.keys(words));
    body(s as unknown as GemmScope, form, width);
  }); // prettier-ignore
}

/** The same where the launch writes sums of columns too: a group has a tile of c. */
function columnSumsBody(s: GemmScope, form: GemmForm, width: 1 | 4): void {
  const { partial, c } = s.buffers as unknown as { readonly partial: Numbers; readonly c: Numbers };
  const { parts } = s.params;
  const tile = summedTile(width);
  const { bm, bn } = tile;
  const [m, n] = [c.dim(-2), c.dim(-1)];
  const [tilesDown, tilesAcross] = [m.add(bm - 1).div(bm), n.add(bn - 1).div(bn)];
  const tileRow = s.group.div(tilesAcross);
  const column = s.group.mod(tilesAcross).mul(bn);
  // The tiles of each product of the batch are contiguous.
  const [index, row] = form.isBatched ? [tileRow.div(tilesDown), tileRow.mod(tilesDown).mul(bm)] : [null, tileRow.mul(bm)];
  // A large grid has a few groups too many.
  const isThere = index === null ? row.lt(m) : index.lt(c.dim(0));
  const [slot, lane] = [s.local.div(LANES), s.local.mod(LANES).mul(width)];
  const stride = m.mul(n);
  const x = column.add(lane);
  const sums = new ColumnSums(s, tile, width);
  const ended = endOf(s, form);
  for (let i = 0; i < ROWS; i++) {
    const y = row.add(slot.mul(ROWS)).add(i);
    s.if(y.lt(m).and(x.lt(n)).and(isThere), () => {
      const own = y.mul(n).add(x);
      const at = index === null ? own : index.mul(stride).add(own);
      const first = index === null ? own : index.mul(parts).mul(stride).add(own);
      const values = sumOfParts(s as unknown as Scope<never, never>, partial, { count: parts, first, stride, width });
      const results = ended(values, at, x);
      c.storesInside(at, results);
      sums.note(0, storedOf(form, results));
    });
  }
  const memory = s.shared("f32", SLOTS * bn);
  sums.write(memory, { slot, slots: SLOTS, at: [lane] }, { tileRow, column, n, isThere });
}

/** What the kernel does. @package */
export function sumBody(s: GemmScope, form: GemmForm, width: 1 | 4): void {
  const { partial, c } = s.buffers as unknown as { readonly partial: Numbers; readonly c: Numbers };
  const { parts } = s.params;
  const [m, n] = [c.dim(-2), c.dim(-1)];
  const stride = m.mul(n);
  const at = s.thread.mul(width);
  s.if(at.lt(c.size), () => {
    // The parts of a product lie behind those of the one before.
    const first = form.isBatched ? at.div(stride).mul(parts.sub(1)).mul(stride).add(at) : at;
    const sums = sumOfParts(s as unknown as Scope<never, never>, partial, { count: parts, first, stride, width });
    c.storesInside(at, endOf(s, form)(sums, at, at.mod(n)));
  });
}
