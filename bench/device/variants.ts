/** Shaders that do the same in several shapes: widths of accesses, bytes in flight, sizes of groups, tiles of a product. */
import * as dx from "dxtensor";

/** Members that the published types leave out: aligned accesses that the shader itself keeps inside. */
interface Unguarded {
  loadsInside(at: dx.UintLike, count: number): dx.Float[];
  storesInside(at: dx.UintLike, values: readonly dx.Float[]): void;
}
const unguarded = (x: unknown): Unguarded => x as Unguarded;

/** "wide" moves 16 aligned bytes a thread at once, as a structure or a texel; "words" 4 bytes, contiguous. */
export type Form = "wide" | "words";

export interface Flat {
  readonly form: Form;
  readonly depth: number;
  readonly threads: number;
}

const flat = (form: Form, depth: number, threads = 256): Flat => ({ form, depth, threads });
export const FLAT: readonly Flat[] = [
  flat("wide", 1),
  flat("wide", 2),
  flat("wide", 4),
  flat("wide", 8),
  flat("wide", 1, 128),
  flat("wide", 1, 512),
  flat("wide", 1, 1024),
  flat("wide", 2, 512),
  flat("words", 1),
  flat("words", 2),
  flat("words", 4),
  flat("words", 8),
  flat("words", 16),
  flat("words", 4, 128),
  flat("words", 4, 512),
  flat("words", 4, 1024),
  flat("words", 1, 1024),
];

/** Words that a thread moves at once. */
export const widthOf = (form: Form): number => (form === "words" ? 1 : 4);

/** The sum of `count` tensors, whose threads move `depth` times 16 or 4 bytes of each; whole groups only. */
export function sumOf(count: number, { form, depth, threads }: Flat): (x: readonly dx.Tensor[]) => dx.Tensor {
  const names = Array.from({ length: count }, (_, i) => `x${i}`);
  const inputs: { readonly [name: string]: "float32" } = Object.fromEntries(names.map((name) => [name, "float32"]));
  const width = widthOf(form);
  const sum = dx.shader({ name: `sum${count}`, inputs, outputs: { y: "float32" }, threads, each: width * depth }, (s) => {
    const from = names.map((name) => s.buffers[name]!);
    const { y } = s.buffers;
    const first = s.group.mul(threads * width * depth).add(s.local.mul(width));
    const offsets = Array.from({ length: depth }, (_, i) => first.add(i * threads * width));
    const values = offsets.map((at) => from.map((x) => unguarded(x).loadsInside(at, width)));
    offsets.forEach((at, i) => {
      const sums = values[i]!.reduce((a, b) => a.map((v, k) => v.add(b[k]!)));
      unguarded(y).storesInside(at, sums);
    });
  });
  return (x) => sum(Object.fromEntries(names.map((name, i) => [name, x[i]!])))["y"]!;
}

export interface Tile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly tm: number;
  readonly tn: number;
  /** Tiles of group-shared memory: with two, a group waits once for each step. */
  readonly stages: 1 | 2;
  /** Words between lines of A's tile, which lies transposed: fewer threads meet in a bank. */
  readonly pad: number;
}

const tile = (bm: number, bn: number, bk: number, tm: number, tn: number, more: Partial<Tile> = {}): Tile => ({
  bm,
  bn,
  bk,
  tm,
  tn,
  stages: 1,
  pad: 0,
  ...more,
});
export const TILES: readonly Tile[] = [
  tile(128, 128, 8, 8, 8),
  tile(128, 128, 8, 8, 8, { stages: 2 }),
  tile(128, 128, 8, 8, 8, { stages: 2, pad: 4 }),
  tile(128, 128, 16, 8, 8),
  tile(128, 128, 16, 8, 8, { pad: 4 }),
  tile(128, 64, 16, 8, 8),
  tile(128, 64, 16, 8, 8, { stages: 2 }),
  tile(128, 64, 16, 8, 8, { stages: 2, pad: 4 }),
  tile(64, 128, 16, 8, 8, { pad: 4 }),
  tile(128, 256, 8, 8, 16, { pad: 4 }),
  tile(256, 128, 8, 16, 8, { pad: 4 }),
  tile(64, 64, 16, 8, 4),
  tile(64, 64, 16, 8, 4, { stages: 2, pad: 4 }),
];

export const nameOf = ({ bm, bn, bk, tm, tn, stages, pad }: Tile): string =>
  `${bm}x${bn}x${bk}, ${tm}x${tn} a thread, ${stages} stages${pad === 0 ? "" : `, ${pad} between`}`;

