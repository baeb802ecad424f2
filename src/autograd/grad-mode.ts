/** Whether operations are recorded for backward(): on by default, off inside noGrad. */
import { Ambient } from "../core/ambient.ts";

const mode = new Ambient(true);

/** Whether operations are recorded for gradients now: false inside noGrad(). Reference: torch.is_grad_enabled. */
export const isGradEnabled = (): boolean => mode.value;

/**
 * Runs fn without recording: its results require no gradient. When fn returns a promise, that holds for all that fn does until the promise
 * settles, and for nothing else that runs meanwhile.
 */
export const noGrad = <T>(fn: () => T): T => mode.run(false, fn);

/** Runs fn with recording, inside noGrad too; fn may return a promise, as noGrad()'s. */
export const enableGrad = <T>(fn: () => T): T => mode.run(true, fn);

/** Switches recording on or off until called again, or until the noGrad() or enableGrad() around it ends. */
export function setGradEnabled(isEnabled: boolean): void {
  mode.value = isEnabled;
}
