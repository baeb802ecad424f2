// Made by npm run generate from the families in src/ops.
import { guardedAsync } from "./kinds.generated.ts";
import * as $ioWavIndex from "../io/wav/index.ts";
export type { WavEncoding } from "../io/wav/header.ts";
export type { WavInfo } from "../io/wav/header.ts";
export type { WavReadOptions } from "../io/wav/index.ts";
export type { WavLoadOptions } from "../io/wav/index.ts";
export type { WavSaveOptions } from "../io/wav/index.ts";
export type { HostAudio } from "../io/wav/index.ts";
export type { Audio } from "../io/wav/index.ts";
/**
 * What the header of a WAV file says; no samples are read.
 *
 * path: text or a file: URL; or the bytes of a file, which are not changed. Throws FormatError for a damaged file, UnsupportedError for other samples than PCM of 8, 16, 24, 32 bits and floats.
 * Reference: torchaudio.info.
 */
export const info = guardedAsync($ioWavIndex.info, "wav.info", "path:anything");
/**
 * Reads a WAV file, or a part of it, into the host's memory: for data sets, also in workers of a loader. Throws as load() does.
 */
export const read = guardedAsync($ioWavIndex.read, "wav.read", "path:anything options:WavReadOptions?");
/**
 * Reads a WAV file, or `numFrames` of it from `frameOffset` on, as float32 [channels, frames]. PCM of 8, 16, 24 and 32 bits is scaled to -1 to 1, floats of
 * 32 and 64 bits are as they are. WAVE_FORMAT_EXTENSIBLE and RF64 are read. Only the frames that were asked for are read, in pieces of 1 MiB.
 *
 * path: text or a file: URL, of a file or a pipe; or the bytes of a file, a Buffer among them. Throws FormatError for a damaged file, UnsupportedError for other samples (A-law, ADPCM, …), ValueError for
 * a frameOffset beyond the file. Reference: torchaudio.load.
 */
export const load = guardedAsync($ioWavIndex.load, "wav.load", "path:anything options:WavLoadOptions?");
/**
 * Writes a waveform [channels, frames] of any float dtype into a WAV file, which appears whole or not at all. Integers are rounded, and clipped where the
 * waveform is beyond -1 to 1; NaN is silence. More than two channels or 16 bits are written as WAVE_FORMAT_EXTENSIBLE.
 *
 * path: text or a file: URL. Throws ShapeError for another rank than 2, DTypeError for integers, ValueError for a sampleRate that is no integer, for more
 * than 65,535 channels or 4 GiB, and where the file cannot be written. Reference: torchaudio.save.
 */
export const save = guardedAsync($ioWavIndex.save, "wav.save", "path:anything waveform options:WavSaveOptions");
