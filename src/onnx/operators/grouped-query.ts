/** com.microsoft: rotary embeddings, and attention of groups of heads with a cache. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { attendHeads, joinHeads, splitHeads } from "./head-attention.ts";
import { family } from "./operator.ts";

/** x [N, H, L, E] with the first elements of each head rotated by the angles of its positions [N, L]. */
function rotated(x: Tensor, positions: Tensor, [cosine, sine]: readonly [Tensor, Tensor], interleaved: boolean): Tensor {
  const width = 2 * cosine.shape[1]!;
  const at = (table: Tensor): Tensor => {
    const rows = ops.indexSelect(table, 0, ops.reshape(positions, [-1]));
    return ops.unsqueeze(ops.reshape(rows, [...positions.shape, table.shape[1]!]), 1);
  };
  const whole = x.shape[3]!;
  const part = width === whole ? x : ops.narrow(x, -1, 0, width);
  const result = ops.rotaryEmbedding(part, at(cosine), at(sine), { interleaved });
  return width === whole ? result : ops.cat([result, ops.narrow(x, -1, width, whole - width)], -1);
}

/** [1, length]: 0, 1, … */
const counting = (c: Call, length: number): Tensor => ops.reshape(ops.arange(length, { dtype: "int32", device: c.device }), [1, length]);

function rotary(c: Call): Tensor {
  if (c.flag("is_packed_batching")) throw c.unsupported("attribute is_packed_batching");
  if (c.float("scale", 1) !== 1) throw c.unsupported("attribute scale");
  const [input, ids] = [c.ranked(0, "[N, L, hidden] or [N, H, L, E]", 3, 4), c.tensor(1)];
  const [cosine, sine] = [c.ranked(2, "[positions, E / 2]", 2), c.ranked(3, "[positions, E / 2]", 2)];
  const dim = c.int("rotary_embedding_dim", 0);
  const count = dim > 0 ? c.int("num_heads", 0) : input.rank === 3 ? input.shape[2]! / (2 * cosine.shape[1]!) : 0;
  const x = input.rank === 4 ? input : splitHeads(input, count);
  const [batch, , length] = x.shape as [number, number, number];
  const whole = ops.to(ids, "int32");
  // One number is where the first position is.
  const positions = ids.size === 1 && ids.rank <= 1 ? ops.add(counting(c, length), ops.reshape(whole, [1, 1])) : whole;
  const spread = ops.contiguous(ops.expand(positions, [batch, length]));
  const y = rotated(x, spread, [cosine, sine], c.flag("interleaved"));
  return input.rank === 4 ? y : joinHeads(y);
}

interface Cached {
  readonly k: Tensor;
  readonly v: Tensor;
}

const column = (t: Tensor): Tensor => ops.reshape(ops.to(t, "int32"), [-1, 1]);

/** New rows behind the past's, at each sample's own position: [N, H, present, E]. Rows behind a sample's last are zeros. */
function appended(c: Call, past: Tensor | null, own: Tensor, before: Tensor, total: Tensor, present: number): Tensor {
  const [batch, heads, length, width] = own.shape as [number, number, number, number];
  const all = past === null ? own : ops.cat([past, own], 2);
  const behind = past?.shape[2] ?? 0;
  const slot = counting(c, present);
  const added = ops.add(ops.clamp(ops.sub(slot, before), 0, length - 1), behind);
  const from = past === null ? added : ops.where(ops.lt(slot, before), ops.clampMax(slot, Math.max(0, behind - 1)), added);
  const index = ops.contiguous(
    ops.expand(ops.reshape(ops.broadcastTo(from, [batch, present]), [batch, 1, present, 1]), [batch, heads, present, width]),
  );
  const rows = ops.gather(all, 2, index);
  const isThere = ops.reshape(ops.lt(slot, total), [-1, 1, present, 1]);
  return ops.where(isThere, rows, ops.zerosLike(rows));
}

const QUANTIZED = ["NONE"] as const;

