/** Starting values for models that are loaded when they are first used: parts of the bundle take nothing of a name that the package exports otherwise. @package */
import type { Tensor } from "../core/tensor.ts";
import { normal, type InitOptions } from "./init.ts";

/** init.normal(). */
export const fillNormal = (t: Tensor, mean: number, deviation: number, options: InitOptions = {}): Tensor =>
  normal(t, mean, deviation, options);
