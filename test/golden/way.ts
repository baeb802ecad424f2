/** Which way a call ran: nothing computed, one DirectML operator, a graph of them, the host, or the fallback device. */
import * as dx from "../../src/index.ts";
import { observePrograms } from "../../src/runtime/eager.ts";

export type Way = "view" | "operator" | "graph" | "host" | "fallback";

/** Runs fn and tells its way, and which DirectML operators it was made of. */
export function observed<T>(fn: () => T): { readonly result: T; readonly way: Way; readonly operators: readonly string[] } {
  const nodes = { withInputs: 0, created: 0 };
  const operators = new Set<string>();
  const before = fallbacks();
  const onHost = fallbacks("host");
  observePrograms((inputs, made) => {
    for (const name of made) operators.add(name);
    if (inputs > 0) nodes.withInputs += made.length;
    else nodes.created += made.length;
  });
  try {
    const result = fn();
    // Scalars and constants of an operation are no operators of their own.
    const count = nodes.withInputs === 0 ? nodes.created : nodes.withInputs;
    const way =
      fallbacks() > before ? "fallback" : fallbacks("host") > onHost ? "host" : count === 0 ? "view" : count === 1 ? "operator" : "graph";
    return { result, way, operators: [...operators] };
  } finally {
    observePrograms(null);
  }
}

/** Calls that ran on the fallback device so far, or on the host by their nature. */
export const fallbacks = (kind: dx.FallbackRecord["kind"] = "fallback"): number =>
  dx.fallbackStats().reduce((n, r) => n + (r.kind === kind ? r.calls : 0), 0);
