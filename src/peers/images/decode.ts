/** From an image file to numbers [channels, height, width]. Knows no tensor: workers run it. */
import { FormatError, ValueError } from "../../core/errors.ts";
import { pathOf, readWhole, type FilePath } from "../../host/source.ts";
import { peerError } from "../peer.ts";
import type { RawImage, Sharp, SharpImage } from "./sharp.ts";

/** An image's elements, [channels, height, width] in row-major order. */
export interface DecodedImage {
  /** uint8, or uint16 for `depth: 16`. */
  readonly data: Uint8Array | Uint16Array;
  /** [channels, height, width] */
  readonly shape: readonly [channels: number, height: number, width: number];
}

/** A height and a width, or one number for both. */
export type ImageSize = number | readonly [height: number, width: number];

/** How images are decoded: what they become, and what is cut out of them. */
export interface DecodeOptions {
  /**
   * Channels: "rgb" (3), "gray" (1), "rgba" (4), "grayAlpha" (2), or "unchanged", as many as the file has. Gray is made of colours as Pillow does it
   * (ITU-R 601-2); CMYK becomes RGB. Without a channel for it, alpha is dropped. Default: "rgb".
   */
  readonly mode?: "rgb" | "gray" | "rgba" | "grayAlpha" | "unchanged" | undefined;
  /** Bits of an element: 8 gives uint8, 16 gives uint16. Files of 16 bits keep their upper 8 bits for 8; files of 8 bits are scaled by 257 for 16. Default: 8. */
  readonly depth?: 8 | 16 | undefined;
  /** Turns the image as its EXIF data say. torchvision's data sets do not. Default: true. */
  readonly autoOrient?: boolean | undefined;
  /** The new size: [height, width], or the shorter side with the aspect ratio kept. Reference: torchvision.transforms.Resize. */
  readonly resize?: ImageSize | undefined;
  /** How pixels are made for `resize`; all but "nearest" smooth where the image becomes smaller. Default: "bilinear". */
  readonly interpolation?: "nearest" | "bilinear" | "bicubic" | "lanczos" | undefined;
  /** What is cut out, after `resize`. Throws FormatError for an image that is smaller. Reference: torchvision.transforms.CenterCrop. */
  readonly crop?: ImageSize | undefined;
  /** Where it is cut out; "random" draws the position from the sample's random numbers. Reference: torchvision.transforms.RandomCrop. Default: "center". */
  readonly cropAt?: "center" | "random" | undefined;
}

const KERNELS = { nearest: "nearest", bilinear: "linear", bicubic: "cubic", lanczos: "lanczos3" };
const MODES = ["rgb", "gray", "rgba", "grayAlpha", "unchanged"];

const sizeOf = (size: ImageSize): readonly number[] => (typeof size === "number" ? [size, size] : size);

function requireOne(operation: string, argument: string, value: unknown, allowed: readonly unknown[]): void {
  if (value !== undefined && !allowed.includes(value)) throw new ValueError(operation, argument, `one of ${allowed.join(", ")}`, value);
}

/** Throws ValueError for options that are none. */
export function requireDecodeOptions(operation: string, options: DecodeOptions): void {
  requireOne(operation, "mode", options.mode, MODES);
  requireOne(operation, "depth", options.depth, [8, 16]);
  requireOne(operation, "interpolation", options.interpolation, Object.keys(KERNELS));
  requireOne(operation, "cropAt", options.cropAt, ["center", "random"]);
  for (const name of ["resize", "crop"] as const) {
    const size = options[name];
    if (size === undefined) continue;
    const sides = sizeOf(size);
    if (sides.length !== 2 || !sides.every((side) => Number.isInteger(side) && side >= 1))
      throw new ValueError(operation, name, "an integer above 0, or [height, width] of such", size);
  }
}

/** [height, width] after `resize`: torchvision rounds the longer side down. */
function resized(height: number, width: number, resize: ImageSize): readonly [number, number] {
  if (typeof resize !== "number") return [resize[0], resize[1]];
  const shorter = Math.min(height, width);
  const scaled = (side: number): number => (side === shorter ? resize : Math.floor((resize * side) / shorter));
  return [scaled(height), scaled(width)];
}

