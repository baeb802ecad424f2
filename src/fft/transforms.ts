/** Transforms along one axis. DirectML: GEMM, ELEMENT_WISE_MULTIPLY, ELEMENT_WISE_ADD, ELEMENT_WISE_SUBTRACT. See docs/fft.md. */
import { ofPairs } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  along,
  asParts,
  axisOf,
  complexResult,
  lengthOf,
  realOf,
  realResult,
  scaleOf,
  spectraOf,
  type Along,
  type Direction,
  type Norm,
  type Numbers,
  type Spectra,
} from "./along.ts";

/** Options of transforms along one axis: fft.fft(), fft.rfft() and their inverses. */
export interface FftOptions {
  /** Length of the transform: x is cut or padded with zeros. Default: that of x, of a half spectrum of m elements 2 (m - 1). */
  readonly n?: number | undefined;
  /** Default: the last. */
  readonly axis?: number | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | undefined;

  /** Default: "backward". */
  readonly norm?: Norm | undefined;
}

/** What one transform along an axis needs. */
interface Single {
  readonly axis: number;
  readonly n: number;
  readonly norm: Norm;
  readonly direction: Direction;
}

const signOf = (direction: Direction): -1 | 1 => (direction === "forward" ? -1 : 1);
const asked = (operation: string, { axis, n, norm, direction }: Single): Along => ({
  axis,
  n,
  sign: signOf(direction),
  scale: scaleOf(operation, norm, n, direction),
});

/** Complex or real numbers to complex ones. */
export const whole = (operation: string, x: Spectra, single: Single): Spectra => along(x, asked(operation, single));

/** Real numbers to the first half of their spectrum. */
export const toHalf = (operation: string, x: Tensor, single: Single): Spectra =>
  along([x, null], { ...asked(operation, single), outputs: Math.floor(single.n / 2) + 1 });

/** The first half of a spectrum to real numbers: an element that stands for its conjugate too counts twice. */
export function fromHalf(operation: string, x: Spectra, single: Single): Tensor {
  const { axis, n } = single;
  const half = Math.floor(n / 2) + 1;
  const shorter = (t: Tensor): Tensor => (t.shape[axis]! <= half ? t : t.slice(axis, 0, half));
  const first: Spectra = x instanceof ComplexTensor ? ofPairs(x, shorter) : [shorter(x[0]), x[1] === null ? null : shorter(x[1])];
  return asParts(along(first, { ...asked(operation, single), to: "real", half: "input" }))[0];
}

function single(
  operation: string,
  x: Numbers,
  { n, axis = -1, norm = "backward" }: FftOptions,
  direction: Direction,
  lengthOfOutput = (d: number): number => d,
): Single {
  const a = axisOf(operation, x, axis);
  return { axis: a, n: lengthOf(operation, n ?? lengthOfOutput(x.shape[a]!)), norm, direction };
}

/** From the length of a half spectrum to that of the whole. */
export const wholeLength = (half: number): number => 2 * (half - 1);

/** sum of x_j exp(-2πi jk / n) for each k. x: real or complex. Reference: torch.fft.fft. */
export function fft(x: Numbers, options: FftOptions = {}): ComplexTensor {
  const s = single("fft", x, options, "forward");
  return complexResult(whole("fft", spectraOf("fft", x), s), x);
}

/** The inverse of fft: sum of x_j exp(2πi jk / n), over n. Reference: torch.fft.ifft. */
export function ifft(x: Numbers, options: FftOptions = {}): ComplexTensor {
  const s = single("ifft", x, options, "inverse");
  return complexResult(whole("ifft", spectraOf("ifft", x), s), x);
}

/** fft of real numbers: its first floor(n / 2) + 1 elements; the rest are their conjugates. Reference: torch.fft.rfft. */
export function rfft(x: Tensor, options: FftOptions = {}): ComplexTensor {
  const s = single("rfft", x, options, "forward");
  return complexResult(toHalf("rfft", realOf("rfft", x, "fft"), s), x);
}

/** The inverse of rfft, to n real numbers (give n where it is odd). Reference: torch.fft.irfft. */
export function irfft(x: Numbers, options: FftOptions = {}): Tensor {
  const s = single("irfft", x, options, "inverse", wholeLength);
  return realResult(fromHalf("irfft", spectraOf("irfft", x), s), x);
}

/** fft of n numbers of which x has the first half and whose rest are the conjugates: n real numbers. Reference: torch.fft.hfft. */
export function hfft(x: Numbers, options: FftOptions = {}): Tensor {
  const s = single("hfft", x, options, "forward", wholeLength);
  return realResult(fromHalf("hfft", spectraOf("hfft", x), s), x);
}

/** The inverse of hfft: the first half of ifft's result for real numbers. Reference: torch.fft.ihfft. */
export function ihfft(x: Tensor, options: FftOptions = {}): ComplexTensor {
  const s = single("ihfft", x, options, "inverse");
  return complexResult(toHalf("ihfft", realOf("ihfft", x, "ifft"), s), x);
}
