/** Repeat interleave: the same number for all, or one for each. */
import { tie } from "../../autograd/tie.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger, type TypedArray } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { empty } from "../creation/creation.ts";
import { data, dataSync, toDType } from "../data/conversion.ts";
import { indexSelect } from "../index/gather.ts";
import { repeatEach } from "./join.ts";
import { broadcastTo, flatten, reshape } from "./movement.ts";
import { refuseTraced } from "../index/nonzero.ts";
import { arange, existingAxis } from "../creation/ranges.ts";
import { cumsum } from "../scan/cumulative.ts";
import { searchsorted } from "../sort/search.ts";
import { clampMax } from "../elementwise/where.ts";

/** Options of repeatInterleave(). Reference: torch.repeat_interleave. */
export interface RepeatOptions {
  /** The length of the result along the axis: nothing has to be read. Rows that are missing repeat the last one. */
  readonly outputSize?: number | undefined;
  /** @deprecated Use outputSize. */
  readonly size?: number | undefined;
}

interface Counted {
  readonly x: Tensor;
  readonly axis: number;
  readonly times: Tensor;
}

function checked(operation: string, x: Tensor, times: Tensor, axis: number | null): Counted {
  if (!isInteger(times.dtype)) throw new DTypeError(operation, "times", "of an integer dtype", times.describe());
  requireSameDevice(operation, [x, times]);
  const seen = axis === null ? flatten(x) : x;
  const a = existingAxis(operation, seen, axis ?? 0);
  const n = seen.shape[a]!;
  if (times.rank > 1 || (times.size !== 1 && times.size !== n))
    throw new ShapeError(operation, "times", `[${n}], one for each index of axis ${a}, or one for all`, times.describe());
  return { x: seen, axis: a, times: toDType(broadcastTo(reshape(times, [times.size]), [n]), "int32") };
}

/** total: the sum of times, or a length that is wished for. */
function spread({ x, axis, times }: Counted, total: number): Tensor {
  const shape = x.shape.map((d, i) => (i === axis ? total : d));
  if (shape.includes(0) || x.size === 0)
    return tie(empty(shape, { dtype: x.dtype, device: x.device }), x, x.size === 0 ? "linear" : "zero");
  const from = searchsorted(cumsum(times, 0, { dtype: "int32" }), arange(total, { dtype: "int32", device: x.device }), { right: true });
  return indexSelect(x, axis, clampMax(from, x.shape[axis]! - 1));
}

function sumOf(operation: string, times: TypedArray): number {
  let total = 0;
  for (const n of times) {
    if (n < 0) throw new ValueError(operation, "times", "numbers of at least 0", n);
    total += Number(n);
  }
  return total;
}

/**
 * Each element so many times in a row along an axis; without an axis of the flattened tensor. times: a number, or a tensor of one for each
 * index, which gives a promise, since the length depends on it; or with `outputSize` a result of that length at once. Gradients flow to x.
 * Reference: torch.repeat_interleave.
 */
export function repeatInterleave(x: Tensor, times: number, axis?: number | null): Tensor;
export function repeatInterleave(x: Tensor, times: Tensor, axis: number | null, options: RepeatOptions): Tensor;
export function repeatInterleave(x: Tensor, times: Tensor, axis?: number | null): Promise<Tensor>;
export function repeatInterleave(
  x: Tensor,
  times: number | Tensor,
  axis: number | null = null,
  options?: RepeatOptions,
): Tensor | Promise<Tensor> {
  if (!(times instanceof Tensor)) return repeatEach(x, times, axis);
  const counted = checked("repeatInterleave", x, times, axis);
  if (options !== undefined) {
    const { outputSize } = options;
    if (outputSize === undefined || !Number.isInteger(outputSize) || outputSize < 0)
      throw new ValueError("repeatInterleave", "outputSize", "an integer of at least 0", outputSize);
    return spread(counted, outputSize);
  }
  refuseTraced("repeatInterleave");
  return data(counted.times).then((list) => spread(counted, sumOf("repeatInterleave", list)));
}

/** repeatInterleave() by a tensor of numbers, blocking until they are known. */
export function repeatInterleaveSync(x: Tensor, times: Tensor, axis: number | null = null): Tensor {
  const counted = checked("repeatInterleaveSync", x, times, axis);
  refuseTraced(
    "repeatInterleaveSync",
    "outputSize",
    "Use repeatInterleave(x, times, axis, { outputSize }), whose result is of that length.",
  );
  return spread(counted, sumOf("repeatInterleaveSync", dataSync(counted.times)));
}

export const methods = { repeatInterleaveSync };
/** A tensor, or a promise where the length has to be read. */
export const overloaded = { repeatInterleave };

declare module "../../core/tensor.ts" {
  interface Tensor {
    /** Each element repeated along an axis; a promise where the repeats are a tensor and `outputSize` is not given. */
    repeatInterleave(times: number, axis?: number | null): Tensor;
    repeatInterleave(times: Tensor, axis: number | null, options: RepeatOptions): Tensor;
    repeatInterleave(times: Tensor, axis?: number | null): Promise<Tensor>;
  }
}
