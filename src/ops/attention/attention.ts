/** Scaled dot-product attention: one block of queries at a time, so that only one block's scores are in memory. @functional */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { broadcastShapes, isBroadcastableTo, showShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition, type TensorSpec } from "../../core/definition.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { eq, ge } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { amax } from "../reduce/extrema.ts";
import { dropoutFactors, requireProbability, dropout } from "../random/dropout.ts";
import { cat, repeatEach } from "../shape/join.ts";
import { emitGemm, matmul } from "../matmul/matmul.ts";
import { narrow, reshape, transpose, unsqueeze } from "../shape/movement.ts";
import type { Generator } from "../random/random.ts";
import { arange } from "../creation/ranges.ts";
import { sum } from "../reduce/reduce.ts";
import { emitSoftmax, softmax } from "../reduce/softmax.ts";
import { detach } from "../data/state.ts";
import { alongAxis, BOOL, cast, constant, cut, requireFloat, sequence, sumTo, transposeLast } from "../declare/support.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { where } from "../elementwise/where.ts";
import { blockAttention, setAttend, setComposed } from "./block-attention.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { spreadBehind } from "../shape/batched-channels.ts";

/** @package */
export interface Attention {
  readonly scale: number;
  readonly causal: boolean;
}

/** Scores that are kept at a time: 16 Mi elements. */
const SCORES = 1 << 24;

/** Queries whose scores are made at a time. */
const blockOf = (batch: readonly number[], length: number, keys: number): number =>
  Math.max(1, Math.min(length, Math.floor(SCORES / Math.max(1, sizeOf(batch) * keys))));

const batchOf = (inputs: readonly TensorSpec[]): number[] =>
  inputs
    .slice(1, 3)
    .reduce<number[]>((s, x) => broadcastShapes("scaledDotProductAttention", s, x.shape.slice(0, -2)), inputs[0]!.shape.slice(0, -2));

/** The part of an expression along its second to last axis. */
const rows = (g: GraphBuilder, x: Expr, start: number, length: number): Expr => cut(g, x, x.sizes.length - 2, start, length);

/** The causal mask: query `start` + i attends to key j where j <= start + i. */
function emitCausal(g: GraphBuilder, start: number, length: number, keys: number, sizes: readonly number[]): Expr {
  const scoreShape = [length, keys];
  const positions = (axis: number, from: number): Expr => alongAxis(g, sequence(g, "int32", [scoreShape[axis]!], from), scoreShape, axis);
  const seen = g.elementWiseLogicalGreaterThanOrEqual(positions(0, start), positions(1, 0), BOOL);
  return g.expand(seen, sizes);
}

/** Weights without those of keys that do not count: a query that attends to no key gets zeros; one with a score that is NaN gets NaN, as in PyTorch. */
function withoutBlind(g: GraphBuilder, scores: Expr, weights: Expr): Expr {
  const isOut = g.elementWiseIsInfinity(scores, { infinityMode: "NEGATIVE", ...BOOL });
  return g.elementWiseIf(isOut, constant(g, "float32", 0, weights.sizes), weights);
}

/** isThere: which of the keys there are, [S]; null: all. */
function emitAttention(
  g: GraphBuilder,
  [q, k, v, mask]: readonly Expr[],
  { scale, causal }: Attention,
  out: TensorSpec,
  isThere: Expr | null,
): Expr {
  const batch = out.shape.slice(0, -2);
  const [length, keys] = [out.shape.at(-2)!, k!.sizes.at(-2)!];
  const block = blockOf(batch, length, keys);
  const across = transposeLast(g, k!);
  const parts: Expr[] = [];
  for (let start = 0; start < length; start += block) {
    const count = Math.min(block, length - start);
    const sizes = [...batch, count, keys];
    const gemm = emitGemm(g, rows(g, q!, start, count), across, null, batch, { alpha: scale, beta: 0 });
    let scores = g.reinterpret(cast(g, gemm, "float32"), { sizes });
    if (mask !== undefined) {
      const spread = g.expand(mask, [...batch, length, keys]);
      scores = g.elementWiseAdd(scores, cast(g, rows(g, spread, start, count), "float32"));
    }
    const only = (seen: Expr): Expr => g.elementWiseIf(seen, scores, constant(g, "float32", -Infinity, sizes));
    if (causal) scores = only(emitCausal(g, start, count, keys, sizes));
    if (isThere !== null) scores = only(alongAxis(g, isThere, sizes, sizes.length - 1));
    const flat = g.reinterpret(emitSoftmax(g, g.reshape(scores, [sizeOf(sizes) / keys, keys]), 1, false), { sizes });
    const known = mask === undefined ? flat : withoutBlind(g, scores, flat);
    const part = emitGemm(g, cast(g, known, out.dtype), v!, null, batch, { alpha: 1, beta: 0 });
    parts.push(g.reinterpret(part, { sizes: [...batch, count, out.shape.at(-1)!] }));
  }
  return parts.length === 1 ? parts[0]! : g.join(parts, { output: { sizes: out.shape }, axis: out.shape.length - 2 });
}

