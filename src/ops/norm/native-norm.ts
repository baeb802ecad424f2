/** Normalization with its statistics: PyTorch's native_layer_norm and the like. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add } from "../elementwise/binary.ts";
import { zeros } from "../creation/creation.ts";
import { reshape } from "../shape/movement.ts";
import { groupNorm } from "./group-norm.ts";
import { batchNorm, layerNorm, type BatchNormOptions } from "./batch-layer-norm.ts";
import { mean } from "../reduce/reduce.ts";
import { variance } from "../reduce/statistics.ts";
import { rsqrt } from "../elementwise/unary.ts";
import { sizeOf } from "../../core/shape.ts";

/** What the norms' native forms give: the output, and the statistics. */
export interface Normalized {
  /** The normalized elements, of x's shape. */
  readonly output: Tensor;
  /** The means that were subtracted. */
  readonly mean: Tensor;
  /** 1 / sqrt(variance + epsilon), of the population variance. */
  readonly rstd: Tensor;
}

interface Epsilon {
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;
}

/** No gradient flows through them, as in PyTorch. */
const statistics = (x: Tensor, axes: readonly number[], epsilon: number, keepDims: boolean): { mean: Tensor; rstd: Tensor } =>
  noGrad(() => ({
    mean: mean(x, axes, { keepDims }),
    rstd: rsqrt(add(variance(x, axes, { keepDims, correction: 0 }), epsilon)),
  }));

/** layerNorm() with its statistics, which have length 1 along the normalised axes. Reference: torch.native_layer_norm. @autocast float32 */
export function nativeLayerNorm(
  x: Tensor,
  normalizedShape: Shape,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  { eps: epsilon = 1e-5 }: Epsilon = {},
): Normalized {
  const output = layerNorm(x, normalizedShape, weight, bias, { eps: epsilon });
  const axes = normalizedShape.map((_, i) => x.rank - normalizedShape.length + i);
  return { output, ...statistics(x, axes, epsilon, true) };
}

/** groupNorm() with its statistics [N, groups]. Reference: torch.native_group_norm. */
export function nativeGroupNorm(
  x: Tensor,
  groups: number,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  { eps: epsilon = 1e-5 }: Epsilon = {},
): Normalized {
  const output = groupNorm(x, groups, weight, bias, { eps: epsilon });
  return { output, ...statistics(reshape(x, [x.shape[0]!, groups, sizeOf(x.shape.slice(1)) / groups]), [2], epsilon, false) };
}

/**
 * batchNorm() with the batch's statistics [C] in training; else they are empty, as the running ones were used.
 * Reference: torch.native_batch_norm.
 */
export function nativeBatchNorm(
  x: Tensor,
  runningMean: Tensor | null,
  runningVariance: Tensor | null,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  options: BatchNormOptions = {},
): Normalized {
  requireSameDevice(
    "nativeBatchNorm",
    [x, runningMean, runningVariance, weight, bias].filter((t) => t !== null),
  );
  const output = batchNorm(x, runningMean, runningVariance, weight, bias, options);
  if (options.training === true) {
    const axes = x.shape.flatMap((_, i) => (i === 1 ? [] : [i]));
    return { output, ...statistics(x, axes, options.eps ?? 1e-5, false) };
  }
  const none = (): Tensor => zeros([0], { dtype: x.dtype, device: x.device });
  return { output, mean: none(), rstd: none() };
}
