/**
 * Attention in blocks, forward and backward: a group keeps the results of 64 queries (or keys) in registers and takes 64 keys (or queries) at a time, so
 * that no score is written to memory. Softmax is computed online: sums are scaled whenever a row's maximum grows.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements, Scope, SharedElements, Var } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import { kernel, type Kernel } from "./kernel.ts";

/** What makes one shader unlike another. */
export interface AttentionForm {
  /** Widths of queries and keys, and of values: multiples of 4, at most MAX_WIDTH. */
  readonly width: number;
  readonly valueWidth: number;
  readonly isCausal: boolean;
  readonly hasMask: boolean;
}

const PARAMS = {
  /** Queries and keys of a head. */
  queries: "u32",
  keys: "u32",
  /** Heads of queries of an element of the batch, and how many of them share one of keys. */
  heads: "u32",
  sharing: "u32",
  scale: "f32",
  /** Strides of the mask in elements, 0 where one serves all. */
  maskBatch: "u32",
  maskHead: "u32",
  maskQuery: "u32",
  maskKey: "u32",
} as const;
export type AttentionLaunch = { readonly [name in keyof typeof PARAMS]: number };

export const MAX_WIDTH = 128;
/** Rows and columns of a tile of scores. */
const TILE = 64;
const DEEP = 16;
const THREADS = 256;
/** Numbers of a thread's tile: so many rows, and columns. */
const EACH = 4;
/** A row of a tile in shared memory: rows begin at banks of their own. */
const STRIDE = TILE + 4;

type Buffers = { readonly [name: string]: "f32" };
type S = Scope<Buffers, typeof PARAMS>;
type Values = Float[][];

/** A thread's part of the group's tiles. */
class Tiles {
  readonly #s: S;
  readonly #stage: SharedElements<"f32">;
  readonly #tile: SharedElements<"f32">;
  /** The first of its rows, and of its columns. */
  readonly row: Uint;
  readonly column: Uint;

  constructor(s: S) {
    this.#s = s;
    this.#stage = s.shared("f32", 2 * DEEP * STRIDE);
    this.#tile = s.shared("f32", TILE * STRIDE);
    this.row = s.local.div(TILE / EACH).mul(EACH);
    this.column = s.local.mod(TILE / EACH).mul(EACH);
  }

  /** Its part of rows a times the transpose of rows b, each of `width` elements from an offset on; rows from the counts on are zeros. */
  product(a: Rows, b: Rows, width: number): Var<"f32">[][] {
    const s = this.#s;
    const sums = this.zeros(EACH);
    const row = s.local.div(DEEP / EACH);
    const depth = s.local.mod(DEEP / EACH).mul(EACH);
    const half = DEEP * STRIDE;
    s.for(
      0,
      width,
      (from) => {
        s.barrier();
        [a, b].forEach((rows, i) => {
          const isThere = row.add(rows.first).lt(rows.count).and(from.add(depth).lt(width));
          const at = isThere.select(rows.base.add(rows.first).add(row).mul(width).add(from).add(depth), 0);
          rows.buffer.loadsInside(at, EACH).forEach((v, q) => {
            this.#stage.store(
              depth
                .add(q)
                .mul(STRIDE)
                .add(row)
                .add(i * half),
              isThere.select(v, 0),
            );
          });
        });
        s.barrier();
        for (let q = 0; q < DEEP; q++) {
          const [x, y] = [this.#stage.loads(this.row.add(q * STRIDE), EACH), this.#stage.loads(this.column.add(q * STRIDE + half), EACH)];
          x.forEach((u, i) => y.forEach((v, j) => (sums[i]![j]!.value = u.fma(v, sums[i]![j]!.value))));
        }
      },
      { step: DEEP, unroll: false },
    );
    return sums;
  }

  zeros(columns: number): Var<"f32">[][] {
    const s = this.#s;
    return Array.from({ length: EACH }, () => Array.from({ length: columns }, () => s.variable(s.f32(0))));
  }

