/** PNG files of 8 bits a channel: https://www.w3.org/TR/png-3. */
import { promisify } from "node:util";
import { crc32, deflate } from "node:zlib";

/** Rows of pixels, channels last. */
export interface Picture {
  readonly height: number;
  readonly width: number;
  /** 1: gray, 3: RGB, 4: RGBA. */
  readonly channels: number;
  readonly pixels: Uint8Array;
}

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const COLOR_TYPES: { readonly [channels: number]: number } = { 1: 0, 3: 2, 4: 6 };

function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(12 + data.byteLength);
  bytes.writeUInt32BE(data.byteLength, 0);
  bytes.write(type, 4, "latin1");
  bytes.set(data, 8);
  bytes.writeUInt32BE(crc32(bytes.subarray(4, 8 + data.byteLength)), 8 + data.byteLength);
  return bytes;
}

/** Encodes a picture, without row filters. */
export async function pngOf({ height, width, channels, pixels }: Picture): Promise<Uint8Array> {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, COLOR_TYPES[channels]!], 8);
  const row = width * channels;
  const rows = new Uint8Array(height * (row + 1));
  for (let y = 0; y < height; y++) rows.set(pixels.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  const data = await promisify(deflate)(rows);
  return Buffer.concat([SIGNATURE, chunk("IHDR", header), chunk("IDAT", data), chunk("IEND", new Uint8Array(0))]);
}

/** Images per row of a grid. */
const COLUMNS = 8;

/** A batch [N, C, H, W] as one picture: a grid of up to 8 images a row, black where there is none. */
export function gridOf(bytes: Uint8Array, [n, channels, h, w]: readonly [number, number, number, number]): Picture {
  const columns = Math.min(n, COLUMNS);
  const [height, width] = [h * Math.ceil(n / columns), w * columns];
  const pixels = new Uint8Array(height * width * channels);
  let from = 0;
  for (let i = 0; i < n; i++) {
    const [top, left] = [h * Math.floor(i / columns), w * (i % columns)];
    for (let c = 0; c < channels; c++)
      for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) pixels[((top + y) * width + left + x) * channels + c] = bytes[from++]!;
  }
  return { height, width, channels, pixels };
}
