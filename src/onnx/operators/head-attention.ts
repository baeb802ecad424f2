/** com.microsoft: attention over heads, with masks, past keys and values, projections, and packed batches. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** The lowest float32. */
const LOWEST = -3.4028234663852886e38;

export interface Scoring {
  readonly scale: number;
  /** Added to the scores. */
  readonly bias: readonly Tensor[];
  /** 0: none. */
  readonly softcap?: number;
  /** Per head: a score without a value, which takes its share of the probabilities. */
  readonly sink?: Tensor | null;
}

export interface Attended {
  /** [N, H, L, D]. */
  readonly y: Tensor;
  /** [N, H, L, S]: before the softmax, and after. */
  readonly scores: Tensor | null;
  readonly probabilities: Tensor | null;
}

/** q [N, H, L, E], k [N, H, S, E], v [N, H, S, D]. showsScores: for those who want the scores too. */
export function attendHeads(
  q: Tensor,
  k: Tensor,
  v: Tensor,
  { scale, bias, softcap = 0, sink = null }: Scoring,
  showsScores: boolean,
): Attended {
  const sum = bias.length === 0 ? null : bias.reduce((a, b) => ops.add(a, b));
  if (!showsScores && softcap === 0 && sink === null)
    return {
      y: ops.scaledDotProductAttention(q, k, v, { scale, attnMask: sum === null ? null : ops.to(sum, q.dtype) }),
      scores: null,
      probabilities: null,
    };
  const products = ops.mul(ops.to(ops.matmul(q, ops.transpose(k, -1, -2)), "float32"), scale);
  const capped = softcap === 0 ? products : ops.mul(ops.tanh(ops.div(products, softcap)), softcap);
  const scores = sum === null ? capped : ops.add(capped, sum);
  const probabilities = sink === null ? ops.softmax(scores, -1) : withSink(scores, sink);
  return { y: ops.matmul(ops.to(probabilities, v.dtype), v), scores, probabilities };
}

/** Softmax with one more column, which is left out of the result. */
function withSink(scores: Tensor, sink: Tensor): Tensor {
  const column = ops.expand(ops.reshape(ops.to(sink, "float32"), [1, -1, 1, 1]), [...scores.shape.slice(0, -1), 1]);
  return ops.narrow(ops.softmax(ops.cat([scores, column], -1), -1), -1, 0, scores.shape.at(-1)!);
}

/** [N, L, H * E] as [N, H, L, E]. */
export const splitHeads = (t: Tensor, count: number): Tensor =>
  ops.transpose(ops.reshape(t, [t.shape[0]!, t.shape[1]!, count, t.shape[2]! / count]), 1, 2);

/** The opposite. */
export function joinHeads(t: Tensor): Tensor {
  const [n, h, l, e] = t.shape as [number, number, number, number];
  return ops.reshape(ops.transpose(t, 1, 2), [n, l, h * e]);
}

/** Positions along an axis of four. */
const positions = (c: Call, length: number, axis: number, from = 0): Tensor =>
  ops.reshape(
    ops.add(ops.arange(length, { dtype: "int32", device: c.device }), from),
    [0, 1, 2, 3].map((i) => (i === axis ? length : 1)),
  );

/** What is added where a key is not seen: filler where the mask says so. */
const filled = (c: Call, isSeen: Tensor, filler: number): Tensor =>
  ops.where(isSeen, ops.zeros([], { device: c.device }), ops.full([], filler, { device: c.device }));

/** Causality: query i sees keys up to past + i. */
const causal = (c: Call, length: number, keys: number): Tensor =>
  filled(c, ops.le(positions(c, keys, 3), positions(c, length, 2, keys - length)), LOWEST);

/** A mask in one of its forms: ones [N, S] or [N, L, S], ends [N], or ends and then starts [2 N]. */
function maskBias(c: Call, mask: Tensor, batch: number, keys: number, filler: number): Tensor {
  const whole = ops.to(mask, "int32");
  switch (mask.rank) {
    case 1: {
      const key = positions(c, keys, 3);
      const column = (from: number): Tensor => ops.reshape(ops.narrow(whole, 0, from, batch), [batch, 1, 1, 1]);
      if (mask.size !== batch && mask.size !== 2 * batch) throw c.unsupported(`a mask ${mask.describe()} for a batch of ${batch}`);
      const isBeforeEnd = ops.lt(key, column(0));
      if (mask.size === batch) return filled(c, isBeforeEnd, filler);
      return filled(c, ops.logicalAnd(isBeforeEnd, ops.ge(key, column(batch))), filler);
    }
    case 2:
      return filled(c, ops.ne(ops.reshape(whole, [mask.shape[0]!, 1, 1, mask.shape[1]!]), 0), filler);
    case 3:
      return filled(c, ops.ne(ops.unsqueeze(whole, 1), 0), filler);
    default:
      throw c.unsupported(`a mask of rank ${mask.rank}`);
  }
}