  /** Writes its part of a tile, which all threads read after a barrier. */
  keep(values: Values): void {
    values.forEach((row, i) => this.#tile.stores(this.row.add(i).mul(STRIDE).add(this.column), row));
  }

  /** The greatest of each of its rows of the tile that was kept. The tile is free afterwards. */
  rowMaxima(parts: SharedElements<"f32">): Float[] {
    const s = this.#s;
    const count = THREADS / TILE;
    const [row, part] = [s.local.div(count), s.local.mod(count)];
    const values = Array.from(
      { length: TILE / count / 4 },
      (_, i) =>
      this.#tile.loads(row.mul(STRIDE).add(part.mul(4)).add(i * 4 * count), 4), // prettier-ignore
    ).flat();
    parts.store(
      s.local,
      values.reduce((a, b) => a.max(b)),
    );
    s.barrier();
    return Array.from({ length: EACH }, (_, i) => parts.loads(this.row.add(i).mul(count), count).reduce((a, b) => a.max(b))); // prettier-ignore
  }

  /** The sum of each of its rows over the first columns of the row's threads. */
  rowSums(): Float[] {
    return Array.from({ length: EACH }, (_, i) =>
      Array.from({ length: TILE / EACH }, (_, j) =>
        this.#tile.load(
          this.row
            .add(i)
            .mul(STRIDE)
            .add(j * EACH),
        ),
      ).reduce((a, b) => a.add(b)),
    );
  }

