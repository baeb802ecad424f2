/** Layers that both kinds of models have: convolutions, pools, norms and activations, as nodes. */
import type { Attributes, GraphBuilder, Value, Weight } from "./graph-builder.ts";
import { reshaped, transposed } from "./graph-builder.ts";

/** How a window goes over the spatial axes. */
export interface Window {
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  /** [before, after] of each spatial axis in "explicit". */
  readonly padding: "same" | "valid" | readonly (readonly [number, number])[];
}

function padsOf(padding: Window["padding"]): Attributes {
  if (padding === "same") return { auto_pad: "SAME_UPPER" };
  if (padding === "valid") return {};
  return { pads: [...padding.map(([before]) => before), ...padding.map(([, after]) => after)] };
}

const windowOf = ({ strides, dilations, padding }: Window): Attributes => ({ strides, dilations, ...padsOf(padding) });

/** A kernel [spatial…, inputs, outputs] as [outputs, inputs, spatial…]. */
const outputsFirst = (kernel: Weight): Weight => {
  const rank = kernel.shape.length;
  return transposed(kernel, [rank - 1, rank - 2, ...Array.from({ length: rank - 2 }, (_, i) => i)]);
};

/** A convolution of channels last by a kernel [spatial…, inputs, outputs]; with fewer inputs than x has channels it is one of groups. */
export function convolution(
  b: GraphBuilder,
  x: Value,
  kernel: Weight,
  bias: Weight | null,
  window: Window,
  label: string,
  groups = 1,
): Value {
  const rank = kernel.shape.length;
  const inputs = [b.first(x, rank), b.weight(outputsFirst(kernel)), ...(bias === null ? [] : [b.weight(bias)])];
  return b.channels(b.node("Conv", inputs, `${label}/convolution`, { ...windowOf(window), group: groups }), rank, label);
}

/** A convolution of each channel by a kernel [height, width, channels, multiplier]. */
export function depthwise(b: GraphBuilder, x: Value, kernel: Weight, bias: Weight | null, window: Window, label: string): Value {
  const [height, width, channels, multiplier] = kernel.shape as readonly [number, number, number, number];
  const laid = reshaped(transposed(kernel, [2, 3, 0, 1]), [channels * multiplier, 1, height, width]);
  const inputs = [b.first(x, 4), b.weight(laid), ...(bias === null ? [] : [b.weight(bias)])];
  return b.channels(b.node("Conv", inputs, `${label}/depthwise`, { ...windowOf(window), group: channels }), 4, label);
}

/** A transposed convolution by a kernel [height, width, outputs, inputs]. lengths: of the result, where it has others than TensorFlow's usual ones. */
export function transposedConvolution(
  b: GraphBuilder,
  x: Value,
  kernel: Weight,
  bias: Weight | null,
  { strides, dilations, padding }: Window,
  label: string,
): Value {
  const spans = strides.map((_, i) => (kernel.shape[i]! - 1) * dilations[i]! + 1);
  const more = spans.map((span, i) => (padding === "same" ? Math.max(0, span - strides[i]!) : 0));
  const before = more.map((n) => Math.floor(n / 2));
  const attributes = {
    strides,
    dilations,
    pads: [...before, ...more.map((n, i) => n - before[i]!)],
    output_padding: spans.map((span, i) => Math.max(0, strides[i]! - span)),
  };
  const inputs = [b.first(x, 4), b.weight(transposed(kernel, [3, 2, 0, 1])), ...(bias === null ? [] : [b.weight(bias)])];
  return b.channels(b.node("ConvTranspose", inputs, `${label}/convolution`, attributes), 4, label);
}

/** A pool over windows. */
export function pool(
  b: GraphBuilder,
  kind: "MaxPool" | "AveragePool",
  x: Value,
  size: readonly number[],
  { strides, padding }: Omit<Window, "dilations">,
  label: string,
): Value {
  const rank = size.length + 2;
  const attributes = { kernel_shape: size, strides, ...padsOf(padding) };
  return b.channels(b.node(kind, [b.first(x, rank)], `${label}/pool`, attributes), rank, label);
}

/** Zeros, or another value, around the spatial axes. */
export function padded(b: GraphBuilder, x: Value, pads: readonly (readonly [number, number])[], label: string, value = 0): Value {
  const rank = pads.length + 2;
  const amounts = b.ints([0, 0, ...pads.map(([before]) => before), 0, 0, ...pads.map(([, after]) => after)]);
  return b.channels(b.node("Pad", [b.first(x, rank), amounts, b.float(value)], `${label}/pad`, { mode: "constant" }), rank, label);
}

/** A batch norm of the last axis, with running statistics. */
export function batchNorm(
  b: GraphBuilder,
  x: Value,
  [gamma, beta, mean, variance]: readonly [Weight | null, Weight | null, Weight, Weight],
  epsilon: number,
  rank: number,
  label: string,
): Value {
  const size = mean.shape[0]!;
  const filled = (value: number): string =>
    b.constant(
      "float32",
      [size],
      Array.from({ length: size }, () => value),
    );
  const inputs = [
    b.first(x, rank),
    gamma === null ? filled(1) : b.weight(gamma),
    beta === null ? filled(0) : b.weight(beta),
    b.weight(mean),
    b.weight(variance),
  ];
  return b.channels(b.node("BatchNormalization", inputs, `${label}/norm`, { epsilon: { float: epsilon } }), rank, label);
}

