/** Activation functions. Each takes float16 or float32 and keeps shape and dtype. @functional */
import { swigluGradientShader, swigluShader, unaryShader } from "../../shader/kernels/select.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { chosenBy, tie } from "../../autograd/tie.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import { isInteger } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import type { Expr } from "../../graph/graph.ts";
import { scalarTensor } from "../../runtime/constants.ts";
import { sameShape } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { add, div, mul, sub } from "./binary.ts";
import { bySlopes, type Slope } from "./slope.ts";
import { eq, ge, gt, le, lt } from "./compare.ts";
import { zerosLike } from "../creation/creation.ts";
import { asFloat, roundedOnce, toDType } from "../data/conversion.ts";
import { define, type Definition } from "../../core/definition.ts";
import { formula } from "./formula.ts";
import { chunk } from "../shape/join.ts";
import { reshape } from "../shape/movement.ts";
import { detach } from "../data/state.ts";
import { BOOL, constant, requireFloat } from "../declare/support.ts";
import { abs, erf, exp, square, tanh } from "./unary.ts";
import { clamp, clampMax, where } from "./where.ts";
import { half, sample, type Sample, real } from "../declare/sample.ts";
import { byPosition } from "../declare/positional.ts";

interface ActivationOptions<A> {
  readonly emit: (g: GraphBuilder, x: Expr, attrs: A) => Expr;
  /** dx from dy, input and output. */
  readonly grad: (dy: Tensor, x: Tensor, y: Tensor, attrs: A) => Tensor;
  readonly saves: "input" | "output" | "both";
}

/** @internal */
export function activation<A>(name: string, { emit, grad, saves }: ActivationOptions<A>): Definition<A> {
  return define<A>({
    name,
    traits: { elementwise: true },
    infer: ([x]) => [x!],
    lower: (g, [x], attrs) => [emit(g, x!, attrs)],
    grad: (dy, { inputs: [x], outputs: [y], attrs }) => [grad(dy, x!, y!, attrs)],
    saves: { inputs: saves === "output" ? [] : [0], outputs: saves !== "input" },
  });
}

/** A gradient by dy and one other tensor, as one operation, rounded once; null while it is to be differentiated itself. */
function gradientOf(name: string, emit: (g: GraphBuilder, dy: Expr, v: Expr) => Expr): (dy: Tensor, v: Tensor) => Tensor | null {
  const op = formula(name, { emit: (f, [dy, v]) => emit(f.g, dy!, v!), grad: null });
  return (dy, v) => (isGradEnabled() ? null : call(op, [dy, v], undefined));
}

/** @internal */
export const zero = (like: Tensor): Tensor => scalarTensor(like.device, like.dtype, 0);

/** @internal y, but NaN where x is: some of DirectML's activations use minima and maxima, which drop it. */
export const withNaN = (g: GraphBuilder, x: Expr, y: Expr): Expr => g.elementWiseIf(g.elementWiseIsNan(x, BOOL), x, y);

/** 0 where x is at most 0, dy elsewhere: at NaN too, which ACTIVATION_RELU_GRAD takes for 0. That is one operator where nothing fuses. */
const reluGradOp: Definition<undefined> = define({
  name: "reluGrad",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x, dy]) => {
    if (!g.capabilities.fusesGraphs) return [g.activationReluGrad(x!, dy!)];
    const none = constant(g, x!.dtype, 0, x!.sizes);
    return [g.elementWiseIf(g.elementWiseLogicalLessThanOrEqual(x!, none, BOOL), none, dy!)];
  },
  grad: (ddx, { inputs: [x], needs }) => [needs[0] ? zerosLike(ddx) : null, call(reluGradOp, [x!, ddx], undefined)],
  saves: { inputs: [0], outputs: false },
});

/** @internal The gradient of relu() by its value y. */
export const reluBy = (y: Tensor, dy: Tensor): Tensor => call(reluGradOp, [y, dy], undefined);

