/** Convolutions, pools and norms of float64, on the host: their formulas in plain loops. */
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Call } from "../format/call.ts";
import { offsetOf } from "./broadcast-offset.ts";
import { transposedWindow, windowOf } from "./convolution.ts";
import { input, type Compute, type Numbers } from "./float64-numbers.ts";
import { counts, windows } from "./pooling.ts";

interface Steps {
  readonly input: Shape;
  readonly output: Shape;
  readonly kernel: Shape;
  readonly stride: Shape;
  readonly dilation: Shape;
  readonly start: Shape;
}

/** For each window, and each of its taps, the element that it reads; -1 in the padding. */
function tapsOf(c: Call, w: Steps): Int32Array {
  const [count, taps] = [sizeOf(w.output), sizeOf(w.kernel)];
  const found = new Int32Array(c.hosted(count * taps, "attribute kernel_shape"));
  for (let p = 0; p < count; p++)
    for (let k = 0; k < taps; k++) {
      let [rest, tap, at, step] = [p, k, 0, 1];
      for (let axis = w.input.length - 1; axis >= 0 && at >= 0; axis--) {
        const position = (rest % w.output[axis]!) * w.stride[axis]! - w.start[axis]! + (tap % w.kernel[axis]!) * w.dilation[axis]!;
        rest = Math.floor(rest / w.output[axis]!);
        tap = Math.floor(tap / w.kernel[axis]!);
        at = position < 0 || position >= w.input[axis]! ? -1 : at + position * step;
        step *= w.input[axis]!;
      }
      found[p * taps + k] = at;
    }
  return found;
}

/** The channels of x, of the result, and groups, which must divide both. */
function channelsOf(c: Call, x: Shape, weight: Shape, isTransposed: boolean): { groups: number; inputs: number; outputs: number } {
  if (x.length < 3 || weight.length !== x.length) throw c.invalid("inputs", "of one rank, at least 3", [x, weight]);
  const groups = c.int("group", 1);
  const [inputs, outputs] = isTransposed ? [weight[0]!, weight[1]! * groups] : [weight[1]! * groups, weight[0]!];
  if (!(groups >= 1) || inputs !== x[1] || outputs % groups !== 0 || inputs % groups !== 0)
    throw c.invalid("inputs", `whose channels fit ${groups} groups`, [x, weight]);
  return { groups, inputs: inputs / groups, outputs: outputs / groups };
}

function convolution(c: Call): Numbers {
  const [x, weight] = [input(c, 0), input(c, 1)];
  const bias = c.has(2) ? c.numbers(2) : null;
  const { groups, inputs, outputs } = channelsOf(c, x.shape, weight.shape, false);
  const plane = x.shape.slice(2);
  const at = windowOf(c, plane, c.ints("kernel_shape") ?? weight.shape.slice(2));
  const output = plane.map(
    (d, i) => Math.floor((d + at.before[i]! + at.after[i]! - (at.kernel[i]! - 1) * at.dilations[i]! - 1) / at.strides[i]!) + 1,
  );
  output.forEach((n, i) => c.size(n, `output ${i} of the windows`));
  const taps = tapsOf(c, { input: plane, output, kernel: at.kernel, stride: at.strides, dilation: at.dilations, start: at.before });
  const [count, size, windowSize] = [sizeOf(output), sizeOf(plane), sizeOf(at.kernel)];
  const shape = [x.shape[0]!, groups * outputs, ...output];
  const list = new Array<number>(c.hosted(sizeOf(shape), "result"));
  for (let row = 0, to = 0; row < shape[0]! * shape[1]!; row++) {
    const [image, o] = [Math.floor(row / shape[1]!), row % shape[1]!];
    const from = (image * groups + Math.floor(o / outputs)) * inputs * size;
    for (let p = 0; p < count; p++) {
      let sum = bias?.[o] ?? 0;
      for (let i = 0; i < inputs; i++)
        for (let k = 0; k < windowSize; k++) {
          const tap = taps[p * windowSize + k]!;
          if (tap >= 0) sum += x.list[from + i * size + tap]! * weight.list[(o * inputs + i) * windowSize + k]!;
        }
      list[to++] = sum;
    }
  }
  return { shape, list };
}

