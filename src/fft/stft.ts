/** Short-time Fourier transform: transforms of overlapping frames of a signal, and back. */
import { ComplexTensor } from "../core/complex-tensor.ts";
import { viewAsReal } from "../complex/make.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { asResult, requireSameDevice } from "../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { add, div, mul } from "../ops/elementwise/binary.ts";
import { ones } from "../ops/creation/creation.ts";
import { itemSync, toDType } from "../ops/data/conversion.ts";
import { amin } from "../ops/reduce/extrema.ts";
import { cat } from "../ops/shape/join.ts";
import { expand, narrow, reshape, transpose } from "../ops/shape/movement.ts";
import { pad, type PadMode } from "../ops/shape/pad.ts";
import { abs } from "../ops/elementwise/unary.ts";
import { checksValues } from "../runtime/index-check.ts";
import { scope } from "../core/scope.ts";
import { showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { asParts, complexResult, partsOf, realResult, type Norm, type Numbers } from "./along.ts";
import type { Parts } from "./dft.ts";
import { fromHalf, toHalf, whole } from "./transforms.ts";

interface WindowedOptions {
  /** Distance from one frame to the next. Default: floor(nFft / 4). */
  readonly hopLength?: number | undefined;
  /** Length of the window, in the middle of a frame. Default: nFft. */
  readonly winLength?: number | undefined;
  /** Default: ones. */
  readonly window?: Tensor | null | undefined;
  /** Whether frame t has its middle at t hopLength: the signal is padded by nFft / 2 elements on both sides. Default: true. */
  readonly center?: boolean | undefined;
  /** Whether each transform is divided by sqrt(nFft). Default: false. */
  readonly normalized?: boolean | undefined;
  /** Whether only the first half of each spectrum is computed. Default: true for real signals. */
  readonly onesided?: boolean | undefined;
}

/** Options of stft(). Reference: torch.stft. */
export interface StftOptions extends WindowedOptions {
  /** How the signal is padded. Default: "reflect". */
  readonly padMode?: PadMode | undefined;
  /** false: pairs of real numbers, [..., 2]. Default: true. */
  readonly returnComplex?: boolean | undefined;
}

/** Options of istft(). Reference: torch.istft. */
export interface IstftOptions extends WindowedOptions {
  /** Length of the signal: it is cut or padded with zeros. Default: as the frames give it. */
  readonly length?: number | undefined;
  /** Whether the signal is complex: then the spectra must be whole. Default: false. */
  readonly returnComplex?: boolean | undefined;
}

interface Framing {
  readonly nFft: number;
  readonly hop: number;
  /** [nFft]; null for ones. */
  readonly window: Tensor | null;
  readonly norm: Norm;
}

function framingOf(operation: string, x: Tensor, nFft: number, options: WindowedOptions): Framing {
  const whole = (argument: string, v: number, min: number, max: number): number => {
    if (!Number.isInteger(v) || v < min || v > max)
      throw new ValueError(operation, argument, max === Infinity ? `an integer of at least ${min}` : `an integer in [${min}, ${max}]`, v);
    return v;
  };
  whole("nFft", nFft, 1, Infinity);
  const hop = whole("hopLength", options.hopLength ?? Math.floor(nFft / 4), 1, Infinity);
  const length = whole("winLength", options.winLength ?? nFft, 1, nFft);
  const norm = options.normalized === true ? "ortho" : "backward";
  const custom = options.window ?? null;
  if (custom === null && length === nFft) return { nFft, hop, window: null, norm };
  if (custom !== null) {
    requireSameDevice(operation, [x, custom]);
    if (custom.rank !== 1 || custom.shape[0] !== length) throw new ShapeError(operation, "window", showShape([length]), custom.describe());
  }
  const window = toDType(custom ?? ones([length], { device: x.device }), "float32");
  const left = Math.floor((nFft - length) / 2);
  return { nFft, hop, window: length === nFft ? window : pad(window, [left, nFft - length - left]), norm };
}

/** x [B, L] as frames [B, T, nFft], one every `hop` elements. */
function frames(x: Tensor, nFft: number, hop: number): Tensor {
  const [batch, length] = x.shape as [number, number];
  const count = Math.floor((length - nFft) / hop) + 1;
  // In units of hop: each frame consists of this many adjacent blocks.
  const units = Math.ceil(nFft / hop);
  const needed = (count + units - 1) * hop;
  const resized = needed > length ? pad(x, [0, needed - length]) : narrow(x, 1, 0, needed);
  const blocks = reshape(resized, [batch, count + units - 1, hop]);
  const parts = Array.from({ length: units }, (_, i) => narrow(blocks, 1, i, count));
  return narrow(units === 1 ? parts[0]! : cat(parts, 2), 2, 0, nFft);
}

/** Overlap-add, the adjoint of frames(): [B, T, nFft] to [B, nFft + (T - 1) hop]. */
function overlapAdd(x: Tensor, hop: number): Tensor {
  const [batch, count, nFft] = x.shape as [number, number, number];
  const units = Math.ceil(nFft / hop);
  const full = units * hop === nFft ? x : pad(x, [0, units * hop - nFft]);
  const parts = Array.from({ length: units }, (_, i) => {
    const part = narrow(full, 2, i * hop, hop);
    return units === 1 ? part : pad(part, [0, 0, i, units - 1 - i]);
  });
  const blocks = parts.reduce((sum, part) => add(sum, part));
  return narrow(reshape(blocks, [batch, (count + units - 1) * hop]), 1, 0, nFft + (count - 1) * hop);
}

const eachPart = ([re, im]: Parts, fn: (t: Tensor) => Tensor): Parts => [fn(re), im === null ? null : fn(im)];

/**
 * The spectra of x's frames, each times the window: [..., frequencies, frames].
 *
 * x: [L] or [B, L], real or complex. Throws ShapeError where x is shorter than a frame. DirectML: as fft. Reference: torch.stft.
 */
export function stft(
  x: Numbers,
  nFft: number,
  options: StftOptions & {
    /** false: the result is real, with a last axis of real and imaginary parts. Default: true, a complex tensor. */
    readonly returnComplex: false;
  },
): Tensor;
export function stft(x: Numbers, nFft: number, options?: StftOptions): ComplexTensor;
export function stft(x: Numbers, nFft: number, options: StftOptions = {}): ComplexTensor | Tensor {
  const { center = true, padMode = "reflect", onesided = !(x instanceof ComplexTensor), returnComplex = true } = options;
  if (x.rank !== 1 && x.rank !== 2) throw new ShapeError("stft", "x", "[L] or [B, L]", x.describe());
  if (onesided && x instanceof ComplexTensor) throw new ValueError("stft", "onesided", "false for complex numbers", onesided);
  const signals = partsOf("stft", x);
  const { hop, window, norm } = framingOf("stft", signals[0], nFft, options);
  const half = Math.floor(nFft / 2);
  const batch = x.rank === 1 ? 1 : x.shape[0]!;
  const length = x.shape.at(-1)! + (center ? 2 * half : 0);
  if (x.size === 0 || nFft > length)
    throw new ShapeError("stft", "x", `of at least ${nFft} elements${center ? " with its padding" : ""}`, x.describe());
  const parts = eachPart(signals, (t) => {
    const signal = reshape(t, [batch, 1, t.shape.at(-1)!]);
    const wide = center && half > 0 ? pad(signal, [half, half], { mode: padMode }) : signal;
    const framed = frames(reshape(wide, [batch, length]), nFft, hop);
    return window === null ? framed : mul(framed, window);
  });
  const single = { axis: 2, n: nFft, norm, direction: "forward" as const };
  const spectra = asParts(onesided ? toHalf("stft", parts[0], single) : whole("stft", parts, single));
  const result = complexResult(
    eachPart(spectra, (t) => {
      const transposed = transpose(t, 1, 2);
      return asResult(x.rank === 1 ? reshape(transposed, transposed.shape.slice(1)) : transposed);
    }),
    x,
  );
  return returnComplex ? result : viewAsReal(result);
}

/** Throws for windows that leave an element out: no frame decides its value. Checked where indices are (docs/operations.md). */
function requireCovered(weight: Tensor): void {
  if (!checksValues(weight)) return;
  const min = scope(() => itemSync(noGrad(() => amin(abs(weight)))));
  if (min < MIN_WEIGHT)
    throw new ValueError(
      "istft",
      "window",
      "one whose overlapped squares have no sum of 0",
      min,
      "A smaller hopLength covers all elements.",
    );
}
const MIN_WEIGHT = 1e-11;

/**
 * The signal whose stft is nearest to z in the sense of least squares: the inverse transforms times the window are added and divided
 * by the sum of the windows' squares, which must not be zero within the result.
 *
 * z: [frequencies, frames] or [B, frequencies, frames]. DirectML: as ifft, PADDING. Reference: torch.istft.
 */
export function istft(
  z: ComplexTensor,
  nFft: number,
  options: IstftOptions & {
    /** true: the signal is complex, of a spectrum that is not one-sided. Default: false. */
    readonly returnComplex: true;
  },
): ComplexTensor;
export function istft(z: ComplexTensor, nFft: number, options?: IstftOptions): Tensor;
export function istft(z: ComplexTensor, nFft: number, options: IstftOptions = {}): Tensor | ComplexTensor {
  const { center = true, length, returnComplex = false } = options;
  if (!(z instanceof ComplexTensor)) throw new DTypeError("istft", "z", "complex", (z as Tensor).describe());
  const rank = z.rank;
  if ((rank !== 2 && rank !== 3) || z.size === 0)
    throw new ShapeError("istft", "z", "[frequencies, frames] or [B, frequencies, frames]", z.describe());
  const { hop, window, norm } = framingOf("istft", z.re, nFft, options);
  const half = Math.floor(nFft / 2);
  const [frequencies, count] = z.shape.slice(-2) as [number, number];
  const onesided = options.onesided ?? frequencies !== nFft;
  if (frequencies !== (onesided ? half + 1 : nFft))
    throw new ShapeError("istft", "z", `of ${onesided ? half + 1 : nFft} frequencies`, z.describe());
  if (returnComplex && onesided) throw new ValueError("istft", "onesided", "false where the signal is complex", onesided);
  if (length !== undefined && (!Number.isInteger(length) || length < 1))
    throw new ValueError("istft", "length", "an integer of at least 1", length);
  const batch = rank === 2 ? 1 : z.shape[0]!;
  const spectra = eachPart(partsOf("istft", z), (t) => transpose(reshape(t, [batch, frequencies, count]), 1, 2));
  const single = { axis: 2, n: nFft, norm, direction: "inverse" as const };
  // The first half of a real signal's spectrum determines it, and is all that PyTorch reads.
  const framed: Parts = returnComplex ? asParts(whole("istft", spectra, single)) : [fromHalf("istft", spectra, single), null];
  const total = nFft + (count - 1) * hop;
  const start = center ? half : 0;
  const end = length !== undefined ? start + length : center ? total - half : total;
  if (end <= start || start >= total) throw new ShapeError("istft", "z", "enough frames for a signal", z.describe());
  const asked = (t: Tensor): Tensor => narrow(t, 1, start, Math.min(end, total) - start);
  const squares = window === null ? ones([nFft], { device: z.device }) : mul(window, window);
  const weight = asked(overlapAdd(expand(reshape(squares, [1, 1, nFft]), [1, count, nFft]), hop));
  if (window !== null || hop > nFft) requireCovered(weight);
  const signal = eachPart(framed, (t) => {
    const summed = div(asked(overlapAdd(window === null ? t : mul(t, window), hop)), weight);
    const full = end > total ? pad(summed, [0, end - total]) : summed;
    return asResult(rank === 2 ? reshape(full, [end - start]) : full);
  });
  return returnComplex ? complexResult(signal, z) : realResult(signal[0], z);
}
