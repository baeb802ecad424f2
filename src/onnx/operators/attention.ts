/** Attention, rotary embeddings, and linear attention. */
import * as ops from "../../ops/index.ts";
import { fromBfloat16, fromHalf, toBfloat16, toHalf, type DType } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Body, Call } from "../format/call.ts";
import { dtypeOf } from "../format/value.ts";
import { family } from "./operator.ts";

/** [N, L, heads * E] as [N, heads, L, E]; what has heads already stays. */
const heads = (c: Call, t: Tensor, count: string): Tensor => {
  if (t.rank === 4) return t;
  const n = c.int(count, 0);
  return ops.transpose(ops.reshape(t, [t.shape[0]!, t.shape[1]!, n, t.shape[2]! / n]), 1, 2);
};

/** The opposite. */
const merged = (t: Tensor): Tensor => {
  const [n, h, l, e] = t.shape as [number, number, number, number];
  return ops.reshape(ops.transpose(t, 1, 2), [n, l, h * e]);
};

const shared = (t: Tensor, count: number): Tensor => (t.shape[1] === count ? t : ops.repeatInterleave(t, count / t.shape[1]!, 1));

/** Masks, padding of the keys, causality and windows, as numbers that are added. */
function biasOf(c: Call, q: Tensor, total: number, past: number): Tensor | null {
  const parts: Tensor[] = [];
  const open = (allowed: Tensor): Tensor => ops.where(allowed, ops.zeros([], { device: q.device, dtype: "float32" }), -Infinity);
  if (c.has(3)) parts.push(maskOf(c.tensor(3), total, open));
  const valid = c.has(6) ? ops.reshape(ops.to(c.tensor(6), "int32"), [-1, 1, 1, 1]) : null;
  const length = q.shape[2]!;
  const keys = ops.reshape(ops.arange(total, { dtype: "int32", device: q.device }), [1, 1, 1, total]);
  const rows = ops.reshape(ops.arange(length, { dtype: "int32", device: q.device }), [1, 1, length, 1]);
  const position = valid === null ? ops.add(rows, past) : ops.add(rows, ops.sub(valid, length));
  if (c.flag("is_causal")) parts.push(open(ops.le(keys, position)));
  const [left, right] = [c.int("left_window_size", -1), c.int("right_window_size", -1)];
  if (left >= 0) parts.push(open(ops.ge(keys, ops.sub(position, left))));
  if (right >= 0) parts.push(open(ops.le(keys, ops.add(position, right))));
  if (valid !== null) parts.push(open(ops.lt(keys, valid)));
  return parts.length === 0 ? null : parts.reduce((a, b) => ops.add(a, b));
}

/** Keys beyond a short mask do not count. */
function maskOf(mask: Tensor, total: number, open: (allowed: Tensor) => Tensor): Tensor {
  const laid = mask.dtype === "bool" ? open(mask) : ops.to(mask, "float32");
  const missing = total - laid.shape.at(-1)!;
  return missing > 0 ? ops.pad(laid, [0, missing], { value: -Infinity }) : laid;
}

const OUTPUTS = ["scores", "capped", "biased", "probabilities"] as const;

/** bfloat16 is computed with in float32, rounded wherever its reference rounds. */
const roundedTo =
  (dtype: DType) =>
  (t: Tensor): Tensor =>
    dtype === "bfloat16" ? ops.to(ops.to(t, dtype), "float32") : t;

/** The square root of the scale, as a number of the dtype: both q and k are multiplied by it. */
function rootOf(scale: number, dtype: DType): number {
  const root = Math.sqrt(scale);
  if (dtype === "bfloat16") return fromBfloat16(toBfloat16(root));
  return dtype === "float16" ? fromHalf(toHalf(root)) : root;
}

function attend(c: Call): Tensor[] {
  const inputs = [c.tensor(0), c.tensor(1), c.tensor(2)] as const;
  const [dtype, out] = [inputs[0].dtype, inputs[2].dtype];
  const r = roundedTo(dtype);
  const wide = (t: Tensor): Tensor => (t.dtype === "bfloat16" ? ops.to(t, "float32") : t);
  const q = heads(c, wide(inputs[0]), "q_num_heads");
  let k = heads(c, wide(inputs[1]), "kv_num_heads");
  let v = heads(c, wide(inputs[2]), "kv_num_heads");
  const past = c.has(4) ? c.tensor(4).shape[2]! : 0;
  if (c.has(4)) [k, v] = [ops.cat([wide(c.tensor(4)), k], 2), ops.cat([wide(c.tensor(5)), v], 2)];
  const count = q.shape[1]!;
  const bias = biasOf(c, q, k.shape[2]!, past);
  const root = rootOf(c.float("scale", 0) || 1 / Math.sqrt(q.shape[3]!), dtype);
  const keys = ops.transpose(shared(k, count), 2, 3);
  const scores = r(ops.matmul(r(ops.mul(q, root)), r(ops.mul(keys, root))));
  const cap = c.float("softcap", 0);
  const capped = cap === 0 ? scores : r(ops.mul(r(ops.tanh(r(ops.div(scores, cap)))), cap));
  const biased = bias === null ? capped : r(ops.add(capped, ops.to(bias, capped.dtype)));
  const precision = c.hasAttribute("softmax_precision") ? dtypeOf(c.int("softmax_precision", 1), c.name) : biased.dtype;
  let probabilities = ops.softmax(ops.to(biased, precision === "float16" ? precision : "float32"), 3);
  if (bias !== null) {
    // A query that sees no key gives zeros.
    const isBlind = ops.isneginf(ops.amax(bias, -1, { keepDims: true }));
    probabilities = ops.where(isBlind, ops.zerosLike(probabilities), probabilities);
  }
  const weights = r(ops.to(probabilities, q.dtype));
  const y = ops.matmul(weights, shared(v, count));
  const chosen = { scores, capped, biased, probabilities: weights }[OUTPUTS[c.int("qk_matmul_output_mode", 0)] ?? "scores"];
  const result = inputs[0].rank === 3 ? merged(y) : y;
  return [ops.to(result, dtype), ops.to(k, inputs[1].dtype), ops.to(v, out), ops.to(chosen, dtype)];
}

