/** Variance, standard deviation, norm, logsumexp. */
import { neutral } from "../../core/padded-axes.ts";
import { call } from "../../dispatch/dispatch.ts";
import { isHalf } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { div, mul, sub } from "../elementwise/binary.ts";
import { eq, logicalOr } from "../elementwise/compare.ts";
import { asFloat, roundedOnce, toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { extremeSize } from "./extrema.ts";
import { pow } from "../elementwise/power.ts";
import { mean, reduceAttributes, reducedShape, spread, sum, type Axes, type ReduceAttributes, type ReduceOptions } from "./reduce.ts";
import { emitReduce } from "./reduce-lower.ts";
import { BOOL, cast, constant, requireFloat } from "../declare/support.ts";
import { abs, exp, sign } from "../elementwise/unary.ts";
import { where } from "../elementwise/where.ts";
import { axesBehindBatch } from "../declare/batched.ts";

/** Options of var() and std(). Reference: torch.var. */
export interface VarianceOptions {
  /** Whether axes that are reduced stay, with length 1. Default: false. */
  readonly keepDims?: boolean | undefined;
  /** keepDims by its PyTorch name. @alias keepDims */
  readonly keepdim?: boolean | undefined;

  /** Subtracted from the number of elements in the divisor: 1 for a sample (default), 0 for a population. */
  readonly correction?: number | undefined;
}

interface VarianceAttributes extends ReduceAttributes {
  readonly correction: number;
}
const varOp: Definition<VarianceAttributes> = define<VarianceAttributes>({
  name: "var",
  batched: axesBehindBatch,
  infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
  lower: (g, [x], { axes, correction }) => {
    const count = axes.reduce((n, a) => n * x!.sizes[a]!, 1);
    const reduced = (t: Expr, how: "AVERAGE" | "SUM"): Expr => (axes.length === 0 ? t : emitReduce(g, t, how, axes));
    const centred = g.elementWiseSubtract(x!, g.expand(reduced(x!, "AVERAGE"), x!.sizes));
    const total = reduced(g.elementWiseMultiply(centred, centred), "SUM");
    return [g.elementWiseDivide(total, constant(g, total.dtype, Math.max(0, count - correction), total.sizes))];
  },
  grad: (dy, { inputs: [x], attrs }) => {
    const freedom = attrs.axes.reduce((n, a) => n * x!.shape[a]!, 1) - attrs.correction;
    const upstream = spread(dy, x!.shape, attrs);
    const average = attrs.axes.length === 0 ? x! : mean(x!, attrs.axes, { keepDims: true });
    if (freedom > 0) return [mul(mul(upstream, 2 / freedom), sub(x!, average))];
    return [mul(upstream, where(eq(x!, average), NaN, Infinity))];
  },
  saves: { outputs: false },
  padded: (g, [x], { axes, correction }, [out], p, lower) => {
    if (!axes.some((a) => p.isPadded(0, a))) return lower([x!]);
    const count = p.count(0, axes);
    const total = (t: Expr): Expr => emitReduce(g, t, "SUM", axes);
    const sums = total(p.filled(0, 0));
    const spreadCount = g.expand(count, sums.sizes);
    const centred = p.filled(0, 0, g.elementWiseSubtract(x!, g.expand(g.elementWiseDivide(sums, spreadCount), x!.sizes)));
    const freedom = g.elementWiseMax(
      g.elementWiseIdentity(spreadCount, { scaleBias: [1, -correction] }),
      constant(g, sums.dtype, 0, sums.sizes),
    );
    return [g.reshape(g.elementWiseDivide(total(g.elementWiseMultiply(centred, centred)), freedom), out!.shape)];
  },
  whenEmpty: NaN,
});

/**
 * The variance over the axes (all of them by default). Floating dtypes. Reference: torch.var. DirectML: REDUCE AVERAGE and SUM.
 * @name var
 */
export function variance(x: Tensor, axis: Axes = null, { keepDims = false, correction = 1 }: VarianceOptions = {}): Tensor {
  requireFloat("var", x);
  // The sum of squares of a float16 tensor soon leaves the range in which float16 is exact.
  if (isHalf(x.dtype)) return toDType(variance(toDType(x, "float32"), axis, { keepDims, correction }), x.dtype);
  return call(varOp, [x], { ...reduceAttributes("var", x, axis, { keepDims }), correction });
}

/** The square root, whose gradient is 0 where the variance is 0. */
const rootOp: Definition<undefined> = define({
  name: "std",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x]) => [g.elementWiseSqrt(x!)],
  grad: (dy, { outputs: [y] }) => [where(eq(y!, 0), scalarTensor(dy.device, dy.dtype, 0), div(dy, mul(y!, 2)))],
  saves: { inputs: [], outputs: true },
});

