/**
 * C = epilogue(alpha A B + beta bias) in float32 over tiles: a group makes BM x BN elements of C, a thread TM x TN of them in registers; some columns of A and rows of B
 * are in shared memory at a time, while the next ones are on their way to registers. Where there are few tiles, several slices of threads of a group share
 * the columns, of which each multiplies BK, and their sums are added in the end.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements, Parameters, Scope, SharedElements, Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { roundedToHalf } from "../operations/code.ts";
import { epilogueBuffers, epilogueName, epilogueOf, NO_EPILOGUE, type EpilogueForm } from "./epilogue.ts";
import type { FloatElement } from "./elementwise.ts";
import { holdBfloat16 } from "./cast-buffers.ts";
import { ColumnSums } from "./column-sums.ts";
import { kernel, type Kernel } from "./kernel.ts";
import { NORM_INPUTS, NormOfRows, RowStatistics, type GemmNorm } from "./row-statistics.ts";

export interface Tile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
  /** Padding words of each row of A's tile, which is stored transposed: fewer bank conflicts. */
  readonly pad: number;
  /** Threads for each element of C: K is split among them. */
  readonly slices: number;
}

/** The tiles that are compared; which is best depends on the sizes and the device. */
export const TILES = {
  large: { bm: 128, bn: 128, bk: 16, tm: 8, tn: 8, pad: 4, slices: 1 },
  wide: { bm: 128, bn: 64, bk: 16, tm: 8, tn: 8, pad: 0, slices: 1 },
  medium: { bm: 64, bn: 64, bk: 16, tm: 8, tn: 4, pad: 0, slices: 1 },
  smallInTwo: { bm: 32, bn: 32, bk: 16, tm: 4, tn: 4, pad: 4, slices: 2 },
  tinyInEight: { bm: 16, bn: 16, bk: 16, tm: 2, tn: 4, pad: 4, slices: 8 },
  tinyInSixteen: { bm: 16, bn: 16, bk: 8, tm: 2, tn: 4, pad: 4, slices: 16 },
} as const satisfies { readonly [name: string]: Tile };

/**
 * How a tile fits the sizes. whole: it divides them, and nothing is guarded. wide: rows of all three matrices are multiples of four elements, which are read, written
 * and guarded together. each: every element is guarded.
 */
export type Fit = "whole" | "wide" | "each";

const ceil = (n: number, by: number): number => Math.ceil(n / by);

/** How operands lie, and what follows the product: y = epilogue(alpha a b + beta bias). */
export interface GemmForm {
  /** a is [K, M], b is [N, K]. */
  readonly transA: boolean;
  readonly transB: boolean;
  /** [N] of each row, [M, N], or none. */
  readonly bias: "row" | "matrix" | null;
  /** Without a bias or batch norm of its own. */
  readonly epilogue: EpilogueForm;
  /** Whether alpha is another number than 1, and beta. */
  readonly scales: boolean;
  /** Whether there are several products: c is [B, M, N]; a and b begin strideA and strideB elements apart, 0 where one serves all. */
  readonly isBatched: boolean;
  /** Whether c has parts of sums, [parts, M, N] or [B * parts, M, N], each over perPart columns of A: gemm-sum.ts adds them, and does what follows. */
  readonly isSplit: boolean;
  /** Whether the launch writes the statistics of each row of c as well, for each tile of columns: row-statistics.ts. */
  readonly hasStatistics: boolean;
  /** Whether the launch writes the sums of c's columns as well, for each tile of rows: column-sums.ts. Default: false. */
  readonly hasColumnSums?: boolean;
  /** What is done to a when it is loaded: a normalization of its rows by their statistics; null: nothing. */
  readonly norm: GemmNorm | null;
  /** Of the product: its operands, its result and what its epilogue reads. Sums are float32. */
  readonly element: FloatElement;
  /** Operands that are of the other float type, and cast when they are loaded. */
  readonly cast: readonly CastOperand[];
  /** Operands of a float32 product that are bfloat16 in memory. Rows are multiples of four elements. Default: none. */
  readonly bfloat16?: readonly CastOperand[];
}

export type CastOperand = "a" | "b" | "bias";

const otherThan = (element: FloatElement): FloatElement => (element === "f32" ? "f16" : "f32");

