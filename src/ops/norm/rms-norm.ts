/** RMS normalization and local response normalization. @functional */
import { oneByPosition } from "../declare/positional.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { normGradientShader, rmsNormShader } from "../../shader/kernels/select.ts";
import { call, requireSameDevice, dispatch } from "../../dispatch/dispatch.ts";
import { isInteger } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { sameShape, showShape, sizeOf, type Shape } from "../../core/shape.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Padding } from "../../core/padded-axes.ts";
import type { Tensor } from "../../core/tensor.ts";
import { asFloat, roundedOnce } from "../data/conversion.ts";
import { define } from "../../core/definition.ts";
import { full } from "../creation/creation.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { reshape } from "../shape/movement.ts";
import { ofNothing, withShared } from "./batch-layer-norm.ts";
import { pad } from "../shape/pad.ts";
import { avgPool2d } from "../pool/pool.ts";
import { pow } from "../elementwise/power.ts";
import { mean, sum } from "../reduce/reduce.ts";
import { emitReduce } from "../reduce/reduce-lower.ts";
import { cast, requireFloat } from "../declare/support.ts";
import { rsqrt, square } from "../elementwise/unary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { spreadBehind } from "../shape/batched-channels.ts";

interface RmsAttributes {
  readonly epsilon: number;
  readonly width: number;
}

const rowsOf = (x: { readonly sizes: readonly number[] }, width: number): [number, number] => [sizeOf(x.sizes) / width, width];

/** Of x [rows, width] in float32: 1 / sqrt(mean(x²) + epsilon), spread over the rows. */
function rootOf(g: GraphBuilder, x: Expr, epsilon: number): Expr {
  const average = emitReduce(g, g.elementWiseMultiply(x, x), "AVERAGE", [1]);
  return g.expand(g.elementWiseRecip(g.elementWiseSqrt(average, { scaleBias: [1, epsilon] })), x.sizes);
}

/** x / sqrt(mean(x²) + epsilon) over rows of `width` elements, times the weight where there is one. */
const rmsNormOp = define<RmsAttributes>({
  name: "rmsNorm",
  batched: ({ inputs: [, weight], isBatched, attrs, full, run }) => {
    const x = full(0);
    if (!isBatched[1]) return run(weight === undefined ? [x] : [x, weight], attrs);
    return [mul(run([x], attrs)[0]!, spreadBehind(weight!, x.rank))];
  },
  infer: ([x]) => [x!],
  lower: (g, [input, weight], { epsilon, width }, [out]) => {
    const sizes = rowsOf(input!, width);
    const whole = (y: Expr): Expr => g.reinterpret(y, { sizes: out!.shape });
    const x = g.reshape(input!, sizes);
    const shader = rmsNormShader(g, x, weight === undefined ? null : g.reshape(weight, [width]), epsilon);
    if (shader !== null) return [whole(shader)];
    const seen = cast(g, x, "float32");
    const normal = g.elementWiseMultiply(seen, rootOf(g, seen, epsilon));
    const row = weight === undefined ? null : g.expand(cast(g, g.reshape(weight, [1, width]), "float32"), sizes);
    return [whole(cast(g, row === null ? normal : g.elementWiseMultiply(normal, row), out!.dtype))];
  },
  grad: (dy, { inputs: [x, weight], specs, attrs, needs }) => {
    if (!isGradEnabled()) {
      // Without x's own gradient any weight gives the weight's.
      if (specs.length === 1) return dispatch(rmsNormGradOp, [x!, dy], attrs);
      const scale = weight ?? full(specs[1]!.shape, 1, { dtype: specs[1]!.dtype, device: x!.device });
      const [dx, dw] = dispatch(rmsNormGradOp, [x!, dy, scale], attrs);
      return [needs[0] ? dx! : null, dw!];
    }
    const sizes = [x!.size / attrs.width, attrs.width];
    const [rows, upstream] = [reshape(x!, sizes), reshape(dy, sizes)];
    const r = rsqrt(add(mean(square(rows), 1, { keepDims: true }), attrs.epsilon));
    const normal = mul(rows, r);
    const scaled = weight ? mul(upstream, reshape(weight, [attrs.width])) : upstream;
    const along = mul(normal, mean(mul(scaled, normal), 1, { keepDims: true }));
    return [
      needs[0] ? reshape(mul(sub(scaled, along), r), x!.shape) : null,
      needs[1] ? reshape(sum(mul(upstream, normal), 0), specs[1]!.shape) : null,
    ];
  },
  // The weight is read for x's gradient only.
  saves: { inputs: ([x]) => (x ? [0, 1] : [0]), outputs: false },
  multiplyAdds: ([x, weight]) => (weight === undefined ? 2 : 3) * sizeOf(x!.shape),
  padded: (_g, inputs, { width }, _outputs, p, lower) => (isPaddedAlong(inputs[0]!, width, p) ? null : lower(inputs)),
});

/** Whether one of the axes that `width` elements lie along is padded. */
function isPaddedAlong({ sizes }: Expr, width: number, p: Padding): boolean {
  return sizes.some((_, i) => sizeOf(sizes.slice(i)) <= width && p.isPadded(0, i));
}

