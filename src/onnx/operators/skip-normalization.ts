/** com.microsoft: normalizations of sums, and of looked-up embeddings. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { dtypeOf } from "../format/value.ts";
import { family } from "./operator.ts";

/** Their default epsilon. */
const EPSILON = 1e-12;

/** input + skip + bias. A skip without the batch's axis is every sample's. */
function sumOf(c: Call, bias: number): Tensor {
  const sum = ops.add(c.tensor(0), c.tensor(1));
  return c.has(bias) ? ops.add(sum, c.tensor(bias)) : sum;
}

/** Mean (float32) and 1 / standard deviation over the last axis, as other outputs give them. */
function statistics(x: Tensor, epsilon: number, isCentred: boolean): [Tensor, Tensor] {
  const wide = ops.to(x, "float32");
  const mean = ops.mean(wide, -1, { keepDims: true });
  const centred = isCentred ? ops.sub(wide, mean) : wide;
  return [mean, ops.rsqrt(ops.add(ops.mean(ops.mul(centred, centred), -1, { keepDims: true }), epsilon))];
}

/** Output, mean, inverse deviation, and the sum that was normalized. */
function skipLayerNorm(c: Call): Tensor[] {
  const sum = sumOf(c, 4);
  const epsilon = c.float("epsilon", EPSILON);
  const y = ops.layerNorm(sum, [sum.shape.at(-1)!], c.tensor(2), c.optional(3), { eps: epsilon });
  const [mean, inverse] = c.wants(1) || c.wants(2) ? statistics(sum, epsilon, true) : [sum, sum];
  return [y, mean, inverse, sum];
}

function skipRmsNorm(c: Call): Tensor[] {
  const sum = sumOf(c, 3);
  const epsilon = c.float("epsilon", EPSILON);
  const y = ops.rmsNorm(sum, [sum.shape.at(-1)!], c.tensor(2), { eps: epsilon });
  const [mean, inverse] = c.wants(1) || c.wants(2) ? statistics(sum, epsilon, false) : [sum, sum];
  return [y, mean, inverse, sum];
}

/** RMS normalization with a scale, in the dtype of `stash_type`. */
function simplified(c: Call): Tensor[] {
  const [x, scale] = [c.x, c.tensor(1)];
  const axis = c.axis(c.int("axis", -1), x.rank);
  const epsilon = c.float("epsilon", 1e-5);
  const wide = ops.to(x, dtypeOf(c.int("stash_type", 1), c.name));
  const y = ops.mul(ops.to(ops.rmsNorm(wide, x.shape.slice(axis), null, { eps: epsilon }), x.dtype), ops.to(scale, x.dtype));
  if (!c.wants(1)) return [y];
  const axes = x.shape.slice(axis).map((_, i) => axis + i);
  return [y, ops.rsqrt(ops.add(ops.mean(ops.mul(wide, wide), axes, { keepDims: true }), epsilon))];
}

/** Rows of a table. */
const rowsOf = (table: Tensor, indices: Tensor): Tensor =>
  ops.reshape(ops.indexSelect(table, 0, ops.reshape(ops.to(indices, "int32"), [-1])), [...indices.shape, table.shape[1]!]);

/** Word, position and segment embeddings summed and normalized; how many of each sample's tokens count; and the sum. */
function embedLayerNorm(c: Call): Tensor[] {
  const [ids, words, positions] = [c.ranked(0, "[N, L]", 2), c.ranked(2, "[words, hidden]", 2), c.ranked(3, "[positions, hidden]", 2)];
  const length = ids.shape[1]!;
  const placed = c.has(8) ? rowsOf(positions, c.tensor(8)) : ops.narrow(positions, 0, 0, length);
  let sum = ops.add(rowsOf(words, ids), placed);
  if (c.has(1) && c.has(4)) sum = ops.add(sum, rowsOf(c.tensor(4), c.tensor(1)));
  return [...normalized(c, sum, 5, 6), counted(c, ids, 7), sum];
}

const normalized = (c: Call, sum: Tensor, scale: number, bias: number): [Tensor] => [
  ops.layerNorm(sum, [sum.shape.at(-1)!], c.tensor(scale), c.tensor(bias), { eps: c.float("epsilon", EPSILON) }),
];

/** Ones of each row of a mask up to its first zero, or zeros. */
function counted(c: Call, ids: Tensor, mask: number): Tensor {
  if (!c.has(mask)) return ops.zeros([ids.shape[0]!], { dtype: "int32", device: ids.device });
  return ops.to(ops.sum(ops.to(ops.ne(c.tensor(mask), 0), "int32"), 1), "int32");
}

/** Scale and shift of channels after groups are normalized; the channels are last, or second. */
function groups(c: Call, x: Tensor): Tensor {
  const isLast = c.flag("channels_last", true);
  const planes = isLast ? ops.movedim(x, -1, 1) : x;
  const [scale, bias] = [ops.to(c.tensor(1), x.dtype), ops.to(c.tensor(2), x.dtype)];
  const y = ops.groupNorm(planes, c.int("groups", 1), scale, bias, { eps: c.float("epsilon", 1e-5) });
  const activation = c.int("activation", 0);
  if (activation !== 0 && activation !== 1) throw c.unsupported(`attribute activation ${activation}`);
  const active = activation === 1 ? ops.silu(y) : y;
  return isLast ? ops.movedim(active, 1, -1) : active;
}

function skipGroupNorm(c: Call): Tensor[] {
  const x = c.x;
  const isLast = c.flag("channels_last", true);
  const along = (t: Tensor): Tensor => {
    if (t.rank === x.rank) return t;
    const [n, channels] = t.rank === 2 ? [t.shape[0]!, t.shape[1]!] : [1, t.size];
    const ones = x.shape.slice(2).map(() => 1);
    return ops.reshape(t, isLast ? [n, ...ones, channels] : [n, channels, ...ones]);
  };
  let sum = ops.add(x, along(c.tensor(3)));
  if (c.has(4)) sum = ops.add(sum, along(c.tensor(4)));
  return [groups(c, sum), sum];
}

export const simplifiedNormalization = family({ SimplifiedLayerNormalization: simplified });

export const skipNormalization = family({
  EmbedLayerNormalization: embedLayerNorm,
  GroupNorm: (c) => groups(c, c.x),
  SkipGroupNorm: skipGroupNorm,
  SkipLayerNormalization: skipLayerNorm,
  SkipSimplifiedLayerNormalization: skipRmsNorm,
});
