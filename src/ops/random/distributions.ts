/** Sampling from distributions: normal, randintLike, multinomial, poisson. */
import { noGrad } from "../../autograd/grad-mode.ts";
import { assign, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isFloat, isInteger, type DType } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { checksValues } from "../../runtime/index-check.ts";
import { scope } from "../../core/scope.ts";
import { broadcastShapes, type Shape } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { ge, gt, le, logicalAnd, lt } from "../elementwise/compare.ts";
import { itemSync, toDType } from "../data/conversion.ts";
import { unsqueeze } from "../shape/movement.ts";
import { draw, rand, randint, randn, type Generator, type RandomOptions, requireDrawable } from "./random.ts";
import { all, sum } from "../reduce/reduce.ts";
import { cumsum } from "../scan/cumulative.ts";
import { topk } from "../sort/sort.ts";
import { igammac } from "../special/incomplete-gamma.ts";
import { ceil, exp, floor, log, neg, sqrt, tan } from "../elementwise/unary.ts";
import { clampMin, where } from "../elementwise/where.ts";

interface SampleOptions {
  /** Default: the default generator. */
  readonly generator?: Generator | undefined;
}

function filled(operation: string, x: Tensor): void {
  if (!isFloat(x.dtype)) throw new DTypeError(operation, "x", "of a floating dtype", x.describe());
}
/** Uniform numbers in [0, 1) with x's shape, float32. */
const uniform = (x: Tensor, { generator }: SampleOptions): Tensor => draw("uniform", x.shape, "float32", x.device, generator);
const fill = (operation: string, x: Tensor, options: SampleOptions, make: (u: Tensor) => Tensor): Tensor =>
  assign(operation, x, () => noGrad(() => toDType(make(uniform(x, options)), x.dtype)));

/**
 * Normal numbers; mean and deviation are numbers or tensors that broadcast. Without a tensor, `shape` is the result's shape.
 * Reference: torch.normal. DirectML: RANDOM_GENERATOR, LOG, COS, SIN.
 */
export function normal(
  mean: Tensor | number,
  std: Tensor | number = 1,
  options: RandomOptions & {
    /** The shape of the result, where mean and standard deviation are numbers. */
    readonly shape?: Shape | undefined;
    /** shape by its PyTorch name. @alias shape */
    readonly size?: Shape | undefined;
  } = {},
): Tensor {
  const tensors = [mean, std].filter((v): v is Tensor => v instanceof Tensor);
  if (typeof std === "number" && !(std >= 0)) throw new ValueError("normal", "std", "at least 0", std);
  if (tensors.length === 0 && options.shape === undefined)
    throw new ValueError("normal", "shape", "given where mean and std are numbers", options.shape);
  requireSameDevice("normal", tensors);
  const shape = options.shape ?? tensors.map((t) => t.shape).reduce((a, b) => broadcastShapes("normal", a, b));
  const like = tensors[0];
  const dtype: DType = options.dtype ?? (like !== undefined && isFloat(like.dtype) ? like.dtype : "float32");
  const z = randn(shape, { dtype, device: options.device ?? like?.device, generator: options.generator });
  return noGrad(() => add(mul(z, std), mean));
}

/** x is filled with numbers of density rate e^(-rate x). Reference: torch.Tensor.exponential_. @package */
export function exponential_(x: Tensor, rate = 1, options: SampleOptions = {}): Tensor {
  filled("exponential_", x);
  if (!(rate > 0)) throw new ValueError("exponential_", "rate", "above 0", rate);
  return fill("exponential_", x, options, (u) => mul(log(sub(1, u)), -1 / rate));
}
/** x is filled with numbers of Cauchy's distribution. Reference: torch.Tensor.cauchy_. @package */
export function cauchy_(x: Tensor, median = 0, sigma = 1, options: SampleOptions = {}): Tensor {
  filled("cauchy_", x);
  if (!(sigma > 0)) throw new ValueError("cauchy_", "sigma", "above 0", sigma);
  return fill("cauchy_", x, options, (u) => add(mul(tan(mul(sub(u, 0.5), Math.PI)), sigma), median));
}
/** x is filled with the number of trials up to the first success of probability p: 1, 2, … Reference: torch.Tensor.geometric_. @package */
export function geometric_(x: Tensor, p: number, options: SampleOptions = {}): Tensor {
  if (x.dtype === "bool") throw new DTypeError("geometric_", "x", "of a numeric dtype", x.describe());
  if (!(p > 0 && p < 1)) throw new ValueError("geometric_", "p", "in (0, 1)", p);
  return fill("geometric_", x, options, (u) => clampMin(ceil(mul(log(sub(1, u)), 1 / Math.log1p(-p))), 1));
}
/** x is filled with e to the power of normal numbers. Reference: torch.Tensor.log_normal_. @package */
export function logNormal_(x: Tensor, mean = 1, std = 2, { generator }: SampleOptions = {}): Tensor {
  filled("logNormal_", x);
  if (!(std > 0)) throw new ValueError("logNormal_", "std", "above 0", std);
  return assign("logNormal_", x, () => toDType(exp(add(mul(draw("normal", x.shape, "float32", x.device, generator), std), mean)), x.dtype));
}

