/** Samples of WAV files and floats in -1 to 1. */
import { BYTES, type WavEncoding } from "./header.ts";

type Get = (view: DataView, at: number) => number;
type Set = (view: DataView, at: number, value: number) => void;

const DECODERS: { readonly [E in WavEncoding]: Get } = {
  uint8: (view, at) => (view.getUint8(at) - 128) / 128,
  int16: (view, at) => view.getInt16(at, true) / 2 ** 15,
  int24: (view, at) => (view.getUint16(at, true) + 2 ** 16 * view.getInt8(at + 2)) / 2 ** 23,
  int32: (view, at) => view.getInt32(at, true) / 2 ** 31,
  float32: (view, at) => view.getFloat32(at, true),
  float64: (view, at) => view.getFloat64(at, true),
};

/** A float as an integer of so many bits: rounded, and clipped to the range; NaN is silence. */
const quantized = (value: number, bits: number): number => {
  const scale = 2 ** (bits - 1);
  return Number.isNaN(value) ? 0 : Math.max(-scale, Math.min(scale - 1, Math.round(value * scale)));
};

const ENCODERS: { readonly [E in WavEncoding]: Set } = {
  uint8: (view, at, value) => view.setUint8(at, quantized(value, 8) + 128),
  int16: (view, at, value) => view.setInt16(at, quantized(value, 16), true),
  int24(view, at, value) {
    const sample = quantized(value, 24);
    view.setUint16(at, sample & 0xffff, true);
    view.setInt8(at + 2, sample >> 16);
  },
  int32: (view, at, value) => view.setInt32(at, quantized(value, 32), true),
  float32: (view, at, value) => view.setFloat32(at, value, true),
  float64: (view, at, value) => view.setFloat64(at, value, true),
};

/** Puts the interleaved frames in `bytes` into rows of channels, from frame `first` on. */
export function decodeInto(rows: Float32Array, frames: number, first: number, bytes: Uint8Array, encoding: WavEncoding): void {
  const channels = frames === 0 ? 0 : rows.length / frames;
  const size = BYTES[encoding];
  const get = DECODERS[encoding];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const count = bytes.byteLength / (channels * size);
  for (let channel = 0; channel < channels; channel++) {
    const row = channel * frames + first;
    for (let i = 0, at = channel * size; i < count; i++, at += channels * size) rows[row + i] = get(view, at);
  }
}

/** The interleaved frames from `first` to `end` of rows of channels. */
export function encode(rows: Float32Array, frames: number, first: number, end: number, encoding: WavEncoding): Uint8Array {
  const channels = frames === 0 ? 0 : rows.length / frames;
  const size = BYTES[encoding];
  const set = ENCODERS[encoding];
  const bytes = new Uint8Array((end - first) * channels * size);
  const view = new DataView(bytes.buffer);
  for (let channel = 0; channel < channels; channel++)
    for (let i = first, at = channel * size; i < end; i++, at += channels * size) set(view, at, rows[channel * frames + i]!);
  return bytes;
}
