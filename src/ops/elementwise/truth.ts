/** Truth of a single element. */
import { ShapeError } from "../../core/errors.ts";
import type { Tensor } from "../../core/tensor.ts";
import { item, itemSync } from "../data/conversion.ts";

function requireOne(operation: string, x: Tensor): void {
  if (x.size !== 1) throw new ShapeError(operation, "x", "of one element", x.describe());
}

/** Whether the only element of x is not 0; NaN is not. A promise of it. Reference: torch.is_nonzero. */
export async function isNonzero(x: Tensor): Promise<boolean> {
  requireOne("isNonzero", x);
  const value = await item(x, x.dtype);
  return Number.isNaN(value) || Boolean(value);
}

/** isNonzero(), blocking until the device is done. */
export function isNonzeroSync(x: Tensor): boolean {
  requireOne("isNonzeroSync", x);
  const value = itemSync(x, x.dtype);
  return Number.isNaN(value) || Boolean(value);
}

export const methods = { isNonzero, isNonzeroSync };
