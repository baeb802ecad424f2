/** A complex tensor's memory: pairs of real numbers [..., 2], and the parts as views of them. */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import { ComplexTensor, pairOperations } from "../core/complex-tensor.ts";
import { view } from "../dispatch/dispatch.ts";
import { defineView, type ViewDefinition } from "../core/definition.ts";
import { stack } from "../ops/shape/join.ts";
import { sliceAdjoint, unsqueeze } from "../ops/shape/movement.ts";
import { neg } from "../ops/elementwise/unary.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** One number of each pair. */
const partOp = (name: string, index: 0 | 1): ViewDefinition<undefined> =>
  defineView<undefined>({
    name,
    view: ({ shape, strides }) => ({
      shape: shape.slice(0, -1),
      strides: strides.slice(0, -1),
      offset: sizeOf(shape) === 0 ? 0 : index * strides.at(-1)!,
    }),
    grad: (dy, { spec: { shape } }) =>
      sliceAdjoint(
        unsqueeze(dy, -1),
        { starts: shape.map((_, i) => (i === dy.rank ? index : 0)), sizes: [...dy.shape, 1], steps: shape.map(() => 1) },
        shape,
      ),
    part: ({ grad, box }, { spec: { shape } }) => {
      const rest = shape.slice(0, -1);
      return {
        grad: unsqueeze(grad, -1),
        box: {
          starts: [...(box?.starts ?? rest.map(() => 0)), index],
          sizes: [...(box?.sizes ?? rest), 1],
          steps: [...(box?.steps ?? rest.map(() => 1)), 1],
        },
      };
    },
  });
const realOp = partOp("real", 0);
const imagOp = partOp("imag", 1);

pairOperations.join = (re, im) => stack([re, im], -1);
pairOperations.part = (pairs, index) => view(index === 0 ? realOp : imagOp, pairs, undefined);
pairOperations.negative = neg;
pairOperations.isGradEnabled = isGradEnabled;

/** The complex numbers re + i im of one shape and dtype: a copy. */
export const fromParts = (re: Tensor, im: Tensor): ComplexTensor => new ComplexTensor(re, im);
/** What is stored as these pairs. */
export const fromPairs = (pairs: Tensor, isConj: boolean): ComplexTensor => new ComplexTensor(pairs, isConj);
/** The pairs as they are to be read: a conjugate's are computed. */
export const resolved = (z: ComplexTensor): Tensor => (z.isConj ? stack([z.re, z.im], -1) : z.pairs);
/** A function of the pairs of z, whose first axes are z's; z itself where they are what it gives. */
export function ofPairs(z: ComplexTensor, fn: (pairs: Tensor) => Tensor): ComplexTensor {
  const pairs = fn(z.pairs);
  return pairs === z.pairs ? z : new ComplexTensor(pairs, z.isConj);
}
