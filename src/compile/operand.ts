/** A tensor as an event of the log saw it, and whether a tensor of a later call equals it. */
import { isGradEnabled } from "../autograd/grad-mode.ts";
import type { TapeNode } from "../autograd/tape.ts";
import { sameData } from "../graph/key.ts";
import type { Desc, Storage } from "../core/storage.ts";
import type { Tensor } from "../core/tensor.ts";

/** Which elements it shows, and what autograd knew of it then. */
export interface Operand {
  readonly tensor: Tensor;
  readonly storage: Storage;
  readonly desc: Desc;
  readonly offset: number;
  readonly requiresGrad: boolean;
  readonly node: TapeNode | null | undefined;
  readonly outputIndex: number;
  /** Lives outside the function: what it shows may differ at the next call. */
  readonly isOuter: boolean;
}

/** Its node. A view's follows from the present history of its base, if gradients are recorded; undefined: it has none any more, and its use is an error. */
function nodeOf(t: Tensor): TapeNode | null | undefined {
  if (t.viewOf === null || !t.requiresGrad || !isGradEnabled()) return t.ownNode;
  try {
    return t.node;
  } catch {
    return undefined;
  }
}

export const operand = (t: Tensor, isOuter = t.storage.trace === null): Operand => ({
  tensor: t,
  storage: t.storage,
  desc: t.desc,
  offset: t.offset,
  requiresGrad: t.requiresGrad,
  node: nodeOf(t),
  outputIndex: t.outputIndex,
  isOuter,
});

/** Whether a tensor is what an event has seen, to the program and to the tape. */
export function isSame(o: Operand, t: Tensor): boolean {
  if (t === o.tensor && !o.isOuter) return t.requiresGrad === o.requiresGrad;
  return (
    t.storage === o.storage &&
    t.desc === o.desc &&
    t.offset === o.offset &&
    t.requiresGrad === o.requiresGrad &&
    (!o.requiresGrad || (nodeOf(t) === o.node && t.outputIndex === o.outputIndex && (o.node !== null || t === o.tensor)))
  );
}

export const isSameOrNull = (o: Operand | null, t: Tensor | null): boolean => (o === null || t === null ? o === t : isSame(o, t));

/** Objects with an identity are compared by it, plain data by value. */
export const isSameGuard = (a: unknown, b: unknown): boolean => a === b || (typeof a !== "function" && sameData(a, b));

/** The same of several, in their order. */
export function areSame(seen: readonly Operand[], tensors: readonly Tensor[]): boolean {
  if (seen.length !== tensors.length) return false;
  for (let i = 0; i < seen.length; i++) {
    const o = seen[i]!;
    const t = tensors[i]!;
    if (t === o.tensor && !o.isOuter ? t.requiresGrad !== o.requiresGrad : !isSame(o, t)) return false;
  }
  return true;
}

export function areSameOrNull(seen: readonly (Operand | null)[], tensors: readonly (Tensor | null)[]): boolean {
  if (seen.length !== tensors.length) return false;
  for (let i = 0; i < seen.length; i++) if (!isSameOrNull(seen[i]!, tensors[i]!)) return false;
  return true;
}
