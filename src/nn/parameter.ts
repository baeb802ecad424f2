/** Parameter: a tensor that a module learns. */
import { DTypeError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import { holdParameter } from "../core/holders.ts";
import { requireChangeable } from "../core/inference.ts";
import { keep } from "../core/scope.ts";
import { Tensor } from "../core/tensor.ts";

/** A leaf that requires a gradient. Shares the storage of the tensor that it is made of; no scope disposes of it. */
export class Parameter extends Tensor {
  constructor(
    data: Tensor,
    {
      requiresGrad = true,
    }: {
      /** Whether it requires a gradient. Default: true. */
      readonly requiresGrad?: boolean | undefined;
    } = {},
  ) {
    data.requireLive("Parameter", "data");
    if (requiresGrad && !isFloat(data.dtype)) throw new DTypeError("Parameter", "data", "of a floating dtype", data.describe());
    if (requiresGrad) requireChangeable(data, "Parameter", "data");
    super(data.storage, data.desc, data.offset);
    this.leafRequiresGrad = requiresGrad;
    keep(this);
    holdParameter(this);
  }
}

/** Sets whether the parameters require gradients: all, or none where one may not. @package */
export function setRequiresGrad(operation: string, parameters: readonly Parameter[], requires: boolean): void {
  if (requires) for (const p of parameters) requireChangeable(p, operation, "parameter");
  for (const p of parameters) p.leafRequiresGrad = requires;
}
