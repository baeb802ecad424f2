/** Multi-head attention and rotary position embedding. @functional */
import { ShapeError, ValueError } from "../../core/errors.ts";
import { isBroadcastableTo, showShape, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { probabilities, scaledDotProductAttention, type Attention } from "./attention.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { dropout } from "../random/dropout.ts";
import { cat, chunk } from "../shape/join.ts";
import { linear, matmul } from "../matmul/matmul.ts";
import { expand, narrow, permute, reshape, unsqueeze } from "../shape/movement.ts";
import type { Generator } from "../random/random.ts";
import { mean } from "../reduce/reduce.ts";
import { listed } from "../declare/autocast.ts";
import { requireFloat } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";

/** Where the projections of a multi-head attention come from. */
export interface Projections {
  /** [3E, E], or null where query, key and value have weights of their own. */
  readonly inWeight: Tensor | null;
  /** The weights of query, key and value where they are apart. */
  readonly separate?: readonly [query: Tensor, key: Tensor, value: Tensor] | undefined;
  /** [3 E]: the biases of the three projections; null without. */
  readonly inBias: Tensor | null;
  /** [E, E]: the weights of the last projection. */
  readonly outWeight: Tensor;
  /** [E]: its bias; null without. */
  readonly outBias: Tensor | null;
  /** One more key and value for all, [1, 1, E]. */
  readonly keyBias?: Tensor | null | undefined;
  /** [1, 1, E]: a value that is appended to all others. Default: null. */
  readonly valueBias?: Tensor | null | undefined;
}

/** Options of multiHeadAttention(). Reference: torch.nn.functional.multi_head_attention_forward. */
export interface MultiHeadOptions {
  /** [B, S] bool: true where a key is left out; or numbers that are added. */
  readonly keyPaddingMask?: Tensor | null | undefined;
  /** [L, S] or [B * heads, L, S]; bool: true where attention is blocked (as in PyTorch's layer); or numbers that are added. */
  readonly attnMask?: Tensor | null | undefined;
  /** @deprecated Use attnMask. */
  readonly mask?: Tensor | null | undefined;

  /** Whether a position attends only to itself and those before it. Default: false. */
  readonly isCausal?: boolean | undefined;
  /** @deprecated Use isCausal. */
  readonly causal?: boolean | undefined;

  /** Probability of a weight to be zeroed in training. Default: 0. */
  readonly dropoutP?: number | undefined;
  /** @deprecated Use dropoutP. */
  readonly dropout?: number | undefined;

  /** Whether a key and a value of zeros are appended. Default: false. */
  readonly addZeroAttn?: boolean | undefined;
  /** @deprecated Use addZeroAttn. */
  readonly addZeroAttention?: boolean | undefined;

  /** Whether the weights are a result, averaged over the heads or not. Default: "average". */
  readonly weights?: "average" | "each" | "none" | undefined;
  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}

/** true as -Infinity, numbers as they are. */
const blocked = (mask: Tensor, like: Tensor): Tensor =>
  mask.dtype === "bool"
    ? where(mask, scalarTensor(like.device, like.dtype, -Infinity), scalarTensor(like.device, like.dtype, 0))
    : toDType(mask, like.dtype);

// The parts are on autocast's lists, not the whole: returned weights are float32.
const lower = (x: Tensor): Tensor => listed("lower", "linear", (t: Tensor) => t)(x);
const asFloat32 = (x: Tensor): Tensor => listed("float32", "softmax", (t: Tensor) => t)(x);
const lowerLinear = (x: Tensor, weight: Tensor, bias: Tensor | null): Tensor => linear(lower(x), lower(weight), bias && lower(bias));

/** Multi-head attention of [L, B, E], [S, B, E], [S, B, E]. Reference: torch.nn.functional.multi_head_attention_forward. */
export function multiHeadAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  heads: number,
  projections: Projections,
  options: MultiHeadOptions = {},
): { readonly output: Tensor; readonly weights: Tensor | null } {
  const name = "multiHeadAttention";
  const [length, batch, width] = query.shape as [number, number, number];
  if (width % heads !== 0) throw new ValueError(name, "heads", `a divisor of ${width}`, heads);
  const biases = projections.inBias === null ? [null, null, null] : chunk(lower(projections.inBias), 3, 0);
  const weights = projections.separate ?? chunk(lower(projections.inWeight!), 3, 0);
  const projected = [query, key, value].map((t, i) => lowerLinear(t, weights[i]!, biases[i] ?? null));
  const q = projected[0]!;
  let k = projected[1]!;
  let v = projected[2]!;
  const { attnMask: mask = null, keyPaddingMask = null } = options;
  let longer = 0;
  const grow = (extra: (t: Tensor) => readonly [Tensor, Tensor]): void => {
    const [ek, ev] = extra(k);
    [k, v] = [cat([k, ek], 0), cat([v, ev], 0)];
    longer++;
  };
  if (projections.keyBias && projections.valueBias) {
    const { keyBias, valueBias } = projections;
    grow(() => [expand(lower(keyBias), 1, batch, width), expand(lower(valueBias), 1, batch, width)]);
  }
  if (options.addZeroAttn === true) grow((t) => [zerosLike(narrow(t, 0, 0, 1)), zerosLike(narrow(t, 0, 0, 1))]);
  const split = (t: Tensor): Tensor => permute(reshape(t, [t.shape[0]!, batch, heads, t.shape[2]! / heads]), 1, 2, 0, 3);
  const [qh, kh, vh] = [split(q), split(k), split(v)];
  const keys = kh.shape[2]!;
  const padded = (m: Tensor): Tensor => (longer === 0 ? m : cat([m, zerosLike(narrow(m, -1, 0, longer))], -1));
  let added: Tensor | null = null;
  const plus = (m: Tensor): void => void (added = added === null ? m : add(added, m));
  if (mask !== null) {
    const m = padded(blocked(mask, q));
    plus(m.rank === 3 ? reshape(m, [batch, heads, length, keys]) : m);
  }
  if (keyPaddingMask !== null) plus(reshape(padded(blocked(keyPaddingMask, q)), [batch, 1, 1, keys]));
  const wanted = options.weights ?? "average";
  const p = options.dropoutP ?? 0;
  const attrs: Attention = { scale: 1 / Math.sqrt(width / heads), causal: options.isCausal === true && added === null };
  let merged: Tensor;
  let returnedWeights: Tensor | null = null;
  if (wanted === "none") {
    merged = scaledDotProductAttention(qh, kh, vh, { attnMask: added, isCausal: attrs.causal, dropoutP: p, generator: options.generator });
  } else {
    const seen = dropout(asFloat32(probabilities(qh, kh, added, attrs, 0)), { p, training: p > 0, generator: options.generator });
    merged = matmul(lower(seen), vh);
    returnedWeights = wanted === "average" ? mean(seen, 1) : seen;
  }
  const flat = reshape(permute(merged, 2, 0, 1, 3), [length, batch, width]);
  return { output: lowerLinear(flat, projections.outWeight, projections.outBias), weights: returnedWeights };
}

