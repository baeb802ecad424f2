/** RoI pooling and non-maximum suppression. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { largestOf } from "../../core/elements.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { expandList, sameShape, type Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { eq, gt, logicalAnd, logicalOr, lt } from "../elementwise/compare.ts";
import { full, tensor, zeros } from "../creation/creation.ts";
import { data, dataSync, toDType } from "../data/conversion.ts";
import { floorDivide } from "../elementwise/division.ts";
import { gather, indexSelect } from "../index/gather.ts";
import { cat } from "../shape/join.ts";
import { diagonal, expand, narrow, permute, reshape, select, sliceView, unsqueeze, wholeSlice } from "../shape/movement.ts";
import { refuseTraced } from "../index/nonzero.ts";
import { arange } from "../creation/ranges.ts";
import { roiAlign, type RoiAlignOptions } from "./roi-align.ts";
import { scatterAdd } from "../index/scatter.ts";
import { requireFloat } from "../declare/support.ts";
import { abs, floor, sign } from "../elementwise/unary.ts";
import { clamp, clampMin, maximum, where } from "../elementwise/where.ts";

/** Values with the indices that they come from. */
interface Found {
  readonly values: Tensor;
  readonly indices: Tensor;
}

/** The greater of each two; of equal values the one with the smaller index. */
function greater(a: Found, b: Found): Found {
  const isLater = logicalOr(gt(b.values, a.values), logicalAnd(eq(b.values, a.values), lt(b.indices, a.indices)));
  return { values: where(isLater, b.values, a.values), indices: where(isLater, b.indices, a.indices) };
}

/** x shifted towards its start by `by` elements along the axis; the last element is repeated at the end. */
function ahead(x: Tensor, axis: number, by: number): Tensor {
  const length = x.shape[axis]!;
  const whole = wholeSlice(x);
  const moved = sliceView(x, {
    ...whole,
    starts: whole.starts.map((s, i) => (i === axis ? by : s)),
    sizes: whole.sizes.map((s, i) => (i === axis ? length - by : s)),
  });
  const last = narrow(x, axis, length - 1, 1);
  const shape = x.shape.map((d, i) => (i === axis ? by : d));
  return cat([moved, expand(last, shape)], axis);
}

/**
 * The greatest inside ranges along an axis, by maxima over 1, 2, 4, … elements: a range is the union of two of them. pick reads indices
 * `at` of a table; starts and lengths have what `pick` gives as shape, or broadcast to it.
 */
function greatestInside(
  all: Found,
  axis: number,
  starts: Tensor,
  lengths: Tensor,
  pick: (table: Tensor, at: Tensor) => Tensor,
  mask: (m: Tensor) => Tensor,
): Found {
  const size = all.values.shape[axis]!;
  const read = (t: Found, at: Tensor): Found => ({ values: pick(t.values, at), indices: pick(t.indices, at) });
  let table = all;
  let found: Found | null = null;
  for (let width = 1; width <= size; width *= 2) {
    const limit = clamp(sub(add(starts, lengths), width), 0, size - 1);
    const here = greater(read(table, clamp(starts, 0, size - 1)), read(table, limit));
    // Ranges of at least this width: the last width for which this is true stays.
    const isWide = mask(gt(lengths, width - 1));
    found =
      found === null ? here : { values: where(isWide, here.values, found.values), indices: where(isWide, here.indices, found.indices) };
    if (2 * width <= size) table = greater(table, { values: ahead(table.values, axis, width), indices: ahead(table.indices, axis, width) });
  }
  return found!;
}

interface Pooling {
  readonly size: readonly [number, number];
  readonly image: Shape;
}

/** The first and the number of elements of each bin of a side, [K, bins] int32. first and last: [K], both inside. */
function binsOf(first: Tensor, last: Tensor, bins: number, size: number): { starts: Tensor; lengths: Tensor } {
  const [f, l] = [unsqueeze(toDType(first, "int32"), 1), unsqueeze(toDType(last, "int32"), 1)];
  const length = clampMin(add(sub(l, f), 1), 1);
  const at = arange(bins, { dtype: "int32", device: first.device });
  const begin = clamp(add(floorDivide(mul(length, at), bins), f), 0, size);
  const end = clamp(add(floorDivide(add(mul(length, add(at, 1)), bins - 1), bins), f), 0, size);
  return { starts: begin, lengths: sub(end, begin) };
}

