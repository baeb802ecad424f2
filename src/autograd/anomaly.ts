/** detectAnomaly(): finds the operation whose gradient has a NaN, and the line that called the operation. */
import { Ambient } from "../core/ambient.ts";
import { AnomalyError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer } from "../core/tracer.ts";
import { callSite } from "../host/call-site.ts";
import type { Gradients, TapeNode } from "./tape.ts";

const mode = new Ambient(false);
/** Whether it was ever on. False: nothing else is asked. */
let isUsed = false;

/** @internal Set by ops/exports/wiring.ts, since this file may not import operations. */
export const elementAccess = { hasNaN: null as unknown as (t: Tensor) => boolean };

/** Whether backward passes look for NaN, and operations note where they are called. Reference: torch.is_anomaly_enabled. */
export const isAnomalyEnabled = (): boolean => isUsed && mode.value;

/**
 * Runs fn so that a backward pass throws AnomalyError at the first gradient with a NaN. The error names the operation whose gradient it is and the line that
 * called the operation, if that was inside of such a region too. Each gradient is read, so it is slow: for debugging. Compiled functions run eagerly inside.
 * fn may return a promise, as noGrad()'s. Reference: torch.autograd.detect_anomaly.
 */
export function detectAnomaly<T>(fn: () => T): T {
  isUsed = true;
  return mode.run(true, fn);
}

/**
 * Switches detectAnomaly()'s checks on or off until called again, or until the detectAnomaly() around it ends.
 * Reference: torch.autograd.set_detect_anomaly.
 */
export function setDetectAnomaly(isEnabled: boolean): void {
  isUsed ||= isEnabled;
  mode.value = isEnabled;
}

const sites = new WeakMap<TapeNode, string>();

/** Notes where a node's operation was called. */
export function noteSite(node: TapeNode): void {
  const site = callSite();
  if (site !== null) sites.set(node, site);
}

/** Throws AnomalyError if a gradient that a node's rule gave has a NaN. */
export function requireNumbers(node: TapeNode, gradients: Gradients): void {
  if (tracer() !== null) return;
  gradients.forEach((grad, i) => {
    if (grad === null || grad.size === 0 || !grad.device.hasElements || !elementAccess.hasNaN(grad)) return;
    throw new AnomalyError(node.name, i, sites.get(node) ?? null);
  });
}
