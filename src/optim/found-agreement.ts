/** What lets ranks agree on a step that is left out, where each has parts of the gradients: sharded training sets it. @package */
import type { Tensor } from "../core/tensor.ts";

/** Changes `found` (above 0: a gradient was infinite or NaN) into the maximum over the ranks. All ranks call it. @package */
export type Agreement = (found: Tensor) => void;

const agreements = new WeakMap<Tensor, Agreement>();

/** @internal The gradients of this parameter are complete only with those of other ranks. */
export const setAgreement = (parameter: Tensor, agreement: Agreement): void => void agreements.set(parameter, agreement);

/** @internal Of some parameters, in their order; each once. */
export const agreementsOf = (parameters: Iterable<Tensor>): ReadonlySet<Agreement> =>
  new Set([...parameters].flatMap((p) => agreements.get(p) ?? []));
