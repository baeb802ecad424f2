// Made by npm run generate from the families in src/ops.
import { guarded } from "./kinds.generated.ts";
import * as $dataAugmentAffine from "../data/augment/affine.ts";
import * as $dataAugmentColor from "../data/augment/color.ts";
import * as $dataAugmentMix from "../data/augment/mix.ts";
import * as $dataAugmentPosition from "../data/augment/position.ts";
export type { AffineOptions } from "../data/augment/affine.ts";
export type { AffineParameters } from "../data/augment/affine.ts";
export type { RotationOptions } from "../data/augment/affine.ts";
export type { SamplingOptions } from "../data/augment/affine.ts";
export type { ColorFactors } from "../data/augment/color.ts";
export type { ColorJitterOptions } from "../data/augment/color.ts";
export type { CutmixOptions } from "../data/augment/mix.ts";
export type { MixupOptions } from "../data/augment/mix.ts";
export type { AugmentOptions } from "../data/augment/parameters.ts";
export type { PerSample } from "../data/augment/parameters.ts";
export type { Range } from "../data/augment/parameters.ts";
export type { Boxes } from "../data/augment/position.ts";
export type { FlipOptions } from "../data/augment/position.ts";
export type { RandomCropOptions } from "../data/augment/position.ts";
export type { RandomEraseOptions } from "../data/augment/position.ts";
/**
 * Images rotated, moved, scaled and sheared around their centres, each by parameters of its own.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype; uint8 is rounded.
 * Throws ValueError for ranges that are none. Reference: torchvision.transforms.v2.RandomAffine. DirectML: GATHER_ELEMENTS, arithmetic.
 */
export const affine = guarded($dataAugmentAffine.affine, "augment.affine", "x options:AffineOptions?");
/**
 * Images rotated around their centres, each by an angle of its own. degrees: the range of angles, counter-clockwise: r for [-r, r], or [low, high].
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype; what lies outside is `fill`.
 * Reference: torchvision.transforms.v2.RandomRotation. DirectML: GATHER_ELEMENTS, arithmetic.
 */
export const rotation = guarded($dataAugmentAffine.rotation, "augment.rotation", "x degrees:numberOrNumbers options:RotationOptions?");
/**
 * Brightness, contrast, saturation and hue changed, in this order, each image by factors of its own. Values stay in [0, 1], of uint8 in [0, 255].
 *
 * x: [N, C, H, W] of float32, float16 or uint8, with C 1 or 3 (RGB); an image of one channel has no saturation and no hue. Result: same shape and dtype; uint8 is
 * rounded once. Throws ShapeError for other channels, ValueError for ranges that are none. Reference: torchvision.transforms.v2.ColorJitter, which
 * draws the order too. DirectML: arithmetic.
 */
export const colorJitter = guarded($dataAugmentColor.colorJitter, "augment.colorJitter", "x options:ColorJitterOptions?");
/**
 * (x - mean) / std for each channel; of uint8, (x / 255 - mean) / std.
 *
 * x: [N, C, H, W]. mean, std: a number, or one for each channel. Result: same shape; x's dtype, float32 for uint8.
 * Throws ValueError for other lengths and for a std that is not positive. Reference: torchvision.transforms.v2.Normalize. DirectML: arithmetic.
 */
export const normalize = guarded($dataAugmentColor.normalize, "augment.normalize", "x mean:numberOrNumbers std:numberOrNumbers");
/**
 * A box of each image replaced by that of the image before it in the batch, and the labels mixed by the area. Boxes are cut at the edges.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. y: classes [N] as integers, with numClasses; or probabilities [N, classes].
 * Result: [images as x, labels [N, classes], of float32 or y's floating dtype]. Throws ValueError for an alpha that is not positive. Reference:
 * torchvision.transforms.v2.CutMix, which draws one box for the batch. DirectML: ELEMENT_WISE_IF.
 */
export const cutmix = guarded($dataAugmentMix.cutmix, "augment.cutmix", "x y options:CutmixOptions?");
/**
 * Each image mixed with the one before it in the batch, and their labels as much: weight * x[i] + (1 - weight) * x[i - 1], a weight for each.
 *
 * x: [N, C, H, W] of float32, float16 or uint8 (rounded). y: classes [N] as integers, with numClasses; or probabilities [N, classes].
 * Result: [images as x, labels [N, classes], of float32 or y's floating dtype]. Throws ValueError for an alpha that is not positive. Reference:
 * torchvision.transforms.v2.MixUp, which draws one weight for the batch. DirectML: arithmetic.
 */
export const mixup = guarded($dataAugmentMix.mixup, "augment.mixup", "x y options:MixupOptions?");
/**
 * Images mirrored left to right, each with probability p. x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomHorizontalFlip. DirectML: SLICE1, ELEMENT_WISE_IF.
 */
export const horizontalFlip = guarded($dataAugmentPosition.horizontalFlip, "augment.horizontalFlip", "x options:FlipOptions?");
/**
 * A crop of each image, at a position of its own.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. size: h or [h, w]. Result: [N, C, h, w] of the same dtype.
 * Throws ShapeError for a size larger than the padded image. Reference: torchvision.transforms.v2.RandomCrop. DirectML: PADDING1, GATHER_ELEMENTS.
 */
export const randomCrop = guarded($dataAugmentPosition.randomCrop, "augment.randomCrop", "x size:numberOrNumbers options:RandomCropOptions?");
/**
 * A box of each image overwritten, with probability p. Boxes that are larger than the image are cut; torchvision draws again.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomErasing. DirectML: ELEMENT_WISE_IF.
 */
export const randomErase = guarded($dataAugmentPosition.randomErase, "augment.randomErase", "x options:RandomEraseOptions?");
/**
 * Images mirrored top to bottom, each with probability p. x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype.
 * Reference: torchvision.transforms.v2.RandomVerticalFlip. DirectML: SLICE1, ELEMENT_WISE_IF.
 */
export const verticalFlip = guarded($dataAugmentPosition.verticalFlip, "augment.verticalFlip", "x options:FlipOptions?");
