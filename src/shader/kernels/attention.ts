/**
 * Attention in blocks, forward and backward: a group keeps the results of some queries (or keys) in registers and takes some keys (or queries) at a time,
 * so that no score is written to memory. Softmax is computed online: sums are scaled whenever a row's maximum grows.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope, Var } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import {
  ATTENTION_TILES,
  PART,
  rowsOf,
  columnsOf,
  threadsOf,
  Tiles,
  valuesOf,
  type AttentionTile,
  type Numbers,
  type Operands,
  type Sums,
} from "./attention-tiles.ts";
import type { FloatElement } from "./elementwise.ts";
import { kernel, type Kernel } from "./kernel.ts";
import { advanced, philox, type PhiloxState } from "../philox.ts";

/** What makes one shader unlike another. */
export interface AttentionForm {
  readonly element: FloatElement;
  /** Widths of queries and keys, and of values: multiples of 4, at most MAX_WIDTH. */
  readonly width: number;
  readonly valueWidth: number;
  readonly isCausal: boolean;
  readonly hasMask: boolean;
  /** Whether weights are dropped: by random numbers of a state. The number of keys is a multiple of 4 then. */
  readonly drops: boolean;
  /** Whether the steps of a product are written without a loop: faster, and longer to compile. */
  readonly isUnrolled: boolean;
}

/** Numbers of a launch. */
export const ATTENTION_PARAMS = {
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
  /** Random numbers of 24 bits below it drop a weight; others are multiplied by the factor. */
  threshold: "u32",
  factor: "f32",
} as const;
export type AttentionLaunch = { readonly [name in keyof typeof ATTENTION_PARAMS]: number };

export const MAX_WIDTH = 128;

type Buffers = { readonly [name: string]: FloatElement | "u32" };
type S = Scope<Buffers, typeof ATTENTION_PARAMS>;

const nameOf = (
  { element, width, valueWidth, isCausal, hasMask, drops, isUnrolled }: AttentionForm,
  { across, down, rowParts, columnParts }: AttentionTile,
): string =>
  // prettier-ignore
  `${element} ${width} ${valueWidth}${isCausal ? " causal" : ""}${hasMask ? " mask" : ""}${drops ? " dropout" : ""}${isUnrolled ? " unrolled" : ""} ${across * columnParts}x${down * rowParts} ${rowParts}x${columnParts}`;

/** What a group works on. */
interface Work {
  readonly head: Uint;
  readonly keyHead: Uint;
  readonly first: Uint;
  /** Of the head's mask. */
  readonly mask: Uint;
}

/** Runs body for a block of rows of a head. isCausal and of queries: the last blocks, which have most keys, come first. */
function inBlock(s: S, tile: AttentionTile, rows: "queries" | "keys", isCausal: boolean, body: (work: Work) => void): void {
  const p = s.params;
  const count = s.buffers["q"]!.dim(0);
  const blocks = p[rows].add(rowsOf(tile) - 1).div(rowsOf(tile));
  s.if(s.group.lt(blocks.mul(count)), () => {
    const [head, at] = isCausal ? [s.group.mod(count), s.group.div(count)] : [s.group.div(blocks), s.group.mod(blocks)];
    const block = isCausal && rows === "queries" ? blocks.sub(1).sub(at) : at;
    const [batch, own] = [head.div(p.heads), head.mod(p.heads)];
    body({
      head,
      keyHead: batch.mul(p.heads.div(p.sharing)).add(own.div(p.sharing)),
      first: block.mul(rowsOf(tile)),
      mask: batch.mul(p.maskBatch).add(own.mul(p.maskHead)),
    });
  });
}

/** Which queries and keys a tile of scores has. */
interface Block {
  readonly queries: { readonly first: Uint; readonly count: number };
  readonly keys: { readonly first: Uint; readonly count: number };
  at(i: number, j: number): { readonly query: Uint; readonly key: Uint };
}