const fillerOf = (c: Call): number => c.float("mask_filter_value", -10000);
const scaleOf = (c: Call, width: number): number => c.float("scale", 0) || 1 / Math.sqrt(width);

/** Throws for attributes other than their default. */
function refuse(c: Call, ...names: readonly string[]): void {
  for (const name of names) if (c.int(name, 0) !== 0) throw c.unsupported(`attribute ${name} ${c.int(name, 0)}`);
}

/** Masks (input i), the additional bias (input j) and causality. */
function biasesOf(c: Call, batch: number, [length, keys]: readonly [number, number], mask: number, bias: number): Tensor[] {
  const list: Tensor[] = [];
  if (c.has(mask)) list.push(maskBias(c, c.tensor(mask), batch, keys, fillerOf(c)));
  if (c.flag("unidirectional")) list.push(causal(c, length, keys));
  if (c.has(bias)) list.push(c.tensor(bias));
  return list;
}

/** q, k and v [N, L, …] out of one product. */
function projected(c: Call, all: Tensor): [Tensor, Tensor, Tensor] {
  const width = all.shape.at(-1)!;
  const sizes = c.ints("qkv_hidden_sizes") ?? [width / 3, width / 3, width / 3];
  if (sizes.length !== 3 || sizes[0]! + sizes[1]! + sizes[2]! !== width)
    throw c.invalid("attribute qkv_hidden_sizes", `three numbers whose sum is ${width}`, sizes);
  return ops.split(all, sizes, -1) as unknown as [Tensor, Tensor, Tensor];
}

/** Attention of heads with its past [2, N, H, P, E] and present. */
function selfAttention(c: Call, all: Tensor, inputs: { readonly mask: number; readonly past: number; readonly bias: number }): Tensor[] {
  refuse(c, "do_rotary", "past_present_share_buffer");
  const count = c.count("num_heads");
  const [q, ...kv] = projected(c, all).map((t) => splitHeads(t, count)) as [Tensor, Tensor, Tensor];
  let [k, v] = kv as [Tensor, Tensor];
  if (c.has(inputs.past)) {
    const past = c.tensor(inputs.past);
    [k, v] = [ops.cat([ops.select(past, 0, 0), k], 2), ops.cat([ops.select(past, 0, 1), v], 2)];
  }
  const bias = biasesOf(c, q.shape[0]!, [q.shape[2]!, k.shape[2]!], inputs.mask, inputs.bias);
  const { y } = attendHeads(q, k, v, { scale: scaleOf(c, q.shape[3]!), bias }, false);
  return [joinHeads(y), ...(c.wants(1) ? [ops.stack([k, v], 0)] : [])];
}

function attention(c: Call): Tensor[] {
  const product = ops.matmul(c.ranked(0, "[N, L, hidden]", 3), c.ranked(1, "[hidden, 3 hidden]", 2));
  const all = c.has(2) ? ops.add(product, c.tensor(2)) : product;
  return selfAttention(c, all, { mask: 3, past: 4, bias: 5 });
}

/** The projection of quantized x and weights; then as Attention. */
function quantizedAttention(c: Call): Tensor[] {
  const real = (t: Tensor, scale: Tensor, zero: Tensor | null): Tensor => {
    const whole = ops.to(t, "float32");
    return ops.mul(zero === null ? whole : ops.sub(whole, ops.to(zero, "float32")), scale);
  };
  const x = real(c.x, ops.reshape(c.tensor(3), []), c.has(6) ? ops.reshape(c.tensor(6), []) : null);
  const w = real(c.tensor(1), c.tensor(4), c.optional(7));
  return selfAttention(c, ops.add(ops.matmul(x, w), c.tensor(2)), { mask: 5, past: 8, bias: 9 });
}

interface Operands {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
}

/** q, k, v with their heads, of any of the layouts, biases added. */
function operandsOf(c: Call, count: number, biasAt: number): Operands {
  const query = c.ranked(0, "[N, L, hidden] or [N, L, H, 3, E]", 3, 5);
  const bias = c.optional(biasAt);
  if (query.rank === 5) {
    // [N, L, H, 3, E].
    const [q, k, v] = [0, 1, 2].map((i) => ops.transpose(ops.select(query, 3, i), 1, 2)) as [Tensor, Tensor, Tensor];
    if (bias === null) return { q, k, v };
    const parts = ops.chunk(bias, 3, 0).map((t) => ops.reshape(t, [1, count, 1, t.size / count])) as [Tensor, Tensor, Tensor];
    return { q: ops.add(q, parts[0]), k: ops.add(k, parts[1]), v: ops.add(v, parts[2]) };
  }
  const width = query.shape[2]!;
  const part = (t: Tensor, from: number): Tensor => (bias === null ? t : ops.add(t, ops.narrow(bias, 0, from, t.shape.at(-1)!)));
  const q = splitHeads(part(query, 0), count);
  const key = c.ranked(1, "[N, S, hidden], [N, H, S, E] or [N, S, H, 2, E]", 3, 4, 5);
  if (key.rank === 5) return { q, k: ops.transpose(ops.select(key, 3, 0), 1, 2), v: ops.transpose(ops.select(key, 3, 1), 1, 2) };
  // Keys and values that have heads already are those of an encoder, without a bias.
  if (key.rank === 4) return { q, k: key, v: c.tensor(2) };
  return { q, k: splitHeads(part(key, width), count), v: splitHeads(part(c.tensor(2), 2 * width), count) };
}

