/** Max and average pooling. @functional */
import { spatial, type PaddedRule } from "../../core/padded-axes.ts";
import { tie } from "../../autograd/tie.ts";
import { asResult, call, dispatch } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { largestOf } from "../../core/elements.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import { requireListed, expandList, showShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { mul } from "../elementwise/binary.ts";
import { tensor, zerosLike } from "../creation/creation.ts";
import { roundedOnce } from "../data/conversion.ts";
import { define, type Definition, type TensorSpec } from "../../core/definition.ts";
import { gather } from "../index/gather.ts";
import { integerAverage, integerMaximum, integerMaximumWithIndices } from "../conv/integer-spatial.ts";
import { reshape } from "../shape/movement.ts";
import { BOOL, cast, constant, sequence } from "../declare/support.ts";
import { batched, requireSpatial, extent, lifted, liftedList, type PerAxis } from "../conv/spatial.ts";
import { windowOptions } from "../declare/positional.ts";
import { overFirstAxis } from "../declare/batched.ts";

/** Lists hold one number for each spatial axis; `end` is the padding behind, more than `start` where ceilMode adds a window. @package */
export interface Windows {
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly start: readonly number[];
  readonly end: readonly number[];
}

const arguments_ = (
  w: Windows,
): { windowSize: readonly number[]; strides: readonly number[]; startPadding: readonly number[]; endPadding: readonly number[] } => ({
  windowSize: liftedList(w.kernel, 1),
  strides: liftedList(w.stride, 1),
  startPadding: liftedList(w.start, 0),
  endPadding: liftedList(w.end, 0),
});

const liftedSizes = (shape: readonly number[]): readonly number[] => (shape.length === 3 ? [shape[0]!, shape[1]!, 1, shape[2]!] : shape);

const pooled = (x: TensorSpec, w: Windows): TensorSpec => ({ shape: [x.shape[0]!, x.shape[1]!, ...w.output], dtype: x.dtype });

/** Microsoft's maxima start at the least finite number, which therefore stands for a window of -Infinity. */
function unbounded(g: GraphBuilder, y: Expr): Expr {
  if (g.capabilities.poolsInfinity) return y;
  const min = -largestOf(y.dtype);
  const isLowest = g.elementWiseLogicalLessThanOrEqual(y, constant(g, y.dtype, min, y.sizes), BOOL);
  return g.elementWiseIf(isLowest, constant(g, y.dtype, -Infinity, y.sizes), y);
}

const maxPoolOp: Definition<Windows> = define<Windows>({
  name: "maxPool",
  batched: overFirstAxis(0),
  infer: ([x], w) => [pooled(x!, w)],
  lower: (g, [x], w, [out]) => [
    unbounded(
      g,
      g.maxPooling2(lifted(g, x!), { ...arguments_(w), output: { sizes: liftedSizes(out!.shape) }, dilations: liftedList(w.dilation, 1) })
        .output,
    ),
  ],
  padded: spatial([0], -Infinity),
  follows: ["input", "output"],
  grad: (dy, { inputs: [x], attrs }) => [call(maxPoolGradOp, [x!, dy], attrs)],
  saves: { outputs: false },
});

/** Flat indices of the maxima within their own plane, int32. */
const maxPoolIndicesOp: Definition<Windows> = define<Windows>({
  name: "maxPoolIndices",
  batched: overFirstAxis(0),
  infer: ([x], w) => [pooled(x!, w), { shape: pooled(x!, w).shape, dtype: "int32" }],
  lower: (g, [x], w, [out]) => {
    const sizes = liftedSizes(out!.shape);
    const y = g.maxPooling2(lifted(g, x!), {
      ...arguments_(w),
      output: { sizes },
      outputIndices: { sizes, dtype: "uint32" },
      dilations: liftedList(w.dilation, 1),
    });
    // DirectML counts from the tensor's first element; PyTorch, from the plane's.
    const firsts = sequence(g, "int32", [sizes[0]! * sizes[1]!], 0, sizeOf(w.input));
    const planes = g.reinterpret(firsts, { sizes: [sizes[0]!, sizes[1]!, ...sizes.slice(2).map(() => 1)] });
    return [unbounded(g, y.output), g.elementWiseSubtract(cast(g, y.outputIndices!, "int32"), g.expand(planes, sizes))];
  },
  // Indices are flat over the last axes.
  padded: (_g, [x], _attrs, _outputs, p, lower) => (p.isPaddedBeside(0, 0, 1, 2) ? null : lower([p.filled(0, -Infinity, x!, [2])])),
  follows: ["input", "output"],
  grad: (dy, { inputs: [x], attrs }) => [call(maxPoolGradOp, [x!, dy], attrs)],
  saves: { outputs: false },
});

