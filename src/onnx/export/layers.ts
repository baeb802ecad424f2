/** Forms of products, convolutions, norms, pools, attention and recurrent layers. */
import type { Windows } from "../../ops/pool/pool.ts";
import type { Name } from "./onnx-graph.ts";
import { form, type FormCall, type Forms } from "./form.ts";

interface Conv {
  readonly kernel: readonly number[];
  readonly input: readonly number[];
  readonly output: readonly number[];
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly groups: number;
}

interface Pool extends Windows {
  readonly includePadding?: boolean;
}

const window = (c: FormCall<Conv | Pool>): { kernel_shape: readonly number[]; strides: readonly number[] } => ({
  kernel_shape: c.fixed("kernel"),
  strides: c.fixed("stride"),
});

/** Order of axes in which the last two are exchanged. */
const swapped = ({ shape: { length } }: { readonly shape: readonly number[] }): readonly number[] => [
  ...Array.from({ length: length - 2 }, (_, i) => i),
  length - 1,
  length - 2,
];

function linear(c: FormCall): Name {
  const [x, w, b] = c.inputs;
  const [a, m] = [c.cast(x!, c.dtype), c.cast(w!, c.dtype)];
  if (x!.shape.length === 2) return c.node("Gemm", [a, m, ...(b === undefined ? [] : [c.cast(b, c.dtype)])], { transB: 1 });
  const product = c.node("MatMul", [a, c.node("Transpose", [m], { perm: [1, 0] })]);
  return b === undefined ? product : c.node("Add", [product, c.cast(b, c.dtype)]);
}

/** Scale and shift of channels: [C] as [C, 1, …]. */
function affine(c: FormCall, x: Name): Name {
  const [, weight, bias] = c.inputs;
  const ones = c.x.shape.slice(2).map(() => 1);
  const along = (v: { readonly name: Name }): Name =>
    ones.length === 0 ? v.name : c.node("Reshape", [v.name, c.graph.ints([-1, ...ones])]);
  const scaled = weight === undefined ? x : c.node("Mul", [x, along(weight)]);
  return bias === undefined ? scaled : c.node("Add", [scaled, along(bias)]);
}

/** More than in front where "same" needs it; what is left over behind the last window is none. */
const paddingBehind = ({ kernel, input, output, stride, dilation, padding }: Conv): number[] =>
  padding.map((p, i) => Math.max(p, (output[i]! - 1) * stride[i]! + dilation[i]! * (kernel[i]! - 1) + 1 - input[i]! - p));

function pads(c: FormCall<Pool>): readonly number[] {
  return [...c.fixed("start"), ...c.fixed("end")];
}

const isGlobal = ({ kernel, input, output, start, end }: Pool): boolean =>
  kernel.every((k, i) => k === input[i] && output[i] === 1 && start[i] === 0 && end[i] === 0);

interface Attention {
  readonly scale: number;
  readonly causal: boolean;
}

function attention(c: FormCall<Attention>): Name {
  const [q, k, v, mask] = c.inputs;
  const scores = c.node("Mul", [
    c.node("MatMul", [q!.name, c.node("Transpose", [k!.name], { perm: swapped(k!) })]),
    c.number(c.fixed("scale")),
  ]);
  let masked = scores;
  if (c.attrs.causal) {
    const axes = [q!.shape.length - 2, k!.shape.length - 2] as const;
    const size = c.graph.node(
      "Concat",
      [c.node("Shape", [q!.name], { start: axes[0], end: axes[0] + 1 }), c.node("Shape", [k!.name], { start: axes[1], end: axes[1] + 1 })],
      { axis: 0 },
    );
    const seen = c.node("Trilu", [c.node("Expand", [c.number(1, "float32"), size])], { upper: 0 });
    masked = c.node("Where", [c.node("Cast", [seen], { to: 9 }), scores, c.number(-Infinity)]);
  }
  if (mask !== undefined)
    masked =
      mask.dtype === "bool" ? c.node("Where", [mask.name, masked, c.number(-Infinity)]) : c.node("Add", [masked, c.cast(mask, c.dtype)]);
  return c.node("MatMul", [c.node("Softmax", [masked], { axis: -1 }), v!.name]);
}

/** ONNX's order of PyTorch's gates. */
const GATES = { lstm: [0, 3, 1, 2], gru: [1, 0, 2], tanh: [0], relu: [0] } as const;

interface Recurrent {
  readonly kind: keyof typeof GATES;
  readonly directions: number;
  readonly reverse: boolean;
  readonly hasBias: boolean;
  readonly hasLengths: boolean;
}