/** Each element of x is spread over the window that a convolution from the result to x would read. */
function transposed(c: Call): Numbers {
  const [x, weight] = [input(c, 0), input(c, 1)];
  const bias = c.has(2) ? c.numbers(2) : null;
  const { groups, inputs, outputs } = channelsOf(c, x.shape, weight.shape, true);
  const plane = x.shape.slice(2);
  const kernel = c.ints("kernel_shape") ?? weight.shape.slice(2);
  const at = transposedWindow(c, plane, kernel);
  const output = at.full.map((f, i) => f - at.before[i]! - at.after[i]!);
  output.forEach((n, i) => c.size(n, `output ${i} of the windows`));
  const taps = tapsOf(c, { input: output, output: plane, kernel, stride: at.strides, dilation: at.dilations, start: at.before });
  const [count, size, windowSize] = [sizeOf(output), sizeOf(plane), sizeOf(kernel)];
  const shape = [x.shape[0]!, groups * outputs, ...output];
  c.hosted(sizeOf(shape), "result");
  const list = Array.from({ length: sizeOf(shape) }, (_, i) => bias?.[Math.floor(i / count) % shape[1]!] ?? 0);
  for (let row = 0; row < x.shape[0]! * x.shape[1]!; row++) {
    const [image, i] = [Math.floor(row / x.shape[1]!), row % x.shape[1]!];
    const first = image * groups + Math.floor(i / inputs);
    for (let p = 0; p < size; p++)
      for (let o = 0; o < outputs; o++)
        for (let k = 0; k < windowSize; k++) {
          const tap = taps[p * windowSize + k]!;
          if (tap >= 0)
            list[(first * outputs + o) * count + tap]! += x.list[row * size + p]! * weight.list[(i * outputs + o) * windowSize + k]!;
        }
  }
  return { shape, list };
}

/** of: what a window's elements give; `count`: how many of its taps count. */
const pooled =
  (start: number, step: (sum: number, v: number, c: Call) => number, end: (sum: number, count: number, c: Call) => number): Compute =>
  (c) => {
    const x = input(c, 0);
    const w = windows(c, x);
    const taps = tapsOf(c, w);
    const [count, size, windowSize] = [sizeOf(w.output), sizeOf(w.input), sizeOf(w.kernel)];
    const asked = windowOf(c, w.input, w.kernel);
    const none = w.input.map(() => 0);
    const [before, after] = c.flag("count_include_pad") ? [asked.before, asked.after] : [none, none];
    const inside = counts(w, before, after);
    const shape = [...x.shape.slice(0, 2), ...w.output];
    const list = new Array<number>(c.hosted(sizeOf(shape), "result"));
    for (let row = 0, to = 0; row < shape[0]! * shape[1]!; row++)
      for (let p = 0; p < count; p++) {
        let sum = start;
        for (let k = 0; k < windowSize; k++) {
          const tap = taps[p * windowSize + k]!;
          if (tap >= 0) sum = step(sum, x.list[row * size + tap]!, c);
        }
        list[to++] = end(sum, inside[p]!, c);
      }
    return { shape, list };
  };

const larger = (a: number, b: number): number => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));

/** Over all of each plane. */
const global =
  (of: (plane: readonly number[], c: Call) => number): Compute =>
  (c) => {
    const { shape, list } = input(c, 0);
    const size = sizeOf(shape.slice(2));
    const planes = shape[0]! * shape[1]!;
    return {
      shape: shape.map((d, i) => (i < 2 ? d : 1)),
      list: Array.from({ length: planes }, (_, i) => of(list.slice(i * size, (i + 1) * size), c)),
    };
  };

const sumOf = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
const powerSum = (list: readonly number[], p: number): number => sumOf(list.map((v) => Math.abs(v) ** p)) ** (1 / p);