function groupQuery(c: Call): Tensor[] {
  c.oneOf("k_quant_type", "NONE", QUANTIZED);
  c.oneOf("v_quant_type", "NONE", QUANTIZED);
  for (const name of ["kv_cache_bit_width", "sliding_window_cache"]) if (c.int(name, 0) !== 0) throw c.unsupported(`attribute ${name}`);
  const [count, shared] = [c.count("num_heads"), c.count("kv_num_heads")];
  const input = c.ranked(0, "[N, L, hidden]", 3);
  const width = c.has(1) ? input.shape[2]! / count : input.shape[2]! / (count + 2 * shared);
  const parts = c.has(1) ? [input, c.tensor(1), c.tensor(2)] : ops.split(input, [count * width, shared * width, shared * width], -1);
  let [q, k] = [splitHeads(parts[0]!, count), splitHeads(parts[1]!, shared)];
  const v = splitHeads(parts[2]!, shared);
  const norm = (t: Tensor, weight: number, name: string): Tensor =>
    ops.rmsNorm(t, [width], c.tensor(weight), { eps: c.float(name, c.float("qk_norm_epsilon", 1e-6)) });
  if (c.has(14)) [q, k] = [norm(q, 14, "q_norm_epsilon"), norm(k, 15, "k_norm_epsilon")];
  const [batch, , length] = q.shape as [number, number, number];
  const total = ops.add(column(c.tensor(5)), 1);
  // Of a chunk that is padded, only as many tokens are new.
  const added = c.has(16) ? column(c.tensor(16)) : ops.minimum(total, ops.full([], length, { dtype: "int32", device: c.device }));
  const longest = c.number(6);
  const isPrompt = !c.has(16) && longest === length;
  const before = isPrompt ? ops.zeros([batch, 1], { dtype: "int32", device: c.device }) : ops.sub(total, added);
  const positions = c.has(9) && !isPrompt ? ops.to(c.tensor(9), "int32") : ops.add(before, counting(c, length));
  if (c.flag("do_rotary")) {
    const tables = [c.tensor(7), c.tensor(8)] as const;
    const spread = ops.contiguous(ops.clamp(ops.expand(positions, [batch, length]), 0, tables[0].shape[0]! - 1));
    [q, k] = [q, k].map((t) => rotated(t, spread, tables, c.flag("rotary_interleaved"))) as [Tensor, Tensor];
  }
  const past = c.optional(3);
  const present = Math.max(longest, past?.shape[2] ?? 0);
  const cached: Cached = cacheOf(c, { k, v }, { before, total, present, longest, isPrompt });
  const bias = biasesOf(c, { length, keys: longest, before, total });
  const heads = (t: Tensor): Tensor => {
    const seen = t.shape[2] === longest ? t : ops.narrow(t, 2, 0, longest);
    return shared === count ? seen : ops.repeatInterleave(seen, count / shared, 1);
  };
  const shows = c.int("qk_output", 0);
  const made = attendHeads(
    q,
    heads(cached.k),
    heads(cached.v),
    { scale: c.float("scale", 0) || 1 / Math.sqrt(width), bias, softcap: c.float("softcap", 0), sink: sinkOf(c, count) },
    shows !== 0,
  );
  const shown = shows === 0 ? [] : [ops.to((shows === 1 ? made.scores : made.probabilities)!, q.dtype)];
  return [joinHeads(made.y), cached.k, cached.v, ...shown];
}

interface Lengths {
  readonly before: Tensor;
  readonly total: Tensor;
  readonly present: number;
  readonly longest: number;
  readonly isPrompt: boolean;
}

function cacheOf(c: Call, { k, v }: Cached, { before, total, present, longest, isPrompt }: Lengths): Cached {
  const [pastKeys, pastValues] = [c.optional(3), c.optional(4)];
  const [batch, , length] = k.shape as [number, number, number];
  // One sample's new rows stand behind all of its past.
  const isPlain =
    !c.has(16) && batch === 1 && present === longest && (pastKeys === null || isPrompt || pastKeys.shape[2]! + length === longest);
  if (isPlain) {
    if (pastKeys === null || isPrompt) return { k, v };
    return { k: ops.cat([pastKeys, k], 2), v: ops.cat([pastValues!, v], 2) };
  }
  return { k: appended(c, pastKeys, k, before, total, present), v: appended(c, pastValues, v, before, total, present) };
}

function sinkOf(c: Call, count: number): Tensor | null {
  if (c.has(11)) return c.tensor(11);
  return c.int("smooth_softmax", -1) === 1 ? ops.zeros([count], { device: c.device }) : null;
}

/** Which keys each query sees, as numbers that are added. */
function biasesOf(c: Call, { length, keys, before, total }: { length: number; keys: number; before: Tensor; total: Tensor }): Tensor[] {
  const key = ops.reshape(counting(c, keys), [1, 1, 1, keys]);
  const four = (t: Tensor): Tensor => ops.reshape(t, [-1, 1, 1, 1]);
  const query = ops.add(ops.reshape(counting(c, length), [1, 1, length, 1]), four(before));
  let isSeen = ops.lt(key, four(total));
  if (c.flag("causal", true)) isSeen = ops.logicalAnd(isSeen, ops.le(key, query));
  const window = c.int("local_window_size", -1);
  if (window >= 0) isSeen = ops.logicalAnd(isSeen, ops.gt(key, ops.sub(query, window)));
  const mask = ops.where(isSeen, ops.zeros([], { device: c.device }), ops.full([], -Infinity, { device: c.device }));
  return c.has(10) ? [mask, ops.to(c.tensor(10), "float32")] : [mask];
}

export const groupedQuery = family({ GroupQueryAttention: groupQuery, RotaryEmbedding: rotary });
