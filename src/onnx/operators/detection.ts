/** Boxes: non-maximum suppression, and sampling inside boxes. */
import * as ops from "../../ops/index.ts";
import { readElements } from "../../ops/vision/grid-sample.ts";
import { kernel } from "../../ops/kernel/custom-kernel.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";
import { family } from "./operator.ts";

interface Align {
  readonly height: number;
  readonly width: number;
  readonly samples: number;
  readonly scale: number;
  readonly isHalfPixel: boolean;
  readonly isMaximum: boolean;
}

/** DirectML: ROI_ALIGN1. */
const roiAlign = kernel<Align>({
  name: "roiAlign",
  infer: ([x, rois], { height, width }) => [{ shape: [rois!.shape[0]!, x!.shape[1]!, height, width], dtype: x!.dtype }],
  lower: (g, [x, rois, batch], a, [out]) => [
    g.roiAlign1(x!, g.reshape(rois!, [1, 1, ...rois!.sizes]), g.reshape(batch!, [1, 1, 1, batch!.sizes[0]!]), {
      output: { sizes: out!.shape },
      reductionFunction: a.isMaximum ? "MAX" : "AVERAGE",
      interpolationMode: "LINEAR",
      spatialScaleX: a.scale,
      spatialScaleY: a.scale,
      inputPixelOffset: a.isHalfPixel ? 0.5 : 0,
      outputPixelOffset: -0.5,
      outOfBoundsInputValue: 0,
      minimumSamplesPerOutput: a.samples === 0 ? 1 : a.samples,
      maximumSamplesPerOutput: a.samples === 0 ? 0xffffffff : a.samples,
      alignRegionsToCorners: false,
    }),
  ],
  grad: null,
});

/** Of one side: the elements below and above each sample, [K, outputs * samples], with what they count for; and whether it lies inside. */
function samplesOf(first: Tensor, last: Tensor, outputs: number, a: Align, length: number) {
  const offset = a.isHalfPixel ? 0.5 : 0;
  const [start, end] = [first, last].map((t) => ops.sub(ops.mul(ops.unsqueeze(t, 1), a.scale), offset)) as [Tensor, Tensor];
  const whole = ops.sub(end, start);
  const bin = ops.div(a.isHalfPixel ? whole : ops.clampMin(whole, 1), outputs);
  const positions = ops.div(ops.add(ops.arange(outputs * a.samples, { dtype: "float32", device: first.device }), 0.5), a.samples);
  const at = ops.add(start, ops.mul(bin, positions));
  const isInside = ops.logicalAnd(ops.ge(at, -1), ops.le(at, length));
  const held = ops.clamp(at, 0, length - 1);
  const low = ops.floor(held);
  const share = ops.sub(held, low);
  return { low, high: ops.clampMax(ops.add(low, 1), length - 1), share, rest: ops.sub(1, share), isInside };
}

/**
 * The greatest of the corners of all samples, each times what it counts for: what ONNX's implementations call the maximum, where
 * DirectML's is that of the interpolated samples.
 */
function alignMaximum(x: Tensor, rois: Tensor, batch: Tensor, a: Align): Tensor {
  const [, channels, height, width] = x.shape as [number, number, number, number];
  const count = rois.shape[0]!;
  const column = (i: number): Tensor => ops.to(ops.select(rois, 1, i), "float32");
  const y = samplesOf(column(1), column(3), a.height, a, height);
  const z = samplesOf(column(0), column(2), a.width, a, width);
  const planes = ops.reshape(ops.indexSelect(x, 0, batch), [count, channels, height * width]);
  const [rows, columns] = [a.height * a.samples, a.width * a.samples];
  /** Of each row and each column of samples, [K, rows * columns]. */
  const grid = (r: Tensor, s: Tensor, join: (p: Tensor, q: Tensor) => Tensor): Tensor =>
    ops.reshape(join(ops.unsqueeze(r, 2), ops.unsqueeze(s, 1)), [count, rows * columns]);
  const spread = (r: Tensor, s: Tensor): [Tensor, Tensor] => [
    grid(r, s, (p, q) => ops.add(p, ops.mul(q, 0))),
    grid(r, s, (p, q) => ops.add(ops.mul(p, 0), q)),
  ];
  const isInside = ops.unsqueeze(grid(y.isInside, z.isInside, ops.logicalAnd), 1);
  const corners = (
    [
      [y.low, y.rest],
      [y.high, y.share],
    ] as const
  ).flatMap(([row, rowShare]) =>
    (
      [
        [z.low, z.rest],
        [z.high, z.share],
      ] as const
    ).map(([position, share]) => {
      const read = readElements(planes, [height, width], spread(row, position), false);
      const weighed = ops.mul(read, ops.unsqueeze(grid(rowShare, share, ops.mul), 1));
      return ops.where(isInside, weighed, 0);
    }),
  );
  const greatest = corners.reduce((p, q) => ops.maximum(p, q));
  return ops.amax(ops.reshape(greatest, [count, channels, a.height, a.samples, a.width, a.samples]), [3, 5]);
}