/** What the buffers of a form hold. */
export function elementsOf({ element, cast, epilogue }: GemmForm, names: readonly string[]): { readonly [name: string]: FloatElement } {
  const isOther = (name: string): boolean => (name === "c" ? epilogue.casts === true : (cast as readonly string[]).includes(name));
  return Object.fromEntries(names.map((name) => [name, isOther(name) ? otherThan(element) : element]));
}

/** Of buffers that a launch reads: those of bfloat16, as words of two. @package */
export const wordsOf = ({ bfloat16 = [] }: GemmForm, names: readonly string[]): { readonly [name: string]: "u32" } =>
  Object.fromEntries(bfloat16.filter((name) => names.includes(name)).map((name) => [name, "u32"]));

/** Results of a launch as its buffer c holds them. */
export const storedOf = (form: GemmForm, results: readonly Float[]): readonly Float[] =>
  elementsOf(form, ["c"])["c"] === "f16" ? results.map((v) => roundedToHalf(v)) : results;

/** Loaded values of an operand, as the product has them. */
export const castOf = ({ element, cast }: GemmForm, name: CastOperand, values: Float[]): Float[] =>
  element === "f16" && cast.includes(name) ? values.map((v) => roundedToHalf(v)) : values;

export const PLAIN: GemmForm = {
  transA: false,
  transB: false,
  bias: null,
  epilogue: NO_EPILOGUE,
  scales: false,
  isBatched: false,
  isSplit: false,
  hasStatistics: false,
  norm: null,
  element: "f32",
  cast: [],
};

/** What of a form is in a kernel's name. */
export const formName = ({ transA, transB, bias, epilogue, scales, isBatched, isSplit, hasStatistics, hasColumnSums, norm, element, cast, bfloat16 = [] }: GemmForm): string =>
  [
    element === "f16" ? "halves" : "",
    cast.length === 0 ? "" : `cast ${cast.join(" ")}`,
    bfloat16.length === 0 ? "" : `bfloat16 ${bfloat16.join(" ")}`,
    hasStatistics ? "statistics" : "",
    hasColumnSums === true ? "column sums" : "",
    norm === null ? "" : [norm.kind, ...NORM_INPUTS.filter((name) => norm.inputs.includes(name))].join(" "),
    isBatched ? "batched" : "",
    isSplit ? "split" : "",
    transA ? "a transposed" : "",
    transB ? "b transposed" : "",
    bias ?? "",
    scales ? "scaled" : "",
    ...epilogueName(epilogue),
  ].map((part) => (part === "" ? "" : ` ${part}`)).join(""); // prettier-ignore

const PARAMS = {
  alpha: "f32",
  beta: "f32",
  strideA: "u32",
  strideB: "u32",
  parts: "u32",
  perPart: "u32",
  tileColumns: "u32",
  epsilon: "f32",
} as const;

/** Threads of a group. */
export const threadsOfTile = ({ bm, bn, tm, tn, slices }: Tile): number => (bn / tn) * (bm / tm) * slices;

/** Groups of a launch for c [M, N] or [B, M, N]. */
export function groupsOfTile({ bm, bn }: Pick<Tile, "bm" | "bn">, c: readonly number[]): number {
  return ceil(c.at(-2)!, bm) * ceil(c.at(-1)!, bn) * (c.length > 2 ? c[0]! : 1);
}