const rmsNormGradOp = define<RmsAttributes>({
  name: "rmsNormGradient",
  batched: ({ inputs: [, , weight], isBatched, attrs, full, run }) => {
    const [x, dy] = [full(0), full(1)];
    if (weight === undefined) return run([x, dy], attrs);
    const scale = isBatched[2] ? spreadBehind(weight, x.rank) : weight;
    const axes = x.rank - (weight.rank - (isBatched[2] ? 1 : 0));
    const rows = x.shape.flatMap((_, i) => (i > 0 && i < axes ? [i] : []));
    const along = mul(dy, call(rmsNormOp, [x], attrs));
    return [run([x, mul(dy, scale)], attrs)[0]!, rows.length === 0 ? along : sum(along, rows)];
  },
  infer: ([x, , weight]) => (weight === undefined ? [x!] : [x!, weight]),
  lower: (g, [x, dy, weight], { epsilon, width }) => {
    const sizes = rowsOf(x!, width);
    const [rows, upstream] = [g.reshape(x!, sizes), g.reshape(dy!, sizes)];
    const row = weight === undefined ? null : g.reshape(weight, [width]);
    const shader = normGradientShader(g, "rmsNorm", { x: rows, dy: upstream, weight: row }, epsilon);
    if (shader !== null) return withShared(g, x!.dtype, shader);
    const [seen, wide] = [cast(g, rows, "float32"), cast(g, upstream, "float32")];
    const r = rootOf(g, seen, epsilon);
    const normal = g.elementWiseMultiply(seen, r);
    const scaled = row === null ? wide : g.elementWiseMultiply(wide, g.expand(cast(g, g.reshape(row, [1, width]), "float32"), sizes));
    const average = g.expand(emitReduce(g, g.elementWiseMultiply(scaled, normal), "AVERAGE", [1]), sizes);
    const dx = g.elementWiseMultiply(g.elementWiseSubtract(scaled, g.elementWiseMultiply(normal, average)), r);
    return withShared(g, x!.dtype, { dx: cast(g, dx, x!.dtype), ofShared: row === null ? [] : [g.elementWiseMultiply(wide, normal)] });
  },
  grad: null,
  padded: (_g, [x, , ...rest], { width }, _outputs, p, lower) =>
    isPaddedAlong(x!, width, p) ? null : lower([p.filled(0, 0), p.filled(1, 0), ...rest]),
  whenEmpty: 0,
});

const EPSILON = { float16: 2 ** -10, bfloat16: 2 ** -23, float32: 2 ** -23 } as const;

/** Options of rmsNorm(). */
export interface RmsNormOptions {
  /** Added to the mean of squares. Default: the dtype's smallest difference from 1. */
  readonly eps?: number | null | undefined;
  /** @deprecated Use eps. */
  readonly epsilon?: number | null | undefined;
}

/**
 * x / sqrt(mean(x²) + epsilon) * weight over the last axes, whose lengths are normalizedShape. epsilon: default the dtype's own.
 * DirectML: REDUCE AVERAGE, SQRT. Reference: torch.nn.functional.rms_norm. @autocast float32
 */
export function rmsNorm(
  x: Tensor,
  normalizedShape: Shape,
  weight: Tensor | null = null,
  eps?: number | null | RmsNormOptions,
  options?: RmsNormOptions,
): Tensor {
  const { eps: epsilon } = oneByPosition<RmsNormOptions>("rmsNorm", "eps", eps, options);
  requireFloat("rmsNorm", x);
  const axes = normalizedShape.length;
  if (axes === 0 || axes > x.rank || !sameShape(x.shape.slice(x.rank - axes), normalizedShape))
    throw new ShapeError("rmsNorm", "last axes of x", showShape(normalizedShape), x.describe());
  if (weight !== null) {
    requireSameDevice("rmsNorm", [x, weight]);
    if (!sameShape(weight.shape, normalizedShape)) throw new ShapeError("rmsNorm", "weight", showShape(normalizedShape), weight.describe());
  }
  if (x.size === 0) return ofNothing(x, weight);
  const width = sizeOf(normalizedShape);
  const attrs = { epsilon: epsilon ?? EPSILON[x.dtype as keyof typeof EPSILON], width };
  if (weight === null) return call(rmsNormOp, [x], attrs);
  if (weight.dtype === x.dtype) return call(rmsNormOp, [x, weight], attrs);
  return roundedOnce([x, weight], (z, w) => mul(call(rmsNormOp, [z!], attrs), w!));
}

/** Options of localResponseNorm(). Reference: torch.nn.functional.local_response_norm. */
export interface LocalResponseOptions {
  /** Default: 1e-4. */
  readonly alpha?: number | undefined;
  /** Default: 0.75. */
  readonly beta?: number | undefined;
  /** Default: 1. */
  readonly k?: number | undefined;
}

/**
 * x / (k + alpha times the mean of the squares of `size` neighbouring channels)^beta. x: [N, C, ...].
 * DirectML: AVERAGE_POOLING, POW. Reference: torch.nn.functional.local_response_norm.
 * @autocast float32
 */
export function localResponseNorm(x: Tensor, size: number, { alpha = 1e-4, beta = 0.75, k = 1 }: LocalResponseOptions = {}): Tensor {
  if (x.rank < 3) throw new ShapeError("localResponseNorm", "x", "[N, C, ...] with at least one spatial axis", x.describe());
  if (!Number.isInteger(size) || size < 1) throw new ValueError("localResponseNorm", "size", "an integer of at least 1", size);
  if (x.size === 0) return x;
  if (!isInteger(x.dtype)) requireFloat("localResponseNorm", x);
  const [n, c] = x.shape as [number, number];
  const squares = reshape(square(x), [n, 1, c, sizeOf(x.shape.slice(2))]);
  const before = Math.floor(size / 2);
  // Of integers the mean is one, too, as in PyTorch.
  const average = avgPool2d(pad(squares, [0, 0, before, size - 1 - before]), [size, 1], { stride: 1 });
  return div(x, pow(add(mul(asFloat(reshape(average, x.shape)), alpha), k), beta));
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("normalized", "rmsNorm", [real([3, 6]), real([6])], (x, w) => rmsNorm(x!, [6], w!)),
];
