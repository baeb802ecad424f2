/** Pooling over windows. */
import { isFloat } from "../../core/dtype.ts";
import * as ops from "../../ops/index.ts";
import { kernel } from "../../ops/kernel/custom-kernel.ts";
import { maximumOf, maximumValues, meanOf, type Windows } from "../../ops/pool/pool.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { padded, windowOf } from "./convolution.ts";
import { family, type Run } from "./operator.ts";

/** How many windows fit along each axis, and the padding behind that the last one needs. */
export function windows(c: Call, x: { readonly shape: Shape }): Windows {
  const input = x.shape.slice(2);
  if (input.length < 1 || input.length > 3) throw c.unsupported(`${input.length} spatial axes`);
  const kernelShape = c.ints("kernel_shape") ?? input;
  const w = windowOf(c, input, kernelShape);
  const isSame = c.text("auto_pad", "NOTSET").startsWith("SAME");
  const extent = w.kernel.map((k, i) => (k - 1) * w.dilations[i]! + 1);
  const output = input.map((d, i) => {
    if (isSame) return Math.ceil(d / w.strides[i]!);
    const extentLeft = d + w.before[i]! + w.after[i]! - extent[i]!;
    if (!c.flag("ceil_mode")) return Math.floor(extentLeft / w.strides[i]!) + 1;
    const count = Math.ceil(extentLeft / w.strides[i]!) + 1;
    // A window must begin before the padding behind.
    return (count - 1) * w.strides[i]! >= d + w.before[i]! ? count - 1 : count;
  });
  output.forEach((n, i) => c.size(n, `output ${i} of the windows`));
  const end = input.map((d, i) => Math.max(0, (output[i]! - 1) * w.strides[i]! + extent[i]! - d - w.before[i]!));
  return { input, output, kernel: w.kernel, stride: w.strides, dilation: w.dilations, start: w.before, end };
}

/** Elements of a window that are read one by one. */
const MAX_TAPS = 4096;

/** Sums of windows, padding being zero. */
function windowSums(c: Call, x: Tensor, w: Windows): Tensor {
  const spatial = w.input.length;
  if (sizeOf(w.kernel) > MAX_TAPS && !w.dilation.every((d) => d === 1))
    throw c.invalid("attribute kernel_shape", `of at most ${MAX_TAPS} elements where windows are dilated`, w.kernel);
  if (w.dilation.every((d) => d === 1)) return ops.mul(meanOf(x, spatial, w), sizeOf(w.kernel));
  // One strided read for each tap of a window.
  const wide = padded(x, w.start, w.end);
  let sum: Tensor | null = null;
  for (let k = 0; k < sizeOf(w.kernel); k++) {
    let part = wide;
    for (let axis = spatial - 1, rest = k; axis >= 0; axis--) {
      const from = (rest % w.kernel[axis]!) * w.dilation[axis]!;
      rest = Math.floor(rest / w.kernel[axis]!);
      part = ops.slice(part, axis + 2, from, from + (w.output[axis]! - 1) * w.stride[axis]! + 1, w.stride[axis]);
    }
    sum = sum === null ? part : ops.add(sum, part);
  }
  return sum!;
}

/** For each window the number of its taps that count: those inside, or inside with the padding that was asked for. */
export function counts(w: Windows, before: readonly number[], after: readonly number[]): number[] {
  let all = [1];
  w.output.forEach((length, i) => {
    const along = Array.from({ length }, (_, o) => {
      let inside = 0;
      for (let k = 0; k < w.kernel[i]!; k++) {
        const at = o * w.stride[i]! - w.start[i]! + k * w.dilation[i]!;
        if (at >= -before[i]! && at < w.input[i]! + after[i]!) inside++;
      }
      return inside;
    });
    all = all.flatMap((n) => along.map((a) => n * a));
  });
  return all;
}

function averagePool(c: Call): Tensor {
  const x = c.x;
  const w = windows(c, x);
  const none = w.input.map(() => 0);
  const asked = windowOf(c, w.input, w.kernel);
  const [before, after] = c.flag("count_include_pad") ? [asked.before, asked.after] : [none, none];
  c.hosted(sizeOf(w.output), "attribute pads");
  w.output.forEach((n, i) => c.hosted(n * w.kernel[i]!, "attribute kernel_shape"));
  const factors = counts(w, before, after).map((n) => 1 / n);
  if (factors.every((f) => f === factors[0])) return ops.mul(windowSums(c, x, w), factors[0]!);
  return ops.mul(windowSums(c, x, w), c.make(factors, x.dtype, w.output));
}