/** A product whose sizes are multiples of the tile's: see docs/shaders.md. */
export function gemmOf({ bm, bn, bk, tm, tn, stages, pad }: Tile): (a: dx.Tensor, b: dx.Tensor) => dx.Tensor {
  const [across, down] = [bn / tn, bm / tm];
  const threads = across * down;
  const gemm = dx.shader(
    {
      name: `product ${bm}x${bn}x${bk}`,
      inputs: { a: "float32", b: "float32" },
      outputs: { c: { dtype: "float32", shape: ({ a, b }) => [a![0]!, b![1]!] } },
      threads,
      groups: ({ c }) => (c![0]! / bm) * (c![1]! / bn),
    },
    (s) => {
      const { a, b, c } = s.buffers;
      const [n, k] = [c.dim(-1), a.dim(-1)];
      const tiles = n.div(bn);
      const [row, column] = [s.group.div(tiles).mul(bm), s.group.mod(tiles).mul(bn)];
      const [tx, ty] = [s.local.mod(across), s.local.div(across)];
      const line = bm + pad;
      const [sharedA, sharedB] = [s.shared("f32", stages * bk * line), s.shared("f32", stages * bk * bn)];
      const coordinates = (height: number, length: number): [dx.Uint, dx.Uint][] =>
        Array.from({ length: (height * length) / 4 / threads }, (_, i) => {
          const at = s.local.add(i * threads);
          return [at.div(length / 4), at.mod(length / 4).mul(4)];
        });
      const [ofA, ofB] = [coordinates(bm, bk), coordinates(bk, bn)];
      const fetch = (from: dx.Uint): dx.Float[][] => [
        ...ofA.map(([y, x]) => unguarded(a).loadsInside(row.add(y).mul(k).add(from).add(x), 4)),
        ...ofB.map(([y, x]) => unguarded(b).loadsInside(from.add(y).mul(n).add(column).add(x), 4)),
      ];
      const next = fetch(s.u32(0)).map((values) => values.map((v) => s.variable(v)));
      const put = (stage: dx.Uint): void => {
        ofA.forEach(([y, x], i) => next[i]!.forEach((v, q) => sharedA.store(stage.mul(bk).add(x).add(q).mul(line).add(y), v.value)));
        ofB.forEach(([y, x], i) => sharedB.stores(stage.mul(bk).add(y).mul(bn).add(x), next[ofA.length + i]!.map((v) => v.value))); // prettier-ignore
      };
      const sums = Array.from({ length: tm }, () => Array.from({ length: tn }, () => s.variable(s.f32(0))));
      const multiply = (stage: dx.Uint): void => {
        for (let step = 0; step < bk; step++) {
          const part = (from: typeof sharedA, at: dx.Uint, length: number, whole: number, apart: number): dx.Float[] =>
            Array.from({ length: length / 4 }, (_, i) =>
              from.loads(
                stage
                  .mul(bk * whole)
                  .add(at.mul(4))
                  .add(step * whole + i * apart),
                4,
              ),
            ).flat();
          const xs = part(sharedA, ty, tm, line, bm / (tm / 4));
          const ys = part(sharedB, tx, tn, bn, bn / (tn / 4));
          xs.forEach((x, i) =>
            ys.forEach((y, j) => {
              const sum = sums[i]![j]!;
              sum.value = x.fma(y, sum.value);
            }),
          );
        }
      };
      s.for(
        0,
        k,
        (from) => {
          const stage = stages === 1 ? s.u32(0) : from.div(bk).mod(2);
          put(stage);
          s.barrier();
          s.if(from.add(bk).lt(k), () =>
            fetch(from.add(bk)).forEach((values, i) =>
              values.forEach((v, q) => {
                next[i]![q]!.value = v;
              }),
            ),
          );
          multiply(stage);
          if (stages === 1) s.barrier();
        },
        { step: bk, unroll: false },
      );
      sums.forEach((entries, i) => {
        const y = row.add(ty.mul(4)).add(Math.floor(i / 4) * (bm / (tm / 4)) + (i % 4));
        for (let j = 0; j < tn; j += 4)
          unguarded(c).storesInside(y.mul(n).add(column.add(tx.mul(4)).add((j / 4) * (bn / (tn / 4)))), entries.slice(j, j + 4).map((v) => v.value)); // prettier-ignore
      });
    },
  );
  return (a, b) => gemm({ a, b }).c;
}