/** Inputs q [..., L, E], k [..., S, E], v [..., S, D] and, if there is one, a mask that is added to the scores. */
const attentionOp: Definition<Attention> = define<Attention>({
  name: "scaledDotProductAttention",
  batched: ({ inputs, isBatched, attrs, run }) => {
    const rank = Math.max(...inputs.map((t, i) => t.rank + (isBatched[i] ? 0 : 1)));
    return run(
      inputs.map((t, i) => (isBatched[i] ? spreadBehind(t, rank) : t)),
      attrs,
    );
  },
  infer: (inputs) => [{ shape: [...batchOf(inputs), inputs[0]!.shape.at(-2)!, inputs[2]!.shape.at(-1)!], dtype: inputs[0]!.dtype }],
  lower: (g, inputs, attrs, [out]) => [emitAttention(g, inputs, attrs, out!, null)],
  padded: (g, [q, k, v, ...mask], attrs, [out], p) => {
    const [last, keys] = [q!.sizes.length - 1, k!.sizes.length - 2];
    const [a, b] = p.isPadded(0, last) ? [p.filled(0, 0), p.filled(1, 0)] : [q!, k!];
    const isPadded = p.isPadded(1, keys);
    const n = k!.sizes[keys]!;
    const isThere = isPadded ? g.elementWiseLogicalGreaterThan(g.expand(p.length(1, keys), [n]), sequence(g, "int32", [n]), BOOL) : null;
    return [emitAttention(g, [a, b, isPadded ? p.filled(2, 0) : v!, ...mask], attrs, out!, isThere)];
  },
  grad: (dy, { inputs: [q, k, v, mask], specs, attrs, needs }) => attentionGradient(dy, [q!, k!, v!, mask], specs, attrs, needs),
  saves: { outputs: false },
  multiplyAdds: ([q, k, v], _, [y]) => sizeOf(y!.shape.slice(0, -1)) * k!.shape.at(-2)! * (q!.shape.at(-1)! + v!.shape.at(-1)!),
});

/**
 * The scores are recomputed, block by block: saving them would take more memory than all else. factors: of the weights, which are dropped where it is 0; null:
 * none are.
 */
function attentionGradient(
  dy: Tensor,
  [q, k, v, mask]: readonly (Tensor | undefined)[],
  specs: readonly TensorSpec[],
  attrs: Attention,
  needs: readonly boolean[],
  factors: Tensor | null = null,
): (Tensor | null)[] {
  const length = dy.shape.at(-2)!;
  const block = blockOf(dy.shape.slice(0, -2), length, k!.shape.at(-2)!);
  let dk: Tensor | null = null;
  let dv: Tensor | null = null;
  const dqs: Tensor[] = [];
  const masks: Tensor[] = [];
  for (let start = 0; start < length; start += block) {
    const count = Math.min(block, length - start);
    const [qb, db] = [q!, dy].map((t) => narrow(t, -2, start, count)) as [Tensor, Tensor];
    const p = probabilities(qb, k!, mask === undefined ? null : part(mask, start, count, length), attrs, start);
    const dropped = (t: Tensor): Tensor => (factors === null ? t : mul(t, narrow(factors, -2, start, count)));
    const [pt, dbt] = [transpose(dropped(p), -1, -2), dropped(matmul(db, transpose(v!, -1, -2)))];
    const ds = mul(p, sub(dbt, sum(mul(dbt, p), -1, { keepDims: true })));
    if (needs[0]) dqs.push(mul(matmul(ds, k!), attrs.scale));
    const plus = (a: Tensor | null, b: Tensor): Tensor => (a === null ? b : add(a, b));
    if (needs[1]) dk = plus(dk, sumTo(mul(matmul(transpose(ds, -1, -2), qb), attrs.scale), specs[1]!));
    if (needs[2]) dv = plus(dv, sumTo(matmul(pt, db), specs[2]!));
    if (needs[3]) masks.push(ds);
  }
  return [
    needs[0] ? sumTo(cat(dqs, -2), specs[0]!) : null,
    dk,
    dv,
    ...(mask === undefined ? [] : [needs[3] ? sumTo(cat(masks, -2), specs[3]!) : null]),
  ];
}

