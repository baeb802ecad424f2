/** Forms of products of 8-bit integers. */
import { form, type FormCall, type Forms } from "./form.ts";
import type { Name, Value } from "./onnx-graph.ts";

interface Conv {
  readonly stride: readonly number[];
  readonly dilation: readonly number[];
  readonly padding: readonly number[];
  readonly groups: number;
}

/** A vector; of one element, a number. */
const level = (c: FormCall, v: Value): Name =>
  v.shape.every((n) => n === 1) ? c.node("Reshape", [v.name, c.graph.constant("int64", [0], [])]) : v.name;

const convolution = ({ stride, dilation, padding, groups }: Conv) => ({
  strides: stride,
  dilations: dilation,
  pads: [...padding, ...padding],
  group: groups,
});

/** Tensors as they are; scales and zero points, the others, as vectors or numbers. */
const operands = (c: FormCall, tensors: readonly number[]): Name[] => c.inputs.map((v, i) => (tensors.includes(i) ? v.name : level(c, v)));

/** What input i stands for, by the scale and zero point behind it. */
const real = (c: FormCall, i: number): Name =>
  c.node("DequantizeLinear", [c.inputs[i]!.name, level(c, c.inputs[i + 1]!), level(c, c.inputs[i + 2]!)]);

/** y by the scale and zero point of inputs i and i + 1. */
const stored = (c: FormCall, y: Name, i: number): Name => c.node("QuantizeLinear", [y, level(c, c.inputs[i]!), level(c, c.inputs[i + 1]!)]);

interface Averaging {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly includePadding: boolean;
}

export const quantized: Forms = {
  qlinearAdd: form((c) => stored(c, c.node("Add", [real(c, 0), real(c, 3)]), 6)),
  qlinearAvgPool2d: form<Averaging>((c) => {
    const { stride, padding, includePadding } = c.attrs;
    const windows = { kernel_shape: c.fixed("kernel"), strides: stride, pads: [...padding, ...padding] };
    return stored(c, c.node("AveragePool", [real(c, 0)], { ...windows, count_include_pad: includePadding ? 1 : 0 }), 3);
  }),
  intMm: form((c) => c.node("MatMulInteger", operands(c, [0, 1]))),
  qlinearMatmul: form((c) => c.node("QLinearMatMul", operands(c, [0, 3]))),
  convInteger: form<Conv>((c) => c.node("ConvInteger", operands(c, [0, 1]), convolution(c.attrs))),
  qlinearConv: form<Conv>((c) => c.node("QLinearConv", operands(c, [0, 3, 8]), convolution(c.attrs))),
};