/** The number of integers from 0 that a dtype represents exactly. */
const RANGE: { readonly [K in DType]?: number } = {
  float16: 2 ** 11,
  float32: 2 ** 24,
  bool: 1,
  int8: 2 ** 7 - 1,
  uint8: 2 ** 8 - 1,
  int16: 2 ** 15 - 1,
  uint16: 2 ** 16 - 1,
};
/**
 * x is filled with integers in [low, high); by default from 0 to the largest integer that its dtype represents exactly (at most 2^31). Reference: torch.Tensor.random_.
 * @package
 */
export function random_(x: Tensor, low = 0, high: number | null = null, { generator }: SampleOptions = {}): Tensor {
  const end = high ?? (RANGE[x.dtype] ?? 2 ** 31 - 1) + 1;
  requireDrawable("random_", x.dtype, low, end);
  return assign("random_", x, () =>
    toDType(randint(low, end, x.shape, { dtype: isInteger(x.dtype) ? x.dtype : "int64", device: x.device, generator }), x.dtype),
  );
}
/** randint() with the shape of x, and its dtype and device unless the options name others. Reference: torch.randint_like. */
export function randintLike(x: Tensor, low: number, high: number, options: RandomOptions = {}): Tensor {
  const dtype = options.dtype ?? x.dtype;
  requireDrawable("randintLike", dtype, low, high);
  const drawn = { ...options, dtype: isInteger(dtype) ? dtype : "int64", device: options.device ?? x.device } as const;
  return toDType(randint(low, high, x.shape, drawn), dtype);
}

/** Throws for values that PyTorch refuses: on `cpu`, elsewhere with DXTENSOR_CHECK_INDICES=1. */
function requireWeights(weights: Tensor, p: Tensor): void {
  if (!checksValues(p)) return;
  const isWhole = (): Tensor => logicalAnd(all(logicalAnd(ge(p, 0), lt(p, Infinity))), all(gt(sum(p, -1), 0)));
  if (scope(() => itemSync(isWhole())) === 0)
    throw new ValueError("multinomial", "weights", "finite, at least 0, not all 0", weights.describe());
}

/**
 * Indices drawn with probabilities proportional to weights [..., C]: int32 [..., count]. Without replacement (default)
 * no index is drawn twice. DirectML: CUMULATIVE_SUMMATION, or TOP_K1 of weights with Gumbel noise. Reference: torch.multinomial.
 */
export function multinomial(
  weights: Tensor,
  count: number,
  {
    replacement = false,
    generator,
  }: SampleOptions & {
    /** Whether an index may be drawn again. Default: false. */
    readonly replacement?: boolean | undefined;
  } = {},
): Tensor {
  if (!isFloat(weights.dtype)) throw new DTypeError("multinomial", "weights", "of a floating dtype", weights.describe());
  const classes = weights.shape.at(-1) ?? 0;
  if ((weights.rank !== 1 && weights.rank !== 2) || classes === 0)
    throw new ShapeError("multinomial", "weights", "[C] or [N, C]", weights.describe());
  if (!Number.isInteger(count) || count < 1 || (!replacement && count > classes))
    throw new ValueError(
      "multinomial",
      "count",
      `an integer of at least 1${replacement ? "" : `, at most ${classes} without replacement`}`,
      count,
    );
  return noGrad(() => {
    const p = toDType(weights, "float32");
    requireWeights(weights, p);
    if (replacement) {
      const ends = cumsum(p, -1);
      const u = mul(rand([...p.shape.slice(0, -1), count], { device: p.device, generator }), sum(p, -1, { keepDims: true }));
      return sum(le(unsqueeze(ends, -2), unsqueeze(u, -1)), -1, { dtype: "int32" });
    }
    // The largest of ln p plus Gumbel noise are a draw without replacement (E. Gumbel 1954; T. Vieira 2014).
    const noise = neg(log(neg(log(clampMin(rand(p.shape, { device: p.device, generator }), 2 ** -25)))));
    const keys = where(gt(p, 0), add(log(where(gt(p, 0), p, 1)), noise), -Infinity);
    return topk(keys, count).indices;
  });
}

/** Steps of the bisection: 2^24 values of the uniform numbers are distinguished. */
const STEPS = 26;
/**
 * Poisson numbers of the given rates, in their dtype: the inverse of the distribution function Q(k + 1, rate) at uniform numbers,
 * by bisection. DirectML: RANDOM_GENERATOR and igammac's. Reference: torch.poisson.
 */
export function poisson(rate: Tensor, options: SampleOptions = {}): Tensor {
  if (!isFloat(rate.dtype)) throw new DTypeError("poisson", "rate", "of a floating dtype", rate.describe());
  return noGrad(() => {
    const mean = toDType(rate, "float32");
    const u = uniform(rate, options);
    let low = mul(mean, 0);
    let high = ceil(add(add(mean, mul(sqrt(mean), 12)), 30));
    for (let i = 0; i < STEPS; i++) {
      const middle = floor(div(add(low, high), 2));
      const isEnough = gt(igammac(add(middle, 1), mean), u);
      high = where(isEnough, middle, high);
      low = where(isEnough, low, add(middle, 1));
    }
    return toDType(where(gt(mean, 0), high, mul(mean, 0)), rate.dtype);
  });
}

export const methods = { exponential_, cauchy_, geometric_, logNormal_, random_, multinomial, randintLike };
