/** Convolutions of quantized integers, summed exactly in int32. */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { define } from "../../core/definition.ts";
import type { DType } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { expandList, sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { extent, type PerAxis } from "../conv/spatial.ts";
import {
  asVector,
  levelsOf,
  requireBytes,
  resultDType,
  vectorAlong,
  type Quantized,
  type QuantizedResult,
  type ZeroPoints,
} from "./quantized.ts";

/** Options of convInteger(). */
export interface IntegerConvOptions {
  /** Stride: elements between neighbouring windows. Default: 1. */
  readonly stride?: PerAxis | undefined;
  /** Padding: elements that stand for 0, added on both sides. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Dilation: distance between the kernel's taps. Default: 1. */
  readonly dilation?: PerAxis | undefined;
  /** Channels are split into so many groups, each convolved on its own. Default: 1. */
  readonly groups?: number | undefined;
}

interface Geometry {
  readonly output: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly groups: number;
}

function geometryOf(operation: string, x: Tensor, weight: Tensor, options: IntegerConvOptions): Geometry {
  requireBytes(operation, "x", x);
  requireBytes(operation, "weight", weight);
  requireSameDevice(operation, [x, weight]);
  if (x.rank !== 4 && x.rank !== 3) throw new ShapeError(operation, "x", "[N, C, W] or [N, C, H, W]", x.describe());
  const spatial = x.rank - 2;
  const { groups = 1 } = options;
  if (!Number.isInteger(groups) || groups < 1 || weight.shape[0]! % groups !== 0)
    throw new ValueError(operation, "groups", `an integer that divides weight's first axis (${weight.shape[0]})`, groups);
  if (weight.rank !== x.rank || weight.shape[1]! * groups !== x.shape[1])
    throw new ShapeError(operation, "weight", `[Co, ${x.shape[1]! / groups}, kernel...] of ${x.rank} axes`, weight.describe());
  const stride = expandList(operation, "stride", options.stride ?? 1, spatial, 1);
  const dilation = expandList(operation, "dilation", options.dilation ?? 1, spatial, 1);
  const padding = expandList(operation, "padding", options.padding ?? 0, spatial);
  const output = x.shape
    .slice(2)
    .map((d, i) => Math.floor((d + 2 * padding[i]! - extent(weight.shape[i + 2]!, dilation[i]!)) / stride[i]!) + 1);
  if (output.some((d) => d < 1))
    throw new ShapeError(operation, "x", `at least as large as the kernel ${showShape(weight.shape.slice(2))}`, x.describe());
  return { output, stride, dilation, padding, groups };
}

/** With a height of 1 where there is none. */
const plane = (g: GraphBuilder, x: Expr): Expr =>
  x.sizes.length === 4 ? x : g.reshape(x, [...x.sizes.slice(0, 2), 1, ...x.sizes.slice(2)]);
const planeList = (list: readonly number[], neutral: number): number[] => (list.length === 1 ? [neutral, ...list] : [...list]);
const windowsOf = ({ stride, dilation, padding, groups }: Geometry) => ({
  strides: planeList(stride, 1),
  dilations: planeList(dilation, 1),
  startPadding: planeList(padding, 0),
  endPadding: planeList(padding, 0),
  groupCount: groups,
});
const planeSizes = (shape: Shape): number[] => (shape.length === 4 ? [...shape] : [shape[0]!, shape[1]!, 1, shape[2]!]);

/** Inputs x, weight, their zero points. */
const integerConvOp = define<Geometry>({
  name: "convInteger",
  infer: ([x, w], { output }) => [{ shape: [x!.shape[0]!, w!.shape[0]!, ...output], dtype: "int32" }],
  lower: (g, [x, w, xz, wz], o, [out]) => {
    const y = g.convolutionInteger(plane(g, x!), plane(g, w!), {
      inputZeroPoint: vectorAlong(g, xz!, 1),
      filterZeroPoint: vectorAlong(g, wz!, 1),
      output: { sizes: planeSizes(out!.shape), dtype: "int32" },
      ...windowsOf(o),
    });
    return [g.reshape(y, out!.shape)];
  },
  grad: null,
  multiplyAdds: ([, w], _, [y]) => sizeOf(y!.shape) * sizeOf(w!.shape.slice(1)),
});

/** Inputs x, its scale and zero point, weight likewise, the result's, and a bias [Co]. */
const quantizedConvOp = define<Geometry & { readonly dtype: DType }>({
  name: "qlinearConv",
  infer: ([x, , , w], { output, dtype }) => [{ shape: [x!.shape[0]!, w!.shape[0]!, ...output], dtype }],
  lower: (g, [x, xs, xz, w, ws, wz, os, oz, bias], o, [out]) => {
    const one = (v: Expr): Expr => vectorAlong(g, v, 1);
    // Until level 5.2 the weight's scale has as many elements as there are channels.
    const channels = w!.sizes[0]!;
    const scales = g.packed(g.expand(one(ws!), [1, channels, 1, 1]));
    const zeros = g.packed(g.expand(one(wz!), [1, channels, 1, 1]));
    const y = g.quantizedLinearConvolution(plane(g, x!), one(xs!), plane(g, w!), scales, one(os!), {
      inputZeroPoint: one(xz!),
      filterZeroPoint: zeros,
      outputZeroPoint: one(oz!),
      bias: bias === undefined ? null : one(bias),
      output: { sizes: planeSizes(out!.shape), dtype: o.dtype },
      ...windowsOf(o),
    });
    return [g.reshape(y, out!.shape)];
  },
  grad: null,
  multiplyAdds: ([, , , w], _, [y]) => sizeOf(y!.shape) * sizeOf(w!.shape.slice(1)),
});

/**
 * The convolution of x - aZeroPoint with weight - bZeroPoint, summed exactly modulo 2^32. x: [N, Ci, W] or [N, Ci, H, W], weight:
 * [Co, Ci / groups, kernel...], int8 or uint8; bZeroPoint: one, or one for each channel of the result. Result: int32. Has no gradient.
 * DirectML: CONVOLUTION_INTEGER. Reference: ONNX ConvInteger.
 */
export function convInteger(x: Tensor, weight: Tensor, options: IntegerConvOptions & ZeroPoints = {}): Tensor {
  const geometry = geometryOf("convInteger", x, weight, options);
  const zeros = [
    asVector("convInteger", "aZeroPoint", options.aZeroPoint ?? 0, x.dtype, x, 1),
    asVector("convInteger", "bZeroPoint", options.bZeroPoint ?? 0, weight.dtype, x, weight.shape[0]!),
  ];
  return call(integerConvOp, [x, weight, ...zeros], geometry);
}

/**
 * The convolution of what x and weight stand for, quantized again. x.values: [N, Ci, W] or [N, Ci, H, W], weight.values:
 * [Co, Ci / groups, kernel...], int8 or uint8; weight's scale and zero point: one, or one for each channel of the result. bias: [Co] int32,
 * in units of x.scale * weight.scale. Has no gradient.
 * DirectML: QUANTIZED_LINEAR_CONVOLUTION. Reference: ONNX QLinearConv.
 */
export function qlinearConv(
  x: Quantized,
  weight: Quantized,
  bias: Tensor | null,
  result: QuantizedResult,
  options: IntegerConvOptions = {},
): Tensor {
  const name = "qlinearConv";
  const geometry = geometryOf(name, x.values, weight.values, options);
  const channels = weight.values.shape[0]!;
  if (bias !== null && (bias.dtype !== "int32" || !sameShape(bias.shape, [channels])))
    throw new ShapeError(name, "bias", `int32[${channels}]`, bias.describe());
  const dtype = resultDType(name, result);
  const inputs = [
    x.values,
    ...levelsOf(name, "x", x, x.values.dtype, x.values),
    weight.values,
    ...levelsOf(name, "weight", weight, weight.values.dtype, x.values, channels),
    ...levelsOf(name, "result", result, dtype, x.values),
    ...(bias === null ? [] : [bias]),
  ];
  return call(quantizedConvOp, inputs, { ...geometry, dtype });
}