const reluOp = activation<undefined>("relu", {
  // RELU makes 0 of NaN, and fused NaN of -infinity; this one is as fast and does neither.
  emit: (g, x) => unaryShader(g, "relu", x) ?? g.activationThresholdedRelu(x, { alpha: 0 }),
  grad: (dy, _, y) => call(reluGradOp, [y, dy], undefined),
  saves: "output",
});
const sigmoidGradient = gradientOf("sigmoidGrad", (g, dy, y) =>
  g.elementWiseMultiply(dy, g.elementWiseMultiply(y, g.elementWiseIdentity(y, { scaleBias: [-1, 1] }))),
);
const sigmoidOp = activation<undefined>("sigmoid", {
  emit: (g, x) => g.activationSigmoid(x),
  grad: (dy, _, y) => sigmoidGradient(dy, y) ?? bySlopes(dy, y, [(d, v) => mul(d, mul(v, sub(1, v))), (d, v) => mul(d, sub(1, mul(v, 2)))]),
  saves: "output",
});
const leakyReluOp = activation<{ readonly slope: number }>("leakyRelu", {
  emit: (g, x, { slope }) => g.activationLeakyRelu(x, { alpha: slope }),
  grad: (dy, x, _, { slope }) => chosenBy(dy, x, (d, v) => where(gt(v, 0), d, mul(d, slope))),
  saves: "input",
});
/** dy times low e^(x / width) below 0 and high above it. At 0 it is low and does not change: its own derivative is 0 there, as in PyTorch. */
function eluGradient(dy: Tensor, x: Tensor, low: number, high: number, width: number): Tensor {
  const power = (v: Tensor): Tensor => exp(width === 1 ? v : div(v, width));
  if (!isGradEnabled()) return where(le(x, 0), mul(dy, mul(power(x), low)), mul(dy, high));
  return bySlopes(dy, x, [
    (d, v) => mul(d, where(le(v, 0), mul(power(v), low), high)),
    // Above 0 the power may be infinite, and its gradient then no number.
    (d, v) => mul(d, where(lt(v, 0), mul(power(where(lt(v, 0), v, 0)), low / width), 0)),
  ]);
}

const eluOp = activation<{ readonly alpha: number }>("elu", {
  emit: (g, x, { alpha }) => g.activationElu(x, { alpha }),
  grad: (dy, x, _, { alpha }) => eluGradient(dy, x, alpha, 1, 1),
  saves: "input",
});
const SELU = { alpha: 1.6732632423543772, gamma: 1.0507009873554805 };
const seluOp = activation<undefined>("selu", {
  emit: (g, x) => g.activationScaledElu(x, SELU),
  grad: (dy, x) => eluGradient(dy, x, SELU.alpha * SELU.gamma, SELU.gamma, 1),
  saves: "input",
});
const celuOp = activation<{ readonly alpha: number }>("celu", {
  emit: (g, x, { alpha }) => (alpha === 1 ? g.activationElu(x, { alpha }) : withNaN(g, x, g.activationCelu(x, { alpha }))),
  grad: (dy, x, _, { alpha }) => eluGradient(dy, x, 1, 1, alpha),
  saves: "input",
});

/** x * sigmoid(x), by ACTIVATION_SWISH where the device has it. */
const emitSilu = (g: GraphBuilder, x: Expr): Expr =>
  g.supports("ACTIVATION_SWISH", x.dtype)
    ? g.activationSwish(x, { sigmoidInputScale: 1 })
    : g.elementWiseMultiply(x, g.activationSigmoid(x));

/** dy s (1 + x (1 - s)) */
const siluGradient = gradientOf("siluGrad", (g, dy, x) => {
  const s = g.activationSigmoid(x);
  const rest = g.elementWiseMultiply(x, g.elementWiseIdentity(s, { scaleBias: [-1, 1] }));
  return g.elementWiseMultiply(dy, g.elementWiseMultiply(s, g.elementWiseIdentity(rest, { scaleBias: [1, 1] })));
});
const siluOp = activation<undefined>("silu", {
  emit: emitSilu,
  grad: (dy, x) => {
    const atOnce = siluGradient(dy, x);
    if (atOnce !== null) return atOnce;
    const s = sigmoid(x);
    return mul(dy, mul(s, add(mul(x, sub(1, s)), 1)));
  },
  saves: "input",
});