/** a: [M, K], b: [K, N], c: [M, N], unless the form says otherwise. */
export function gemm(tile: Tile, fit: Fit, form: GemmForm = PLAIN): Kernel {
  const { bm, bn, bk, tm, tn, pad, slices } = tile;
  const { bias, epilogue, scales, isBatched, isSplit, hasStatistics, norm } = form;
  const threads = threadsOfTile(tile);
  const groups = ({ shapes }: LaunchFacts): number => groupsOfTile(tile, shapes["c"]!);
  const key = `gemm ${bm}x${bn}x${bk} ${tm}x${tn}${pad === 0 ? "" : ` ${pad} apart`}${slices === 1 ? "" : ` ${slices} slices`}${fit === "each" ? "" : ` ${fit}`}${formName(form)}`;
  const names = ["a", "b", ...(bias === null ? [] : ["bias"]), ...(norm === null ? [] : ["statistics", ...norm.inputs]), ...epilogueBuffers(epilogue)]; // prettier-ignore
  const words = wordsOf(form, names);
  const inputs = { ...elementsOf(form, names), ...words, ...(norm === null ? {} : { statistics: "f32" as const }) };
  const outputs: { readonly [name: string]: FloatElement } = {
    ...(isSplit ? { c: "f32" } : elementsOf(form, ["c"])),
    ...(hasStatistics ? { rowStatistics: "f32" } : {}),
    ...(form.hasColumnSums === true ? { columnSums: "f32" } : {}),
  };
  const params: Parameters = {
    ...(scales ? { alpha: "f32", beta: "f32" } : {}),
    ...(isBatched ? { strideA: "u32", strideB: "u32" } : {}),
    ...(isSplit ? { parts: "u32", perPart: "u32" } : {}),
    ...(norm === null ? {} : { tileColumns: "u32", epsilon: "f32" }),
  };
  return kernel(key, { inputs, outputs, params, threads, groups, isOneOfMany: epilogue !== NO_EPILOGUE }, (s) => {
    holdBfloat16((s as unknown as GemmScope).buffers, Object.keys(words));
    gemmBody(s as unknown as GemmScope, tile, fit, form);
  }); // prettier-ignore
}

export type GemmScope = Scope<{ readonly [name: string]: "f32" }, typeof PARAMS>;

/** What is written of sums: `at` is the first one's index in c, x its column. */
export function endOf(s: GemmScope, form: GemmForm): (values: readonly Float[], at: Uint, x: Uint) => Float[] {
  const { bias, epilogue, scales } = form;
  const applyEpilogue = epilogueOf(s, epilogue)(() => s.u32(0));
  const rounds = form.element === "f16" && epilogue.casts === true;
  return (values, at, x) => {
    const from = s.buffers["bias"];
    const added = from === undefined ? null : castOf(form, "bias", from.loadsInside(bias === "row" ? x : at, values.length));
    const sums = values.map((v, q) => {
      const scaled = scales ? v.mul(s.params.alpha) : v;
      return added === null ? scaled : scaled.add(scales ? added[q]!.mul(s.params.beta) : added[q]!);
    });
    const results = applyEpilogue(sums, at);
    return rounds ? results.map((v) => roundedToHalf(v)) : results;
  };
}

