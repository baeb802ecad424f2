/** Elementwise functions of two or three operands. */
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { call, requireSameDevice } from "../../dispatch/dispatch.ts";
import { isFloat, isHalf, resultType, type DType } from "../../core/dtype.ts";
import { DTypeError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { requireRepresentable } from "../../core/elements.ts";
import { heldScalar, scalarTensor } from "../../runtime/constants.ts";
import { define, type Definition } from "../../core/definition.ts";
import { Tensor } from "../../core/tensor.ts";
import { add, binary, div, mul, operands, realOperands, sub, type Arithmetic } from "./binary.ts";
import { eq, gt, isnan, le, logicalAnd, logicalNot, logicalOr, lt } from "./compare.ts";
import { toDType } from "../data/conversion.ts";
import { clone } from "../data/state.ts";
import { extremeOf } from "../reduce/extreme-lower.ts";
import { Formula, formula } from "./formula.ts";
import { pow } from "./power.ts";
import { cast, computing } from "../declare/support.ts";
import { emitLog1p, exp, exp2, neg, square } from "./unary.ts";
import { where } from "./where.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

const zero = (like: Tensor): Tensor => scalarTensor(like.device, like.dtype, 0);

/** 1 at the origin, where atan2 has no derivative: PyTorch gives 0 there. */
function squaredDistance(y: Tensor, x: Tensor): Tensor {
  const sum = add(square(y), square(x));
  return where(eq(sum, 0), 1, sum);
}

const atan2Op = formula("atan2", {
  emit: (f, [y, x]) => {
    // ATAN_YX is undefined at the origin, where the signs of the zeros decide.
    const origin = f.and(f.eq(y!, 0), f.eq(x!, 0));
    const behind = f.lt(f.div(1, x!), 0);
    const below = f.lt(f.div(1, y!), 0);
    const there = f.where(behind, f.where(below, -Math.PI, Math.PI), y!);
    return f.where(origin, there, f.g.elementWiseAtanYx(y!, f.where(origin, 1, x!)));
  },
  grad: [
    (dy, [y, x]): Tensor => div(mul(dy, x!), squaredDistance(y!, x!)),
    (dy, [y, x]): Tensor => neg(div(mul(dy, y!), squaredDistance(y!, x!))),
  ],
});

const hypotOp = formula("hypot", {
  emit: (f, [a, b]) => {
    const [x, y] = [f.abs(a!), f.abs(b!)];
    const large = f.max(x, y);
    // Scaled by the larger one, so that squares neither overflow nor vanish.
    const ratio = f.div(f.min(x, y), large);
    const length = f.mul(large, f.sqrt(f.add(f.square(ratio), 1)));
    return f.cases(
      [f.or(f.isInfinite(x), f.isInfinite(y)), Infinity],
      // Before the larger is looked at, which NaN is not.
      [f.or(f.isNan(x), f.isNan(y)), f.add(x, y)],
      [f.eq(large, 0), 0],
      length,
    );
  },
  grad: [(dy, [a], y): Tensor => mul(dy, div(a!, y)), (dy, [, b], y): Tensor => mul(dy, div(b!, y))],
  saves: (needs) => [0, 1].filter((i) => needs[i]),
  savesOutput: true,
});

/** ln or log2 of a sum of powers: the larger one and what the smaller adds. */
const emitLogAdd = (f: Formula, a: Expr, b: Expr, base: number): Expr => {
  const distance = f.neg(f.abs(f.sub(a, b)));
  const power = base === 1 ? f.exp(distance) : f.pow(2, distance);
  const larger = f.where(f.ge(a, b), a, b);
  const sum = f.add(larger, f.mul(emitLog1p(f.g, power), base));
  return f.cases([f.and(f.eq(a, b), f.isInfinite(a)), a], [f.or(f.isNan(a), f.isNan(b)), f.add(a, b)], sum);
};
const logaddexpOp = formula("logaddexp", {
  emit: (f, [a, b]) => emitLogAdd(f, a!, b!, 1),
  grad: [(dy, [a, b]): Tensor => div(dy, add(exp(sub(b!, a!)), 1)), (dy, [a, b]): Tensor => div(dy, add(exp(sub(a!, b!)), 1))],
});
const logaddexp2Op = formula("logaddexp2", {
  emit: (f, [a, b]) => emitLogAdd(f, a!, b!, Math.LOG2E),
  grad: [(dy, [a, b]): Tensor => div(dy, add(exp2(sub(b!, a!)), 1)), (dy, [a, b]): Tensor => div(dy, add(exp2(sub(a!, b!)), 1))],
});

const xlogyOp: Definition<undefined> = formula("xlogy", {
  emit: (f, [x, y]) => f.cases([f.isNan(y!), y!], [f.eq(x!, 0), 0], f.mul(x!, f.log(y!))),
  grad: [
    (dy, [x, y]): Tensor => where(logicalAnd(eq(x!, 0), le(y!, 0)), zero(dy), call(xlogyOp, [dy, y!], undefined)),
    (dy, [x, y]): Tensor => div(mul(dy, x!), y!),
  ],
});
const xlog1pyOp: Definition<undefined> = formula("xlog1py", {
  emit: (f, [x, y]) => f.cases([f.isNan(y!), y!], [f.eq(x!, 0), 0], f.mul(x!, emitLog1p(f.g, y!))),
  grad: [
    (dy, [x, y]): Tensor => where(logicalAnd(eq(x!, 0), le(y!, -1)), zero(dy), call(xlog1pyOp, [dy, y!], undefined)),
    (dy, [x, y]): Tensor => div(mul(dy, x!), add(y!, 1)),
  ],
});

const heavisideOp = binary("heaviside", {
  dtype: computing,
  emit: (g, x, values) => {
    const seen = cast(g, x, "float32");
    const f = new Formula(g, "float32", x.sizes);
    return f.where(f.eq(seen, 0), values, cast(g, f.gt(seen, 0), x.dtype));
  },
  grad: null,
  saves: [],
});

const extreme = (name: "fmax" | "fmin"): ReturnType<typeof binary> =>
  binary(name, {
    operator: name === "fmax" ? "ELEMENT_WISE_MAX" : "ELEMENT_WISE_MIN",
    dtype: computing,
    emit: (g, a, b) => extremeOf(g, name === "fmax" ? "max" : "min", a, b, "yields"),
    grad: (dy, a, b, needs) => {
      const wins = name === "fmax" ? gt : lt;
      const share = where(eq(a, b), mul(dy, 0.5), dy);
      const first = logicalOr(wins(a, b), isnan(b));
      const second = logicalAnd(logicalOr(wins(b, a), isnan(a)), logicalNot(isnan(b)));
      return [needs[0] ? where(second, zero(dy), share) : null, needs[1] ? where(first, zero(dy), share) : null];
    },
  });
const fmaxOp = extreme("fmax");
const fminOp = extreme("fmin");

/** The angle of the point (x, y) in (-π, π]; integers give float32. Reference: torch.atan2. DirectML: ELEMENT_WISE_ATAN_YX. @autocast widest */
export const atan2 = (y: Arithmetic, x: Arithmetic): Tensor => call(atan2Op, realOperands("atan2", y, x), undefined);
/** sqrt(a² + b²), without overflow. Reference: torch.hypot. DirectML: ELEMENT_WISE_SQRT. */
export const hypot = (a: Arithmetic, b: Arithmetic): Tensor => call(hypotOp, realOperands("hypot", a, b), undefined);
/** ln(e^a + e^b). Reference: torch.logaddexp. DirectML: ELEMENT_WISE_EXP and LOG. */
export const logaddexp = (a: Arithmetic, b: Arithmetic): Tensor => call(logaddexpOp, realOperands("logaddexp", a, b), undefined);
/** log2(2^a + 2^b). Reference: torch.logaddexp2. DirectML: ELEMENT_WISE_POW and LOG. */
export const logaddexp2 = (a: Arithmetic, b: Arithmetic): Tensor => call(logaddexp2Op, realOperands("logaddexp2", a, b), undefined);
/** x ln(y), 0 where x is 0. Reference: torch.xlogy. DirectML: ELEMENT_WISE_LOG. */
export const xlogy = (x: Arithmetic, y: Arithmetic): Tensor => call(xlogyOp, realOperands("xlogy", x, y), undefined);
/** x ln(1 + y), 0 where x is 0. Reference: torch.special.xlog1py. DirectML: ELEMENT_WISE_LOG. */
export const xlog1py = (x: Arithmetic, y: Arithmetic): Tensor => call(xlog1pyOp, realOperands("xlog1py", x, y), undefined);

/** 0 for negative x, 1 for positive, `values` where x is 0. One dtype for both. No gradient, as in PyTorch. Reference: torch.heaviside. DirectML: ELEMENT_WISE_SIGN. */
export function heaviside(x: Tensor, values: Tensor): Tensor {
  if (x.dtype !== values.dtype) throw new DTypeError("heaviside", "values", `of x's dtype ${x.dtype}`, values.describe());
  return call(heavisideOp, operands("heaviside", x, values), undefined);
}
/** The larger of a and b, the other one where one is NaN. Reference: torch.fmax. DirectML: ELEMENT_WISE_MAX. */
export const fmax = (a: Arithmetic, b: Arithmetic): Tensor => call(fmaxOp, operands("fmax", a, b), undefined);
/** The smaller of a and b, the other one where one is NaN. Reference: torch.fmin. DirectML: ELEMENT_WISE_MIN. */
export const fmin = (a: Arithmetic, b: Arithmetic): Tensor => call(fminOp, operands("fmin", a, b), undefined);

/** a^b in floating point: integers are float32 first (float64 in PyTorch). Reference: torch.float_power. DirectML: ELEMENT_WISE_POW. */
export function floatPower(a: Arithmetic, b: Arithmetic): Tensor {
  const isRecorded = isGradEnabled() && [a, b].some((v) => v instanceof Tensor && v.requiresGrad);
  // PyTorch's gradient reads copies in float64: later writes to a and b do not reach them.
  const real = (v: Arithmetic): Arithmetic =>
    typeof v !== "object" ? v : !isFloat(v.dtype) ? toDType(v, "float32") : isRecorded ? clone(v) : v;
  return pow(real(a), real(b));
}

const sameFloats = (name: string, promoted: DType): DType => {
  if (!isFloat(promoted)) throw new DTypeError(name, "dtype", "a floating one", promoted);
  return computing(name, promoted);
};
/** With a half-precision tensor, a number keeps float32 precision, as in PyTorch, unless it takes part in the promotion. */
function factor(operation: string, argument: string, tensors: readonly Tensor[], value: number | boolean): Tensor {
  const promoted = resultType(tensors);
  const dtype = isHalf(promoted) && tensors.some((t) => t.rank > 0) ? "float32" : promoted;
  return heldScalar(operation, argument, tensors[0]!.device, dtype, value);
}
const lerpOp = formula("lerp", {
  // From the nearer end, as PyTorch does.
  emit: (f, [a, b, w]) => {
    const d = f.sub(b!, a!);
    return f.where(f.lt(f.abs(w!), 0.5), f.add(a!, f.mul(w!, d)), f.sub(b!, f.mul(d, f.sub(1, w!))));
  },
  grad: [(dy, [, , w]): Tensor => mul(dy, sub(1, w!)), (dy, [, , w]): Tensor => mul(dy, w!), (dy, [a, b]): Tensor => mul(dy, sub(b!, a!))],
  saves: ([a, b, w]) => [...(w ? [0, 1] : []), ...(a || b ? [2] : [])],
  dtype: sameFloats,
});
/** The same by a number, which needs no retainGraph for a second pass. */
const lerpByNumberOp: Definition<undefined> = define({ ...lerpOp, saves: { ...lerpOp.saves, keepsNumbers: true } });
/** a + weight (b - a). weight: a number or a tensor. Floating dtypes. Reference: torch.lerp. DirectML: ELEMENT_WISE_MULTIPLY and ADD. */
export function lerp(a: Tensor, b: Tensor, weight: Tensor | number): Tensor {
  if (a.dtype !== b.dtype) throw new DTypeError("lerp", "b", `of a's dtype ${a.dtype}`, b.describe());
  const w = typeof weight === "number" ? factor("lerp", "weight", [a, b], weight) : weight;
  if (weight instanceof Tensor && w.dtype !== a.dtype) throw new DTypeError("lerp", "weight", `of a's dtype ${a.dtype}`, w.describe());
  operands("lerp", a, b);
  operands("lerp", a, w);
  return call(typeof weight === "number" ? lerpByNumberOp : lerpOp, [a, b, w], undefined);
}

interface Scaled {
  /** Factor of the product or quotient. Default: 1. */
  readonly value?: number | boolean | undefined;
}
const addcmulOp = formula("addcmul", {
  emit: (f, [x, a, b, v]) => f.add(x!, f.mul(v!, f.mul(a!, b!))),
  grad: [(dy): Tensor => dy, (dy, [, , b, v]): Tensor => mul(dy, mul(b!, v!)), (dy, [, a, , v]): Tensor => mul(dy, mul(a!, v!)), null],
  saves: ([, a, b]) => [...(b ? [1] : []), ...(a ? [2] : []), ...(a || b ? [3] : [])],
  dtype: sameFloats,
});
const addcdivOp = formula("addcdiv", {
  emit: (f, [x, a, b, v]) => f.add(x!, f.mul(v!, f.div(a!, b!))),
  grad: [
    (dy): Tensor => dy,
    (dy, [, , b, v]): Tensor => mul(dy, div(v!, b!)),
    (dy, [, a, b, v]): Tensor => neg(mul(dy, div(mul(v!, a!), square(b!)))),
    null,
  ],
  saves: ([, a, b]) => [...(b ? [1] : []), ...(a || b ? [2, 3] : [])],
  dtype: sameFloats,
});
/** x + value a b. Shapes broadcast; dtypes promote. Reference: torch.addcmul. DirectML: ELEMENT_WISE_MULTIPLY and ADD. @autocast widest */
export function addcmul(x: Tensor, a: Tensor, b: Tensor, { value = 1 }: Scaled = {}): Tensor {
  const dtype = resultType([x, a, b]);
  requireSameDevice("addcmul", [x, a, b]);
  if (!isFloat(dtype)) requireRepresentable("addcmul", "value", dtype, value);
  if (!isFloat(dtype)) return add(x, Number(value) === 1 ? mul(a, b) : mul(mul(a, b), Math.trunc(Number(value))));
  return call(addcmulOp, [x, a, b, factor("addcmul", "value", [x, a, b], value)], undefined);
}
/** x + value a / b. Floating dtypes. Reference: torch.addcdiv. DirectML: ELEMENT_WISE_DIVIDE and ADD. @autocast widest */
export function addcdiv(x: Tensor, a: Tensor, b: Tensor, { value = 1 }: Scaled = {}): Tensor {
  requireSameDevice("addcdiv", [x, a, b]);
  if (!isFloat(a.dtype) && !isFloat(b.dtype))
    throw new DTypeError("addcdiv", "a or b", "of a floating dtype", `${a.describe()}, ${b.describe()}`);
  return call(addcdivOp, [x, a, b, factor("addcdiv", "value", [x, a, b], value)], undefined);
}

export const methods = { atan2, hypot, logaddexp, logaddexp2, xlogy, heaviside, fmax, fmin, floatPower, lerp, addcmul, addcdiv };
export const inPlaceMethods = {
  atan2_: atan2,
  hypot_: hypot,
  xlogy_: xlogy,
  heaviside_: heaviside,
  floatPower_: floatPower,
  lerp_: lerp,
  addcmul_: addcmul,
  addcdiv_: addcdiv,
};

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("arc", "atan2", [real([3, 4], 0.5, 2), real([4], 0.5, 2)], (a, b) => atan2(a!, b!)),
  sample("composed", "logarithms of sums", [real([3, 4]), real([4])], (a, b) => [logaddexp(a!, b!), logaddexp2(a!, b!)]),
  sample("composed", "products with a logarithm", [real([3, 4]), real([4], 0.5, 2)], (a, b) => [xlogy(a!, b!), xlog1py(a!, b!)]),
  sample("exact", "heaviside", [real([3, 4]), real([4])], (a, b) => heaviside(a!.detach(), b!.detach())),
  sample("composed", "lerp, addcmul and addcdiv", [real([3, 4]), real([4], 0.5, 2), real([3, 1], 0.5, 2)], (a, b, c) => [
    lerp(a!, b!, c!),
    addcmul(a!, b!, c!, { value: 0.5 }),
    addcdiv(a!, b!, c!, { value: 0.5 }),
  ]),
];
