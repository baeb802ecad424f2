/** Complex numbers of lengths and angles. */
import { define, type Definition } from "../core/definition.ts";
import { add, mul, sub } from "../ops/elementwise/binary.ts";
import { sameShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

const plus = (a: Tensor | null, b: Tensor | null): Tensor | null => (a === null ? b : b === null ? a : add(a, b));
const times = (a: Tensor | null, b: Tensor): Tensor | null => (a === null ? null : mul(a, b));

/**
 * length cos angle and length sin angle, and the cosine and sine themselves: the gradient needs neither the length nor the angle, which may be
 * changed in place afterwards, as in PyTorch. DirectML: ELEMENT_WISE_COS, ELEMENT_WISE_SIN, ELEMENT_WISE_MULTIPLY.
 */
export const polarOp: Definition<undefined> = define({
  name: "polar",
  traits: { elementwise: true },
  infer: ([length, angle]) => {
    if (!sameShape(length!.shape, angle!.shape)) throw new Error("polar: shapes must be equal");
    return [length!, length!, length!, length!];
  },
  lower: (g, [length, angle]) => {
    const [c, s] = [g.elementWiseCos(angle!), g.elementWiseSin(angle!)];
    return [g.elementWiseMultiply(length!, c), g.elementWiseMultiply(length!, s), c, s];
  },
  grad: (_, { outputs: [re, im, c, s], dys: [dre, dim, dc, ds], needs }) => [
    needs[0] ? plus(times(dre!, c!), times(dim!, s!)) : null,
    needs[1] ? plus(minus(times(dim!, re!), times(dre!, im!)), minus(times(ds!, c!), times(dc!, s!))) : null,
  ],
  saves: { inputs: [], outputs: true },
});

const minus = (a: Tensor | null, b: Tensor | null): Tensor | null => (b === null ? a : a === null ? mul(b, -1) : sub(a, b));