/** The standard deviation over the axes (all of them by default). Floating dtypes. Reference: torch.std. */
export function std(x: Tensor, axis: Axes = null, options: VarianceOptions = {}): Tensor {
  requireFloat("std", x);
  return roundedOnce([x], (y) => call(rootOp, [variance(y!, axis, options)], undefined));
}

const l2Op = define<ReduceAttributes>({
  name: "norm",
  batched: axesBehindBatch,
  infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
  lower: (g, [x], { axes }) => [axes.length === 0 ? g.elementWiseAbs(x!) : emitReduce(g, x!, "L2", axes)],
  // x / ‖x‖, 0 for the zero vector.
  grad: (dy, { inputs: [x], outputs: [y], attrs }) => {
    const length = spread(y!, x!.shape, attrs);
    return [mul(spread(dy, x!.shape, attrs), where(eq(length, 0), scalarTensor(dy.device, dy.dtype, 0), div(x!, length)))];
  },
  padded: neutral(({ axes }) => axes, 0),
  whenEmpty: 0,
});

interface Order extends ReduceAttributes {
  readonly p: number;
}
/** What norms of positive and of negative orders share. power: a magnitude of float32 to an exponent of the same sign as the order. */
const pNorm = (power: (g: GraphBuilder, magnitude: Expr, exponent: number) => Expr) =>
  ({
    name: "norm",
    batched: axesBehindBatch,
    infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
    lower: (g, [x], { axes, p }, [out]) => {
      // Powers overflow half precision: they are computed in float32, as in PyTorch.
      const powers = power(g, g.elementWiseAbs(cast(g, x!, "float32")), p);
      const total = axes.length === 0 ? powers : emitReduce(g, powers, "SUM", axes);
      return [cast(g, power(g, total, 1 / p), out!.dtype)];
    },
    // sign(x) (|x| / y)^(p - 1), 0 where x or y is, but where the norm is NaN. Orders below 1 multiply that 0 by dy, as PyTorch does.
    grad: (dy, { inputs: [x], outputs: [y], attrs }) => {
      const length = spread(y!, x!.shape, attrs);
      const isNone = eq(length, 0);
      const ratio = div(where(logicalOr(eq(x!, 0), isNone), 1, abs(x!)), where(isNone, 1, length));
      const slope = mul(sign(x!), pow(ratio, attrs.p - 1));
      const dys = spread(dy, x!.shape, attrs);
      return [attrs.p < 1 ? mul(dys, where(isNone, 0, slope)) : where(isNone, 0, mul(dys, slope))];
    },
  }) satisfies Partial<Definition<Order>>;
const pNormOp = define<Order>({
  ...pNorm((g, magnitude, exponent) => g.elementWiseConstantPow(magnitude, { exponent })),
  padded: neutral(({ axes }) => axes, 0),
  whenEmpty: 0,
});
/** The power of 0 by a negative constant is 0 in DirectML; a reciprocal of 0 is Infinity. Without elements there is no such norm. */
const negativeNormOp = define<Order>({
  ...pNorm((g, magnitude, exponent) => g.elementWiseRecip(g.elementWiseConstantPow(magnitude, { exponent: -exponent }))),
  padded: neutral(({ axes }) => axes, Infinity),
});