function batchNorm(c: Call): Numbers {
  const { shape, list } = input(c, 0);
  const [scale, bias, mean, variance] = [1, 2, 3, 4].map((i) => c.numbers(i)) as [number[], number[], number[], number[]];
  const size = sizeOf(shape.slice(2));
  const epsilon = c.float("epsilon", 1e-5);
  const one = (v: number, k: number): number => ((v - mean[k]!) / Math.sqrt(variance[k]! + epsilon)) * scale[k]! + bias[k]!;
  return { shape, list: list.map((v, i) => one(v, Math.floor(i / size) % shape[1]!)) };
}

/** Rows of equal length, less their mean if it is asked for, over their spread. */
function normed(list: readonly number[], length: number, epsilon: number, isCentered = true): number[] {
  const result = new Array<number>(list.length);
  for (let from = 0; from < list.length; from += length) {
    const row = list.slice(from, from + length);
    const mean = isCentered ? sumOf(row) / length : 0;
    const spread = Math.sqrt(sumOf(row.map((v) => (v - mean) ** 2)) / length + epsilon);
    row.forEach((v, i) => (result[from + i] = (v - mean) / spread));
  }
  return result;
}

/** Norms of the channels in groups; those of `scale` belong to channels, or to groups. */
function groupNorm(c: Call, groups: number): Numbers {
  const { shape, list } = input(c, 0);
  const [scale, bias] = [c.numbers(1), c.numbers(2)];
  const [channels, size] = [shape[1]!, sizeOf(shape.slice(2))];
  if (!(groups >= 1) || channels % groups !== 0) throw c.invalid("attribute num_groups", `a divisor of ${channels}`, groups);
  const own = (i: number): number => Math.floor((Math.floor(i / size) % channels) / (channels / scale.length));
  const rows = normed(list, (channels / groups) * size, c.float("epsilon", 1e-5));
  return { shape, list: rows.map((v, i) => v * scale[own(i)]! + bias[own(i)]!) };
}

const layerNorm =
  (isCentered: boolean): Compute =>
  (c) => {
    const { shape, list } = input(c, 0);
    const own = shape.slice(c.axis(c.int("axis", -1), shape.length));
    const [scale, bias] = [input(c, 1), isCentered && c.has(2) ? input(c, 2) : null];
    const rows = normed(list, sizeOf(own), c.float("epsilon", 1e-5), isCentered);
    const at = (of: Numbers, i: number): number => of.list[offsetOf(i, shape, of.shape)]!;
    return { shape, list: rows.map((v, i) => v * at(scale, i) + (bias === null ? 0 : at(bias, i))) };
  };

export const LAYERS: Readonly<Record<string, Compute>> = {
  AveragePool: pooled(
    0,
    (sum, v) => sum + v,
    (sum, count) => sum / count,
  ),
  BatchNormalization: batchNorm,
  Conv: convolution,
  ConvTranspose: transposed,
  GlobalAveragePool: global((plane) => sumOf(plane) / plane.length),
  GlobalLpPool: global((plane, c) => powerSum(plane, c.int("p", 2))),
  GlobalMaxPool: global((plane) => plane.reduce(larger, -Infinity)),
  GroupNormalization: (c) => groupNorm(c, c.int("num_groups", 1)),
  InstanceNormalization: (c) => groupNorm(c, c.numeric(0).shape[1]!),
  LayerNormalization: layerNorm(true),
  LpPool: pooled(
    0,
    (sum, v, c) => sum + Math.abs(v) ** c.int("p", 2),
    (sum, _, c) => sum ** (1 / c.int("p", 2)),
  ),
  MaxPool: pooled(-Infinity, larger, (v) => v),
  RMSNormalization: layerNorm(false),
};

/** Versions from which these have their present meaning. */
export const SUPPORTED_SINCE: Readonly<Record<string, number>> = {
  AveragePool: 1,
  BatchNormalization: 9,
  Conv: 1,
  ConvTranspose: 1,
  GlobalAveragePool: 1,
  GlobalLpPool: 2,
  GlobalMaxPool: 1,
  InstanceNormalization: 6,
  LpPool: 2,
  MaxPool: 1,
};

/** Whether a node asks for one result, as evaluation gives it: indices of maxima and statistics are not computed in float64. */
export const isComputed = (c: Call): boolean => !c.wants(1) && !c.flag("training_mode");
