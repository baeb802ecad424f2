/** parametrizations: weight normalization, spectral normalization and orthogonal matrices, as torch.nn.utils.parametrizations. */
import { noGrad } from "../autograd/grad-mode.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { outsideScopes } from "../core/scope.ts";
import { normalizeAxis } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { assign } from "../dispatch/dispatch.ts";
import { clone } from "../ops/data/state.ts";
import { div } from "../ops/elementwise/binary.ts";
import { matmul } from "../ops/matmul/matmul.ts";
import { weightNorm as weightNormOp } from "../ops/norm/weight-norm.ts";
import { randn, type Generator as RandomGenerator } from "../ops/random/random.ts";
import { normalize } from "../ops/reduce/distance.ts";
import { norm } from "../ops/reduce/statistics.ts";
import { permute, reshape, transpose } from "../ops/shape/movement.ts";
import { ConvTranspose1d, ConvTranspose2d, ConvTranspose3d } from "./conv.ts";
import { Module } from "./module.ts";
import { Orthogonal, type OrthogonalMap } from "./orthogonal.ts";
import { requireCount } from "./options.ts";
import { registerParametrization, type Parametrized } from "./parametrize.ts";

/** v g / |v|. */
class WeightNorm extends Module {
  readonly dim: number | null;

  constructor(dim: number | null) {
    super();
    this.dim = dim;
  }

  forward(g: Tensor, v: Tensor): Tensor {
    return weightNormOp(v, g, this.dim);
  }

  rightInverse(weight: Tensor): readonly Tensor[] {
    const kept = this.dim === null ? null : normalizeAxis("weightNorm", this.dim, weight.rank);
    const axes = weight.shape.flatMap((_, i) => (i === kept ? [] : [i]));
    const g = kept === null ? norm(weight) : axes.length === 0 ? weight.abs() : norm(weight, 2, axes, { keepDims: true });
    return [g, weight];
  }
}

/** Options of weightNorm(). */
export interface WeightNormOptions {
  /** The axis along which each slice has a magnitude of its own; null: one for the whole tensor. Default: 0. */
  readonly dim?: number | null | undefined;
}

/** The tensor of a name, in a field of a module. */
function tensorOf(operation: string, module: Module, name: string): Tensor {
  const value = (module as unknown as Record<string, Tensor | null | undefined>)[name];
  if (value === null || value === undefined || typeof value !== "object" || !("describe" in value))
    throw new ValueError(operation, "name", "the name of a parameter or buffer of the module", name);
  return value;
}

/**
 * The weight as magnitude times direction, g v / |v|: `parametrizations.weight.original0` is g, one number for each slice along dim, `original1` v, of the weight's
 * shape. An optimizer made before does not know them. Returns the module. Throws ValueError for a name that is no tensor of the module, IndexError for
 * an axis that it does not have. Reference: torch.nn.utils.parametrizations.weight_norm.
 */
export function weightNorm<M extends Module, Name extends string = "weight">(
  module: M,
  name: Name = "weight" as Name,
  { dim = 0 }: WeightNormOptions = {},
): M & Parametrized<Name> {
  const weight = tensorOf("weightNorm", module, name);
  if (dim !== null) normalizeAxis("weightNorm", dim, weight.rank);
  return registerParametrization(module, name, new WeightNorm(dim), { unsafe: true });
}

/** W / σ(W). The largest singular value σ by power iterations, one or some in each call in training. No #fields: clone() cannot copy them. */
class SpectralNorm extends Module {
  readonly dim: number;
  readonly eps: number;
  readonly iterations: number;

  constructor(weight: Tensor, iterations: number, eps: number, dim: number, generator: RandomGenerator | undefined) {
    super();
    this.dim = dim;
    this.eps = eps;
    this.iterations = iterations;
    if (weight.rank < 2) return;
    noGrad(() => {
      const matrix = this.matrix(weight);
      for (const [buffer, axis] of [
        ["_u", 0],
        ["_v", 1],
      ] as const)
        // prettier-ignore
        this.registerBuffer(
          buffer,
          outsideScopes(() => this.unit(randn([matrix.shape[axis]!], { dtype: weight.dtype, device: weight.device, generator }))),
        );
      this.iterate(matrix, 15);
    });
  }

  private unit(x: Tensor): Tensor {
    return normalize(x, { axis: 0, eps: this.eps });
  }

  /** The axis dim as rows, all others as columns. */
  private matrix(weight: Tensor): Tensor {
    const { dim } = this;
    const first = dim === 0 ? weight : permute(weight, [dim, ...weight.shape.flatMap((_, i) => (i === dim ? [] : [i]))]);
    return reshape(first, [weight.shape[dim]!, weight.size / weight.shape[dim]!]);
  }