/** dy, added to where the maximum of its window lies in x. */
const maxPoolGradOp: Definition<Windows> = define<Windows>({
  name: "maxPoolGradient",
  batched: overFirstAxis(0, 1),
  infer: ([x]) => [x!],
  lower: (g, [x, dy], w) => [
    g.maxPoolingGrad(g.packed(lifted(g, x!)), g.packed(lifted(g, dy!)), { ...arguments_(w), dilations: liftedList(w.dilation, 1) }),
  ],
  padded: (_g, [x, dy], _attrs, _outputs, p, lower) => {
    const axes = x!.sizes.flatMap((_, a) => (a > 1 ? [a] : []));
    return lower([p.filled(0, -Infinity, x!, axes), p.filled(1, 0, dy!, axes)]);
  },
  follows: ["input", "output"],
  grad: (ddx, { inputs: [x], needs, attrs }) => {
    const zero = needs[0] ? zerosLike(x!) : null;
    if (!needs[1]) return [zero, null];
    const [, indices] = dispatch(maxPoolIndicesOp, [x!], attrs);
    const [n, c] = x!.shape as [number, number];
    const flat = gather(reshape(ddx, [n, c, sizeOf(attrs.input)]), 2, reshape(indices!, [n, c, sizeOf(attrs.output)]));
    return [zero, reshape(flat, [n, c, ...attrs.output])];
  },
  saves: { inputs: [0], outputs: false },
});

interface Mean extends Windows {
  /** Whether the padding counts in the divisor. */
  readonly includePadding: boolean;
}

/** Padding of dynamic sizes must not count in the divisor: null (no rule) where it would. */
const meanPadded: PaddedRule<Mean> = (_g, [x], { includePadding, start, end }, _outputs, p, lower) => {
  const counts = includePadding || [...start, ...end].every((n) => n === 0);
  if (!counts && p.isPaddedBeside(0, 0, 1)) return null;
  return lower([
    p.filled(
      0,
      0,
      x!,
      x!.sizes.flatMap((_, a) => (a > 1 ? [a] : [])),
    ),
  ]);
};

/** Means of windows: as in PyTorch, the gradient saves x, except for the mean of the whole plane. */
const avgPoolOp: Definition<Mean> = define<Mean>({
  name: "avgPool",
  batched: overFirstAxis(0),
  infer: ([x], w) => [pooled(x!, w)],
  lower: (g, [x], w, [out]) => [
    g.averagePooling(lifted(g, x!), { ...arguments_(w), output: { sizes: liftedSizes(out!.shape) }, includePadding: w.includePadding }),
  ],
  padded: meanPadded,
  follows: ["input", "output"],
  grad: (dy, { inputs: [x], attrs }) => [tie(call(avgPoolGradOp, [dy], attrs), x!)],
  saves: { outputs: false },
});
const meanOfAllOp: Definition<Mean> = define<Mean>({
  ...avgPoolOp,
  grad: (dy, { attrs }) => [call(avgPoolGradOp, [dy], attrs)],
  saves: { inputs: [], outputs: false },
});

const avgPoolGradOp: Definition<Mean> = define<Mean>({
  name: "avgPoolGradient",
  batched: overFirstAxis(0),
  infer: ([dy], { input }) => [{ shape: [dy!.shape[0]!, dy!.shape[1]!, ...input], dtype: dy!.dtype }],
  lower: (g, [dy], w, [out]) => [
    g.averagePoolingGrad(g.packed(lifted(g, dy!)), {
      ...arguments_(w),
      outputGradient: { sizes: liftedSizes(out!.shape) },
      includePadding: w.includePadding,
    }),
  ],
  padded: meanPadded,
  follows: ["input", "output"],
  grad: (ddx, { attrs }) => [call(avgPoolOp, [ddx], attrs)],
  saves: { inputs: [], outputs: false },
});

