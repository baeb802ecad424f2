/** The header of WAV files: RIFF chunks up to the samples. Multimedia Programming Interface 1.0; WAVE_FORMAT_EXTENSIBLE; EBU Tech 3306 (RF64). */
import { FormatError, UnsupportedError } from "../../core/errors.ts";
import type { Input } from "./input.ts";

/** How a sample is stored. */
export type WavEncoding = "uint8" | "int16" | "int24" | "int32" | "float32" | "float64";

/** What the header of a WAV file says. */
export interface WavInfo {
  /** Frames per second. */
  readonly sampleRate: number;
  /** Samples in a frame. */
  readonly channels: number;
  /** Samples of each channel. */
  readonly frames: number;
  /** How a sample is stored. */
  readonly encoding: WavEncoding;
}

export interface WavHeader extends WavInfo {
  /** Of a frame. */
  readonly frameBytes: number;
  /** Offset of the first sample in the file. */
  readonly dataStart: number;
}

export const BYTES: { readonly [E in WavEncoding]: number } = { uint8: 1, int16: 2, int24: 3, int32: 4, float32: 4, float64: 8 };

/** Encodings by bits of a sample. */
const INTEGERS: { readonly [bits: number]: WavEncoding } = { 8: "uint8", 16: "int16", 24: "int24", 32: "int32" };
const FLOATS: { readonly [bits: number]: WavEncoding } = { 32: "float32", 64: "float64" };

/** Behind the two bytes of the format in a subformat's GUID. */
export const GUID_TAIL = Buffer.from("000000001000800000aa00389b71", "hex");
const UNKNOWN_SIZE = 0xffffffff;
/** Of a fmt chunk. */
const MAX_FMT = 1024;

const FORMATS: { readonly [tag: number]: string } = { 2: "ADPCM", 6: "A-law", 7: "µ-law", 17: "IMA ADPCM", 49: "GSM", 85: "MP3" };

type Format = Omit<WavHeader, "frames" | "dataStart">;

function formatOf(operation: string, source: string, fmt: Buffer): Format {
  const bad = (expected: string, received: string): FormatError => new FormatError(operation, source, expected, received);
  if (fmt.byteLength < 16) throw bad("with a fmt chunk of at least 16 bytes", `${fmt.byteLength}`);
  let tag = fmt.readUInt16LE(0);
  if (tag === 0xfffe) {
    if (fmt.byteLength < 40) throw bad("with an extensible fmt chunk of at least 40 bytes", `${fmt.byteLength}`);
    if (fmt.compare(GUID_TAIL, 0, 14, 26, 40) !== 0) throw unsupported(operation, source, `subformat ${fmt.toString("hex", 24, 40)}`);
    tag = fmt.readUInt16LE(24);
  }
  const [channels, sampleRate, frameBytes, bits] = [fmt.readUInt16LE(2), fmt.readUInt32LE(4), fmt.readUInt16LE(12), fmt.readUInt16LE(14)];
  if (tag !== 1 && tag !== 3) throw unsupported(operation, source, FORMATS[tag] ?? `format ${tag}`);
  const encoding = (tag === 3 ? FLOATS : INTEGERS)[bits];
  if (encoding === undefined) throw unsupported(operation, source, `${tag === 3 ? "floats" : "integers"} of ${bits} bits`);
  if (channels === 0 || sampleRate === 0) throw bad("with channels and a sample rate", `${channels} channels at ${sampleRate} Hz`);
  const expected = channels * BYTES[encoding];
  if (frameBytes !== expected) throw bad(`with frames of ${expected} bytes`, `${frameBytes}`);
  return { sampleRate, channels, encoding, frameBytes };
}

const unsupported = (operation: string, source: string, received: string): UnsupportedError =>
  new UnsupportedError({
    operation,
    argument: source,
    expected: "of PCM samples of 8, 16, 24 or 32 bits, or floats of 32 or 64",
    received,
    hint: "Convert it: ffmpeg -i in.wav -c:a pcm_s16le out.wav.",
  });

/** Reads chunks up to the samples. */
export async function readHeader(operation: string, source: string, input: Input): Promise<WavHeader> {
  const bad = (expected: string, received: string): FormatError => new FormatError(operation, source, expected, received.slice(0, 100));
  const riff = await input.read(12);
  const kind = riff.toString("latin1", 0, 4);
  if (kind === "RIFX") throw unsupported(operation, source, "samples in big-endian order (RIFX)");
  if (riff.byteLength < 12 || (kind !== "RIFF" && kind !== "RF64") || riff.toString("latin1", 8, 12) !== "WAVE")
    throw bad("a WAV file", riff.byteLength === 0 ? "an empty one" : `one that begins with ${riff.toString("hex")}`);
  let format: Format | null = null;
  let largeData: number | null = null;
  for (;;) {
    const at = input.position;
    const head = await input.read(8);
    if (head.byteLength < 8) throw bad("with a data chunk", `its end at offset ${at + head.byteLength}`);
    const name = head.toString("latin1", 0, 4);
    const size = head.readUInt32LE(4);
    if (name === "data") {
      if (format === null) throw bad("with a fmt chunk before its data chunk", `data at offset ${at}`);
      const isUnknown = size === UNKNOWN_SIZE;
      return sized(format, input, isUnknown ? largeData : size, bad);
    }
    if (name === "fmt " || name === "ds64") {
      if (size > MAX_FMT) throw bad(`with a ${name.trim()} chunk of at most ${MAX_FMT} bytes`, `${size}`);
      const chunk = await input.read(size + (size % 2));
      if (chunk.byteLength < size) throw bad(`with a whole ${name.trim()} chunk`, `its end at offset ${input.position}`);
      if (name === "fmt ") {
        if (format !== null) throw bad("with one fmt chunk", `another one at offset ${at}`);
        format = formatOf(operation, source, chunk.subarray(0, size));
      } else if (size >= 16) largeData = Number(chunk.readBigUInt64LE(8));
    } else if (!(await input.skip(size + (size % 2))))
      throw bad(`with a whole chunk ${JSON.stringify(name)}`, `its end before offset ${at + 8 + size}`);
  }
}

/** The header with the length of the data; what a program wrote into a pipe has no length: then it is all that follows. */
function sized(format: Format, input: Input, size: number | null, bad: (expected: string, received: string) => FormatError): WavHeader {
  const dataStart = input.position;
  if (size === null && input.size === null) throw bad("with the length of its samples in a pipe", "none");
  const bytes = size ?? input.size! - dataStart;
  if (input.size !== null && dataStart + bytes > input.size)
    throw bad(`with ${dataStart + bytes} bytes, as its header says`, `${input.size}`);
  if (size !== null && bytes % format.frameBytes !== 0) throw bad(`with frames of ${format.frameBytes} bytes`, `${bytes} bytes of samples`);
  return { ...format, dataStart, frames: Math.floor(bytes / format.frameBytes) };
}