setAttend((q, k, v, mask, { scale, causal, isGrouped, p, generator }) =>
  scaledDotProductAttention(q, k, v, { attnMask: mask, dropoutP: p, isCausal: causal, scale, enableGqa: isGrouped, ...(generator === undefined ? {} : { generator }) }),
); // prettier-ignore

setComposed((dy, [q, k, v, mask], state, attrs, needs) => {
  const groups = (t: Tensor): Tensor => (attrs.sharing === 1 ? t : repeatEach(t, attrs.sharing, 0));
  const heads = (t: Tensor): Tensor => reshape(t, [t.shape[0]! / attrs.heads, attrs.heads, ...t.shape.slice(1)]);
  const operands = [q!, groups(k!), groups(v!)].map(heads);
  const of = mask === undefined ? operands : [...operands, mask];
  const weights = [...operands[0]!.shape.slice(0, -1), k!.shape[1]!];
  const factors = state === null ? null : dropoutFactors(state, weights, attrs.p, q!.dtype);
  const found = attentionGradient(heads(dy), of, of, attrs, needs, factors);
  const own = (t: Tensor | null, { shape }: Tensor): Tensor | null => {
    if (t === null) return null;
    return t.size === sizeOf(shape) ? reshape(t, [...shape]) : sum(reshape(t, [shape[0]!, attrs.sharing, ...shape.slice(1)]), 1);
  };
  return [own(found[0]!, q!), own(found[1]!, k!), own(found[2]!, v!), ...(mask === undefined ? [] : [found[3] ?? null])];
});

/** Some rows of a mask, which may have one for all. */
const part = (mask: Tensor, start: number, count: number, length: number): Tensor =>
  mask.rank > 1 && mask.shape.at(-2) === length ? narrow(mask, -2, start, count) : mask;

/** @internal The weights of the keys for each query, as composed operations. */
export function probabilities(q: Tensor, k: Tensor, mask: Tensor | null, { scale, causal }: Attention, start: number): Tensor {
  let scores = mul(matmul(q, transpose(k, -1, -2)), scale);
  if (mask !== null) scores = add(scores, mask);
  if (causal) {
    const at = (n: number, from: number): Tensor => arange(from + n, { start: from, dtype: "int32", device: q.device });
    const seen = ge(unsqueeze(at(q.shape.at(-2)!, start), -1), at(k.shape.at(-2)!, 0));
    scores = where(seen, scores, scalarTensor(q.device, scores.dtype, -Infinity));
  }
  if (mask === null) return softmax(scores, -1);
  // A row without any key would be NaN, and so would its gradient: it is computed of zeros and left out.
  const blind = eq(amax(detach(scores), -1, { keepDims: true }), -Infinity);
  return where(blind, 0, softmax(where(blind, 0, scores), -1));
}

/** Options of scaledDotProductAttention(). Reference: torch.nn.functional.scaled_dot_product_attention. */
export interface AttentionOptions {
  /** true where a key counts (bool), or numbers that are added to the scores; broadcasts to [..., L, S]. */
  readonly attnMask?: Tensor | null | undefined;
  /** @deprecated Use attnMask. */
  readonly mask?: Tensor | null | undefined;

  /** Probability with which a weight is left out. Default: 0. */
  readonly dropoutP?: number | undefined;
  /** @deprecated Use dropoutP. */
  readonly dropout?: number | undefined;

  /** Whether a query attends only to keys up to its own position (a causal mask). Default: false. */
  readonly isCausal?: boolean | undefined;
  /** @deprecated Use isCausal. */
  readonly causal?: boolean | undefined;

  /** Factor of the dot products q kᵀ. Default: 1 / sqrt(E). */
  readonly scale?: number | undefined;
  /** Whether several heads of q share one of k and v: their number may be a multiple. Default: false. */
  readonly enableGqa?: boolean | undefined;
  /** @deprecated Use enableGqa. */
  readonly groupedHeads?: boolean | undefined;

  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}

/**
 * softmax(q kᵀ scale + mask) v. q: [..., L, E]; k: [..., S, E]; v: [..., S, D]; batches broadcast. Result: [..., L, D]. A query that
 * attends to no key gives zeros. DirectML: GEMM, ACTIVATION_SOFTMAX1. Reference: torch.nn.functional.scaled_dot_product_attention.
 * @autocast lower
 */