/** Where in its image each result was found, [K, C, h, w] int32, and whether its bin has elements, [K, 1, h, w]. */
function maximaOf(x: Tensor, rois: Tensor, [h, w]: readonly [number, number]): { indices: Tensor; isThere: Tensor } {
  const [n, c, height, width] = x.shape as [number, number, number, number];
  const k = rois.shape[0]!;
  const column = (i: number): Tensor => select(rois, 1, i);
  const rows = binsOf(column(2), column(4), h, height);
  const columns = binsOf(column(1), column(3), w, width);
  const images = reshape(clamp(toDType(column(0), "int32"), 0, n - 1), [k, 1]);
  const own = arange(height * width, { dtype: "int32", device: x.device });
  const indices = expand(reshape(own, [1, 1, height, width]), [n, c, height, width]);
  const overRows = greatestInside(
    { values: x, indices },
    2,
    rows.starts,
    rows.lengths,
    (table, at) => {
      const imageRows = reshape(permute(table, 0, 2, 1, 3), [n * height, c, width]);
      return reshape(indexSelect(imageRows, 0, reshape(add(mul(images, height), at), [k * h])), [k, h, c, width]);
    },
    (m) => reshape(m, [k, h, 1, 1]),
  );
  const found = greatestInside(
    overRows,
    3,
    reshape(columns.starts, [k, 1, 1, w]),
    reshape(columns.lengths, [k, 1, 1, w]),
    (table, at) => gather(table, 3, expand(at, [k, h, c, w])),
    (m) => m,
  );
  const isThere = logicalAnd(reshape(gt(rows.lengths, 0), [k, 1, h, 1]), reshape(gt(columns.lengths, 0), [k, 1, 1, w]));
  return { indices: permute(found.indices, 0, 2, 1, 3), isThere };
}

/** Inputs x [N, C, H, W], rois [K, 5] with whole corners. */
const poolOp: Definition<Pooling> = define<Pooling>({
  name: "roiPool",
  infer: ([x, rois], { size }) => [{ shape: [rois!.shape[0]!, x!.shape[1]!, ...size], dtype: x!.dtype }],
  lower: (g, [x, rois], { size: [h, w] }, [out]) => [
    g.roiPooling(g.packed(x!), g.reshape(rois!, [1, 1, ...rois!.sizes]), {
      output: { sizes: out!.shape },
      spatialScale: 1,
      pooledSize: [w, h],
    }),
  ],
  grad: (dy, { inputs: [x, rois], attrs: { size, image } }) => {
    const [n, c, height, width] = image as [number, number, number, number];
    const k = dy.shape[0]!;
    const { index, isThere } = noGrad(() => {
      const found = maximaOf(x!, rois!, size);
      const images = reshape(clamp(toDType(select(rois!, 1, 0), "int32"), 0, n - 1), [k, 1, 1, 1]);
      const channels = reshape(arange(c, { dtype: "int32", device: dy.device }), [1, c, 1, 1]);
      const plane = mul(add(mul(images, c), channels), height * width);
      return { index: reshape(add(plane, found.indices), [dy.size]), isThere: found.isThere };
    });
    const gradient = reshape(where(isThere, dy, 0), [dy.size]);
    const flat = zeros([n * c * height * width], { dtype: dy.dtype, device: dy.device });
    return [reshape(scatterAdd(flat, 0, index, gradient), image), null];
  },
  saves: { outputs: false },
});

/** Limit of corners' coordinates: their products stay within int32. */
const FARTHEST = 2 ** 24;

/** Rounded as C's round does: halves away from 0. */
const rounded = (x: Tensor): Tensor => mul(sign(x), floor(add(abs(x), 0.5)));

