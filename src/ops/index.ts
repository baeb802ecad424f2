/** All operations, and the tensor's methods made of them. A new family adds one line to `families` and one to the exports. */
import { noGrad } from "../autograd/grad-mode.ts";
import { arithmetic, backward, type BackwardOptions } from "../autograd/backward.ts";
import { assign } from "../dispatch.ts";
import { setZeros } from "../autograd/function.ts";
import { means } from "../autograd/gradcheck.ts";
import * as printing from "../print.ts";
import { Tensor } from "../tensor.ts";
import * as activation from "./activation.ts";
import * as binary from "./binary.ts";
import * as bits from "./bits.ts";
import * as creation from "./creation.ts";
import * as compare from "./compare.ts";
import * as data from "./data.ts";
import * as extrema from "./extrema.ts";
import * as gather from "./gather.ts";
import * as indexing from "./indexing.ts";
import * as join from "./join.ts";
import * as matmul from "./matmul.ts";
import * as movement from "./movement.ts";
import * as pad from "./pad.ts";
import * as power from "./power.ts";
import * as random from "./random.ts";
import * as ranges from "./ranges.ts";
import * as reduce from "./reduce.ts";
import * as scan from "./scan.ts";
import * as softmax from "./softmax.ts";
import * as state from "./state.ts";
import * as statistics from "./statistics.ts";
import * as unary from "./unary.ts";
import * as where from "./where.ts";

const families = {
  ...creation.methods,
  ...binary.methods,
  ...data.methods,
  ...unary.methods,
  ...compare.methods,
  ...where.methods,
  ...movement.methods,
  ...reduce.methods,
  ...extrema.methods,
  ...scan.methods,
  ...ranges.methods,
  ...join.methods,
  ...gather.methods,
  ...pad.methods,
  ...activation.methods,
  ...bits.methods,
  ...indexing.methods,
  ...power.methods,
  ...random.methods,
  ...state.methods,
  ...statistics.methods,
  ...printing.methods,
  ...matmul.methods,
  ...softmax.methods,
};
/** In-place forms: the tensor takes the operation's value, which must have its shape and dtype. */
const inPlaceFamilies = {
  ...binary.inPlaceMethods,
  ...unary.inPlaceMethods,
  ...where.inPlaceMethods,
  ...activation.inPlaceMethods,
  ...power.inPlaceMethods,
};

// The first parameter is inferred, not named: naming Tensor here would make its type depend on itself.
type Methods = {
  [K in keyof typeof families]: (typeof families)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};
type InPlaceMethods = {
  [K in keyof typeof inPlaceFamilies]: (typeof inPlaceFamilies)[K] extends (x: infer _X, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

declare module "../tensor.ts" {
  interface Tensor extends Methods, InPlaceMethods {
    /** Adds gradients to the leaves that this scalar (or, with `gradient`, tensor) depends on. */
    backward(options?: BackwardOptions): void;
    /** The largest element of all; with an axis, the largest along it and their places. */
    max(): Tensor;
    max(axis: number, options?: extrema.ArgOptions): extrema.Extremes;
    /** The smallest element of all; with an axis, the smallest along it and their places. */
    min(): Tensor;
    min(axis: number, options?: extrema.ArgOptions): extrema.Extremes;
  }
}

type AnyFunction = (...args: unknown[]) => unknown;

for (const [name, fn] of Object.entries({ ...families, ...extrema.overloaded }) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return fn(this, ...args);
    },
    writable: true,
    configurable: true,
  });
}
for (const [name, fn] of Object.entries(inPlaceFamilies) as [string, AnyFunction][]) {
  Object.defineProperty(Tensor.prototype, name, {
    value(this: Tensor, ...args: unknown[]) {
      return assign(name, this, () => fn(this, ...args) as Tensor);
    },
    writable: true,
    configurable: true,
  });
}
Object.defineProperty(Tensor.prototype, "backward", {
  value(this: Tensor, options?: BackwardOptions) {
    backward(this, options);
  },
});

arithmetic.add = binary.add;
arithmetic.accumulate = (a, b) => void assign("backward", a, () => binary.add(a, b));
arithmetic.onesLike = (t) => creation.onesLike(t);
arithmetic.zeros = (like, spec) => creation.zeros(spec.shape, { dtype: spec.dtype, device: like.device });
arithmetic.detach = (t) => new Tensor(t.storage, t.desc, t.offset);

setZeros((t) => creation.zerosLike(t));
means.data = data.dataSync;
means.tensor = (values, like) => creation.tensor(values, { shape: like.shape, device: like.device });
printing.setPrinter(
  (t, edgeItems) =>
    noGrad(() =>
      t.shape.reduce(
        (part, n, axis) =>
          n > 2 * edgeItems
            ? join.cat([movement.narrow(part, axis, 0, edgeItems), movement.narrow(part, axis, n - edgeItems, edgeItems)], axis)
            : part,
        state.detach(t),
      ),
    ),
  async (t) => data.values(t.dtype, await data.data(t)),
  (t) => data.values(t.dtype, data.dataSync(t)),
);
printing.installPrinting(Tensor.prototype);