function recurrent(c: FormCall<Recurrent>): Name[] {
  const { kind, directions, reverse, hasBias, hasLengths } = c.attrs;
  const states = kind === "lstm" ? 2 : 1;
  const each = hasBias ? 4 : 2;
  const hidden = c.inputs[1]!;
  const width = hidden.shape[2]!;
  const rows = GATES[kind].flatMap((gate) => Array.from({ length: width }, (_, i) => gate * width + i));
  const ordered = (d: number, i: number): Name =>
    c.node("Gather", [c.inputs[1 + states + d * each + i]!.name, c.graph.constant("int64", [rows.length], rows)], { axis: 0 });
  const joined = (parts: (d: number) => Name): Name => {
    const list = Array.from({ length: directions }, (_, d) => c.node("Unsqueeze", [parts(d), c.graph.ints([0])]));
    return list.length === 1 ? list[0]! : c.node("Concat", list, { axis: 0 });
  };
  const inputs: (Name | null)[] = [
    c.x.name,
    joined((d) => ordered(d, 0)),
    joined((d) => ordered(d, 1)),
    hasBias ? joined((d) => c.node("Concat", [ordered(d, 2), ordered(d, 3)], { axis: 0 })) : null,
    hasLengths ? c.cast(c.inputs.at(-1)!, "int32") : null,
    hidden.name,
  ];
  if (kind === "lstm") inputs.push(c.inputs[2]!.name);
  const direction = directions === 2 ? "bidirectional" : reverse ? "reverse" : "forward";
  const common = { hidden_size: width, direction } as const;
  const y =
    kind === "lstm"
      ? c.graph.nodeOf("LSTM", inputs, 3, common)
      : kind === "gru"
        ? c.graph.nodeOf("GRU", inputs, 2, { ...common, linear_before_reset: 1 })
        : c.graph.nodeOf("RNN", inputs, 2, {
            ...common,
            activations: Array.from({ length: directions }, () => (kind === "relu" ? "Relu" : "Tanh")),
          });
  // [T, D, N, H] as [T, N, D * H].
  const transposed = c.node("Transpose", [y[0]!], { perm: [0, 2, 1, 3] });
  return [c.node("Reshape", [transposed, c.graph.ints([0, 0, -1])]), ...y.slice(1)];
}

