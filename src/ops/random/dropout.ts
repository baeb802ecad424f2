/** Dropout. */
import { call } from "../../dispatch/dispatch.ts";
import type { DType } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import type { Shape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, mul } from "../elementwise/binary.ts";
import { ge } from "../elementwise/compare.ts";
import { define } from "../../core/definition.ts";
import { Generator, rand, uniformFrom } from "./random.ts";
import { cast, constant, requireFloat } from "../declare/support.ts";
import { where } from "../elementwise/where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";
import { byPosition } from "../declare/positional.ts";

/** Options of dropout() and its variants. Reference: torch.nn.functional.dropout. */
export interface DropoutOptions {
  /** Probability with which an element is left out, in [0, 1]. Default: 0.5. */
  readonly p?: number | undefined;
  /** Whether elements are dropped; else the result is x. Default: true. */
  readonly training?: boolean | undefined;
  /** Default: the device's own. */
  readonly generator?: Generator | undefined;
}

const NONE: DropoutOptions = {};
/** The options of dropout(x, p, options) and dropout(x, options). */
const optionsOf = (operation: string, p: number | DropoutOptions | undefined, options: DropoutOptions | undefined): DropoutOptions =>
  options === undefined && typeof p !== "number" ? (p ?? NONE) : byPosition<DropoutOptions>(operation, ["p"], [p, options]);

/** Uniform numbers as factors: 0 below p, else 1 / (1 - p). */
const factorsOp = define<{ readonly p: number; readonly dtype: DType }>({
  name: "dropout",
  traits: { elementwise: true },
  infer: ([u], { dtype }) => [{ shape: u!.shape, dtype }],
  lower: (g, [u], { p, dtype }) => {
    const out = g.elementWiseLogicalLessThan(u!, constant(g, u!.dtype, p, u!.sizes), { output: { dtype: "uint8" } });
    return [
      g.elementWiseIf(out, constant(g, dtype, 0, u!.sizes), cast(g, constant(g, "float32", p < 1 ? 1 / (1 - p) : 0, u!.sizes), dtype)),
    ];
  },
  grad: null,
});

/** @package */
export function requireProbability(operation: string, p: number): void {
  if (!(p >= 0 && p <= 1)) throw new ValueError(operation, "p", "in [0, 1]", p);
}

/** @internal The factors that dropout() multiplies by, drawn from a state, which stays. */
export const dropoutFactors = (state: Tensor, shape: Shape, p: number, dtype: DType): Tensor =>
  call(factorsOp, [uniformFrom(state, shape)], { p, dtype });

function dropped(operation: string, x: Tensor, shape: Shape, { p = 0.5, training = true, generator }: DropoutOptions): Tensor {
  requireProbability(operation, p);
  requireFloat(operation, x);
  if (!training || p === 0 || x.size === 0) return x;
  const factors = call(factorsOp, [rand(shape, { device: x.device, generator })], { p, dtype: x.dtype });
  return mul(x, factors);
}

/**
 * x with elements set to zero at random, the others scaled by 1 / (1 - p). x: float16 or float32.
 * DirectML: RANDOM_GENERATOR, ELEMENT_WISE_IF, ELEMENT_WISE_MULTIPLY. Reference: torch.nn.functional.dropout.
 * @functional
 */
export const dropout = (x: Tensor, p?: number | DropoutOptions, options?: DropoutOptions): Tensor =>
  dropped("dropout", x, x.shape, optionsOf("dropout", p, options));

/** SELU's limit for large negative x. */
const SATURATED = -1.7580993408473766;

function alpha(operation: string, x: Tensor, shape: Shape, { p = 0.5, training = true, generator }: DropoutOptions): Tensor {
  requireProbability(operation, p);
  if (!training || p === 0 || x.size === 0) return x;
  requireFloat(operation, x);
  if (p === 1) return mul(x, 0);
  // Scaled and shifted so that mean and variance stay (G. Klambauer et al., Self-Normalizing Neural Networks, 2017).
  const scale = 1 / Math.sqrt((SATURATED ** 2 * p + 1) * (1 - p));
  const kept = ge(rand(shape, { device: x.device, generator }), p);
  return add(mul(where(kept, x, SATURATED), scale), -SATURATED * scale * p);
}
/**
 * Elements of x set to SELU's saturation at random, such that mean and variance stay. Reference: torch.nn.functional.alpha_dropout.
 * @functional
 */
export const alphaDropout = (x: Tensor, p?: number | DropoutOptions, options?: DropoutOptions): Tensor =>
  alpha("alphaDropout", x, x.shape, optionsOf("alphaDropout", p, options));
/** alphaDropout of whole channels of x [N, C, ...]. Reference: torch.nn.functional.feature_alpha_dropout. @functional */
export const featureAlphaDropout = (x: Tensor, p?: number | DropoutOptions, options?: DropoutOptions): Tensor =>
  alpha(
    "featureAlphaDropout",
    x,
    x.shape.map((d, i) => (i < 2 ? d : 1)),
    optionsOf("featureAlphaDropout", p, options),
  );

/** dropout of whole channels of x [N, C, ...]. Reference: torch.nn.functional.dropout2d. @functional dropout1d dropout2d dropout3d */
export function dropoutChannels(x: Tensor, p?: number | DropoutOptions, options?: DropoutOptions): Tensor {
  if (x.rank < 2) throw new ShapeError("dropoutChannels", "x", "[N, C, ...]", x.describe());
  return dropped(
    "dropoutChannels",
    x,
    x.shape.map((d, i) => (i < 2 ? d : 1)),
    optionsOf("dropoutChannels", p, options),
  );
}

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("rounded", "dropout", [real([5, 7])], (x) => dropout(x!, { p: 0.25, generator: new Generator(7) })),
];
