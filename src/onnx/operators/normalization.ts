/** Normalisations, and dropout. */
import * as ops from "../../ops/index.ts";
import { sameShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { dtypeOf } from "../format/value.ts";
import { family } from "./operator.ts";

/** One number for each channel, laid along x's second axis. */
const channels = (t: Tensor, x: Tensor): Tensor => ops.reshape(t, [1, t.size, ...x.shape.slice(2).map(() => 1)]);

/** Mean and population variance over axes, which stay. */
function moments(x: Tensor, axes: readonly number[]): [Tensor, Tensor] {
  const mean = ops.mean(x, axes, { keepDims: true });
  const centred = ops.sub(x, mean);
  return [mean, ops.mean(ops.mul(centred, centred), axes, { keepDims: true })];
}

function batchNorm(c: Call): Tensor[] {
  const [x, scale, bias, mean, variance] = [0, 1, 2, 3, 4].map((i) => c.tensor(i)) as [Tensor, Tensor, Tensor, Tensor, Tensor];
  const epsilon = c.float("epsilon", 1e-5);
  if (!c.flag("training_mode")) return [ops.batchNorm(x, mean, variance, scale, bias, { eps: epsilon })];
  const axes = x.shape.flatMap((_, i) => (i === 1 ? [] : [i]));
  const [own, spread] = moments(c.single(x), axes);
  const y = ops.mul(ops.div(ops.sub(x, own), ops.sqrt(ops.add(spread, epsilon))), channels(scale, x));
  const momentum = c.float("momentum", 0.9);
  const moved = (running: Tensor, current: Tensor): Tensor =>
    ops.to(ops.add(ops.mul(running, momentum), ops.mul(ops.reshape(current, [-1]), 1 - momentum)), running.dtype);
  return [ops.to(ops.add(y, channels(bias, x)), x.dtype), moved(mean, own), moved(variance, spread)];
}

function instanceNorm(c: Call): Tensor {
  const [x, scale, bias] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  return ops.groupNorm(x, x.shape[1]!, scale, bias, { eps: c.float("epsilon", 1e-5) });
}

function layerNorm(c: Call): Tensor[] {
  const [input, scale, bias] = [c.tensor(0), c.tensor(1), c.optional(2)];
  const axis = c.axis(c.int("axis", -1), input.rank);
  const epsilon = c.float("epsilon", 1e-5);
  const normalized = input.shape.slice(axis);
  const fits = (t: Tensor | null): boolean => t === null || sameShape(t.shape, normalized);
  if (!c.wants(1) && !c.wants(2) && fits(scale) && fits(bias)) return [ops.layerNorm(input, normalized, scale, bias, { eps: epsilon })];
  const x = ops.to(input, dtypeOf(c.int("stash_type", 1), c.name));
  const axes = normalized.map((_, i) => axis + i);
  const [mean, variance] = moments(x, axes);
  const inverse = ops.rsqrt(ops.add(variance, epsilon));
  const y = ops.mul(ops.to(ops.mul(ops.sub(x, mean), inverse), input.dtype), scale);
  return [bias === null ? y : ops.add(y, bias), mean, inverse];
}

function groupNorm(c: Call): Tensor {
  const [x, scale, bias] = [c.tensor(0), c.tensor(1), c.tensor(2)];
  const groups = c.int("num_groups", 1);
  const epsilon = c.float("epsilon", 1e-5);
  if (c.opset >= 21) return ops.groupNorm(x, groups, scale, bias, { eps: epsilon });
  // Before version 21 there was one scale for each group.
  const y = ops.groupNorm(x, groups, null, null, { eps: epsilon });
  const spread = (t: Tensor): Tensor => channels(ops.repeatInterleave(t, x.shape[1]! / groups, 0), x);
  return ops.add(ops.mul(y, spread(scale)), spread(bias));
}

function rmsNorm(c: Call): Tensor {
  const [input, scale] = [c.tensor(0), c.tensor(1)];
  const axis = c.axis(c.int("axis", -1), input.rank);
  const x = ops.to(input, dtypeOf(c.int("stash_type", 1), c.name));
  const y = ops.rmsNorm(x, input.shape.slice(axis), null, { eps: c.float("epsilon", 1e-5) });
  return ops.mul(ops.to(y, input.dtype), scale);
}

const lrn = (c: Call): Tensor =>
  localResponse(c.x, c.int("size", 1), { alpha: c.float("alpha", 1e-4), beta: c.float("beta", 0.75), k: c.float("bias", 1) });

/** Of an even number of neighbours the one more lies behind, other than in PyTorch. */
function localResponse(x: Tensor, size: number, { alpha, beta, k }: { alpha: number; beta: number; k: number }): Tensor {
  if (size % 2 === 1) return ops.localResponseNorm(x, size, { alpha, beta, k });
  return ops.flip(ops.localResponseNorm(ops.flip(x, 1), size, { alpha, beta, k }), 1);
}

/** x / norm; zeros where the norm is zero. */
function lpNorm(c: Call): Tensor {
  const x = c.x;
  const norm = ops.norm(x, c.int("p", 2), c.axis(c.int("axis", -1), x.rank), { keepDims: true });
  return ops.where(ops.eq(norm, 0), ops.zerosLike(x), ops.div(x, norm));
}

function meanVariance(c: Call): Tensor {
  const x = c.x;
  const axes = c.axes(c.ints("axes") ?? [0, 2, 3], x.rank);
  const [mean, variance] = moments(x, axes);
  return ops.div(ops.sub(x, mean), ops.add(ops.sqrt(variance), 1e-9));
}

/** The input and a mask of ones, but in training. */
function drop(c: Call): Tensor[] {
  const x = c.x;
  const ratio = c.opset < 12 ? c.float("ratio", 0.5) : c.number(1, 0.5);
  const isTraining = c.opset < 12 ? c.opset < 7 && c.int("is_test", 0) === 0 : c.number(2, 0) !== 0;
  const maskType = c.opset < 10 ? x.dtype : "bool";
  if (!isTraining || ratio === 0) return c.wants(1) ? [x, ops.ones(x.shape, { dtype: maskType, device: x.device })] : [x];
  const generator = c.hasAttribute("seed") ? new ops.Generator().manualSeed(c.int("seed", 0)) : undefined;
  const mask = ops.ge(ops.rand(x.shape, { device: x.device, ...(generator === undefined ? {} : { generator }) }), ratio);
  return [ops.mul(ops.mul(x, ops.to(mask, x.dtype)), 1 / (1 - ratio)), ops.to(mask, maskType)];
}

export const normalization = family({
  BatchNormalization: batchNorm,
  GroupNormalization: groupNorm,
  InstanceNormalization: instanceNorm,
  LRN: lrn,
  LayerNormalization: layerNorm,
  LpNormalization: lpNorm,
  MeanVarianceNormalization: meanVariance,
  RMSNormalization: rmsNorm,
});

export const dropout = family({ Dropout: drop }, { isPure: false });
