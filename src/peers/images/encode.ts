/** From tensors to image files. */
import { writeFile } from "node:fs/promises";
import { extname } from "node:path";
import { DTypeError, ShapeError, ValueError, type Tensor } from "../../index.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { peerError } from "../peer.ts";
import { makeGrid, type GridOptions } from "./grid.ts";
import { loadSharp } from "./sharp.ts";

/** Options of encodePng(). */
export interface EncodePngOptions {
  /** How hard zlib tries, from 0 to 9. Default: 6. */
  readonly compressionLevel?: number | undefined;
}

/** Options of saveImage(): those of makeGrid() for a batch, and the file's format. */
export interface SaveImageOptions extends GridOptions {
  /** Default: by the path's ending. */
  readonly format?: "png" | "jpeg" | "webp" | "avif" | "tiff" | undefined;
  /** Of JPEG, WebP, AVIF and TIFF, from 1 to 100. Default: sharp's. */
  readonly quality?: number | undefined;
  /** Ends the writing. */
  readonly signal?: AbortSignal | undefined;
}

const FORMATS: Readonly<Record<string, string>> = {
  ".png": "png",
  ".jpg": "jpeg",
  ".jpeg": "jpeg",
  ".webp": "webp",
  ".avif": "avif",
  ".tif": "tiff",
  ".tiff": "tiff",
};

type Pixels = { readonly data: Uint8Array | Uint16Array; readonly channels: number; readonly height: number; readonly width: number };

/** Interleaved pixels of [C, H, W] or [H, W]; floats from 0 to 1 become bytes, rounded as torchvision.utils.save_image does. */
async function pixelsOf(operation: string, image: Tensor): Promise<Pixels> {
  const shape = image.rank === 2 ? [1, ...image.shape] : image.shape;
  const [channels, height, width] = shape as [number, number, number];
  if (shape.length !== 3 || channels < 1 || channels > 4 || height < 1 || width < 1)
    throw new ShapeError(operation, "image", "[C, H, W] with 1 to 4 channels, or [H, W]", image.describe());
  const isFloat = ["float32", "float16", "bfloat16", "float64"].includes(image.dtype);
  if (!isFloat && image.dtype !== "uint8" && image.dtype !== "uint16")
    throw new DTypeError(operation, "image", "uint8, uint16, or floats from 0 to 1", image.describe());
  const read = isFloat && image.dtype !== "float32" ? image.to("float32") : image;
  const values = (await read.data()) as Uint8Array | Uint16Array | Float32Array;
  if (read !== image) read.dispose();
  const out = image.dtype === "uint16" ? new Uint16Array(values.length) : new Uint8Array(values.length);
  const count = height * width;
  for (let c = 0; c < channels; c++)
    for (let i = 0, p = c; i < count; i++, p += channels) {
      const v = values[c * count + i]!;
      out[p] = isFloat ? Math.floor(Math.min(255, Math.max(0, v * 255 + 0.5))) : v;
    }
  return { data: out, channels, height, width };
}

async function encode(operation: string, source: string, image: Tensor, format: string, options: object): Promise<Uint8Array> {
  const { data, ...raw } = await pixelsOf(operation, image);
  const sharp = await loadSharp(operation, source);
  if (data instanceof Uint16Array && format !== "png" && format !== "tiff")
    throw new DTypeError(operation, "image", `uint8 or floats for ${format}`, image.describe());
  const [gray, colours] = data instanceof Uint16Array ? ["grey16", "rgb16"] : ["b-w", "srgb"];
  try {
    return await sharp(data, { raw })
      .toColourspace(raw.channels < 3 ? gray : colours)
      .toFormat(format, options)
      .toBuffer();
  } catch (error) {
    throw peerError(operation, source, `an image that sharp encodes as ${format}`, error);
  }
}

/**
 * The bytes of a PNG file. image: [C, H, W] with 1 to 4 channels (gray, gray and alpha, RGB, RGBA) or [H, W]; uint8, uint16 (16 bits), or floats, of which
 * 0 to 1 become 0 to 255. Throws ShapeError and DTypeError for others, MissingPackageError without the package sharp. Reference: torchvision.io.encode_png.
 */
export async function encodePng(image: Tensor, { compressionLevel = 6 }: EncodePngOptions = {}): Promise<Uint8Array> {
  if (!Number.isInteger(compressionLevel) || compressionLevel < 0 || compressionLevel > 9)
    throw new ValueError("encodePng", "compressionLevel", "an integer from 0 to 9", compressionLevel);
  return encode("encodePng", "a tensor", image, "png", { compressionLevel });
}

/**
 * Writes an image, or a batch [N, C, H, W] or a list of images as a grid, to a path or file: URL. dtypes as encodePng(). Throws ValueError for an ending
 * that names no format. Reference: torchvision.utils.save_image.
 */
export async function saveImage(image: Tensor | readonly Tensor[], path: FilePath, options: SaveImageOptions = {}): Promise<void> {
  const { quality, signal, format, ...grid } = options;
  const file = pathOf("saveImage", "path", path);
  const chosen = format ?? FORMATS[extname(file).toLowerCase()];
  if (chosen === undefined || !Object.values(FORMATS).includes(chosen))
    throw new ValueError("saveImage", format === undefined ? "path" : "format", `a format of png, jpeg, webp, avif, tiff`, format ?? file);
  if (quality !== undefined && !(Number.isInteger(quality) && quality >= 1 && quality <= 100))
    throw new ValueError("saveImage", "quality", "an integer from 1 to 100", quality);
  signal?.throwIfAborted();
  const isMany = Array.isArray(image) || (image as Tensor).rank === 4;
  const made = isMany ? makeGrid(image, grid) : (image as Tensor);
  try {
    const bytes = await encode("saveImage", file, made, chosen, quality === undefined || chosen === "png" ? {} : { quality });
    await writeFile(file, bytes, { signal });
  } catch (error) {
    throw peerError("saveImage", file, "a file that can be written", error);
  } finally {
    if (isMany) made.dispose();
  }
}
