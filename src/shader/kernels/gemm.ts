/**
 * C = activation(alpha A B + beta addend) in float32 over tiles: a group makes BM x BN elements of C, a thread TM x TN of them in registers; BK columns of A and rows of B
 * are in shared memory at a time, while the next ones are on their way to registers.
 */
import type { Activation } from "../../graph/graph.ts";
import { keyOf } from "../../graph/key.ts";
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements, Parameters, Scope, SharedElements, Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { activationCode } from "../operations/activations.ts";
import { kernel, type Kernel } from "./kernel.ts";

export interface Tile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
  /** Padding words of each row of A's tile, which is stored transposed: fewer bank conflicts. */
  readonly pad: number;
}

/** The tiles that are compared; which is best depends on the sizes and the device. */
export const TILES = {
  large: { bm: 128, bn: 128, bk: 16, tm: 8, tn: 8, pad: 4 },
  wide: { bm: 128, bn: 64, bk: 16, tm: 8, tn: 8, pad: 0 },
  medium: { bm: 64, bn: 64, bk: 16, tm: 8, tn: 4, pad: 0 },
  small: { bm: 32, bn: 32, bk: 16, tm: 4, tn: 2, pad: 0 },
} as const satisfies { readonly [name: string]: Tile };

const ceil = (n: number, by: number): number => Math.ceil(n / by);

/** How operands lie, and what follows the product: y = activation(alpha a b + beta addend). */
export interface GemmForm {
  /** a is [K, M], b is [N, K]. */
  readonly transA: boolean;
  readonly transB: boolean;
  /** [N] of each row, [M, N], or none. */
  readonly addend: "row" | "matrix" | null;
  readonly activation: Activation | null;
  /** Whether alpha is another number than 1, and beta. */
  readonly scales: boolean;
}

export const PLAIN: GemmForm = { transA: false, transB: false, addend: null, activation: null, scales: false };

const nameOf = ({ transA, transB, addend, activation, scales }: GemmForm): string =>
  `${transA ? " a transposed" : ""}${transB ? " b transposed" : ""}${addend === null ? "" : ` ${addend}`}${scales ? " scaled" : ""}${activation === null ? "" : ` ${keyOf([activation.operator, activation.attributes])}`}`; // prettier-ignore

