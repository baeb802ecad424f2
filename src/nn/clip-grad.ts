/** Gradient clipping: by the norm over all parameters, or each element for itself. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ValueError } from "../core/errors.ts";
import { add, div } from "../ops/elementwise/binary.ts";
import { zeros } from "../ops/creation/creation.ts";
import { itemSync, to, toDType } from "../ops/data/conversion.ts";
import { stack } from "../ops/shape/join.ts";
import { norm } from "../ops/reduce/statistics.ts";
import { clampMax } from "../ops/elementwise/where.ts";
import { Tensor } from "../core/tensor.ts";

/** A tensor, or several. */
export type TensorOrTensors = Tensor | Iterable<Tensor>;

const listed = (tensors: TensorOrTensors): Tensor[] => (tensors instanceof Tensor ? [tensors] : [...tensors]);
const gradientsOf = (parameters: TensorOrTensors): Tensor[] => listed(parameters).flatMap((p) => p.grad ?? []);

/** Options of clipGradNorm_(). */
export interface NormOptions {
  /** Order of the norm; Infinity for the largest element. Default 2. */
  readonly normType?: number | undefined;
  /** Throw when the norm is infinite or NaN; it is read for that, which waits. Default false. */
  readonly errorIfNonfinite?: boolean | undefined;
}

/**
 * The norm of all tensors as if they were one vector; 0 without tensors. On the first one's device.
 * Throws ValueError with errorIfNonfinite. Reference: torch.nn.utils.get_total_norm.
 */
export function getTotalNorm(tensors: TensorOrTensors, { normType = 2, errorIfNonfinite = false }: NormOptions = {}): Tensor {
  const list = listed(tensors).filter((t) => t.size > 0);
  if (typeof normType !== "number" || Number.isNaN(normType)) throw new ValueError("getTotalNorm", "normType", "a number", normType);
  const total = noGrad(() => {
    if (list.length === 0) return zeros([]);
    const [{ device }] = list as [Tensor];
    const isMixed = list.some((t) => t.dtype !== list[0]!.dtype);
    const norms = list.map((t) => to(isMixed ? toDType(norm(t, normType), "float32") : norm(t, normType), device));
    return norm(stack(norms), normType);
  });
  if (errorIfNonfinite && !Number.isFinite(itemSync(total)))
    throw new ValueError(
      "getTotalNorm",
      "tensors",
      `of a finite norm of order ${normType}`,
      itemSync(total),
      "Without errorIfNonfinite they are scaled by it anyway.",
    );
  return total;
}

/** A negative limit would turn gradients round. */
function requireLimit(operation: string, argument: string, limit: number): void {
  if (typeof limit !== "number" || !(limit >= 0)) throw new ValueError(operation, argument, "a number of at least 0", limit);
}

/**
 * Multiplies the gradients by min(1, maxNorm / (totalNorm + 1e-6)), in place. Throws ValueError for a negative maxNorm.
 * totalNorm: what getTotalNorm gave. Reference: torch.nn.utils.clip_grads_with_norm_.
 */
export function clipGradsWithNorm_(parameters: TensorOrTensors, maxNorm: number, totalNorm: Tensor): void {
  requireLimit("clipGradsWithNorm_", "maxNorm", maxNorm);
  const gradients = gradientsOf(parameters);
  if (gradients.length === 0) return;
  noGrad(() => {
    const factor = clampMax(div(maxNorm, add(totalNorm, 1e-6)), 1);
    for (const g of gradients) g.mul_(to(factor, g.device));
  });
}

/**
 * Scales the gradients of all parameters, in place, so that their norm as one vector is at most maxNorm; parameters without a gradient
 * do not count. Result: the norm before. Throws ValueError for a negative maxNorm, and with errorIfNonfinite. Reference: torch.nn.utils.clip_grad_norm_.
 */
export function clipGradNorm_(parameters: TensorOrTensors, maxNorm: number, options: NormOptions = {}): Tensor {
  requireLimit("clipGradNorm_", "maxNorm", maxNorm);
  const list = listed(parameters);
  const total = getTotalNorm(gradientsOf(list), options);
  clipGradsWithNorm_(list, maxNorm, total);
  return total;
}

/** Limits each element of the gradients to [-clipValue, clipValue], in place. Throws ValueError for a negative clipValue. Reference: torch.nn.utils.clip_grad_value_. */
export function clipGradValue_(parameters: TensorOrTensors, clipValue: number): void {
  requireLimit("clipGradValue_", "clipValue", clipValue);
  noGrad(() => {
    for (const g of gradientsOf(parameters)) g.clamp_(-clipValue, clipValue);
  });
}
