/** Which way a call ran: nothing computed, one DirectML operator, a graph of them, the host, or the fallback device. */
import * as dx from "../../src/index.ts";
import { observePrograms } from "../../src/runtime/eager.ts";

export type Way = "view" | "operator" | "graph" | "host" | "fallback";

/** Runs fn and tells its way. */
export function observed<T>(fn: () => T): { readonly result: T; readonly way: Way } {
  const nodes = { withInputs: 0, created: 0 };
  const before = fallbacks();
  const onHost = fallbacks("host");
  observePrograms((inputs, count) => {
    if (inputs > 0) nodes.withInputs += count;
    else nodes.created += count;
  });
  try {
    const result = fn();
    // Scalars and constants beside an operation are no operators of their own.
    const count = nodes.withInputs === 0 ? nodes.created : nodes.withInputs;
    return { result, way: fallbacks() > before ? "fallback" : fallbacks("host") > onHost ? "host" : count === 0 ? "view" : count === 1 ? "operator" : "graph" };
  } finally {
    observePrograms(null);
  }
}

/** Calls that ran on the fallback device so far, or on the host by their nature. */
export const fallbacks = (kind: dx.FallbackRecord["kind"] = "fallback"): number =>
  dx.fallbackStats().reduce((n, r) => n + (r.kind === kind ? r.calls : 0), 0);