/** Pairs of elements, rotated by the angles of their positions; elements beyond rotary_embedding_dim stay. */
function rotary(c: Call): Tensor {
  const [input, cosine, sine] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  const x = input.rank === 4 ? input : heads(c, input, "num_heads");
  const width = c.int("rotary_embedding_dim", 0) || x.shape[3]!;
  const at = (cache: Tensor): Tensor => {
    const rows = c.has(3) ? ops.indexSelect(cache, 0, ops.reshape(ops.to(c.tensor(3), "int32"), [-1])) : cache;
    const angles = c.has(3) ? ops.reshape(rows, [...c.tensor(3).shape, cache.shape.at(-1)!]) : rows;
    return ops.unsqueeze(ops.narrow(angles, -1, 0, width / 2), 1);
  };
  const rotated = ops.rotaryEmbedding(ops.narrow(x, -1, 0, width), at(cosine), at(sine), { interleaved: c.flag("interleaved") });
  const whole = width === x.shape[3] ? rotated : ops.cat([rotated, ops.narrow(x, -1, width, x.shape[3]! - width)], -1);
  return input.rank === 4 ? whole : merged(whole);
}

/** A state of keys and values that is read by each query, and moved on by each step. */
function linearAttention(c: Call): Tensor[] {
  const dtype = c.x.dtype;
  const wide = (t: Tensor): Tensor => ops.to(t, "float32");
  const q = wide(heads(c, c.tensor(0), "q_num_heads"));
  const k = wide(heads(c, c.tensor(1), "kv_num_heads"));
  const v = wide(heads(c, c.tensor(2), "kv_num_heads"));
  const [n, count, steps, dk] = k.shape as [number, number, number, number];
  const rule = c.oneOf("update_rule", "gated_delta", ["linear", "gated", "delta", "gated_delta"]);
  const scale = c.float("scale", 0) || 1 / Math.sqrt(q.shape[3]!);
  // Per head and key dimension [N, H, T, dk], or per head [N, H, T, 1].
  const perHead = (t: Tensor): Tensor => ops.transpose(ops.reshape(wide(t), [n, steps, -1, t.shape[2]! === count * dk ? dk : 1]), 1, 2);
  const decay = rule.startsWith("gated") ? ops.exp(perHead(c.tensor(4))) : null;
  const beta = rule.endsWith("delta") ? ops.transpose(ops.reshape(wide(c.tensor(5)), [n, steps, -1, 1]), 1, 2) : null;
  let state = c.has(3) ? wide(c.tensor(3)) : ops.zeros([n, count, dk, v.shape[3]!], { device: q.device });
  const outputs: Tensor[] = [];
  for (let t = 0; t < steps; t++) {
    const at = (x: Tensor): Tensor => ops.narrow(x, 2, t, 1);
    const key = ops.transpose(at(k), 2, 3);
    if (decay !== null) state = ops.mul(state, ops.transpose(at(decay), 2, 3));
    const target = beta === null ? at(v) : ops.mul(at(beta), ops.sub(at(v), ops.matmul(at(k), state)));
    state = ops.add(state, ops.mul(key, target));
    outputs.push(ops.matmul(at(q), shared(state, q.shape[1]!)));
  }
  const y = ops.mul(ops.cat(outputs, 2), scale);
  return [ops.to(c.x.rank === 3 ? merged(y) : y, dtype), ops.to(state, c.has(3) ? c.tensor(3).dtype : dtype)];
}

/** Attention whose scores and probabilities pass through graphs of the model. */
export function flexAttention(c: Call): Tensor {
  const [q, k, v] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  const precision = c.hasAttribute("softmax_precision") ? dtypeOf(c.int("softmax_precision", 1), c.name) : "float32";
  const through = (name: string, t: Tensor): Tensor => {
    if (!c.hasAttribute(name)) return t;
    const body: Body = c.body(name);
    return c.asTensor(body.run([t])[0] ?? null);
  };
  const count = q.shape[1]!;
  const keys = ops.transpose(shared(k, count), 2, 3);
  const scores = ops.mul(ops.matmul(q, keys), c.float("scale", 0) || 1 / Math.sqrt(q.shape[3]!));
  const probabilities = through("prob_mod", ops.softmax(through("score_mod", ops.to(scores, precision)), 3));
  return ops.matmul(ops.to(probabilities, q.dtype), shared(v, count));
}

export const attention = {
  ...family({ LinearAttention: linearAttention, RotaryEmbedding: rotary }),
  ...family({ Attention: attend }, { isRaw: true }),
};
