/** Instance normalization. @functional */
import { isGradEnabled, noGrad } from "../../autograd/grad-mode.ts";
import { assign } from "../../dispatch/dispatch.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { toDType } from "../data/conversion.ts";
import { normalizeGroups } from "./group-norm.ts";
import { batchNorm } from "./batch-layer-norm.ts";
import { mean } from "../reduce/reduce.ts";
import { clone } from "../data/state.ts";
import { variance } from "../reduce/statistics.ts";

/** Options of instanceNorm(). Reference: torch.nn.functional.instance_norm. */
export interface InstanceNormOptions {
  /** Added to the variance. Default: 1e-5. */
  readonly eps?: number | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | undefined;

  /** [C]: updated towards the mean of the samples' statistics, or used instead of them. */
  readonly runningMean?: Tensor | null | undefined;
  /** [C]: the running variance, which is read or updated. Default: null. */
  readonly runningVar?: Tensor | null | undefined;
  /** @deprecated Use runningVar. */
  readonly runningVariance?: Tensor | null | undefined;

  /** Whether x's own statistics are used, and the running ones updated. Default: true. */
  readonly useInputStats?: boolean | undefined;
  /** Share of x in the running statistics. Default: 0.1. */
  readonly momentum?: number | undefined;
}

/**
 * (x - mean) / sqrt(variance + epsilon) * weight + bias for each channel of each sample, over the spatial axes. x: [N, C, ...],
 * floating. DirectML: MEAN_VARIANCE_NORMALIZATION1; BATCH_NORMALIZATION by running statistics. Reference: torch.nn.functional.instance_norm.
 */
export function instanceNorm(
  x: Tensor,
  weight: Tensor | null = null,
  bias: Tensor | null = null,
  options: InstanceNormOptions = {},
): Tensor {
  const { eps: epsilon = 1e-5, runningMean = null, runningVar: runningVariance = null, useInputStats = true, momentum = 0.1 } = options;
  if (x.rank < 3) throw new ShapeError("instanceNorm", "x", "[N, C, ...] with at least one spatial axis", x.describe());
  if (!useInputStats) return batchNorm(x, runningMean, runningVariance, weight, bias, { eps: epsilon });
  const spatial = x.shape.slice(2);
  if (spatial.every((d) => d === 1)) throw new ValueError("instanceNorm", "x", "of more than one spatial element", x.describe());
  // A copy of the weight is saved: the caller's own may change before backward(), as in PyTorch.
  const isSaved = isGradEnabled() && [x, weight, bias].some((t) => t?.requiresGrad === true);
  const saved = weight !== null && isSaved ? clone(weight) : weight;
  const y = normalizeGroups(x, x.shape[1]!, saved, bias, { epsilon, isInstance: true });
  const move = (running: Tensor | null, value: () => Tensor): void => {
    if (running !== null)
      assign("instanceNorm", running, () =>
        // Half precision is rounded once.
        toDType(add(mul(toDType(running, "float32"), 1 - momentum), mul(value(), momentum)), running.dtype),
      );
  };
  const axes = spatial.map((_, i) => i + 2);
  noGrad(() => {
    const wide = toDType(x, "float32");
    move(runningMean, () => mean(mean(wide, axes), 0));
    move(runningVariance, () => mean(variance(wide, axes), 0));
  });
  return y;
}
