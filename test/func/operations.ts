/** The operations of recorded/vmap.py. */
import * as dx from "../../src/index.ts";

const F = dx.nn.functional;

export interface Operation {
  readonly fn: (...args: dx.Tensor[]) => dx.Tensor;
  readonly shapes: readonly (readonly number[])[];
  /** For arguments of integers: their limit. */
  readonly ints?: readonly (number | null)[];
  /** It has no rule: vmap() loops. */
  readonly loops?: boolean;
}

type Fn3 = (x: dx.Tensor, y: dx.Tensor, z: dx.Tensor) => dx.Tensor;
const of = (fn: Fn3, shapes: Operation["shapes"], rest: Omit<Operation, "fn" | "shapes"> = {}): Operation => ({
  fn: fn as Operation["fn"],
  shapes,
  ...rest,
});

export const operations: Readonly<Record<string, Operation>> = {
  add: of((x, y) => x.add(y), [[2, 3], [3]]),
  mul: of(
    (x, y) => x.mul(y),
    [
      [2, 3],
      [1, 3],
    ],
  ),
  divByScalarTensor: of((x, y) => x.div(y.add(5)), [[4], []]),
  sin: of((x) => x.sin(), [[2, 3]]),
  expOfScalar: of((x) => x.exp(), [[]]),
  pow: of((x, y) => x.abs().add(1).pow(y), [[3], [2, 3]]),
  atan2: of((x, y) => dx.atan2(x, y), [[3], [3]]),
  where: of((x, y) => dx.where(x.gt(0.1), x, y), [[2, 3], [3]]),
  clamp: of((x) => x.clamp(-0.5, 0.5), [[5]]),
  maximum: of((x, y) => dx.maximum(x, y), [[5], [5]]),
  lerp: of((x, y, z) => dx.lerp(x, y, z), [[3], [3], []]),
  addcmul: of((x, y, z) => dx.addcmul(x, y, z, { value: 2 }), [[3], [2, 3], [3]]),
  gelu: of((x) => dx.gelu(x), [[6]]),
  silu: of((x) => dx.silu(x), [[6]]),
  leakyRelu: of((x) => F.leakyRelu(x, 0.2), [[6]]),
  glu: of((x) => F.glu(x, 1), [[3, 4]]),
  compare: of((x, y) => x.gt(y), [[4], [4]]),
  sum: of((x) => x.sum(), [[2, 3]]),
  sumOfAxis: of((x) => x.sum(1), [[2, 3]]),
  sumKeepDims: of((x) => x.sum(0, { keepDims: true }), [[2, 3]]),
  mean: of((x) => x.mean(-1), [[2, 3]]),
  prod: of((x) => x.prod(1), [[2, 3]]),
  variance: of((x) => x.var(1), [[2, 4]]),
  std: of((x) => x.std(), [[4]]),
  norm: of((x) => dx.norm(x, 2, 1), [[2, 3]]),
  logsumexp: of((x) => dx.logsumexp(x, 0), [[2, 3]]),
  amax: of((x) => dx.amax(x, 1), [[2, 3]]),
  maxValues: of((x) => dx.max(x, 1).values, [[2, 3]]),
  argmax: of((x) => dx.argmax(x, 1), [[2, 3]]),
  any: of((x) => x.gt(1).any(1), [[2, 3]]),
  softmax: of((x) => x.softmax(1), [[2, 3]]),
  softmaxOfVector: of((x) => x.softmax(-1), [[4]]),
  logSoftmax: of((x) => dx.logSoftmax(x, 0), [[2, 3]]),
  cumsum: of((x) => x.cumsum(1), [[2, 3]]),
  cumprod: of((x) => x.cumprod(0), [[2, 3]]),
  logcumsumexp: of((x) => dx.logcumsumexp(x, 1), [[2, 3]]),
  cummax: of((x) => dx.cummax(x, 1).values, [[2, 4]]),
  sort: of((x) => dx.sort(x, 1).values, [[2, 4]]),
  sortDescending: of((x) => dx.sort(x, -1, { descending: true }).indices, [[5]]),
  topk: of((x) => dx.topk(x, 2).values, [[2, 4]]),
  flip: of((x) => x.flip(1), [[2, 3]]),
  roll: of((x) => dx.roll(x, 1, 1), [[2, 3]]),
  cat: of(
    (x, y) => dx.cat([x, y], 1),
    [
      [2, 2],
      [2, 3],
    ],
  ),
  stack: of((x, y) => dx.stack([x, y], 1), [[3], [3]]),
  padConstant: of((x) => F.pad(x, [1, 2], { value: 0.5 }), [[2, 3]]),
  padReflect: of((x) => F.pad(x, [1, 2], { mode: "reflect" }), [[2, 4]]),
  padReplicate: of((x) => F.pad(x, [1, 1], { mode: "replicate" }), [[2, 3]]),
  reshape: of((x) => x.reshape([3, 4]), [[2, 6]]),
  reshapeOfTranspose: of((x) => x.t().reshape([6]), [[2, 3]]),
  permute: of((x) => x.permute([2, 0, 1]), [[2, 3, 4]]),
  movedim: of((x) => x.movedim(0, -1), [[2, 3, 4]]),
  expand: of((x) => x.expand([2, 3, 4]), [[3, 1]]),
  squeeze: of((x) => x.squeeze(0), [[1, 3]]),
  unsqueeze: of((x) => x.unsqueeze(-1), [[2, 3]]),
  slice: of((x) => x.slice(0, 1).slice(1, 0, 4, 2), [[3, 4]]),
  select: of((x) => x.select(0, 1), [[3, 4]]),
  unbind: of((x) => x.unbind(0)[2]!.mul(x.unbind(0)[0]!), [[3, 2]]),
  diagonal: of((x) => x.diagonal({ offset: 1 }), [[3, 4]]),
  diagEmbed: of((x) => dx.diagEmbed(x), [[3]]),
  tril: of((x) => x.tril(-1), [[3, 3]]),
  trace: of((x) => dx.trace(x), [[3, 3]]),
  repeat: of((x) => x.repeat([2, 1]), [[2, 3]]),
  unfoldAxis: of((x) => x.unfold(0, 3, 2), [[6]]),
  oneHot: of((x) => F.oneHot(x, 3), [[4]], { ints: [3] }),
  gather: of(
    (x, i) => x.gather(0, i),
    [
      [3, 2],
      [2, 2],
    ],
    { ints: [null, 3] },
  ),
  indexSelect: of((x, i) => x.indexSelect(0, i), [[4, 2], [3]], { ints: [null, 4] }),
  indexSelectLast: of((x, i) => x.indexSelect(1, i), [[2, 4], [3]], { ints: [null, 4] }),
  embedding: of((i, w) => F.embedding(i, w), [[3], [4, 2]], { ints: [4] }),
  scatter: of((x, i, y) => x.scatter(0, dx.arange(4, { dtype: "int32" }).add(i.mul(0)), y), [[4], [4], [4]], { ints: [null, 4] }),
  scatterAdd: of((x, i, y) => x.scatterAdd(0, i, y), [[4], [3], [3]], { ints: [null, 4] }),
  maskedFill: of((x) => x.maskedFill(x.gt(0.3), 7), [[2, 3]]),
  dot: of((x, y) => dx.dot(x, y), [[4], [4]]),
  matrixVector: of((x, y) => x.matmul(y), [[2, 4], [4]]),
  vectorMatrix: of((x, y) => x.matmul(y), [[4], [4, 2]]),
  matmul: of(
    (x, y) => x.matmul(y),
    [
      [2, 4],
      [4, 3],
    ],
  ),
  matmulBatch: of(
    (x, y) => x.matmul(y),
    [
      [2, 2, 4],
      [4, 3],
    ],
  ),
  matmulBroadcast: of(
    (x, y) => x.matmul(y),
    [
      [2, 1, 2, 3],
      [3, 3, 2],
    ],
  ),
  bmm: of(
    (x, y) => dx.bmm(x, y),
    [
      [2, 2, 3],
      [2, 3, 2],
    ],
  ),
  outer: of((x, y) => dx.outer(x, y), [[3], [2]]),
  addmm: of((x, y, z) => dx.addmm(x, y, z), [[3], [2, 4], [4, 3]]),
  einsum: of(
    (x, y) => dx.einsum("ij,jk->ki", x, y),
    [
      [2, 3],
      [3, 4],
    ],
  ),
  linear: of((x, w, b) => F.linear(x, w, b), [[2, 4], [3, 4], [3]]),
  linearOfVector: of((x, w, b) => F.linear(x, w, b), [[4], [3, 4], [3]]),
  linearOfSequence: of(
    (x, w) => F.linear(x, w),
    [
      [2, 2, 4],
      [3, 4],
    ],
  ),
  conv1d: of((x, w, b) => F.conv1d(x, w, b, { padding: 1 }), [[1, 2, 5], [3, 2, 3], [3]]),
  conv2d: of((x, w, b) => F.conv2d(x, w, b, { stride: [2, 1], padding: 1 }), [[1, 2, 5, 4], [4, 2, 3, 2], [4]]),
  conv2dGroups: of(
    (x, w) => F.conv2d(x, w, null, { groups: 2 }),
    [
      [2, 4, 4, 4],
      [4, 2, 3, 3],
    ],
  ),
  convTranspose2d: of((x, w, b) => F.convTranspose2d(x, w, b, { stride: 2 }), [[1, 2, 3, 3], [2, 3, 2, 2], [3]]),
  maxPool2d: of((x) => F.maxPool2d(x, 2), [[1, 2, 4, 4]]),
  avgPool2d: of((x) => F.avgPool2d(x, 2), [[1, 2, 4, 4]]),
  adaptiveAvgPool2d: of((x) => F.adaptiveAvgPool2d(x, 1), [[1, 2, 4, 4]]),
  interpolate: of((x) => F.interpolate(x, { scaleFactor: 2, mode: "nearest" }), [[1, 2, 2, 3]]),
  interpolateBilinear: of((x) => F.interpolate(x, { size: [4, 5], mode: "bilinear" }), [[1, 2, 2, 3]]),
  unfold: of((x) => F.unfold(x, 2), [[1, 2, 3, 3]]),
  layerNorm: of((x, w, b) => F.layerNorm(x, [4], w, b), [[2, 4], [4], [4]]),
  layerNormPlain: of((x) => F.layerNorm(x, [2, 3]), [[2, 2, 3]]),
  rmsNorm: of((x, w) => F.rmsNorm(x, [4], w, { eps: 1e-5 }), [[2, 4], [4]]),
  groupNorm: of((x, w, b) => F.groupNorm(x, 2, w, b), [[2, 4, 3], [4], [4]]),
  instanceNorm: of((x) => F.instanceNorm(x), [[2, 2, 4]]),
  batchNormTraining: of((x, w, b) => F.batchNorm(x, null, null, w, b, { training: true }), [[4, 2], [2], [2]]),
  batchNormEval: of((x, m, w) => F.batchNorm(x, m.detach().mul(0.5), w.detach().square().add(1), w, null), [[3, 2, 2], [2], [2]]),
  mseLoss: of(
    (x, y) => F.mseLoss(x, y),
    [
      [2, 3],
      [2, 3],
    ],
  ),
  huberLoss: of((x, y) => F.huberLoss(x, y, { delta: 0.5 }), [[4], [4]]),
  bceWithLogits: of((x, y) => F.binaryCrossEntropyWithLogits(x, y.sigmoid()), [[4], [4]]),
  nllLoss: of((x, t) => F.nllLoss(dx.logSoftmax(x, 1), t), [[3, 4], [3]], { ints: [null, 4] }),
  crossEntropy: of((x, t) => F.crossEntropy(x, t), [[3, 4], [3]], { ints: [null, 4] }),
  crossEntropyOfOne: of((x, t) => F.crossEntropy(x, t), [[4], []], { ints: [null, 4] }),
  crossEntropySum: of(
    (x, t) => F.crossEntropy(x, t, { reduction: "sum", ignoreIndex: 1 }),
    [
      [2, 4, 3],
      [2, 3],
    ],
    { ints: [null, 4] },
  ),
  crossEntropyNone: of((x, t) => F.crossEntropy(x, t, { reduction: "none" }), [[3, 4], [3]], { ints: [null, 4] }),
  cosineSimilarity: of(
    (x, y) => F.cosineSimilarity(x, y, { axis: 1 }),
    [
      [2, 3],
      [2, 3],
    ],
  ),
  cdist: of(
    (x, y) => dx.cdist(x, y),
    [
      [2, 3],
      [4, 3],
    ],
  ),
  attention: of(
    (q, k, v) => F.scaledDotProductAttention(q, k, v),
    [
      [1, 2, 3, 4],
      [1, 2, 3, 4],
      [1, 2, 3, 4],
    ],
  ),
  det: of((x) => dx.linalg.det(x.add(dx.eye(3).mul(4))), [[3, 3]]),
  inv: of((x) => dx.linalg.inv(x.add(dx.eye(2).mul(4))), [[2, 2]]),
  solve: of(
    (x, y) => dx.linalg.solve(x.add(dx.eye(2).mul(4)), y),
    [
      [2, 2],
      [2, 1],
    ],
  ),
  inPlace: of((x, y) => x.mul(1).add_(1).mul_(2).add(y), [[2, 3], [3]]),
  inPlaceView: of(
    (x) => {
      const y = x.mul(1);
      y.select(0, 0).mul_(3);
      return y;
    },
    [[2, 3]],
  ),
};
