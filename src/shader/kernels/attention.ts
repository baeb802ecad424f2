/**
 * Attention in blocks, forward and backward: a group keeps the results of some queries (or keys) in registers and takes some keys (or queries) at a time,
 * so that no score is written to memory. Softmax is computed online: sums are scaled whenever a row's maximum grows.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope, Var } from "../language.ts";
import type { Bool, Float, Uint } from "../numbers.ts";
import {
  ATTENTION_TILES,
  PART,
  rowsOf,
  columnsOf,
  threadsOf,
  Tiles,
  type AttentionTile,
  type Numbers,
  type Values,
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
  return { score: scaled.add((s.buffers["mask"] as Numbers).loadsInside(isThere.select(at, 0), 1)[0]!), counts };
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
  const { q, k, v, y, logs, next } = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  if (state !== null)
    s.if(s.thread.eq(0), () => {
      const blocks = q!.dim(0).mul(p.queries).mul(p.keys.shiftRight(2));
      [...advanced(state.counter, blocks), ...state.key].forEach((word, i) => (next as unknown as S["buffers"][string]).store(i, word));
    });
  inBlock(s, tile, "queries", form.isCausal, (work) => {
    const tiles = new Tiles(s, tile, { combines: true, isUnrolled: form.isUnrolled }, form.valueWidth);
    const queries = { base: work.head.mul(p.queries), first: work.first, count: p.queries };
    const sums = tiles.zeros(form.valueWidth);
    const each = (value: number): Var<"f32">[] => Array.from({ length: tiles.rowCount }, () => s.variable(s.f32(value)));
    const [maxima, totals] = [each(-Infinity), each(0)];
    const end = form.isCausal ? p.keys.min(work.first.add(rowsOf(tile))) : p.keys;
    s.for(
      0,
      end,
      (from) => {
        const keys = { base: work.keyHead.mul(p.keys), first: from, count: p.keys };
        const scores = tiles.product({ buffer: q!, ...queries }, { buffer: k!, ...keys }, form.width).map((row, i) =>
          row.map((product, j) => {
            const { score, counts } = scoreOf(s, form, work, product, work.first.add(tiles.row(i)), from.add(tiles.column(j)));
            return counts.select(score, -Infinity);
          }),
        );
        const found = tiles.combine(
          scores.map((row) => row.reduce((a, b) => a.max(b))),
          (a, b) => a.max(b),
        );
        const weights = scores.map((row, i) => {
          const before = maxima[i]!.value;
          const max = before.max(found[i]!);
          const finite = max.eq(-Infinity).select(s.f32(0), max);
          const shrink = before.sub(finite).exp();
          maxima[i]!.value = max;
          const own = row.map((x) => x.sub(finite).exp());
          totals[i]!.value = totals[i]!.value.mul(shrink).add(own.reduce((a, b) => a.add(b)));
          for (const sum of sums[i]!) sum.value = sum.value.mul(shrink);
          if (state === null) return own;
          const factors = Array.from({ length: row.length / PART }, (_, part) =>
            factorsOf(s, state, work, work.first.add(tiles.row(i)), from.add(tiles.column(part * PART))),
          ).flat();
          return own.map((x, j) => x.mul(factors[j]!));
        });
        tiles.keep(weights);
        tiles.accumulate(sums, { buffer: v!, ...keys }, form.valueWidth);
      },
      { step: columnsOf(tile), unroll: false },
    );
    // Each of a row's threads has the sum of its own columns.
    const whole = tiles.combine(
      totals.map(({ value }) => value),
      (a, b) => a.add(b),
    );
    const results = sums.map((row, i) => row.map(({ value }) => whole[i]!.eq(0).select(s.f32(0), value.div(whole[i]!))));
    tiles.write(y!, queries, form.valueWidth, results);
    whole.forEach((total, i) => {
      const at = work.first.add(tiles.row(i));
      s.if(tiles.isFirst.and(at.lt(p.queries)), () =>
        logs!.store(queries.base.add(at), total.eq(0).select(s.f32(Infinity), maxima[i]!.value.add(total.log()))),
      );
    });
  });
};

/** Of a query: the logarithm of its sum of exponentials, and its sum of dy * y. */
function statisticsOf(s: S, base: Uint, query: Uint): { readonly log: Float; readonly dot: Float } {
  const statistics = s.buffers["statistics"] as Numbers;
  const at = base.add(query.min(s.params.queries.sub(1)));
  return { log: statistics.load(at), dot: statistics.load(at.add(statistics.size.div(2))) };
}

