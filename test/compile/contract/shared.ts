/** Shared by the tests of the contract, docs/compile.md, clause by clause. */
import * as dx from "../../../src/index.ts";

export const at = (values: number[], requiresGrad = false): dx.Tensor => dx.tensor(values, { requiresGrad });

/** The argument of a call. */
export const input = (call: number): dx.Tensor => at([call + 1, 2 * call - 3]);

/** No state outside. */
export const none = (): Record<string, unknown> => ({});
