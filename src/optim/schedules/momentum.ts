/** The momentum of a group, whatever its optimizer calls it: the first of betas, or momentum. */
import { ValueError } from "../../core/errors.ts";
import type { AnyGroup, AnyOptimizer } from "./scheduler.ts";

export function requireMomentum(operation: string, { defaults }: AnyOptimizer): void {
  if (!("betas" in (defaults as object)) && !("momentum" in (defaults as object)))
    throw new ValueError(operation, "optimizer", "one with momentum or betas where cycleMomentum is on", Object.keys(defaults as object));
}

export function setMomentum({ options }: AnyGroup, value: number): void {
  if (options.betas === undefined) options.momentum = value;
  else options.betas = [value, options.betas[1]];
}
