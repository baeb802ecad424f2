/** TensorFlow's operators by name: what each makes of its inputs. */
import { elementTypeOf } from "../../onnx/format/value.ts";
import type { Attributes, Value, Weight } from "./graph-builder.ts";
import { activation, batchNorm, both, convolution, depthwise, each, padded, pool, reduced, transposedConvolution } from "./layer-nodes.ts"; // prettier-ignore
import type { NodeCall } from "./graph-node.ts";
import { moved } from "./movement.ts";

export type Operator = (n: NodeCall) => Value | readonly Value[];

const unary =
  (type: string, attributes: Attributes = {}): Operator =>
  (n) =>
    each(n.b, type, n.x, n.label, attributes);

const binary =
  (type: string): Operator =>
  (n) =>
    both(n.b, type, n.input(0), n.input(1), n.label);

/** The opposite of a comparison. */
const inverse =
  (type: string): Operator =>
  (n) =>
    each(n.b, "Not", both(n.b, type, n.input(0), n.input(1), `${n.label}/opposite`), n.label);

const scalar = (n: NodeCall, value: number): Value => {
  const name = `${n.label}/${value}`;
  return n.b.known({ name, dtype: "float32", shape: [], bytes: new Uint8Array(Float32Array.of(value).buffer) });
};

/** A convolution's or product's bias and activation, by the list of what TensorFlow's optimizer has fused. */
function ended(n: NodeCall, y: Value, from: number): Value {
  const ops = n.texts("fused_ops");
  const name = ops.find((op) => op !== "BiasAdd") ?? "linear";
  if (ops.length > 0 && ops[0] !== "BiasAdd") throw n.unsupported(`fused_ops ${ops.join(", ")}`);
  if (name === "Prelu") return prelu(n, y, n.input(from));
  if (name === "LeakyRelu")
    return each(n.b, "LeakyRelu", y, `${n.label}/activation`, { alpha: { float: n.float("leakyrelu_alpha", 0.2) } });
  const made = activation(n.b, name, y, name === "linear" ? n.label : `${n.label}/${name}`);
  if (made === null) throw n.unsupported(`fused_ops ${ops.join(", ")}`);
  return made;
}

const biasOf = (n: NodeCall): Weight | null => (n.texts("fused_ops")[0] === "BiasAdd" ? n.weight(2) : null);

const convolved: Operator = (n) => ended(n, convolution(n.b, n.x, n.weight(1, 4), biasOf(n), n.window(), n.label), 3);

const depthwiseConvolved: Operator = (n) => ended(n, depthwise(n.b, n.x, n.weight(1, 4), biasOf(n), n.window(), n.label), 3);

function backpropInput(n: NodeCall): Value {
  return transposedConvolution(n.b, n.input(2), n.weight(1, 4), null, n.window(), n.label);
}

function product(n: NodeCall): Value {
  const names = ["transpose_a", "transpose_b"].map((name, i) => {
    const isSwapped = n.flag(name, n.flag(i === 0 ? "adj_x" : "adj_y"));
    if (!isSwapped) return n.last(i);
    const { rank } = n.input(i);
    if (n.operator.startsWith("BatchMatMul") && rank === null) throw n.unsupported("adj_x or adj_y of an unknown number of axes");
    const axes = Array.from({ length: rank ?? 2 }, (_, axis) => axis);
    return n.b.node("Transpose", [n.last(i)], `${n.label}/transposed`, { perm: [...axes.slice(0, -2), axes.at(-1)!, axes.at(-2)!] });
  });
  const rank = n.operator.startsWith("BatchMatMul") ? (n.input(0).rank ?? n.input(1).rank) : 2;
  const bias = biasOf(n);
  const y = n.b.node("MatMul", names, `${n.label}/product`);
  return ended(n, n.b.plain(bias === null ? y : n.b.node("Add", [y, n.b.weight(bias)], `${n.label}/sum`), rank, n.label), 3);
}

function normalized(n: NodeCall): Value {
  n.requireLast();
  if (n.flag("is_training")) throw n.unsupported("is_training");
  const weights = [n.weight(1, 1), n.weight(2, 1), n.weight(3, 1), n.weight(4, 1)] as const;
  return batchNorm(n.b, n.x, weights, n.float("epsilon", 1e-3), 4, n.label);
}