/** The gradients of swiglu by x and gate, from both and dy. */
const swigluGradOp: Definition<undefined> = define({
  name: "swigluGrad",
  traits: { elementwise: true },
  infer: ([x, gate]) => [x!, gate!],
  lower: (g, [x, gate, dy]) => {
    const launched = swigluGradientShader(g, x!, gate!, dy!);
    if (launched !== null) return launched;
    const s = g.activationSigmoid(gate!);
    // s (1 + gate (1 - s)), without a difference of large numbers.
    const slope = g.elementWiseAdd(s, g.elementWiseMultiply(emitSilu(g, gate!), g.activationSigmoid(g.elementWiseNegate(gate!))));
    return [g.elementWiseMultiply(dy!, emitSilu(g, gate!)), g.elementWiseMultiply(g.elementWiseMultiply(dy!, x!), slope)];
  },
  grad: null,
});

const swigluOp: Definition<undefined> = define({
  name: "swiglu",
  traits: { elementwise: true },
  infer: ([x]) => [x!],
  lower: (g, [x, gate]) => [swigluShader(g, x!, gate!) ?? g.elementWiseMultiply(x!, emitSilu(g, gate!))],
  grad: (dy, { inputs: [x, gate], needs }) => {
    if (!isGradEnabled()) return dispatch(swigluGradOp, [x!, gate!, dy], undefined);
    const s = sigmoid(gate!);
    const slope = mul(s, add(mul(gate!, sub(1, s)), 1));
    return [needs[0] ? mul(dy, mul(gate!, s)) : null, needs[1] ? mul(mul(dy, x!), slope) : null];
  },
  saves: { inputs: [0, 1], outputs: false },
});

const geluGradient = gradientOf("geluGrad", (g, dy, x) => {
  const phi = g.elementWiseIdentity(g.elementWiseErf(x, { scaleBias: [Math.SQRT1_2, 0] }), { scaleBias: [0.5, 0.5] });
  const bell = g.elementWiseExp(g.elementWiseMultiply(x, x), { scaleBias: [-0.5, 0] });
  const density = g.elementWiseIdentity(bell, { scaleBias: [1 / Math.sqrt(2 * Math.PI), 0] });
  return g.elementWiseMultiply(dy, g.elementWiseAdd(phi, g.elementWiseMultiply(x, density)));
});
const geluOp = activation<undefined>("gelu", {
  emit: (g, x) => {
    const shader = unaryShader(g, "gelu", x);
    if (shader !== null) return shader;
    if (g.supports("ACTIVATION_GELU", x.dtype)) return g.activationGelu(x);
    const phi = g.elementWiseIdentity(g.elementWiseErf(x, { scaleBias: [Math.SQRT1_2, 0] }), { scaleBias: [0.5, 0.5] });
    return g.elementWiseMultiply(x, phi);
  },
  grad: (dy, x) => {
    const atOnce = geluGradient(dy, x);
    if (atOnce !== null) return atOnce;
    const density = (v: Tensor): Tensor => mul(exp(mul(square(v), -0.5)), 1 / Math.sqrt(2 * Math.PI));
    return bySlopes(dy, x, [
      (d, v) => mul(d, add(add(mul(erf(mul(v, Math.SQRT1_2)), 0.5), 0.5), mul(v, density(v)))),
      (d, v) => mul(d, mul(density(v), sub(2, square(v)))),
    ]);
  },
  saves: "input",
});

/** 2 √(2/π), and the factor of x² in 2 √(2/π) (x + 0.044715 x³) = x (LINEAR + CUBIC x²). */
const LINEAR = 2 * Math.sqrt(2 / Math.PI);
const CUBIC = LINEAR * 0.044715;
/** Far beyond where the derivative is 0 or 1: a larger square times 0 need not be 0. */
const FAR = 1e4;

