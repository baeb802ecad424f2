/** Parameter: a tensor that a module learns. */
import { DTypeError } from "../errors.ts";
import { isFloat } from "../dtype.ts";
import { holdParameter } from "../holders.ts";
import { keep } from "../scope.ts";
import { Tensor } from "../tensor.ts";

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
    data.demandLive("Parameter", "data");
    if (requiresGrad && !isFloat(data.dtype)) throw new DTypeError("Parameter", "data", "of a floating dtype", data.describe());
    super(data.storage, data.desc, data.offset);
    this.leafRequiresGrad = requiresGrad;
    keep(this);
    holdParameter(this);
  }
}
