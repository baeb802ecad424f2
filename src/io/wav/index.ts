/** WAV files: sound as float32 [channels, frames]. */
import { defaultDevice, device as deviceOf, type DeviceLike } from "../../core/device.ts";
import { DTYPES } from "../../core/dtype.ts";
import { DTypeError, FormatError, ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { pathOf, type FilePath } from "../../host/source.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { toDType } from "../../ops/data/conversion.ts";
import type { TransferOptions } from "../parts.ts";
import { writeWhole } from "../whole-file.ts";
import { BYTES, readHeader, type WavEncoding, type WavHeader, type WavInfo } from "./header.ts";
import { Input } from "./input.ts";
import { decodeInto, encode } from "./samples.ts";
import { formatHeader } from "./write.ts";

export type { WavEncoding, WavInfo } from "./header.ts";

/** Options of wav.read(). */
export interface WavReadOptions extends TransferOptions {
  /** The first frame that is read. Default: 0. */
  readonly frameOffset?: number | undefined;
  /** Frames that are read at most. Default: all. */
  readonly numFrames?: number | undefined;
}

/** Options of wav.load(). */
export interface WavLoadOptions extends WavReadOptions {
  /** Where the tensor goes. Default: the default device. */
  readonly device?: DeviceLike | undefined;
}

/** Options of wav.save(). */
export interface WavSaveOptions extends TransferOptions {
  /** Frames per second. */
  readonly sampleRate: number;
  /** How a sample is stored; integers are rounded and clipped. Default: "int16". */
  readonly encoding?: WavEncoding | undefined;
}

/** Sound in the host's memory, as a sample of a data set: `waveform` becomes a tensor in a batch. */
export interface HostAudio {
  /** float32 [channels, frames] in row-major order. */
  readonly waveform: { readonly data: Float32Array; readonly shape: readonly [channels: number, frames: number] };
  /** Frames per second. */
  readonly sampleRate: number;
}

/** Sound as a tensor. */
export interface Audio {
  /** float32 [channels, frames]; PCM samples are in -1 to 1. */
  readonly waveform: Tensor;
  /** Frames per second. */
  readonly sampleRate: number;
}

const PIECE = 2 ** 20;

const requireFrames = (operation: string, argument: string, value: number): number => {
  if (!Number.isInteger(value) || value < 0) throw new ValueError(operation, argument, "an integer of at least 0", value);
  return value;
};

/** How errors name what is read, and what is opened. */
function originOf(operation: string, path: FilePath | Uint8Array): { readonly source: string; readonly from: string | Uint8Array } {
  if (path instanceof Uint8Array) return { source: "bytes", from: path };
  const source = pathOf(operation, "path", path, "a path, a file: URL or a Uint8Array");
  return { source, from: source };
}

async function readSamples(operation: string, path: FilePath | Uint8Array, options: WavReadOptions): Promise<HostAudio> {
  options.signal?.throwIfAborted();
  const { source, from } = originOf(operation, path);
  const frameOffset = requireFrames(operation, "frameOffset", options.frameOffset ?? 0);
  const numFrames = options.numFrames === undefined ? Infinity : requireFrames(operation, "numFrames", options.numFrames);
  const input = await Input.open(operation, from);
  try {
    const header = await readHeader(operation, source, input);
    if (frameOffset > header.frames)
      throw new ValueError(operation, "frameOffset", `at most ${header.frames}, the file's frames`, frameOffset);
    const frames = Math.min(numFrames, header.frames - frameOffset);
    const data = new Float32Array(frames * header.channels);
    const isThere = await input.skip(frameOffset * header.frameBytes);
    const step = Math.max(1, Math.floor(PIECE / header.frameBytes));
    for (let first = 0; first < frames; first += step) {
      options.signal?.throwIfAborted();
      const count = Math.min(step, frames - first);
      const bytes = await input.read(count * header.frameBytes);
      if (!isThere || bytes.byteLength < count * header.frameBytes) throw cut(operation, source, header, input);
      decodeInto(data, frames, first, bytes, header.encoding);
      options.onProgress?.({ bytes: (first + count) * header.frameBytes, totalBytes: frames * header.frameBytes, name: "waveform" });
    }
    options.signal?.throwIfAborted();
    return { waveform: { data, shape: [header.channels, frames] }, sampleRate: header.sampleRate };
  } finally {
    await input.close();
  }
}

const cut = (operation: string, source: string, header: WavHeader, input: Input): FormatError =>
  new FormatError(operation, source, `with ${header.frames} frames, as its header says`, `its end at offset ${input.position}`);

/**
 * What the header of a WAV file says; no samples are read.
 *
 * path: text or a file: URL; or the bytes of a file, which are not changed. Throws FormatError for a damaged file, UnsupportedError for other samples than PCM of 8, 16, 24, 32 bits and floats.
 * Reference: torchaudio.info.
 */
export async function info(path: FilePath | Uint8Array): Promise<WavInfo> {
  const { source, from } = originOf("wav.info", path);
  const input = await Input.open("wav.info", from);
  try {
    const { sampleRate, channels, frames, encoding } = await readHeader("wav.info", source, input);
    return { sampleRate, channels, frames, encoding };
  } finally {
    await input.close();
  }
}

/**
 * Reads a WAV file, or a part of it, into the host's memory: for data sets, also in workers of a loader. Throws as load() does.
 */
export const read = (path: FilePath | Uint8Array, options: WavReadOptions = {}): Promise<HostAudio> =>
  readSamples("wav.read", path, options);

/**
 * Reads a WAV file, or `numFrames` of it from `frameOffset` on, as float32 [channels, frames]. PCM of 8, 16, 24 and 32 bits is scaled to -1 to 1, floats of
 * 32 and 64 bits are as they are. WAVE_FORMAT_EXTENSIBLE and RF64 are read. Only the frames that were asked for are read, in pieces of 1 MiB.
 *
 * path: text or a file: URL, of a file or a pipe; or the bytes of a file, a Buffer among them. Throws FormatError for a damaged file, UnsupportedError for other samples (A-law, ADPCM, …), ValueError for
 * a frameOffset beyond the file. Reference: torchaudio.load.
 */
export async function load(path: FilePath | Uint8Array, options: WavLoadOptions = {}): Promise<Audio> {
  const device = options.device === undefined ? defaultDevice() : deviceOf(options.device);
  const { waveform, sampleRate } = await readSamples("wav.load", path, options);
  return { waveform: tensor(waveform.data, { shape: waveform.shape, device }), sampleRate };
}

/**
 * Writes a waveform [channels, frames] of any float dtype into a WAV file, which appears whole or not at all. Integers are rounded, and clipped where the
 * waveform is beyond -1 to 1; NaN is silence. More than two channels or 16 bits are written as WAVE_FORMAT_EXTENSIBLE.
 *
 * path: text or a file: URL. Throws ShapeError for another rank than 2, DTypeError for integers, ValueError for a sampleRate that is no integer, for more
 * than 65,535 channels or 4 GiB, and where the file cannot be written. Reference: torchaudio.save.
 */
export async function save(path: FilePath, waveform: Tensor, options: WavSaveOptions): Promise<void> {
  const operation = "wav.save";
  options.signal?.throwIfAborted();
  const target = pathOf(operation, "path", path);
  if (!(waveform instanceof Tensor)) throw new DTypeError(operation, "waveform", "a tensor", waveform);
  waveform.requireLive(operation, "waveform");
  const [channels, frames] = waveform.shape;
  if (channels === undefined || frames === undefined || waveform.rank !== 2)
    throw new ShapeError(operation, "waveform", "[channels, frames]", waveform.describe(), "One channel: waveform.unsqueeze(0).");
  if (DTYPES[waveform.dtype].kind !== "float") throw new DTypeError(operation, "waveform", "of a float dtype", waveform.dtype);
  const { encoding = "int16" } = options;
  if (!Object.hasOwn(BYTES, encoding)) throw new ValueError(operation, "encoding", `one of ${Object.keys(BYTES).join(", ")}`, encoding);
  const head = formatHeader(operation, { sampleRate: options.sampleRate, channels, frames, encoding });
  const floats = noGrad(() => toDType(waveform, "float32"));
  const rows = await floats.data();
  if (floats !== waveform) floats.dispose();
  const frameBytes = channels * BYTES[encoding];
  const step = Math.max(1, Math.floor(PIECE / frameBytes));
  await writeWhole(operation, target, async (file) => {
    await file.writeFile(head);
    for (let first = 0; first < frames; first += step) {
      options.signal?.throwIfAborted();
      const end = Math.min(frames, first + step);
      await file.writeFile(encode(rows as Float32Array, frames, first, end, encoding));
      options.onProgress?.({ bytes: end * frameBytes, totalBytes: frames * frameBytes, name: "waveform" });
    }
    if ((frames * frameBytes) % 2 === 1) await file.writeFile(Uint8Array.of(0));
    options.signal?.throwIfAborted();
  });
}
