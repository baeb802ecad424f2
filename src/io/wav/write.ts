/** The header of a WAV file that is written. */
import { ValueError } from "../../core/errors.ts";
import { BYTES, GUID_TAIL, type WavInfo } from "./header.ts";

const MAX_BYTES = 0xffffffff;

/** What stands before the samples. Floats have a fact chunk; more than two channels or 16 bits need the extensible form. */
export function formatHeader(operation: string, { sampleRate, channels, frames, encoding }: WavInfo): Buffer {
  if (!Number.isInteger(sampleRate) || sampleRate < 1 || sampleRate > 0xffffffff)
    throw new ValueError(operation, "sampleRate", "an integer of at least 1", sampleRate);
  const sampleBytes = BYTES[encoding];
  const frameBytes = channels * sampleBytes;
  if (channels < 1 || frameBytes > 0xffff)
    throw new ValueError(operation, "waveform", `of 1 to ${Math.floor(0xffff / sampleBytes)} channels`, channels);
  const isFloat = encoding.startsWith("float");
  const isExtensible = channels > 2 || (!isFloat && sampleBytes > 2);
  const fmtBytes = isExtensible ? 40 : isFloat ? 18 : 16;
  const dataStart = 12 + 8 + fmtBytes + (isFloat ? 12 : 0) + 8;
  const dataBytes = frames * frameBytes;
  if (dataStart + dataBytes > MAX_BYTES)
    throw new ValueError(operation, "waveform", "of less than 4 GiB as a WAV file", `${dataBytes} bytes`);
  const head = Buffer.alloc(dataStart);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(dataStart - 8 + dataBytes + (dataBytes % 2), 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(fmtBytes, 16);
  const tag = isFloat ? 3 : 1;
  head.writeUInt16LE(isExtensible ? 0xfffe : tag, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(Math.min(sampleRate * frameBytes, 0xffffffff), 28);
  head.writeUInt16LE(frameBytes, 32);
  head.writeUInt16LE(8 * sampleBytes, 34);
  if (isExtensible) {
    head.writeUInt16LE(22, 36);
    head.writeUInt16LE(8 * sampleBytes, 38);
    head.writeUInt16LE(tag, 44);
    GUID_TAIL.copy(head, 46);
  }
  if (isFloat) {
    head.write("fact", 20 + fmtBytes, "latin1");
    head.writeUInt32LE(4, 24 + fmtBytes);
    head.writeUInt32LE(frames, 28 + fmtBytes);
  }
  head.write("data", dataStart - 8, "latin1");
  head.writeUInt32LE(dataBytes, dataStart - 4);
  return head;
}
