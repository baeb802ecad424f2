/** Convolution and transposed convolution in one to three dimensions. @functional */
import { spatial } from "../../core/padded-axes.ts";
import { tie } from "../../autograd/tie.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import type { BatchRule } from "../../core/batching.ts";
import { isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { expandList, sameShape, showShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { knownGeometry, noteGeometry } from "./known-geometry.ts";
import { integerConv, integerConvTranspose, type Geometry } from "./integer-spatial.ts";
import { sum } from "../reduce/reduce.ts";
import { constant } from "../declare/support.ts";
import { batched, requireSpatial, extent, lifted, liftedList, type PerAxis } from "./spatial.ts";
import { convolutionShader } from "../../shader/kernels/select-convolution.ts";
import { windowOptions } from "../declare/positional.ts";
import { merged, overFirstAxis, parted } from "../declare/batched.ts";
import { asChannels, asSamples } from "../shape/batched-channels.ts";

/** End padding for exactly `output` elements; negative where no window reaches the last elements of the input. */
const endPadding = (o: Geometry): number[] =>
  o.input.map((x, i) => (o.output[i]! - 1) * o.stride[i]! + extent(o.kernel[i]!, o.dilation[i]!) - x - o.padding[i]!);

/** x without its last elements where `end` is negative. */
function cropped(g: GraphBuilder, x: Expr, end: readonly number[]): Expr {
  return g.reinterpret(x, { sizes: x.sizes.map((d, i) => (i < 2 ? d : d + Math.min(0, end[i - 2]!))), strides: x.strides });
}

/** Whether all windows lie in the padding: no element of the input is read. */
const readsNothing = (o: Geometry): boolean => endPadding(o).some((end, i) => o.input[i]! + Math.min(0, end) < 1);

/** The result of empty sums: zeros, or the bias. */
function ofNothing(g: GraphBuilder, dtype: DType, sizes: readonly number[], bias?: Expr): Expr {
  return g.packed(bias === undefined ? constant(g, dtype, 0, sizes) : g.expand(channelBias(g, bias, sizes.length), sizes));
}

const positive = (list: readonly number[]): number[] => list.map((v) => Math.max(0, v));

/** A bias [C] as [1, C, 1, 1...]. */
function channelBias(g: GraphBuilder, bias: Expr, rank: number): Expr {
  const at = (i: number, one: number, other: number): number => (i === 1 ? one : other);
  return g.reinterpret(bias, {
    sizes: Array.from({ length: rank }, (_, i) => at(i, bias.sizes[0]!, 1)),
    strides: Array.from({ length: rank }, (_, i) => at(i, bias.strides[0]!, 0)),
  });
}

interface Call {
  readonly direction: "FORWARD" | "BACKWARD";
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly start: readonly number[];
  readonly end: readonly number[];
  readonly groups: number;
  /** The result's first two axes are transposed, in memory too. */
  readonly swapped?: boolean;
}

function emit(g: GraphBuilder, x: Expr, w: Expr, bias: Expr | null, sizes: readonly number[], c: Call): Expr {
  const seen = sizes.length === 3 ? [sizes[0]!, sizes[1]!, 1, sizes[2]!] : sizes;
  const spatial = seen.length - 2;
  const y = g.convolution(lifted(g, x), lifted(g, w), {
    bias: bias === null ? null : channelBias(g, bias, seen.length),
    output: c.swapped === true ? { sizes: seen, order: seen.map((_, i) => (i === 0 ? 1 : i === 1 ? 0 : i)) } : { sizes: seen },
    mode: "CROSS_CORRELATION",
    direction: c.direction,
    strides: liftedList(c.strides, 1),
    dilations: liftedList(c.dilations, 1),
    startPadding: liftedList(c.start, 0),
    endPadding: liftedList(c.end, 0),
    // DirectML leaves padded output elements unwritten: the output padding is part of endPadding instead.
    outputPadding: new Array<number>(spatial).fill(0),
    groupCount: c.groups,
  });
  return g.reinterpret(y, { sizes: c.swapped === true ? [sizes[1]!, sizes[0]!, ...sizes.slice(2)] : sizes });
}

/** One filter for all samples: the samples are a longer batch. Filters of each sample: the samples are groups. */
const inGroups: BatchRule<Geometry> = ({ inputs: [, , bias], attrs, size, full, run }) => {
  const list = [asChannels(full(0)), merged(full(1))];
  if (bias !== undefined) list.push(merged(full(2)));
  return run(list, { ...attrs, groups: attrs.groups * size }).map((y) => asSamples(y, size));
};
const convOfBatch: BatchRule<Geometry> = (batch) =>
  batch.isBatched[1] || batch.isBatched[2] === true ? inGroups(batch) : overFirstAxis(0)(batch);

/** The weight gradient sums over N: the samples are groups. */
const weightGradientOfBatch: BatchRule<Geometry> = ({ attrs, size, full, run }) =>
  run([asChannels(full(0)), asChannels(full(1))], { ...attrs, groups: attrs.groups * size }).map((dw) => parted(dw, size));

const convOp: Definition<Geometry> = define<Geometry>({
  name: "conv",
  batched: convOfBatch,
  infer: ([x, w], { output }) => [{ shape: [x!.shape[0]!, w!.shape[0]!, ...output], dtype: x!.dtype }],
  lower: (g, [x, w, bias], o, [out]) => {
    const end = endPadding(o);
    if (readsNothing(o)) return [ofNothing(g, x!.dtype, out!.shape, bias)];
    const shader = convolutionShader(g, "forward", x!, w!, bias ?? null, o);
    if (shader !== null) return [shader];
    return [
      emit(g, cropped(g, x!, end), w!, bias ?? null, out!.shape, {
        direction: "FORWARD",
        strides: o.stride,
        dilations: o.dilation,
        start: o.padding,
        end: positive(end),
        groups: o.groups,
      }),
    ];
  },
  grad: (dy, { inputs: [x, w], needs, attrs }) => [
    needs[0] ? tie(call(convTransposeOp, [dy, w!], attrs), x!, "none") : null,
    needs[1] ? tie(call(convWeightOp, [x!, dy], attrs), w!, "none") : null,
    needs[2] ? tie(tie(sum(dy, channelAxes(dy)), x!, "none"), w!, "none") : null,
  ],
  saves: { inputs: [0, 1], outputs: false },
  padded: spatial([0], 0, "channels"),
  follows: ["input", "output"],
  multiplyAdds: ([, w], _, [y]) => sizeOf(y!.shape) * sizeOf(w!.shape.slice(1)),
  whenEmpty: 0,
});

const channelAxes = (dy: Tensor): number[] => dy.shape.flatMap((_, i) => (i === 1 ? [] : [i]));

/** The data gradient, or a transposed convolution. Inputs y [N, Co, output...], w [Co, Ci/groups, kernel...], bias [Ci]; result [N, Ci, input...]. */
const convTransposeOp: Definition<Geometry> = define<Geometry>({
  name: "convTranspose",
  batched: convOfBatch,
  infer: ([y, w], { input, groups }) => [{ shape: [y!.shape[0]!, w!.shape[1]! * groups, ...input], dtype: y!.dtype }],
  lower: (g, [y, w, bias], o, [out]) => {
    const end = endPadding(o);
    if (readsNothing(o)) return [ofNothing(g, y!.dtype, out!.shape, bias)];
    const shader = convolutionShader(g, "inputGradient", y!, w!, bias ?? null, o);
    if (shader !== null) return [shader];
    const written = out!.shape.map((d, i) => (i < 2 ? d : d + Math.min(0, end[i - 2]!)));
    const whole = sameShape(written, out!.shape);
    const c: Call = {
      direction: "BACKWARD",
      strides: o.stride,
      dilations: o.dilation,
      start: o.padding,
      end: positive(end),
      groups: o.groups,
    };
    const x = emit(g, y!, w!, whole ? (bias ?? null) : null, written, c);
    if (whole) return [x];
    // Elements that no window reaches are zero, before the bias.
    const rank = out!.shape.length;
    const padded = g.padding1(x, {
      output: { sizes: out!.shape },
      paddingMode: "CONSTANT",
      paddingValueDataType: x.dtype === "float16" ? "FLOAT16" : "FLOAT32",
      paddingValue: { dtype: x.dtype, value: 0 },
      startPadding: new Array<number>(rank).fill(0),
      endPadding: out!.shape.map((d, i) => d - written[i]!),
    });
    return [bias === undefined ? padded : g.elementWiseAdd(padded, g.expand(channelBias(g, bias, rank), out!.shape))];
  },
  grad: (dx, { inputs: [y, w], needs, attrs }) => [
    needs[0] ? tie(call(convOp, [dx, w!], attrs), y!, "none") : null,
    needs[1] ? tie(call(convWeightOp, [dx, y!], attrs), w!, "none") : null,
    needs[2] ? tie(tie(sum(dx, channelAxes(dx)), y!, "none"), w!, "none") : null,
  ],
  saves: { inputs: [0, 1], outputs: false },
  padded: spatial([0], 0, "channels"),
  follows: ["input", "output"],
  multiplyAdds: ([y, w]) => sizeOf(y!.shape) * sizeOf(w!.shape.slice(1)),
  whenEmpty: 0,
});

/** The weight gradient. Inputs x [N, Ci, input...], dy [N, Co, output...]; result [Co, Ci/groups, kernel...]. */
const convWeightOp: Definition<Geometry> = define<Geometry>({
  name: "convWeightGradient",
  batched: weightGradientOfBatch,
  infer: ([x, dy], { kernel, groups }) => [{ shape: [dy!.shape[1]!, x!.shape[1]! / groups, ...kernel], dtype: x!.dtype }],
  lower: (g, [x, dy], o, [out]) => {
    if (readsNothing(o)) return [ofNothing(g, x!.dtype, out!.shape)];
    const shader = convolutionShader(g, "weightGradient", x!, dy!, null, o);
    if (shader !== null) return [shader];
    // The weight gradient sums over the batch: the batch becomes the channels, and dy the kernel, with `stride` as its dilation.
    const end = endPadding(o);
    const swap = dy!.sizes.map((_, i) => (i === 0 ? 1 : i === 1 ? 0 : i));
    const dw = emit(
      g,
      batchAsChannels(g, cropped(g, x!, end), o.groups),
      g.transpose(dy!, swap),
      null,
      [out!.shape[1]!, out!.shape[0]!, ...o.kernel],
      {
        direction: "FORWARD",
        strides: o.dilation,
        dilations: o.stride,
        start: o.padding,
        end: positive(end),
        groups: o.groups,
        swapped: true,
      },
    );
    return [dw];
  },
  grad: (dw, { inputs: [x, dy], needs, attrs }) => [
    needs[0] ? call(convTransposeOp, [dy!, dw], attrs) : null,
    needs[1] ? call(convOp, [x!, dw], attrs) : null,
  ],
  padded: spatial([0, 1], 0, "batches"),
  follows: ["input", "output"],
  saves: { outputs: false },
  whenEmpty: 0,
});

/** [N, groups*C, ...] as [C, groups*N, ...]: a transpose for one group, else a copy. */
function batchAsChannels(g: GraphBuilder, x: Expr, groups: number): Expr {
  const [n, c, ...spatial] = x.sizes as [number, number, ...number[]];
  const [sn, sc, ...ss] = x.strides as [number, number, ...number[]];
  const per = c / groups;
  if (groups === 1) return g.reinterpret(x, { sizes: [c, n, ...spatial], strides: [sc, sn, ...ss] });
  if (n === 1) return g.reinterpret(x, { sizes: [per, groups, ...spatial], strides: [sc, sc * per, ...ss] });
  const split = g.reinterpret(x, { sizes: [per, groups, n, ...spatial], strides: [sc, sc * per, sn, ...ss] });
  return g.reshape(split, [per, groups * n, ...spatial]);
}

/** Options of conv1d(), conv2d() and conv3d(). Reference: torch.nn.functional.conv2d. */
export interface ConvOptions {
  /** Stride: elements between neighbouring windows. Default: 1. */
  readonly stride?: PerAxis | undefined;
  /** Padding: zeros added on both sides; "same": as many as keep the size (stride 1 only); "valid": none. Default: 0. */
  readonly padding?: PerAxis | "same" | "valid" | undefined;
  /** Dilation: distance between the kernel's taps. Default: 1. */
  readonly dilation?: PerAxis | undefined;
  /** Channels are split into this many groups, each convolved on its own. Default: 1. */
  readonly groups?: number | undefined;
}

/** Options of convTranspose1d() to convTranspose3d(). Reference: torch.nn.functional.conv_transpose2d. */
export interface ConvTransposeOptions {
  /** Stride along each spatial axis. Default: 1. */
  readonly stride?: PerAxis | undefined;
  /** Elements removed on both sides of the result. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Elements added at the end of the result, fewer than stride or dilation. Default: 0. */
  readonly outputPadding?: PerAxis | undefined;
  /** Distance between the kernel's elements along each spatial axis. Default: 1. */
  readonly dilation?: PerAxis | undefined;
  /** Groups into which channels are divided. Default: 1. */
  readonly groups?: number | undefined;
}

function checked(
  operation: string,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  groups: number,
  spatial: number,
  channels: number,
  biasLength: number,
): void {
  requireSameDevice(operation, bias === null ? [x, weight] : [x, weight, bias]);
  requireSpatial(operation, x, spatial, true);
  for (const [name, t] of [
    ["weight", weight],
    ["bias", bias],
  ] as const)
    if (t !== null && t.dtype !== x.dtype) throw new DTypeError(operation, name, `of x's dtype ${x.dtype}`, t.dtype);
  if (weight.rank !== spatial + 2) throw new ShapeError(operation, "weight", `of ${spatial + 2} axes`, weight.describe());
  if (!Number.isInteger(groups) || groups < 1 || weight.shape[0]! % groups !== 0)
    throw new ValueError(operation, "groups", `an integer that divides weight's first axis (${weight.shape[0]})`, groups);
  const got = x.shape[x.rank - spatial - 1]!;
  if (got !== channels)
    throw new ShapeError(
      operation,
      "x",
      `of ${channels} channels for weight ${showShape(weight.shape)} in ${groups} ${groups === 1 ? "group" : "groups"}`,
      x.describe(),
    );
  if (bias !== null && !sameShape(bias.shape, [biasLength]))
    throw new ShapeError(operation, "bias", showShape([biasLength]), bias.describe());
}

function convolve(operation: string, spatial: number, x: Tensor, weight: Tensor, bias: Tensor | null, options: ConvOptions): Tensor {
  const of = [x.desc, weight.desc, bias === null ? null : bias.desc] as const;
  // A known one has as many axes as its operation.
  const known = knownGeometry(...of, options);
  const geometry =
    known !== null && known.kernel.length === spatial
      ? known
      : noteGeometry(...of, options, geometryOf(operation, spatial, x, weight, bias, options));
  return batched(operation, x, spatial, (b) =>
    isInteger(x.dtype) && b.size > 0
      ? integerConv(b, weight, bias, geometry)
      : call(convOp, bias === null ? [b, weight] : [b, weight, bias], geometry),
  );
}

/** Checks the arguments. */
function geometryOf(operation: string, spatial: number, x: Tensor, weight: Tensor, bias: Tensor | null, options: ConvOptions): Geometry {
  const groups = options.groups ?? 1;
  checked(operation, x, weight, bias, groups, spatial, (weight.shape[1] ?? 0) * groups, weight.shape[0] ?? 0);
  const stride = expandList(operation, "stride", options.stride ?? 1, spatial, 1);
  const dilation = expandList(operation, "dilation", options.dilation ?? 1, spatial, 1);
  const kernel = weight.shape.slice(2);
  const input = x.shape.slice(-spatial);
  const requested = options.padding ?? 0;
  if (requested === "same" && stride.some((s) => s !== 1)) throw new ValueError(operation, "stride", '1 with padding "same"', stride);
  const total = kernel.map((k, i) => (k - 1) * dilation[i]!);
  const padding =
    requested === "same"
      ? total.map((t) => Math.floor(t / 2))
      : requested === "valid"
        ? kernel.map(() => 0)
        : expandList(operation, "padding", requested, spatial);
  const end = requested === "same" ? total.map((t, i) => t - padding[i]!) : padding;
  const output = input.map((d, i) => Math.floor((d + padding[i]! + end[i]! - extent(kernel[i]!, dilation[i]!)) / stride[i]!) + 1);
  if (output.some((d) => d < 1))
    throw new ShapeError(
      operation,
      "x",
      `at least as large as the kernel ${showShape(kernel)} with padding ${showShape(padding)} and dilation ${showShape(dilation)}`,
      x.describe(),
    );
  return { input, kernel, output, stride, dilation, padding, groups };
}

function convolveTransposed(
  operation: string,
  spatial: number,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null,
  options: ConvTransposeOptions,
): Tensor {
  const groups = options.groups ?? 1;
  checked(operation, x, weight, bias, groups, spatial, weight.shape[0] ?? 0, (weight.shape[1] ?? 0) * groups);
  const stride = expandList(operation, "stride", options.stride ?? 1, spatial, 1);
  const dilation = expandList(operation, "dilation", options.dilation ?? 1, spatial, 1);
  const padding = expandList(operation, "padding", options.padding ?? 0, spatial);
  const extra = expandList(operation, "outputPadding", options.outputPadding ?? 0, spatial);
  if (extra.some((e, i) => e >= Math.max(stride[i]!, dilation[i]!)))
    throw new ValueError(operation, "outputPadding", "less than stride or dilation", extra);
  const kernel = weight.shape.slice(2);
  const output = x.shape.slice(-spatial);
  const input = output.map((d, i) => (d - 1) * stride[i]! - 2 * padding[i]! + extent(kernel[i]!, dilation[i]!) + extra[i]!);
  if (input.some((d) => d < 1))
    throw new ShapeError(operation, "x", `large enough to leave a result after padding ${showShape(padding)}`, x.describe());
  const geometry: Geometry = { input, kernel, output, stride, dilation, padding, groups };
  return batched(operation, x, spatial, (b) =>
    isInteger(x.dtype) && b.size > 0
      ? integerConvTranspose(b, weight, bias, geometry)
      : call(convTransposeOp, bias === null ? [b, weight] : [b, weight, bias], geometry),
  );
}

/**
 * Cross-correlation of x with a kernel over one spatial axis. x: [N, Ci, W] or [Ci, W]; weight: [Co, Ci/groups, k]; bias: [Co] or
 * none; float32, float16, or integers (exact modulo 2^bits). Result: [N, Co, (W + 2 padding - dilation (k - 1) - 1) / stride + 1], rounded down.
 * Throws ShapeError, DTypeError, ValueError. DirectML: CONVOLUTION. Reference: torch.nn.functional.conv1d. @autocast lower
 */
export const conv1d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvOptions,
  padding?: PerAxis | "same" | "valid" | ConvOptions,
  options?: ConvOptions,
): Tensor => convolve("conv1d", 1, x, weight, bias, windowOptions<ConvOptions>("conv1d", stride, padding, options));

/** conv1d over two spatial axes: x [N, Ci, H, W] or [Ci, H, W], weight [Co, Ci/groups, kH, kW]. Reference: torch.nn.functional.conv2d. @autocast lower */
export const conv2d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvOptions,
  padding?: PerAxis | "same" | "valid" | ConvOptions,
  options?: ConvOptions,
): Tensor => convolve("conv2d", 2, x, weight, bias, windowOptions<ConvOptions>("conv2d", stride, padding, options));

