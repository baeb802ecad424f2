// Made by npm run generate from the families in src/ops.
import { checked } from "./kinds.generated.ts";
import * as $nnParametrize from "../nn/parametrize.ts";
export type { Parametrization } from "../nn/parametrization-list.ts";
export type { ParametrizationList } from "../nn/parametrization-list.ts";
export type { ParametrizationOptions } from "../nn/parametrize.ts";
export type { Parametrized } from "../nn/parametrize.ts";
/**
 * Whether a module has parametrized tensors, or the tensor of a name is one. Reference: torch.nn.utils.parametrize.is_parametrized.
 */
export const isParametrized = checked($nnParametrize.isParametrized, "isParametrized", "module:module tensorName:string?");
/**
 * Runs fn, in which each parametrized tensor is computed once, however often it is read: for weights that are shared, or read in a loop. fn may return a promise.
 * Whoever changes an original inside sees the old value until the end. Reference: torch.nn.utils.parametrize.cached.
 */
export const cached = checked($nnParametrize.cached, "cached", "fn:callback");
/**
 * The tensor of a name, a parameter or buffer in a field of the module, is from now on what the parametrization computes of it: `module.weight` is
 * `parametrization(original)`, computed each time it is read, and gradients reach the original, which is a parameter of the module: `parametrizations.weight.original`
 * (`original0`, `original1`, … where rightInverse() gives several, which an optimizer then needs). Registered again, parametrizations are called one after the other. Assigning to
 * `module.weight` goes through rightInverse(). Returns the module.
 *
 * Throws ValueError for a name that is no tensor of the module, ShapeError or DTypeError for parametrizations that change shape or dtype, unless unsafe; TraceError
 * inside compiled functions. Reference: torch.nn.utils.parametrize.register_parametrization.
 */
export const registerParametrization = checked($nnParametrize.registerParametrization, "registerParametrization", "module:module tensorName:string parametrization:module options:ParametrizationOptions?");
/**
 * The tensor is a parameter or buffer of the module again: with the value that the parametrizations gave, or with leaveParametrized false that of the original. The one
 * original stays the same object, as optimizers know it. Returns the module. Throws ValueError for a tensor that is not parametrized, and for
 * leaveParametrized false where there are several originals. Reference: torch.nn.utils.parametrize.remove_parametrizations.
 */
export const removeParametrizations = checked($nnParametrize.removeParametrizations, "removeParametrizations", "module:module tensorName:string options:leaveParametrized_e91ec9?");
