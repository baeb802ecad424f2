/** Randomized ReLU, Gumbel softmax, bilinear. @functional */
import { isHalf } from "../../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { requireSameDevice } from "../../dispatch/dispatch.ts";
import type { Tensor } from "../../core/tensor.ts";
import { leakyRelu } from "../elementwise/activation.ts";
import { add, div, mul, sub } from "../elementwise/binary.ts";
import { eq, gt } from "../elementwise/compare.ts";
import { toDType } from "../data/conversion.ts";
import { argmax } from "../reduce/extrema.ts";
import { matmul } from "../matmul/matmul.ts";
import { permute, reshape, unsqueeze } from "../shape/movement.ts";
import { rand, type Generator } from "./random.ts";
import { arange } from "../creation/ranges.ts";
import { sum } from "../reduce/reduce.ts";
import { softmax } from "../reduce/softmax.ts";
import { detach } from "../data/state.ts";
import { requireFloat } from "../declare/support.ts";
import { log, neg } from "../elementwise/unary.ts";
import { clampMin, where } from "../elementwise/where.ts";
import { normalizeAxis } from "../../core/shape.ts";

/** Options of rrelu(). Reference: torch.nn.functional.rrelu. */
export interface RReluOptions {
  /** Default: 1 / 8. */
  readonly lower?: number | undefined;
  /** Default: 1 / 3. */
  readonly upper?: number | undefined;
  /** Whether slopes are drawn, instead of their mean. Default: false. */
  readonly training?: boolean | undefined;
  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}
/** x where x > 0, a slope drawn uniformly from [lower, upper) times x elsewhere. Reference: torch.nn.functional.rrelu. */
export function rrelu(x: Tensor, { lower = 1 / 8, upper = 1 / 3, training = false, generator }: RReluOptions = {}): Tensor {
  requireFloat("rrelu", x);
  if (!(lower <= upper)) throw new ValueError("rrelu", "upper", `at least lower (${lower})`, upper);
  if (!training || x.size === 0) return leakyRelu(x, (lower + upper) / 2);
  const slopes = toDType(add(mul(rand(x.shape, { device: x.device, generator }), upper - lower), lower), x.dtype);
  return where(gt(x, 0), x, mul(x, slopes));
}

/** Options of gumbelSoftmax(). Reference: torch.nn.functional.gumbel_softmax. */
export interface GumbelOptions {
  /** Default: 1. */
  readonly tau?: number | undefined;
  /** Whether the result is one-hot, with the gradient of the soft one. Default: false. */
  readonly hard?: boolean | undefined;
  /** Default: -1. */
  readonly axis?: number | undefined;
  /** axis by its PyTorch name. @alias axis */
  readonly dim?: number | undefined;

  /** The source of random numbers. Default: the device's default generator. */
  readonly generator?: Generator | undefined;
}
/** softmax((x + Gumbel noise) / tau): a differentiable sample of a class. Reference: torch.nn.functional.gumbel_softmax. */
export function gumbelSoftmax(x: Tensor, { tau = 1, hard = false, axis = -1, generator }: GumbelOptions = {}): Tensor {
  requireFloat("gumbelSoftmax", x);
  const along = normalizeAxis("gumbelSoftmax", axis, x.rank);
  const noise = neg(log(clampMin(neg(log(clampMin(rand(x.shape, { device: x.device, generator }), 2 ** -25))), 2 ** -25)));
  const soft = softmax(div(add(x, toDType(noise, x.dtype)), tau), along);
  if (!hard) return soft;
  const at = reshape(
    arange(x.shape[along]!, { dtype: "int32", device: x.device }),
    x.shape.map((d, i) => (i === along ? d : 1)),
  );
  const chosen = toDType(eq(argmax(detach(soft), along, { keepDims: true }), at), x.dtype);
  return add(sub(chosen, detach(soft)), soft);
}

/** y[..., o] = a W[o] b + bias[o]. a: [..., I]; b: [..., J]; weight: [O, I, J]. DirectML: GEMM. Reference: torch.nn.functional.bilinear. @autocast widest */
export function bilinear(a: Tensor, b: Tensor, weight: Tensor, bias: Tensor | null = null): Tensor {
  requireSameDevice("bilinear", [a, b, weight]);
  if (a.dtype !== b.dtype || a.dtype !== weight.dtype)
    throw new DTypeError("bilinear", "b and weight", `of a's dtype ${a.dtype}`, `${b.describe()}, ${weight.describe()}`);
  const [o, i, j] = weight.shape as [number, number, number];
  if (weight.rank !== 3 || a.shape.at(-1) !== i || b.shape.at(-1) !== j || a.shape.slice(0, -1).join() !== b.shape.slice(0, -1).join())
    throw new ShapeError(
      "bilinear",
      "a, b and weight",
      "[..., I], [..., J] and [O, I, J]",
      [a, b, weight].map((t) => t.describe()).join(", "),
    );
  const lead = a.shape.slice(0, -1);
  const rows = a.size / Math.max(1, i);
  // Two matmuls in a row: half precision is rounded once, at the end.
  const [x, z, w] = isHalf(a.dtype) ? [a, b, weight].map((t) => toDType(t, "float32")) : [a, b, weight];
  const left = reshape(matmul(reshape(x!, [rows, i]), reshape(permute(w!, 1, 0, 2), [i, o * j])), [rows, o, j]);
  const y = reshape(sum(mul(left, unsqueeze(reshape(z!, [rows, j]), 1)), -1, { dtype: x!.dtype }), [...lead, o]);
  return toDType(bias === null ? y : add(y, bias), a.dtype);
}