/** a: [M, K], b: [K, N], c: [M, N], unless the form says otherwise. Whole: the sizes are multiples of the tile's, and reads are wide and unguarded. */
export function gemm(tile: Tile, isWhole: boolean, form: GemmForm = PLAIN): Kernel {
  const { bm, bn, bk, tm, tn, pad } = tile;
  const { transA, transB, addend, activation, scales } = form;
  const [rowStrideA, rowStrideB] = [bm + pad, bn + (transB ? pad : 0)];
  const [across, down] = [bn / tn, bm / tm];
  const threads = across * down;
  const groups = ({ shapes }: LaunchFacts): number => ceil(shapes["c"]!.at(-2)!, bm) * ceil(shapes["c"]!.at(-1)!, bn);
  const key = `gemm ${bm}x${bn}x${bk} ${tm}x${tn}${isWhole ? " whole" : ""}${nameOf(form)}`;
  const inputs: { readonly [name: string]: "f32" } = { a: "f32", b: "f32", ...(addend === null ? {} : { addend: "f32" }) };
  const params: Parameters = scales ? { alpha: "f32", beta: "f32" } : {};
  return kernel(key, { inputs, outputs: { c: "f32" }, params, threads, groups, isOneOfMany: activation !== null }, (scope) => {
    const s = scope as unknown as Scope<{ readonly [name: string]: "f32" }, { readonly alpha: "f32"; readonly beta: "f32" }>;
    const { a, b, c } = s.buffers as { readonly [K in "a" | "b" | "c"]: BufferElements<"f32"> };
    const [m, n, k] = [c.dim(-2), c.dim(-1), a.dim(transA ? -2 : -1)];
    const tilesAcross = n.add(bn - 1).div(bn);
    const [row, column] = [s.group.div(tilesAcross).mul(bm), s.group.mod(tilesAcross).mul(bn)];
    const [tx, ty] = [s.local.mod(across), s.local.div(across)];
    // Of both operands the elements that a thread multiplies at once are neighbours.
    const [sharedA, sharedB] = [s.shared("f32", bk * rowStrideA), s.shared("f32", bk * rowStrideB)];
    const width = isWhole ? 4 : 1;

    /** What this thread loads of a tile of `height` by `length` elements: positions in it, outermost first. */
    const positions = (height: number, length: number): { readonly y: Uint; readonly x: Uint }[] =>
      Array.from({ length: (height * length) / width / threads }, (_, i) => {
        const at = s.local.add(i * threads);
        return { y: at.div(length / width), x: at.mod(length / width).mul(width) };
      });
    const positionsA = transA ? positions(bk, bm) : positions(bm, bk);
    const positionsB = transB ? positions(bn, bk) : positions(bk, bn);
    const fetch = (from: BufferElements<"f32">, y: Uint, x: Uint, height: Uint, length: Uint): Float[] => {
      const at = y.mul(length).add(x);
      if (isWhole) return from.loadsInside(at, 4);
      const inside = y.lt(height).and(x.lt(length));
      return [inside.select(from.loadsInside(inside.select(at, 0), 1)[0]!, 0)];
    };
    const fetched = (from: Uint): Float[][] => [
      ...positionsA.map(({ y, x }) => (transA ? fetch(a, from.add(y), row.add(x), k, m) : fetch(a, row.add(y), from.add(x), m, k))),
      ...positionsB.map(({ y, x }) => (transB ? fetch(b, column.add(y), from.add(x), n, k) : fetch(b, from.add(y), column.add(x), k, n))),
    ];
    const next: Var<"f32">[][] = fetched(s.u32(0)).map((values) => values.map((v) => s.variable(v)));
    const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));
    /** isAcross: the values are of one row of shared memory, else of one column. */
    const put = (to: SharedElements<"f32">, stride: number, isAcross: boolean, { y, x }: { readonly y: Uint; readonly x: Uint }, values: readonly Var<"f32">[]): void => {
      if (isAcross) to.stores(y.mul(stride).add(x), values.map((v) => v.value));
      else values.forEach((v, q) => to.store(x.add(q).mul(stride).add(y), v.value));
    }; // prettier-ignore

    s.for(
      0,
      k,
      (from) => {
        positionsA.forEach((at, i) => put(sharedA, rowStrideA, transA, at, next[i]!));
        positionsB.forEach((at, i) => put(sharedB, rowStrideB, !transB, at, next[positionsA.length + i]!));
        s.barrier();
        const then = from.add(bk);
        s.if(then.lt(k), () => {
          fetched(then).forEach((values, i) => values.forEach((v, q) => (next[i]![q]!.value = v)));
        });
        for (let step = 0; step < bk; step++) {
          const rows = sharedA.loads(ty.mul(tm).add(step * rowStrideA), Math.min(tm, 4));
          if (tm > 4) rows.push(...sharedA.loads(ty.mul(tm).add(step * rowStrideA + 4), 4));
          // Neighbouring threads read neighbouring columns.
          const wide = Math.min(tn, 4);
          const columns = sharedB.loads(tx.mul(wide).add(step * rowStrideB), wide);
          if (tn > 4) columns.push(...sharedB.loads(tx.mul(4).add(step * rowStrideB + bn / 2), 4));
          rows.forEach((x, i) => columns.forEach((y, j) => (sums[i]![j]!.value = x.fma(y, sums[i]![j]!.value))));
        }
        s.barrier();
      },
      { step: bk, unroll: false },
    );
    const curve = activation === null ? null : activationCode(activation)!;
    /** What is written of sums: at is the first one's index in c, x its column. */
    const ended = (values: readonly Float[], at: Uint, x: Uint): Float[] => {
      const from = s.buffers["addend"];
      const added = from === undefined ? null : from.loadsInside(addend === "row" ? x : at, values.length);
      return values.map((v, q) => {
        const scaled = scales ? v.mul(s.params.alpha) : v;
        const sum = added === null ? scaled : scaled.add(scales ? added[q]!.mul(s.params.beta) : added[q]!);
        return curve === null ? sum : curve(sum, s);
      });
    };
    sums.forEach((rowSums, i) => {
      const y = row.add(ty.mul(tm)).add(i);
      for (let half = 0; half < tn; half += 4) {
        const wide = Math.min(tn, 4);
        const x = column.add(tx.mul(wide)).add(half === 0 ? 0 : bn / 2);
        const values = rowSums.slice(half, half + wide).map((v) => v.value);
        const at = y.mul(n).add(x);
        if (isWhole) c.storesInside(at, ended(values, at, x));
        else values.forEach((v, q) => s.if(y.lt(m).and(x.add(q).lt(n)), () => c.storesInside(at.add(q), ended([v], at.add(q), x.add(q))))); // prettier-ignore
      }
    });
  });
}

/** Whether a tile's sizes divide the GEMM's. */
export const isWholeFor = ({ bm, bn, bk }: Tile, m: number, n: number, k: number): boolean => m % bm === 0 && n % bn === 0 && k % bk === 0;
