/** RoI align. */
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { define, type Definition } from "../../core/definition.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { Tensor } from "../../core/tensor.ts";
import { expandList, type Shape } from "../../core/shape.ts";
import { add } from "../elementwise/binary.ts";
import { full } from "../creation/creation.ts";
import { toDType } from "../data/conversion.ts";
import { cat } from "../shape/join.ts";
import { narrow, select } from "../shape/movement.ts";
import { requireFloat } from "../declare/support.ts";
import { maximum } from "../elementwise/where.ts";

interface Aligning {
  readonly size: readonly [number, number];
  readonly scale: number;
  readonly samples: number;
  readonly offset: number;
  readonly image: Shape;
}

/** The most samples for one element of the result, where a region's size decides. */
const MAX_SAMPLES = 1024;

const attributes = ({ scale, samples, offset }: Aligning) =>
  ({
    reductionFunction: "AVERAGE",
    interpolationMode: "LINEAR",
    spatialScaleX: scale,
    spatialScaleY: scale,
    inputPixelOffset: offset,
    outputPixelOffset: -0.5,
    minimumSamplesPerOutput: samples === 0 ? 1 : samples,
    maximumSamplesPerOutput: samples === 0 ? MAX_SAMPLES : samples,
    alignRegionsToCorners: false,
  }) as const;

/** Inputs x [N, C, H, W], boxes [K, 4], their images [K]. */
const alignOp: Definition<Aligning> = define<Aligning>({
  name: "roiAlign",
  infer: ([x, boxes], { size }) => [{ shape: [boxes!.shape[0]!, x!.shape[1]!, ...size], dtype: x!.dtype }],
  lower: (g, [x, boxes, images], a, [out]) => [
    g.roiAlign1(x!, g.packed(boxes!), g.packed(images!), { ...attributes(a), output: { sizes: out!.shape }, outOfBoundsInputValue: 0 }),
  ],
  grad: (dy, { inputs: [, boxes, images], needs, attrs }) => [
    needs[0] ? call(alignGradOp, [dy, boxes!, images!], attrs) : null,
    null,
    null,
  ],
  saves: { inputs: [1, 2], outputs: false },
});

/** The transpose of alignOp: linear in dy, as that is in x. */
const alignGradOp: Definition<Aligning> = define<Aligning>({
  name: "roiAlignGradient",
  infer: ([dy], { image }) => [{ shape: image, dtype: dy!.dtype }],
  lower: (g, [dy, boxes, images], a) => [
    g.roiAlignGrad(g.packed(dy!), g.packed(boxes!), g.packed(images!), { ...attributes(a), outputGradient: { sizes: a.image } })
      .outputGradient!,
  ],
  grad: (ddx, { inputs: [, boxes, images], needs, attrs }) => [needs[0] ? call(alignOp, [ddx, boxes!, images!], attrs) : null, null, null],
  saves: { inputs: [1, 2], outputs: false },
});

/** Options of roiAlign(). Reference: torchvision.ops.roi_align. */
export interface RoiAlignOptions {
  /** Height and width of each result. */
  readonly outputSize: number | readonly number[];
  /** From the boxes' coordinates to the image's. Default: 1. */
  readonly spatialScale?: number | undefined;
  /** Samples along each side of an element of the result; 0: as many as the box has elements for it. Default: 0. */
  readonly samplingRatio?: number | undefined;
  /** Coordinates name the elements' corners, not their middles: half an element less. Default: false. */
  readonly aligned?: boolean | undefined;
}

/** Boxes whose far corners are at least so far from the near ones. */
function atLeast(corners: Tensor, extent: number): Tensor {
  const near = narrow(corners, 1, 0, 2);
  return cat([near, maximum(narrow(corners, 1, 2, 2), add(near, extent))], 1);
}

/** Boxes [K, 4] and the images [K] that they are of. */
function listed(x: Tensor, boxes: Tensor | readonly Tensor[]): { readonly corners: Tensor; readonly images: Tensor } {
  if (boxes instanceof Tensor) {
    if (boxes.rank !== 2 || boxes.shape[1] !== 5)
      throw new ShapeError("roiAlign", "boxes", "[K, 5]: image, x1, y1, x2, y2", boxes.describe());
    return { corners: narrow(boxes, 1, 1, 4), images: toDType(select(boxes, 1, 0), "uint32") };
  }
  if (boxes.length !== x.shape[0]) throw new ShapeError("roiAlign", "boxes", `${x.shape[0]} lists, one for each image`, `${boxes.length}`);
  for (const b of boxes)
    if (b.rank !== 2 || b.shape[1] !== 4) throw new ShapeError("roiAlign", "boxes", "[L, 4]: x1, y1, x2, y2", b.describe());
  return {
    corners: cat([...boxes], 0),
    images: cat(
      boxes.map((b, i) => full([b.shape[0]!], i, { dtype: "uint32", device: x.device })),
      0,
    ),
  };
}

/**
 * Pools each box of an image to a small image: each element is the mean of bilinear samples.
 *
 * x: [N, C, H, W], floating. boxes: [K, 5] (image, x1, y1, x2, y2), or a list of [L, 4] for each image; in x's dtype. Result: [K, C, ...outputSize].
 * Gradients flow to x. Unless aligned, a box is at least one element of the image wide and high.
 * DirectML: ROI_ALIGN1, ROI_ALIGN_GRAD. Reference: torchvision.ops.roi_align.
 */
export function roiAlign(x: Tensor, boxes: Tensor | readonly Tensor[], options: RoiAlignOptions): Tensor {
  requireFloat("roiAlign", x);
  if (x.rank !== 4) throw new ShapeError("roiAlign", "x", "[N, C, H, W]", x.describe());
  const { spatialScale = 1, samplingRatio = 0, aligned = false } = options;
  const size = expandList("roiAlign", "outputSize", options.outputSize, 2, 1) as [number, number];
  if (!(spatialScale > 0)) throw new ValueError("roiAlign", "spatialScale", "above 0", spatialScale);
  if (!Number.isInteger(samplingRatio) || samplingRatio < 0)
    throw new ValueError("roiAlign", "samplingRatio", "an integer of at least 0", samplingRatio);
  const { corners, images } = listed(x, boxes);
  requireSameDevice("roiAlign", [x, corners, images]);
  if (corners.dtype !== x.dtype) throw new DTypeError("roiAlign", "boxes", `of x's dtype ${x.dtype}`, corners.describe());
  if (corners.shape[0] === 0) return full([0, x.shape[1]!, ...size], 0, { dtype: x.dtype, device: x.device });
  const regions = aligned ? corners : atLeast(corners, 1 / spatialScale);
  const attrs = { size, scale: spatialScale, samples: samplingRatio, offset: aligned ? 0.5 : 0, image: [...x.shape] };
  return call(alignOp, [x, regions, images], attrs);
}