function align(c: Call): Tensor {
  const transform = c.oneOf("coordinate_transformation_mode", c.opset < 16 ? "output_half_pixel" : "half_pixel", [
    "half_pixel",
    "output_half_pixel",
  ]);
  const attrs: Align = {
    height: c.int("output_height", 1),
    width: c.int("output_width", 1),
    samples: c.int("sampling_ratio", 0),
    scale: c.float("spatial_scale", 1),
    isHalfPixel: transform === "half_pixel",
    isMaximum: c.oneOf("mode", "avg", ["avg", "max"]) === "max",
  };
  // How many samples a box has, if it is not said, depends on its size: that is left to the operator.
  if (attrs.isMaximum && attrs.samples > 0 && c.tensor(1).size > 0) return alignMaximum(c.tensor(0), c.tensor(1), c.tensor(2), attrs);
  return roiAlign([c.tensor(0), c.tensor(1), ops.to(c.tensor(2), "uint32")], attrs)[0]!;
}

type Box = readonly [y0: number, x0: number, y1: number, x1: number];

/** By corners in any order, or by centre and size. */
function boxOf(list: readonly number[], at: number, isCentred: boolean): Box {
  const [a, b, d, e] = list.slice(at, at + 4) as [number, number, number, number];
  if (isCentred) return [b - e / 2, a - d / 2, b + e / 2, a + d / 2];
  return [Math.min(a, d), Math.min(b, e), Math.max(a, d), Math.max(b, e)];
}

function overlap(p: Box, q: Box): number {
  const height = Math.min(p[2], q[2]) - Math.max(p[0], q[0]);
  const width = Math.min(p[3], q[3]) - Math.max(p[1], q[1]);
  if (height <= 0 || width <= 0) return 0;
  const area = (b: Box): number => (b[2] - b[0]) * (b[3] - b[1]);
  return (height * width) / (area(p) + area(q) - height * width);
}

/**
 * The best boxes of each class that overlap no better one by more than the threshold. How many there are depends on the data, so boxes
 * and scores are read back and chosen here.
 */
function nonMaxSuppression(c: Call): Constant {
  const boxes = c.numbers(0);
  const scores = c.numbers(1);
  const [batch, classes, count] = c.numeric(1).shape as [number, number, number];
  const maxOutputs = c.number(2, 0);
  const threshold = c.number(3, 0);
  const minScore = c.has(4) ? c.number(4) : -Infinity;
  const isCentred = c.int("center_point_box", 0) === 1;
  const found: number[] = [];
  for (let n = 0; n < batch; n++)
    for (let k = 0; k < classes; k++) {
      const score = (i: number): number => scores[(n * classes + k) * count + i]!;
      const order = Array.from({ length: count }, (_, i) => i)
        .filter((i) => score(i) > minScore)
        .sort((a, b) => score(b) - score(a) || a - b);
      const chosen: Box[] = [];
      for (const i of order) {
        if (chosen.length >= maxOutputs) break;
        const box = boxOf(boxes, (n * count + i) * 4, isCentred);
        if (chosen.some((other) => overlap(box, other) > threshold)) continue;
        chosen.push(box);
        found.push(n, k, i);
      }
    }
  return new Constant(
    "int64",
    [found.length / 3, 3],
    BigInt64Array.from(found, (v) => BigInt(v)),
  );
}

export const detection = family({ NonMaxSuppression: nonMaxSuppression, RoiAlign: align });
