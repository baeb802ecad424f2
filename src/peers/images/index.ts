/** Images: files to tensors and back, and data sets of them, by the package sharp. The entry point `dxtensor/images`. */
import { tensor, type DeviceLike, type Tensor } from "../../index.ts";
import type { FilePath } from "../../host/source.ts";
import { decode, requireDecodeOptions, type DecodeOptions, type DecodedImage } from "./decode.ts";
import { loadSharp } from "./sharp.ts";

export {
  imageFolder,
  imageList,
  type ImageDataset,
  type ImageFolderDataset,
  type ImageFolderOptions,
  type ImageListOptions,
  type SkippedImage,
} from "./dataset.ts";
export type { DecodeOptions, DecodedImage, ImageSize } from "./decode.ts";
export { encodePng, saveImage, type EncodePngOptions, type SaveImageOptions } from "./encode.ts";
export { makeGrid, type GridOptions } from "./grid.ts";

/** Options of decodePixels(). */
export interface DecodePixelsOptions extends DecodeOptions {
  /** Draws the position of `cropAt: "random"`: in a data set's `get(index, { random })` that of the sample. Default: Math.random. */
  readonly random?: (() => number) | undefined;
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of decodeImage(). */
export interface DecodeImageOptions extends DecodePixelsOptions {
  /** Where the tensor goes. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

const pixels = async (operation: string, source: FilePath | Uint8Array, options: DecodePixelsOptions): Promise<DecodedImage> => {
  const { random, signal, ...rest } = options;
  requireDecodeOptions(operation, rest);
  const sharp = await loadSharp(operation, source instanceof Uint8Array ? "an image" : String(source));
  return decode(sharp, source, rest, { operation, random, signal });
};

/**
 * An image as { data, shape }, for data sets of your own that run in workers. source: a path, a file: URL or the file's bytes. Throws FormatError, with the
 * file's name, for what is no image or is damaged, ValueError for options out of range, MissingPackageError without the package sharp.
 */
export const decodePixels = (source: FilePath | Uint8Array, options: DecodePixelsOptions = {}): Promise<DecodedImage> =>
  pixels("decodePixels", source, options);

/**
 * An image as a tensor [channels, height, width] of uint8, or uint16 for `depth: 16`. source: a path, a file: URL or the file's bytes. Throws FormatError,
 * with the file's name, for what is no image or is damaged, ValueError for options out of range, MissingPackageError without the package sharp.
 * Reference: torchvision.io.decode_image.
 */
export async function decodeImage(source: FilePath | Uint8Array, options: DecodeImageOptions = {}): Promise<Tensor> {
  const { device, ...rest } = options;
  const { data, shape } = await pixels("decodeImage", source, rest);
  return tensor(data, { shape, device });
}
