/** Transforms of signals, as GEMMs with matrices of cosines and sines. */
import * as ops from "../../ops/index.ts";
import { elements } from "../../core/elements.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant, dtypeOf } from "../format/value.ts";
import { family, type Run } from "./operator.ts";

interface Transform {
  /** Of the signal, which is cut or padded to it. */
  readonly length: number;
  /** Frequencies of the result. */
  readonly bins: number;
  readonly isInverse: boolean;
}

/** Cosines and sines [length, bins] for x [..., length]. */
function waves(c: Call, t: Transform, dtype: Tensor["dtype"], weights: (k: number) => number = () => 1): [Tensor, Tensor] {
  const cosines: number[] = [];
  const sines: number[] = [];
  const period = t.isInverse ? t.bins : t.length;
  c.hosted(c.size(t.length, "length", 1) * c.size(t.bins, "length", 1), "length");
  for (let n = 0; n < t.length; n++)
    for (let k = 0; k < t.bins; k++) {
      const angle = (2 * Math.PI * ((n * k) % period)) / period;
      cosines.push(Math.cos(angle) * weights(n));
      sines.push(Math.sin(angle) * weights(n));
    }
  return [c.make(cosines, dtype, [t.length, t.bins]), c.make(sines, dtype, [t.length, t.bins])];
}

const cutTo = (x: Tensor, axis: number, length: number): Tensor => {
  const have = x.shape[axis]!;
  if (have >= length) return ops.narrow(x, axis, 0, length);
  const pads = new Array<number>(2 * (x.rank - axis)).fill(0);
  pads[pads.length - 1] = length - have;
  return ops.pad(x, pads);
};

/** Real and imaginary parts over the last axis; null: there is no imaginary part. */
function transformed(c: Call, re: Tensor, im: Tensor | null, t: Transform): [Tensor, Tensor] {
  const [cosine, sine] = waves(c, t, re.dtype);
  const [rc, rs] = [ops.matmul(re, cosine), ops.matmul(re, sine)];
  const [ic, is] = im === null ? [null, null] : [ops.matmul(im, cosine), ops.matmul(im, sine)];
  if (!t.isInverse) return [is === null ? rc : ops.add(rc, is), ic === null ? ops.neg(rs) : ops.sub(ic, rs)];
  const share = (x: Tensor): Tensor => ops.div(x, t.length);
  return [share(is === null ? rc : ops.sub(rc, is)), share(ic === null ? rs : ops.add(ic, rs))];
}

/** The real signal of `length` that has these first frequencies. */
function realInverse(c: Call, re: Tensor, im: Tensor, length: number): Tensor {
  const bins = re.shape.at(-1)!;
  const twice = (k: number): number => (k === 0 || 2 * k === length ? 1 : 2);
  const [cosine, sine] = waves(c, { length: bins, bins: length, isInverse: true }, re.dtype, twice);
  return ops.div(ops.sub(ops.matmul(re, cosine), ops.matmul(im, sine)), length);
}

function dft(c: Call): Tensor {
  const x = c.x;
  const attribute = c.opset < 20 ? c.int("axis", 1) : c.number(2, -2);
  const axis = c.axis(attribute, x.rank);
  const isInverse = c.flag("inverse");
  const isOneSided = c.flag("onesided");
  const part = (i: number): Tensor => ops.movedim(ops.select(x, -1, i), axis, -1);
  const isComplex = x.shape.at(-1) === 2;
  const back = (t: Tensor): Tensor => ops.movedim(t, -1, axis);
  if (isInverse && isOneSided) {
    const length = c.number(1, 2 * (x.shape[axis]! - 1));
    const bins = Math.floor(length / 2) + 1;
    const [re, im] = [part(0), part(1)].map((t) => cutTo(t, t.rank - 1, bins));
    return ops.unsqueeze(back(realInverse(c, re!, im!, length)), -1);
  }
  const length = c.number(1, x.shape[axis]!);
  const bins = isOneSided ? Math.floor(length / 2) + 1 : length;
  const laid = (i: number): Tensor => cutTo(part(i), x.rank - 2, length);
  const [re, im] = transformed(c, laid(0), isComplex ? laid(1) : null, { length, bins, isInverse });
  return ops.stack([back(re), back(im)], -1);
}

function stft(c: Call): Tensor {
  const x = c.x;
  const step = c.number(1);
  const length = c.has(3) ? c.number(3) : c.tensor(2).shape[0]!;
  const isComplex = x.rank === 3 && x.shape[2] === 2;
  const isOneSided = c.flag("onesided", true) && !isComplex;
  const bins = isOneSided ? Math.floor(length / 2) + 1 : length;
  const framed = (t: Tensor): Tensor => {
    const frames = ops.unfold(t, 1, length, step);
    return c.has(2) ? ops.mul(frames, c.tensor(2)) : frames;
  };
  const part = (i: number): Tensor => framed(x.rank === 3 ? ops.select(x, -1, i) : x);
  const [re, im] = transformed(c, part(0), isComplex ? part(1) : null, { length, bins, isInverse: false });
  return ops.stack([re, im], -1);
}

/** A window of sums of cosines. */
const cosineWindow =
  (coefficients: readonly number[]): Run =>
  (c) => {
    const size = c.hosted(c.size(c.number(0), "size"), "size");
    const dtype = dtypeOf(c.int("output_datatype", 1), c.name);
    const period = c.flag("periodic", true) ? size : size - 1;
    const list = Array.from({ length: size }, (_, n) =>
      coefficients.reduce((sum, a, k) => sum + (k % 2 === 0 ? a : -a) * Math.cos((2 * Math.PI * k * n) / period), 0),
    );
    return new Constant(dtype, [size], elements(dtype, list));
  };

/** Triangles over frequencies, evenly spaced on the mel scale. */
function melWeights(c: Call): Constant {
  const [bins, length, rate, low, high] = [0, 1, 2, 3, 4].map((i) => c.number(i)) as [number, number, number, number, number];
  const dtype = dtypeOf(c.int("output_datatype", 1), c.name);
  c.hosted(c.size(bins, "num_mel_bins") * c.size(length, "dft_length", 1), "sizes");
  if (!(rate > 0 && low >= 0 && high >= low && 2 * high <= rate))
    throw c.invalid("frequencies", "such that 0 <= lower edge <= upper edge <= half the sample rate", [low, high, rate]);
  const mel = (f: number): number => 2595 * Math.log10(1 + f / 700);
  const step = (mel(high) - mel(low)) / (bins + 2);
  const edges = Array.from({ length: bins + 2 }, (_, i) => {
    const frequency = 700 * (10 ** ((i * step + mel(low)) / 2595) - 1);
    return Math.floor(((length + 1) * frequency) / rate);
  });
  const rows = Math.floor(length / 2) + 1;
  const list = new Array<number>(rows * bins).fill(0);
  for (let i = 0; i < bins; i++) {
    const [from, centre, to] = [edges[i]!, edges[i + 1]!, edges[i + 2]!];
    if (from === centre) list[centre * bins + i] = 1;
    else for (let j = from; j <= centre; j++) list[j * bins + i] = (j - from) / (centre - from);
    for (let j = centre; j < to; j++) list[j * bins + i] = (to - j) / (to - centre);
  }
  return new Constant(dtype, [rows, bins], elements(dtype, list));
}

export const signal = family({
  BlackmanWindow: cosineWindow([0.42, 0.5, 0.08]),
  DFT: dft,
  HammingWindow: cosineWindow([25 / 46, 21 / 46]),
  HannWindow: cosineWindow([0.5, 0.5]),
  MelWeightMatrix: melWeights,
  STFT: stft,
});
