/** Pieces that many operations share. */
import type { GraphBuilder } from "../dml/builder.generated.ts";
import { dataTypeName as dmlName } from "../dml/describe.ts";
import { call } from "../dispatch.ts";
import type { DType } from "../dtype.ts";
import type { Expr } from "../graph/graph.ts";
import { sameShape, type Shape } from "../shape.ts";
import type { Tensor } from "../tensor.ts";
import { define, type TensorSpec } from "./define.ts";

/** x in another dtype. float to bool asks for x != 0; DirectML's CAST does the rest. */
export function cast(g: GraphBuilder, x: Expr, dtype: DType): Expr {
  if (x.dtype === dtype) return x;
  if (x.dtype === "bool" && dtype === "uint8") return g.reinterpret(x, { dtype });
  if (dtype === "bool") {
    const zero = g.expand(g.fillValueConstant({ output: { sizes: [1], dtype: x.dtype }, valueDataType: dmlName(x.dtype), value: { dtype: x.dtype, value: 0 } }), x.sizes);
    return g.elementWiseLogicalNot(g.elementWiseLogicalEquals(x, zero, { output: { dtype: "bool" } }), { output: { dtype: "bool" } });
  }
  return g.cast(x, { output: { dtype } });
}


interface SumAttributes {
  readonly axes: readonly number[];
  readonly keepDims: boolean;
}

/** Sum over axes, in the input's own (floating) dtype: what gradients of broadcasting need. DirectML: REDUCE SUM. */
export const sumAxesOp = define<SumAttributes>({
  name: "sum",
  infer: ([x], { axes, keepDims }) => [{ shape: x!.shape.flatMap((d, i) => (axes.includes(i) ? (keepDims ? [1] : []) : [d])), dtype: x!.dtype }],
  lower: (g, [x], { axes }) => {
    if (axes.length === 0) return [g.packed(x!)];
    const sizes = x!.sizes.map((d, i) => (axes.includes(i) ? 1 : d));
    return [g.reduce(x!, { function: "SUM", output: { sizes, dtype: x!.dtype }, axes })];
  },
  whenEmpty: 0,
});

/** A gradient of a broadcast operand, summed to the operand's shape. */
export function sumTo(x: Tensor, spec: TensorSpec): Tensor {
  const target: Shape = spec.shape;
  if (sameShape(x.shape, target)) return x;
  const lead = x.rank - target.length;
  const axes = x.shape.flatMap((d, i) => (i < lead || (target[i - lead] === 1 && d !== 1) ? [i] : []));
  const summed = call(sumAxesOp, [x], { axes, keepDims: false });
  return sameShape(summed.shape, target) ? summed : reshaper(summed, target);
}

let reshaper: (x: Tensor, shape: Shape) => Tensor;

/** @internal Set by ops/movement.ts, which imports this file. */
export function setReshaper(reshape: typeof reshaper): void {
  reshaper = reshape;
}