const pooled =
  (type: "MaxPool" | "AveragePool"): Operator =>
  (n) => {
    const size = n.ints("ksize");
    if (size[0] !== 1 || size[3] !== 1) throw n.unsupported(`ksize ${size.join(", ")}`);
    return pool(n.b, type, n.x, size.slice(1, 3), n.window(), n.label);
  };

const reduction =
  (type: string): Operator =>
  (n) =>
    reduced(n.b, type, n.x, n.numbers(1), n.flag("keep_dims"), n.label);

/** Of truths: as a maximum or minimum of numbers. */
const truth =
  (type: string): Operator =>
  (n) => {
    const numbers = each(n.b, "Cast", n.x, `${n.label}/numbers`, { to: elementTypeOf("int32") });
    return each(n.b, "Cast", reduced(n.b, type, numbers, n.numbers(1), n.flag("keep_dims"), `${n.label}/reduced`), n.label, { to: elementTypeOf("bool") }); // prettier-ignore
  };

const extreme =
  (type: string): Operator =>
  (n) => {
    const [axis] = n.numbers(1);
    const found = n.b.node(type, [n.last(0)], `${n.label}/index`, { axis: axis!, keepdims: 0 });
    return n.node("Cast", [found], n.x.rank === null ? null : n.x.rank - 1, { to: elementTypeOf("int32") });
  };

function prelu(n: NodeCall, x: Value, alpha: Value): Value {
  const positive = each(n.b, "Relu", x, `${n.label}/positive`);
  const negative = both(n.b, "Mul", both(n.b, "Sub", x, positive, `${n.label}/below`), alpha, `${n.label}/negative`);
  return both(n.b, "Add", positive, negative, `${n.label}/prelu`);
}

function resized(n: NodeCall): Value {
  const isNearest = n.operator === "ResizeNearestNeighbor";
  const [height, width] = n.constant(1) === null ? [null, null] : n.numbers(1);
  const [aligned, centered] = [n.flag("align_corners"), n.flag("half_pixel_centers")];
  const attributes: Attributes = {
    mode: isNearest ? "nearest" : "linear",
    coordinate_transformation_mode: aligned ? "align_corners" : centered ? "half_pixel" : "asymmetric",
    ...(isNearest ? { nearest_mode: aligned ? "round_prefer_ceil" : "floor" } : {}),
    axes: [2, 3],
  };
  if (isNearest && centered) throw n.unsupported("half_pixel_centers of ResizeNearestNeighbor");
  const sizes = height === null ? n.longs(1) : n.b.ints([height!, width!]);
  return n.b.channels(n.b.node("Resize", [n.b.first(n.x, 4), "", "", sizes], `${n.label}/resize`, attributes), 4, n.label);
}

function cast(n: NodeCall): Value {
  return each(n.b, "Cast", n.x, n.label, { to: elementTypeOf(n.dtype("DstT")) });
}

/** Quotients of integers toward minus infinity. */
function floorQuotient(n: NodeCall): Value {
  const floats = [0, 1].map((i) => each(n.b, "Cast", n.input(i), `${n.label}/float${i}`, { to: 1 }));
  const floor = each(n.b, "Floor", both(n.b, "Div", floats[0]!, floats[1]!, `${n.label}/quotient`), `${n.label}/floor`);
  return n.has("T") && n.dtype("T") === "float32" ? floor : each(n.b, "Cast", floor, n.label, { to: elementTypeOf(n.dtype("T")) });
}

/** The remainder, with the sign of the divisor. */
function remainder(n: NodeCall): Value {
  const quotient = floorQuotient(n);
  return both(n.b, "Sub", n.input(0), both(n.b, "Mul", quotient, n.input(1), `${n.label}/multiple`), n.label);
}

function selected(n: NodeCall): Value {
  return n.node("Where", [n.last(0), n.last(1), n.last(2)], n.input(1).rank);
}