/** Python's round(): the even one of two that are as near. */
const roundHalfEven = (x: number): number => (x % 1 === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

/** Planes of the channels that are asked for, from interleaved pixels; luma: whether colours become gray. */
function planes(pixels: Uint8Array | Uint16Array, { channels }: { readonly channels: number }, luma: boolean, kept: number, scale: number) {
  const count = pixels.length / channels;
  const out = scale === 1 && !(pixels instanceof Uint16Array) ? new Uint8Array(kept * count) : new Uint16Array(kept * count);
  const colours = luma ? 1 : kept;
  if (luma)
    for (let i = 0, p = 0; i < count; i++, p += channels)
      out[i] = Math.floor((pixels[p]! * 19595 + pixels[p + 1]! * 38470 + pixels[p + 2]! * 7471 + 32768) / 65536) * scale;
  else for (let c = 0; c < colours; c++) for (let i = 0, p = c; i < count; i++, p += channels) out[c * count + i] = pixels[p]! * scale;
  if (luma && kept === 2) for (let i = 0, p = channels - 1; i < count; i++, p += channels) out[count + i] = pixels[p]! * scale;
  return out;
}

/** What of the image is decoded, and its form. */
async function pipeline(image: SharpImage, where: readonly [string, string], options: DecodeOptions, random: () => number) {
  const [operation, source] = where;
  const { depth = 8, interpolation = "bilinear", crop, cropAt = "center", autoOrient = true, resize } = options;
  const meta = await image.metadata();
  const isGray = meta.space === "b-w" || meta.space === "grey16";
  const own = isGray ? (meta.hasAlpha === true ? "grayAlpha" : "gray") : meta.hasAlpha === true ? "rgba" : "rgb";
  const mode = options.mode === undefined ? "rgb" : options.mode === "unchanged" ? own : options.mode;
  let { height, width } = autoOrient ? meta.autoOrient : meta;
  let pixels = image;
  if (resize !== undefined) {
    [height, width] = resized(height, width, resize);
    pixels = pixels.resize(width, height, { fit: "fill", kernel: KERNELS[interpolation] });
  }
  if (crop !== undefined) {
    const [h, w] = sizeOf(crop) as [number, number];
    if (h > height || w > width)
      throw new FormatError(operation, source, `at least ${h} x ${w} pixels, for crop`, `${height} x ${width} pixels`);
    const offset = (margin: number): number => (cropAt === "center" ? roundHalfEven(margin / 2) : Math.floor(random() * (margin + 1)));
    pixels = pixels.extract({ top: offset(height - h), left: offset(width - w), width: w, height: h });
  }
  const hasAlpha = mode === "rgba" || mode === "grayAlpha";
  const isDeep = depth === 16 && meta.depth !== "uchar";
  pixels = pixels.toColourspace(isDeep ? "rgb16" : "srgb");
  pixels = hasAlpha ? pixels.ensureAlpha() : pixels.removeAlpha();
  const kept = { rgb: 3, gray: 1, rgba: 4, grayAlpha: 2 }[mode];
  return { pixels, isDeep, isLuma: mode.startsWith("gray"), kept, scale: depth === 16 && !isDeep ? 257 : 1 };
}

/** @internal Decodes with sharp. random: of the sample, for `cropAt: "random"`. */
export async function decode(
  sharp: Sharp,
  input: FilePath | Uint8Array,
  options: DecodeOptions,
  { operation, random = Math.random, signal }: { operation: string; random?: (() => number) | undefined; signal?: AbortSignal | undefined },
): Promise<DecodedImage> {
  const isBytes = input instanceof Uint8Array;
  const source = isBytes ? "bytes" : pathOf(operation, "source", input, "a path, a file: URL or a Uint8Array");
  signal?.throwIfAborted();
  const bytes = isBytes ? input : await readWhole(operation, source, 2 ** 32 - 1);
  signal?.throwIfAborted();
  try {
    const image = sharp(bytes, { failOn: "error", autoOrient: options.autoOrient ?? true });
    const { pixels, isDeep, isLuma, kept, scale } = await pipeline(image, [operation, source], options, random);
    const { data, info }: RawImage = await pixels.raw({ depth: isDeep ? "ushort" : "uchar" }).toBuffer({ resolveWithObject: true });
    signal?.throwIfAborted();
    const elements = isDeep ? new Uint16Array(data.buffer, data.byteOffset, data.byteLength / 2) : data;
    return { data: planes(elements, info, isLuma, kept, scale), shape: [kept, info.height, info.width] };
  } catch (error) {
    if (signal?.aborted === true) throw error;
    throw peerError(operation, source, "an image that the package sharp decodes", error);
  }
}
