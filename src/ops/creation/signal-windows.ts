/** Window functions of signal processing. */
import { isFloat } from "../../core/dtype.ts";
import { DTypeError, ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { ones, tensor, type TensorOptions } from "./creation.ts";
import { toDType } from "../data/conversion.ts";
import { arange } from "./ranges.ts";
import { i0 } from "../special/bessel.ts";
import { abs, cos, sqrt, square } from "../elementwise/unary.ts";
import { clampMin } from "../elementwise/where.ts";

/** Options of functions that make windows. */
export interface WindowOptions extends TensorOptions {
  /** Whether the window is one period, for transforms, instead of symmetric. Default: true. */
  readonly periodic?: boolean | undefined;
}

function window(
  operation: string,
  length: number,
  { periodic = true, ...options }: WindowOptions,
  make: (position: Tensor, span: number) => Tensor,
): Tensor {
  if (!Number.isInteger(length) || length < 0) throw new ValueError(operation, "length", "an integer of at least 0", length);
  const dtype = options.dtype ?? "float32";
  if (!isFloat(dtype)) throw new DTypeError(operation, "dtype", "a floating one", dtype);
  if (length < 2) return ones([length], { ...options, dtype });
  const span = periodic ? length : length - 1;
  return toDType(make(arange(length, { dtype: "float32", device: options.device }), span), dtype);
}
/** The sum of the first cosines: a0 - a1 cos(2π n / span) + a2 cos(4π n / span). */
const cosines = (n: Tensor, span: number, a0: number, a1: number, a2 = 0): Tensor => {
  const first = sub(a0, mul(cos(mul(n, (2 * Math.PI) / span)), a1));
  return a2 === 0 ? first : add(first, mul(cos(mul(n, (4 * Math.PI) / span)), a2));
};

/** Hann's window. Reference: torch.hann_window. DirectML: ELEMENT_WISE_COS. */
export const hannWindow = (length: number, options: WindowOptions = {}): Tensor =>
  window("hannWindow", length, options, (n, span) => cosines(n, span, 0.5, 0.5));
/** alpha - beta cos(2π n / span). Reference: torch.hamming_window. DirectML: ELEMENT_WISE_COS. */
export const hammingWindow = (
  length: number,
  {
    alpha = 0.54,
    beta = 0.46,
    ...options
  }: WindowOptions & {
    /** The constant part. Default: 0.54. */
    readonly alpha?: number | undefined; /** The factor of the cosine. Default: 0.46. */
    readonly beta?: number | undefined;
  } = {},
): Tensor => window("hammingWindow", length, options, (n, span) => cosines(n, span, alpha, beta));
/** Blackman's window. Reference: torch.blackman_window. DirectML: ELEMENT_WISE_COS. */
export const blackmanWindow = (length: number, options: WindowOptions = {}): Tensor =>
  window("blackmanWindow", length, options, (n, span) => cosines(n, span, 0.42, 0.5, 0.08));
/** A triangle. Reference: torch.bartlett_window. DirectML: ELEMENT_WISE_ABS. */
export const bartlettWindow = (length: number, options: WindowOptions = {}): Tensor =>
  window("bartlettWindow", length, options, (n, span) => sub(1, abs(sub(mul(n, 2 / span), 1))));
/** Kaiser's window: I0(beta sqrt(1 - t²)) / I0(beta). beta: default 12. Reference: torch.kaiser_window. DirectML: as i0. */
export const kaiserWindow = (
  length: number,
  {
    beta = 12,
    ...options
  }: WindowOptions & {
    /** The window's shape: the larger, the narrower. Default: 12. */
    readonly beta?: number | undefined;
  } = {},
): Tensor =>
  window("kaiserWindow", length, options, (n, span) => {
    const t = sub(mul(n, 2 / span), 1);
    return div(i0(mul(sqrt(clampMin(sub(1, square(t)), 0)), beta)), i0(tensor(beta, { device: n.device })));
  });