/** Options of pooling, without the window's size. */
export interface PoolOptions {
  /** Stride: elements between neighbouring windows. Default: the window's size. */
  readonly stride?: PerAxis | undefined;
  /** Padding on both sides, at most half a window: the lowest value for maxima, zeros for means. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Lets the last window reach beyond the end, instead of leaving elements out. Default: false. */
  readonly ceilMode?: boolean | undefined;
}

/** Options of maxPool1d() to maxPool3d(). Reference: torch.nn.functional.max_pool2d. */
export interface MaxPoolOptions extends PoolOptions {
  /** Dilation: distance between a window's taps. Default: 1. */
  readonly dilation?: PerAxis | undefined;
}

/** Options of avgPool1d() to avgPool3d(). Reference: torch.nn.functional.avg_pool2d. */
export interface AvgPoolOptions extends PoolOptions {
  /** Whether padding counts in the divisor. Default: true. */
  readonly countIncludePad?: boolean | undefined;
  /** Divides each window's sum by this instead. */
  readonly divisorOverride?: number | null | undefined;
}

/** The limit for a window that is larger than its input, which is then mostly padding: it would run for years. */
const MAX_ELEMENTS = 2 ** 24;

function windows(operation: string, x: Tensor, spatial: number, size: PerAxis, options: MaxPoolOptions): Windows {
  const kernel = expandList(operation, "kernelSize", size, spatial, 1);
  const stride = expandList(operation, "stride", options.stride ?? kernel, spatial, 1);
  const start = expandList(operation, "padding", options.padding ?? 0, spatial);
  const dilation = expandList(operation, "dilation", options.dilation ?? 1, spatial, 1);
  if (start.some((p, i) => p > kernel[i]! / 2))
    throw new ValueError(operation, "padding", `at most half the window ${showShape(kernel)}`, start);
  const input = x.shape.slice(-spatial);
  if (sizeOf(kernel) > Math.max(MAX_ELEMENTS, sizeOf(input)))
    throw new ValueError(operation, "kernelSize", `of at most ${MAX_ELEMENTS} elements, or as many as x has`, kernel);
  if (x.shape.slice(-spatial - 1).includes(0))
    throw new ShapeError(operation, "x", "of at least one element along every axis but the batch", x.describe());
  const output = input.map((d, i) => {
    const span = d + 2 * start[i]! - extent(kernel[i]!, dilation[i]!);
    if (options.ceilMode !== true) return Math.floor(span / stride[i]!) + 1;
    const count = Math.ceil(span / stride[i]!) + 1;
    // A window must begin inside the input or its first padding.
    return (count - 1) * stride[i]! >= d + start[i]! ? count - 1 : count;
  });
  if (output.some((d) => d < 1))
    throw new ShapeError(
      operation,
      "x",
      `at least as large as the window ${showShape(kernel)} with padding ${showShape(start)}`,
      x.describe(),
    );
  const end = input.map((d, i) => Math.max(start[i]!, (output[i]! - 1) * stride[i]! + extent(kernel[i]!, dilation[i]!) - d - start[i]!));
  return { input, output, kernel, stride, dilation, start, end };
}

function maxPool(operation: string, spatial: number, x: Tensor, size: PerAxis, options: MaxPoolOptions): Tensor {
  requireSpatial(operation, x, spatial, true);
  const w = windows(operation, x, spatial, size, options);
  return batched(operation, x, spatial, (b) => (isInteger(x.dtype) && b.size > 0 ? integerMaximum(b, w) : call(maxPoolOp, [b], w)));
}

/** Values and indices of the maxima. */
export interface Pooled {
  /** The largest element of each window. */
  readonly values: Tensor;
  /** int32: flat index within the plane of the spatial axes, in row-major order. */
  readonly indices: Tensor;
}