/** @internal Of the kernel `attentionQueryGradient`. */
export const attendQueryGradient: Body = (s, form, tile) => {
  const b = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  inBlock(s, tile, "queries", form.isCausal, (work) => {
    const tiles = new Tiles(s, tile, { combines: false, isUnrolled: form.isUnrolled }, form.width);
    const queries = { base: work.head.mul(p.queries), first: work.first, count: p.queries };
    const sums = tiles.zeros(form.width);
    const end = form.isCausal ? p.keys.min(work.first.add(rowsOf(tile))) : p.keys;
    s.for(
      0,
      end,
      (from) => {
        const keys = { base: work.keyHead.mul(p.keys), first: from, count: p.keys };
        const products = tiles.product({ buffer: b["q"]!, ...queries }, { buffer: b["k"]!, ...keys }, form.width);
        const ofWeights = tiles.product({ buffer: b["dy"]!, ...queries }, { buffer: b["v"]!, ...keys }, form.valueWidth);
        const gradients = products.map((row, i) => {
          const query = work.first.add(tiles.row(i));
          const { log, dot } = statisticsOf(s, queries.base, query);
          const factors = state === null ? null : partsOf(row.length).flatMap((j) => factorsOf(s, state, work, query, from.add(tiles.column(j)))); // prettier-ignore
          return row.map((product, j) => {
            const { score, counts } = scoreOf(s, form, work, product, query, from.add(tiles.column(j)));
            const gradient = factors === null ? ofWeights[i]![j]! : ofWeights[i]![j]!.mul(factors[j]!);
            return counts.select(score.sub(log).exp().mul(gradient.sub(dot)).mul(p.scale), 0);
          });
        });
        tiles.keep(gradients);
        tiles.accumulate(sums, { buffer: b["k"]!, ...keys }, form.width);
      },
      { step: columnsOf(tile), unroll: false },
    );
    tiles.write(b["dq"]!, queries, form.width, sums.map((row) => row.map(({ value }) => value))); // prettier-ignore
  });
};

/** The first element of each part. */
const partsOf = (count: number): number[] => Array.from({ length: count / PART }, (_, i) => i * PART);

/** @internal Of the kernel `attentionKeyGradient`. */
export const attendKeyGradient: Body = (s, form, tile) => {
  const b = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const state = form.drops ? stateOf(s) : null;
  inBlock(s, tile, "keys", form.isCausal, (work) => {
    const tiles = new Tiles(s, tile, { combines: false, isUnrolled: form.isUnrolled }, Math.max(form.width, form.valueWidth));
    const keys = { base: work.keyHead.mul(p.keys), first: work.first, count: p.keys };
    const base = work.head.mul(p.queries);
    const [ofKeys, ofValues] = [tiles.zeros(form.width), tiles.zeros(form.valueWidth)];
    s.for(
      form.isCausal ? work.first : 0,
      p.queries,
      (from) => {
        const queries = { base, first: from, count: p.queries };
        const products = tiles.product({ buffer: b["k"]!, ...keys }, { buffer: b["q"]!, ...queries }, form.width);
        const statistics = Array.from({ length: tiles.columnCount }, (_, j) => {
          const query = from.add(tiles.column(j));
          return { query, ...statisticsOf(s, base, query) };
        });
        const weights = products.map((row, i) =>
          row.map((product, j) => {
            const { query, log } = statistics[j]!;
            const { score, counts } = scoreOf(s, form, work, product, query, work.first.add(tiles.row(i)));
            return counts.select(score.sub(log).exp(), 0);
          }),
        );
        // Four keys of a query share a random number's block.
        const byQuery = state === null ? null : statistics.map(({ query }) => partsOf(products.length).flatMap((i) => factorsOf(s, state, work, query, work.first.add(tiles.row(i))))); // prettier-ignore
        const factor = (x: Float, i: number, j: number): Float => (byQuery === null ? x : x.mul(byQuery[j]![i]!));
        tiles.keep(weights.map((row, i) => row.map((weight, j) => factor(weight, i, j))));
        tiles.accumulate(ofValues, { buffer: b["dy"]!, ...queries }, form.valueWidth);
        const ofWeights = tiles.product({ buffer: b["v"]!, ...keys }, { buffer: b["dy"]!, ...queries }, form.valueWidth);
        // The thread's own weights are where it has kept them: fewer registers.
        const own: Values = state === null ? tiles.kept() : weights;
        tiles.keep(own.map((row, i) => row.map((weight, j) => weight.mul(factor(ofWeights[i]![j]!, i, j).sub(statistics[j]!.dot)).mul(p.scale)))); // prettier-ignore
        tiles.accumulate(ofKeys, { buffer: b["q"]!, ...queries }, form.width);
      },
      { step: columnsOf(tile), unroll: false },
    );
    const results = { ...keys, base: work.head.mul(p.keys) };
    tiles.write(b["dk"]!, results, form.width, ofKeys.map((row) => row.map(({ value }) => value))); // prettier-ignore
    tiles.write(b["dv"]!, results, form.valueWidth, ofValues.map((row) => row.map(({ value }) => value))); // prettier-ignore
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
    const outputs: Buffers = { y: e, logs: "f32", ...(form.drops ? { next: "u32" } : {}) };
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
 * q [N, L, E], k [M, S, E], v [M, S, D], mask, state: y [N, L, D] = softmax(q kᵀ scale + mask) v, each row's logarithm of the sum of exponentials [N, L],
 * and the next state. A query that attends to no key gets zeros, and infinity.
 */
export const attention = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.small): Kernel =>
  made(attentionKernels.attention(form), form, tile);

/** The gradient of q, from y's and from statistics [2, N, L]: logs, and each query's sum of dy * y. */
export const attentionQueryGradient = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.small): Kernel =>
  made(attentionKernels.queryGradient(form), form, tile);

/** The gradients of k and v, of each head of queries: [N, S, E] and [N, S, D]. */
export const attentionKeyGradient = (form: AttentionForm, tile: AttentionTile = ATTENTION_TILES.small): Kernel =>
  made(attentionKernels.keyGradient(form), form, tile);
