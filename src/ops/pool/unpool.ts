/** Max unpooling, power-average and fractional pooling. @functional */
import { call } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { isInteger } from "../../core/dtype.ts";
import { expandList, sameShape, showShape, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { toDType } from "../data/conversion.ts";
import { max } from "../reduce/extrema.ts";
import { gather } from "../index/gather.ts";
import { permute, reshape, select, unsqueeze } from "../shape/movement.ts";
import { avgPool1d, avgPool2d, avgPool3d, type Pooled, type PoolOptions } from "./pool.ts";
import { pow } from "../elementwise/power.ts";
import { rand, type Generator } from "../random/random.ts";
import { arange } from "../creation/ranges.ts";
import { relu } from "../elementwise/activation.ts";
import { cast, constant, emitScatterElements } from "../declare/support.ts";
import { abs, floor, sign } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { eq } from "../elementwise/compare.ts";
import { requireSpatial, type PerAxis } from "../conv/spatial.ts";
import { requireIndices } from "../../runtime/index-check.ts";
import { sample, type Sample, distinct } from "../declare/sample.ts";
import { maxPool2dWithIndices } from "./pool.ts";

/** x [P, n] at its indices (int32) of planes of `length` elements that are zero elsewhere. */
const unpoolOp: Definition<{ readonly length: number }> = define<{ readonly length: number }>({
  name: "maxUnpool",
  infer: ([x], { length }) => [{ shape: [x!.shape[0]!, length], dtype: x!.dtype }],
  lower: (g, [x, indices], { length }) => {
    const [planes, n] = x!.sizes as [number, number];
    const zeros = g.packed(constant(g, x!.dtype, 0, [planes, length]));
    // An index may occur twice, with equal values: whichever is written last is right.
    const flatIndices = cast(g, g.packed(indices!), "int32");
    return [emitScatterElements(g, zeros, g.reinterpret(flatIndices, { sizes: [planes, n] }), g.packed(x!), 1)];
  },
  grad: (dy, { inputs: [, indices] }) => [gather(dy, 1, indices!), null],
  saves: { inputs: [1], outputs: false },
  whenEmpty: 0,
});

/** Options of maxUnpool1d() to maxUnpool3d(). Reference: torch.nn.functional.max_unpool2d. */
export interface UnpoolOptions {
  /** Default: the window's size. */
  readonly stride?: PerAxis | undefined;
  /** Elements added at both ends of each spatial axis. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Lengths of the result's spatial axes, where kernel, stride and padding do not determine them. */
  readonly outputSize?: readonly number[] | null | undefined;
}

function maxUnpool(operation: string, spatial: number, x: Tensor, indices: Tensor, size: PerAxis, options: UnpoolOptions): Tensor {
  requireSpatial(operation, x, spatial);
  if (!isInteger(indices.dtype)) throw new DTypeError(operation, "indices", "of an integer dtype", indices.describe());
  if (!sameShape(x.shape, indices.shape))
    throw new ShapeError(operation, "indices", `of x's shape ${showShape(x.shape)}`, indices.describe());
  const kernel = expandList(operation, "kernelSize", size, spatial, 1);
  const stride = expandList(operation, "stride", options.stride ?? kernel, spatial, 1);
  const padding = expandList(operation, "padding", options.padding ?? 0, spatial);
  const input = x.shape.slice(-spatial);
  const usual = input.map((d, i) => (d - 1) * stride[i]! + kernel[i]! - 2 * padding[i]!);
  const lengths = options.outputSize == null ? usual : options.outputSize.slice(-spatial);
  if (lengths.length !== spatial || lengths.some((d, i) => !(d > usual[i]! - stride[i]! && d < usual[i]! + stride[i]!)))
    throw new ValueError(operation, "outputSize", `within a stride of ${showShape(usual)}`, options.outputSize);
  const lead = x.shape.slice(0, -spatial);
  const planes = sizeOf(lead);
  requireIndices(operation, indices, { length: sizeOf(lengths), argument: "indices" });
  const flat = (t: Tensor): Tensor => reshape(t, [planes, sizeOf(input)]);
  return reshape(call(unpoolOp, [flat(x), flat(toDType(indices, "int32"))], { length: sizeOf(lengths) }), [...lead, ...lengths]);
}

/** Values at the indices that maxPool1dWithIndices found, zeros elsewhere. Reference: torch.nn.functional.max_unpool1d. DirectML: SCATTER. */
export const maxUnpool1d = (x: Tensor, indices: Tensor, size: PerAxis, options: UnpoolOptions = {}): Tensor =>
  maxUnpool("maxUnpool1d", 1, x, indices, size, options);
/** maxUnpool1d over two spatial axes. Reference: torch.nn.functional.max_unpool2d. */
export const maxUnpool2d = (x: Tensor, indices: Tensor, size: PerAxis, options: UnpoolOptions = {}): Tensor =>
  maxUnpool("maxUnpool2d", 2, x, indices, size, options);
/** maxUnpool1d over three spatial axes. Reference: torch.nn.functional.max_unpool3d. */
export const maxUnpool3d = (x: Tensor, indices: Tensor, size: PerAxis, options: UnpoolOptions = {}): Tensor =>
  maxUnpool("maxUnpool3d", 3, x, indices, size, options);

/** The windows of lpPool. */
export type LpOptions = Pick<PoolOptions, "stride" | "ceilMode">;
function lpPool(x: Tensor, p: number, count: number, average: (x: Tensor) => Tensor): Tensor {
  const sums = average(pow(x, p));
  return pow(mul(mul(sign(sums), relu(abs(sums))), count), 1 / p);
}
const windowSize = (operation: string, size: PerAxis, spatial: number): number =>
  sizeOf(expandList(operation, "kernelSize", size, spatial, 1));
/** (sum of x^p over each window)^(1/p). Reference: torch.nn.functional.lp_pool1d. DirectML: POW, AVERAGE_POOLING. @autocast float32 */
export const lpPool1d = (x: Tensor, p: number, size: PerAxis, options: LpOptions = {}): Tensor =>
  lpPool(x, p, windowSize("lpPool1d", size, 1), (v) => avgPool1d(v, size, { ...options, padding: 0 }));
/** lpPool1d over two spatial axes. Reference: torch.nn.functional.lp_pool2d. @autocast float32 */
export const lpPool2d = (x: Tensor, p: number, size: PerAxis, options: LpOptions = {}): Tensor =>
  lpPool(x, p, windowSize("lpPool2d", size, 2), (v) => avgPool2d(v, size, { ...options, padding: 0 }));
/** lpPool1d over three spatial axes. Reference: torch.nn.functional.lp_pool3d. @autocast float32 */
export const lpPool3d = (x: Tensor, p: number, size: PerAxis, options: LpOptions = {}): Tensor =>
  lpPool(x, p, windowSize("lpPool3d", size, 3), (v) => avgPool3d(v, size, { ...options, padding: 0 }));

/** Options of fractionalMaxPool2d() and fractionalMaxPool3d(). Reference: torch.nn.functional.fractional_max_pool2d. */
export interface FractionalOptions {
  /** Lengths of the result's spatial axes; this or outputRatio is needed. */
  readonly outputSize?: PerAxis | null | undefined;
  /** The result's lengths as shares of x's, in (0, 1). */
  readonly outputRatio?: number | readonly number[] | null | undefined;
  /** Uniform numbers [N, C, spatial axes] that decide where windows begin. Default: drawn. */
  readonly randomSamples?: Tensor | null | undefined;
  /** @deprecated Use randomSamples. */
  readonly samples?: Tensor | null | undefined;

  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}

/** Where the windows of one axis begin, [N, C, output], after B. Graham, Fractional Max-Pooling (2014). */
function starts(sample: Tensor, input: number, output: number, kernel: number): Tensor {
  const at = arange(output, { device: sample.device });
  const u = unsqueeze(sample, -1);
  if (output === 1) return add(mul(u, 0), input - kernel);
  const alpha = (input - kernel) / (output - 1);
  const start = sub(floor(mul(add(at, u), alpha)), floor(mul(u, alpha)));
  return where(eq(at, output - 1), input - kernel, start);
}

function fractional(operation: string, spatial: number, x: Tensor, size: PerAxis, options: FractionalOptions): Pooled {
  requireSpatial(operation, x, spatial);
  const whole = x.rank === spatial + 2 ? x : unsqueeze(x, 0);
  const [n, c] = whole.shape as [number, number];
  const input = whole.shape.slice(2);
  const kernel = expandList(operation, "kernelSize", size, spatial, 1);
  const { outputSize = null, outputRatio = null } = options;
  if ((outputSize === null) === (outputRatio === null))
    throw new ValueError(operation, "outputSize or outputRatio", "given, and not both", outputSize);
  const ratios = typeof outputRatio === "number" ? input.map(() => outputRatio) : outputRatio;
  if (ratios?.some((r) => !(r > 0 && r < 1)) === true) throw new ValueError(operation, "outputRatio", "in (0, 1)", outputRatio);
  const output =
    outputSize !== null ? expandList(operation, "outputSize", outputSize, spatial, 1) : input.map((d, i) => Math.floor(d * ratios![i]!));
  if (output.some((o, i) => o + kernel[i]! - 1 > input[i]! || o < 1))
    throw new ShapeError(operation, "x", `large enough for ${showShape(output)} windows of ${showShape(kernel)}`, x.describe());
  const samples = options.randomSamples ?? rand([n, c, spatial], { device: x.device, generator: options.generator });
  // PyTorch's samples name the width first.
  let index: Tensor | null = null;
  input.forEach((d, i) => {
    const first = starts(select(samples, 2, spatial - 1 - i), d, output[i]!, kernel[i]!);
    const elements = add(unsqueeze(first, -1), arange(kernel[i]!, { device: x.device }));
    const shape = [n, c, ...input.flatMap((_, j) => (j === i ? [output[i]!, kernel[i]!] : [1, 1]))];
    const flatIndices = reshape(elements, shape);
    index = index === null ? flatIndices : add(mul(index, d), flatIndices);
  });
  const order = [0, 1, ...input.map((_, i) => 2 + 2 * i), ...input.map((_, i) => 3 + 2 * i)];
  const flat = toDType(reshape(permute(index! as Tensor, order), [n, c, sizeOf(output) * sizeOf(kernel)]), "int32");
  const values = reshape(gather(reshape(whole, [n, c, sizeOf(input)]), 2, flat), [n, c, sizeOf(output), sizeOf(kernel)]);
  const best = max(values, -1);
  const indices = gather(reshape(flat, [n, c, sizeOf(output), sizeOf(kernel)]), 3, unsqueeze(toDType(best.indices, "int32"), -1));
  const shape = x.rank === spatial + 2 ? [n, c, ...output] : [c, ...output];
  return { values: reshape(best.values, shape), indices: reshape(indices, shape) };
}

/** Maxima of windows whose distances vary at random. x: [N, C, H, W] or [C, H, W]. Reference: torch.nn.functional.fractional_max_pool2d. DirectML: GATHER_ELEMENTS, REDUCE MAX. */
export const fractionalMaxPool2d = (x: Tensor, size: PerAxis, options: FractionalOptions): Tensor =>
  fractional("fractionalMaxPool2d", 2, x, size, options).values;
/** fractionalMaxPool2d that also returns the maxima's indices. */
export const fractionalMaxPool2dWithIndices = (x: Tensor, size: PerAxis, options: FractionalOptions): Pooled =>
  fractional("fractionalMaxPool2d", 2, x, size, options);
/** fractionalMaxPool2d over three spatial axes. Reference: torch.nn.functional.fractional_max_pool3d. */
export const fractionalMaxPool3d = (x: Tensor, size: PerAxis, options: FractionalOptions): Tensor =>
  fractional("fractionalMaxPool3d", 3, x, size, options).values;
/** fractionalMaxPool3d that also returns the maxima's indices. */
export const fractionalMaxPool3dWithIndices = (x: Tensor, size: PerAxis, options: FractionalOptions): Pooled =>
  fractional("fractionalMaxPool3d", 3, x, size, options);

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "maxUnpool2d", [distinct([1, 2, 4, 6])], (x) => {
    const { values, indices } = maxPool2dWithIndices(x!, 2);
    return maxUnpool2d(values, indices, 2);
  }),
];