/** Makes products scores as softmax sees them. Not yet times log2(e): the lowest finite number of a mask would become -Infinity. */
function scale(s: S, { hasMask }: AttentionForm, { mask }: Work, products: Sums, { at }: Block): void {
  const p = s.params;
  products.forEach((row, i) =>
    row.forEach((product, j) => {
      const scaled = product.value.mul(p.scale);
      if (!hasMask) return void (product.value = scaled);
      const { query, key } = at(i, j);
      const isThere = query.lt(p.queries).and(key.lt(p.keys));
      const index = mask.add(query.mul(p.maskQuery)).add(key.mul(p.maskKey));
      const added = (s.buffers["mask"] as Numbers).loadsInside(isThere.select(index, 0), 1)[0]!;
      product.value = scaled.add(added);
    }),
  );
}

/** The exponential of scores less a row's maximum: a power of 2. */
const exponential = (score: Float, max: Float): Float => score.sub(max).mul(Math.LOG2E).exp2();

/** Sets values to `none` behind the last query and the last key, and of keys behind a causal query. Most blocks have no such values: they skip it. */
function exclude(s: S, { isCausal }: AttentionForm, values: Sums, none: number, { queries, keys, at }: Block): void {
  const p = s.params;
  const [endOfQueries, endOfKeys] = [queries.first.add(queries.count), keys.first.add(keys.count)];
  const isBehind = endOfQueries.gt(p.queries).or(endOfKeys.gt(p.keys));
  s.if(isCausal ? isBehind.or(endOfKeys.gt(queries.first.add(1))) : isBehind, () =>
    values.forEach((row, i) =>
      row.forEach((value, j) => {
        const { query, key } = at(i, j);
        const isThere = query.lt(p.queries).and(key.lt(p.keys));
        value.value = (isCausal ? isThere.and(key.le(query)) : isThere).select(value.value, none);
      }),
    ),
  );
}

/** The scores of a block of rows, "queries" or "keys", and of the columns from one on. */
function blockOf(tile: AttentionTile, tiles: Tiles, { first }: Work, from: Uint, rows: "queries" | "keys"): Block {
  const [ofRows, ofColumns] = [
    { first, count: rowsOf(tile) },
    { first: from, count: columnsOf(tile) },
  ];
  return rows === "queries"
    ? { queries: ofRows, keys: ofColumns, at: (i, j) => ({ query: first.add(tiles.row(i)), key: from.add(tiles.column(j)) }) }
    : { queries: ofColumns, keys: ofRows, at: (i, j) => ({ query: from.add(tiles.column(j)), key: first.add(tiles.row(i)) }) };
}

function stateOf(s: S): PhiloxState {
  const state = s.buffers["state"]!;
  const [a, b, c, d, e, f] = Array.from({ length: 6 }, (_, i) => state.load(i) as Uint) as [Uint, Uint, Uint, Uint, Uint, Uint];
  return { counter: [a, b, c, d], key: [e, f] };
}

/** Factors of the weights of four keys from one on. */
function factorsOf(s: S, state: PhiloxState, { head }: Work, query: Uint, key: Uint): Float[] {
  const p = s.params;
  const block = head.mul(p.queries).add(query).mul(p.keys.shiftRight(2)).add(key.shiftRight(2));
  return philox(s, { counter: advanced(state.counter, block), key: state.key }).map((word) =>
    word.shiftRight(8).lt(p.threshold).select(s.f32(0), p.factor),
  );
}

const optional = ({ element, hasMask, drops }: AttentionForm): Buffers => ({
  ...(hasMask ? { mask: element } : {}),
  ...(drops ? { state: "u32" } : {}),
});

/** For each block of rows of each head, one of `heads` in all. */
const groupsOf =
  (rows: "queries" | "keys", tile: AttentionTile) =>
  ({ shapes, params }: LaunchFacts): number =>
    Math.ceil(params[rows]! / rowsOf(tile)) * shapes["q"]![0]!;

type Body = (s: S, form: AttentionForm, tile: AttentionTile) => void;

