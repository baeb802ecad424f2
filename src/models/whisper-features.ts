/** What Whisper hears: logarithms of a sound's energy in bands of the mel scale. Reference: transformers.WhisperFeatureExtractor. */
import { ShapeError, ValueError } from "../core/errors.ts";
import type { Device } from "../core/device.ts";
import { Tensor } from "../core/tensor.ts";
import { stft } from "../fft/stft.ts";
import { tensor } from "../ops/creation/creation.ts";
import { hannWindow } from "../ops/creation/signal-windows.ts";
import { add, div, mul, sub } from "../ops/elementwise/binary.ts";
import { clampMin, maximum } from "../ops/elementwise/where.ts";
import { log10 } from "../ops/elementwise/unary.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import { amax } from "../ops/reduce/extrema.ts";
import { toDType } from "../ops/data/conversion.ts";
import { narrow, reshape } from "../ops/shape/movement.ts";
import { pad } from "../ops/shape/pad.ts";
import { sum } from "../ops/reduce/reduce.ts";

/** Samples a second that Whisper was trained on. */
export const SAMPLE_RATE = 16000;
const WINDOW = 400;
/** Samples from one frame to the next. */
export const HOP = 160;
const FREQUENCIES = WINDOW / 2 + 1;

/** Slaney's mel scale: linear up to 1000 Hz, logarithmic above. */
const STEP = Math.log(6.4) / 27;
const melOf = (hertz: number): number => (hertz < 1000 ? (3 * hertz) / 200 : 15 + Math.log(hertz / 1000) / STEP);
const hertzOf = (mel: number): number => (mel < 15 ? (200 * mel) / 3 : 1000 * Math.exp(STEP * (mel - 15)));

/** The share of each frequency in each band, [bins, frequencies]: triangles of equal area. */
function melFilters(bins: number): Float32Array {
  const last = melOf(SAMPLE_RATE / 2);
  const edges = Array.from({ length: bins + 2 }, (_, i) => hertzOf((last * i) / (bins + 1)));
  return Float32Array.from({ length: bins * FREQUENCIES }, (_, i) => {
    const [bin, frequency] = [Math.floor(i / FREQUENCIES), ((i % FREQUENCIES) * SAMPLE_RATE) / 2 / (FREQUENCIES - 1)];
    const [from, center, to] = [edges[bin]!, edges[bin + 1]!, edges[bin + 2]!];
    const height = Math.min((frequency - from) / (center - from), (to - frequency) / (to - center));
    return (Math.max(0, height) * 2) / (to - from);
  });
}

/** Samples as one row each, [B, length]: shorter sounds end in silence, longer ones are cut. */
function rowsOf(operation: string, samples: Tensor | Float32Array | readonly Float32Array[], length: number, device: Device): Tensor {
  if (samples instanceof Tensor) {
    if (samples.rank !== 1 && samples.rank !== 2) throw new ShapeError(operation, "samples", "[T] or [B, T]", samples.describe());
    const rows = samples.rank === 1 ? reshape(samples, [1, samples.size]) : samples;
    const own = toDType(rows, "float32");
    const count = own.shape[1]!;
    return count >= length ? narrow(own, 1, 0, length) : pad(own, [0, length - count]);
  }
  const list = samples instanceof Float32Array ? [samples] : samples;
  if (!Array.isArray(list) || list.length === 0) throw new ValueError(operation, "samples", "a Float32Array, or several", samples);
  const rows = new Float32Array(list.length * length);
  for (const [i, row] of (list as readonly Float32Array[]).entries()) {
    if (!(row instanceof Float32Array)) throw new ValueError(operation, "samples", "a Float32Array, or several", row);
    rows.set(row.subarray(0, length), i * length);
  }
  return tensor(rows, { shape: [list.length, length], device });
}

/** Features [B, bins, frames] of sounds. */
export function logMel(
  operation: string,
  samples: Tensor | Float32Array | readonly Float32Array[],
  bins: number,
  frames: number,
  device: Device,
): Tensor {
  const rows = rowsOf(operation, samples, frames * HOP, device);
  const parts = stft(rows, WINDOW, { hopLength: HOP, window: hannWindow(WINDOW, { device }), returnComplex: false });
  const power = narrow(sum(mul(parts, parts), -1), 2, 0, frames);
  const bands = matmul(tensor(melFilters(bins), { shape: [bins, FREQUENCIES], device }), power);
  const logs = log10(clampMin(bands, 1e-10));
  return div(add(maximum(logs, sub(amax(logs, [1, 2], { keepDims: true }), 8)), 4), 4);
}
