/** What augmentations have in common: batches of images, and parameters of each sample, drawn on the device or as they are passed. */
import type { Device } from "../../core/device.ts";
import { DTypeError, DeviceError, ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, mul } from "../../ops/elementwise/binary.ts";
import { floor, round } from "../../ops/elementwise/unary.ts";
import { clamp } from "../../ops/elementwise/where.ts";
import { draw, type Generator } from "../../ops/random/random.ts";
import { reshape } from "../../ops/shape/movement.ts";

/** A number for each sample: a tensor [N], or a list. */
export type PerSample = Tensor | readonly number[];

/** Options of augmentations that draw parameters. */
export interface AugmentOptions {
  /** Draws the parameters, on the images' device. Default: the default generator (manualSeed). */
  readonly generator?: Generator | undefined;
}

/** A batch of images, and what its parameters are drawn by. @package */
export interface Images {
  readonly operation: string;
  readonly n: number;
  readonly c: number;
  readonly h: number;
  readonly w: number;
  readonly device: Device;
  readonly generator: Generator | undefined;
}

/** @internal A batch [N, C, H, W] of float32, float16 or uint8. */
export function imagesOf(operation: string, x: Tensor, generator?: Generator): Images {
  if (!(x instanceof Tensor)) throw new DTypeError(operation, "x", "a tensor [N, C, H, W]", x);
  if (x.dtype !== "float32" && x.dtype !== "float16" && x.dtype !== "uint8")
    throw new DTypeError(operation, "x", "of dtype float32, float16 or uint8", x.describe());
  if (x.rank !== 4) throw new ShapeError(operation, "x", "[N, C, H, W]", x.describe());
  const [n, c, h, w] = x.shape as unknown as [number, number, number, number];
  return { operation, n, c, h, w, device: x.device, generator };
}

/** @internal The largest value of an image: 255 of uint8, else 1. */
export const boundOf = (x: Tensor): number => (x.dtype === "uint8" ? 255 : 1);

/** @internal Numbers of float32 as an image's dtype: for uint8, rounded and limited. */
export const asImage = (y: Tensor, like: Tensor): Tensor =>
  like.dtype === "uint8" ? toDType(clamp(round(y), 0, 255), "uint8") : toDType(y, like.dtype);

/** @internal [N] numbers, uniform in [low, high). */
export function uniform({ n, device, generator }: Images, low = 0, high = 1): Tensor {
  const u = draw("uniform", [n], "float32", device, generator);
  return low === 0 && high === 1 ? u : add(mul(u, high - low), low);
}

/** @internal [N] integers, uniform from 0 up to a limit, which is not among them: a number, or one of each sample. */
export function integersBelow(images: Images, limit: number | Tensor): Tensor {
  const last = typeof limit === "number" ? limit - 1 : add(limit, -1);
  // The product may be rounded up to the limit.
  return clamp(floor(mul(uniform(images), limit)), 0, last);
}

/** @internal Parameters as they are passed, as float32 [N]; drawn where they are not. */
export function parameter(images: Images, name: string, value: PerSample | undefined, drawn: () => Tensor): Tensor {
  const { operation, n, device } = images;
  if (value === undefined) return drawn();
  const isTensor = value instanceof Tensor;
  if (!isTensor && !(Array.isArray(value) && value.every((v) => typeof v === "number" || typeof v === "boolean")))
    throw new DTypeError(operation, name, "a tensor [N], or a list of numbers", value);
  if (isTensor && value.device !== device) throw new DeviceError(operation, name, `on ${String(device)}, as the images`, value.device);
  const shape = isTensor ? value.shape : [value.length];
  if (shape.length !== 1 || shape[0] !== n) throw new ShapeError(operation, name, `one number for each of ${n} samples`, isTensor ? value.describe() : value.length); // prettier-ignore
  return isTensor ? toDType(value, "float32") : tensor(value.map(Number), { dtype: "float32", device });
}

/** @internal [N] as [N, 1, 1, 1]. */
export const each = (t: Tensor): Tensor => reshape(t, [t.shape[0]!, 1, 1, 1]);

/** @internal Throws ValueError for what is no number in [min, max]. */
export function requireNumber(operation: string, name: string, value: number, min: number, max: number): number {
  if (typeof value !== "number" || !(value >= min && value <= max))
    throw new ValueError(operation, name, max === Infinity ? `a number of at least ${min}` : `a number in [${min}, ${max}]`, value);
  return value;
}

/** A range to draw from: [low, high], or a number r for [-r, r]. */
export type Range = number | readonly [low: number, high: number];

/** @internal [low, high] of a range around `middle`, within [min, max]. Throws ValueError for what is none. */
export function rangeOf(
  operation: string,
  name: string,
  range: Range,
  middle = 0,
  min = -Infinity,
  max = Infinity,
): readonly [number, number] {
  const isNumber = typeof range === "number";
  const [low, high] = isNumber ? [Math.max(min, middle - range), Math.min(max, middle + range)] : (range as readonly [number, number]);
  const isRange = isNumber ? range >= 0 : Array.isArray(range) && range.length === 2;
  if (!isRange || !(low <= high && low >= min && high <= max && Number.isFinite(low) && Number.isFinite(high)))
    throw new ValueError(
      operation,
      name,
      `a number of at least 0, or [low, high]${min > -Infinity ? ` within [${min}, ${max}]` : ""}`,
      range,
    );
  return [low, high];
}

/** @internal [height, width] of a number or a pair. Throws ValueError for what is none. */
export function pairOf(operation: string, name: string, value: number | readonly [number, number], min: number): readonly [number, number] {
  const pair = typeof value === "number" ? [value, value] : value;
  if (!Array.isArray(pair) || pair.length !== 2 || !pair.every((v) => Number.isSafeInteger(v) && v >= min))
    throw new ValueError(operation, name, `an integer of at least ${min}, or two`, value);
  return pair as unknown as readonly [number, number];
}