function maximumAndIndices(x: Tensor, w: Windows): Pooled {
  if (isInteger(x.dtype) && x.size > 0) return integerMaximumWithIndices(x, w);
  const [values, indices] = dispatch(maxPoolIndicesOp, [x], w) as [Tensor, Tensor];
  return { values, indices };
}

function poolWithIndices(x: Tensor, spatial: number, w: Windows): Pooled {
  const whole = x.rank === spatial + 2 ? x : reshape(x, [1, ...x.shape]);
  const { values, indices } = maximumAndIndices(whole, w);
  if (whole === x) return { values, indices };
  return { values: asResult(reshape(values, values.shape.slice(1))), indices: reshape(indices, indices.shape.slice(1)) };
}

function maxPoolWithIndices(operation: string, spatial: number, x: Tensor, size: PerAxis, options: MaxPoolOptions): Pooled {
  requireSpatial(operation, x, spatial, true);
  return poolWithIndices(x, spatial, windows(operation, x, spatial, size, options));
}

function avgPool(operation: string, spatial: number, x: Tensor, size: PerAxis, options: AvgPoolOptions): Tensor {
  requireSpatial(operation, x, spatial, true);
  const w = windows(operation, x, spatial, size, options);
  const include = options.countIncludePad ?? true;
  const over = options.divisorOverride ?? null;
  if (over !== null && (!Number.isInteger(over) || over === 0))
    throw new ValueError(operation, "divisorOverride", "an integer other than 0", over);
  if (isInteger(x.dtype) && x.size > 0)
    return batched(operation, x, spatial, (b) => integerAverage(b, w, over === null ? elementCounts(w, include) : [over]));
  const uneven = w.end.some((e, i) => e > w.start[i]!);
  // DirectML divides by all padded elements, PyTorch by those within the padding that was asked for.
  const corrected = over !== null || (include && uneven);
  const averaged = (z: Tensor): Tensor =>
    batched(operation, z, spatial, (b) => call(avgPoolOp, [b], { ...w, includePadding: corrected || include }));
  if (!corrected) return averaged(x);
  return roundedOnce([x], (z) =>
    mul(averaged(z!), over !== null ? sizeOf(w.kernel) / over : tensor(factors(w), { shape: w.output, dtype: z!.dtype, device: x.device })),
  );
}

/** For each window: the number of its elements in the input, and with `include` in the padding asked for. */
function elementCounts(w: Windows, include: boolean): number[] {
  requireListed("avgPool", "padding", sizeOf(w.output), w.start);
  let all = [1];
  w.output.forEach((length, i) => {
    const pad = include ? w.start[i]! : 0;
    const along = Array.from({ length }, (_, o) => {
      const first = o * w.stride[i]! - w.start[i]!;
      return Math.min(first + w.kernel[i]!, w.input[i]! + pad) - Math.max(first, -pad);
    });
    all = all.flatMap((f) => along.map((a) => f * a));
  });
  return all;
}

/** For each window: its size over the number of its elements in the input or the padding asked for. */
function factors(w: Windows): number[] {
  requireListed("avgPool", "padding", sizeOf(w.output), w.start);
  let all = [1];
  w.output.forEach((length, i) => {
    const along = Array.from({ length }, (_, o) => {
      const first = o * w.stride[i]! - w.start[i]!;
      return w.kernel[i]! / (Math.min(first + w.kernel[i]!, w.input[i]! + w.start[i]!) - first);
    });
    all = all.flatMap((f) => along.map((a) => f * a));
  });
  return all;
}

/**
 * Maximum of each window of `size` elements. x: [N, C, W] or [C, W], float16 or float32; result: the same with
 * (W + 2 padding - dilation (size - 1) - 1) / stride + 1 elements, rounded down (up with ceilMode). The gradient goes to the first
 * maximum of each window. DirectML: MAX_POOLING2, MAX_POOLING_GRAD. Reference: torch.nn.functional.max_pool1d.
 */