/** @internal Of the kernel `attention`. */
export const attend: Body = (s, form, tile) => {
  const { q, k, v, y, softmax, next } = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  if (state !== null)
    s.if(s.thread.eq(0), () => {
      const blocks = q!.dim(0).mul(p.queries).mul(p.keys.shiftRight(2));
      [...advanced(state.counter, blocks), ...state.key].forEach((word, i) => (next as unknown as S["buffers"][string]).store(i, word));
    });
  const tiles = new Tiles(s, tile, form.isUnrolled, form.valueWidth);
  inBlock(s, tile, "queries", form.isCausal, (work) => {
    const queries = { base: work.head.mul(p.queries), first: work.first, count: p.queries };
    const sums = tiles.zeros(form.valueWidth);
    const each = (value: number): Var<"f32">[] => Array.from({ length: tiles.rowCount }, () => s.variable(s.f32(value)));
    const [maxima, totals] = [each(-Infinity), each(0)];
    const end = form.isCausal ? p.keys.min(work.first.add(rowsOf(tile))) : p.keys;
    const keysFrom = (from: Uint) => ({ base: work.keyHead.mul(p.keys), first: from, count: p.keys });
    const scoresFrom = (from: Uint): Operands => tiles.ofProduct({ buffer: q!, ...queries }, { buffer: k!, ...keysFrom(from) }, form.width);
    tiles.begin(scoresFrom(s.u32(0)));
    s.for(
      0,
      end,
      (from) => {
        const block = blockOf(tile, tiles, work, from, "queries");
        const values = tiles.ofSum({ buffer: v!, ...keysFrom(from) }, form.valueWidth);
        const products = tiles.product(scoresFrom(from), values);
        scale(s, form, work, products, block);
        exclude(s, form, products, -Infinity, block);
        const scores = valuesOf(products);
        const found = tiles.combine(
          scores.map((row) => row.reduce((a, b) => a.max(b))),
          (a, b) => a.max(b),
        );
        const weights = scores.map((row, i) => {
          const before = maxima[i]!.value;
          const max = before.max(found[i]!);
          const finite = max.eq(-Infinity).select(s.f32(0), max);
          const shrink = exponential(before, finite);
          maxima[i]!.value = max;
          const own = row.map((x) => exponential(x, finite));
          totals[i]!.value = totals[i]!.value.mul(shrink).add(own.reduce((a, b) => a.add(b)));
          for (const sum of sums[i]!) sum.value = sum.value.mul(shrink);
          if (state === null) return own;
          const factors = Array.from({ length: row.length / PART }, (_, part) =>
            factorsOf(s, state, work, work.first.add(tiles.row(i)), from.add(tiles.column(part * PART))),
          ).flat();
          return own.map((x, j) => x.mul(factors[j]!));
        });
        tiles.accumulate(sums, weights, values, form.valueWidth, scoresFrom(from.add(columnsOf(tile))));
      },
      { step: columnsOf(tile), unroll: false },
    );
    // Each of a row's threads has the sum of its own columns.
    const whole = tiles.combine(
      totals.map(({ value }) => value),
      (a, b) => a.add(b),
    );
    const results = valuesOf(sums).map((row, i) => row.map((value) => whole[i]!.eq(0).select(s.f32(0), value.div(whole[i]!))));
    tiles.write(y!, queries, form.valueWidth, results);
    whole.forEach((total, i) => {
      const at = work.first.add(tiles.row(i));
      s.if(tiles.isFirst.and(at.lt(p.queries)), () => {
        const row = queries.base.add(at);
        softmax!.store(row, total.eq(0).select(s.f32(Infinity), maxima[i]!.value));
        softmax!.store(row.add(softmax!.size.div(2)), total.eq(0).select(s.f32(1), total));
      });
    });
  });
};

/** Of a query: the weight of a score, and its sum of dy * y. */
function statisticsOf(s: S, base: Uint, query: Uint): { readonly weight: (score: Float) => Float; readonly dot: Float } {
  const statistics = s.buffers["statistics"] as Numbers;
  const at = base.add(query.min(s.params.queries.sub(1)));
  const rows = statistics.size.div(3);
  const [max, total, dot] = [0, 1, 2].map((i) => statistics.load(at.add(rows.mul(i)))) as [Float, Float, Float];
  const factor = s.f32(1).div(total);
  return { weight: (score) => exponential(score, max).mul(factor), dot };
}

