/**
 * Attention of few queries over many keys, as a decoder needs it for each token: a group of threads has one query. Scores are in shared memory. Four threads share a
 * key, so that neighbouring threads read neighbouring elements; for the values, each thread has four elements of every n-th row.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { Scope } from "../language.ts";
import type { Float, Uint } from "../numbers.ts";
import { ATTENTION_PARAMS, type AttentionForm } from "./attention.ts";
import type { Numbers } from "./attention-tiles.ts";
import { GroupReduction, kernel, type Kernel } from "./kernel.ts";

export type FewQueryForm = Pick<AttentionForm, "width" | "valueWidth" | "hasMask">;

/** Keys of a group: their scores are in shared memory. */
const MAX_KEYS = 4096;
/** More queries of a head are blocks, which read keys for several queries. */
const MAX_QUERIES = 8;
const [THREADS, LANES] = [256, 4];
/** Keys that a thread has a part of at a time: their loads wait together. */
const TOGETHER = 2;
const [WIDE, STEP] = [4, (THREADS / LANES) * TOGETHER];
/** Keys whose values a thread reads at once. */
const VALUES = 4;

/** Whether the kernel takes so many queries of a head, and keys. @package */
export const takesFewQueries = (queries: number, keys: number): boolean => queries <= MAX_QUERIES && keys <= MAX_KEYS;

type Buffers = { readonly [name: string]: "f32" };
type S = Scope<Buffers, typeof ATTENTION_PARAMS>;

const sumOf = (values: readonly Float[]): Float => values.reduce((a, b) => a.add(b));

