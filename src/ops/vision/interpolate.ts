/** Interpolate: upsampling and downsampling. @functional */
import { leading } from "../../core/padded-axes.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { call } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { isFloat } from "../../core/dtype.ts";
import { requireListed, type Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d } from "../pool/adaptive-pool.ts";
import { add, mulByConstants } from "../elementwise/binary.ts";
import { tensor } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { selectOwnRows } from "../index/gather.ts";
import { matmul } from "../matmul/matmul.ts";
import { reshape, transpose } from "../shape/movement.ts";
import { computing } from "../declare/support.ts";
import { clamp } from "../elementwise/where.ts";
import { floor } from "../elementwise/unary.ts";
import type { BatchRule } from "../../core/batching.ts";
import { merged, parted } from "../declare/batched.ts";

/** The interpolation method of interpolate(). */
export type ResizeMode = "nearest" | "nearestExact" | "nearest-exact" | "linear" | "bilinear" | "trilinear" | "bicubic" | "area";

/** Options of interpolate(). Reference: torch.nn.functional.interpolate. */
export interface InterpolateOptions {
  /** Lengths of the result's spatial axes. This or scaleFactor is needed. */
  readonly size?: number | readonly number[] | null | undefined;
  /** Factors of the spatial axes' lengths. */
  readonly scaleFactor?: number | readonly number[] | null | undefined;
  /** Default: "nearest". */
  readonly mode?: ResizeMode | undefined;
  /** Whether the corner pixels' centres coincide; for linear modes and bicubic. Default: false. */
  readonly alignCorners?: boolean | null | undefined;
  /** Whether the scale factors are recomputed from the lengths. Default: false. */
  readonly recomputeScaleFactor?: boolean | null | undefined;
  /** Whether shrinking averages over all elements that a pixel of the result covers: bilinear and bicubic. Default: false. */
  readonly antialias?: boolean | undefined;
}

/** How one axis is read: for each index of the result, one (index, weight) pair for each tap. */
interface Taps {
  readonly indices: readonly number[][];
  /** null: all ones. */
  readonly weights: readonly number[][] | null;
}

const clamped = (i: number, length: number): number => Math.min(Math.max(i, 0), length - 1);
/** PyTorch computes coordinates in float32; which element is the nearest depends on it. */
const single = Math.fround;

