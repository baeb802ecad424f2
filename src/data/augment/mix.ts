/** Augmentations that mix each image with the one before it in the batch, and their labels too: mixup, cutmix. */
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isFloat } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, div, mul, sub } from "../../ops/elementwise/binary.ts";
import { gt, logicalAnd, lt } from "../../ops/elementwise/compare.ts";
import { sigmoid } from "../../ops/elementwise/activation.ts";
import { floor, log, sqrt } from "../../ops/elementwise/unary.ts";
import { clamp, where } from "../../ops/elementwise/where.ts";
import { oneHot } from "../../ops/index/one-hot.ts";
import { draw } from "../../ops/random/random.ts";
import { roll } from "../../ops/shape/join.ts";
import { reshape, select } from "../../ops/shape/movement.ts";
import {
  asImage,
  each,
  imagesOf,
  integersBelow,
  parameter,
  requireNumber,
  uniform,
  type AugmentOptions,
  type Images,
  type PerSample,
} from "./parameters.ts";
import { insideBoxes, type Boxes } from "./position.ts";

/** Options of mixup(). */
export interface MixupOptions extends AugmentOptions {
  /** Of the Beta distribution that the weights are drawn from. Default: 1, uniform. */
  readonly alpha?: number | undefined;
  /** Classes of integer labels. */
  readonly numClasses?: number | undefined;
  /** The weight of each image; the one before it has the rest. Default: drawn. */
  readonly weights?: PerSample | undefined;
}

/** Options of cutmix(). */
export interface CutmixOptions extends AugmentOptions {
  /** Of the Beta distribution that the part of the image outside of the box is drawn from. Default: 1, uniform. */
  readonly alpha?: number | undefined;
  /** Classes of integer labels. */
  readonly numClasses?: number | undefined;
  /** The boxes. Default: drawn. */
  readonly boxes?: Boxes | undefined;
}

/** Candidates of a draw: each is accepted with a probability of at least 0.95. */
const CANDIDATES = 6;

/** The logarithm of a Gamma(alpha, 1) variable (Marsaglia and Tsang, boosted from alpha + 1): the first candidate that is accepted. */
function logGamma({ n, device, generator }: Images, alpha: number): Tensor {
  const d = alpha + 1 - 1 / 3;
  const z = draw("normal", [CANDIDATES, n], "float32", device, generator);
  const u = draw("uniform", [CANDIDATES + 1, n], "float32", device, generator);
  const base = add(mul(z, 1 / Math.sqrt(9 * d)), 1);
  const v = mul(mul(base, base), base);
  const logV = log(clamp(v, 1e-30));
  let found = select(logV, 0, CANDIDATES - 1);
  for (let i = CANDIDATES - 2; i >= 0; i--) {
    const [zi, vi, li] = [select(z, 0, i), select(v, 0, i), select(logV, 0, i)];
    const bound = add(mul(mul(zi, zi), 0.5), mul(add(sub(1, vi), li), d));
    found = where(logicalAnd(gt(vi, 0), lt(log(sub(1, select(u, 0, i))), bound)), li, found);
  }
  return add(found, add(div(log(sub(1, select(u, 0, CANDIDATES))), alpha), Math.log(d)));
}

/** [N] numbers of Beta(alpha, alpha). */
const beta = (images: Images, alpha: number): Tensor =>
  noGrad(() => (alpha === 1 ? uniform(images) : sigmoid(sub(logGamma(images, alpha), logGamma(images, alpha)))));

/** Labels as rows of probabilities: [N, classes]. */
function rowsOf({ operation, n }: Images, x: Tensor, y: Tensor, numClasses: number | undefined): Tensor {
  requireSameDevice(operation, [x, y]);
  if (isFloat(y.dtype)) {
    if (y.rank !== 2 || y.shape[0] !== n) throw new ShapeError(operation, "y", `[${n}, classes], or integers [${n}]`, y.describe());
    return y;
  }
  if (y.dtype !== "int32" && y.dtype !== "int64" && y.dtype !== "uint8") throw new DTypeError(operation, "y", "of int32, int64, uint8 or a floating dtype", y.describe()); // prettier-ignore
  if (y.rank !== 1 || y.shape[0] !== n) throw new ShapeError(operation, "y", `[${n}] of integers, or [${n}, classes]`, y.describe());
  if (numClasses === undefined || !Number.isSafeInteger(numClasses) || numClasses < 1)
    throw new ValueError(operation, "numClasses", "an integer of at least 1, for labels that are integers", numClasses);
  return toDType(oneHot(toDType(y, "int64"), numClasses), "float32");
}

