/** Options of all transforms, and the transform along one axis. */
import { fromPairs, fromParts, resolved } from "../complex/pairs.ts";
import { ComplexTensor } from "../core/complex-tensor.ts";
import { isFloat } from "../core/dtype.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { toDType } from "../ops/data/conversion.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { mul } from "../ops/elementwise/binary.ts";
import { tableTensors } from "../runtime/tables.ts";
import { halfTable } from "./transform-tables.ts";
import { computing } from "../ops/declare/support.ts";
import { asResult } from "../dispatch/dispatch.ts";
import { normalizeAxis, sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { dft, type Parts } from "./dft.ts";
import { choosesShaders, pairDft } from "./shader-dft.ts";
import type { Half } from "./shader-lower.ts";

/** Where the factor 1 / n goes: to the inverse ("backward"), to the transform ("forward"), or its root to both ("ortho"). */
export type Norm = "backward" | "forward" | "ortho";

/** Real or complex numbers; integers and bool count as float32. */
export type Numbers = Tensor | ComplexTensor;

/** Transforms whose exponent is negative, and those whose is positive. */
export type Direction = "forward" | "inverse";

export function scaleOf(operation: string, norm: Norm, n: number, direction: Direction): number {
  switch (norm) {
    case "backward":
      return direction === "forward" ? 1 : 1 / n;
    case "forward":
      return direction === "forward" ? 1 / n : 1;
    case "ortho":
      return 1 / Math.sqrt(n);
    default:
      norm satisfies never;
      throw new ValueError(operation, "norm", '"backward", "forward" or "ortho"', norm);
  }
}

/** Numbers between two transforms: as GEMMs take them, or complex ones as shaders do. */
export type Spectra = Parts | ComplexTensor;

/** x in float32. */
export function spectraOf(operation: string, x: Numbers): Spectra {
  if (!(x instanceof ComplexTensor)) return partsOf(operation, x);
  if (isFloat(x.pairs.dtype)) computing(operation, x.pairs.dtype, "x");
  return x.dtype === "complex64" ? x : fromPairs(toDType(x.pairs, "float32"), x.isConj);
}

export const asParts = (x: Spectra): Parts => (x instanceof ComplexTensor ? [x.re, x.im] : x);

/** Real and imaginary parts in float32. */
export function partsOf(operation: string, x: Numbers): Parts {
  const read = (t: Tensor): Tensor => {
    if (isFloat(t.dtype)) computing(operation, t.dtype, "x");
    return toDType(t, "float32");
  };
  return x instanceof ComplexTensor ? [read(x.re), read(x.im)] : [read(x), null];
}

/** A real x's part; complex numbers are refused. */
export function realOf(operation: string, x: Numbers, instead: string): Tensor {
  if (x instanceof ComplexTensor) throw new ValueError(operation, "x", "real numbers", x.describe(), `Use ${instead}.`);
  return partsOf(operation, x)[0];
}

/** float32 rounded to the input's precision: half precision is computed in float32 and rounded once. */
const rounded = (t: Tensor, like: Numbers): Tensor =>
  toDType(t, (like instanceof ComplexTensor ? like.pairs.dtype : like.dtype) === "float16" ? "float16" : "float32");
export function complexResult(x: Spectra, like: Numbers): ComplexTensor {
  if (x instanceof ComplexTensor) return fromPairs(rounded(x.pairs, like), x.isConj);
  const [re, im] = x;
  return fromParts(rounded(re, like), rounded(im!, like));
}
export const realResult = (x: Tensor, like: Numbers): Tensor => rounded(x, like);

/** The axis; scalars have none. */
export function axisOf(operation: string, x: Numbers, axis: number): number {
  if (x.rank === 0) throw new ShapeError(operation, "x", "of at least one axis", x.describe());
  return normalizeAxis(operation, axis, x.rank);
}

/** The host makes tables of a transform's length. */
const LONGEST = 2 ** 28;

export function lengthOf(operation: string, n: number, argument = "n"): number {
  if (!Number.isInteger(n) || n < 1 || n > LONGEST) throw new ValueError(operation, argument, `an integer from 1 to ${LONGEST}`, n);
  return n;
}

export interface Along {
  readonly axis: number;
  readonly n: number;
  readonly sign: -1 | 1;
  readonly scale: number;
  /** The number of results. Default: n. */
  readonly outputs?: number;
  readonly to?: "real" | "complex";
  /** Default: "none". */
  readonly half?: Half;
}

/** x's first elements along an axis; null stays. */
const upTo = (x: Tensor, axis: number, length: number): Tensor => (x.shape[axis]! <= length ? x : narrow(x, axis, 0, length));

/** One transform of length n: of more elements, the first n are taken; fewer are padded with zeros. */
export function along(x: Spectra, asked: Along): Spectra {
  const { axis, n, sign, scale, outputs = n, to = "complex", half = "none" } = asked;
  const shape = x instanceof ComplexTensor ? x.shape : x[0].shape;
  const inputs = Math.min(n, shape[axis]!);
  const [before, after] = [shape.slice(0, axis), shape.slice(axis + 1)];
  const [p, q] = [sizeOf(before), sizeOf(after)];
  const first = x instanceof ComplexTensor ? x.pairs : x[0];
  if (inputs > 0 && choosesShaders(first, p, q, n)) {
    const [from, whole] = x instanceof ComplexTensor || x[1] !== null ? (["complex", pairsOf(x)] as const) : (["real", x[0]] as const);
    const pair = (type: "real" | "complex"): number[] => (type === "complex" ? [2] : []);
    const flat = reshape(upTo(whole, axis, inputs), [p, inputs, q, ...pair(from)]);
    const y = pairDft(flat, { n, inputs, outputs, sign, scale, from, to, half });
    const opened = asResult(reshape(y, [...before, outputs, ...after, ...pair(to)]));
    return to === "complex" ? fromPairs(opened, false) : [opened, null];
  }
  const [re, im] = half === "input" ? weighted(asParts(x), n, axis) : asParts(x);
  const flat = (t: Tensor): Tensor => reshape(upTo(t, axis, inputs), [p, inputs, q]);
  const open = (t: Tensor): Tensor => asResult(reshape(t, [...before, outputs, ...after]));
  const [a, b] = dft([flat(re), im === null ? null : flat(im)], { n, inputs, outputs, sign, scale, to });
  return [open(a), b === null ? null : open(b)];
}

const pairsOf = (x: Spectra): Tensor => (x instanceof ComplexTensor ? resolved(x) : fromParts(x[0], x[1]!).pairs);

/** Half a spectrum, of which an element that stands for its conjugate too counts twice. */
function weighted([re, im]: Parts, n: number, axis: number): Parts {
  const length = re.shape[axis]!;
  if (length === 0) return [re, im];
  const [table] = tableTensors(re.device, [halfTable(n, length)]);
  const weights = reshape(
    table!,
    re.shape.map((_, i) => (i === axis ? length : 1)),
  );
  return [mul(re, weights), im === null ? null : mul(im, weights)];
}