const geluTanhGradient = gradientOf("geluTanhGrad", (g, dy, x) => {
  const squared = g.elementWiseMultiply(x, x);
  const s = g.activationSigmoid(g.elementWiseMultiply(x, g.elementWiseIdentity(squared, { scaleBias: [CUBIC, LINEAR] })));
  const bell = g.elementWiseMultiply(s, g.elementWiseIdentity(s, { scaleBias: [-1, 1] }));
  const slope = g.elementWiseIdentity(g.elementWiseClip(squared, { min: 0, max: FAR }), { scaleBias: [3 * CUBIC, LINEAR] });
  return g.elementWiseMultiply(dy, g.elementWiseAdd(s, g.elementWiseMultiply(g.elementWiseMultiply(x, bell), slope)));
});
/** x * sigmoid(2 u), which is x (1 + tanh(u)) / 2 and keeps small results. */
const geluTanhOp = formula("geluTanh", {
  emit: (f, [x]) => f.mul(x!, f.g.activationSigmoid(f.mul(x!, f.affine(f.square(x!), CUBIC, LINEAR)))),
  grad: [
    (dy, [input]): Tensor => {
      const atOnce = geluTanhGradient(dy, input!);
      if (atOnce !== null) return atOnce;
      // s = sigmoid(w), its derivative by w, and w'.
      const parts = (v: Tensor): readonly [Tensor, Tensor, Tensor] => {
        const squared = square(v);
        const s = sigmoid(mul(v, add(mul(squared, CUBIC), LINEAR)));
        return [s, mul(s, sub(1, s)), add(mul(clampMax(squared, FAR), 3 * CUBIC), LINEAR)];
      };
      const slope: Slope = (d, v) => {
        const [s, bell, rate] = parts(v);
        return mul(d, add(s, mul(mul(v, bell), rate)));
      };
      const curve: Slope = (d, v) => {
        const [s, bell, rate] = parts(v);
        const bend = add(mul(sub(1, mul(s, 2)), square(rate)), mul(v, 6 * CUBIC));
        return mul(d, mul(bell, add(mul(rate, 2), mul(v, bend))));
      };
      return toDType(bySlopes(toDType(dy, "float32"), toDType(input!, "float32"), [slope, curve]), dy.dtype);
    },
  ],
});

interface SoftplusAttributes {
  readonly beta: number;
  readonly threshold: number;
}

/** The same by the operator, where it is known to lose no small results. */
const wholeSoftplus = (g: GraphBuilder, x: Expr, { beta, threshold }: SoftplusAttributes): Expr => {
  // Beyond 20 the result rounds to x.
  if (beta === 1 && threshold >= 20) return g.activationSoftplus(x, { steepness: 1 });
  const scaled = g.elementWiseIdentity(x, { scaleBias: [beta, 0] });
  const soft = g.elementWiseIdentity(g.activationSoftplus(scaled, { steepness: 1 }), { scaleBias: [1 / beta, 0] });
  return g.elementWiseIf(g.elementWiseLogicalGreaterThan(scaled, constant(g, x.dtype, threshold, x.sizes), BOOL), x, soft);
};

/** ln(1 + e^(beta x)) / beta as max(beta x, 0) / beta + ln(1 + e^-|beta x|) / beta, which neither overflows nor loses small results. */
const emitSoftplus = (g: GraphBuilder, x: Expr, { beta, threshold }: SoftplusAttributes): Expr => {
  if (g.capabilities.fusesGraphs) return wholeSoftplus(g, x, { beta, threshold });
  const scaled = g.elementWiseIdentity(x, { scaleBias: [beta, 0] });
  const tail = g.elementWiseExp(g.elementWiseAbs(scaled), { scaleBias: [-1, 0] });
  const log = g.elementWiseLog(tail, { scaleBias: [1, 1] });
  // Where 1 + tail rounds to 1, ln(1 + tail) is tail.
  const number = (v: number): Expr => constant(g, x.dtype, v, x.sizes);
  const small = g.elementWiseLogicalLessThan(tail, number(x.dtype === "float16" ? 1e-2 : 1e-4), BOOL);
  const near = g.elementWiseSubtract(tail, g.elementWiseMultiply(g.elementWiseIdentity(tail, { scaleBias: [0.5, 0] }), tail));
  const rest = g.elementWiseIdentity(g.elementWiseIf(small, near, log), { scaleBias: [1 / beta, 0] });
  // max(beta x, 0) / beta
  const linearPart = beta > 0 ? g.activationRelu(x) : g.elementWiseSubtract(x, g.activationRelu(x));
  const soft = g.elementWiseAdd(linearPart, rest);
  return g.elementWiseIf(g.elementWiseLogicalGreaterThan(scaled, number(threshold), BOOL), x, soft);
};

