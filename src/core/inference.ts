/** The grad mode, of which inference mode is a part: what is allocated in inference mode is an inference tensor's. */
import { Ambient } from "./ambient.ts";
import { AutogradError } from "./errors.ts";
import type { Tensor } from "./tensor.ts";
import { tracer } from "./tracer.ts";

/** Bits of the grad mode. */
export const GRAD = 1;
export const INFERENCE = 2;

export const gradMode = new Ambient<number>(GRAD);

/**
 * The version of an inference tensor's storage before its first write. Versions of these are negative, so a test of the sign, of a field that is read anyway,
 * tells them apart. Writes count up from here: caches need that, autograd does not.
 */
export const FIRST_INFERENCE_VERSION = -(2 ** 30);

/** How many functions run in inference mode, or are pending: while there are none, the mode need not be looked up. */
let running = 0;

export const isInference = (): boolean => running > 0 && (gradMode.value & INFERENCE) !== 0;

/** The version of a storage that is allocated now. Traced storages are ordinary: a compiled function treats inference mode as noGrad(). */
export const firstVersion = (): number => (running > 0 && isInference() && tracer() === null ? FIRST_INFERENCE_VERSION : 0);

export function runInference<T>(fn: () => T): T {
  running++;
  return gradMode.run(INFERENCE, fn, () => {
    running--;
  });
}

/** Runs fn without recording, and not in inference mode: it allocates what outlives the mode. */
export const ordinary = <T>(fn: () => T): T => (isInference() ? gradMode.run(0, fn) : fn());

/** Throws for an inference tensor that is to be changed, outside of the mode. */
export function requireChangeable(t: Tensor, operation: string, argument = "tensor"): void {
  if (t.storage.version >= 0 || isInference()) return;
  throw new AutogradError({
    operation,
    argument,
    expected: "an ordinary tensor, or a call inside inferenceMode()",
    received: `${t.describe()}, an inference tensor, outside of inferenceMode()`,
    hint: "Use clone() to get an ordinary tensor.",
  });
}
