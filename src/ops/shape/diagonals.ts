/** Diagonals and trace. */
import { isInteger } from "../../core/dtype.ts";
import { ShapeError, ValueError } from "../../core/errors.ts";
import { normalizeAxis } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { clone } from "../data/state.ts";
import { diagonal, flatten, movedim } from "./movement.ts";
import { sum } from "../reduce/reduce.ts";
import { embedDiagonal } from "../creation/ranges.ts";
import { zeros } from "../creation/creation.ts";

/** Options of diagEmbed() and others that take a diagonal's axes. Reference: torch.diag_embed. */
export interface DiagonalOptions {
  /** Above the main diagonal if positive. Default: 0. */
  readonly offset?: number | undefined;
  /** Default: the second to last axis of the result. */
  readonly axis0?: number | undefined;
  /** axis0 by its PyTorch name. @alias axis0 */
  readonly dim1?: number | undefined;

  /** Default: the last. */
  readonly axis1?: number | undefined;
  /** axis1 by its PyTorch name. @alias axis1 */
  readonly dim2?: number | undefined;
}

/** Square matrices with x's last axis on a diagonal, zeros elsewhere. Reference: torch.diag_embed. */
export function diagEmbed(x: Tensor, { offset = 0, axis0 = -2, axis1 = -1 }: DiagonalOptions = {}): Tensor {
  if (x.rank === 0) throw new ShapeError("diagEmbed", "x", "of at least one axis", x.describe());
  if (!Number.isInteger(offset)) throw new ValueError("diagEmbed", "offset", "an integer", offset);
  const a = normalizeAxis("diagEmbed", axis0, x.rank + 1, "axis0");
  const b = normalizeAxis("diagEmbed", axis1, x.rank + 1, "axis1");
  if (a === b) throw new ValueError("diagEmbed", "axis1", "another axis than axis0", axis1);
  const n = x.shape.at(-1)! + Math.abs(offset);
  const shape = [...x.shape.slice(0, -1), n, n];
  const stacked = x.size === 0 ? zeros(shape, { dtype: x.dtype, device: x.device }) : embedDiagonal(x, shape, offset);
  return movedim(stacked, [-2, -1], [a, b]);
}

/** A vector as the diagonal of a matrix, or a copy of a matrix's diagonal (diagonal gives a view). Reference: torch.diag. */
export function diag(x: Tensor, offset = 0): Tensor {
  if (x.rank !== 1 && x.rank !== 2) throw new ShapeError("diag", "x", "a vector or a matrix", x.describe());
  return x.rank === 1 ? diagEmbed(x, { offset }) : clone(diagonal(x, { offset }));
}

/** All elements as the diagonal of a matrix. Reference: torch.diagflat. */
export const diagflat = (x: Tensor, offset = 0): Tensor => diagEmbed(flatten(x), { offset });

/** The sum of a matrix's diagonal. Integers give int64. Reference: torch.trace. */
export function trace(x: Tensor): Tensor {
  if (x.rank !== 2) throw new ShapeError("trace", "x", "a matrix", x.describe());
  return sum(diagonal(x), null, isInteger(x.dtype) || x.dtype === "bool" ? { dtype: "int64" } : {});
}

export const methods = { diagEmbed, diag, diagflat, trace };
