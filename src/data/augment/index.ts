/** Augmentations: whole batches of images changed at random on their device, each image by parameters of its own. */
export { affine, rotation, type AffineOptions, type AffineParameters, type RotationOptions, type SamplingOptions } from "./affine.ts";
export { colorJitter, normalize, type ColorFactors, type ColorJitterOptions } from "./color.ts";
export { cutmix, mixup, type CutmixOptions, type MixupOptions } from "./mix.ts";
export type { AugmentOptions, PerSample, Range } from "./parameters.ts";
export {
  horizontalFlip,
  randomCrop,
  randomErase,
  verticalFlip,
  type Boxes,
  type FlipOptions,
  type RandomCropOptions,
  type RandomEraseOptions,
} from "./position.ts";