function attend(s: S, { width, valueWidth, hasMask }: FewQueryForm): void {
  const { q, k, v, mask, y, softmax } = s.buffers as unknown as Record<string, Numbers>;
  const p = s.params;
  const [head, query] = [s.group.div(p.queries), s.group.mod(p.queries)];
  const [batch, own] = [head.div(p.heads), head.mod(p.heads)];
  const keyHead = batch.mul(p.heads.div(p.sharing)).add(own.div(p.sharing));
  const maskAt = batch.mul(p.maskBatch).add(own.mul(p.maskHead)).add(query.mul(p.maskQuery));
  const firstKey = keyHead.mul(p.keys);
  const reduction = new GroupReduction(s);
  const [scores, parts] = [s.shared("f32", MAX_KEYS), s.shared("f32", STEP * LANES)];

  // Scores: each of a key's threads has every fourth texel.
  const [lane, slot] = [s.local.mod(LANES), s.local.div(LANES)];
  const texels = width / WIDE;
  const ownTexels = Array.from({ length: Math.ceil(texels / LANES) }, (_, i) => ({
    at: lane.add(i * LANES),
    isWhole: (i + 1) * LANES <= texels,
  }));
  /** A thread's part of a row; zeros behind its end. */
  const partOf = (from: Numbers, row: Uint): Float[][] =>
    ownTexels.map(({ at, isWhole }) => {
      const inside = at.lt(texels);
      const found = from.loadsInside(row.mul(width).add((isWhole ? at : inside.select(at, 0)).mul(WIDE)), WIDE);
      return isWhole ? found : found.map((x) => inside.select(x, 0));
    });
  const queryPart = partOf(q!, head.mul(p.queries).add(query)).map((four) => four.map((x) => x.mul(p.scale)));
  s.for(
    0,
    p.keys,
    (from) => {
      const found = Array.from({ length: TOGETHER }, (_, i) => {
        const at = from.add(slot).add(i * (THREADS / LANES));
        return { i, row: partOf(k!, firstKey.add(at.min(p.keys.sub(1)))) };
      });
      for (const { i, row } of found) {
        const products = row.flatMap((four, t) => four.map((x, e) => [x, queryPart[t]![e]!] as const));
        const [[x, w], ...rest] = products as [readonly [Float, Float], ...(readonly [Float, Float])[]];
        const dot = rest.reduce((sum, [a, b]) => a.fma(b, sum), x.mul(w));
        parts.storesInside(s.local.add(i * THREADS), [dot]);
      }
      s.barrier();
      const key = from.add(s.local);
      s.if(s.local.lt(STEP).and(key.lt(p.keys)), () => {
        const dot = sumOf(parts.loadsInside(s.local.mul(LANES), LANES));
        const score = hasMask ? dot.add(mask!.loadsInside(maskAt.add(key.mul(p.maskKey)), 1)[0]!) : dot;
        scores.storesInside(key, [score]);
      });
      s.barrier();
    },
    { step: STEP, unroll: false },
  );

  // Softmax.
  const eachKey = (body: (key: Uint) => void): void =>
    s.for(0, p.keys, (from) => s.if(from.add(s.local).lt(p.keys), () => body(from.add(s.local))), { step: THREADS, unroll: false });
  const largest = s.variable(s.f32(-Infinity));
  eachKey((key) => (largest.value = largest.value.max(scores.loadsInside(key, 1)[0]!)));
  const [max] = reduction.reduce([largest.value], (a, b) => a.max(b)) as [Float];
  const finite = max.eq(-Infinity).select(s.f32(0), max);
  const total = s.variable(s.f32(0));
  eachKey((key) => {
    const weight = scores.loadsInside(key, 1)[0]!.sub(finite).exp();
    scores.storesInside(key, [weight]);
    total.value = total.value.add(weight);
  });
  const [whole] = reduction.reduce([total.value], (a, b) => a.add(b)) as [Float];

  // Values.
  const across = valueWidth / WIDE;
  const splits = Math.floor(THREADS / across);
  const [column, split] = [s.local.mod(across), s.local.div(across)];
  const sums = Array.from({ length: WIDE }, () => s.variable(s.f32(0)));
  const isUsed = split.lt(splits);
  s.for(
    0,
    p.keys,
    (from) => {
      const found = Array.from({ length: VALUES }, (_, i) => {
        const key = from.add(split).add(i * splits);
        const inside = splits * across === THREADS ? key.lt(p.keys) : key.lt(p.keys).and(isUsed);
        const at = inside.select(key, 0);
        const values = v!.loadsInside(firstKey.add(at).mul(valueWidth).add(column.mul(WIDE)), WIDE);
        return { inside, values, weight: scores.loadsInside(at, 1)[0]! };
      });
      for (const { inside, values, weight } of found)
        sums.forEach((sum, e) => (sum.value = inside.select(values[e]!.fma(weight, sum.value), sum.value)));
    },
    { step: splits * VALUES, unroll: false },
  );
  const all = s.shared("f32", splits * valueWidth);
  const put = (): void =>
    all.storesInside(
      split.mul(valueWidth).add(column.mul(WIDE)),
      sums.map(({ value }) => value),
    );
  if (splits * across === THREADS) put();
  else s.if(isUsed, put);
  s.barrier();
  const row = head.mul(p.queries).add(query);
  s.if(s.local.lt(valueWidth), () => {
    const sum = sumOf(Array.from({ length: splits }, (_, i) => all.loadsInside(s.local.add(i * valueWidth), 1)[0]!));
    y!.storesInside(row.mul(valueWidth).add(s.local), [whole.eq(0).select(s.f32(0), sum.div(whole))]);
  });
  s.if(s.local.eq(0), () => {
    softmax!.storesInside(row, [whole.eq(0).select(s.f32(Infinity), max)]);
    softmax!.storesInside(row.add(softmax!.size.div(2)), [whole.eq(0).select(s.f32(1), whole)]);
  });
}

/**
 * q [N, L, E], k [M, S, E], v [M, S, D], mask: y [N, L, D] = softmax(q kᵀ scale + mask) v and softmax [2, N, L], as `attention` has them, in float32. L is at most
 * MAX_QUERIES, S MAX_KEYS.
 */
export function fewQueryAttention(form: FewQueryForm): Kernel {
  const { width, valueWidth, hasMask } = form;
  const inputs: Buffers = { q: "f32", k: "f32", v: "f32", ...(hasMask ? { mask: "f32" as const } : {}) };
  const groups = ({ shapes }: LaunchFacts): number => shapes["q"]![0]! * shapes["q"]![1]!;
  return kernel(
    `attention of few queries ${width} ${valueWidth}${hasMask ? " mask" : ""}`,
    { inputs, outputs: { y: "f32", softmax: "f32" }, params: ATTENTION_PARAMS, threads: THREADS, groups, isOneOfMany: true },
    (scope) => attend(scope as unknown as S, form),
  );
}
