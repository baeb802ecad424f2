/** Adaptive pooling: window i of O over I elements reaches from floor(i I / O) to ceil((i + 1) I / O). */
import { reading } from "../../autograd/tie.ts";
import { isHalf } from "../../core/dtype.ts";
import { ShapeError } from "../../core/errors.ts";
import { requireListed, expandList } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../creation/creation.ts";
import { roundedOnce, toDType } from "../data/conversion.ts";
import { indexSelect } from "../index/gather.ts";
import { div } from "../elementwise/binary.ts";
import { ne } from "../elementwise/compare.ts";
import { reshape } from "../shape/movement.ts";
import { evenWindows, maximumOf, maximumValues, meanOf, type Pooled } from "./pool.ts";
import { sum } from "../reduce/reduce.ts";
import { where } from "../elementwise/where.ts";
import { requireSpatial } from "../conv/spatial.ts";

interface Bounds {
  readonly first: number;
  readonly end: number;
}

const boundsOf = (input: number, output: number): Bounds[] =>
  Array.from({ length: output }, (_, i) => ({ first: Math.floor((i * input) / output), end: Math.ceil(((i + 1) * input) / output) }));

/** Lengths of the result; null keeps the input's. */
type OutputSize = number | readonly (number | null)[];

function sizes(operation: string, x: Tensor, spatial: number, size: OutputSize): { input: number[]; output: number[] } {
  requireSpatial(operation, x, spatial);
  const input = x.shape.slice(-spatial);
  const output = expandList(operation, "outputSize", typeof size === "number" ? size : size.map((d, i) => d ?? input[i] ?? 0), spatial, 1);
  if (x.shape.slice(-spatial - 1).includes(0))
    throw new ShapeError(operation, "x", "of at least one element along every axis but the batch", x.describe());
  return { input, output };
}

const divides = (input: readonly number[], output: readonly number[]): boolean => input.every((d, i) => d % output[i]! === 0);

function adaptiveAvgPool(operation: string, spatial: number, x: Tensor, size: OutputSize): Tensor {
  const { input, output } = sizes(operation, x, spatial, size);
  if (divides(input, output)) return meanOf(x, spatial, evenWindows(input, output));
  // A window's mean is the mean along one axis after the other. No matmul with weights: 0 times NaN or infinity would spread them to other windows.
  const pooled = roundedOnce([x], (z) => {
    let y = isHalf(z!.dtype) ? toDType(z!, "float32") : z!;
    output.forEach((o, i) => {
      const axis = x.rank - spatial + i;
      if (o === input[i]) return;
      requireListed(operation, "outputSize", input[i]! + 2 * o, size);
      y = meansAlong(y, axis, input[i]!, o);
    });
    return toDType(y, z!.dtype);
  });
  return reading(pooled, x);
}

/** For each window the indices of its elements; shorter windows repeat their last one, so that all have one length. */
function windowElements(input: number, output: number): { length: number; positions: number[] } {
  const bounds = boundsOf(input, output);
  const length = bounds.reduce((max, b) => Math.max(max, b.end - b.first), 0);
  return { length, positions: bounds.flatMap((b) => Array.from({ length }, (_, j) => Math.min(b.first + j, b.end - 1))) };
}

/** Means of the windows along an axis. */
function meansAlong(x: Tensor, axis: number, input: number, output: number): Tensor {
  const { device, dtype } = x;
  const { length, positions } = windowElements(input, output);
  const counts = boundsOf(input, output).map(({ first, end }) => end - first);
  const lengths = (along: number): number[] => [...x.shape.slice(0, axis), output, along, ...x.shape.slice(axis + 1)];
  const shaped = (t: Tensor, along: number): Tensor =>
    reshape(
      t,
      lengths(along).map((d, i) => (i === axis || i === axis + 1 ? d : 1)),
    );
  let spread = reshape(indexSelect(x, axis, tensor(positions, { dtype: "int32", device })), lengths(length));
  if (counts.some((n) => n < length)) {
    const isInside = counts.flatMap((n) => Array.from({ length }, (_, k) => Number(k < n)));
    spread = where(shaped(ne(tensor(Uint8Array.from(isInside), { dtype: "uint8", device }), 0), length), spread, 0);
  }
  const divisor = reshape(
    tensor(counts, { dtype, device }),
    x.shape.map((_, i) => (i === axis ? output : 1)),
  );
  return div(sum(spread, axis + 1), divisor);
}