function scaledResidue(n: NodeCall): Value {
  const difference = both(n.b, "Sub", n.input(0), n.input(1), `${n.label}/difference`);
  return both(n.b, "Mul", difference, difference, n.label);
}

function oneHot(n: NodeCall): Value {
  const values = [n.last(3), n.last(2)].map((name) => n.b.node("Reshape", [name, n.b.ints([1])], `${n.label}/value`));
  const pair = n.b.node("Concat", values, `${n.label}/values`, { axis: 0 });
  const depth = n.b.constant("int64", [1], n.numbers(1));
  return n.node("OneHot", [n.last(0), depth, pair], n.x.rank === null ? null : n.x.rank + 1, { axis: n.int("axis", -1) });
}

/** Results that are read by their number. */
function largest(n: NodeCall): readonly Value[] {
  const outputs = [n.b.unique(n.label), n.b.unique(`${n.label}/indices`)];
  const count = n.operator === "TopKV2" ? n.b.constant("int64", [1], n.numbers(1)) : n.b.ints([n.int("k", 1)]);
  n.b.nodeOf("TopK", [n.last(0), count], outputs, n.label, { axis: -1, largest: 1, sorted: 1 });
  const indices = n.b.node("Cast", [outputs[1]!], `${n.label}/numbers`, { to: elementTypeOf("int32") });
  return [n.b.plain(outputs[0]!, n.x.rank), n.b.plain(indices, n.x.rank)];
}

function sum(n: NodeCall): Value {
  return n.inputs
    .slice(1)
    .reduce((total, v, i) => both(n.b, "Add", total, v, i === n.inputs.length - 2 ? n.label : `${n.label}/${i}`), n.x);
}

function padding(n: NodeCall): Value {
  const flat = n.numbers(1);
  const pairs = Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!] as const);
  const value = n.operator === "PadV2" ? n.numbers(2)[0]! : 0;
  const isInside = pairs.length === 4 && [0, 3].every((axis) => pairs[axis]!.every((p) => p === 0));
  if (isInside && n.operator !== "MirrorPad" && (!n.has("T") || n.dtype("T") === "float32"))
    return padded(n.b, n.x, pairs.slice(1, 3), n.label, value);
  const amounts = n.b.ints([...pairs.map(([before]) => before), ...pairs.map(([, after]) => after)]);
  if (n.operator === "MirrorPad") {
    const mode = n.text("mode", "REFLECT");
    if (mode !== "REFLECT") throw n.unsupported(`mode ${mode}`);
    return n.node("Pad", [n.last(0), amounts], pairs.length, { mode: "reflect" });
  }
  const fill = n.b.constant(n.has("T") ? n.dtype("T") : "float32", [], [value]);
  return n.node("Pad", [n.last(0), amounts, fill], pairs.length, { mode: "constant" });
}

const same: Operator = (n) => n.x;

