/** The frequencies of a transform's elements, and their order. */
import { fromParts } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import { isFloat } from "../core/dtype.ts";
import { DTypeError, ValueError } from "../core/errors.ts";
import { tensor, type TensorOptions } from "../ops/creation/creation.ts";
import { roll } from "../ops/shape/join.ts";
import { normalizeAxes } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { lengthOf, type Numbers } from "./along.ts";

/** Options of fft.fftshift() and fft.ifftshift(). */
export interface ShiftOptions {
  /** Default: all. */
  readonly axes?: number | readonly number[] | undefined;
  /** axes by its PyTorch name. @alias axes */
  readonly dim?: number | readonly number[] | undefined;
}

function shifted(operation: string, x: Numbers, { axes }: ShiftOptions, by: (n: number) => number): Numbers {
  const list = normalizeAxes(operation, axes ?? null, x.rank);
  const move = (t: Tensor): Tensor =>
    roll(
      t,
      list.map((a) => by(t.shape[a]!)),
      list,
    );
  return x instanceof ComplexTensor ? fromParts(move(x.re), move(x.im)) : move(x);
}

/** The frequency 0 to the middle of the axes. Any dtype. DirectML: JOIN. Reference: torch.fft.fftshift. */
export const fftshift = <T extends Numbers>(x: T, options: ShiftOptions = {}): T =>
  shifted("fftshift", x, options, (n) => Math.floor(n / 2)) as T;
/** The inverse of fftshift. Reference: torch.fft.ifftshift. */
export const ifftshift = <T extends Numbers>(x: T, options: ShiftOptions = {}): T =>
  shifted("ifftshift", x, options, (n) => Math.ceil(n / 2)) as T;

/** Options of fft.fftfreq() and fft.rfftfreq(). */
export interface FrequencyOptions extends TensorOptions {
  /** The distance of neighbours in time. Default: 1. */
  readonly d?: number | undefined;
}

function frequencies(
  operation: string,
  n: number,
  { d = 1, ...options }: FrequencyOptions,
  count: number,
  at: (i: number) => number,
): Tensor {
  if (typeof d !== "number" || Number.isNaN(d)) throw new ValueError(operation, "d", "a number", d);
  const dtype = options.dtype ?? "float32";
  if (!isFloat(dtype)) throw new DTypeError(operation, "dtype", "a floating one", dtype);
  const list = Array.from({ length: count }, (_, i) => at(i) / (n * d));
  return tensor(list, { ...options, dtype, shape: [count] });
}

/** The frequencies of fft's n elements: 0, 1, …, then the negative ones, over n d. Reference: torch.fft.fftfreq. */
export const fftfreq = (n: number, options: FrequencyOptions = {}): Tensor =>
  frequencies("fftfreq", lengthOf("fftfreq", n), options, n, (i) => (i < Math.ceil(n / 2) ? i : i - n));
/** The frequencies of rfft's floor(n / 2) + 1 elements: 0, 1, …, over n d. Reference: torch.fft.rfftfreq. */
export const rfftfreq = (n: number, options: FrequencyOptions = {}): Tensor =>
  frequencies("rfftfreq", lengthOf("rfftfreq", n), options, Math.floor(n / 2) + 1, (i) => i);