function multiHeadAttention(c: Call): Tensor[] {
  const count = c.count("num_heads");
  if (c.has(8)) throw c.unsupported("input past_sequence_length");
  if (c.has(9)) throw c.unsupported("input cache_indirection");
  const own = operandsOf(c, count, 3);
  const { q } = own;
  const [k, v] = c.has(6) ? [ops.cat([c.tensor(6), own.k], 2), ops.cat([c.tensor(7), own.v], 2)] : [own.k, own.v];
  const bias = biasesOf(c, q.shape[0]!, [q.shape[2]!, k.shape[2]!], 4, 5);
  const { y, scores } = attendHeads(q, k, v, { scale: scaleOf(c, q.shape[3]!), bias }, c.wants(3));
  return [joinHeads(y), k, v, ...(scores === null ? [] : [scores])];
}

/** For each token of a packed batch its index [tokens] in [N * L], and the mask of the keys that there are. */
function unpacking(c: Call, offsets: Tensor, tokens: number, ends: Tensor): { at: Tensor; mask: Tensor } {
  const [batch, length] = offsets.shape as [number, number];
  const at = ops.narrow(ops.reshape(ops.to(offsets, "int32"), [-1]), 0, 0, tokens);
  const whole = ops.to(ends, "int32");
  const counts = ops.sub(ops.narrow(whole, 0, 1, batch), ops.narrow(whole, 0, 0, batch));
  return { at, mask: filled(c, ops.lt(positions(c, length, 3), ops.reshape(counts, [batch, 1, 1, 1])), LOWEST) };
}

/** Rows of a packed batch among zeros: [N, L, width]. */
const spread = (t: Tensor, at: Tensor, [batch, length]: readonly [number, number]): Tensor => {
  const rows = ops.zeros([batch * length, t.shape[1]!], { dtype: t.dtype, device: t.device });
  return ops.reshape(ops.indexCopy(rows, 0, at, t), [batch, length, t.shape[1]!]);
};

/** Attention inside each sample of a packed batch. */
function packed(c: Call, [q, k, v]: readonly [Tensor, Tensor, Tensor], at: { offsets: number; ends: number; bias: number }): Tensor {
  const offsets = c.ranked(at.offsets, "[N, L]", 2);
  const shape = offsets.shape as unknown as [number, number];
  const count = c.count("num_heads");
  const { at: rows, mask } = unpacking(c, offsets, q.shape[0]!, c.tensor(at.ends));
  const [qs, ks, vs] = [q, k, v].map((t) => splitHeads(spread(t, rows, shape), count)) as [Tensor, Tensor, Tensor];
  const bias = c.has(at.bias) ? [mask, c.tensor(at.bias)] : [mask];
  const { y } = attendHeads(qs, ks, vs, { scale: scaleOf(c, qs.shape[3]!), bias }, false);
  const flat = ops.reshape(joinHeads(y), [shape[0] * shape[1], v.shape[1]!]);
  return ops.indexSelect(flat, 0, rows);
}

function packedAttention(c: Call): Tensor {
  const all = ops.add(ops.matmul(c.ranked(0, "[tokens, hidden]", 2), c.tensor(1)), c.tensor(2));
  return packed(c, projected(c, all), { offsets: 3, ends: 4, bias: 5 });
}

function packedMultiHead(c: Call): Tensor {
  const query = c.ranked(0, "[tokens, hidden] or [tokens, H, 3, E]", 2, 4);
  let parts: Tensor[];
  if (query.rank === 4) parts = [0, 1, 2].map((i) => ops.reshape(ops.select(query, 2, i), [query.shape[0]!, -1]));
  else parts = [query, c.ranked(1, "[tokens, hidden]", 2), c.ranked(2, "[tokens, hidden]", 2)];
  if (c.has(3)) {
    let from = 0;
    parts = parts.map((t) => {
      const bias = ops.narrow(c.tensor(3), 0, from, t.shape[1]!);
      from += t.shape[1]!;
      return ops.add(t, bias);
    });
  }
  return packed(c, parts as [Tensor, Tensor, Tensor], { offsets: 4, ends: 5, bias: 6 });
}

export const headAttention = family({
  Attention: attention,
  MultiHeadAttention: multiHeadAttention,
  PackedAttention: packedAttention,
  PackedMultiHeadAttention: packedMultiHead,
  QAttention: quantizedAttention,
});