/** x with the elements of its windows one after the other along every spatial axis, and their flat indices in x. */
function spreadWindows(
  operation: string,
  x: Tensor,
  spatial: number,
  input: readonly number[],
  output: readonly number[],
): { spread: Tensor; positions: number[] } {
  // One of o windows has at most input / o + 2 elements.
  const listed = output.reduce((n, o, i) => n * (input[i]! + 2 * o), 1);
  requireListed(operation, "outputSize", listed, output);
  let spread = x;
  let positions = [0];
  output.forEach((o, i) => {
    const along = windowElements(input[i]!, o).positions;
    spread = indexSelect(spread, x.rank - spatial + i, tensor(along, { dtype: "int32", device: x.device }));
    positions = positions.flatMap((p) => along.map((a) => p * input[i]! + a));
  });
  return { spread, positions };
}

function adaptiveMaxPool(operation: string, spatial: number, x: Tensor, size: OutputSize): Tensor {
  const { input, output } = sizes(operation, x, spatial, size);
  if (divides(input, output)) return maximumValues(x, spatial, evenWindows(input, output));
  const { spread } = spreadWindows(operation, x, spatial, input, output);
  return maximumValues(spread, spatial, evenWindows(spread.shape.slice(-spatial), output));
}

function adaptiveMaxPoolWithIndices(operation: string, spatial: number, x: Tensor, size: OutputSize): Pooled {
  const { input, output } = sizes(operation, x, spatial, size);
  if (divides(input, output)) return maximumOf(x, spatial, evenWindows(input, output));
  const { spread, positions } = spreadWindows(operation, x, spatial, input, output);
  const { values, indices } = maximumOf(spread, spatial, evenWindows(spread.shape.slice(-spatial), output));
  const table = tensor(positions, { dtype: "int32", device: x.device });
  return { values, indices: reshape(indexSelect(table, 0, reshape(indices, [indices.size])), indices.shape) };
}

/**
 * Means of windows that divide x [N, C, W] or [C, W] (float16 or float32) into outputSize parts, which overlap where the lengths do not divide evenly.
 * DirectML: AVERAGE_POOLING where they do, else GATHER and REDUCE. Reference: torch.nn.functional.adaptive_avg_pool1d.
 * @functional
 */
export const adaptiveAvgPool1d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveAvgPool("adaptiveAvgPool1d", 1, x, outputSize);
/** adaptiveAvgPool1d over two spatial axes. Reference: torch.nn.functional.adaptive_avg_pool2d. @functional */
export const adaptiveAvgPool2d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveAvgPool("adaptiveAvgPool2d", 2, x, outputSize);
/** adaptiveAvgPool1d over three spatial axes. Reference: torch.nn.functional.adaptive_avg_pool3d. @functional */
export const adaptiveAvgPool3d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveAvgPool("adaptiveAvgPool3d", 3, x, outputSize);

/**
 * Maxima of the windows of adaptiveAvgPool1d. DirectML: MAX_POOLING2, GATHER. Reference: torch.nn.functional.adaptive_max_pool1d.
 * @functional
 */
export const adaptiveMaxPool1d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveMaxPool("adaptiveMaxPool1d", 1, x, outputSize);
/** adaptiveMaxPool1d over two spatial axes. Reference: torch.nn.functional.adaptive_max_pool2d. @functional */
export const adaptiveMaxPool2d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveMaxPool("adaptiveMaxPool2d", 2, x, outputSize);
/** adaptiveMaxPool1d over three spatial axes. Reference: torch.nn.functional.adaptive_max_pool3d. @functional */
export const adaptiveMaxPool3d = (x: Tensor, outputSize: OutputSize): Tensor => adaptiveMaxPool("adaptiveMaxPool3d", 3, x, outputSize);

/** adaptiveMaxPool1d that also returns the maxima's int32 indices within the plane. */
export const adaptiveMaxPool1dWithIndices = (x: Tensor, outputSize: OutputSize): Pooled =>
  adaptiveMaxPoolWithIndices("adaptiveMaxPool1d", 1, x, outputSize);
/** adaptiveMaxPool2d that also returns the maxima's indices. */
export const adaptiveMaxPool2dWithIndices = (x: Tensor, outputSize: OutputSize): Pooled =>
  adaptiveMaxPoolWithIndices("adaptiveMaxPool2d", 2, x, outputSize);
/** adaptiveMaxPool3d that also returns the maxima's indices. */
export const adaptiveMaxPool3dWithIndices = (x: Tensor, outputSize: OutputSize): Pooled =>
  adaptiveMaxPoolWithIndices("adaptiveMaxPool3d", 3, x, outputSize);
