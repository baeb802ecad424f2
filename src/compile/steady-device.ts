/** Measures on a device whose clock is steady: after a pause a GPU's clock falls to a fraction, and takes its time to rise. */
import { DeviceRemovedError } from "../core/errors.ts";
import { GraphBuilder } from "../graph/builder.generated.ts";
import { Graph } from "../graph/graph.ts";
import type { NativeDevice } from "../runtime/devices.ts";
import { DIRECTML, inForm } from "../shader/shader-forms.ts";
import { product } from "./device-peak.ts";
import { TimedGraph } from "./timed-graph.ts";

/** How much slower the reference may be than it has been. */
const TOLERANCE = 1.05;
const TRIES = 3;
/** Milliseconds that the device is kept busy, at shortest and at most. */
const [MIN_BUSY, MAX_BUSY] = [30, 600];
/** Products of so many rows, one after the other. */
const [ROWS, PRODUCTS] = [2048, 8];

/** What the reference took at best on each open device. */
const best = new WeakMap<NativeDevice, number>();

/** Null: the device has no memory for it. */
function reference(native: NativeDevice, rows: number): TimedGraph | null {
  try {
    const g = new GraphBuilder(new Graph(), native.capabilities);
    inForm(DIRECTML, () => product(g, rows, PRODUCTS));
    return new TimedGraph(native, g.graph, new Map(g.graph.inputs.map((value) => [value, "float32" as const])), "none");
  } catch (error) {
    if (error instanceof DeviceRemovedError) throw error;
    return null;
  }
}

/** Seconds of the reference, as a multiple of the shortest that it has taken. */
function slowness(native: NativeDevice, timed: TimedGraph): number {
  const found = timed.seconds();
  const shortest = Math.min(found, best.get(native) ?? Infinity);
  best.set(native, shortest);
  return shortest > 0 ? found / shortest : 1;
}

/** Until the reference takes the time that it has taken at best. */
function warm(native: NativeDevice, timed: TimedGraph): void {
  const start = performance.now();
  for (;;) {
    const found = slowness(native, timed);
    const busy = performance.now() - start;
    if (busy > MAX_BUSY || (busy > MIN_BUSY && found <= TOLERANCE)) return;
  }
}

/**
 * What `measure` returns. On a GPU the device is kept busy by matrix products before; where these are slower behind it, `measure` runs again, and the
 * run that they were fastest behind counts. On a CPU it runs once. rows: of the products.
 */
export function steadily<T>(native: NativeDevice, measure: () => T, rows = ROWS): T {
  const timed = native.adapter.isHardware ? reference(native, rows) : null;
  if (timed === null) return measure();
  try {
    let found: { readonly result: T; readonly slowness: number } | null = null;
    for (let i = 0; i < TRIES && (found === null || found.slowness > TOLERANCE); i++) {
      warm(native, timed);
      const result = measure();
      const behind = slowness(native, timed);
      if (found === null || behind < found.slowness) found = { result, slowness: behind };
    }
    return found!.result;
  } finally {
    timed.dispose();
  }
}
