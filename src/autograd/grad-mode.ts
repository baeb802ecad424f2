/** Whether operations are recorded for backward(): on by default, off inside noGrad and inferenceMode. */
import { GRAD, INFERENCE, gradMode, isInference, runInference } from "../core/inference.ts";

/** Whether operations are recorded for gradients now: false inside noGrad() and inferenceMode(). */
export const isGradEnabled = (): boolean => gradMode.value === GRAD;

/**
 * Whether gradients are on: false inside noGrad() and inferenceMode(), unless enableGrad() is inside these; in inferenceMode() nothing is recorded
 * then either. Reference: torch.is_grad_enabled.
 */
export const isGradModeEnabled = (): boolean => (gradMode.value & GRAD) !== 0;

/** Whether inferenceMode() is on. Reference: torch.is_inference_mode_enabled. */
export const isInferenceModeEnabled = (): boolean => isInference();

/**
 * Runs fn without recording: its results require no gradient. When fn returns a promise, that holds for all that fn does until the promise
 * settles, and for nothing else that runs meanwhile.
 */
export const noGrad = <T>(fn: () => T): T => gradMode.run(gradMode.value & ~GRAD, fn);

/** Runs fn with recording, inside noGrad too; fn may return a promise, as noGrad()'s. */
export const enableGrad = <T>(fn: () => T): T => gradMode.run(gradMode.value | GRAD, fn);

/** Options of inferenceMode(). */
export interface InferenceModeOptions {
  /** false: fn runs outside of inference mode, with gradients on, though inferenceMode() is around it. Default: true. */
  readonly enabled?: boolean;
}

/**
 * Runs fn without recording, as noGrad() does. Tensors that fn makes are inference tensors (`isInference`): they may be read and computed with
 * afterwards, but changing one in place, saving one for backward and setting its requiresGrad are an AutogradError outside of the mode; clone() makes an ordinary
 * one. Views of ordinary tensors are ordinary. fn may return a promise, as noGrad()'s. Inside compile() it is noGrad(). Reference: torch.inference_mode.
 */
export const inferenceMode = <T>(fn: () => T, options: InferenceModeOptions = {}): T =>
  options.enabled === false ? gradMode.run(GRAD, fn) : runInference(fn);

/** Switches recording on or off until called again, or until the noGrad() or enableGrad() around it ends. */
export function setGradEnabled(isEnabled: boolean): void {
  gradMode.value = (gradMode.value & INFERENCE) | (isEnabled ? GRAD : 0);
}