export function scaledDotProductAttention(q: Tensor, k: Tensor, v: Tensor, options: AttentionOptions = {}): Tensor {
  const name = "scaledDotProductAttention";
  const { attnMask: mask = null, dropoutP: p = 0, isCausal: causal = false } = options;
  requireSameDevice(name, [q, k, v]);
  requireFloat(name, q, "q");
  requireProbability(name, p);
  if (q.dtype !== k.dtype || q.dtype !== v.dtype)
    throw new DTypeError(name, "k and v", `of q's dtype ${q.dtype}`, `${k.describe()}, ${v.describe()}`);
  if (q.rank < 2 || k.rank < 2 || v.rank < 2 || q.shape.at(-1) !== k.shape.at(-1) || k.shape.at(-2) !== v.shape.at(-2))
    throw new ShapeError(name, "q, k and v", "[..., L, E], [..., S, E] and [..., S, D]", [q, k, v].map((t) => t.describe()).join(", "));
  if (causal && mask !== null) throw new ValueError(name, "attnMask", "null when isCausal", mask);
  const [ownK, ownV] = [k, v];
  if (options.enableGqa === true) [k, v] = [grouped(name, q, k), grouped(name, q, v)];
  requireBatches(name, q, k, v);
  const scoreShape = [...batchOf([q, k, v]), q.shape.at(-2)!, k.shape.at(-2)!];
  if (mask !== null && !isBroadcastableTo(mask.shape, scoreShape))
    throw new ShapeError(name, "attnMask", `one that broadcasts to ${showShape(scoreShape)}`, mask.describe());
  const added = mask === null ? null : additive(mask, q);
  const scale = options.scale ?? 1 / Math.sqrt(q.shape.at(-1)!);
  const attrs = { scale, causal };
  const { generator, enableGqa: isGrouped = false } = options;
  const byBlocks = p < 1 ? blockAttention(q, ownK, ownV, added, { ...attrs, isGrouped, p, generator }) : null;
  if (byBlocks !== null) return byBlocks;
  if (p === 0 && sizeOf(scoreShape) > 0 && v.size > 0) return call(attentionOp, added === null ? [q, k, v] : [q, k, v, added], attrs);
  return matmul(dropout(probabilities(q, k, added, attrs, 0), { p, generator }), v);
}

/** Throws ShapeError unless the batches of k and v broadcast with q's. */
function requireBatches(operation: string, q: Tensor, k: Tensor, v: Tensor): void {
  const batch = (t: Tensor): readonly number[] => t.shape.slice(0, -2);
  const broadcasts = (a: readonly number[], b: readonly number[]): boolean =>
    b.every((d, i) => d === 1 || [1, d].includes(a[a.length - b.length + i] ?? 1));
  for (const [argument, t] of Object.entries({ k, v }))
    if (!broadcasts(batch(q), batch(t))) {
      const [heads, own] = [q.shape.at(-3) ?? 1, t.shape.at(-3) ?? 1];
      const hint = own > 0 && heads % own === 0 ? "Several heads of q share one of k and v with { groupedHeads: true }." : undefined;
      throw new ShapeError(operation, argument, `of a batch that broadcasts with q's ${showShape(batch(q))}`, t.describe(), hint);
    }
  if (!broadcasts(batch(k), batch(v)))
    throw new ShapeError(operation, "v", `of a batch that broadcasts with k's ${showShape(batch(k))}`, v.describe());
}

/** A mask as numbers to be added to the scores. */
function additive(mask: Tensor, q: Tensor): Tensor {
  if (mask.dtype !== "bool") return toDType(mask, q.dtype);
  const number = (v: number): Tensor => scalarTensor(q.device, q.dtype, v);
  return where(mask, number(0), number(-Infinity));
}

/** Heads of k or v repeated for those of q. */
function grouped(operation: string, q: Tensor, x: Tensor): Tensor {
  const [heads, own] = [q.shape.at(-3) ?? 1, x.shape.at(-3) ?? 1];
  if (heads % own !== 0) throw new ShapeError(operation, "k and v", `of a number of heads that divides q's ${heads}`, x.describe());
  return heads === own ? x : repeatEach(x, heads / own, x.rank - 3);
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "scaledDotProductAttention", [real([2, 2, 4, 3]), real([2, 2, 5, 3]), real([2, 2, 5, 3])], (q, k, v) =>
    scaledDotProductAttention(q!, k!, v!),
  ),
];