export const OPERATORS: Readonly<Record<string, Operator>> = {
  ...moved,
  Abs: unary("Abs"),
  Acos: unary("Acos"),
  Acosh: unary("Acosh"),
  Add: binary("Add"),
  AddN: sum,
  AddV2: binary("Add"),
  All: truth("ReduceMin"),
  Any: truth("ReduceMax"),
  ArgMax: extreme("ArgMax"),
  ArgMin: extreme("ArgMin"),
  Asin: unary("Asin"),
  Asinh: unary("Asinh"),
  Atan: unary("Atan"),
  Atanh: unary("Atanh"),
  AvgPool: pooled("AveragePool"),
  BatchMatMul: product,
  BatchMatMulV2: product,
  BiasAdd: (n) => {
    n.requireLast();
    return both(n.b, "Add", n.input(0), n.input(1), n.label);
  },
  Cast: cast,
  Ceil: unary("Ceil"),
  ClipByValue: (n) => each(n.b, "Clip", n.x, n.label, {}, [n.last(1), n.last(2)]),
  Conv2D: convolved,
  Conv2DBackpropInput: backpropInput,
  Cos: unary("Cos"),
  Cosh: unary("Cosh"),
  Cumsum: (n) =>
    n.node("CumSum", [n.last(0), n.longs(1)], n.x.rank, { exclusive: n.flag("exclusive") ? 1 : 0, reverse: n.flag("reverse") ? 1 : 0 }),
  DepthwiseConv2dNative: depthwiseConvolved,
  Div: binary("Div"),
  DivNoNan: (n) => {
    const isZero = both(n.b, "Equal", n.input(1), scalar(n, 0), `${n.label}/zero`);
    const zero = n.b.float(0);
    return n.node("Where", [n.b.last(isZero), zero, n.b.last(both(n.b, "Div", n.input(0), n.input(1), `${n.label}/quotient`))]);
  },
  Elu: unary("Elu", { alpha: { float: 1 } }),
  Equal: binary("Equal"),
  Erf: unary("Erf"),
  Exp: unary("Exp"),
  Expm1: (n) => both(n.b, "Sub", each(n.b, "Exp", n.x, `${n.label}/exp`), scalar(n, 1), n.label),
  Floor: unary("Floor"),
  FloorDiv: floorQuotient,
  FloorMod: remainder,
  FusedBatchNorm: normalized,
  FusedBatchNormV2: normalized,
  FusedBatchNormV3: normalized,
  FusedDepthwiseConv2dNative: depthwiseConvolved,
  Greater: binary("Greater"),
  GreaterEqual: binary("GreaterOrEqual"),
  Identity: same,
  LeakyRelu: (n) => each(n.b, "LeakyRelu", n.x, n.label, { alpha: { float: n.float("alpha", 0.2) } }),
  Less: binary("Less"),
  LessEqual: binary("LessOrEqual"),
  Log: unary("Log"),
  Log1p: (n) => each(n.b, "Log", both(n.b, "Add", n.x, scalar(n, 1), `${n.label}/sum`), n.label),
  LogSoftmax: (n) => n.node("LogSoftmax", [n.last(0)], n.x.rank, { axis: -1 }),
  LogicalAnd: binary("And"),
  LogicalNot: unary("Not"),
  LogicalOr: binary("Or"),
  MatMul: product,
  Max: reduction("ReduceMax"),
  MaxPool: pooled("MaxPool"),
  Maximum: binary("Max"),
  Mean: reduction("ReduceMean"),
  Min: reduction("ReduceMin"),
  Minimum: binary("Min"),
  MirrorPad: padding,
  Mod: remainder,
  Mul: binary("Mul"),
  Neg: unary("Neg"),
  NotEqual: inverse("Equal"),
  OneHot: oneHot,
  Pad: padding,
  PadV2: padding,
  PlaceholderWithDefault: same,
  Pow: binary("Pow"),
  Prelu: (n) => prelu(n, n.x, n.input(1)),
  PreventGradient: same,
  Prod: reduction("ReduceProd"),
  RealDiv: binary("Div"),
  Reciprocal: unary("Reciprocal"),
  Relu: unary("Relu"),
  Relu6: (n) => each(n.b, "Clip", n.x, n.label, {}, [n.b.float(0), n.b.float(6)]),
  ResizeBilinear: resized,
  ResizeNearestNeighbor: resized,
  Round: unary("Round"),
  Rsqrt: (n) => each(n.b, "Reciprocal", each(n.b, "Sqrt", n.x, `${n.label}/root`), n.label),
  Select: selected,
  SelectV2: selected,
  Selu: unary("Selu"),
  Sigmoid: unary("Sigmoid"),
  Sign: unary("Sign"),
  Sin: unary("Sin"),
  Sinh: unary("Sinh"),
  Snapshot: same,
  Softmax: (n) => n.node("Softmax", [n.last(0)], n.x.rank, { axis: -1 }),
  Softplus: unary("Softplus"),
  Softsign: unary("Softsign"),
  Sqrt: unary("Sqrt"),
  Square: (n) => both(n.b, "Mul", n.x, n.x, n.label),
  SquaredDifference: scaledResidue,
  StopGradient: same,
  Sub: binary("Sub"),
  Sum: reduction("ReduceSum"),
  Tan: unary("Tan"),
  Tanh: unary("Tanh"),
  TopK: largest,
  TopKV2: largest,
  _FusedConv2D: convolved,
  _FusedMatMul: product,
};
