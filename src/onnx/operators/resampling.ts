/** Other sizes, and reads at positions between elements. */
import * as ops from "../../ops/index.ts";
import { isFloat } from "../../core/dtype.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { family } from "./operator.ts";

/** How one axis is read: for each index of the result some elements and their weights, or none where it lies outside. */
interface Taps {
  readonly indices: readonly (readonly number[])[];
  readonly weights: readonly (readonly number[])[];
  readonly isOutside: readonly boolean[];
}

const TRANSFORMS = [
  "half_pixel",
  "half_pixel_symmetric",
  "pytorch_half_pixel",
  "align_corners",
  "asymmetric",
  "tf_half_pixel_for_nn",
  "tf_crop_and_resize",
] as const;
type Transform = (typeof TRANSFORMS)[number];
type Interpolation = "nearest" | "linear" | "cubic";

interface Axis {
  readonly input: number;
  readonly output: number;
  readonly scale: number;
  readonly transform: Transform;
  /** Start and end of the part that is read, for tf_crop_and_resize. */
  readonly roi: readonly [number, number];
  /** What the exact, unrounded length would be. */
  readonly exact: number;
}

/** The position in x of an index of the result. */
function source(i: number, { input, output, scale, transform, roi, exact }: Axis): number {
  switch (transform) {
    case "align_corners":
      return exact <= 1 ? 0 : (i * (input - 1)) / (exact - 1);
    case "asymmetric":
      return i / scale;
    case "tf_crop_and_resize":
      return output > 1
        ? roi[0] * (input - 1) + (i * (roi[1] - roi[0]) * (input - 1)) / (output - 1)
        : 0.5 * (roi[0] + roi[1]) * (input - 1);
    case "pytorch_half_pixel":
      return exact <= 1 ? 0 : (i + 0.5) / scale - 0.5;
    case "half_pixel_symmetric":
      // The part that rounding the length cuts off is cut evenly from both ends.
      return (input / 2) * (1 - output / exact) + (i + 0.5) / scale - 0.5;
    case "tf_half_pixel_for_nn":
      return (i + 0.5) / scale;
    default:
      return (i + 0.5) / scale - 0.5;
  }
}

const ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] as const;

function rounded(v: number, mode: (typeof ROUNDINGS)[number]): number {
  if (mode === "floor") return Math.floor(v);
  if (mode === "ceil") return Math.ceil(v);
  return mode === "round_prefer_ceil" ? Math.floor(v + 0.5) : Math.ceil(v - 0.5);
}

