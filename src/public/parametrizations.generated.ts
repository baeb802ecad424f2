// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnParametrizations from "../nn/parametrizations.ts";
export type { WeightNormOptions } from "../nn/parametrizations.ts";
export type { SpectralNormOptions } from "../nn/parametrizations.ts";
export type { OrthogonalWeightOptions } from "../nn/parametrizations.ts";
/**
 * The weight as magnitude times direction, g v / |v|: `parametrizations.weight.original0` is g, one number for each slice along dim, `original1` v, of the weight's
 * shape. An optimizer made before does not know them. Returns the module. Throws ValueError for a name that is no tensor of the module, IndexError for
 * an axis that it does not have. Reference: torch.nn.utils.parametrizations.weight_norm.
 */
export const weightNorm = checked($nnParametrizations.weightNorm, "weightNorm", "module:module name:string? options:WeightNormOptions?");
/**
 * The weight divided by its largest singular value, as a matrix of the axis dim by all others; a vector by its length. Power iterations find the value: their vectors are
 * buffers, `parametrizations.weight.0._u` and `_v`, which move on in each call in training. Returns the module. Throws ValueError for options out of their range,
 * IndexError for an axis that the weight does not have. Reference: torch.nn.utils.parametrizations.spectral_norm.
 */
export const spectralNorm = checked($nnParametrizations.spectralNorm, "spectralNorm", "module:module name:string? options:SpectralNormOptions?");
/**
 * The weight as an orthogonal matrix [..., m, n]: its columns are orthonormal where m >= n, else its rows. It starts as the weight's own Q of a QR decomposition, or as the weight
 * where that is orthogonal. Maps: the matrix exponential and the Cayley map (I + A/2)(I - A/2)⁻¹ of a skew-symmetric matrix, or a product of Householder reflections. They
 * are computed on the host, through LAPACK. Returns the module. Throws ShapeError for a weight of less than two axes, ValueError for another map.
 * Reference: torch.nn.utils.parametrizations.orthogonal.
 */
export const orthogonal = checked($nnParametrizations.orthogonal, "orthogonal", "module:module name:string? options:OrthogonalWeightOptions?");