/** What the kernel does. @package */
export function gemmBody(s: GemmScope, tile: Tile, fit: Fit, form: GemmForm): void {
  const { bm, bn, bk, tm, tn, pad, slices } = tile;
  const { transA, transB, isBatched, isSplit } = form;
  const threads = threadsOfTile(tile);
  const deep = bk * slices;
  const [rowStrideA, rowStrideB] = [bm + pad, bn + (transB ? pad : 0)];
  const [across, down] = [bn / tn, bm / tm];
  const { a, b, c } = s.buffers as { readonly [K in "a" | "b" | "c"]: BufferElements<"f32"> };
  const [m, n, k] = [c.dim(-2), c.dim(-1), a.dim(transA ? -2 : -1)];
  const tilesAcross = n.add(bn - 1).div(bn);
  const tiles = isBatched || isSplit ? m.add(bm - 1).div(bm).mul(tilesAcross) : null; // prettier-ignore
  // Of the matrices of c.
  const [index, own] = tiles === null ? [null, s.group] : [s.group.div(tiles), s.group.mod(tiles)];
  // A large grid has a few groups too many.
  const isThere = index === null ? null : index.lt(c.dim(0));
  const matrix = !isBatched ? null : isSplit ? index!.div(s.params.parts) : index!;
  const startOf = (stride: "strideA" | "strideB"): Uint | null =>
    matrix === null ? null : isThere!.select(matrix.mul(s.params[stride]), 0);
  const [startA, startB] = [startOf("strideA"), startOf("strideB")];
  const part = !isSplit ? null : isBatched ? index!.mod(s.params.parts) : isThere!.select(index!, 0);
  const begin = part === null ? s.u32(0) : part.mul(s.params.perPart);
  const end = part === null ? k : begin.add(s.params.perPart).min(k);
  const [row, column] = [own.div(tilesAcross).mul(bm), own.mod(tilesAcross).mul(bn)];
  const ofSlice = slices === 1 ? s.local : s.local.mod(across * down);
  const slice = s.local.div(across * down);
  const [tx, ty] = [ofSlice.mod(across), ofSlice.div(across)];
  // Of both operands the elements that a thread multiplies at once are neighbours.
  const size = deep * (rowStrideA + rowStrideB);
  const shared = slices === 1 ? null : s.shared("f32", Math.max(size, slices * bm * bn));
  const [sharedA, sharedB] = [shared ?? s.shared("f32", deep * rowStrideA), shared ?? s.shared("f32", deep * rowStrideB)];
  const behindA = shared === null ? 0 : deep * rowStrideA;
  const width = fit === "each" ? 1 : 4;

  /** What this thread loads of a tile of `height` by `length` elements: positions in it, outermost first. */
  const positions = (height: number, length: number): { readonly y: Uint; readonly x: Uint }[] =>
    Array.from({ length: (height * length) / width / threads }, (_, i) => {
      const at = s.local.add(i * threads);
      return { y: at.div(length / width), x: at.mod(length / width).mul(width) };
    });
  const positionsA = transA ? positions(deep, bm) : positions(bm, deep);
  const positionsB = transB ? positions(bn, deep) : positions(deep, bn);
  const fetch = (from: BufferElements<"f32">, y: Uint, x: Uint, height: Uint, length: Uint): Float[] => {
    const start = from === a ? startA : startB;
    const flat = y.mul(length).add(x);
    const at = start === null ? flat : start.add(flat);
    const cast = (values: Float[]): Float[] => castOf(form, from === a ? "a" : "b", values);
    if (fit === "whole") return cast(from.loadsInside(at, 4));
    const inside = y.lt(height).and(x.lt(length));
    return cast(from.loadsInside(inside.select(at, 0), width)).map((v) => inside.select(v, 0));
  };
  const fetched = (from: Uint): Float[][] => [
    ...positionsA.map(({ y, x }) => (transA ? fetch(a, from.add(y), row.add(x), k, m) : fetch(a, row.add(y), from.add(x), m, k))),
    ...positionsB.map(({ y, x }) => (transB ? fetch(b, column.add(y), from.add(x), n, k) : fetch(b, from.add(y), column.add(x), k, n))),
  ];
  const next: Var<"f32">[][] = fetched(begin).map((values) => values.map((v) => s.variable(v)));
  const norm = form.norm === null ? null : new NormOfRows(s, form.norm, positionsA.map(({ y }) => row.add(y)), { m, k, column: positionsA[0]!.x, width, isWhole: fit === "whole" }); // prettier-ignore
  norm?.fetch(begin);
  const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));
  /** isAcross: the values are of one row of shared memory, else of one column. */
  const put = (to: SharedElements<"f32">, first: number, stride: number, isAcross: boolean, { y, x }: { readonly y: Uint; readonly x: Uint }, values: readonly Float[]): void => {
    if (isAcross) to.stores(y.mul(stride).add(x).add(first), values);
    else values.forEach((v, q) => to.store(x.add(q).mul(stride).add(y).add(first), v));
  }; // prettier-ignore

  const ofThread = (at: Uint, stride: number): Uint => (slices === 1 ? at : slice.mul(bk * stride).add(at));
  const [fromA, fromB] = [ofThread(ty.mul(tm), rowStrideA), ofThread(tx.mul(Math.min(tn, 4)), rowStrideB).add(behindA)];

  s.for(
    part === null ? 0 : begin,
    end,
    (from) => {
      positionsA.forEach((at, i) => put(sharedA, 0, rowStrideA, transA, at, norm === null ? next[i]!.map((v) => v.value) : norm.of(i, next[i]!.map((v) => v.value), from))); // prettier-ignore
      positionsB.forEach((at, i) =>
        put(
          sharedB,
          behindA,
          rowStrideB,
          !transB,
          at,
          next[positionsA.length + i]!.map((v) => v.value),
        ),
      );
      s.barrier();
      const then = from.add(deep);
      s.if(then.lt(end), () => {
        fetched(then).forEach((values, i) => values.forEach((v, q) => (next[i]![q]!.value = v)));
        norm?.fetch(then);
      });
      for (let step = 0; step < bk; step++) {
        const rows = sharedA.loads(fromA.add(step * rowStrideA), Math.min(tm, 4));
        if (tm > 4) rows.push(...sharedA.loads(fromA.add(step * rowStrideA + 4), 4));
        // Neighbouring threads read neighbouring columns.
        const columns = sharedB.loads(fromB.add(step * rowStrideB), Math.min(tn, 4));
        if (tn > 4) columns.push(...sharedB.loads(fromB.add(step * rowStrideB + bn / 2), 4));
        rows.forEach((x, i) => columns.forEach((y, j) => (sums[i]![j]!.value = x.fma(y, sums[i]![j]!.value))));
      }
      s.barrier();
    },
    { step: deep, unroll: false },
  );
  const ended = endOf(s, form);
  const statistics = form.hasStatistics ? new RowStatistics(s, tile) : null;
  const columnSums = form.hasColumnSums === true ? new ColumnSums(s, tile, slices === 1 ? tn : 4) : null;
  const base = index === null ? null : index.mul(m).mul(n);
  /** Writes neighbours of a row of the tile, from the thread's column of that index on. */
  const finish = (ownRow: Uint, ownColumn: Uint, values: readonly Float[], index = 0): void => {
    const [y, x] = [row.add(ownRow), column.add(ownColumn)];
    const flat = y.mul(n).add(x);
    const at = base === null ? flat : base.add(flat);
    const write = (first: number, count: number): void => {
      const inside = fit === "whole" ? isThere : y.lt(m).and(x.add(first).lt(n));
      const store = (): void => {
        const results = ended(values.slice(first, first + count), at.add(first), x.add(first));
        c.storesInside(at.add(first), results);
        statistics?.note(ownRow, ownColumn.add(first), results);
        columnSums?.note(index + first, storedOf(form, results));
      };
      if (inside === null) store();
      else s.if(isThere === null || inside === isThere ? inside : inside.and(isThere), store);
    };
    for (let first = 0; first < values.length; first += width) write(first, Math.min(width, values.length));
  };
  /** Four neighbours at a time, which the thread has summed. */
  const each = (visit: (y: Uint, x: Uint, values: readonly Float[], index: number) => void): void =>
    sums.forEach((rowSums, i) => {
      const wide = Math.min(tn, 4);
      for (let half = 0; half < tn; half += 4)
        visit(ty.mul(tm).add(i), tx.mul(wide).add(half === 0 ? 0 : bn / 2), rowSums.slice(half, half + wide).map((v) => v.value), half); // prettier-ignore
    });
  const tileRow = index === null ? row.div(bm) : index.mul(m.add(bm - 1).div(bm)).add(row.div(bm));
  const ofTile = { tileRow, column, n, isThere: isThere ?? row.lt(m) };
  if (shared === null) {
    each(finish);
    statistics?.write({ row, column, m, n });
    const at = Array.from({ length: tn / 4 }, (_, i) => tx.mul(4).add(i === 0 ? 0 : bn / 2));
    columnSums?.write(sharedA, { slot: ty, slots: down, at }, ofTile);
    return;
  }
  each((y, x, values) => shared.stores(slice.mul(bm * bn).add(y.mul(bn)).add(x), values)); // prettier-ignore
  s.barrier();
  for (let i = 0; i < (bm * bn) / 4; i += threads) {
    const item = s.local.add(i);
    const add = (): void => {
      const parts = Array.from({ length: slices }, (_, z) => shared.loads(item.mul(4).add(z * bm * bn), 4));
      finish(item.div(bn / 4), item.mod(bn / 4).mul(4), parts.reduce((a, b) => a.map((v, q) => v.add(b[q]!)))); // prettier-ignore
    };
    if (i + threads <= (bm * bn) / 4) add();
    else s.if(item.lt((bm * bn) / 4), add);
  }
  statistics?.write({ row, column, m, n });
  const across4 = bn / 4;
  const slots = Math.min(threads, bm * across4) / across4;
  columnSums?.write(shared, { slot: s.local.div(across4), slots, at: [s.local.mod(across4).mul(4)] }, ofTile);
}

export function fitOf(
  { bm, bn, bk, slices }: Tile,
  [m, n, k]: readonly [number, number, number],
  { transA, transB }: Pick<GemmForm, "transA" | "transB">,
): Fit {
  if (m % bm === 0 && n % bn === 0 && k % (bk * slices) === 0) return "whole";
  return [n, transA ? m : k, transB ? k : n].every((length) => length % 4 === 0) ? "wide" : "each";
}
