/** init: starting values of parameters. Each function fills the tensor in place, without recording it, and returns it. */
import { ShapeError, ValueError } from "../core/errors.ts";
import { noGrad } from "../autograd/grad-mode.ts";
import { copyInto } from "../ops/data/copy.ts";
import { full, tensor as tensorOf } from "../ops/creation/creation.ts";
import { add, mul, sub } from "../ops/elementwise/binary.ts";
import { toDType } from "../ops/data/conversion.ts";
import { eye as eyeMatrix } from "../ops/creation/ranges.ts";
import { erfinv } from "../ops/special/error-functions.ts";
import { qr } from "../ops/linalg/qr.ts";
import { argsort } from "../ops/sort/sort.ts";
import { clamp } from "../ops/elementwise/where.ts";
import { ge } from "../ops/elementwise/compare.ts";
import { erf, sign } from "../ops/elementwise/unary.ts";
import { diagonal, reshape, transpose } from "../ops/shape/movement.ts";
import { rand, randn, type Generator } from "../ops/random/random.ts";
import { scope } from "../core/scope.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** What initializers that draw numbers take. */
export interface InitOptions {
  /** Default: the device's own generator. */
  readonly generator?: Generator | undefined;
}

function fill(operation: string, t: Tensor, make: () => Tensor): Tensor {
  noGrad(() =>
    scope(() => {
      copyInto(operation, t, make());
    }),
  );
  return t;
}

/** Uniform in [low, high). Reference: torch.nn.init.uniform_. */
export const uniform = (t: Tensor, low = 0, high = 1, { generator }: InitOptions = {}): Tensor =>
  fill("uniform", t, () => add(mul(rand(t.shape, { device: t.device, generator }), high - low), low));

/** Normal with a mean and standard deviation. Reference: torch.nn.init.normal_. */
export const normal = (t: Tensor, mean = 0, std = 1, { generator }: InitOptions = {}): Tensor =>
  fill("normal", t, () => add(mul(randn(t.shape, { device: t.device, generator }), std), mean));

/** All elements equal. Reference: torch.nn.init.constant_. */
export const constant = (t: Tensor, value: number): Tensor =>
  fill("constant", t, () => full(t.shape, value, { dtype: t.dtype, device: t.device }));

/** Fills a tensor with 0. Returns it. Reference: torch.nn.init.zeros_. */
export const zeros = (t: Tensor): Tensor => constant(t, 0);
/** Fills a tensor with 1. Returns it. Reference: torch.nn.init.ones_. */
export const ones = (t: Tensor): Tensor => constant(t, 1);

/** The identity matrix, for a tensor [R, C]. Reference: torch.nn.init.eye_. */
export function identity(t: Tensor): Tensor {
  if (t.rank !== 2) throw new ShapeError("identity", "tensor", "of two axes", t.describe());
  return fill("identity", t, () => eyeMatrix(t.shape[0]!, t.shape[1]!, { device: t.device }));
}

/** Inputs and outputs of one unit of a weight [O, I, kernel...]. */
export function fans(operation: string, t: Tensor): { readonly input: number; readonly output: number } {
  if (t.rank < 2) throw new ShapeError(operation, "tensor", "of at least two axes", t.describe());
  const field = sizeOf(t.shape.slice(2));
  return { input: t.shape[1]! * field, output: t.shape[0]! * field };
}

/** Functions of which gain() and kaimingUniform() know the gain. */
export type Nonlinearity = "linear" | "sigmoid" | "tanh" | "relu" | "leakyRelu" | "leaky_relu" | "selu";

/** The factor by which a nonlinearity calls for larger weights. Reference: torch.nn.init.calculate_gain. */
export function gain(nonlinearity: Nonlinearity, slope = 0.01): number {
  switch (nonlinearity) {
    case "linear":
    case "sigmoid":
      return 1;
    case "tanh":
      return 5 / 3;
    case "relu":
      return Math.SQRT2;
    case "leakyRelu":
    case "leaky_relu":
      return Math.sqrt(2 / (1 + slope * slope));
    case "selu":
      return 3 / 4;
    default:
      throw new ValueError("gain", "nonlinearity", "linear, sigmoid, tanh, relu, leakyRelu or selu", nonlinearity satisfies never);
  }
}