  /** Adds the kept tile times rows b of `width` elements to sums, whose columns lie apart by TILE. */
  accumulate(sums: readonly Var<"f32">[][], b: Rows, width: number): void {
    const s = this.#s;
    const across = MAX_WIDTH;
    const parts = Math.ceil(width / TILE);
    s.for(
      0,
      TILE,
      (from) => {
        s.barrier();
        for (let i = 0; i < (DEEP * parts * TILE) / EACH / THREADS; i++) {
          const item = s.local.add(i * THREADS);
          const [row, x] = [item.div((parts * TILE) / EACH), item.mod((parts * TILE) / EACH).mul(EACH)];
          const at = b.first.add(from).add(row);
          const isThere = at.lt(b.count).and(x.lt(width));
          const values = b.buffer.loadsInside(isThere.select(b.base.add(at).mul(width).add(x), 0), EACH);
          this.#stage.stores(row.mul(across).add(x), values.map((v) => isThere.select(v, 0))); // prettier-ignore
        }
        s.barrier();
        for (let q = 0; q < DEEP; q += 4) {
          const x = Array.from({ length: EACH }, (_, i) => this.#tile.loads(this.row.add(i).mul(STRIDE).add(from).add(q), 4));
          for (let k = 0; k < 4; k++)
            for (let part = 0; part < parts; part++) {
              const y = this.#stage.loads(this.column.add((q + k) * across + part * TILE), EACH);
              x.forEach((u, i) => y.forEach((v, j) => (sums[i]![part * EACH + j]!.value = u[k]!.fma(v, sums[i]![part * EACH + j]!.value))));
            }
        }
      },
      { step: DEEP, unroll: false },
    );
  }

  /** Writes its part of a result. */
  write(to: BufferElements<"f32">, rows: Rows, width: number, values: Values): void {
    const s = this.#s;
    values.forEach((row, i) => {
      const at = rows.first.add(this.row).add(i);
      for (let part = 0; part < Math.ceil(width / TILE); part++) {
        const x = this.column.add(part * TILE);
        s.if(at.lt(rows.count).and(x.lt(width)), () =>
          to.storesInside(rows.base.add(at).mul(width).add(x), row.slice(part * EACH, part * EACH + EACH)),
        );
      }
    });
  }
}

/** Rows of a buffer: those of the head begin at row `base`, and the tile at `first` of its `count`. */
interface Rows {
  readonly buffer: BufferElements<"f32">;
  readonly base: Uint;
  readonly first: Uint;
  readonly count: Uint;
}

const partsOf = (width: number): number => EACH * Math.ceil(width / TILE);
const nameOf = ({ width, valueWidth, isCausal, hasMask }: AttentionForm): string =>
  `${width} ${valueWidth}${isCausal ? " causal" : ""}${hasMask ? " mask" : ""}`;

/** What a group works on. */
interface Work {
  readonly head: Uint;
  readonly keyHead: Uint;
  readonly first: Uint;
  /** Of the head's mask. */
  readonly mask: Uint;
}

function workOf(s: S, head: Uint, block: Uint): Work {
  const p = s.params;
  const [batch, own] = [head.div(p.heads), head.mod(p.heads)];
  return {
    head,
    keyHead: batch.mul(p.heads.div(p.sharing)).add(own.div(p.sharing)),
    first: block.mul(TILE),
    mask: batch.mul(p.maskBatch).add(own.mul(p.maskHead)),
  };
}

/** A score as softmax sees it, and whether its key counts. */
function scoreOf(
  s: S,
  { isCausal, hasMask }: AttentionForm,
  { mask }: Work,
  product: Float,
  query: Uint,
  key: Uint,
): { readonly score: Float; readonly counts: Bool } {
  const p = s.params;
  const isThere = query.lt(p.queries).and(key.lt(p.keys));
  const counts = isCausal ? isThere.and(key.le(query)) : isThere;
  const scaled = product.mul(p.scale);
  if (!hasMask) return { score: scaled, counts };
  const at = mask.add(query.mul(p.maskQuery)).add(key.mul(p.maskKey));
  return { score: scaled.add(s.buffers["mask"]!.loadsInside(isThere.select(at, 0), 1)[0]!), counts };
}

const withMask = ({ hasMask }: AttentionForm): Buffers => (hasMask ? { mask: "f32" } : {});

/** For each block of queries of each head, one of `heads` in all. */
const groupsOf =
  (rows: "queries" | "keys", by: string) =>
  ({ shapes, params }: LaunchFacts): number =>
    Math.ceil(params[rows]! / TILE) * shapes[by]![0]!;

/**
 * q [N, L, E], k [M, S, E], v [M, S, D], mask: y [N, L, D] = softmax(q kᵀ scale + mask) v, and each row's logarithm of the sum of exponentials [N, L]. A query
 * that attends to no key gets zeros, and infinity.
 */
export const attention = (form: AttentionForm): Kernel =>
  kernel(
    `attention ${nameOf(form)}`,
    {
      inputs: { q: "f32", k: "f32", v: "f32", ...withMask(form) } as Buffers,
      outputs: { y: "f32", logs: "f32" } as Buffers,
      params: PARAMS,
      threads: THREADS,
      groups: groupsOf("queries", "q"),
      isOneOfMany: true,
    },
    (scope) => {
      const s = scope as unknown as S;
      const { q, k, v, y, logs } = s.buffers as { readonly [name: string]: BufferElements<"f32"> } as Record<
        "q" | "k" | "v" | "y" | "logs",
        BufferElements<"f32">
      >;
      const p = s.params;
      const blocks = p.queries.add(TILE - 1).div(TILE);
      s.if(s.group.lt(blocks.mul(q.dim(0))), () => {
        const work = workOf(s, s.group.div(blocks), s.group.mod(blocks));
        const tiles = new Tiles(s);
        const parts = s.shared("f32", THREADS);
        const queries = { buffer: q, base: work.head.mul(p.queries), first: work.first, count: p.queries };
        const sums = tiles.zeros(partsOf(form.valueWidth));
        const each = (value: number): Var<"f32">[] => Array.from({ length: EACH }, () => s.variable(s.f32(value)));
        const [maxima, totals] = [each(-Infinity), each(0)];
        const end = form.isCausal ? p.keys.min(work.first.add(TILE)) : p.keys;
        s.for(
          0,
          end,
          (from) => {
            const base = work.keyHead.mul(p.keys);
            const products = tiles.product(queries, { buffer: k, base, first: from, count: p.keys }, form.width);
            const scores = products.map((row, i) =>
              row.map(({ value }, j) => {
                const { score, counts } = scoreOf(s, form, work, value, work.first.add(tiles.row).add(i), from.add(tiles.column).add(j));
                return counts.select(score, -Infinity);
              }),
            );
            tiles.keep(scores);
            s.barrier();
            const found = tiles.rowMaxima(parts);
            const weights = scores.map((row, i) => {
              const before = maxima[i]!.value;
              const max = before.max(found[i]!);
              const finite = max.eq(-Infinity).select(s.f32(0), max);
              const shrink = before.sub(finite).exp();
              maxima[i]!.value = max;
              const own = row.map((x) => x.sub(finite).exp());
              totals[i]!.value = totals[i]!.value.mul(shrink).add(own.reduce((a, b) => a.add(b)));
              for (const sum of sums[i]!) sum.value = sum.value.mul(shrink);
              return own;
            });
            tiles.keep(weights);
            tiles.accumulate(sums, { buffer: v, base, first: from, count: p.keys }, form.valueWidth);
          },
          { step: TILE, unroll: false },
        );
        // Each of a row's threads has the sum of its own columns.
        s.barrier();
        tiles.keep(totals.map(({ value }) => [value, s.f32(0), s.f32(0), s.f32(0)]));
        s.barrier();
        const whole = tiles.rowSums();
        tiles.write(
          y,
          { ...queries, buffer: y },
          form.valueWidth,
          sums.map((row, i) => row.map(({ value }) => whole[i]!.eq(0).select(s.f32(0), value.div(whole[i]!)))),
        );
        whole.forEach((total, i) => {
          const at = work.first.add(tiles.row).add(i);
          s.if(tiles.column.eq(0).and(at.lt(p.queries)), () =>
            logs.store(queries.base.add(at), total.eq(0).select(s.f32(Infinity), maxima[i]!.value.add(total.log()))),
          );
        });
      });
    },
  );

/** Of a query: the logarithm of its sum of exponentials, and its sum of dy * y. */
function statisticsOf(s: S, query: Uint): { readonly log: Float; readonly dot: Float } {
  const statistics = s.buffers["statistics"]!;
  return { log: statistics.load(query), dot: statistics.load(query.add(statistics.size.div(2))) };
}

/** Operands and groups of a gradient. */
const gradientShape = (form: AttentionForm, side: "queries" | "keys", outputs: Buffers) => ({
  inputs: { q: "f32", k: "f32", v: "f32", dy: "f32", statistics: "f32", ...withMask(form) } as Buffers,
  outputs,
  params: PARAMS,
  threads: THREADS,
  groups: groupsOf(side, "q"),
  isOneOfMany: true,
});

/** The gradient of q, from y's and from statistics [2, N, L]: logs, and each query's sum of dy * y. */
export const attentionQueryGradient = (form: AttentionForm): Kernel =>
  kernel(`attention gradient of queries ${nameOf(form)}`, gradientShape(form, "queries", { dq: "f32" }), (scope) => {
    const s = scope as unknown as S;
    const b = s.buffers as Record<string, BufferElements<"f32">>;
    const p = s.params;
    const blocks = p.queries.add(TILE - 1).div(TILE);
    s.if(s.group.lt(blocks.mul(b["q"]!.dim(0))), () => {
      const work = workOf(s, s.group.div(blocks), s.group.mod(blocks));
      const tiles = new Tiles(s);
      const own = { base: work.head.mul(p.queries), first: work.first, count: p.queries };
      const sums = tiles.zeros(partsOf(form.width));
      const end = form.isCausal ? p.keys.min(work.first.add(TILE)) : p.keys;
      s.for(
        0,
        end,
        (from) => {
          const other = { base: work.keyHead.mul(p.keys), first: from, count: p.keys };
          const products = tiles.product({ buffer: b["q"]!, ...own }, { buffer: b["k"]!, ...other }, form.width);
          const ofWeights = tiles.product({ buffer: b["dy"]!, ...own }, { buffer: b["v"]!, ...other }, form.valueWidth);
          const gradients = products.map((row, i) => {
            const query = work.first.add(tiles.row).add(i);
            const at = own.base.add(query.min(p.queries.sub(1)));
            const { log, dot } = statisticsOf(s, at);
            return row.map(({ value }, j) => {
              const { score, counts } = scoreOf(s, form, work, value, query, from.add(tiles.column).add(j));
              const weight = score.sub(log).exp();
              return counts.select(weight.mul(ofWeights[i]![j]!.value.sub(dot)).mul(p.scale), 0);
            });
          });
          s.barrier();
          tiles.keep(gradients);
          tiles.accumulate(sums, { buffer: b["k"]!, ...other }, form.width);
        },
        { step: TILE, unroll: false },
      );
      tiles.write(b["dq"]!, { buffer: b["dq"]!, ...own }, form.width, sums.map((row) => row.map(({ value }) => value))); // prettier-ignore
    });
  });

/** The gradients of k and v, of each head of queries: [N, S, E] and [N, S, D]. */
export const attentionKeyGradient = (form: AttentionForm): Kernel =>
  kernel(`attention gradient of keys ${nameOf(form)}`, gradientShape(form, "keys", { dk: "f32", dv: "f32" }), (scope) => {
    const s = scope as unknown as S;
    const b = s.buffers as Record<string, BufferElements<"f32">>;
    const p = s.params;
    const blocks = p.keys.add(TILE - 1).div(TILE);
    s.if(s.group.lt(blocks.mul(b["q"]!.dim(0))), () => {
      const work = workOf(s, s.group.div(blocks), s.group.mod(blocks));
      const tiles = new Tiles(s);
      const own = { base: work.keyHead.mul(p.keys), first: work.first, count: p.keys };
      const base = work.head.mul(p.queries);
      const [ofKeys, ofValues] = [tiles.zeros(partsOf(form.width)), tiles.zeros(partsOf(form.valueWidth))];
      s.for(
        form.isCausal ? work.first : 0,
        p.queries,
        (from) => {
          const other = { base, first: from, count: p.queries };
          const products = tiles.product({ buffer: b["k"]!, ...own }, { buffer: b["q"]!, ...other }, form.width);
          const statistics = Array.from({ length: EACH }, (_, j) => {
            const query = from.add(tiles.column).add(j);
            const at = base.add(query.min(p.queries.sub(1)));
            return { query, ...statisticsOf(s, at) };
          });
          const weights = products.map((row, i) =>
            row.map(({ value }, j) => {
              const { query, log } = statistics[j]!;
              const { score, counts } = scoreOf(s, form, work, value, query, work.first.add(tiles.row).add(i));
              return counts.select(score.sub(log).exp(), 0);
            }),
          );
          s.barrier();
          tiles.keep(weights);
          tiles.accumulate(ofValues, { buffer: b["dy"]!, ...other }, form.valueWidth);
          const ofWeights = tiles.product({ buffer: b["v"]!, ...own }, { buffer: b["dy"]!, ...other }, form.valueWidth);
          const gradients = weights.map((row, i) =>
            row.map((weight, j) => weight.mul(ofWeights[i]![j]!.value.sub(statistics[j]!.dot)).mul(p.scale)),
          );
          s.barrier();
          tiles.keep(gradients);
          tiles.accumulate(ofKeys, { buffer: b["q"]!, ...other }, form.width);
        },
        { step: TILE, unroll: false },
      );
      const results = { ...own, base: work.head.mul(p.keys) };
      tiles.write(b["dk"]!, { buffer: b["dk"]!, ...results }, form.width, ofKeys.map((row) => row.map(({ value }) => value))); // prettier-ignore
      tiles.write(b["dv"]!, { buffer: b["dv"]!, ...results }, form.valueWidth, ofValues.map((row) => row.map(({ value }) => value))); // prettier-ignore
    });
  });