const softplusOp = activation<SoftplusAttributes>("softplus", {
  emit: emitSoftplus,
  grad: (dy, x, _, { beta, threshold }) => {
    const isLinear = (v: Tensor): Tensor => gt(mul(v, beta), threshold);
    return bySlopes(dy, x, [
      (d, v) => where(isLinear(v), d, mul(d, sigmoid(mul(v, beta)))),
      (d, v) => {
        const s = sigmoid(mul(v, beta));
        return mul(d, where(isLinear(v), 0, mul(mul(s, sub(1, s)), beta)));
      },
    ]);
  },
  saves: "input",
});

const logSigmoidOp = activation<undefined>("logSigmoid", {
  emit: (g, x) => {
    const soft = emitSoftplus(g, g.elementWiseIdentity(x, { scaleBias: [-1, 0] }), { beta: 1, threshold: Infinity });
    return g.elementWiseIdentity(soft, { scaleBias: [-1, 0] });
  },
  grad: (dy, x) => mul(dy, sigmoid(mul(x, -1))),
  saves: "input",
});

function finite(operation: string, name: string, value: number): void {
  if (!Number.isFinite(value)) throw new ValueError(operation, name, "a finite number", value);
}

/** max(x, 0); NaN stays. DirectML: ACTIVATION_THRESHOLDED_RELU. Reference: torch.nn.functional.relu. Integers are taken too. */
export function relu(x: Tensor): Tensor {
  return isInteger(x.dtype) ? clamp(x, 0) : floatOnly("relu", x, () => call(reluOp, [x], undefined));
}

/** @internal */
export function floatOnly(operation: string, x: Tensor, run: () => Tensor): Tensor {
  requireFloat(operation, x);
  return run();
}

/** 1 / (1 + e^-x). Integers give float32. DirectML: ACTIVATION_SIGMOID. Reference: torch.sigmoid. */
export function sigmoid(x: Tensor): Tensor {
  const real = asFloat(x);
  return floatOnly("sigmoid", real, () => call(sigmoidOp, [real], undefined));
}

/** x where x > 0, negativeSlope * x elsewhere. negativeSlope: finite, default 0.01. DirectML: ACTIVATION_LEAKY_RELU. Reference: torch.nn.functional.leaky_relu. */
export function leakyRelu(
  x: Tensor,
  negativeSlope:
    | number
    | {
        /** Factor of numbers below 0. Default: 0.01. */
        readonly negativeSlope?: number;
        /** @deprecated Use negativeSlope. */
        readonly slope?: number;
      } = 0.01,
): Tensor {
  const slope = typeof negativeSlope === "object" ? (negativeSlope.negativeSlope ?? 0.01) : negativeSlope;
  finite("leakyRelu", "negativeSlope", slope);
  return floatOnly("leakyRelu", x, () => call(leakyReluOp, [x], { slope }));
}

/** x where x > 0, alpha * (e^x - 1) elsewhere. DirectML: ACTIVATION_ELU. Reference: torch.nn.functional.elu. */
export function elu(
  x: Tensor,
  alpha:
    | number
    | {
        /** What the function tends to below 0, negated. Default: 1. */
        readonly alpha?: number;
      } = 1,
): Tensor {
  const value = typeof alpha === "object" ? (alpha.alpha ?? 1) : alpha;
  finite("elu", "alpha", value);
  return floatOnly("elu", x, () => call(eluOp, [x], { alpha: value }));
}