/** Options of kaimingUniform() and kaimingNormal(). Reference: torch.nn.init.kaiming_uniform_. */
export interface KaimingOptions extends InitOptions {
  /** Negative slope of leakyRelu. Default: 0. */
  readonly a?: number | undefined;
  /** @deprecated Use a. */
  readonly slope?: number | undefined;

  /** Whether the forward ("fanIn") or the backward pass ("fanOut") keeps its variance. Default: "fanIn". */
  readonly mode?: "fanIn" | "fanOut" | "fan_in" | "fan_out" | "input" | "output" | undefined;
  /** @deprecated Use mode. */
  readonly fan?: "input" | "output" | undefined;

  /** The function behind the layer. Default: "leakyRelu". */
  readonly nonlinearity?: Nonlinearity | undefined;
}

function kaimingStd(operation: string, t: Tensor, { a: slope = 0, mode = "fanIn", nonlinearity = "leakyRelu" }: KaimingOptions): number {
  const { input, output } = fans(operation, t);
  return gain(nonlinearity, slope) / Math.sqrt(mode === "fanIn" || mode === "fan_in" || mode === "input" ? input : output);
}

/** Uniform of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_uniform_. */
export function kaimingUniform(t: Tensor, options: KaimingOptions = {}): Tensor {
  const bound = Math.sqrt(3) * kaimingStd("kaimingUniform", t, options);
  return uniform(t, -bound, bound, options);
}

/** Normal of standard deviation gain / sqrt(fan). Reference: torch.nn.init.kaiming_normal_. */
export const kaimingNormal = (t: Tensor, options: KaimingOptions = {}): Tensor =>
  normal(t, 0, kaimingStd("kaimingNormal", t, options), options);

/** Options of xavierUniform() and xavierNormal(). Reference: torch.nn.init.xavier_uniform_. */
export interface XavierOptions extends InitOptions {
  /** Default: 1. */
  readonly gain?: number | undefined;
}

const xavierStd = (operation: string, t: Tensor, factor: number): number => {
  const { input, output } = fans(operation, t);
  return factor * Math.sqrt(2 / (input + output));
};

/** Uniform of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_uniform_. */
export function xavierUniform(t: Tensor, options: XavierOptions = {}): Tensor {
  const bound = Math.sqrt(3) * xavierStd("xavierUniform", t, options.gain ?? 1);
  return uniform(t, -bound, bound, options);
}

/** Normal of standard deviation gain * sqrt(2 / (inputs + outputs)). Reference: torch.nn.init.xavier_normal_. */
export const xavierNormal = (t: Tensor, options: XavierOptions = {}): Tensor =>
  normal(t, 0, xavierStd("xavierNormal", t, options.gain ?? 1), options);

/** The identity matrix, for a tensor [R, C]: identity() by PyTorch's name. Reference: torch.nn.init.eye_. */
export const eye = (t: Tensor): Tensor => identity(t);

/** gain() by PyTorch's name. Reference: torch.nn.init.calculate_gain. */
export const calculateGain = (nonlinearity: Nonlinearity, param = 0.01): number => gain(nonlinearity, param);

/** Options of truncNormal(). Reference: torch.nn.init.trunc_normal_. */
export interface TruncNormalOptions extends InitOptions {
  /** Mean of the normal distribution. Default: 0. */
  readonly mean?: number | undefined;
  /** Standard deviation of the normal distribution, above 0. Default: 1. */
  readonly std?: number | undefined;
  /** Smallest value. Default: -2. */
  readonly a?: number | undefined;
  /** Largest value. Default: 2. */
  readonly b?: number | undefined;
}

/**
 * Normal within [a, b]: the inverse of the distribution function at uniform numbers, so that nothing is read back. Beyond about five standard deviations on
 * one side of the mean float32 has too few values for it. Throws ValueError for a std that is not above 0, or an empty range. Reference: torch.nn.init.trunc_normal_.
 */
