/** Forms of elementwise operations. */
import { isFloat } from "../../core/dtype.ts";
import { ELEMENT_TYPES } from "./element-types.ts";
import type { Name } from "./onnx-graph.ts";
import { form, type Form, type Forms } from "./form.ts";
import { where } from "./lowered.ts";

/** A function of real numbers: integers are taken as the result's dtype. */
const real = (type: string): Form => form((c) => c.node(type, [c.cast(c.x, c.dtype)]));
/** Arithmetic in the result's dtype. */
const binary = (type: string): Form =>
  form((c) =>
    c.node(
      type,
      c.inputs.map((x) => c.cast(x, c.dtype)),
    ),
  );
/** Arithmetic where bool is logic. */
const orLogic = (type: string, logic: string): Form =>
  form((c) =>
    c.node(
      c.dtype === "bool" ? logic : type,
      c.inputs.map((x) => c.cast(x, c.dtype)),
    ),
  );
const comparison = (type: string): Form =>
  form((c) =>
    c.node(
      type,
      c.inputs.map((x) => c.cast(x, c.common)),
    ),
  );
const logic = (type: string): Form =>
  form((c) =>
    c.node(
      type,
      c.inputs.map((x) => c.cast(x, "bool")),
    ),
  );
/** Integers are what they are. */
const rounding = (type: string): Form => form((c) => (isFloat(c.dtype) ? c.node(type, [c.x.name]) : c.node("Identity", [c.x.name])));
const scaledLog = (factor: number): Form => form((c) => c.node("Mul", [c.node("Log", [c.cast(c.x, c.dtype)]), c.number(factor)]));

const gelu = (approximate: "none" | "tanh"): Form =>
  form((c) => {
    const x = c.x.name;
    if (c.graph.opset >= 20) return c.node("Gelu", [x], { approximate });
    const half = c.node("Mul", [x, c.number(0.5)]);
    if (approximate === "none")
      return c.node("Mul", [half, c.node("Add", [c.node("Erf", [c.node("Div", [x, c.number(Math.SQRT2)])]), c.number(1)])]);
    const cube = c.node("Mul", [c.node("Mul", [x, x]), x]);
    const inner = c.node("Add", [x, c.node("Mul", [cube, c.number(0.044715)])]);
    return c.node("Mul", [half, c.node("Add", [c.node("Tanh", [c.node("Mul", [inner, c.number(Math.sqrt(2 / Math.PI))])]), c.number(1)])]);
  });

const products = (type: "Mul" | "Div"): Form =>
  form((c) => {
    const [x, a, b, v] = c.inputs.map((t) => c.cast(t, c.dtype)) as [Name, Name, Name, Name];
    return c.node("Add", [x, c.node("Mul", [v, c.node(type, [a, b])])]);
  });

