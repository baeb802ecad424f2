/**
 * The scatter operation that the others are composed of.
 * @package
 */
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { assign, call, callOver } from "../../dispatch/dispatch.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import type { Tensor } from "../../core/tensor.ts";
import { tracer } from "../../core/tracer.ts";
import { batching } from "../../core/batching.ts";
import { define, type Definition } from "../../core/definition.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Padding } from "../../core/padded-axes.ts";
import { scatterShader } from "../../shader/kernels/select.ts";
import { packedStrides, sizeOf } from "../../core/shape.ts";
import { zerosLike } from "../creation/creation.ts";
import { clone } from "../data/state.ts";
import { gather } from "./gather.ts";
import { unsignedIndices } from "./scatter-lower.ts";
import { alongAxis, constant, emitScatterElements, sequence } from "../declare/support.ts";
import { axisBehindBatch } from "../declare/batched.ts";

/** @package */
export interface ScatterAttributes {
  readonly axis: number;
}

/** x with updates at indices along an axis; the index may be shorter than x on the other axes. Of equal indices any one wins. @package */
export function emitScatter(g: GraphBuilder, x: Expr, index: Expr, updates: Expr, axis: number): Expr {
  const write = (to: Expr, at: Expr, values: Expr, along: number): Expr =>
    scatterShader(g, to, at, values, along) ?? emitScatterElements(g, to, unsignedIndices(g, at), values, along);
  if (index.sizes.every((d, i) => i === axis || d === x.sizes[i])) return write(x, index, updates, axis);
  // By flat indices.
  const indices = unsignedIndices(g, index);
  const strides = packedStrides(x.sizes);
  let flat = g.elementWiseMultiply(indices, constant(g, "uint32", strides[axis]!, indices.sizes));
  index.sizes.forEach((d, i) => {
    if (i !== axis && d > 1) flat = g.elementWiseAdd(flat, alongAxis(g, sequence(g, "uint32", [d], 0, strides[i]), index.sizes, i));
  });
  const count = sizeOf(index.sizes);
  const total = sizeOf(x.sizes);
  const written = write(g.reshape(x, [total]), g.reshape(flat, [count]), g.reshape(updates, [count]), 0);
  return g.reinterpret(written, { sizes: x.sizes });
}

/** @package */
export const scatterOp: Definition<ScatterAttributes> = define<ScatterAttributes>({
  name: "scatter",
  batched: axisBehindBatch,
  traits: { carries: true },
  infer: ([x]) => [x!],
  lower: (g, [x, index, source], { axis }) => [emitScatter(g, x!, index!, source!, axis)],
  grad: (dy, { inputs: [, index], needs, attrs: { axis } }) => [
    needs[0] ? without(dy, index!, axis) : null,
    null,
    needs[2] ? gather(dy, axis, index!) : null,
  ],
  saves: { inputs: [1], outputs: false },
  // The last update, repeated.
  padded: (_g, [x, , source], { axis }, _outputs, p, lower) => {
    const index = paddedIndex(p, axis);
    return index === null ? null : lower([x!, index, p.repeated(2, axis, source!)]);
  },
});

/** dy with zeros at the indices. */
function without(dy: Tensor, index: Tensor, axis: number): Tensor {
  const zeros = zerosLike(index, { dtype: dy.dtype });
  if (isGradEnabled() || batching() !== null || tracer() !== null) return call(scatterOp, [dy, index, zeros], { axis });
  const copy = clone(dy);
  return assign("scatter", copy, () => callOver(scatterOp, [copy, index, zeros], { axis }));
}

/** An index that names in its padding what it names before, or along other axes the padding of x; null: there is none. @package */
export function paddedIndex(p: Padding, axis: number): Expr | null {
  const index = p.repeated(1, axis);
  const others = index.sizes.flatMap((_, a) => (a !== axis && p.isPadded(1, a) ? [a] : []));
  if (others.some((a) => !p.isPadded(0, a))) return null;
  return others.length === 0 ? index : p.filled(1, 0, index, others);
}
