/** Augmentations that turn, move, scale and shear images. */
import { ValueError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { zeros } from "../../ops/creation/creation.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { add, div, mul, sub } from "../../ops/elementwise/binary.ts";
import { cos, neg, round, sin, tan } from "../../ops/elementwise/unary.ts";
import { affineGrid, gridSample } from "../../ops/vision/grid-sample.ts";
import { stack } from "../../ops/shape/join.ts";
import { reshape } from "../../ops/shape/movement.ts";
import {
  asImage,
  imagesOf,
  parameter,
  rangeOf,
  requireNumber,
  uniform,
  type AugmentOptions,
  type Images,
  type PerSample,
  type Range,
} from "./parameters.ts";

/** How augmentations read between pixels. */
export interface SamplingOptions extends AugmentOptions {
  /** Between pixels: their weighted mean, or the nearest one. Default: "nearest". */
  readonly mode?: "nearest" | "bilinear" | undefined;
  /** The value outside of the image. Default: 0. */
  readonly fill?: number | undefined;
}

/** What affine() does to each sample. */
export interface AffineParameters {
  /** Degrees, clockwise. Default: 0. */
  readonly angle?: PerSample | undefined;
  /** Pixels to the right. Default: 0. */
  readonly translateX?: PerSample | undefined;
  /** Pixels down. Default: 0. */
  readonly translateY?: PerSample | undefined;
  /** Default: 1. */
  readonly scale?: PerSample | undefined;
  /** Degrees. Default: 0. */
  readonly shearX?: PerSample | undefined;
  /** Degrees. Default: 0. */
  readonly shearY?: PerSample | undefined;
}

/** Options of affine(). */
export interface AffineOptions extends SamplingOptions {
  /** The range of angles in degrees, clockwise. Default: 0. */
  readonly degrees?: Range | undefined;
  /** The largest moves, as parts of width and height: [x, y]. Default: [0, 0]. */
  readonly translate?: readonly [number, number] | undefined;
  /** The range of factors. Default: [1, 1]. */
  readonly scale?: readonly [number, number] | undefined;
  /** The range of shears along x in degrees. Default: 0. */
  readonly shear?: Range | undefined;
  /** The range of shears along y in degrees. Default: 0. */
  readonly shearY?: Range | undefined;
  /** The parameters of each sample, in place of all ranges. Default: drawn. */
  readonly parameters?: AffineParameters | undefined;
}

/** Each image as it is read at the inverse map: [m0 m1 m2; m3 m4 m5] leads from pixels of the result to pixels of x, around the centre. */
function sampled(images: Images, x: Tensor, m: readonly Tensor[], { mode = "nearest", fill = 0 }: SamplingOptions): Tensor {
  const { operation, n, h, w } = images;
  if (mode !== "nearest" && mode !== "bilinear") throw new ValueError(operation, "mode", '"nearest" or "bilinear"', mode);
  requireNumber(operation, "fill", fill, -Infinity, Infinity);
  if (x.size === 0) return x;
  // In a grid's coordinates width and height are 2.
  const theta = stack([m[0]!, mul(m[1]!, h / w), mul(m[2]!, 2 / w), mul(m[3]!, w / h), m[4]!, mul(m[5]!, 2 / h)], 1);
  const grid = affineGrid(reshape(theta, [n, 2, 3]), x.shape);
  const values = toDType(x, "float32");
  const read = gridSample(fill === 0 ? values : sub(values, fill), grid, { mode, paddingMode: "zeros" });
  return asImage(fill === 0 ? read : add(read, fill), x);
}

const radians = (t: Tensor): Tensor => mul(t, Math.PI / 180);

/**
 * Images rotated, moved, scaled and sheared around their centres, each by parameters of its own.
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype; uint8 is rounded.
 * Throws ValueError for ranges that are none. Reference: torchvision.transforms.v2.RandomAffine. DirectML: GATHER_ELEMENTS, arithmetic.
 */
export function affine(x: Tensor, options: AffineOptions = {}): Tensor {
  const operation = "augment.affine";
  const { degrees = 0, translate = [0, 0], scale = [1, 1], shear = 0, shearY = 0, parameters, generator } = options;
  const images = imagesOf(operation, x, generator);
  const [moveX, moveY] = [...translate].map((v) => requireNumber(operation, "translate", v, 0, 1)) as [number, number];
  const ranges = {
    angle: rangeOf(operation, "degrees", degrees),
    translateX: [-(moveX * images.w), moveX * images.w],
    translateY: [-(moveY * images.h), moveY * images.h],
    scale: rangeOf(operation, "scale", scale, 1, Number.MIN_VALUE, Number.MAX_VALUE),
    shearX: rangeOf(operation, "shear", shear),
    shearY: rangeOf(operation, "shearY", shearY),
  } as const;
  const constant = (v: number): Tensor => add(zeros([images.n], { device: images.device }), v);
  const value = (name: keyof AffineParameters): Tensor => {
    const [low, high] = ranges[name];
    const neutral = name === "scale" ? 1 : 0;
    if (parameters !== undefined) return parameter(images, `parameters.${name}`, parameters[name], () => constant(neutral));
    if (low === high) return constant(low);
    const drawn = uniform(images, low, high);
    // Whole pixels, as torchvision moves by.
    return name === "translateX" || name === "translateY" ? round(drawn) : drawn;
  };
  const [angle, sx, sy] = [radians(value("angle")), radians(value("shearX")), radians(value("shearY"))];
  const [tx, ty, factor] = [value("translateX"), value("translateY"), value("scale")];
  // Rotation by shear, [a b; c d] with the determinant 1; its inverse is [d -b; -c a].
  const rotated = sub(angle, sy);
  const a = div(cos(rotated), cos(sy));
  const c = div(sin(rotated), cos(sy));
  const b = sub(neg(mul(a, tan(sx))), sin(angle));
  const d = sub(cos(angle), mul(c, tan(sx)));
  const [m0, m1, m3, m4] = [d, neg(b), neg(c), a].map((v) => div(v, factor)) as [Tensor, Tensor, Tensor, Tensor];
  const back = (first: Tensor, second: Tensor): Tensor => neg(add(mul(first, tx), mul(second, ty)));
  return sampled(images, x, [m0, m1, back(m0, m1), m3, m4, back(m3, m4)], options);
}

/** Options of rotation(). */
export interface RotationOptions extends SamplingOptions {
  /** The angle of each sample in degrees, in place of the range. Default: drawn. */
  readonly angle?: PerSample | undefined;
}

/**
 * Images rotated around their centres, each by an angle of its own. degrees: the range of angles, counter-clockwise: r for [-r, r], or [low, high].
 *
 * x: [N, C, H, W] of float32, float16 or uint8. Result: same shape and dtype; what lies outside is `fill`.
 * Reference: torchvision.transforms.v2.RandomRotation. DirectML: GATHER_ELEMENTS, arithmetic.
 */
export function rotation(x: Tensor, degrees: Range, options: RotationOptions = {}): Tensor {
  const operation = "augment.rotation";
  const images = imagesOf(operation, x, options.generator);
  const [low, high] = rangeOf(operation, "degrees", degrees);
  const angle = radians(parameter(images, "angle", options.angle, () => uniform(images, low, high)));
  const [cosine, sine] = [cos(angle), sin(angle)];
  const none = mul(sine, 0);
  return sampled(images, x, [cosine, neg(sine), none, sine, cosine, none], options);
}
