/** Reverse sequence and hardmax. */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { sub } from "../elementwise/binary.ts";
import { lt } from "../elementwise/compare.ts";
import { onesLike } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { argmax } from "../reduce/extrema.ts";
import { gather } from "../index/gather.ts";
import { expand, movedim, reshape } from "../shape/movement.ts";
import { arange, oneHotOf } from "../creation/ranges.ts";
import { clone } from "../data/state.ts";
import { requireFloat } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";

/** Options of reverseSequence(). */
export interface ReverseOptions {
  /** The axis along which sequences run. Default: 1. */
  readonly axis?: number | undefined;
  /** The axis of sequences. Default: 0. */
  readonly batchAxis?: number | undefined;
}

/**
 * Each sequence's first `length` elements in reverse order; what lies behind them stays. lengths: [sequences], integers. Gradients flow to x.
 * DirectML: GATHER_ELEMENTS. Reference: ONNX ReverseSequence.
 */
export function reverseSequence(x: Tensor, lengths: Tensor, { axis = 1, batchAxis = 0 }: ReverseOptions = {}): Tensor {
  const a = normalizeAxis("reverseSequence", axis, x.rank);
  const b = normalizeAxis("reverseSequence", batchAxis, x.rank);
  if (a === b) throw new ValueError("reverseSequence", "axis", "another than batchAxis", axis);
  if (!isInteger(lengths.dtype)) throw new DTypeError("reverseSequence", "lengths", "of an integer dtype", lengths.describe());
  requireSameDevice("reverseSequence", [x, lengths]);
  if (lengths.rank !== 1 || lengths.size !== x.shape[b])
    throw new ShapeError("reverseSequence", "lengths", `[${x.shape[b]}], one for each sequence`, lengths.describe());
  if (x.size === 0) return clone(x);
  const along = (t: Tensor, at: number): Tensor =>
    reshape(
      t,
      x.shape.map((d, i) => (i === at ? d : 1)),
    );
  const position = along(arange(x.shape[a]!, { dtype: "int32", device: x.device }), a);
  const length = along(toDType(lengths, "int32"), b);
  const from = where(lt(position, length), sub(sub(length, 1), position), position);
  return gather(x, a, clone(expand(from, x.shape)));
}

/** 1 at the first largest element along an axis, 0 elsewhere, in x's dtype. Reference: ONNX Hardmax. */
export function hardmax(x: Tensor, axis = -1): Tensor {
  requireFloat("hardmax", x);
  const a = normalizeAxis("hardmax", axis, x.rank);
  if (x.rank === 0) return onesLike(x);
  return movedim(oneHotOf(argmax(x, a), x.shape[a]!, x.dtype), -1, a);
}

export const methods = { reverseSequence, hardmax };