/** Keys' cubic kernel. */
function cubic(x: number, a: number): number {
  const d = Math.abs(x);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

interface Reading {
  readonly mode: Interpolation;
  readonly rounding: (typeof ROUNDINGS)[number];
  readonly a: number;
  readonly excludesOutside: boolean;
  readonly isAntialiased: boolean;
}

function tapsOf(c: Call, axis: Axis, r: Reading): Taps {
  c.size(axis.output, "sizes", axis.input > 0 ? 1 : 0);
  if (!(axis.scale > 0 && Number.isFinite(axis.scale)) && axis.output > 0) throw c.invalid("scales", "finite and above 0", axis.scale);
  c.hosted(axis.output, "sizes");
  const clamp = (i: number): number => Math.min(Math.max(i, 0), axis.input - 1);
  const positions = Array.from({ length: axis.output }, (_, i) => source(i, axis));
  const isOutside = positions.map((p) => axis.transform === "tf_crop_and_resize" && (p < 0 || p > axis.input - 1));
  if (r.mode === "nearest") return { indices: [positions.map((p) => clamp(rounded(p, r.rounding)))], weights: [], isOutside };
  // Shrunken with antialiasing, the kernel is as wide as what an element of the result covers.
  const wide = r.isAntialiased ? Math.max(1, 1 / axis.scale) : 1;
  const reach = (r.mode === "cubic" ? 2 : 1) * wide;
  const count = Math.ceil(2 * reach) + 1;
  c.hosted(axis.output * count, "sizes");
  const kernel = (d: number): number => (r.mode === "cubic" ? cubic(d / wide, r.a) : Math.max(0, 1 - Math.abs(d / wide)));
  const taps = Array.from({ length: count }, (_, k) => positions.map((p) => Math.floor(p - reach) + 1 + k));
  const raw = taps.map((list) => list.map((at, i) => (r.excludesOutside && (at < 0 || at >= axis.input) ? 0 : kernel(positions[i]! - at))));
  const totals = positions.map((_, i) => raw.reduce((sum, w) => sum + w[i]!, 0));
  const used = raw.map((w) => w.some((v) => v !== 0));
  return {
    indices: taps.filter((_, k) => used[k]).map((list) => list.map(clamp)),
    weights: raw.filter((_, k) => used[k]).map((w) => w.map((v, i) => v / totals[i]!)),
    isOutside,
  };
}

/** Beyond so many taps one GEMM is cheaper. */
const FEW = 8;

function applied(c: Call, x: Tensor, axis: number, { indices, weights }: Taps): Tensor {
  const length = indices[0]!.length;
  const read = (list: readonly number[]): Tensor => ops.indexSelect(x, axis, c.make(list, "int32"));
  if (weights.length === 0) return read(indices[0]!);
  if (indices.length > FEW) {
    c.hosted(x.shape[axis]! * length, "sizes");
    const matrix = new Array<number>(x.shape[axis]! * length).fill(0);
    indices.forEach((list, k) => list.forEach((at, i) => (matrix[at * length + i]! += weights[k]![i]!)));
    const laid = c.make(matrix, x.dtype, [x.shape[axis]!, length]);
    return ops.transpose(ops.matmul(ops.transpose(x, axis, -1), laid), axis, -1);
  }
  const shape = x.shape.map((_, i) => (i === axis ? length : 1));
  return indices.map((list, k) => ops.mul(read(list), c.make(weights[k]!, x.dtype, shape))).reduce((a, b) => ops.add(a, b));
}

/** Lengths and scales of the axes that change. */
function sizes(c: Call, x: Tensor, axes: readonly number[]): { output: number[]; scales: number[]; exact: number[] } {
  const scalesAt = c.opset < 11 ? 1 : 2;
  const scales = c.has(scalesAt) ? c.numbers(scalesAt) : [];
  if (scales.length > 0 && scales.length !== axes.length) throw c.invalid("scales", `${axes.length} numbers`, scales);
  if (scales.length > 0) {
    const exact = axes.map((a, i) => x.shape[a]! * scales[i]!);
    return { output: exact.map((e) => Math.floor(e + 1e-9)), scales, exact };
  }
  const asked = c.numbers(3);
  if (asked.length !== axes.length) throw c.invalid("sizes", `${axes.length} numbers`, asked);
  const policy = c.oneOf("keep_aspect_ratio_policy", "stretch", ["stretch", "not_larger", "not_smaller"]);
  const ratios = asked.map((d, i) => d / x.shape[axes[i]!]!);
  if (policy === "stretch") return { output: asked, scales: ratios, exact: asked };
  const ratio = policy === "not_larger" ? Math.min(...ratios) : Math.max(...ratios);
  const output = axes.map((a) => Math.floor(ratio * x.shape[a]! + 0.5));
  return { output, scales: axes.map(() => ratio), exact: axes.map((a) => ratio * x.shape[a]!) };
}

function resize(c: Call): Tensor {
  const x = c.x;
  const axes = c.axes(c.ints("axes") ?? x.shape.map((_, i) => i), x.rank);
  const { output, scales, exact } = sizes(c, x, axes);
  // Version 10 knew one transformation.
  const transform = c.opset < 11 ? "asymmetric" : c.oneOf("coordinate_transformation_mode", "half_pixel", TRANSFORMS);
  const mode = c.oneOf<Interpolation>("mode", "nearest", ["nearest", "linear", "cubic"]);
  const reading: Reading = {
    mode,
    rounding: c.opset < 11 ? "floor" : c.oneOf("nearest_mode", "round_prefer_floor", ROUNDINGS),
    a: c.float("cubic_coeff_a", -0.75),
    excludesOutside: c.flag("exclude_outside"),
    isAntialiased: c.flag("antialias"),
  };
  const roi = transform === "tf_crop_and_resize" ? c.numbers(1) : [];
  if (roi.length > 0 && roi.length !== 2 * axes.length) throw c.invalid("roi", `${2 * axes.length} numbers`, roi);
  const beyond = c.float("extrapolation_value", 0);
  let y = mode !== "nearest" && x.dtype !== "float32" && isFloat(x.dtype) ? ops.to(x, "float32") : x;
  axes.forEach((axis, i) => {
    const [input, length] = [x.shape[axis]!, output[i]!];
    const part = roi.length > 0 ? ([roi[i]!, roi[axes.length + i]!] as const) : ([0, 1] as const);
    const isWhole = part[0] === 0 && part[1] === 1;
    if (input === length && scales[i] === 1 && isWhole) return;
    const taps = tapsOf(c, { input, output: length, scale: scales[i]!, transform, roi: part, exact: exact[i]! }, reading);
    y = applied(c, y, axis, taps);
    if (taps.isOutside.includes(true)) {
      const shape = y.shape.map((d, k) => (k === axis ? d : 1));
      y = ops.where(c.make(taps.isOutside.map(Number), "bool", shape), ops.fullLike(y, beyond), y);
    }
  });
  return ops.to(y, x.dtype);
}

/** Resize's predecessor: asymmetric, nearest by flooring. */
function upsample(c: Call): Tensor {
  const x = c.x;
  const scales = c.opset < 9 ? [...(c.floats("scales") ?? [])] : c.numbers(1);
  const mode = c.oneOf<Interpolation>("mode", "nearest", ["nearest", "linear"]);
  const reading: Reading = { mode, rounding: "floor", a: -0.75, excludesOutside: false, isAntialiased: false };
  if (scales.length !== x.rank) throw c.invalid("scales", `${x.rank} numbers`, scales);
  let y = x;
  scales.forEach((scale, axis) => {
    if (scale === 1) return;
    const input = x.shape[axis]!;
    const exact = input * scale;
    const taps = tapsOf(c, { input, output: Math.floor(exact + 1e-9), scale, transform: "asymmetric", roi: [0, 1], exact }, reading);
    y = applied(c, y, axis, taps);
  });
  return y;
}

const GRID_MODES = { bilinear: "bilinear", linear: "bilinear", bicubic: "bicubic", cubic: "bicubic", nearest: "nearest" } as const;

function gridSample(c: Call): Tensor {
  const mode = c.oneOf("mode", c.opset < 20 ? "bilinear" : "linear", ["bilinear", "linear", "bicubic", "cubic", "nearest"]);
  return ops.gridSample(c.tensor(0), c.tensor(1), {
    mode: GRID_MODES[mode],
    paddingMode: c.oneOf<"zeros" | "border" | "reflection">("padding_mode", "zeros", ["zeros", "border", "reflection"]),
    alignCorners: c.flag("align_corners"),
  });
}

export const resampling = family({
  AffineGrid: (c) => ops.affineGrid(c.x, c.numbers(1), { alignCorners: c.flag("align_corners") }),
  GridSample: gridSample,
  Resize: resize,
  Upsample: upsample,
});