/** 1.0507 * elu(x, 1.6733). DirectML: ACTIVATION_SCALED_ELU. Reference: torch.nn.functional.selu. */
export const selu = (x: Tensor): Tensor => floatOnly("selu", x, () => call(seluOp, [x], undefined));

/** max(x, 0) + min(0, alpha * (e^(x / alpha) - 1)). DirectML: ACTIVATION_CELU. Reference: torch.nn.functional.celu. */
export function celu(
  x: Tensor,
  alpha:
    | number
    | {
        /** What the function tends to below 0, negated. Default: 1. */
        readonly alpha?: number;
      } = 1,
): Tensor {
  const value = typeof alpha === "object" ? (alpha.alpha ?? 1) : alpha;
  finite("celu", "alpha", value);
  if (value === 0) throw new ValueError("celu", "alpha", "not 0", value);
  return floatOnly("celu", x, () => call(celuOp, [x], { alpha: value }));
}

/** x * sigmoid(x). DirectML: ACTIVATION_SWISH, or SIGMOID and MULTIPLY. Reference: torch.nn.functional.silu. */
export const silu = (x: Tensor): Tensor => floatOnly("silu", x, () => call(siluOp, [x], undefined));

/** x * Φ(x); approximate "tanh": 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). DirectML: ACTIVATION_GELU or ERF; SIGMOID. Reference: torch.nn.functional.gelu. */
export function gelu(
  x: Tensor,
  approximate:
    | "none"
    | "tanh"
    | {
        /** "tanh" for the formula with tanh, "none" for the exact one. Default: "none". */
        readonly approximate?: "none" | "tanh";
      } = "none",
): Tensor {
  const value = typeof approximate === "object" ? (approximate.approximate ?? "none") : approximate;
  if (value !== "none" && value !== "tanh") throw new ValueError("gelu", "approximate", '"none" or "tanh"', value);
  requireFloat("gelu", x);
  return call(value === "none" ? geluOp : geluTanhOp, [x], undefined);
}

/** Options of softplus(). Reference: torch.nn.functional.softplus. */
export interface SoftplusOptions {
  /** Factor of x inside. Default: 1. */
  readonly beta?: number;
  /** From beta * x above it on the result is x itself. Default: 20. */
  readonly threshold?: number;
}

/** ln(1 + e^(beta x)) / beta, and x where beta x > threshold. DirectML: EXP, LOG. Reference: torch.nn.functional.softplus. @autocast float32 */
export function softplus(x: Tensor, beta?: number | SoftplusOptions, threshold?: number): Tensor {
  const settings =
    typeof beta === "object" && threshold === undefined
      ? beta
      : byPosition<SoftplusOptions>("softplus", ["beta", "threshold"], [beta, threshold]);
  const { beta: factor = 1, threshold: limit = 20 } = settings;
  finite("softplus", "beta", factor);
  if (factor === 0) throw new ValueError("softplus", "beta", "not 0", factor);
  return floatOnly("softplus", x, () => call(softplusOp, [x], { beta: factor, threshold: limit }));
}

/** ln(sigmoid(x)), exact for large negative x too. Reference: torch.nn.functional.logsigmoid. */
export const logSigmoid = (x: Tensor): Tensor => floatOnly("logSigmoid", x, () => call(logSigmoidOp, [x], undefined));

const mishGradient = gradientOf("mishGrad", (g, dy, x) => {
  const t = g.elementWiseTanh(emitSoftplus(g, x, { beta: 1, threshold: 20 }));
  const rest = g.elementWiseIdentity(g.elementWiseMultiply(t, t), { scaleBias: [-1, 1] });
  const slope = g.elementWiseMultiply(g.elementWiseMultiply(x, g.activationSigmoid(x)), rest);
  return g.elementWiseMultiply(dy, g.elementWiseAdd(t, slope));
});
const mishOp = formula("mish", {
  emit: (f, [x]) => f.mul(x!, f.g.elementWiseTanh(emitSoftplus(f.g, x!, { beta: 1, threshold: 20 }))),
  grad: [
    (dy, [input]): Tensor => {
      const atOnce = mishGradient(dy, input!);
      if (atOnce !== null) return atOnce;
      const x = toDType(input!, "float32");
      const t = tanh(softplus(x));
      return toDType(mul(dy, add(t, mul(mul(x, sigmoid(x)), sub(1, square(t))))), dy.dtype);
    },
  ],
});
/** x * tanh(softplus(x)). DirectML: ELEMENT_WISE_TANH, EXP, LOG. Reference: torch.nn.functional.mish. */
export const mish = (x: Tensor): Tensor => floatOnly("mish", x, () => call(mishOp, [x], undefined));

