/** Transforms along several axes, one after the other. Half spectra are halves along the last axis listed. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { normalizeAxis, showShape } from "../core/shape.ts";
import { zerosLike } from "../ops/creation/creation.ts";
import type { Tensor } from "../core/tensor.ts";
import { complexResult, lengthOf, spectraOf, realOf, realResult, type Direction, type Norm, type Numbers, type Spectra } from "./along.ts";
import { fromHalf, toHalf, whole, wholeLength } from "./transforms.ts";

/** Options of transforms along several axes: fft.fft2(), fft.fftn() and their inverses. */
export interface FftnOptions {
  /** Length of the transform along each axis; -1: that of x. Default: that of x, of a half spectrum of m elements 2 (m - 1). */
  readonly s?: readonly number[] | undefined;
  /** Default: the last ones, as many as s lists; without s all (the last two for fft2 and its like). */
  readonly axes?: readonly number[] | undefined;
  /** axes by its PyTorch name. @alias axes */
  readonly dim?: readonly number[] | undefined;

  /** Default: "backward". */
  readonly norm?: Norm | undefined;
}

interface Several {
  readonly axes: readonly number[];
  readonly lengths: readonly number[];
  readonly norm: Norm;
}

function several(operation: string, x: Numbers, { s, axes, norm = "backward" }: FftnOptions, isHalf = false): Several {
  const count = s?.length ?? x.rank;
  if (axes === undefined && count > x.rank) throw new ValueError(operation, "s", `at most one length for each of ${x.rank} axes`, s);
  const list = (axes ?? Array.from({ length: count }, (_, i) => x.rank - count + i)).map((a) =>
    normalizeAxis(operation, a, x.rank, "axes"),
  );
  if (x.rank === 0 && list.length > 0) throw new ShapeError(operation, "x", "of at least one axis", x.describe());
  if (new Set(list).size !== list.length) throw new ValueError(operation, "axes", "a list without repeats", axes);
  if (s !== undefined && s.length !== list.length) throw new ValueError(operation, "s", `a length for each of ${list.length} axes`, s);
  const lengths = list.map((a, i) => {
    const requested = s?.[i] ?? -1;
    const own = isHalf && i === list.length - 1 ? wholeLength(x.shape[a]!) : x.shape[a]!;
    return lengthOf(
      operation,
      requested === -1 ? own : requested,
      s === undefined ? `length of x ${showShape(x.shape)} along axis ${a}` : "s",
    );
  });
  return { axes: list, lengths, norm };
}

/** Along all of the axes but the last `kept` of the list. */
function over(operation: string, x: Spectra, { axes, lengths, norm }: Several, direction: Direction, kept: number): Spectra {
  let result = x;
  for (let i = axes.length - 1 - kept; i >= 0; i--) result = whole(operation, result, { axis: axes[i]!, n: lengths[i]!, norm, direction });
  return result;
}

const lastOf = (operation: string, x: Numbers, { axes, lengths, norm }: Several): { axis: number; n: number; norm: Norm } => {
  if (axes.length === 0) throw new ValueError(operation, "axes", "at least one axis", x.describe());
  return { axis: axes.at(-1)!, n: lengths.at(-1)!, norm };
};

function complexToComplex(operation: string, x: Numbers, options: FftnOptions, direction: Direction): ComplexTensor {
  const all = several(operation, x, options);
  const y = over(operation, spectraOf(operation, x), all, direction, 0);
  if (y instanceof ComplexTensor) return complexResult(y, x);
  const [re, im] = y;
  return complexResult([re, im ?? zerosLike(re)], x);
}

function realToHalf(operation: string, x: Tensor, options: FftnOptions, direction: Direction, instead: string): ComplexTensor {
  const all = several(operation, x, options);
  const last = lastOf(operation, x, all);
  const half = toHalf(operation, realOf(operation, x, instead), { ...last, direction });
  return complexResult(over(operation, half, all, direction, 1), x);
}

function halfToReal(operation: string, x: Numbers, options: FftnOptions, direction: Direction): Tensor {
  const all = several(operation, x, options, true);
  const last = lastOf(operation, x, all);
  return realResult(fromHalf(operation, over(operation, spectraOf(operation, x), all, direction, 1), { ...last, direction }), x);
}

const plane = (options: FftnOptions): FftnOptions => ({ ...options, axes: options.axes ?? [-2, -1] });

/** fft along several axes. Reference: torch.fft.fftn. */
export const fftn = (x: Numbers, options: FftnOptions = {}): ComplexTensor => complexToComplex("fftn", x, options, "forward");
/** ifft along several axes. Reference: torch.fft.ifftn. */
export const ifftn = (x: Numbers, options: FftnOptions = {}): ComplexTensor => complexToComplex("ifftn", x, options, "inverse");
/** rfft along the last axis listed, fft along the others. Reference: torch.fft.rfftn. */
export const rfftn = (x: Tensor, options: FftnOptions = {}): ComplexTensor => realToHalf("rfftn", x, options, "forward", "fftn");
/** The inverse of rfftn. Reference: torch.fft.irfftn. */
export const irfftn = (x: Numbers, options: FftnOptions = {}): Tensor => halfToReal("irfftn", x, options, "inverse");
/** hfft along the last axis listed, fft along the others. Reference: torch.fft.hfftn. */
export const hfftn = (x: Numbers, options: FftnOptions = {}): Tensor => halfToReal("hfftn", x, options, "forward");
/** The inverse of hfftn. Reference: torch.fft.ihfftn. */
export const ihfftn = (x: Tensor, options: FftnOptions = {}): ComplexTensor => realToHalf("ihfftn", x, options, "inverse", "ifftn");

/** fftn along two axes, the last ones by default. Reference: torch.fft.fft2. */
export const fft2 = (x: Numbers, options: FftnOptions = {}): ComplexTensor => complexToComplex("fft2", x, plane(options), "forward");
/** ifftn along two axes. Reference: torch.fft.ifft2. */
export const ifft2 = (x: Numbers, options: FftnOptions = {}): ComplexTensor => complexToComplex("ifft2", x, plane(options), "inverse");
/** rfftn along two axes. Reference: torch.fft.rfft2. */
export const rfft2 = (x: Tensor, options: FftnOptions = {}): ComplexTensor => realToHalf("rfft2", x, plane(options), "forward", "fft2");
/** irfftn along two axes. Reference: torch.fft.irfft2. */
export const irfft2 = (x: Numbers, options: FftnOptions = {}): Tensor => halfToReal("irfft2", x, plane(options), "inverse");
/** hfftn along two axes. Reference: torch.fft.hfft2. */
export const hfft2 = (x: Numbers, options: FftnOptions = {}): Tensor => halfToReal("hfft2", x, plane(options), "forward");
/** ihfftn along two axes. Reference: torch.fft.ihfft2. */
export const ihfft2 = (x: Tensor, options: FftnOptions = {}): ComplexTensor => realToHalf("ihfft2", x, plane(options), "inverse", "ifft2");