function maxPool(c: Call): Tensor[] {
  const input = c.x;
  // Small integers are exact in float32.
  const x = isFloat(input.dtype) ? input : ops.to(input, "float32");
  const w = windows(c, x);
  const spatial = w.input.length;
  if (!c.wants(1)) return [ops.to(maximumValues(x, spatial, w), input.dtype)];
  const { values, indices } = maximumOf(x, spatial, w);
  return [ops.to(values, input.dtype), flatIndices(c, indices, x.shape)];
}

/** Indices in planes as indices in the whole tensor; with storage_order 1 planes are column-major. */
function flatIndices(c: Call, indices: Tensor, shape: readonly number[]): Tensor {
  const lengths = shape.slice(2);
  let planar = ops.to(indices, "int32");
  if (c.int("storage_order", 0) === 1) {
    let rest = planar;
    let step = sizeOf(lengths);
    let rowMajor: Tensor | null = null;
    for (let i = lengths.length - 1; i >= 0; i--) {
      step /= lengths[i]!;
      const along = ops.mul(ops.remainder(rest, lengths[i]!), step);
      rowMajor = rowMajor === null ? along : ops.add(rowMajor, along);
      rest = ops.floorDivide(rest, lengths[i]!);
    }
    planar = rowMajor!;
  }
  const planes = shape[0]! * shape[1]!;
  const starts = ops.arange(planes, { dtype: "int64", device: indices.device });
  const laid = ops.reshape(ops.mul(starts, sizeOf(lengths)), [shape[0]!, shape[1]!, ...lengths.map(() => 1)]);
  return ops.add(ops.to(planar, "int64"), laid);
}

function lpPool(c: Call): Tensor {
  const x = c.x;
  const p = c.int("p", 2);
  const powers = p === 1 ? ops.abs(x) : p === 2 ? ops.mul(x, x) : ops.pow(ops.abs(x), p);
  const sums = windowSums(c, powers, windows(c, x));
  return p === 1 ? sums : p === 2 ? ops.sqrt(sums) : ops.pow(sums, 1 / p);
}

const whole =
  (fn: (x: Tensor, axes: readonly number[]) => Tensor): Run =>
  (c) => {
    const x = c.x;
    return fn(
      x,
      x.shape.slice(2).map((_, i) => i + 2),
    );
  };

const globalLp: Run = (c) => {
  const x = c.x;
  return ops.norm(
    x,
    c.int("p", 2),
    x.shape.slice(2).map((_, i) => i + 2),
    { keepDims: true },
  );
};

/** Values at the indices of their maxima; indices are of the usual result, flat. */
function maxUnpool(c: Call): Tensor {
  const [x, indices] = [c.tensor(0), c.tensor(1)];
  const input = x.shape.slice(2);
  const w = windowOf(c, input, c.ints("kernel_shape") ?? []);
  const usual = input.map((d, i) => (d - 1) * w.strides[i]! + w.kernel[i]! - w.before[i]! - w.after[i]!);
  const shape = [...x.shape.slice(0, 2), ...usual];
  const flat = ops.zeros([sizeOf(shape)], { dtype: x.dtype, device: x.device });
  const scattered = ops.reshape(ops.scatter(flat, 0, ops.to(ops.reshape(indices, [-1]), "int32"), ops.reshape(x, [-1])), shape);
  if (!c.has(2)) return scattered;
  const asked = c.numbers(2);
  return padded(
    scattered,
    usual.map(() => 0),
    usual.map((d, i) => asked[i + 2]! - d),
  );
}

interface Pooled {
  readonly size: readonly [number, number];
  readonly scale: number;
}

/** DirectML: ROI_POOLING. */
const roiPooling = kernel<Pooled>({
  name: "maxRoiPool",
  infer: ([x, rois], { size }) => [{ shape: [rois!.shape[0]!, x!.shape[1]!, ...size], dtype: x!.dtype }],
  lower: (g, [x, rois], { size: [h, w], scale }, [out]) => [
    g.roiPooling(x!, g.reshape(rois!, [1, 1, ...rois!.sizes]), { output: { sizes: out!.shape }, spatialScale: scale, pooledSize: [w, h] }),
  ],
  grad: null,
});

export const pooling = family({
  AveragePool: averagePool,
  GlobalAveragePool: whole((x, axes) => ops.mean(x, axes, { keepDims: true })),
  GlobalLpPool: globalLp,
  GlobalMaxPool: whole((x, axes) => ops.amax(x, axes, { keepDims: true })),
  LpPool: lpPool,
  MaxPool: maxPool,
  MaxRoiPool: (c) => {
    const size = c.ints("pooled_shape") ?? [];
    return roiPooling([c.tensor(0), c.tensor(1)], { size: [size[0]!, size[1]!], scale: c.float("spatial_scale", 1) })[0]!;
  },
  MaxUnpool: maxUnpool,
});
