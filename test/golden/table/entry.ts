/** The table's entry for a PyTorch operation, and functions that make entries. */
import * as dx from "../../../src/index.ts";
import type { Call } from "../call.ts";

/** What a call gives: a tensor, several, or plain values. */
export type Result = dx.Tensor | dx.ComplexTensor | readonly Result[] | number | boolean | string;

export interface Entry {
  readonly run: (call: Call) => Result;
  /** The in-place form, where there is one: changes the first operand. */
  readonly inPlace?: ((call: Call) => void) | undefined;
  /** The results are indices or counts: int64 in PyTorch, int32 here. */
  readonly counts?: boolean;
  /** Inside compile() it is refused: the shape depends on data, or a storage takes another size. */
  readonly dynamic?: boolean;
  /** The call depends on its operands' strides, as PyTorch's does: they are never spread out. */
  readonly packed?: boolean;
  /** A view in PyTorch, which lies otherwise here: complex tensors' parts lie apart. */
  readonly copies?: boolean;
  /** Checks factors that are fixed up to sign, phase or order: what is wrong, or null. */
  readonly gauge?: (outputs: readonly dx.Tensor[], call: Call) => string | null;
}

export type Table = Readonly<Record<string, Entry>>;

/** Calls a method of the first operand. */
export const method = (c: Call, name: string, ...args: unknown[]): void => void (c.x as unknown as Record<string, (...args: unknown[]) => void>)[name]!(...args);

/** One line of the table: what is run, and the method that does it in place. */
export const op = (run: (c: Call) => Result, inPlace?: (c: Call) => void): Entry => ({ run, inPlace });

/** An operation whose results are indices or counts. */
export const counting = (run: (c: Call) => Result): Entry => ({ run, counts: true });

/** An operation whose result's shape depends on data. */
export const dynamic = (run: (c: Call) => Result): Entry => ({ run, counts: true, dynamic: true });

/** A function of the first operand, whose method with "_" is the in-place form. */
export function unaryEntry(name: string, run: (x: dx.Tensor) => dx.Tensor): Entry {
  return { run: (c) => run(c.x), inPlace: `${name}_` in dx.Tensor.prototype ? (c) => method(c, `${name}_`) : undefined };
}
