/** Deformable convolution. */
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { expandList, sameShape, showShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { tensor } from "../creation/creation.ts";
import { readElements } from "./grid-sample.ts";
import { matmul } from "../matmul/matmul.ts";
import { reshape, select, unsqueeze } from "../shape/movement.ts";
import { requireFloat } from "../declare/support.ts";
import { floor } from "../elementwise/unary.ts";
import { extent, type PerAxis } from "../conv/spatial.ts";

/** Options of deformConv2d(). Reference: torchvision.ops.deform_conv2d. */
export interface DeformConvOptions {
  /** Added to the result, [Co]. */
  readonly bias?: Tensor | null | undefined;
  /** Stride: elements between neighbouring windows. Default: 1. */
  readonly stride?: PerAxis | undefined;
  /** Padding: zeros added on both sides. Default: 0. */
  readonly padding?: PerAxis | undefined;
  /** Dilation: distance between the kernel's taps. Default: 1. */
  readonly dilation?: PerAxis | undefined;
  /** The factor of each tap, [N, G * kh * kw, Ho, Wo]. Default: 1. */
  readonly mask?: Tensor | null | undefined;
}

/** Planes [N, C, H * W] sampled at fractional coordinates y and x, [N, points] each: bilinear, 0 outside. */
function sampled(planes: Tensor, lengths: readonly [number, number], y: Tensor, x: Tensor): Tensor {
  const [y0, x0] = [floor(y), floor(x)];
  const [fy, fx] = [sub(y, y0), sub(x, x0)];
  const corner = (dy: number, dx: number): Tensor => {
    const weight = mul(dy === 1 ? fy : sub(1, fy), dx === 1 ? fx : sub(1, fx));
    return mul(readElements(planes, lengths, [add(y0, dy), add(x0, dx)], true), unsqueeze(weight, 1));
  };
  return add(add(corner(0, 0), corner(0, 1)), add(corner(1, 0), corner(1, 1)));
}

/**
 * A convolution that samples each tap bilinearly, at a position moved by an offset.
 *
 * x: [N, Ci, H, W], floating. offset: [N, 2 * G * kh * kw, Ho, Wo], for each of G groups of channels and each tap first the offset in rows,
 * then the offset in columns. weight: [Co, Ci / groups, kh, kw]. Result: [N, Co, Ho, Wo]. Gradients flow to all. Elements outside x are 0.
 * DirectML: GATHER_ELEMENTS, arithmetic, GEMM. Reference: torchvision.ops.deform_conv2d.
 */
export function deformConv2d(x: Tensor, offset: Tensor, weight: Tensor, options: DeformConvOptions = {}): Tensor {
  const name = "deformConv2d";
  requireFloat(name, x);
  const { bias = null, mask = null } = options;
  const others = [offset, weight, ...(bias === null ? [] : [bias]), ...(mask === null ? [] : [mask])];
  requireSameDevice(name, [x, ...others]);
  for (const t of others) if (t.dtype !== x.dtype) throw new DTypeError(name, "tensors", `of x's dtype ${x.dtype}`, t.describe());
  if (x.rank !== 4) throw new ShapeError(name, "x", "[N, Ci, H, W]", x.describe());
  if (weight.rank !== 4) throw new ShapeError(name, "weight", "[Co, Ci / groups, kh, kw]", weight.describe());
  const [n, channels, height, width] = x.shape as [number, number, number, number];
  const [co, per, kh, kw] = weight.shape as [number, number, number, number];
  const groups = per === 0 ? 0 : channels / per;
  if (!Number.isInteger(groups) || groups < 1 || co % groups !== 0)
    throw new ShapeError(name, "weight", `[Co, ${channels} / groups, kh, kw] of groups that divide Co`, weight.describe());
  const stride = expandList(name, "stride", options.stride ?? 1, 2, 1);
  const padding = expandList(name, "padding", options.padding ?? 0, 2);
  const dilation = expandList(name, "dilation", options.dilation ?? 1, 2, 1);
  const [ho, wo] = [height, width].map(
    (d, i) => Math.floor((d + 2 * padding[i]! - extent([kh, kw][i]!, dilation[i]!)) / stride[i]!) + 1,
  ) as [number, number];
  if (ho < 1 || wo < 1) throw new ShapeError(name, "x", `at least as large as the kernel ${showShape([kh, kw])}`, x.describe());
  const taps = kh * kw;
  const parts = offset.rank === 4 ? offset.shape[1]! / (2 * taps) : 0;
  if (!Number.isInteger(parts) || parts < 1 || channels % parts !== 0 || !sameShape(offset.shape, [n, 2 * parts * taps, ho, wo]))
    throw new ShapeError(name, "offset", `${showShape([n, 2 * taps, ho, wo])}, or for groups of channels as often`, offset.describe());
  if (mask !== null && !sameShape(mask.shape, [n, parts * taps, ho, wo]))
    throw new ShapeError(name, "mask", showShape([n, parts * taps, ho, wo]), mask.describe());
  if (bias !== null && !sameShape(bias.shape, [co])) throw new ShapeError(name, "bias", showShape([co]), bias.describe());
  if (x.size === 0) throw new ValueError(name, "x", "of at least one element", x.describe());

  const points = taps * ho * wo;
  /** The coordinate of each tap of each window without an offset, [1, taps * Ho * Wo], along one axis. */
  const still = (axis: 0 | 1): Tensor =>
    tensor(
      Float32Array.from({ length: points }, (_, i) => {
        const [tap, position] = [Math.floor(i / (ho * wo)), i % (ho * wo)];
        const [k, p] = axis === 0 ? [Math.floor(tap / kw), Math.floor(position / wo)] : [tap % kw, position % wo];
        return p * stride[axis]! - padding[axis]! + k * dilation[axis]!;
      }),
      { shape: [1, points], dtype: x.dtype, device: x.device },
    );
  const moves = reshape(offset, [n * parts, taps, 2, ho * wo]);
  const samplePositions = (axis: 0 | 1): Tensor => add(reshape(select(moves, 2, axis), [n * parts, points]), still(axis));
  const planes = reshape(x, [n * parts, channels / parts, height * width]);
  let columns = sampled(planes, [height, width], samplePositions(0), samplePositions(1));
  if (mask !== null) columns = mul(columns, reshape(mask, [n * parts, 1, points]));
  // [N, groups, Ci / groups * taps, Ho * Wo]
  const rows = reshape(columns, [n, groups, per * taps, ho * wo]);
  const y = reshape(matmul(reshape(weight, [1, groups, co / groups, per * taps]), rows), [n, co, ho, wo]);
  return bias === null ? y : add(y, reshape(bias, [co, 1, 1]));
}
