/** Augmentations that move or hide pixels and compute none: crops, flips, erased boxes. Exact in every dtype. */
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { arange } from "../../ops/creation/ranges.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, div, mul, sub } from "../../ops/elementwise/binary.ts";
import { ge, gt, logicalAnd, lt } from "../../ops/elementwise/compare.ts";
import { exp, round, sqrt } from "../../ops/elementwise/unary.ts";
import { clamp, minimum, where } from "../../ops/elementwise/where.ts";
import { gather } from "../../ops/index/gather.ts";
import { randn } from "../../ops/random/random.ts";
import { flip } from "../../ops/shape/join.ts";
import { broadcastTo, reshape } from "../../ops/shape/movement.ts";
import { pad } from "../../ops/shape/pad.ts";
import {
  each,
  imagesOf,
  integersBelow,
  pairOf,
  parameter,
  rangeOf,
  requireNumber,
  uniform,
  type AugmentOptions,
  type Images,
  type PerSample,
} from "./parameters.ts";

/** Options of randomCrop(). */
export interface RandomCropOptions extends AugmentOptions {
  /** Pixels added on each side first: a number, or [above and below, left and right]. Default: 0. */
  readonly padding?: number | readonly [number, number] | undefined;
  /** What added pixels are. Default: "constant". */
  readonly paddingMode?: "constant" | "reflect" | "replicate" | undefined;
  /** The value of added pixels, of mode "constant". Default: 0. */
  readonly fill?: number | undefined;
  /** The first row of each sample's crop, counted with the padding. Default: drawn. */
  readonly top?: PerSample | undefined;
  /** The first column of each sample's crop, counted with the padding. Default: drawn. */
  readonly left?: PerSample | undefined;
}

/**
 * A crop of each image, at a position of its own.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. size: h or [h, w]. Result: [N, C, h, w] of the same dtype.
 * Throws ShapeError for a size larger than the padded image. Reference: torchvision.transforms.v2.RandomCrop. DirectML: PADDING1, GATHER_ELEMENTS.
 */
export function randomCrop(x: Tensor, size: number | readonly [number, number], options: RandomCropOptions = {}): Tensor {
  const operation = "augment.randomCrop";
  const { padding = 0, paddingMode = "constant", fill = 0, top, left, generator } = options;
  imagesOf(operation, x);
  const [h, w] = pairOf(operation, "size", size, 1);
  const [vertical, horizontal] = pairOf(operation, "padding", padding, 0);
  if (!["constant", "reflect", "replicate"].includes(paddingMode))
    throw new ValueError(operation, "paddingMode", '"constant", "reflect" or "replicate"', paddingMode);
  requireNumber(operation, "fill", fill, -Infinity, Infinity);
  const isPadded = vertical > 0 || horizontal > 0;
  const pads = [horizontal, horizontal, vertical, vertical];
  const padded = isPadded ? pad(x, pads, paddingMode === "constant" ? { value: fill } : { mode: paddingMode }) : x;
  const images = imagesOf(operation, padded, generator);
  if (h > images.h || w > images.w)
    throw new ShapeError(operation, "size", `at most the padded image, [${images.h}, ${images.w}]`, `[${h}, ${w}]`);
  const { n, c, device } = images;
  const rows = limited(parameter(images, "top", top, () => integersBelow(images, images.h - h + 1)), images.h - h); // prettier-ignore
  const columns = limited(parameter(images, "left", left, () => integersBelow(images, images.w - w + 1)), images.w - w); // prettier-ignore
  const steps = (length: number): Tensor => arange(length, { dtype: "int32", device });
  const at = add(
    mul(add(reshape(rows, [n, 1, 1]), reshape(steps(h), [1, h, 1])), images.w),
    add(reshape(columns, [n, 1, 1]), reshape(steps(w), [1, 1, w])),
  );
  const index = broadcastTo(reshape(at, [n, 1, h * w]), [n, c, h * w]);
  return reshape(gather(reshape(padded, [n, c, images.h * images.w]), 2, index), [n, c, h, w]);
}

/** Integers in [0, max], as int32. */
const limited = (t: Tensor, max: number): Tensor => toDType(clamp(t, 0, max), "int32");

/** Options of flips. */
export interface FlipOptions extends AugmentOptions {
  /** The probability of a flip. Default: 0.5. */
  readonly p?: number | undefined;
  /** Which samples are flipped: not 0, or true. Default: drawn. */
  readonly flipped?: Tensor | readonly number[] | readonly boolean[] | undefined;
}

function flipEach(operation: string, x: Tensor, axis: number, { p = 0.5, flipped, generator }: FlipOptions): Tensor {
  const images = imagesOf(operation, x, generator);
  requireNumber(operation, "p", p, 0, 1);
  const chosen = flipped === undefined ? lt(uniform(images), p) : gt(parameter(images, "flipped", flipped as PerSample, () => uniform(images)), 0); // prettier-ignore
  return where(each(chosen), flip(x, axis), x);
}

