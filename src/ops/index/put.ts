/** Put: writing by flat index. */
import { tie } from "../../autograd/tie.ts";
import { asResult } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { reshape } from "../shape/movement.ts";
import { wrapped } from "./nonzero.ts";
import { scatter, scatterAdd } from "./scatter.ts";
import { clone } from "../data/state.ts";

/**
 * x with source's elements at indices of flattened x, which may count from the end; index and source have as many elements. Of equal indices
 * any one wins, unless accumulate adds them all. Gradients flow to x and source. Reference: torch.Tensor.put.
 */
export function put(
  x: Tensor,
  index: Tensor,
  source: Tensor,
  {
    accumulate = false,
  }: {
    /** Whether values are added instead of set, those of equal indices too. Default: false. */
    readonly accumulate?: boolean | undefined;
  } = {},
): Tensor {
  if (source.dtype !== x.dtype) throw new DTypeError("put", "source", `of dtype ${x.dtype}, like x`, source.describe());
  if (source.size !== index.size) throw new ShapeError("put", "source", `of ${index.size} elements, one for each index`, source.describe());
  const indices = wrapped("put", index, x.size);
  if (index.size === 0) return tie(clone(x), source, "linear");
  const [flat, at, values] = [x, indices, source].map((t) => reshape(t, [-1])) as [Tensor, Tensor, Tensor];
  return asResult(reshape(accumulate ? scatterAdd(flat, 0, at, values) : scatter(flat, 0, at, values), x.shape));
}

export const methods = { put };
export const inPlaceMethods = { put_: put };