/** The number of elements that are not 0: of a derivative that is 0 everywhere. */
const countOp = define<ReduceAttributes>({
  name: "norm",
  batched: axesBehindBatch,
  infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
  lower: (g, [x], { axes }, [out]) => {
    const number = (v: number): Expr => constant(g, "float32", v, x!.sizes);
    const isZero = g.elementWiseLogicalEquals(x!, constant(g, x!.dtype, 0, x!.sizes), BOOL);
    const ones = g.elementWiseIf(isZero, number(0), number(1));
    return [cast(g, axes.length === 0 ? ones : emitReduce(g, ones, "SUM", axes), out!.dtype)];
  },
  // No gradient flows: backward() passes and leaves none, as in PyTorch.
  grad: () => [null],
  saves: { inputs: [], outputs: false },
  padded: neutral(({ axes }) => axes, 0),
  whenEmpty: 0,
});

/**
 * The p-norm over the axes (all of them by default): (sum |x|^p)^(1/p); for p = 0 the number of elements that are not 0, for
 * ±Infinity the largest or smallest |x|. Floating dtypes. Reference: torch.linalg.vector_norm. DirectML: REDUCE L2, L1.
 * @autocast float32
 */
export function norm(x: Tensor, p = 2, axis: Axes = null, options: ReduceOptions = {}): Tensor {
  if (typeof p !== "number" || Number.isNaN(p)) throw new ValueError("norm", "p", "a number", p);
  const source = options.dtype === undefined ? x : toDType(x, options.dtype);
  requireFloat("norm", source);
  const attrs = reduceAttributes("norm", source, axis, options);
  if (p === 2) return call(l2Op, [source], attrs);
  const reduce: ReduceOptions = { keepDims: attrs.keepDims };
  // Rank 0 has no axes to reduce; an empty list would mean all.
  const axes = source.rank === 0 ? null : attrs.axes;
  if (p === 0) return call(countOp, [source], attrs);
  if (p === 1) return sum(abs(source), axes, reduce);
  if (p === Infinity) return extremeSize("max", abs(source), axes, reduce);
  if (p === -Infinity) return extremeSize("min", abs(source), axes, reduce);
  return call(p < 0 ? negativeNormOp : pNormOp, [source], { ...attrs, p });
}

const logSumExpOp = define<ReduceAttributes>({
  name: "logsumexp",
  batched: axesBehindBatch,
  infer: ([x], attrs) => [{ shape: reducedShape(x!.shape, attrs), dtype: x!.dtype }],
  lower: (g, [x], { axes }) => {
    if (axes.length === 0) return [g.elementWiseIdentity(x!)];
    const sizes = x!.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
    const largest = g.reinterpret(emitReduce(g, x!, "MAX", axes), { sizes });
    // An infinite maximum is not subtracted: inf - inf is NaN.
    const infinite = g.elementWiseIsInfinity(largest, { ...BOOL, infinityMode: "EITHER" });
    const shift = g.elementWiseIf(infinite, constant(g, x!.dtype, 0, sizes), largest);
    const total = g.reinterpret(emitReduce(g, g.elementWiseExp(g.elementWiseSubtract(x!, g.expand(shift, x!.sizes))), "SUM", axes), {
      sizes,
    });
    return [g.elementWiseAdd(g.elementWiseLog(total), shift)];
  },
  grad: (dy, { inputs: [x], outputs: [y], attrs }) => [mul(spread(dy, x!.shape, attrs), exp(sub(x!, spread(y!, x!.shape, attrs))))],
  padded: neutral(({ axes }) => axes, -Infinity),
  whenEmpty: -Infinity,
});

/** ln(sum e^x) over the axes, without overflow. Integers give float32. Reference: torch.logsumexp. DirectML: REDUCE MAX and SUM, EXP, LOG. @autocast float32 */
export function logsumexp(x: Tensor, axis: Axes, options: ReduceOptions = {}): Tensor {
  const real = asFloat(x);
  requireFloat("logsumexp", real);
  return call(logSumExpOp, [real], reduceAttributes("logsumexp", real, axis, options));
}

export const methods = { var: variance, std, norm, logsumexp };
