/** Augmentations of values: colour jitter and normalization. */
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, mul, sub } from "../../ops/elementwise/binary.ts";
import { eq } from "../../ops/elementwise/compare.ts";
import { div, remainder } from "../../ops/elementwise/division.ts";
import { clamp, maximum, minimum, where } from "../../ops/elementwise/where.ts";
import { mean } from "../../ops/reduce/reduce.ts";
import { cat } from "../../ops/shape/join.ts";
import { narrow } from "../../ops/shape/movement.ts";
import {
  asImage,
  boundOf,
  each,
  imagesOf,
  parameter,
  rangeOf,
  uniform,
  type AugmentOptions,
  type PerSample,
  type Range,
} from "./parameters.ts";

/** What colorJitter() does to each sample. */
export interface ColorFactors {
  /** Values times this. Default: left as they are. */
  readonly brightness?: PerSample | undefined;
  /** Distance from the mean of the image's grey times this. Default: left as it is. */
  readonly contrast?: PerSample | undefined;
  /** Distance from the pixel's grey times this. Default: left as it is. */
  readonly saturation?: PerSample | undefined;
  /** Part of the circle of hues that is added, in [-0.5, 0.5]. Default: left as it is. */
  readonly hue?: PerSample | undefined;
}

/** Options of colorJitter(). */
export interface ColorJitterOptions extends AugmentOptions {
  /** The range of factors: b for [max(0, 1 - b), 1 + b], or [low, high]. Default: none. */
  readonly brightness?: Range | undefined;
  /** As brightness. Default: none. */
  readonly contrast?: Range | undefined;
  /** As brightness. Default: none. */
  readonly saturation?: Range | undefined;
  /** The range of what is added to the hue: h for [-h, h], within [-0.5, 0.5]. Default: none. */
  readonly hue?: Range | undefined;
  /** The factors of each sample, in place of all ranges. Default: drawn. */
  readonly factors?: ColorFactors | undefined;
}

const channel = (x: Tensor, i: number): Tensor => narrow(x, 1, i, 1);

/** The grey of ITU-R BT.601, as torchvision computes it: [N, 1, H, W]. */
const greyOf = (x: Tensor): Tensor =>
  x.shape[1] === 1 ? x : add(add(mul(channel(x, 0), 0.2989), mul(channel(x, 1), 0.587)), mul(channel(x, 2), 0.114));

/** x moved away from another image by a factor of each sample, in [0, 1]. */
const blend = (x: Tensor, other: Tensor, factor: Tensor): Tensor => clamp(add(other, mul(sub(x, other), each(factor))), 0, 1);

/** Hues rotated by a part of the circle: a channel is max - (max - min) * limit(distance of its own hue). */
function turnHue(x: Tensor, by: Tensor): Tensor {
  const [r, g, b] = [channel(x, 0), channel(x, 1), channel(x, 2)];
  const max = maximum(maximum(r, g), b);
  const spread = sub(max, minimum(minimum(r, g), b));
  const safe = where(eq(spread, 0), 1, spread);
  const sixth = where(eq(max, r), div(sub(g, b), safe), where(eq(max, g), add(div(sub(b, r), safe), 2), add(div(sub(r, g), safe), 4)));
  const hue = add(sixth, mul(each(by), 6));
  return cat(
    [5, 3, 1].map((n) => {
      const k = remainder(add(hue, n), 6);
      return sub(max, mul(spread, clamp(minimum(k, sub(4, k)), 0, 1)));
    }),
    1,
  );
}

/**
 * Brightness, contrast, saturation and hue changed, in this order, each image by factors of its own. Values stay in [0, 1], of uint8 in [0, 255].
 *
 * x: [N, C, H, W] of float32, float16 or uint8, with C 1 or 3 (RGB); an image of one channel has no saturation and no hue. Result: same shape and dtype; uint8 is
 * rounded once. Throws ShapeError for other channels, ValueError for ranges that are none. Reference: torchvision.transforms.v2.ColorJitter, which
 * draws the order too. DirectML: arithmetic.
 */
export function colorJitter(x: Tensor, options: ColorJitterOptions = {}): Tensor {
  const operation = "augment.colorJitter";
  const { brightness, contrast, saturation, hue, factors, generator } = options;
  const images = imagesOf(operation, x, generator);
  if (images.c !== 1 && images.c !== 3) throw new ShapeError(operation, "x", "of 1 or 3 channels", x.describe());
  const ranges = { brightness, contrast, saturation, hue };
  const value = (name: keyof ColorFactors): Tensor | null => {
    if (factors !== undefined) {
      const passed = factors[name];
      return passed === undefined ? null : parameter(images, `factors.${name}`, passed, () => uniform(images));
    }
    const range = ranges[name];
    if (range === undefined) return null;
    const [low, high] =
      name === "hue" ? rangeOf(operation, name, range, 0, -0.5, 0.5) : rangeOf(operation, name, range, 1, 0, Number.MAX_VALUE);
    return uniform(images, low, high);
  };
  const [light, distance, colour, turn] = [value("brightness"), value("contrast"), value("saturation"), value("hue")];
  const bound = boundOf(x);
  let y = toDType(x, "float32");
  if (bound !== 1) y = div(y, bound);
  if (light !== null) y = clamp(mul(y, each(light)), 0, 1);
  if (distance !== null) y = blend(y, mean(greyOf(y), [1, 2, 3], { keepDims: true }), distance);
  if (images.c === 3 && colour !== null) y = blend(y, greyOf(y), colour);
  if (images.c === 3 && turn !== null) y = turnHue(y, turn);
  return asImage(bound === 1 ? y : mul(y, bound), x);
}

/**
 * (x - mean) / std for each channel; of uint8, (x / 255 - mean) / std.
 *
 * x: [N, C, H, W]. mean, std: a number, or one for each channel. Result: same shape; x's dtype, float32 for uint8.
 * Throws ValueError for other lengths and for a std that is not positive. Reference: torchvision.transforms.v2.Normalize. DirectML: arithmetic.
 */
export function normalize(x: Tensor, mean: number | readonly number[], std: number | readonly number[]): Tensor {
  const operation = "augment.normalize";
  const { c, device } = imagesOf(operation, x);
  const listOf = (name: string, value: number | readonly number[], min: number): readonly number[] => {
    const list = typeof value === "number" ? [value] : value;
    if (!Array.isArray(list) || (list.length !== 1 && list.length !== c) || !list.every((v) => Number.isFinite(v) && v > min))
      throw new ValueError(operation, name, `a ${min === 0 ? "positive" : "finite"} number, or ${c} of them`, value);
    return list as readonly number[];
  };
  const [middle, width] = [listOf("mean", mean, -Infinity), listOf("std", std, 0)];
  const bound = boundOf(x);
  const made = (list: readonly number[]): Tensor => tensor([...list], { shape: [1, list.length, 1, 1], dtype: "float32", device });
  const scaled = div(sub(toDType(x, "float32"), made(middle.map((v) => v * bound))), made(width.map((v) => v * bound)));
  return x.dtype === "uint8" ? scaled : toDType(scaled, x.dtype);
}
