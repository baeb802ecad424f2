/**
 * How an operation casts its inputs inside autocast(). Which list a function is on is the tag @autocast of its comment; the generated forms
 * (ops/exports, src/public) call `listed` while a region is open. Functions of src/ops call each other without casts. @package
 */
import { isInference } from "../../core/inference.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { autocastOf } from "../../backend/registry.ts";
import type { Device } from "../../core/device.ts";
import { castingRegion, type AutocastRegion } from "../../core/autocast.ts";
import { isFloat, type DType } from "../../core/dtype.ts";
import { DTypeError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { isPlain } from "./other-names.ts";

/**
 * The lists of PyTorch's autocast: lower: to the region's dtype. float32: to float32. widest: to float32 if an input is float32, else to the
 * region's dtype. refused: an error.
 */
export type AutocastList = "lower" | "float32" | "widest" | "refused";

/** Inputs that autocast casts. */
const isCast = ({ dtype }: Tensor): boolean => isFloat(dtype) && dtype !== "float64";

/** A float32 leaf that requires a gradient: a weight, whose cast is kept. */
const isWeight = (x: Tensor): boolean => x.dtype === "float32" && x.isLeaf && x.requiresGrad && x.viewOf === null;

function castTo(x: Tensor, dtype: DType, region: AutocastRegion): Tensor {
  if (!isCast(x) || x.dtype === dtype) return x;
  if (dtype !== region.dtype || !region.cachesWeights || !isWeight(x)) return x.to(dtype);
  const id = tracer()?.id ?? 0;
  let casts = region.cache.get(id);
  if (casts === undefined) region.cache.set(id, (casts = new Map()));
  const known = casts.get(x);
  const isRecorded = isGradEnabled();
  const isUsable =
    known !== undefined &&
    !known.cast.isDisposed &&
    known.cast.dtype === dtype &&
    known.cast.isInference === (id === 0 && isInference()) &&
    known.version === x.storage.version &&
    (known.isRecorded || !isRecorded);
  if (isUsable) return known.cast;
  const cast = x.to(dtype);
  casts.set(x, { cast, version: x.storage.version, isRecorded });
  return cast;
}

/** Calls `each` for the tensors of an argument: itself, or in arrays and plain objects of any depth. */
function visit(value: unknown, each: (x: Tensor) => void): void {
  if (value instanceof Tensor) each(value);
  else if (Array.isArray(value)) for (const v of value) visit(v, each);
  else if (isPlain(value)) for (const v of Object.values(value)) visit(v, each);
}

/** The same argument with other tensors; arrays and objects are copied only where one changes. */
function mapped(value: unknown, cast: (x: Tensor) => Tensor): unknown {
  if (value instanceof Tensor) return cast(value);
  if (Array.isArray(value)) {
    const list = value.map((v) => mapped(v, cast));
    return list.some((v, i) => v !== value[i]) ? list : value;
  }
  if (!isPlain(value)) return value;
  const entries = Object.entries(value).map(([key, v]) => [key, mapped(v, cast)] as const);
  return entries.some(([key, v]) => v !== value[key]) ? Object.fromEntries(entries) : value;
}

/** The dtype that the list `widest` casts to. */
function widest(operation: string, args: readonly unknown[], region: AutocastRegion): DType {
  let dtype: DType = region.dtype;
  visit(args, (x) => {
    if (!isCast(x)) return;
    if (x.dtype === "float32") dtype = "float32";
    else if (x.dtype !== region.dtype)
      throw new DTypeError(
        operation,
        "inputs",
        `float32 or ${region.dtype} inside autocast("${region.dtype}", …)`,
        x.describe(),
        "Cast it with to(), or run the operation inside autocast(dtype, fn, { enabled: false }).",
      );
  });
  return dtype;
}

/** Whether the call says its result's dtype: it computes in that. */
const saysDType = (args: readonly unknown[]): boolean => args.some((v) => isPlain(v) && v["dtype"] !== undefined);

function refuse(operation: string): never {
  throw new DTypeError(
    operation,
    "x",
    "computed outside of autocast()",
    "a call inside",
    "Probabilities in half precision round to 0 and 1. Use binaryCrossEntropyWithLogits, or autocast(dtype, fn, { enabled: false }).",
  );
}

/** The list that the backend of the inputs' device wants; throws where it lacks the region's dtype. */
function wanted(list: AutocastList, operation: string, args: readonly unknown[], { dtype }: AutocastRegion): AutocastList | "none" {
  let device: Device | null = null;
  visit(args, (x) => {
    device ??= x.device;
  });
  const own = device === null ? null : autocastOf(device);
  if (own === null) return list;
  if (own.dtypes?.includes(dtype) === false)
    throw new DTypeError("autocast", "dtype", `one that ${device} casts to: ${own.dtypes.join(", ") || "none"}`, dtype);
  return own.operations?.[operation] ?? list;
}

function withCasts(stated: AutocastList, operation: string, args: readonly unknown[], region: AutocastRegion): readonly unknown[] {
  const list = wanted(stated, operation, args, region);
  if (list === "none") return args;
  if (list === "refused") refuse(operation);
  if (list === "float32" && saysDType(args)) return args;
  const dtype = list === "lower" ? region.dtype : list === "float32" ? "float32" : widest(operation, args, region);
  return mapped(args, (x) => castTo(x, dtype, region)) as readonly unknown[];
}

/** @internal The function with the casts of its list. Called while a region is open. */
export function listed<F extends (...args: never[]) => unknown>(list: AutocastList, operation: string, fn: F): F {
  const region = castingRegion();
  if (region === null) return fn;
  return ((...args: never[]) => fn(...(withCasts(list, operation, args, region) as never[]))) as F;
}