/** Keys' cubic kernel with a = -0.75 (or -0.5, antialiased, as Pillow's). */
function cubic(x: number, a: number): number {
  const d = Math.abs(x);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/** How the last two of four axes are read: element i of the result at (i + shift) / scale - shift, between neighbours or the nearest one. */
interface Resampling {
  readonly isLinear: boolean;
  readonly input: Shape;
  readonly output: Shape;
  readonly scales: readonly [number, number];
  readonly shift: readonly [number, number];
}

const resampling = ({ isLinear, scales, shift }: Resampling) =>
  ({
    interpolationMode: isLinear ? "LINEAR" : "NEAREST_NEIGHBOR",
    scales: [1, 1, ...scales],
    inputPixelOffsets: [0.5, 0.5, ...shift],
    outputPixelOffsets: [-0.5, -0.5, ...shift.map((v) => -v)],
  }) as const;

/** All samples' planes: the first axis is a batch, which the attributes count. */
const planesOfBatch: BatchRule<Resampling> = ({ attrs, size, full, run }) => {
  const longer = ([n, ...rest]: Shape): Shape => [n! * size, ...rest];
  const own = { ...attrs, input: longer(attrs.input), output: longer(attrs.output) };
  return run([merged(full(0))], own).map((t) => parted(t, size));
};

const resampleOp: Definition<Resampling> = define<Resampling>({
  name: "interpolate",
  batched: planesOfBatch,
  follows: ["input", "output"],
  padded: leading(2),
  infer: ([x], { output }) => [{ shape: output, dtype: x!.dtype }],
  lower: (g, [x], a) => [g.resample1(g.packed(x!), { output: { sizes: a.output }, ...resampling(a) })],
  grad: (dy, { attrs }) => [call(resampleGradOp, [dy], attrs)],
  saves: { inputs: [], outputs: false },
});

/** The transpose of resampleOp, whose offsets DirectML names after the gradients. */
const resampleGradOp: Definition<Resampling> = define<Resampling>({
  name: "interpolateGradient",
  batched: planesOfBatch,
  follows: ["input", "output"],
  padded: leading(2),
  infer: ([dy], { input }) => [{ shape: input, dtype: dy!.dtype }],
  lower: (g, [dy], a) => {
    const { inputPixelOffsets: read, outputPixelOffsets: written, ...rest } = resampling(a);
    const offsets = { inputPixelOffsets: written, outputPixelOffsets: read };
    return [g.resampleGrad(g.packed(dy!), { outputGradient: { sizes: a.input }, ...rest, ...offsets })];
  },
  grad: (ddx, { attrs }) => [call(resampleOp, [ddx], attrs)],
  saves: { inputs: [], outputs: false },
});

/** An axis as an operator's attributes: scale and shift; null where it stays as it is. */
type AxisScale = readonly [scale: number, shift: number] | null;

/** x [N, C, ...] float32, its axes read two at a time, since the operator takes four axes. */
function resampled(x: Tensor, size: readonly number[], axes: readonly AxisScale[], isLinear: boolean): Tensor {
  const pass = (t: Tensor, from: number, count: number): Tensor => {
    const chunk = Array.from({ length: count }, (_, i) => axes[from + i]!);
    if (chunk.every((a) => a === null)) return t;
    const at = from + 2;
    const lead = t.shape.slice(0, at).reduce((p, d) => p * d, 1);
    const rest = t.shape.slice(at + count).reduce((p, d) => p * d, 1);
    // [lead, 1, axis, rest], or [lead, 1, two axes].
    const lengths = count === 2 ? [t.shape[at]!, t.shape[at + 1]!] : [t.shape[at]!, rest];
    const next = count === 2 ? [size[from]!, size[from + 1]!] : [size[from]!, rest];
    const own = count === 2 ? chunk : [chunk[0]!, null];
    const attrs: Resampling = {
      isLinear,
      input: [lead, 1, ...lengths],
      output: [lead, 1, ...next],
      scales: own.map((a) => a?.[0] ?? 1) as [number, number],
      shift: own.map((a) => a?.[1] ?? 0.5) as [number, number],
    };
    const shape = t.shape.map((d, i) => (i >= at && i < at + count ? size[i - 2]! : d));
    return reshape(call(resampleOp, [reshape(t, attrs.input)], attrs), shape);
  };
  if (size.length === 3) return pass(pass(x, 0, 1), 1, 2);
  return pass(x, 0, size.length);
}

function nearestTaps(input: number, output: number, scale: number, exact: boolean): Taps {
  const at = (i: number): number => Math.floor(single(single(i + (exact ? 0.5 : 0)) * single(scale)));
  return { indices: [Array.from({ length: output }, (_, i) => clamped(at(i), input))], weights: null };
}
function cubicTaps(input: number, output: number, scale: number, align: boolean): Taps {
  const positions = Array.from({ length: output }, (_, i) => (align ? i * scale : (i + 0.5) * scale - 0.5));
  const offsets = [-1, 0, 1, 2];
  return {
    indices: offsets.map((o) => positions.map((p) => clamped(Math.floor(p) + o, input))),
    weights: offsets.map((o) => positions.map((p) => cubic(p - Math.floor(p) - o, -0.75))),
  };
}

/** The matrix [input, output] of an antialiased axis: a triangle or a cubic kernel, as wide as a pixel of the result. */
function smoothMatrix(input: number, output: number, scale: number, isCubic: boolean, align: boolean): number[] {
  const wide = Math.max(scale, 1);
  const support = (isCubic ? 2 : 1) * wide;
  const matrix = new Array<number>(input * output).fill(0);
  for (let o = 0; o < output; o++) {
    const centre = align ? o * scale + 0.5 : (o + 0.5) * scale;
    const first = Math.max(Math.trunc(centre - support + 0.5), 0);
    const end = Math.min(Math.trunc(centre + support + 0.5), input);
    const weights = Array.from({ length: end - first }, (_, j) => {
      const d = (j + first - centre + 0.5) / wide;
      return isCubic ? cubic(d, -0.5) : Math.max(1 - Math.abs(d), 0);
    });
    const total = weights.reduce((a, b) => a + b, 0);
    weights.forEach((w, j) => (matrix[(first + j) * output + o] = total === 0 ? 0 : w / total));
  }
  return matrix;
}

function applied(x: Tensor, axis: number, { indices, weights }: Taps): Tensor {
  const shape = x.shape.map((_, i) => (i === axis ? indices[0]!.length : 1));
  const reads = indices.map((list, i) => {
    const part = selectOwnRows(x, axis, tensor(Int32Array.from(list), { device: x.device }));
    return weights === null ? part : mulByConstants(part, tensor(Float32Array.from(weights[i]!), { shape, device: x.device }));
  });
  return reads.reduce((a, b) => add(a, b));
}

const DIMENSIONS: { readonly [mode in Exclude<ResizeMode, "nearest-exact">]: readonly number[] } = {
  nearest: [1, 2, 3],
  nearestExact: [1, 2, 3],
  area: [1, 2, 3],
  linear: [1],
  bilinear: [2],
  bicubic: [2],
  trilinear: [3],
};

/** Lengths of the result, and the step in x from one element of the result to the next. */
function plan(x: Tensor, spatial: number, options: InterpolateOptions): { size: number[]; scales: (number | null)[] } {
  const { size = null, scaleFactor = null } = options;
  if ((size === null) === (scaleFactor === null)) throw new ValueError("interpolate", "size or scaleFactor", "given, and not both", size);
  const list = (v: number | readonly number[], argument: string): number[] => {
    const all = typeof v === "number" ? new Array<number>(spatial).fill(v) : [...v];
    if (all.length !== spatial || all.some((n) => !(n > 0)))
      throw new ValueError("interpolate", argument, `a number above 0, or ${spatial} of them`, v);
    return all;
  };
  if (size !== null) {
    const lengths = list(size, "size");
    if (lengths.some((n) => !Number.isInteger(n))) throw new ValueError("interpolate", "size", "integers", size);
    return { size: lengths, scales: lengths.map(() => null) };
  }
  const factors = list(scaleFactor!, "scaleFactor");
  const lengths = factors.map((f, i) => Math.floor(x.shape[i + 2]! * f));
  return { size: lengths, scales: factors.map((f) => (options.recomputeScaleFactor === true ? null : f)) };
}

/** For uint8: axis by axis from the last, each result rounded to uint8, as in PyTorch. */
function ofPixels(x: Tensor, options: InterpolateOptions): Tensor {
  const { size = null, scaleFactor = null } = options;
  let y = x;
  for (let axis = x.rank - 1; axis > 1; axis--) {
    const only = (values: number | readonly number[], others: (i: number) => number): number[] =>
      y.shape.slice(2).map((_, i) => (i === axis - 2 ? (typeof values === "number" ? values : values[i]!) : others(i)));
    const one = {
      size: size === null ? null : only(size, (i) => y.shape[i + 2]!),
      scaleFactor: scaleFactor === null ? null : only(scaleFactor, () => 1),
    };
    const wide = interpolate(toDType(y, "float32"), { ...options, ...one });
    y = toDType(clamp(floor(add(wide, 0.5)), 0, 255), "uint8");
  }
  return y;
}

/** Along an axis: the host makes a list of what each element of the result reads. */
const MAX_INDICES = 2 ** 24;

/**
 * x [N, C, W], [N, C, H, W] or [N, C, D, H, W] with other lengths of its spatial axes.
 *
 * Throws ShapeError if the mode does not support x's rank, ValueError for options that exclude each other. DirectML: RESAMPLE1 and
 * RESAMPLE_GRAD for linear modes and whole factors; GATHER, MULTIPLY, ADD; GEMM where antialiased; AVERAGE_POOLING for "area". Reference: torch.nn.functional.interpolate.
 * @autocast float32
 */
export function interpolate(x: Tensor, options: InterpolateOptions = {}): Tensor {
  const { antialias = false } = options;
  const mode = options.mode === "nearest-exact" ? "nearestExact" : (options.mode ?? "nearest");
  const spatial = x.rank - 2;
  if (!Object.hasOwn(DIMENSIONS, mode)) throw new ValueError("interpolate", "mode", `one of ${Object.keys(DIMENSIONS).join(", ")}`, mode);
  if (!DIMENSIONS[mode].includes(spatial))
    throw new ShapeError("interpolate", "x", `of ${DIMENSIONS[mode].map((d) => d + 2).join(", ")} axes for mode "${mode}"`, x.describe());
  if (x.shape.slice(1).includes(0))
    throw new ShapeError("interpolate", "x", "of at least one element along every axis but the batch", x.describe());
  const interpolates = mode === "linear" || mode === "bilinear" || mode === "trilinear" || mode === "bicubic";
  if (options.alignCorners != null && !interpolates)
    throw new ValueError("interpolate", "alignCorners", `left out for mode "${mode}"`, options.alignCorners);
  if (antialias && mode !== "bilinear" && mode !== "bicubic")
    throw new ValueError("interpolate", "antialias", 'false but for "bilinear" and "bicubic"', antialias);
  const { size, scales } = plan(x, spatial, options);
  if (size.some((n) => !(n >= 1 && n <= MAX_INDICES)))
    throw new ValueError("interpolate", "size", `1 to ${MAX_INDICES} along every axis`, size);
  if (mode === "area") return [adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d][spatial - 1]!(x, size);
  if (interpolates) computing("interpolate", x.dtype, "x");
  if (interpolates && x.dtype === "uint8") return ofPixels(x, options);
  const align = options.alignCorners === true;
  const scaleOf = (i: number, input: number): number => {
    if (align) return size[i]! > 1 ? (input - 1) / (size[i]! - 1) : 0;
    const factor = scales[i] ?? null;
    return factor === null ? input / size[i]! : 1 / factor;
  };
  if (interpolates && mode !== "bicubic" && !antialias) {
    const axes = size.map((output, i): AxisScale => {
      const input = x.shape[i + 2]!;
      const scale = scaleOf(i, input);
      if (input === output && scale === 1) return null;
      // Aligned corners of one element: all of them read the first.
      return [scale === 0 ? 1 : 1 / scale, align ? 0 : 0.5];
    });
    return toDType(resampled(toDType(x, "float32"), size, axes, true), x.dtype);
  }
  // With an integer factor no coordinate lies between two elements, so that rounding decides nothing.
  const factors = size.map((output, i) => output / x.shape[i + 2]!);
  const isWhole = factors.every((f, i) => Number.isInteger(f) && (scales[i] == null || scales[i] === f));
  if (!interpolates && isWhole && isFloat(x.dtype) && x.dtype !== "float64") {
    const axes = factors.map((f): AxisScale => (f === 1 ? null : [f, 0.5]));
    return toDType(resampled(toDType(x, "float32"), size, axes, false), x.dtype);
  }
  // Weights are float32; half precision is rounded once.
  let y = interpolates && isFloat(x.dtype) ? toDType(x, "float32") : x;
  size.forEach((output, i) => {
    const axis = i + 2;
    const input = x.shape[axis]!;
    const scale = scaleOf(i, input);
    if (!interpolates)
      y = input === output && scale === 1 ? y : applied(y, axis, nearestTaps(input, output, scale, mode === "nearestExact"));
    else if (antialias) {
      requireListed("interpolate", "size", input * output, size);
      const matrix = tensor(Float32Array.from(smoothMatrix(input, output, scale, mode === "bicubic", align)), {
        shape: [input, output],
        device: x.device,
      });
      y = transpose(matmul(transpose(y, axis, x.rank - 1), matrix), axis, x.rank - 1);
    } else if (input !== output || scale !== 1) {
      y = applied(y, axis, cubicTaps(input, output, scale, align));
    }
  });
  return toDType(y, x.dtype);
}
