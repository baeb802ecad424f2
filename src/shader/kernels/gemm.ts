/**
 * C = A B in float32 over tiles: a group makes BM x BN elements of C, a thread TM x TN of them in registers; BK columns of A and rows of B
 * are in shared memory at a time, while the next ones are on their way to registers.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Float, Uint } from "../numbers.ts";
import type { Var } from "../language.ts";
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

/** a: [M, K], b: [K, N], c: [M, N]. Whole: the sizes are multiples of the tile's, and reads are wide and unguarded. */
export function gemm(tile: Tile, isWhole: boolean): Kernel {
  const { bm, bn, bk, tm, tn, pad } = tile;
  const rowStrideA = bm + pad;
  const [across, down] = [bn / tn, bm / tm];
  const threads = across * down;
  const groups = ({ shapes }: LaunchFacts): number => ceil(shapes["c"]!.at(-2)!, bm) * ceil(shapes["c"]!.at(-1)!, bn);
  const key = `gemm ${bm}x${bn}x${bk} ${tm}x${tn}${isWhole ? " whole" : ""}`;
  return kernel(key, { inputs: { a: "f32", b: "f32" }, outputs: { c: "f32" }, threads, groups }, (s) => {
    const { a, b, c } = s.buffers;
    const [m, n, k] = [c.dim(-2), c.dim(-1), a.dim(-1)];
    const tilesAcross = n.add(bn - 1).div(bn);
    const [row, column] = [s.group.div(tilesAcross).mul(bm), s.group.mod(tilesAcross).mul(bn)];
    const [tx, ty] = [s.local.mod(across), s.local.div(across)];
    // A lies transposed, so that a thread's rows are neighbours.
    const [sharedA, sharedB] = [s.shared("f32", bk * rowStrideA), s.shared("f32", bk * bn)];
    const width = isWhole ? 4 : 1;

    /** What this thread loads of a tile of `height` by `length` elements: positions in it, outermost first. */
    const positions = (height: number, length: number): { readonly y: Uint; readonly x: Uint }[] =>
      Array.from({ length: (height * length) / width / threads }, (_, i) => {
        const at = s.local.add(i * threads);
        return { y: at.div(length / width), x: at.mod(length / width).mul(width) };
      });
    const [positionsA, positionsB] = [positions(bm, bk), positions(bk, bn)];
    const fetch = (from: typeof a, y: Uint, x: Uint, height: Uint, length: Uint): Float[] => {
      const at = y.mul(length).add(x);
      if (isWhole) return from.loadsInside(at, 4);
      const inside = y.lt(height).and(x.lt(length));
      return [inside.select(from.loadsInside(inside.select(at, 0), 1)[0]!, 0)];
    };
    const fetched = (from: Uint): Float[][] => [
      ...positionsA.map(({ y, x }) => fetch(a, row.add(y), from.add(x), m, k)),
      ...positionsB.map(({ y, x }) => fetch(b, from.add(y), column.add(x), k, n)),
    ];
    const next: Var<"f32">[][] = fetched(s.u32(0)).map((values) => values.map((v) => s.variable(v)));
    const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));

    s.for(
      0,
      k,
      (from) => {
        positionsA.forEach(({ y, x }, i) => next[i]!.forEach((v, q) => sharedA.store(x.add(q).mul(rowStrideA).add(y), v.value)));
        positionsB.forEach(({ y, x }, i) => {
          const values = next[positionsA.length + i]!.map((v) => v.value);
          sharedB.stores(y.mul(bn).add(x), values);
        });
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
          const columns = sharedB.loads(tx.mul(wide).add(step * bn), wide);
          if (tn > 4) columns.push(...sharedB.loads(tx.mul(4).add(step * bn + bn / 2), 4));
          rows.forEach((x, i) => columns.forEach((y, j) => (sums[i]![j]!.value = x.fma(y, sums[i]![j]!.value))));
        }
        s.barrier();
      },
      { step: bk, unroll: false },
    );
    sums.forEach((rowSums, i) => {
      const y = row.add(ty.mul(tm)).add(i);
      for (let half = 0; half < tn; half += 4) {
        const wide = Math.min(tn, 4);
        const x = column.add(tx.mul(wide)).add(half === 0 ? 0 : bn / 2);
        const values = rowSums.slice(half, half + wide).map((v) => v.value);
        if (isWhole) c.storesInside(y.mul(n).add(x), values);
        else values.forEach((v, q) => s.if(y.lt(m).and(x.add(q).lt(n)), () => c.storesInside(y.mul(n).add(x.add(q)), [v]))); // prettier-ignore
      }
    });
  });
}

/** Whether a tile's sizes divide the GEMM's. */
export const isWholeFor = ({ bm, bn, bk }: Tile, m: number, n: number, k: number): boolean => m % bm === 0 && n % bn === 0 && k % bk === 0;