/** @internal Of the kernel `attentionQueryGradient`. */
export const attendQueryGradient: Body = (s, form, tile) => {
  const b = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  const tiles = new Tiles(s, tile, form.isUnrolled, form.width);
  inBlock(s, tile, "queries", form.isCausal, (work) => {
    const queries = { base: work.head.mul(p.queries), first: work.first, count: p.queries };
    const sums = tiles.zeros(form.width);
    const end = form.isCausal ? p.keys.min(work.first.add(rowsOf(tile))) : p.keys;
    const keysFrom = (from: Uint) => ({ base: work.keyHead.mul(p.keys), first: from, count: p.keys });
    const ofQueries = (name: "q" | "dy") => ({ buffer: b[name]!, ...queries });
    const scoresFrom = (from: Uint): Operands => tiles.ofProduct(ofQueries("q"), { buffer: b["k"]!, ...keysFrom(from) }, form.width);
    const statistics = Array.from({ length: tiles.rowCount }, (_, i) => statisticsOf(s, queries.base, work.first.add(tiles.row(i))));
    tiles.begin(scoresFrom(s.u32(0)));
    s.for(
      0,
      end,
      (from) => {
        const block = blockOf(tile, tiles, work, from, "queries");
        const gradients = tiles.ofProduct(ofQueries("dy"), { buffer: b["v"]!, ...keysFrom(from) }, form.valueWidth);
        const keys = tiles.ofSum({ buffer: b["k"]!, ...keysFrom(from) }, form.width);
        const products = tiles.product(scoresFrom(from), gradients);
        const ofWeights = tiles.product(gradients, keys);
        scale(s, form, work, products, block);
        products.forEach((row, i) => {
          const { weight, dot } = statistics[i]!;
          const query = work.first.add(tiles.row(i));
          const factors = state === null ? null : partsOf(row.length).flatMap((j) => factorsOf(s, state, work, query, from.add(tiles.column(j)))); // prettier-ignore
          row.forEach((score, j) => {
            const own = ofWeights[i]![j]!.value;
            const gradient = factors === null ? own : own.mul(factors[j]!);
            score.value = weight(score.value).mul(gradient.sub(dot)).mul(p.scale);
          });
        });
        exclude(s, form, products, 0, block);
        tiles.accumulate(sums, valuesOf(products), keys, form.width, scoresFrom(from.add(columnsOf(tile))));
      },
      { step: columnsOf(tile), unroll: false },
    );
    tiles.write(b["dq"]!, queries, form.width, valuesOf(sums));
  });
};

/** The first element of each part. */
const partsOf = (count: number): number[] => Array.from({ length: count / PART }, (_, i) => i * PART);

/** @internal Of the kernel `attentionKeyGradient`. */
export const attendKeyGradient: Body = (s, form, tile) => {
  const b = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  const tiles = new Tiles(s, tile, form.isUnrolled, Math.max(form.width, form.valueWidth));
  inBlock(s, tile, "keys", form.isCausal, (work) => {
    const keys = { base: work.keyHead.mul(p.keys), first: work.first, count: p.keys };
    const base = work.head.mul(p.queries);
    const [ofKeys, ofValues] = [tiles.zeros(form.width), tiles.zeros(form.valueWidth)];
    const ofQueries = (name: "q" | "dy", from: Uint) => ({ buffer: b[name]!, base, first: from, count: p.queries });
    const scoresFrom = (from: Uint): Operands => tiles.ofProduct({ buffer: b["k"]!, ...keys }, ofQueries("q", from), form.width);
    const start = form.isCausal ? work.first : s.u32(0);
    tiles.begin(scoresFrom(start));
    s.for(
      start,
      p.queries,
      (from) => {
        const block = blockOf(tile, tiles, work, from, "keys");
        const dy = tiles.ofSum(ofQueries("dy", from), form.valueWidth);
        const gradients = tiles.ofProduct({ buffer: b["v"]!, ...keys }, ofQueries("dy", from), form.valueWidth);
        const queries = tiles.ofSum(ofQueries("q", from), form.width);
        const products = tiles.product(scoresFrom(from), dy);
        const queryOf = (j: number): Uint => from.add(tiles.column(j));
        const statistics = Array.from({ length: tiles.columnCount }, (_, j) => statisticsOf(s, base, queryOf(j)));
        scale(s, form, work, products, block);
        for (const row of products) row.forEach((score, j) => (score.value = statistics[j]!.weight(score.value)));
        exclude(s, form, products, 0, block);
        const weights = valuesOf(products);
        // Four keys of a query share a random number's block.
        const byQuery = state === null ? null : statistics.map((_, j) => partsOf(products.length).flatMap((i) => factorsOf(s, state, work, queryOf(j), work.first.add(tiles.row(i))))); // prettier-ignore
        const factor = (x: Float, i: number, j: number): Float => (byQuery === null ? x : x.mul(byQuery[j]![i]!));
        tiles.accumulate(ofValues, weights.map((row, i) => row.map((weight, j) => factor(weight, i, j))), dy, form.valueWidth, gradients); // prettier-ignore
        const ofWeights = valuesOf(tiles.product(gradients, queries));
        const ofScores = weights.map((row, i) => row.map((weight, j) => weight.mul(factor(ofWeights[i]![j]!, i, j).sub(statistics[j]!.dot)).mul(p.scale))); // prettier-ignore
        tiles.accumulate(ofKeys, ofScores, queries, form.width, scoresFrom(from.add(columnsOf(tile))));
      },
      { step: columnsOf(tile), unroll: false },
    );
    const results = { ...keys, base: work.head.mul(p.keys) };
    tiles.write(b["dk"]!, results, form.width, valuesOf(ofKeys));
    tiles.write(b["dv"]!, results, form.valueWidth, valuesOf(ofValues));
  });
};