export const layers: Forms = {
  matmul: form((c) =>
    c.node(
      "MatMul",
      c.inputs.map((x) => c.cast(x, c.dtype)),
    ),
  ),
  linear: form(linear),
  "linalg.det": form((c) =>
    c.definition.infer([c.x], undefined as never)[0]!.shape.length === c.x.shape.length
      ? c.refuse("its gradient")
      : c.node("Det", [c.x.name]),
  ),
  cdist: form((c) => {
    const [a, b] = c.inputs.map((x) => c.cast(x, c.dtype)) as [Name, Name];
    const across = (x: Name): Name => c.node("Transpose", [x], { perm: swapped(c.inputs[1]!) });
    const squares = (x: Name): Name => c.node("ReduceSum", [c.node("Mul", [x, x]), c.graph.ints([-1])]);
    const lengths = c.node("Add", [squares(a), across(squares(b))]);
    const product = c.node("Mul", [c.node("MatMul", [a, across(b)]), c.number(2)]);
    return c.node("Sqrt", [c.node("Max", [c.node("Sub", [lengths, product]), c.number(0)])]);
  }),
  addmm: form<{ alpha: number; beta: number }>((c) => {
    const [bias, a, b] = c.inputs;
    const product = c.node("MatMul", [a!.name, b!.name]);
    const by = (x: Name, factor: number): Name => (factor === 1 ? x : c.node("Mul", [x, c.number(factor)]));
    return c.node("Add", [by(product, c.attrs.alpha), by(bias!.name, c.attrs.beta)]);
  }),
  conv: form<Conv>((c) => {
    const padding = c.fixed("padding");
    const [end, other] = [c.attrs, c.otherAttrs].map(paddingBehind) as [number[], number[]];
    if (end.some((n, i) => n !== other[i])) c.refuse("padding that depends on a dynamic axis");
    return c.node(
      "Conv",
      c.inputs.map((x) => x.name),
      { ...window(c), dilations: c.attrs.dilation, pads: [...padding, ...end], group: c.attrs.groups },
    );
  }),
  convTranspose: form<Conv>((c) => {
    const { kernel, stride, dilation, padding, groups } = c.attrs;
    // The definition is of the convolution whose adjoint it is: "input" is what comes out of this one.
    const [input, made] = [c.x.shape.slice(2), c.outputs[0]!.shape.slice(2)];
    const extra = made.map((n, i) => n - ((input[i]! - 1) * stride[i]! - 2 * padding[i]! + dilation[i]! * (kernel[i]! - 1) + 1));
    const attributes = { ...window(c), dilations: dilation, pads: [...padding, ...padding], group: groups };
    return c.node(
      "ConvTranspose",
      c.inputs.map((x) => x.name),
      { ...attributes, output_padding: extra },
    );
  }),
  batchNorm: form<{ epsilon: number }>((c) => {
    if (c.inputs.length !== 5) c.refuse("only batch norm with weight, bias and running statistics has an operator");
    const [x, mean, variance, weight, bias] = c.inputs;
    return c.node("BatchNormalization", [x!.name, weight!.name, bias!.name, mean!.name, variance!.name], {
      epsilon: { float: c.attrs.epsilon },
    });
  }),
  layerNorm: form<{ axes: number; epsilon: number; affine: boolean }>((c) => {
    const { axes, epsilon } = c.attrs;
    const width = c.x.shape.slice(c.x.shape.length - axes);
    const scale =
      c.inputs[1]?.name ??
      c.graph.constant(
        c.dtype,
        width,
        Array.from({ length: width.reduce((a, b) => a * b, 1) }, () => 1),
      );
    const inputs = [c.x.name, scale, ...(c.inputs[2] === undefined ? [] : [c.inputs[2].name])];
    return c.node("LayerNormalization", inputs, { axis: -axes, epsilon: { float: epsilon } });
  }),
  groupNorm: form<{ groups: number; epsilon: number }>((c) => {
    const { groups, epsilon } = c.attrs;
    const numbers = (v: number): Name =>
      c.graph.constant(
        c.dtype,
        [groups],
        Array.from({ length: groups }, () => v),
      );
    const grouped = c.node("Reshape", [c.x.name, c.graph.ints([0, groups, -1])]);
    const normed = c.node("InstanceNormalization", [grouped, numbers(1), numbers(0)], { epsilon: { float: epsilon } });
    return affine(c, c.node("Reshape", [normed, c.node("Shape", [c.x.name])]));
  }),
  rmsNorm: form<{ epsilon: number; width: number }>((c) => {
    let axes = 0;
    for (let n = 1; n < c.attrs.width || axes === 0; n *= c.x.shape.at(-axes)!) axes++;
    const list = Array.from({ length: axes }, (_, i) => -1 - i);
    const square = c.node("Mul", [c.x.name, c.x.name]);
    const mean = c.graph.opset >= 18 ? c.node("ReduceMean", [square, c.graph.ints(list)]) : c.node("ReduceMean", [square], { axes: list });
    const normed = c.node("Div", [c.x.name, c.node("Sqrt", [c.node("Add", [mean, c.number(c.attrs.epsilon)])])]);
    return c.inputs[1] === undefined ? normed : c.node("Mul", [normed, c.inputs[1].name]);
  }),
  maxPool: form<Pool>((c) => c.node("MaxPool", [c.x.name], { ...window(c), pads: pads(c), dilations: c.attrs.dilation })),
  avgPool: form<Pool>((c) => {
    if (isGlobal(c.attrs) && isGlobal(c.otherAttrs)) return c.node("GlobalAveragePool", [c.x.name]);
    if (c.attrs.dilation.some((d) => d !== 1)) c.refuse("dilated windows");
    return c.node("AveragePool", [c.x.name], { ...window(c), pads: pads(c), count_include_pad: c.attrs.includePadding === true ? 1 : 0 });
  }),
  softmax: form<{ axis: number }>((c) => c.node("Softmax", [c.cast(c.x, c.dtype)], { axis: c.attrs.axis })),
  logSoftmax: form<{ axis: number }>((c) => c.node("LogSoftmax", [c.cast(c.x, c.dtype)], { axis: c.attrs.axis })),
  scaledDotProductAttention: form(attention),
  embedding: form((c) => c.node("Gather", [c.inputs[1]!.name, c.x.dtype === "int32" ? c.x.name : c.cast(c.x, "int64")], { axis: 0 })),
  interpolate: form<{
    isLinear: boolean;
    input: readonly number[];
    output: readonly number[];
    scales: readonly number[];
    shift: readonly number[];
  }>((c) => {
    const { isLinear, scales, shift, input, output } = c.attrs;
    const ratio = scales.every((s, i) => s === 1 || Math.abs(s - output[i + 2]! / input[i + 2]!) < 1e-9);
    const half = shift.every((s) => s === 0.5) && ratio;
    const corners = isLinear && shift.every((s, i) => s === 0 || input[i + 2] === output[i + 2]);
    if (!half && !corners) c.refuse("a scale that is not the ratio of the lengths");
    const sizes = c.graph.lengths(output, c.otherAttrs.output, [c.x]);
    return c.node("Resize", [c.x.name, null, null, sizes], {
      mode: isLinear ? "linear" : "nearest",
      coordinate_transformation_mode: half ? "half_pixel" : "align_corners",
      ...(isLinear ? {} : { nearest_mode: "round_prefer_ceil" }),
    });
  }),
  recurrentLayer: form(recurrent),
};