/** conv1d over three spatial axes: x [N, Ci, D, H, W] or [Ci, D, H, W], weight [Co, Ci/groups, kD, kH, kW]. Reference: torch.nn.functional.conv3d. @autocast lower */
export const conv3d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvOptions,
  padding?: PerAxis | "same" | "valid" | ConvOptions,
  options?: ConvOptions,
): Tensor => convolve("conv3d", 3, x, weight, bias, windowOptions<ConvOptions>("conv3d", stride, padding, options));

/**
 * Transposed convolution: the data gradient of conv1d. x: [N, Ci, W] or [Ci, W]; weight: [Ci, Co/groups, k]; bias: [Co]
 * or none. Result: [N, Co, (W - 1) stride - 2 padding + dilation (k - 1) + outputPadding + 1].
 * DirectML: CONVOLUTION, BACKWARD. Reference: torch.nn.functional.conv_transpose1d. @autocast lower
 */
export const convTranspose1d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvTransposeOptions,
  padding?: PerAxis | ConvTransposeOptions,
  options?: ConvTransposeOptions,
): Tensor =>
  convolveTransposed(
    "convTranspose1d",
    1,
    x,
    weight,
    bias,
    windowOptions<ConvTransposeOptions>("convTranspose1d", stride, padding, options),
  );

/** convTranspose1d over two spatial axes. Reference: torch.nn.functional.conv_transpose2d. @autocast lower */
export const convTranspose2d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvTransposeOptions,
  padding?: PerAxis | ConvTransposeOptions,
  options?: ConvTransposeOptions,
): Tensor =>
  convolveTransposed(
    "convTranspose2d",
    2,
    x,
    weight,
    bias,
    windowOptions<ConvTransposeOptions>("convTranspose2d", stride, padding, options),
  );

/** convTranspose1d over three spatial axes. Reference: torch.nn.functional.conv_transpose3d. @autocast lower */
export const convTranspose3d = (
  x: Tensor,
  weight: Tensor,
  bias: Tensor | null = null,
  stride?: PerAxis | ConvTransposeOptions,
  padding?: PerAxis | ConvTransposeOptions,
  options?: ConvTransposeOptions,
): Tensor =>
  convolveTransposed(
    "convTranspose3d",
    3,
    x,
    weight,
    bias,
    windowOptions<ConvTransposeOptions>("convTranspose3d", stride, padding, options),
  );
