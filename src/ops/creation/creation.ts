/** Creation: tensor, full, zeros, ones, empty. */
import { call, create } from "../../dispatch/dispatch.ts";
import { defaultDevice, device as deviceOf, type Device, type DeviceLike } from "../../core/device.ts";
import { DTYPES, dtypeOfArray, isDType, isFloat, isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { upload } from "../../runtime/buffers.ts";
import { requireRepresentable, element, elements, canRepresent, notRepresentable, truths } from "../../core/elements.ts";
import { fillFromOp, fillOp, isReadFill, scalarTensor } from "../../runtime/constants.ts";
import { nativeDevice } from "../../runtime/devices.ts";
import { noteIntegers } from "../../runtime/index-check.ts";
import { showShape, sizeOf, type Shape, MAX_RANK } from "../../core/shape.ts";
import { Storage, internDesc } from "../../core/storage.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";

/** Options of functions that make tensors: device, dtype, and whether gradients are recorded. */
export interface TensorOptions {
  /** The dtype of the elements. Default: that of the function's comment. */
  readonly dtype?: DType | undefined;
  /** Default: the default device. */
  readonly device?: DeviceLike | undefined;
  /** Whether backward() accumulates a gradient for it. Default: false. */
  readonly requiresGrad?: boolean | undefined;
}

type Scalar = number | bigint | boolean;
/** @package */
export type NestedArray = Scalar | readonly NestedArray[];
/** The data of a tensor: a number, nested arrays of numbers, or a typed array. */
export type TensorData = NestedArray | Exclude<ArrayBufferView, DataView>;

/** As in PyTorch. */

const chosenDevice = (options: TensorOptions): Device => (options.device === undefined ? defaultDevice() : deviceOf(options.device));

function checked(operation: string, dtype: DType): DType {
  if (!isDType(dtype)) throw new DTypeError(operation, "dtype", `one of ${Object.keys(DTYPES).join(", ")}`, dtype);
  return dtype;
}

function checkedShape(operation: string, shape: Shape): Shape {
  if (!Array.isArray(shape) || shape.some((d) => !Number.isInteger(d) || d < 0))
    throw new ValueError(operation, "shape", "a list of integers of at least 0", shape);
  if (shape.length > MAX_RANK) throw new ShapeError(operation, "shape", `of at most ${MAX_RANK} axes`, showShape(shape));
  return shape as Shape;
}

/** @internal Sets requiresGrad of a new tensor by the options. */
export function withGrad(operation: string, t: Tensor, options: TensorOptions): Tensor {
  if (options.requiresGrad !== true) return t;
  if (!isFloat(t.dtype)) throw new DTypeError(operation, "dtype", "floating for a tensor that requires a gradient", t.dtype);
  t.leafRequiresGrad = true;
  return t;
}

/** @internal A tensor of packed bytes on a device. */
export function fromBytes(operation: string, dev: Device, dtype: DType, shape: Shape, source: ArrayBufferView): Tensor {
  const bytes = dtype === "bool" ? truths(source) : source;
  const t = tracer();
  if (t !== null) return t.constant(dev, dtype, shape, bytes);
  const storage = upload(nativeDevice(dev, operation), bytes, operation);
  noteIntegers(storage, bytes);
  return new Tensor(storage, internDesc(dev, dtype, shape));
}

/** Flattens nested arrays, which must be rectangular. */
function flatten(data: NestedArray): { shape: number[]; flat: Scalar[] } {
  const shape: number[] = [];
  for (let level: NestedArray | undefined = data; Array.isArray(level); level = level[0] as NestedArray | undefined) {
    if (shape.length === MAX_RANK)
      throw new ShapeError("tensor", "data", `of at most ${MAX_RANK} levels`, `more, or an array that contains itself`);
    shape.push(level.length);
  }
  const flat: Scalar[] = [];
  const visit = (value: NestedArray, axis: number): void => {
    if (Array.isArray(value) ? axis >= shape.length || value.length !== shape[axis] : axis < shape.length)
      throw new ShapeError(
        "tensor",
        "data",
        `rectangular, like ${showShape(shape)}`,
        `${Array.isArray(value) ? `${value.length} elements` : "a number"} at depth ${axis}`,
      );
    if (Array.isArray(value)) for (const v of value as readonly NestedArray[]) visit(v, axis + 1);
    else flat.push(value as Scalar);
  };
  visit(data, 0);
  return { shape, flat };
}

/** The dtype of plain JavaScript values: bool, int64 for bigints, else float32. */
function inferred(flat: readonly Scalar[]): DType {
  if (flat.length > 0 && flat.every((v) => typeof v === "boolean")) return "bool";
  return flat.some((v) => typeof v === "bigint") ? "int64" : "float32";
}

/**
 * A tensor with the given elements.
 *
 * data: a number, bigint or boolean, nested arrays of them, or a typed array (of any shape, see `shape`). Copied.
 * shape: default that of the data. dtype: default float32 for numbers, int64 for bigints, bool for booleans, the array's own for
 * typed arrays; float16 and bfloat16 take numbers or a Uint16Array of raw words.
 * Throws ShapeError when the data are not rectangular or do not fill the shape. Reference: torch.tensor.
 */
export function tensor(
  data: TensorData,
  options: TensorOptions & {
    /** Length of each axis, for a typed array or a flat list. Default: that of the nesting. */
    readonly shape?: Shape | undefined;
  } = {},
): Tensor {
  let dtype: DType;
  let shape: Shape;
  let bytes: ArrayBufferView;
  if (ArrayBuffer.isView(data)) {
    const own = dtypeOfArray(data);
    if (own === null) throw new DTypeError("tensor", "data", "numbers, nested arrays or a typed array", data.constructor.name);
    dtype = checked("tensor", options.dtype ?? own);
    const list = data as unknown as ArrayLike<number | bigint>;
    shape = options.shape ?? [list.length];
    const raw = own === dtype || (own === "uint16" && (dtype === "float16" || dtype === "bfloat16"));
    bytes = raw ? data : elements(dtype, heldIn(dtype, Array.from(list)));
    if (sizeOf(checkedShape("tensor", shape)) !== list.length)
      throw new ShapeError("tensor", "shape", `of ${list.length} elements`, showShape(shape));
  } else {
    const read = flatten(data as NestedArray);
    dtype = checked("tensor", options.dtype ?? inferred(read.flat));
    shape = options.shape ?? read.shape;
    if (sizeOf(checkedShape("tensor", shape)) !== read.flat.length)
      throw new ShapeError("tensor", "shape", `of ${read.flat.length} elements`, showShape(shape));
    for (const v of read.flat)
      if (typeof v !== "number" && typeof v !== "bigint" && typeof v !== "boolean")
        throw new DTypeError("tensor", "data", "numbers, bigints or booleans", typeof v === "object" ? v : typeof v);
    bytes = elements(dtype, heldIn(dtype, read.flat));
  }
  return withGrad("tensor", fromBytes("tensor", chosenDevice(options), dtype, shape, bytes), options);
}

/** The data of a tensor. An integer dtype must represent all numbers; numbers too large for a floating dtype become infinite, as in PyTorch. */
function heldIn(dtype: DType, values: readonly Scalar[]): readonly Scalar[] {
  if (!isInteger(dtype)) return values;
  const wrong = values.findIndex((v) => !canRepresent(dtype, v));
  if (wrong >= 0) throw notRepresentable("tensor", "data", dtype, values[wrong]);
  return values;
}

/** A tensor of a shape whose elements are all `value`. DirectML: FILL_VALUE_CONSTANT. Reference: torch.full. */
export function full(shape: Shape, value: Scalar, options: TensorOptions = {}): Tensor {
  const dtype = checked("full", options.dtype ?? inferred([value]));
  const dev = chosenDevice(options);
  requireRepresentable("full", "value", dtype, value);
  checkedShape("full", shape);
  const held = dtype === "bool" ? element(dtype, value) === 1 : typeof value === "number" && isInteger(dtype) ? Math.trunc(value) : value;
  const t = sizeOf(shape) === 0 ? empty(shape, { dtype, device: dev }) : filled(dev, shape, dtype, held);
  return withGrad("full", t, options);
}

function filled(dev: Device, shape: Shape, dtype: DType, value: Scalar): Tensor {
  if (tracer() !== null || !isReadFill(dtype, value)) return create(fillOp, dev, { shape: [...shape], dtype, value });
  return call(fillFromOp, [scalarTensor(dev, dtype, value)], { shape: [...shape] });
}

/** A tensor of zeros. Default dtype float32. Reference: torch.zeros. */
export const zeros = (shape: Shape, options: TensorOptions = {}): Tensor =>
  full(shape, 0, { ...options, dtype: options.dtype ?? "float32" });

/** A tensor of ones. Default dtype float32. Reference: torch.ones. */
export const ones = (shape: Shape, options: TensorOptions = {}): Tensor =>
  full(shape, 1, { ...options, dtype: options.dtype ?? "float32" });

/** A tensor whose elements are whatever the memory holds. Default dtype float32. Reference: torch.empty. */
export function empty(shape: Shape, options: TensorOptions = {}): Tensor {
  const dtype = checked("empty", options.dtype ?? "float32");
  const dev = chosenDevice(options);
  const size = sizeOf(checkedShape("empty", shape));
  if (size > 0) return full(shape, 0, { ...options, dtype });
  if (tracer() !== null) return withGrad("empty", create(fillOp, dev, { shape: [...shape], dtype, value: 0 }), options);
  return withGrad("empty", new Tensor(new Storage(dev, 0), internDesc(dev, dtype, shape)), options);
}

const like = (x: Tensor, options: TensorOptions): TensorOptions => ({
  ...options,
  dtype: options.dtype ?? x.dtype,
  device: options.device ?? x.device,
});

/** full() with the shape of x, and its dtype and device unless the options name others. */
export const fullLike = (x: Tensor, value: Scalar, options: TensorOptions = {}): Tensor => full(x.shape, value, like(x, options));
/** zeros() with the shape, dtype and device of x, unless the options name others. Reference: torch.zeros_like. */
export const zerosLike = (x: Tensor, options: TensorOptions = {}): Tensor => fullLike(x, 0, options);
/** ones() with the shape, dtype and device of x, unless the options name others. Reference: torch.ones_like. */
export const onesLike = (x: Tensor, options: TensorOptions = {}): Tensor => fullLike(x, 1, options);
/** empty() with the shape, dtype and device of x, unless the options name others. Reference: torch.empty_like. */
export const emptyLike = (x: Tensor, options: TensorOptions = {}): Tensor => empty(x.shape, like(x, options));

export const methods = { fullLike, zerosLike, onesLike };