export const maxPool1d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Tensor => maxPool("maxPool1d", 1, x, size, windowOptions<MaxPoolOptions>("maxPool1d", stride, padding, options));
/** maxPool1d over two spatial axes: x [N, C, H, W] or [C, H, W]. Reference: torch.nn.functional.max_pool2d. */
export const maxPool2d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Tensor => maxPool("maxPool2d", 2, x, size, windowOptions<MaxPoolOptions>("maxPool2d", stride, padding, options));
/** maxPool1d over three spatial axes: x [N, C, D, H, W] or [C, D, H, W]. Reference: torch.nn.functional.max_pool3d. */
export const maxPool3d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Tensor => maxPool("maxPool3d", 3, x, size, windowOptions<MaxPoolOptions>("maxPool3d", stride, padding, options));

/** maxPool1d that also returns the maxima's indices. */
export const maxPool1dWithIndices = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Pooled => maxPoolWithIndices("maxPool1d", 1, x, size, windowOptions<MaxPoolOptions>("maxPool1dWithIndices", stride, padding, options));
/** maxPool2d that also returns the maxima's indices. */
export const maxPool2dWithIndices = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Pooled => maxPoolWithIndices("maxPool2d", 2, x, size, windowOptions<MaxPoolOptions>("maxPool2dWithIndices", stride, padding, options));
/** maxPool3d that also returns the maxima's indices. */
export const maxPool3dWithIndices = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | MaxPoolOptions,
  padding?: PerAxis | MaxPoolOptions,
  options?: MaxPoolOptions,
): Pooled => maxPoolWithIndices("maxPool3d", 3, x, size, windowOptions<MaxPoolOptions>("maxPool3dWithIndices", stride, padding, options));

/**
 * Mean of each window of `size` elements. x: [N, C, W] or [C, W], float16 or float32. Shapes as for maxPool1d, without dilation.
 * DirectML: AVERAGE_POOLING, AVERAGE_POOLING_GRAD. Reference: torch.nn.functional.avg_pool1d.
 */
export const avgPool1d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | AvgPoolOptions,
  padding?: PerAxis | AvgPoolOptions,
  options?: AvgPoolOptions,
): Tensor => avgPool("avgPool1d", 1, x, size, windowOptions<AvgPoolOptions>("avgPool1d", stride, padding, options));
/** avgPool1d over two spatial axes. Reference: torch.nn.functional.avg_pool2d. */
export const avgPool2d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | AvgPoolOptions,
  padding?: PerAxis | AvgPoolOptions,
  options?: AvgPoolOptions,
): Tensor => avgPool("avgPool2d", 2, x, size, windowOptions<AvgPoolOptions>("avgPool2d", stride, padding, options));
/** avgPool1d over three spatial axes. Reference: torch.nn.functional.avg_pool3d. */
export const avgPool3d = (
  x: Tensor,
  size: PerAxis,
  stride?: PerAxis | AvgPoolOptions,
  padding?: PerAxis | AvgPoolOptions,
  options?: AvgPoolOptions,
): Tensor => avgPool("avgPool3d", 3, x, size, windowOptions<AvgPoolOptions>("avgPool3d", stride, padding, options));

/** @internal For adaptive pooling: adjacent windows of equal size. */
export const evenWindows = (input: readonly number[], output: readonly number[]): Windows => {
  const kernel = input.map((d, i) => d / output[i]!);
  const none = input.map(() => 0);
  return { input, output, kernel, stride: kernel, dilation: input.map(() => 1), start: none, end: none };
};
/** @internal */
export const meanOf = (x: Tensor, spatial: number, w: Windows): Tensor =>
  batched("adaptiveAvgPool", x, spatial, (b) =>
    call(w.output.every((d) => d === 1) ? meanOfAllOp : avgPoolOp, [b], { ...w, includePadding: true }),
  );
/** @internal */
export const maximumOf = (x: Tensor, spatial: number, w: Windows): Pooled => poolWithIndices(x, spatial, w);
/** @internal */
export const maximumValues = (x: Tensor, spatial: number, w: Windows): Tensor =>
  batched("adaptiveMaxPool", x, spatial, (b) => call(maxPoolOp, [b], w));