  private iterate(matrix: Tensor, count: number): void {
    const { _u: u, _v: v } = this as unknown as { _u: Tensor; _v: Tensor };
    noGrad(() => {
      for (let i = 0; i < count; i++) {
        assign("spectralNorm", u, () => this.unit(matmul(matrix, v)));
        assign("spectralNorm", v, () => this.unit(matmul(transpose(matrix, 0, 1), u)));
      }
    });
  }

  forward(weight: Tensor): Tensor {
    if (weight.rank < 2) return this.unit(weight);
    const matrix = this.matrix(weight);
    if (this.training) this.iterate(matrix, this.iterations);
    // Copies: the next call writes the buffers, and the gradient of this one reads them.
    const { _u: u, _v: v } = this as unknown as { _u: Tensor; _v: Tensor };
    return div(weight, matmul(clone(u), matmul(matrix, clone(v))));
  }

  rightInverse(weight: Tensor): Tensor {
    return weight;
  }
}

/** Options of spectralNorm(). */
export interface SpectralNormOptions {
  /** Power iterations in each call in training. Default: 1. */
  readonly nPowerIterations?: number | undefined;
  /** Added to norms, against a division by zero. Default: 1e-12. */
  readonly eps?: number | undefined;
  /** The axis of the outputs, which are the rows of the matrix. Default: 0, 1 for transposed convolutions. */
  readonly dim?: number | null | undefined;
  /** Draws the first vectors. Default: the device's own generator. */
  readonly generator?: RandomGenerator | undefined;
}

/**
 * The weight divided by its largest singular value, as a matrix of the axis dim by all others; a vector by its length. Power iterations find the value: their vectors are
 * buffers, `parametrizations.weight.0._u` and `_v`, which move on in each call in training. Returns the module. Throws ValueError for options out of their range,
 * IndexError for an axis that the weight does not have. Reference: torch.nn.utils.parametrizations.spectral_norm.
 */
export function spectralNorm<M extends Module, Name extends string = "weight">(
  module: M,
  name: Name = "weight" as Name,
  { nPowerIterations = 1, eps = 1e-12, dim, generator }: SpectralNormOptions = {},
): M & Parametrized<Name> {
  const weight = tensorOf("spectralNorm", module, name);
  requireCount("spectralNorm", "nPowerIterations", nPowerIterations);
  if (!(eps >= 0)) throw new ValueError("spectralNorm", "eps", "at least 0", eps);
  if (weight.rank === 0) throw new ShapeError("spectralNorm", "weight", "of at least one axis", weight.describe());
  const isTransposed = [ConvTranspose1d, ConvTranspose2d, ConvTranspose3d].some((c) => module instanceof c);
  const axis = normalizeAxis("spectralNorm", dim ?? (isTransposed && weight.rank > 1 ? 1 : 0), weight.rank);
  return registerParametrization(module, name, new SpectralNorm(weight, nPowerIterations, eps, axis, generator));
}

/** Options of orthogonal(). */
export interface OrthogonalWeightOptions {
  /** How an orthogonal matrix is made of any one. Default: "matrix_exp" for square matrices, else "householder". */
  readonly orthogonalMap?: OrthogonalMap | undefined;
  /** Whether the map's result is multiplied by a fixed orthogonal matrix, `parametrizations.weight.0.base`, which the tensor's value becomes. Default: true. */
  readonly useTrivialization?: boolean | undefined;
  /** Draws what completes a matrix that is not square. Default: the device's own generator. */
  readonly generator?: RandomGenerator | undefined;
}

/**
 * The weight as an orthogonal matrix [..., m, n]: its columns are orthonormal where m >= n, else its rows. It starts as the weight's own Q of a QR decomposition, or as the weight
 * where that is orthogonal. Maps: the matrix exponential and the Cayley map (I + A/2)(I - A/2)⁻¹ of a skew-symmetric matrix, or a product of Householder reflections. They
 * are computed on the host, through LAPACK. Returns the module. Throws ShapeError for a weight of less than two axes, ValueError for another map.
 * Reference: torch.nn.utils.parametrizations.orthogonal.
 */
export function orthogonal<M extends Module, Name extends string = "weight">(
  module: M,
  name: Name = "weight" as Name,
  { orthogonalMap, useTrivialization = true, generator }: OrthogonalWeightOptions = {},
): M & Parametrized<Name> {
  const weight = tensorOf("orthogonal", module, name);
  if (weight.rank < 2) throw new ShapeError("orthogonal", "weight", "a matrix, or a batch of matrices", weight.describe());
  const map = orthogonalMap ?? (weight.shape.at(-1) === weight.shape.at(-2) ? "matrix_exp" : "householder");
  if (!["matrix_exp", "cayley", "householder"].includes(map))
    throw new ValueError("orthogonal", "orthogonalMap", '"matrix_exp", "cayley" or "householder"', map);
  return registerParametrization(module, name, new Orthogonal(map, useTrivialization, generator), { unsafe: true });
}
