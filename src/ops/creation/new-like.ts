/** New tensors like another, strided creation, triangular indices. */
import { device as deviceOf, defaultDevice } from "../../core/device.ts";
import type { Device } from "../../core/device.ts";
import { arrayClass, type DType } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { empty, full, fromBytes, ones, zeros, type TensorOptions } from "./creation.ts";
import { element } from "../../core/elements.ts";
import { asResult } from "../../dispatch/dispatch.ts";
import { asStrided } from "../shape/strided-views.ts";

const like = (x: Tensor, options: TensorOptions): TensorOptions => ({
  ...options,
  dtype: options.dtype ?? x.dtype,
  device: options.device ?? x.device,
});

/** empty() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_empty. */
export const newEmpty = (x: Tensor, shape: Shape, options: TensorOptions = {}): Tensor => empty(shape, like(x, options));
/** zeros() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_zeros. */
export const newZeros = (x: Tensor, shape: Shape, options: TensorOptions = {}): Tensor => zeros(shape, like(x, options));
/** ones() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_ones. */
export const newOnes = (x: Tensor, shape: Shape, options: TensorOptions = {}): Tensor => ones(shape, like(x, options));
/** full() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_full. */
export const newFull = (x: Tensor, shape: Shape, value: number | bigint | boolean, options: TensorOptions = {}): Tensor =>
  full(shape, value, like(x, options));

/** A tensor of a shape with given strides, over a storage just large enough; its elements are not initialized. Reference: torch.empty_strided. */
export function emptyStrided(shape: Shape, strides: readonly number[], options: TensorOptions = {}): Tensor {
  if (shape.length !== strides.length || !strides.every((s) => Number.isInteger(s) && s >= 0))
    throw new ValueError("emptyStrided", "strides", `${shape.length} integers of at least 0`, strides);
  if (sizeOf(shape) === 0) return empty(shape, options);
  const span = shape.reduce((n, d, i) => n + (d - 1) * strides[i]!, 1);
  const made = asResult(asStrided(empty([span], { ...options, requiresGrad: false }), shape, strides));
  return options.requiresGrad === true ? made.requiresGrad_() : made;
}

/**
 * A tensor of a shape whose axes lie in memory in the order of `layout`, from the outermost one; its elements are not
 * initialized. Reference: torch.empty_permuted.
 */
export function emptyPermuted(shape: Shape, layout: readonly number[], options: TensorOptions = {}): Tensor {
  if (layout.length !== shape.length || layout.toSorted((a, b) => a - b).some((axis, i) => axis !== i))
    throw new ValueError("emptyPermuted", "layout", `each of 0 to ${shape.length - 1} once`, layout);
  const strides = layout.map((_, i) => sizeOf(layout.slice(layout.indexOf(i) + 1).map((axis) => shape[axis]!)));
  return emptyStrided(shape, strides, options);
}

/** emptyStrided() with the dtype and device of x, unless the options name others. Reference: torch.Tensor.new_empty_strided. */
export const newEmptyStrided = (x: Tensor, shape: Shape, strides: readonly number[], options: TensorOptions = {}): Tensor =>
  emptyStrided(shape, strides, like(x, options));

/** A scalar as a tensor of no axes. Default dtype float32. Reference: torch.scalar_tensor. */
export const scalarTensor = (value: number | bigint | boolean, options: TensorOptions = {}): Tensor =>
  full([], value, { ...options, dtype: options.dtype ?? "float32" });

/** Options of trilIndices() and triuIndices(). Reference: torch.tril_indices. */
export interface TriangleOptions {
  /** Diagonal that bounds the triangle, 0 the main one. Default: 0. */
  readonly offset?: number | undefined;
  /** Default: int32. */
  readonly dtype?: "int32" | "int64" | undefined;
  /** Where the result goes. Default: the default device. */
  readonly device?: TensorOptions["device"];
}

/** Limits of the list of indices that the host makes: rows of the matrix, and elements. */
const MAX_ROWS = 2 ** 31 - 1;
const MAX_INDICES = 2 ** 26;

function triangle(
  operation: string,
  rows: number,
  columns: number,
  { offset = 0, dtype = "int32", device }: TriangleOptions,
  isUpper: boolean,
): Tensor {
  for (const [name, n] of [
    ["rows", rows],
    ["columns", columns],
  ] as const)
    if (!Number.isInteger(n) || n < 0 || n > MAX_ROWS) throw new ValueError(operation, name, `an integer from 0 to ${MAX_ROWS}`, n);
  if (!Number.isInteger(offset)) throw new ValueError(operation, "offset", "an integer", offset);
  const from = (i: number): number => (isUpper ? Math.min(columns, Math.max(0, i + offset)) : 0);
  const to = (i: number): number => (isUpper ? columns : Math.min(columns, Math.max(0, i + offset + 1)));
  // Rows that have elements, and the count: in closed form, since there may be 2^31 rows.
  const start = isUpper ? 0 : Math.max(0, -offset);
  const end = isUpper ? Math.min(rows, columns - offset) : rows;
  const below = (v: number): number =>
    v <= columns ? (Math.max(0, v) * (Math.max(0, v) + 1)) / 2 : columns * v - (columns * (columns - 1)) / 2;
  const lower = below(rows + offset - (isUpper ? 1 : 0)) - below(offset - (isUpper ? 1 : 0));
  const count = isUpper ? rows * columns - lower : lower;
  if (count > MAX_INDICES) throw new ShapeError(operation, "result", `of at most ${MAX_INDICES} elements`, String(count));
  const on: Device = device === undefined ? defaultDevice() : deviceOf(device);
  const type: DType = dtype;
  if (count === 0) return empty([2, 0], { dtype: type, device: on });
  const at = new (arrayClass(type))(2 * count);
  let k = 0;
  for (let i = start; i < end; i++)
    for (let j = from(i); j < to(i); j++) {
      at[k] = element(type, i) as never;
      at[count + k++] = element(type, j) as never;
    }
  return fromBytes(operation, on, type, [2, count], at);
}

/** Rows and columns of the lower triangle of a matrix, row by row: [2, count]. Reference: torch.tril_indices. */
export const trilIndices = (rows: number, columns: number, options: TriangleOptions = {}): Tensor =>
  triangle("trilIndices", rows, columns, options, false);
/** Rows and columns of the upper triangle of a matrix, row by row: [2, count]. Reference: torch.triu_indices. */
export const triuIndices = (rows: number, columns: number, options: TriangleOptions = {}): Tensor =>
  triangle("triuIndices", rows, columns, options, true);

export const methods = { newEmpty, newZeros, newOnes, newFull, newEmptyStrided };