export { add, div, mul, sub } from "./binary.ts";
export {
  empty,
  emptyLike,
  full,
  fullLike,
  ones,
  onesLike,
  tensor,
  zeros,
  zerosLike,
  type TensorData,
  type TensorOptions,
} from "./creation.ts";
export { contiguous, data, dataSync, item, itemSync, to, toArray, toArraySync } from "./data.ts";
export {
  abs,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  ceil,
  cos,
  cosh,
  erf,
  exp,
  exp2,
  expm1,
  floor,
  frac,
  log,
  log10,
  log1p,
  log2,
  neg,
  reciprocal,
  round,
  rsqrt,
  sign,
  sin,
  sinh,
  sqrt,
  square,
  tan,
  tanh,
  trunc,
} from "./unary.ts";
export {
  eq,
  ge,
  gt,
  isfinite,
  isinf,
  isnan,
  isneginf,
  isposinf,
  le,
  logicalAnd,
  logicalNot,
  logicalOr,
  logicalXor,
  lt,
  ne,
} from "./compare.ts";
export { clamp, clampMax, clampMin, maskedFill, maximum, minimum, nanToNum, where } from "./where.ts";
export {
  broadcastTo,
  diagonal,
  expand,
  flatten,
  movedim,
  narrow,
  permute,
  reshape,
  select,
  slice,
  squeeze,
  t,
  transpose,
  unbind,
  unflatten,
  unsqueeze,
  view,
} from "./movement.ts";
export { all, any, mean, prod, sum, type Axes, type ReduceOptions } from "./reduce.ts";
export { amax, amin, argmax, argmin, max, min, type ArgOptions, type Extremes, type IndexDType } from "./extrema.ts";
export { cumsum } from "./scan.ts";
export { arange, eye, linspace, oneHot, tril, triu } from "./ranges.ts";
export { cat, chunk, flip, repeat, repeatInterleave, roll, split, stack, tile } from "./join.ts";
export { gather, indexSelect, takeAlongAxis } from "./gather.ts";
export { pad, type PadMode } from "./pad.ts";
export { addmm, baddbmm, bmm, dot, linear, matmul, mm, mv, outer } from "./matmul.ts";
export {
  conv1d,
  conv2d,
  conv3d,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  type ConvOptions,
  type ConvTransposeOptions,
} from "./conv.ts";
export {
  avgPool1d,
  avgPool2d,
  avgPool3d,
  maxPool1d,
  maxPool1dWithIndices,
  maxPool2d,
  maxPool2dWithIndices,
  maxPool3d,
  maxPool3dWithIndices,
  type AvgPoolOptions,
  type MaxPoolOptions,
  type Pooled,
  type PoolOptions,
} from "./pool.ts";
export {
  adaptiveAvgPool1d,
  adaptiveAvgPool2d,
  adaptiveAvgPool3d,
  adaptiveMaxPool1d,
  adaptiveMaxPool1dWithIndices,
  adaptiveMaxPool2d,
  adaptiveMaxPool2dWithIndices,
  adaptiveMaxPool3d,
  adaptiveMaxPool3dWithIndices,
} from "./adaptive-pool.ts";
export { logSoftmax, softmax, softmin, type SoftmaxOptions } from "./softmax.ts";
export { batchNorm, groupNorm, instanceNorm, layerNorm, type BatchNormOptions } from "./norm.ts";
export { embedding } from "./embedding.ts";
export {
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  huberLoss,
  klDiv,
  l1Loss,
  mseLoss,
  smoothL1Loss,
  type BinaryOptions,
  type LogitsOptions,
  type LossOptions,
  type Reduction,
} from "./loss.ts";
export { crossEntropy, nllLoss, type CrossEntropyOptions, type NllOptions } from "./cross-entropy.ts";
export { dropout, dropoutChannels, type DropoutOptions } from "./dropout.ts";
export {
  celu,
  elu,
  gelu,
  glu,
  hardshrink,
  hardSigmoid,
  hardSwish,
  hardtanh,
  leakyRelu,
  logSigmoid,
  mish,
  prelu,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softplus,
  softshrink,
  softsign,
  tanhshrink,
  threshold,
} from "./activation.ts";
export { bitwiseAnd, bitwiseLeftShift, bitwiseNot, bitwiseOr, bitwiseRightShift, bitwiseXor } from "./bits.ts";
export { index, s, set, type Index, type Slice } from "./indexing.ts";
export { pow } from "./power.ts";
export {
  bernoulli,
  defaultGenerator,
  Generator,
  manualSeed,
  rand,
  randint,
  randLike,
  randn,
  randnLike,
  randperm,
  type RandomOptions,
} from "./random.ts";
export { clone, detach, registerHook, retainGrad, type HookHandle } from "./state.ts";
export { logsumexp, norm, std, variance as var, type VarianceOptions } from "./statistics.ts";