/** Options of roiPool(). Reference: torchvision.ops.roi_pool. */
export interface RoiPoolOptions {
  /** Height and width of each result. */
  readonly outputSize: number | readonly number[];
  /** From the boxes' coordinates to the image's. Default: 1. */
  readonly spatialScale?: number | undefined;
}

/** Boxes [K, 5] of image, x1, y1, x2, y2. */
function listed(operation: string, x: Tensor, boxes: Tensor | readonly Tensor[]): Tensor {
  if (boxes instanceof Tensor) {
    if (boxes.rank !== 2 || boxes.shape[1] !== 5)
      throw new ShapeError(operation, "boxes", "[K, 5]: image, x1, y1, x2, y2", boxes.describe());
    return boxes;
  }
  if (boxes.length !== x.shape[0]) throw new ShapeError(operation, "boxes", `${x.shape[0]} lists, one for each image`, `${boxes.length}`);
  return cat(
    boxes.map((b, i) => {
      if (b.rank !== 2 || b.shape[1] !== 4) throw new ShapeError(operation, "boxes", "[L, 4]: x1, y1, x2, y2", b.describe());
      return cat([full([b.shape[0]!, 1], i, { dtype: b.dtype, device: b.device }), b], 1);
    }),
    0,
  );
}

/**
 * Pools each box of an image to a small image: each element is the maximum of the elements in its bin; 0 for a bin outside the image.
 *
 * x: [N, C, H, W], floating. boxes: [K, 5] (image, x1, y1, x2, y2), or a list of [L, 4] for each image; in x's dtype, corners inside, rounded.
 * Result: [K, C, ...outputSize]. Gradients flow to x, of equal elements to the first. Bins are exact fractions of the box.
 * DirectML: ROI_POOLING; backward GATHER, SCATTER. Reference: torchvision.ops.roi_pool.
 */
export function roiPool(x: Tensor, boxes: Tensor | readonly Tensor[], options: RoiPoolOptions): Tensor {
  requireFloat("roiPool", x);
  if (x.rank !== 4 || x.size === 0) throw new ShapeError("roiPool", "x", "[N, C, H, W] of at least one element", x.describe());
  const { spatialScale = 1 } = options;
  const size = expandList("roiPool", "outputSize", options.outputSize, 2, 1) as [number, number];
  if (!(spatialScale > 0)) throw new ValueError("roiPool", "spatialScale", "above 0", spatialScale);
  const rois = listed("roiPool", x, boxes);
  requireSameDevice("roiPool", [x, rois]);
  if (rois.dtype !== x.dtype) throw new DTypeError("roiPool", "boxes", `of x's dtype ${x.dtype}`, rois.describe());
  if (rois.shape[0] === 0) return zeros([0, x.shape[1]!, ...size], { dtype: x.dtype, device: x.device });
  const far = Math.min(FARTHEST, largestOf(rois.dtype));
  const whole = noGrad(() => cat([narrow(rois, 1, 0, 1), clamp(rounded(mul(narrow(rois, 1, 1, 4), spatialScale)), -far, far)], 1));
  return call(poolOp, [x, whole], { size, image: [...x.shape] });
}

/**
 * roiAlign() in which each bin reads channels of its own: result [k, c, i, j] is the mean over bin (i, j) of channel (c * h + i) * w + j.
 *
 * x: [N, C * h * w, H, W], floating. boxes: as roiAlign's. Result: [K, C, h, w] with [h, w] = outputSize. A box is at least a tenth of an
 * element wide and high. Gradients flow to x.
 * DirectML: ROI_ALIGN1, ROI_ALIGN_GRAD. Reference: torchvision.ops.ps_roi_align.
 */