export function truncNormal(t: Tensor, { mean = 0, std = 1, a = -2, b = 2, generator }: TruncNormalOptions = {}): Tensor {
  if (!(std > 0)) throw new ValueError("truncNormal", "std", "above 0", std);
  if (!(a < b)) throw new ValueError("truncNormal", "a", `below b (${b})`, a);
  return fill("truncNormal", t, () => {
    const bound = (x: number): Tensor => erf(full([], (x - mean) / (std * Math.SQRT2), { device: t.device }));
    const [low, high] = [bound(a), bound(b)];
    const drawn = add(mul(rand(t.shape, { device: t.device, generator }), sub(high, low)), low);
    return clamp(add(mul(erfinv(drawn), std * Math.SQRT2), mean), a, b);
  });
}

/** Options of orthogonal(). Reference: torch.nn.init.orthogonal_. */
export interface OrthogonalOptions extends InitOptions {
  /** Factor of the matrix. Default: 1. */
  readonly gain?: number | undefined;
}

/** Orthogonal rows or columns, whichever are fewer, of the tensor [R, ...] as a matrix [R, C]; the decomposition runs on the host. Reference: torch.nn.init.orthogonal_. */
export function orthogonal(t: Tensor, { gain: factor = 1, generator }: OrthogonalOptions = {}): Tensor {
  if (t.rank < 2) throw new ShapeError("orthogonal", "tensor", "of at least two axes", t.describe());
  if (t.size === 0 || !t.device.hasElements) return t;
  return fill("orthogonal", t, () => {
    const rows = t.shape[0]!;
    const columns = t.size / rows;
    const [long, short] = rows < columns ? [columns, rows] : [rows, columns];
    const { Q: q, R: r } = qr(randn([long, short], { device: t.device, generator }));
    // Signs of R make Q uniform (Mezzadri, arXiv math-ph/0609050).
    const even = mul(mul(q, sign(diagonal(r))), factor);
    return reshape(rows < columns ? transpose(even, 0, 1) : even, t.shape);
  });
}

/** Kernels [Co, Ci, ...kernel] that pass as many channels on as possible, in each of `groups` groups. Reference: torch.nn.init.dirac_. */
export function dirac(t: Tensor, groups = 1): Tensor {
  if (t.rank < 3 || t.rank > 5) throw new ShapeError("dirac", "tensor", "of 3, 4 or 5 axes", t.describe());
  const [outputs, inputs, ...kernel] = t.shape as [number, number, ...number[]];
  if (!Number.isInteger(groups) || groups < 1 || outputs % groups !== 0)
    throw new ValueError("dirac", "groups", `a divisor of ${outputs} channels`, groups);
  const field = sizeOf(kernel);
  const middle = kernel.reduce((at, k) => at * k + Math.floor(k / 2), 0);
  const values = new Float32Array(t.size);
  const each = outputs / groups;
  for (let g = 0; g < groups; g++)
    for (let d = 0; d < Math.min(each, inputs); d++) values[((g * each + d) * inputs + d) * field + middle] = 1;
  return fill("dirac", t, () => tensorOf(values, { shape: t.shape, device: t.device }));
}

/** Options of sparse(). Reference: torch.nn.init.sparse_. */
export interface SparseOptions extends InitOptions {
  /** Standard deviation of the others. Default: 0.01. */
  readonly std?: number | undefined;
}

/** Normal numbers in a matrix [R, C] of which in each column ceil(sparsity * R), drawn at random, are 0. Reference: torch.nn.init.sparse_. */
export function sparse(t: Tensor, sparsity: number, { std = 0.01, generator }: SparseOptions = {}): Tensor {
  if (t.rank !== 2) throw new ShapeError("sparse", "tensor", "of two axes", t.describe());
  if (!(sparsity >= 0 && sparsity <= 1)) throw new ValueError("sparse", "sparsity", "in [0, 1]", sparsity);
  const at = { device: t.device, generator };
  return fill("sparse", t, () => {
    // The rank of each of a column's random numbers is a random permutation.
    const order = argsort(argsort(rand(t.shape, at), 0), 0);
    return mul(mul(randn(t.shape, at), std), toDType(ge(order, Math.ceil(sparsity * t.shape[0]!)), "float32"));
  });
}