/** x / (1 + |x|). Integers give float32. Reference: torch.nn.functional.softsign. */
export const softsign = (x: Tensor): Tensor => div(x, add(abs(x), 1));

const preluOp = formula("prelu", {
  emit: (f, [x, weight]) => f.where(f.gt(x!, 0), x!, f.mul(x!, weight!)),
  // Chosen, not multiplied: the other side may be infinite.
  grad: [
    (dy, [x, weight]): Tensor => {
      const below = mul(dy, weight!);
      if (!isGradEnabled()) return where(gt(x!, 0), dy, below);
      // At 0 the value is that of below, the derivatives by dy and weight those of above: PyTorch's.
      const at = add(dy, detach(sub(below, dy)));
      return tie(where(gt(x!, 0), dy, where(eq(x!, 0), at, below)), x!);
    },
    (dy, [x, weight]): Tensor => tie(where(ge(x!, 0), zero(dy), mul(dy, x!)), weight!),
  ],
});
/** x where x > 0, weight * x elsewhere; weight has one element, or one for each index of axis 1. Reference: torch.nn.functional.prelu. @autocast lower */
export function prelu(x: Tensor, weight: Tensor): Tensor {
  requireFloat("prelu", x);
  requireFloat("prelu", weight, "weight");
  const channels = x.rank >= 2 ? x.shape[1]! : 1;
  if (weight.rank > 1 || (weight.size !== 1 && weight.size !== channels))
    throw new ValueError("prelu", "weight", `of at most one axis, with 1 or ${channels} elements`, weight.describe());
  const shaped =
    weight.size === 1
      ? reshape(
          weight,
          x.shape.map(() => 1),
        )
      : reshape(
          weight,
          x.shape.map((_, i) => (i === 1 ? channels : 1)),
        );
  return call(preluOp, [x, shaped], undefined);
}
/** The first half along an axis times the sigmoid of the second. Reference: torch.nn.functional.glu. */
export function glu(x: Tensor, axis = -1): Tensor {
  requireFloat("glu", x);
  const [a, b] = chunk(x, 2, axis);
  if (a === undefined || b === undefined || a.shape.some((d, i) => d !== b.shape[i]))
    throw new ValueError("glu", "axis", "an axis of even length", axis);
  return roundedOnce([a, b], (p, q) => mul(p!, sigmoid(q!)));
}

/**
 * x * silu(gate), element by element: what a feed-forward block does between its linear layers. x, gate: float16, float32 or bfloat16, of the same
 * shape and dtype. Result: the same. One kernel where the library's shader is chosen. Reference: x * torch.nn.functional.silu(gate).
 */
export function swiglu(x: Tensor, gate: Tensor): Tensor {
  requireFloat("swiglu", x);
  if (gate.dtype !== x.dtype) throw new DTypeError("swiglu", "gate", `of x's dtype, ${x.dtype}`, gate.describe());
  if (!sameShape(x.shape, gate.shape)) throw new ShapeError("swiglu", "gate", `of x's shape, ${x.describe()}`, gate.describe());
  return call(swigluOp, [x, gate], undefined);
}

export const methods = { relu, sigmoid };
export const inPlaceMethods = { relu_: relu, sigmoid_: sigmoid };

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("exact", "relu", [real([2, 3, 4])], (x) => relu(x!)),
  sample("composed", "swiglu", [real([2, 3, 4]), real([2, 3, 4])], (x, gate) => swiglu(x!, gate!)),
  sample("composed", "swiglu of float16", [half([2, 33]), half([2, 33])], (x, gate) => swiglu(x!, gate!)),
];
