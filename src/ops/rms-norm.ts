/** Normalisations without a mean: RMS norm, and local response normalisation. @functional */
import { rmsNormShader } from "../shader/lowering.ts";
import { call, demandSameDevice } from "../dispatch.ts";
import { isInteger } from "../dtype.ts";
import { ShapeError, ValueError } from "../errors.ts";
import { sameShape, showShape, sizeOf, type Shape } from "../shape.ts";
import type { Expr } from "../graph/graph.ts";
import type { Tensor } from "../tensor.ts";
import { asFloat, roundedOnce } from "./data.ts";
import { define } from "../definition.ts";
import { add, div, mul, sub } from "./binary.ts";
import { reshape } from "./movement.ts";
import { pad } from "./pad.ts";
import { avgPool2d } from "./pool.ts";
import { pow } from "./power.ts";
import { emitReduce, mean } from "./reduce.ts";
import { cast, demandFloat } from "./support.ts";
import { rsqrt, square } from "./unary.ts";
import { sample, type Sample, real } from "../sample.ts";

/** x / sqrt(mean(x²) + epsilon) of rows of so many elements. */
const rmsNormOp = define<{ readonly epsilon: number; readonly width: number }>({
  name: "rmsNorm",
  infer: ([x]) => [x!],
  lower: (g, [given], { epsilon, width }, [out]) => {
    const sizes = [sizeOf(given!.sizes) / width, width];
    const whole = (y: Expr): Expr => g.reinterpret(y, { sizes: out!.shape });
    const x = g.reshape(given!, sizes);
    const shader = rmsNormShader(g, x, epsilon);
    if (shader !== null) return [whole(shader)];
    const seen = cast(g, x, "float32");
    const average = emitReduce(g, g.elementWiseMultiply(seen, seen), "AVERAGE", [1]);
    const root = g.elementWiseRecip(g.elementWiseSqrt(average, { scaleBias: [1, epsilon] }));
    return [whole(cast(g, g.elementWiseMultiply(seen, g.expand(root, seen.sizes)), out!.dtype))];
  },
  grad: (dy, { inputs: [x], attrs }) => {
    const sizes = [x!.size / attrs.width, attrs.width];
    const [rows, given] = [reshape(x!, sizes), reshape(dy, sizes)];
    const r = rsqrt(add(mean(square(rows), 1, { keepDims: true }), attrs.epsilon));
    const normal = mul(rows, r);
    return [reshape(mul(sub(given, mul(normal, mean(mul(given, normal), 1, { keepDims: true }))), r), x!.shape)];
  },
  saves: { outputs: false },
  padded: (_g, inputs, { width }, _outputs, p, lower) => {
    const { sizes } = inputs[0]!;
    const along = sizes.flatMap((_, i) => (sizeOf(sizes.slice(i)) <= width ? [i] : []));
    return along.some((a) => p.isPadded(0, a)) ? null : lower(inputs);
  },
});

const EPSILON = { float16: 2 ** -10, bfloat16: 2 ** -23, float32: 2 ** -23 } as const;

/**
 * x / sqrt(mean(x²) + epsilon) * weight over the last axes, whose lengths are normalizedShape. epsilon: default the dtype's own.
 * DirectML: REDUCE AVERAGE, SQRT. Reference: torch.nn.functional.rms_norm.
 */
export function rmsNorm(
  x: Tensor,
  normalizedShape: Shape,
  weight: Tensor | null = null,
  { epsilon }: { readonly epsilon?: number | null | undefined } = {},
): Tensor {
  demandFloat("rmsNorm", x);
  const axes = normalizedShape.length;
  if (axes === 0 || axes > x.rank || !sameShape(x.shape.slice(x.rank - axes), normalizedShape))
    throw new ShapeError("rmsNorm", "last axes of x", showShape(normalizedShape), x.describe());
  if (weight !== null) {
    demandSameDevice("rmsNorm", [x, weight]);
    if (!sameShape(weight.shape, normalizedShape)) throw new ShapeError("rmsNorm", "weight", showShape(normalizedShape), weight.describe());
  }
  if (x.size === 0) return x;
  const width = sizeOf(normalizedShape);
  const attrs = { epsilon: epsilon ?? EPSILON[x.dtype as keyof typeof EPSILON], width };
  const normal = (z: Tensor): Tensor => call(rmsNormOp, [z], attrs);
  return weight === null ? normal(x) : roundedOnce([x, weight], (z, w) => mul(normal(z!), w!));
}

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
 */
export function localResponseNorm(x: Tensor, size: number, { alpha = 1e-4, beta = 0.75, k = 1 }: LocalResponseOptions = {}): Tensor {
  if (x.rank < 3) throw new ShapeError("localResponseNorm", "x", "[N, C, ...] with at least one spatial axis", x.describe());
  if (!Number.isInteger(size) || size < 1) throw new ValueError("localResponseNorm", "size", "a whole number of at least 1", size);
  if (x.size === 0) return x;
  if (!isInteger(x.dtype)) demandFloat("localResponseNorm", x);
  const [n, c] = x.shape as [number, number];
  const squares = reshape(square(x), [n, 1, c, sizeOf(x.shape.slice(2))]);
  const before = Math.floor(size / 2);
  // Of whole numbers the mean is one, too, as in PyTorch.
  const average = avgPool2d(pad(squares, [0, 0, before, size - 1 - before]), [size, 1], { stride: 1 });
  return div(x, pow(add(mul(asFloat(reshape(average, x.shape)), alpha), k), beta));
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("normalized", "rmsNorm", [real([3, 6]), real([6])], (x, w) => rmsNorm(x!, [6], w!)),
];
