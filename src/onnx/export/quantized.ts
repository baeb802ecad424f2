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

export const quantized: Forms = {
  intMm: form((c) => c.node("MatMulInteger", operands(c, [0, 1]))),
  qlinearMatmul: form((c) => c.node("QLinearMatMul", operands(c, [0, 3]))),
  convInteger: form<Conv>((c) => c.node("ConvInteger", operands(c, [0, 1]), convolution(c.attrs))),
  qlinearConv: form<Conv>((c) => c.node("QLinearConv", operands(c, [0, 3, 8]), convolution(c.attrs))),
};