/** A function of each element, which keeps the form that x has. */
export function each(
  b: GraphBuilder,
  type: string,
  x: Value,
  label: string,
  attributes: Attributes = {},
  more: readonly string[] = [],
): Value {
  if (x.first !== null && x.last === null)
    return b.channels(b.node(type, [x.first, ...more], `${label}/${type}`, attributes), x.rank!, label);
  return b.plain(b.node(type, [b.last(x), ...more], label, attributes), x.rank, label);
}

/** A constant of one element, or of one for each channel, laid so that it meets channels first; null for others. */
function laidFirst(b: GraphBuilder, weight: Weight, rank: number): string | null {
  const size = weight.shape.reduce((n, d) => n * d, 1);
  if (size === 1) return b.weight(reshaped({ ...weight, name: `${weight.name}/scalar` }, []));
  const inner = weight.shape.slice(0, -1).every((d) => d === 1);
  if (!inner || weight.shape.length > rank) return null;
  return b.weight(reshaped({ ...weight, name: `${weight.name}/channels` }, [size, ...Array.from({ length: rank - 2 }, () => 1)]));
}

/** A function of the elements of two values, by the rules of broadcasting. It stays with channels first where both allow it. */
export function both(b: GraphBuilder, type: string, x: Value, y: Value, label: string): Value {
  const isFirst = (v: Value): boolean => v.first !== null && v.last === null;
  const rank = [x, y].find(isFirst)?.rank ?? null;
  if (rank !== null) {
    const nameOf = (v: Value): string | null =>
      v.first !== null && v.rank === rank ? v.first : v.weight !== null ? laidFirst(b, v.weight, rank) : null;
    const [left, right] = [nameOf(x), nameOf(y)];
    if (left !== null && right !== null) return b.channels(b.node(type, [left, right], `${label}/${type}`), rank, label);
  }
  const ranks = x.rank === null || y.rank === null ? null : Math.max(x.rank, y.rank);
  return b.plain(b.node(type, [b.last(x), b.last(y)], label), ranks, label);
}

/** Values one after the other along an axis of the form with channels last. */
export function concatenated(b: GraphBuilder, values: readonly Value[], axis: number, label: string): Value {
  const rank = values.find((v) => v.rank !== null)?.rank ?? null;
  if (rank !== null && rank > 2 && values.every((v) => v.first !== null && v.last === null)) {
    const own = axis < 0 ? axis + rank : axis;
    const to = own === 0 ? 0 : own === rank - 1 ? 1 : own + 1;
    return b.channels(b.node("Concat", values.map((v) => v.first!), `${label}/concatenation`, { axis: to }), rank, label); // prettier-ignore
  }
  return b.plain(b.node("Concat", values.map((v) => b.last(v)), label, { axis }), rank, label); // prettier-ignore
}

/** A reduction over axes of the form with channels last. */
export function reduced(b: GraphBuilder, type: string, x: Value, axes: readonly number[], keepsAxes: boolean, label: string): Value {
  const { rank } = x;
  const own = rank === null ? axes : axes.map((axis) => (axis < 0 ? axis + rank : axis));
  const result = rank === null ? null : keepsAxes ? rank : rank - own.length;
  const isFirst = x.first !== null && x.last === null && rank !== null;
  // Without the axes in between, the order of those that are left is the file's.
  const isInOrder = isFirst && (keepsAxes || own.includes(rank - 1) || rank - own.length <= 2);
  if (!isInOrder) return b.plain(b.node(type, [b.last(x), b.ints(own)], label, { keepdims: keepsAxes ? 1 : 0 }), result, label);
  const moved = own.map((axis) => (axis === 0 ? 0 : axis === rank - 1 ? 1 : axis + 1));
  const name = b.node(type, [x.first!, b.ints(moved)], `${label}/${type}`, { keepdims: keepsAxes ? 1 : 0 });
  return keepsAxes ? b.channels(name, rank, label) : b.plain(name, result, label);
}

/** An activation by its name, as Keras and TensorFlow have it; null for one that is not known. */
export function activation(b: GraphBuilder, name: string, x: Value, label: string): Value | null {
  const key = name.replaceAll("_", "").toLowerCase();
  const simple: Readonly<Record<string, string>> = { relu: "Relu", sigmoid: "Sigmoid", tanh: "Tanh", softplus: "Softplus", softsign: "Softsign", exponential: "Exp", mish: "Mish" }; // prettier-ignore
  if (key === "linear") return x;
  if (simple[key] !== undefined) return each(b, simple[key], x, label);
  switch (key) {
    case "relu6":
      return each(b, "Clip", x, label, {}, [b.float(0), b.float(6)]);
    case "softmax":
    case "logsoftmax":
      return b.plain(b.node(key === "softmax" ? "Softmax" : "LogSoftmax", [b.last(x)], label, { axis: -1 }), x.rank, label);
    case "elu":
      return each(b, "Elu", x, label, { alpha: { float: 1 } });
    case "selu":
      return each(b, "Selu", x, label);
    case "hardsigmoid":
      return each(b, "HardSigmoid", x, label, { alpha: { float: 0.2 }, beta: { float: 0.5 } });
    case "swish":
    case "silu":
      return both(b, "Mul", x, each(b, "Sigmoid", x, `${label}/gate`), label);
    case "gelu":
      return each(b, "Gelu", x, label);
    case "gelunew":
      return each(b, "Gelu", x, label, { approximate: "tanh" });
    default:
      return null;
  }
}