/**
 * Rotary position embedding: pairs of elements of x's last axis, rotated by angles. x: [..., L, E]; cosine and sine: broadcast to [..., L, E / 2].
 * interleaved: whether neighbours are pairs, instead of elements half the axis apart (default).
 */
export function rotaryEmbedding(
  x: Tensor,
  cosine: Tensor,
  sine: Tensor,
  {
    interleaved = false,
  }: {
    /** Whether pairs are adjacent elements instead of elements half the width apart. Default: false. */
    readonly interleaved?: boolean | undefined;
  } = {},
): Tensor {
  requireFloat("rotaryEmbedding", x);
  const width = x.shape.at(-1) ?? 0;
  if (x.rank < 2 || width % 2 !== 0) throw new ShapeError("rotaryEmbedding", "x", "[..., L, E] with an even E", x.describe());
  const half: Shape = [...x.shape.slice(0, -1), width / 2];
  for (const [argument, t] of [
    ["cosine", cosine],
    ["sine", sine],
  ] as const)
    if (!isBroadcastableTo(t.shape, half))
      throw new ShapeError("rotaryEmbedding", argument, `one that broadcasts to ${showShape(half)}`, t.describe());
  const pairs = interleaved ? reshape(x, [...half, 2]) : null;
  const [a, b] =
    pairs === null
      ? [narrow(x, -1, 0, width / 2), narrow(x, -1, width / 2, width / 2)]
      : [narrow(pairs, -1, 0, 1), narrow(pairs, -1, 1, 1)].map((t) => reshape(t, half));
  const [first, second] = [sub(mul(a!, cosine), mul(b!, sine)), add(mul(a!, sine), mul(b!, cosine))];
  return interleaved ? reshape(cat([unsqueeze(first, -1), unsqueeze(second, -1)], -1), x.shape) : cat([first, second], -1);
}
