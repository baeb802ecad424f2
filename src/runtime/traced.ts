/** Traced tensors have no data: outside their function, an operation refuses them with a typed error. */
import { TraceError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";

const nameOf = (trace: object): string => ("name" in trace && typeof trace.name === "string" ? trace.name : "a compiled function");

/** Throws for a tensor that was made inside a compiled function and kept beyond its call. */
export function requireReal(operation: string, tensors: readonly Tensor[]): void {
  for (const t of tensors) {
    const { trace, handle } = t.storage;
    if (trace === null || handle !== 0 || t.size === 0) continue;
    throw new TraceError({
      operation,
      argument: t.describe(),
      expected: "a tensor with data",
      ...("isBatched" in trace
        ? { received: "one of vmap(), which stands for a batch", hint: "Return it from the function that vmap() got, and read the result." }
        : {
            received: `one that was made inside the compiled function ${nameOf(trace)} and kept`,
            hint: `Return it from ${nameOf(trace)}, or copy_ it into a tensor made outside.`,
          }),
    });
  }
}