const mixed = (a: Tensor, b: Tensor, weight: Tensor): Tensor => add(b, mul(sub(a, b), weight));
const before = (t: Tensor): Tensor => roll(t, 1, 0);

function mixedRows(rows: Tensor, weights: Tensor): Tensor {
  const y = toDType(rows, "float32");
  return toDType(mixed(y, before(y), reshape(weights, [y.shape[0]!, 1])), rows.dtype);
}

/**
 * Each image mixed with the one before it in the batch, and their labels as much: weight * x[i] + (1 - weight) * x[i - 1], a weight for each.
 *
 * x: [N, C, H, W] of float32, float16 or uint8 (rounded). y: classes [N] as integers, with numClasses; or probabilities [N, classes].
 * Result: [images as x, labels [N, classes], of float32 or y's floating dtype]. Throws ValueError for an alpha that is not positive. Reference:
 * torchvision.transforms.v2.MixUp, which draws one weight for the batch. DirectML: arithmetic.
 */
export function mixup(x: Tensor, y: Tensor, options: MixupOptions = {}): [x: Tensor, y: Tensor] {
  const operation = "augment.mixup";
  const { alpha = 1, numClasses, weights, generator } = options;
  const images = imagesOf(operation, x, generator);
  requireNumber(operation, "alpha", alpha, Number.MIN_VALUE, Number.MAX_VALUE);
  const rows = rowsOf(images, x, y, numClasses);
  const weight = parameter(images, "weights", weights, () => beta(images, alpha));
  const values = toDType(x, "float32");
  return [asImage(mixed(values, before(values), each(weight)), x), mixedRows(rows, weight)];
}

/**
 * A box of each image replaced by that of the image before it in the batch, and the labels mixed by the area. Boxes are cut at the edges.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. y: classes [N] as integers, with numClasses; or probabilities [N, classes].
 * Result: [images as x, labels [N, classes], of float32 or y's floating dtype]. Throws ValueError for an alpha that is not positive. Reference:
 * torchvision.transforms.v2.CutMix, which draws one box for the batch. DirectML: ELEMENT_WISE_IF.
 */
export function cutmix(x: Tensor, y: Tensor, options: CutmixOptions = {}): [x: Tensor, y: Tensor] {
  const operation = "augment.cutmix";
  const { alpha = 1, numClasses, boxes, generator } = options;
  const images = imagesOf(operation, x, generator);
  requireNumber(operation, "alpha", alpha, Number.MIN_VALUE, Number.MAX_VALUE);
  const rows = rowsOf(images, x, y, numClasses);
  const { h, w } = images;
  /** From the first to behind the last, within the image. */
  const within = (first: Tensor, last: Tensor, length: number): readonly [Tensor, Tensor] => {
    const start = clamp(first, 0, length);
    return [start, sub(clamp(last, 0, length), start)];
  };
  const drawn = (length: number, part: Tensor): readonly [Tensor, Tensor] => {
    const middle = integersBelow(images, length);
    const half = floor(mul(part, length / 2));
    return within(sub(middle, half), add(middle, half), length);
  };
  const passed = (start: "top" | "left", count: "height" | "width", length: number): readonly [Tensor, Tensor] => {
    const first = parameter(images, `boxes.${start}`, boxes![start], () => uniform(images));
    return within(
      first,
      add(
        first,
        parameter(images, `boxes.${count}`, boxes![count], () => uniform(images)),
      ),
      length,
    );
  };
  const part = boxes === undefined ? sqrt(sub(1, beta(images, alpha))) : null;
  const [top, height] = part === null ? passed("top", "height", h) : drawn(h, part);
  const [left, width] = part === null ? passed("left", "width", w) : drawn(w, part);
  const weight = sub(1, div(mul(height, width), h * w));
  return [where(insideBoxes(images, top, left, height, width), before(x), x), mixedRows(rows, weight)];
}