/** What a kernel of attention is made of. */
export interface AttentionKernel {
  readonly name: string;
  readonly inputs: Buffers;
  readonly outputs: Buffers;
  readonly params: typeof ATTENTION_PARAMS;
  readonly rows: "queries" | "keys";
  readonly body: Body;
}

const gradient = (form: AttentionForm): Buffers => {
  const e = form.element;
  return { q: e, k: e, v: e, dy: e, statistics: "f32", ...optional(form) };
};

/** @internal The kernels by what they compute; see those below. */
export const attentionKernels = {
  attention: (form: AttentionForm): AttentionKernel => {
    const e = form.element;
    const inputs = { q: e, k: e, v: e, ...optional(form) };
    const outputs: Buffers = { y: e, softmax: "f32", ...(form.drops ? { next: "u32" } : {}) };
    return { name: "attention", inputs, outputs, params: ATTENTION_PARAMS, rows: "queries", body: attend };
  },
  queryGradient: (form: AttentionForm): AttentionKernel => ({
    name: "attention gradient of queries",
    inputs: gradient(form),
    outputs: { dq: form.element },
    params: ATTENTION_PARAMS,
    rows: "queries",
    body: attendQueryGradient,
  }),
  keyGradient: (form: AttentionForm): AttentionKernel => ({
    name: "attention gradient of keys",
    inputs: gradient(form),
    outputs: { dk: form.element, dv: form.element },
    params: ATTENTION_PARAMS,
    rows: "keys",
    body: attendKeyGradient,
  }),
} as const;

function made({ name, inputs, outputs, params, rows, body }: AttentionKernel, form: AttentionForm, tile: AttentionTile): Kernel {
  return kernel(
    `${name} ${nameOf(form, tile)}`,
    { inputs, outputs, params, threads: threadsOf(tile), groups: groupsOf(rows, tile), isOneOfMany: true, maxBuffers: MAX_BUFFERS },
    (scope) => body(scope as unknown as S, form, tile),
  );
}

/** Buffers of the gradient of keys with a mask and dropout: one more than all devices have. */
const MAX_BUFFERS = 9;

/**
 * q [N, L, E], k [M, S, E], v [M, S, D], mask, state: y [N, L, D] = softmax(q kᵀ scale + mask) v, softmax [2, N, L]: each row's largest score and its
 * sum of exponentials of scores less that, and the next state. A query that attends to no key gets zeros, infinity and 1.
 */
export const attention = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.flat): Kernel =>
  made(attentionKernels.attention(form), form, tile);

/** The gradient of q, from y's and from statistics [3, N, L]: softmax, and each query's sum of dy * y. */
export const attentionQueryGradient = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.flat): Kernel =>
  made(attentionKernels.queryGradient(form), form, tile);

/** The gradients of k and v, of each head of queries: [N, S, E] and [N, S, D]. */
export const attentionKeyGradient = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.medium): Kernel =>
  made(attentionKernels.keyGradient(form), form, tile);