export const elementwise: Forms = {
  addcmul: products("Mul"),
  addcdiv: products("Div"),
  swiglu: form((c) => {
    const [x, gate] = c.inputs.map((t) => t.name) as [Name, Name];
    return c.node("Mul", [x, c.node("Mul", [gate, c.node("Sigmoid", [gate])])]);
  }),
  remainder: form((c) => {
    const [a, b] = c.inputs.map((t) => c.cast(t, c.dtype)) as [Name, Name];
    if (!isFloat(c.dtype)) return c.node("Mod", [a, b]);
    return c.node("Sub", [a, c.node("Mul", [b, c.node("Floor", [c.node("Div", [a, b])])])]);
  }),
  isfinite: form((c) => c.node("Not", [c.node("Or", [c.node("IsNaN", [c.x.name]), c.node("IsInf", [c.x.name])])])),
  add: orLogic("Add", "Or"),
  sub: binary("Sub"),
  mul: orLogic("Mul", "And"),
  div: binary("Div"),
  maximum: orLogic("Max", "Or"),
  minimum: orLogic("Min", "And"),
  pow: form<{ exponent: number } | undefined>((c) =>
    c.inputs.length === 2
      ? c.node(
          "Pow",
          c.inputs.map((x) => c.cast(x, c.dtype)),
        )
      : c.node("Pow", [c.cast(c.x, c.dtype), c.number(c.attrs!.exponent)]),
  ),
  eq: comparison("Equal"),
  ne: form((c) =>
    c.node("Not", [
      c.node(
        "Equal",
        c.inputs.map((x) => c.cast(x, c.common)),
      ),
    ]),
  ),
  lt: comparison("Less"),
  le: comparison("LessOrEqual"),
  gt: comparison("Greater"),
  ge: comparison("GreaterOrEqual"),
  logicalAnd: logic("And"),
  logicalOr: logic("Or"),
  logicalXor: logic("Xor"),
  logicalNot: logic("Not"),
  where: form((c) => {
    const [yes, no] = c.inputs.slice(1).map((x) => c.cast(x, c.dtype)) as [Name, Name];
    return where(c.graph, c.cast(c.x, "bool"), yes, no, c.dtype);
  }),
  valueScale2d: form<{ scale: number; bias: readonly number[] }>((c) => {
    const { scale, bias } = c.attrs;
    return c.node("Add", [c.node("Mul", [c.x.name, c.number(scale)]), c.graph.constant(c.dtype, [bias.length, 1, 1], bias)]);
  }),
  abs: form((c) => c.node("Abs", [c.x.name])),
  neg: form((c) => c.node("Neg", [c.x.name])),
  sign: form((c) => c.node("Sign", [c.x.name])),
  square: form((c) => c.node("Mul", [c.x.name, c.x.name])),
  floor: rounding("Floor"),
  ceil: rounding("Ceil"),
  round: rounding("Round"),
  trunc: form((c) =>
    isFloat(c.dtype)
      ? c.node("Mul", [c.node("Sign", [c.x.name]), c.node("Floor", [c.node("Abs", [c.x.name])])])
      : c.node("Identity", [c.x.name]),
  ),
  exp: real("Exp"),
  exp2: form((c) => c.node("Pow", [c.number(2), c.cast(c.x, c.dtype)])),
  expm1: form((c) => c.node("Sub", [c.node("Exp", [c.cast(c.x, c.dtype)]), c.number(1)])),
  log: real("Log"),
  log2: scaledLog(Math.LOG2E),
  log10: scaledLog(Math.LOG10E),
  log1p: form((c) => c.node("Log", [c.node("Add", [c.cast(c.x, c.dtype), c.number(1)])])),
  sqrt: real("Sqrt"),
  std: real("Sqrt"),
  rsqrt: form((c) => c.node("Reciprocal", [c.node("Sqrt", [c.cast(c.x, c.dtype)])])),
  reciprocal: real("Reciprocal"),
  sin: real("Sin"),
  cos: real("Cos"),
  tan: real("Tan"),
  asin: real("Asin"),
  acos: real("Acos"),
  atan: real("Atan"),
  sinh: real("Sinh"),
  cosh: real("Cosh"),
  tanh: real("Tanh"),
  asinh: real("Asinh"),
  acosh: real("Acosh"),
  atanh: real("Atanh"),
  erf: real("Erf"),
  erfc: form((c) => c.node("Sub", [c.number(1), c.node("Erf", [c.cast(c.x, c.dtype)])])),
  isnan: form((c) => c.node("IsNaN", [c.x.name])),
  isinf: form((c) => c.node("IsInf", [c.x.name])),
  squaredDifference: form((c) => {
    const d = c.node(
      "Sub",
      c.inputs.map((x) => c.cast(x, c.dtype)),
    );
    return c.node("Mul", [d, d]);
  }),
  lerp: form((c) => {
    const [a, b, w] = c.inputs.map((x) => c.cast(x, c.dtype)) as [never, never, never];
    return c.node("Add", [a, c.node("Mul", [c.node("Sub", [b, a]), w])]);
  }),
  clamp: form((c) => {
    const [x, low, high] = c.inputs.map((v) => c.cast(v, c.dtype)) as [never, never, never];
    return c.node("Min", [c.node("Max", [x, low]), high]);
  }),
  clampMin: binary("Max"),
  clampMax: binary("Min"),
  to: form((c) =>
    c.x.dtype === "bool" || c.dtype !== "bool"
      ? c.node("Cast", [c.x.name], { to: ELEMENT_TYPES[c.dtype] })
      : c.node("Not", [c.node("Equal", [c.x.name, c.number(0, c.x.dtype)])]),
  ),
  contiguous: form((c) => c.node("Identity", [c.x.name])),
  relu: real("Relu"),
  sigmoid: real("Sigmoid"),
  logSigmoid: form((c) => c.node("Neg", [c.node("Softplus", [c.node("Neg", [c.x.name])])])),
  silu: form((c) => c.node("Mul", [c.x.name, c.node("Sigmoid", [c.x.name])])),
  mish: form((c) => c.node("Mul", [c.x.name, c.node("Tanh", [c.node("Softplus", [c.x.name])])])),
  softplus: form<{ beta: number; threshold: number }>((c) => {
    const { beta, threshold } = c.attrs;
    const scaled = beta === 1 ? c.x.name : c.node("Mul", [c.x.name, c.number(beta)]);
    const soft = c.node("Softplus", [c.node("Min", [scaled, c.number(threshold)])]);
    const back = beta === 1 ? soft : c.node("Div", [soft, c.number(beta)]);
    return c.node("Where", [c.node("Greater", [scaled, c.number(threshold)]), c.x.name, back]);
  }),
  elu: form<{ alpha: number }>((c) => c.node("Elu", [c.x.name], { alpha: { float: c.attrs.alpha } })),
  celu: form<{ alpha: number }>((c) => {
    const { alpha } = c.attrs;
    if (alpha === 1) return c.node("Elu", [c.x.name]);
    return c.node("Mul", [c.node("Elu", [c.node("Div", [c.x.name, c.number(alpha)])]), c.number(alpha)]);
  }),
  selu: real("Selu"),
  leakyRelu: form<{ slope: number }>((c) => c.node("LeakyRelu", [c.x.name], { alpha: { float: c.attrs.slope } })),
  prelu: form((c) => {
    const [x, slope] = c.inputs.map((v) => c.cast(v, c.dtype)) as [never, never];
    return c.node("Where", [c.node("Less", [x, c.number(0)]), c.node("Mul", [x, slope]), x]);
  }),
  hardshrink: form<{ lambda: number }>((c) =>
    c.node("Where", [c.node("Greater", [c.node("Abs", [c.x.name]), c.number(c.attrs.lambda)]), c.x.name, c.number(0)]),
  ),
  softshrink: form<{ lambda: number }>((c) =>
    c.node("Shrink", [c.x.name], { lambd: { float: c.attrs.lambda }, bias: { float: c.attrs.lambda } }),
  ),
  hardtanh: form<{ min: number; max: number }>((c) => c.node("Clip", [c.x.name, c.number(c.attrs.min), c.number(c.attrs.max)])),
  hardSigmoid: form((c) => c.node("HardSigmoid", [c.x.name], { alpha: { float: 1 / 6 }, beta: { float: 0.5 } })),
  hardSwish: real("HardSwish"),
  gelu: gelu("none"),
  geluTanh: gelu("tanh"),
};