export function psRoiAlign(x: Tensor, boxes: Tensor | readonly Tensor[], options: Omit<RoiAlignOptions, "aligned">): Tensor {
  const name = "psRoiAlign";
  requireFloat(name, x);
  const { spatialScale = 1 } = options;
  const [h, w] = expandList(name, "outputSize", options.outputSize, 2, 1) as [number, number];
  if (x.rank !== 4 || x.shape[1]! % (h * w) !== 0 || x.shape[1] === 0)
    throw new ShapeError(name, "x", `[N, C, H, W] with a multiple of ${h * w} channels`, x.describe());
  if (!(spatialScale > 0)) throw new ValueError(name, "spatialScale", "above 0", spatialScale);
  const rois = listed(name, x, boxes);
  const near = narrow(rois, 1, 1, 2);
  const wide = cat([narrow(rois, 1, 0, 3), maximum(narrow(rois, 1, 3, 2), add(near, 0.1 / spatialScale))], 1);
  const each = roiAlign(x, wide, { ...options, aligned: true });
  const parts = reshape(each, [each.shape[0]!, x.shape[1]! / (h * w), h, w, h, w]);
  // [K, C, w, w, h], then [K, C, h, w].
  return diagonal(diagonal(parts, { axis0: 2, axis1: 4 }), { axis0: 2, axis1: 3 });
}

/** Best first, each that overlaps no better one that was kept by more than the threshold. */
function kept(boxes: ArrayLike<number>, scores: ArrayLike<number>, threshold: number): Int32Array {
  const order = Int32Array.from({ length: scores.length }, (_, i) => i).sort((a, b) => scores[b]! - scores[a]! || a - b);
  const isOut = new Uint8Array(scores.length);
  const area = (i: number): number => (boxes[4 * i + 2]! - boxes[4 * i]!) * (boxes[4 * i + 3]! - boxes[4 * i + 1]!);
  const result: number[] = [];
  order.forEach((i, at) => {
    if (isOut[i] === 1) return;
    result.push(i);
    for (const j of order.subarray(at + 1)) {
      if (isOut[j] === 1) continue;
      const width = Math.min(boxes[4 * i + 2]!, boxes[4 * j + 2]!) - Math.max(boxes[4 * i]!, boxes[4 * j]!);
      const height = Math.min(boxes[4 * i + 3]!, boxes[4 * j + 3]!) - Math.max(boxes[4 * i + 1]!, boxes[4 * j + 1]!);
      const shared = Math.max(0, width) * Math.max(0, height);
      if (shared / (area(i) + area(j) - shared) > threshold) isOut[j] = 1;
    }
  });
  return Int32Array.from(result);
}

function requireBoxes(operation: string, boxes: Tensor, scores: Tensor, threshold: number): void {
  requireFloat(operation, boxes, "boxes");
  requireFloat(operation, scores, "scores");
  if (boxes.rank !== 2 || boxes.shape[1] !== 4) throw new ShapeError(operation, "boxes", "[N, 4]: x1, y1, x2, y2", boxes.describe());
  if (!sameShape(scores.shape, [boxes.shape[0]!])) throw new ShapeError(operation, "scores", `[${boxes.shape[0]}]`, scores.describe());
  if (Number.isNaN(threshold)) throw new ValueError(operation, "iouThreshold", "a number", threshold);
  refuseTraced(operation, null, "Choose boxes outside.");
}

/**
 * The indices of the boxes to keep, best first. A box is removed if its overlap with a better box that is kept (area of the intersection over
 * area of the union) is greater than iouThreshold. boxes: [N, 4] (x1, y1, x2, y2), scores: [N], floating. Result: int32.
 * The length depends on the data, so the host reads both and chooses. Blocks until they are read; nms() does not.
 * Reference: torchvision.ops.nms.
 */
export function nmsSync(boxes: Tensor, scores: Tensor, iouThreshold: number): Tensor {
  requireBoxes("nmsSync", boxes, scores, iouThreshold);
  const [b, s] = [dataSync(toDType(boxes, "float32")), dataSync(toDType(scores, "float32"))];
  return tensor(kept(b as Float32Array, s as Float32Array, iouThreshold), { device: boxes.device });
}

/** nmsSync() that waits without blocking. Reference: torchvision.ops.nms. */
export async function nms(boxes: Tensor, scores: Tensor, iouThreshold: number): Promise<Tensor> {
  requireBoxes("nms", boxes, scores, iouThreshold);
  const [b, s] = await Promise.all([data(toDType(boxes, "float32")), data(toDType(scores, "float32"))]);
  return tensor(kept(b as Float32Array, s as Float32Array, iouThreshold), { device: boxes.device });
}