/**
 * Images mirrored left to right, each with probability p. x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomHorizontalFlip. DirectML: SLICE1, ELEMENT_WISE_IF.
 */
export const horizontalFlip = (x: Tensor, options: FlipOptions = {}): Tensor => flipEach("augment.horizontalFlip", x, 3, options);

/**
 * Images mirrored top to bottom, each with probability p. x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomVerticalFlip. DirectML: SLICE1, ELEMENT_WISE_IF.
 */
export const verticalFlip = (x: Tensor, options: FlipOptions = {}): Tensor => flipEach("augment.verticalFlip", x, 2, options);

/** A box of each sample, in pixels. */
export interface Boxes {
  /** The first row. */
  readonly top: PerSample;
  /** The first column. */
  readonly left: PerSample;
  /** Rows. */
  readonly height: PerSample;
  /** Columns. */
  readonly width: PerSample;
}

/** @internal Where the boxes are: bool [N, 1, H, W]. */
export function insideBoxes(images: Images, top: Tensor, left: Tensor, height: Tensor, width: Tensor): Tensor {
  const { h, w, device } = images;
  const along = (length: number, shape: readonly number[], first: Tensor, count: Tensor): Tensor => {
    const at = reshape(arange(length, { dtype: "float32", device }), shape);
    return logicalAnd(ge(at, each(first)), lt(at, each(add(first, count))));
  };
  return logicalAnd(along(h, [1, 1, h, 1], top, height), along(w, [1, 1, 1, w], left, width));
}

/** Options of randomErase(). */
export interface RandomEraseOptions extends AugmentOptions {
  /** The probability that an image gets a box. Default: 0.5. */
  readonly p?: number | undefined;
  /** The box's part of the image's area. Default: [0.02, 0.33]. */
  readonly scale?: readonly [number, number] | undefined;
  /** Height by width of the box. Default: [0.3, 3.3]. */
  readonly ratio?: readonly [number, number] | undefined;
  /** What the box is filled with: a number, one for each channel, or "random" for normal numbers. Default: 0. */
  readonly value?: number | readonly number[] | "random" | undefined;
  /** The boxes; each sample has one then. Default: drawn. */
  readonly boxes?: Boxes | undefined;
}

/**
 * A box of each image overwritten, with probability p. Boxes that are larger than the image are cut; torchvision draws again.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomErasing. DirectML: ELEMENT_WISE_IF.
 */
export function randomErase(x: Tensor, options: RandomEraseOptions = {}): Tensor {
  const operation = "augment.randomErase";
  const { p = 0.5, scale = [0.02, 0.33], ratio = [0.3, 3.3], value = 0, boxes, generator } = options;
  const images = imagesOf(operation, x, generator);
  requireNumber(operation, "p", p, 0, 1);
  const [smallest, largest] = rangeOf(operation, "scale", scale, 0, 0, 1);
  const [flattest, steepest] = rangeOf(operation, "ratio", ratio, 0, Number.MIN_VALUE, Number.MAX_VALUE);
  const filler = filling(images, x, value);
  let inside: Tensor;
  if (boxes === undefined) {
    const { h, w } = images;
    const area = uniform(images, smallest * h * w, largest * h * w);
    const steep = exp(uniform(images, Math.log(flattest), Math.log(steepest)));
    const height = minimum(round(sqrt(mul(area, steep))), h);
    const width = minimum(round(sqrt(div(area, steep))), w);
    const [top, left] = [integersBelow(images, sub(h + 1, height)), integersBelow(images, sub(w + 1, width))];
    inside = logicalAnd(insideBoxes(images, top, left, height, width), each(lt(uniform(images), p)));
  } else {
    const at = (name: keyof Boxes): Tensor => parameter(images, `boxes.${name}`, boxes[name], () => uniform(images));
    inside = insideBoxes(images, at("top"), at("left"), at("height"), at("width"));
  }
  return where(inside, filler, x);
}

/** What boxes are filled with, in the images' dtype. */
function filling({ operation, n, c, h, w, device, generator }: Images, x: Tensor, value: number | readonly number[] | "random"): Tensor {
  const { dtype } = x;
  if (value === "random") {
    if (dtype === "uint8") throw new ValueError(operation, "value", "a number or numbers for images of uint8", value);
    return randn([n, c, h, w], { dtype, device, generator });
  }
  const list = typeof value === "number" ? [value] : value;
  if (!Array.isArray(list) || !list.every(Number.isFinite) || (list.length !== 1 && list.length !== c))
    throw new ValueError(operation, "value", `a number, ${c} numbers, or "random"`, value);
  return tensor(list as readonly number[] as number[], { shape: [1, list.length, 1, 1], dtype, device });
}
